"""One line typed becomes a working Studio, and its secrets reach one person only."""

import json
import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from e2e.installed import ADMIN, APPROVER, OPERATOR, OPERATOR2, OPS, OUTSIDER, Installed, Thread, installed
from e2e.leaks import leaks

from bot.demo.processes import environment

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

TEMPLATES = {"hermes-studio": "users", "hermes-studio-legacy": "token", "hermes-studio-running": "users"}


@dataclass(frozen=True)
class Made:
    """A Studio that somebody asked for, and what was given for it."""

    site: Installed
    template: str
    home: str
    thread: Thread
    sandbox: str
    ack_ms: float
    key: str

    @property
    def token_generation(self) -> bool:
        return TEMPLATES[self.template] == "token"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served() -> AsyncIterator[Installed]:
    """An installation of its own, whose bot is exactly what ``hermes-bot serve`` runs."""
    async with installed() as site:
        yield site


@pytest_asyncio.fixture(scope="module", loop_scope="session", params=TEMPLATES)
async def made(served: Installed, request: pytest.FixtureRequest) -> AsyncIterator[Made]:
    yield await make(served, str(request.param))
    await served.tidy()


async def make(served: Installed, template: str) -> Made:
    """Type the create as a person does, and wait for its end."""
    home = "alpha" if template == "hermes-studio" else f"alpha-{template.rsplit('-', 1)[1]}"
    key = f"sk-EXAMPLE/{secrets.token_hex(12)}+&é"
    chosen = "" if template == "hermes-studio" else f" template={template}"
    before = len(await served.control.messages(OPS))
    answer = await served.control.command(
        OPERATOR, OPS, f"create home={home} workspace=proj{chosen} env=OPENAI_API_KEY={key}"
    )
    assert answer["outcome"] == "acked"
    first = await served.control.until("the thread", lambda: _after(served, before), seconds=20)
    thread = Thread(served.control, OPS, first["ts"], home)
    await thread.ended()
    return Made(served, template, home, thread, await thread.sandbox(), answer["ack_ms"], key)


async def _after(site: Installed, count: int) -> dict[str, object] | None:
    new = (await site.control.messages(OPS))[count:]
    return next((message for message in new if "creating a Studio" in message["text"]), None)


async def test_command_is_acked_in_under_a_second(made: Made) -> None:
    assert made.ack_ms < 1000


async def test_thread_says_all_there_is_to_know(made: Made) -> None:
    told = await made.thread.text()
    expected = [
        "is ready for @U_OPERATOR", f"Sandbox: {made.sandbox}", "Workspace: proj",
        f"Template: {made.template}", "Node: node-a", "filled from the team's default home",
        "Linked from the team: deploy-check",
        "Kept private: team-handover", "Web UI, port 9000: answers", "envd, port 49983: answers",
        "[ Open Studio ]", "[ Stop ]",
    ]  # fmt: skip
    assert [line for line in expected if line not in told] == []
    assert await made.site.sandboxes(made.home) == [made.sandbox]


async def test_owner_gets_a_link_and_a_sign_in_that_work(made: Made) -> None:
    await made.thread.press("hermes.open")
    studio, (address, username, password, token) = await made.site.studio(OPERATOR, made.sandbox)
    await studio.say("first", "Good morning.")
    history = await studio.history("first")

    assert history[0] == "user: Good morning."
    assert len(history) == 2
    kept = made.site.access(made.home)
    if made.token_generation:
        assert "/#/?token=" in address
        assert (token, username, password) == (kept["token"], "", "")
    else:
        assert (username, password, token) == (kept["username"], kept["password"], "")
    async with made.site.http.get(_through(made, "/"), headers=_host(made)) as page:
        assert page.status == 200
        assert "html" in page.content_type


async def test_nobody_comes_in_without_the_sign_in(made: Made) -> None:
    first_login = {"username": "admin", "password": "123456"}
    async with made.site.http.post(
        _through(made, "/api/auth/login"), json=first_login, headers=_host(made)
    ) as answer:
        assert answer.status != 200
    async with made.site.http.get(
        _through(made, "/api/sessions/first/messages"), headers=_host(made)
    ) as answer:
        assert answer.status == 401


