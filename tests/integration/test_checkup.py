"""A sound installation is proved; each broken one is named, and its cure, followed word by word, mends it."""

import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from integration.checkup_site import Site, site

from bot.adapters.audit_sql import open_audit_log
from bot.adapters.redaction import Redactor
from bot.adapters.system import SystemClock
from bot.standin.slack.cast import BOT_USER

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with site(tmp_path_factory.mktemp("checkup")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def here(running: Site) -> AsyncIterator[Site]:
    yield running
    running.tidy()


async def make_log(here: Site) -> Path:
    """The audit log as the bot makes it at its first start."""
    log = await open_audit_log(
        here.env["HERMES_BOT_DATABASE_URL"], now=SystemClock(None).now, redactor=Redactor()
    )
    await log.close()
    return here.config.parent / "var/audit.db"


Break = Callable[[Site], Awaitable[None] | None]


def setting(name: str, value: str) -> Break:
    return lambda here: here.env.update({name: value})


def toml(old: str, new: str) -> Break:
    return lambda here: here.edit(old, new)


def fault(target: str, kind: str) -> Break:
    return lambda here: here.faults.arm({"target": target, "kind": kind}) and None


def without_scope(here: Site) -> None:
    here.slack.world.scopes = tuple(s for s in here.slack.world.scopes if s != "files:write")


def without_the_bot(here: Site) -> None:
    here.channel("C_AUDIT").members.discard(BOT_USER)


def building(here: Site) -> None:
    path = here.templates / "hermes-studio/template.json"
    shutil.copy(path, path.with_name("template.json.right"))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "BUILDING"}))


def without_default_home(here: Site) -> None:
    shutil.rmtree(here.shared / "hermes-homes/default")


def empty_default_home(here: Site) -> None:
    (here.shared / "hermes-homes/default/config.yaml").unlink()


def linked_default_home(here: Site) -> None:
    default = here.shared / "hermes-homes/default"
    default.rename(default.with_name("somewhere"))
    default.symlink_to("somewhere")


def without_skills(here: Site) -> None:
    shutil.rmtree(here.shared / "hermes-common-skills")


async def open_to_others(here: Site) -> None:
    (await make_log(here)).chmod(0o644)


def clock_ahead(here: Site) -> None:
    offset = here.folder / "offset"
    offset.write_text("600\n")
    here.env["HERMES_BOT_CLOCK_OFFSET_FILE"] = str(offset)


BROKEN: dict[str, tuple[str, Break]] = {
    "wrong bot token": ("Slack bot token", setting("SLACK_BOT_TOKEN", "xoxb-" + "EXAMPLE")),
    "no bot token": ("Settings", setting("SLACK_BOT_TOKEN", "")),
    "missing scope": ("Slack scopes", without_scope),
    "wrong app token": ("Slack app token", setting("SLACK_APP_TOKEN", "xapp-" + "EXAMPLE")),
    "bot not in the audit channel": ("Channel audit", without_the_bot),
    "archived alert channel": ("Channel alerts", toml('"C_ALERTS"', '"C_ARCHIVED"')),
    "unknown usergroup": ("Usergroup S_NOBODY", toml('approver = ["S_', 'approver = ["S_NOBODY", "S_')),
    "deactivated operator": ("Person U_DELETED", toml('operator = ["', 'operator = ["U_DELETED", "')),
    "wrong Cube key": ("Cube key", setting("CUBE_API_KEY", "another-EXAMPLE")),
    "CubeAPI elsewhere": ("CubeAPI", setting("CUBE_API_URL", "http://127.0.0.1:9")),
    "dead CubeMaster": ("CubeMaster", fault("cube", "master-down")),
    "unknown template": ("Template", setting("CUBE_TEMPLATE_ID", "hermes-studoi")),
    "template not READY": ("Template", building),
    "Studio's port not exposed": ("Template ports", toml("port = 9000", "port = 9001")),
    "wrong proxy port": ("CubeProxy", setting("CUBE_PROXY_PORT_HTTP", "9")),
    "changed host key": ("Node node-a host key", fault("node", "host-key-changed")),
    "refused SSH key": ("Node node-a login", fault("node", "auth-refused")),
    "no default home": ("Node node-a default home", without_default_home),
    "default home without config": ("Node node-a default home", empty_default_home),
    "linked default home": ("Node node-a default home", linked_default_home),
    "no public Skills": ("Node node-a /data/shared/hermes-common-skills", without_skills),
    "no rsync on the node": ("Node node-a programs", fault("node", "rsync-missing")),
    "read-only shared root": ("Node node-a /data/shared", fault("node", "read-only-root")),
    "too little room": ("Node node-a disk", toml("min_free_gib = 0.05", "min_free_gib = 1000000")),
    "no place for the log": ("Audit log", setting("HERMES_BOT_DATABASE_URL", "sqlite:////proc/no/audit.db")),
    "log open to others": ("Audit log file", open_to_others),
    "clock ten minutes ahead": ("Clock of the bot", clock_ahead),
    "a slip in the TOML file": ("Settings", toml("per_user = 3", "per_usr = 3")),
}


async def test_a_sound_installation_is_proved(here: Site) -> None:
    code, found = await here.check()

    assert [f for f in found if f.ok is not True or f.cure] == []
    assert code == 0


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_cure_that_is_followed_literally_helps(here: Site, broken: str) -> None:
    subject, break_it = BROKEN[broken]
    if waiting := break_it(here):
        await waiting
    code, found = await here.check()
    assert code == 1
    wrong = [finding for finding in found if finding.ok is False]
    assert wrong[0].subject == subject, wrong
    assert all(finding.cure for finding in found if finding.ok is not True), found

    for cure in dict.fromkeys(finding.cure for finding in wrong):
        await here.follow(cure)

    mended, found = await here.check()
    assert [finding for finding in found if finding.ok is not True] == []
    assert mended == 0


async def test_nothing_that_fails_hides_what_comes_after_it(here: Site) -> None:
    here.env.update(
        SLACK_API_URL="http://127.0.0.1:9/api/",
        CUBE_API_URL="http://127.0.0.1:9",
        CUBE_PROXY_PORT_HTTP="9",
        HERMES_BOT_DATABASE_URL="sqlite:////proc/no/audit.db",
    )
    here.edit(f"port = {here.node.address[1]}", "port = 9")

    code, found = await here.check()

    assert code == 1
    assert [f.subject for f in found if f.ok is False] == [
        "Slack", "CubeAPI", "CubeProxy", "Node node-a login", "Audit log",
    ]  # fmt: skip
    assert "rsync here" in {f.subject for f in found if f.ok}


async def test_what_cannot_be_proved_does_not_pass_as_proved(here: Site) -> None:
    here.env.update(SLACK_SIGNING_SECRET=here.slack.secrets.signing_secret)

    code, found = await here.check(http=True)

    assert [f.subject for f in found if f.ok is not True] == ["Slack signing secret"]
    assert code == 3


async def test_looking_leaves_the_log_as_it_was(here: Site) -> None:
    log = await make_log(here)
    before = log.read_bytes()

    code, _ = await here.check()

    assert code == 0
    assert log.read_bytes() == before


async def test_looking_touches_no_sandbox(here: Site) -> None:
    await here.cube.add_paper({"count": 1, "state": "paused"})
    before = here.cube.report()["sandboxes"]

    await here.check()

    assert here.cube.report()["sandboxes"] == before
