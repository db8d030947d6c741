"""``/hermes create`` alone: a window, a form, and one sandbox however often it is sent in."""

import asyncio
import json
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from e2e import quick_bot
from e2e.installed import FOREIGNER, OPERATOR, OPERATOR2, OPS, OUTSIDER, Installed, Thread
from e2e.leaks import leaks

from bot.demo.reading import view_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

View = dict[str, Any]


async def opened(site: Installed, user: str = OPERATOR) -> View:
    """Type it, and wait until the form stands."""
    answer = await site.control.command(user, OPS, "create")
    assert answer["outcome"] == "acked", answer
    return await form_of(site, user)


async def form_of(site: Installed, user: str) -> View:
    async def look() -> View | None:
        views = await site.control.views(user)
        return views[-1] if views and views[-1]["submit"] else None

    return dict(await site.control.until(f"a form for {user}", look, seconds=20))


async def submit(site: Installed, user: str = OPERATOR, **values: str) -> dict[str, Any]:
    """Fill fields in, by block id with ``_`` for ``-``, and press Create."""
    filled = {name.replace("_", "-"): {"value": text} for name, text in values.items()}
    answer: dict[str, Any] = await site.control.post("/submit", user=user, values=filled)
    return answer


async def thread_for(site: Installed, home: str, channel: str = OPS) -> Thread:
    async def look() -> dict[str, Any] | None:
        messages = await site.control.messages(channel)
        return next((m for m in messages if not m["thread_ts"] and f"*{home}*" in m["text"]), None)

    first = await site.control.until(f"a thread for {home}", look, seconds=20)
    return Thread(site.control, channel, first["ts"], home)


def inputs(view: View) -> dict[str, View]:
    return {block["block_id"]: block for block in view["blocks"] if block["type"] == "input"}


def offered(view: View, field: str) -> list[str]:
    return [option["value"] for option in inputs(view)[field]["element"]["options"]]


@asynccontextmanager
async def template(site: Installed, name: str, status: str) -> AsyncIterator[None]:
    """One more template on this Cube."""
    folder = site.folder / "state/templates" / name
    folder.mkdir()
    (folder / "template.json").write_text(json.dumps({"aliases": [name], "status": status}))
    try:
        yield
    finally:
        shutil.rmtree(folder)


async def test_form_to_studio_and_its_secrets_are_never_seen_again(site: Installed) -> None:
    key = f"sk-EXAMPLE/{secrets.token_hex(12)}+&é"
    answer = await site.control.command(OPERATOR, OPS, "create")
    await form_of(site, OPERATOR)
    sent = await submit(
        site,
        new_home="formed",
        workspace="papers",
        timeout="2h",
        env=f"# mine\nexport OPENAI_API_KEY='{key}'",
    )

    thread = await thread_for(site, "formed")
    told = await thread.ended(":white_check_mark:")
    view = await opened(site)

    assert max(answer["ack_ms"], sent["ack_ms"]) < 1000
    assert sent["ack"] == {"response_action": "clear"}
    assert "Workspace: papers" in told
    stored = json.loads((site.home("formed") / ".hermes-bot/studio.env").read_text(encoding="utf-8"))
    assert stored["OPENAI_API_KEY"] == key
    [sandbox] = await site.sandboxes("formed")
    assert sandbox == await thread.sandbox()
    places = {
        "the transcript": json.dumps(await site.control.transcript()),
        "the log": site.log(),
        "the audit log": json.dumps(site.rows()),
        "the next form": json.dumps(view),
    }
    assert leaks({"the key": key}, places) == []


async def test_wrong_fields_are_shown_on_the_form_which_stays_open(site: Installed) -> None:
    await opened(site)

    sent = await submit(site, new_home="No Good", timeout="30s", env="PATH=/x\nA=1")

    [view] = await site.control.views(OPERATOR)
    assert view["errors"] == sent["ack"]["errors"]
    assert view["errors"].keys() == {"new-home", "timeout", "env"}
    assert view["errors"]["env"].startswith("Line 1: That environment name decides which programs run")
    assert "With 30s the sandbox would pause" in view["errors"]["timeout"]
    await submit(site, new_home="good-now", timeout="30m", env="A=1")
    assert "is ready" in await (await thread_for(site, "good-now")).ended()
    assert await site.control.views(OPERATOR) == []


async def test_own_homes_ready_templates_and_the_last_settings_are_offered(site: Installed) -> None:
    await site.create(OPERATOR2, "home=elsewhere")
    await site.create(OPERATOR, "home=known template=hermes-studio-legacy timeout=3h")
    async with template(site, "half-built", "BUILDING"), template(site, "broken", "FAILED"):
        view = await opened(site)

    assert offered(view, "home")[:2] == ["-", "known"]
    assert "elsewhere" not in offered(view, "home")
    assert offered(view, "template") == ["-", "hermes-studio-legacy", "hermes-studio-running"]
    assert "has a running sandbox" in json.dumps(inputs(view)["home"])
    assert inputs(view)["template"]["element"]["initial_option"]["value"] == "hermes-studio-legacy"
    assert inputs(view)["timeout"]["element"]["initial_value"] == "3h"
    await submit(site, home="known", template="-", timeout="")
    refused = await thread_for_second(site, "known")
    assert "Home known is in use" in await refused.ended(":x:")


