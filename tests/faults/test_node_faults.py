"""The node fails, or what lies on it is not what it should be; the home is never at risk."""

import pytest
from e2e.installed import OPERATOR, Installed
from e2e.manifests import manifest
from faults.claims import calls, failed_create

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize(
    ("kind", "times", "what"),
    [
        ("ssh-down", 50, "The node does not answer over SSH."),
        ("disk-full", 1, "The node has less free disk than this installation asks for."),
    ],
)
async def test_node_that_fails_makes_no_sandbox_and_continue_makes_it(
    site: Installed, kind: str, times: int, what: str
) -> None:
    await site.fault("node", kind, times=times)

    thread = await site.type(OPERATOR, f"create home={kind}")
    claims = await failed_create(site, thread)

    assert what in claims.what
    assert "No sandbox was made" in claims.safe
    await site.unarm()
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")
    assert len(await site.sandboxes(kind)) == 1


async def test_lost_answers_and_slow_logins_of_the_node_only_take_longer(site: Installed) -> None:
    await site.fault("node", "drop-after-write")
    await site.fault("node", "connect-slow", delay_s=0.3)
    before = await calls(site)

    thread = await site.create(OPERATOR, "home=dropped")

    assert await site.sandboxes("dropped") == [await thread.sandbox()]
    assert "filled from the team's default home" in await thread.text()
    assert (await calls(site) - before)["node connection"] <= 2


async def test_home_that_is_a_link_is_refused_and_its_target_untouched(site: Installed) -> None:
    elsewhere = site.shared / "hermes-homes/elsewhere"
    elsewhere.mkdir(mode=0o700)
    (elsewhere / "diary").write_text("mine\n", encoding="utf-8")
    before = manifest(elsewhere)
    site.home("tempting").symlink_to("elsewhere")

    thread = await site.type(OPERATOR, "create home=tempting")
    claims = await failed_create(site, thread)

    assert claims.code == "unsafe-path"
    assert manifest(elsewhere) == before


async def test_missing_public_skills_are_named_and_nothing_is_made(site: Installed) -> None:
    skills = site.shared / "hermes-common-skills"
    aside = skills.rename(skills.with_name("aside"))
    try:
        thread = await site.type(OPERATOR, "create home=unskilled")
        claims = await failed_create(site, thread)
    finally:
        aside.rename(skills)

    assert claims.code == "public-skills-missing"
    assert not site.home("unskilled").exists()
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")


async def test_conditions_of_the_node_are_told_for_what_they_are_and_nobody_insists(site: Installed) -> None:
    for kind, what, words in (
        ("host-key-changed", "The node shows another host key than the one we know.", "known_hosts"),
        ("auth-refused", "The node answers, but it refuses the bot's SSH key.", "refuses the key of root"),
        ("read-only-root", "The home or workspace cannot be written on the node.", "ead-only"),
        ("reset-before-command", "The node does not answer over SSH.", "ended during a command"),
        ("reset-during-command", "The node does not answer over SSH.", "ended during a command"),
    ):
        before = await calls(site)
        await site.fault("node", kind, **({"times": 9} if kind.startswith("reset") else {}))
        thread = await site.type(OPERATOR, f"create home={kind}")
        claims = await failed_create(site, thread)
        met = await calls(site) - before
        await site.unarm()

        assert claims.what == what
        assert "No sandbox was made" in claims.safe
        assert words in await thread.text()
        assert max(met["node connection"], met["node command"]) <= 2
        assert met["cube create"] == 0
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")


async def test_check_names_a_read_only_root_and_a_missing_rsync(site: Installed) -> None:
    await site.fault("node", "read-only-root")
    await site.fault("node", "rsync-missing")

    code, printed = await site.run("check")

    assert code != 0
    assert "cannot be written: another owner" in printed
    assert "Run `apt-get install -y rsync` on the node." in printed


async def test_check_names_a_key_that_is_refused_and_a_cube_without_its_master(site: Installed) -> None:
    await site.fault("node", "auth-refused")
    await site.fault("cube", "master-down")

    code, printed = await site.run("check")

    assert code != 0
    assert "refuses the key of root" in printed
    assert "CubeAPI is up and cannot do its work" in printed