async def test_approver_gets_the_link_too(made: Made) -> None:
    await made.thread.press("hermes.open", APPROVER)
    studio, _ = await made.site.studio(APPROVER, made.sandbox)

    await studio.say("second", "Hello.")

    assert made.site.rows(phase="reveal", actor=APPROVER, home=made.home)[-1]["result"] == "ok"


@pytest.mark.parametrize(
    ("user", "why"),
    [(OUTSIDER, "You have no role in this bot"), (OPERATOR2, "It belongs to @U_OPERATOR")],
)
async def test_others_are_refused_visibly(made: Made, user: str, why: str) -> None:
    await made.thread.press("hermes.open", user)
    window = await made.site.window(user)

    assert why in window
    assert "Nothing was shown" in window
    row = await made.site.recorded(phase="reveal", actor=user, home=made.home, result="refused")
    assert row["sandbox"] == made.sandbox


async def test_reveal_is_audited_before_it_is_shown(made: Made) -> None:
    count = len(made.site.rows(phase="reveal", actor=ADMIN, home=made.home))
    await made.thread.press("hermes.open", ADMIN)
    await made.site.studio(ADMIN, made.sandbox)

    rows = made.site.rows(phase="reveal", actor=ADMIN, home=made.home)

    assert len(rows) == count + 1
    assert (rows[-1]["result"], rows[-1]["code"], rows[-1]["channel"]) == ("ok", "revealed", OPS)


async def test_no_secret_stands_anywhere_but_in_that_window(made: Made) -> None:
    await made.thread.press("hermes.open")
    await made.site.studio(OPERATOR, made.sandbox)
    kept = made.site.access(made.home)
    env = environment(made.site.env_file)
    code, exported = await made.site.run("audit", "export")
    calls = await made.site.control.transcript()
    everything = json.dumps(calls, ensure_ascii=False)
    public = json.dumps([call for call in calls if call["method"] != "views.update"], ensure_ascii=False)

    windows = [call["body"] for call in calls if call["method"] == "views.update"]
    found = leaks(
        {name: kept[name] for name in ("token", "password") if kept.get(name)},
        {"the transcript": public, "the log": made.site.log(), "the export": exported},
    ) + leaks(
        {
            "the key": made.key,
            "the bot token": env["SLACK_BOT_TOKEN"],
            "the app token": env["SLACK_APP_TOKEN"],
        },
        {"the transcript": everything, "the log": made.site.log(), "the export": exported},
    )

    assert code == 0
    assert found == []
    assert not re.search(r"xox[a-z]-|xapp-", everything + made.site.log() + exported)
    assert any((kept.get("token") or kept["password"]) in json.dumps(window) for window in windows)
    assert made.home in exported


async def test_key_given_in_the_command_reaches_studio_and_not_cube(made: Made) -> None:
    stored = json.loads((made.site.home(made.home) / ".hermes-bot/studio.env").read_text(encoding="utf-8"))

    async with made.site.http.get(f"{made.site.where['cube_api']}/sandboxes/{made.sandbox}") as answer:
        known_to_cube = await answer.text()
    folder = made.site.folder / "state/cube/sandboxes" / made.sandbox
    kept_by_cube = [file.read_text(encoding="utf-8") for file in folder.glob("*.json")]

    assert stored["OPENAI_API_KEY"] == made.key
    assert kept_by_cube
    assert not leaks({"the key": made.key}, {"Cube's answer": known_to_cube, "Cube": "".join(kept_by_cube)})
    mode = (made.site.home(made.home) / ".hermes-bot/studio.env").stat().st_mode
    assert oct(mode & 0o777) == "0o600"


def _through(made: Made, path: str) -> str:
    return f"http://{made.site.where['cube_proxy']}{path}"


def _host(made: Made) -> dict[str, str]:
    return {"Host": f"9000-{made.sandbox}.localhost"}
