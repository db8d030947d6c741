"""The node fails, or what lies on it is not what it should be; the home is never at risk."""

import pytest
from e2e.installed import OPERATOR, Installed
from e2e.manifests import manifest
from faults.claims import failed_create

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


async def test_answer_of_the_node_that_is_lost_is_asked_for_again(site: Installed) -> None:
    await site.fault("node", "drop-after-write")

    thread = await site.create(OPERATOR, "home=dropped")

    assert await site.sandboxes("dropped") == [await thread.sandbox()]
    assert "filled from the team's default home" in await thread.text()


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


async def test_sign_in_cannot_be_read_while_the_node_is_down(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=locked-out")
    await site.fault("node", "ssh-down", times=50)

    await thread.press("hermes.open")
    window = await site.window(OPERATOR)

    assert "The node does not answer over SSH." in window
    assert "Password" not in window
    assert site.rows(home="locked-out", phase="reveal", result="ok") == []
    await site.unarm()
    await site.control.post("/close", user=OPERATOR, clear=True)
    await thread.press("hermes.open")
    assert "Password" in await site.window(OPERATOR)