async def thread_for_second(site: Installed, home: str) -> Thread:
    async def look() -> list[dict[str, Any]]:
        messages = await site.control.messages(OPS)
        found = [m for m in messages if not m["thread_ts"] and f"*{home}*" in m["text"]]
        return found if len(found) > 1 else []

    found = await site.control.until(f"a second thread for {home}", look, seconds=20)
    return Thread(site.control, OPS, found[-1]["ts"], home)


async def test_two_presses_on_two_replicas_make_one_sandbox_and_both_are_answered(site: Installed) -> None:
    second = await quick_bot.start(site.folder, site.env_file)
    try:
        await opened(site)
        answers = await asyncio.gather(*(submit(site, new_home="twice") for _ in range(2)))
        told = await (await thread_for(site, "twice")).ended(":white_check_mark:")
        await site.told(OPERATOR, "This form has been sent in before.")
    finally:
        await second.end()

    assert [answer["outcome"] for answer in answers] == ["acked", "acked"]
    assert "is ready" in told
    assert len(await site.sandboxes("twice")) == 1
    assert len(site.rows(home="twice", phase="intent", code="asked")) == 1


async def test_a_press_that_slack_gave_up_on_and_a_restart_make_one_sandbox(site: Installed) -> None:
    await opened(site)
    assert site.bot is not None
    site.bot.process.send_signal(signal.SIGSTOP)
    try:
        late = await submit(site, new_home="late")
    finally:
        site.bot.process.send_signal(signal.SIGCONT)
    await (await thread_for(site, "late")).ended(":white_check_mark:")
    await site.end_bot()
    await site.start_bot()

    again = await submit(site, new_home="late")

    assert (late["outcome"], again["outcome"]) == ("operation_timeout", "acked")
    await site.told(OPERATOR, "This form has been sent in before.")
    assert len(await site.sandboxes("late")) == 1


async def test_a_form_that_was_open_during_a_restart_works(site: Installed) -> None:
    await opened(site)
    await site.crash_bot()
    lost = await submit(site, new_home="patient")
    await site.start_bot()

    await submit(site, new_home="patient")

    assert lost["outcome"] == "dispatch_failed"
    assert "is ready" in await (await thread_for(site, "patient")).ended()


async def test_from_the_app_home_to_a_thread_in_direct_messages(site: Installed) -> None:
    await site.control.post("/click", user=OPERATOR, home=True)

    async def drawn() -> bool:
        return "hermes.create.form" in json.dumps(await site.control.get("/home", user=OPERATOR))

    await site.control.until("the App Home", drawn, seconds=20)
    await site.control.post("/click", user=OPERATOR, home=True, action_id="hermes.create.form")
    await form_of(site, OPERATOR)

    await submit(site, new_home="from-home")

    thread = await thread_for(site, "from-home", f"D_{OPERATOR}")
    assert "is ready" in await thread.ended()
    assert len(await site.sandboxes("from-home")) == 1


async def test_a_trigger_that_is_too_old_is_told_and_can_be_tried_again(site: Installed) -> None:
    await site.fault("slack", "slow-api", delay_s=3.5)
    before = {m["ts"] for m in await site.control.messages(OPS)}
    await site.control.command(OPERATOR, OPS, "create")

    told = await site.whispered(OPERATOR, OPS, before)

    assert "It took too long to open the form" in told
    assert "/hermes create home=atlas" in told
    [message] = [m for m in await site.control.messages(OPS) if m["ts"] not in before]
    await site.control.click(OPERATOR, OPS, message["ts"], "hermes.create.form")
    assert "new-home" in inputs(await form_of(site, OPERATOR))


async def test_the_form_opens_while_cube_is_down(site: Installed) -> None:
    await site.fault("cube", "api-down", times=50)

    view = await opened(site)

    assert "I cannot see which homes are in use and the templates just now" in view_text(view)
    assert "template" not in inputs(view)


async def test_whoever_may_not_create_is_told_in_the_window(site: Installed) -> None:
    await site.control.command(OUTSIDER, OPS, "create")

    assert "You have no role in this bot" in await site.window(OUTSIDER)
    assert (await site.control.views(OUTSIDER))[-1]["submit"] is None


async def test_strangers_get_no_window(site: Installed) -> None:
    told = await site.ask(FOREIGNER, "create")

    assert "only members of this Slack team" in told
    assert await site.control.views(FOREIGNER) == []
