"""Too much at once, lost answers, and everything twice: what people see in Slack stays single and whole."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from contract.chat_places import OnStandIn, open_standin, said
from contract.double_system import ManualClock
from installation import Installation, install
from integration.slack_office import Office, open_office

from bot.adapters.audit_sql import open_audit_log
from bot.adapters.locks import open_locks
from bot.adapters.redaction import Redactor
from bot.domain.rules import Limits
from bot.standin.slack import payloads
from bot.standin.slack.methods_chat import payload_of

IN_LANE = frozenset({"chat.postMessage", "chat.update", "files.completeUploadExternal"})
TOLERANCE = 0.001
"""Seconds; the stand-in's clock is not the monotonic one that the bot counts with."""


def gaps(transcript: Sequence[dict[str, Any]], channel: str = "C_OPS") -> list[float]:
    """Seconds between the calls that a channel got."""
    times = [
        entry["at"]
        for entry in transcript
        if entry["method"] in IN_LANE
        and channel in (entry["body"].get("channel"), entry["body"].get("channel_id"))
    ]
    return [later - earlier for earlier, later in itertools.pairwise(times)]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    async with open_office(tmp_path) as opened:
        yield opened


async def becomes(condition: Callable[[], bool]) -> None:
    """Wait for something while a create is held up, so that not all can come to rest."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the stand-in has no event to wait for
            await asyncio.sleep(0.01)


async def live_through(place: OnStandIn, number: int, edits: int) -> str:
    """A thread as a create has it; gives its first message."""
    parent = await place.chat.post("C_OPS", said(f"{number} begins"))
    progress = await place.chat.post("C_OPS", said(f"{number} step 0"), thread_ts=parent.ts)
    await asyncio.gather(
        *(place.chat.update("C_OPS", progress.ts, said(f"{number} step {step}")) for step in range(1, edits))
    )
    await place.chat.post("C_OPS", said(f"{number} result"), thread_ts=parent.ts)
    await place.chat.update("C_OPS", progress.ts, said(f"{number} closed"))
    await place.chat.update("C_OPS", parent.ts, said(f"{number} ended"))
    return parent.ts


async def test_thirty_threads_edited_at_once_never_exceed_one_message_per_second_and_channel(
    tmp_path: Path,
) -> None:
    clock = ManualClock()
    async with open_standin(tmp_path, clock) as place:
        place.standin.world.clock.time = lambda: clock.now().timestamp()  # type: ignore[method-assign]

        threads = await asyncio.gather(*(live_through(place, number, edits=8) for number in range(30)))

        between = gaps(place.standin.world.transcript)
        assert min(between) >= 1.0 - TOLERANCE
        assert len(between) + 1 < 30 * 12
        for number, thread in enumerate(threads):
            texts = [m["text"] for m in place.messages("C_OPS", thread)]
            assert texts == [f"{number} ended", f"{number} closed", f"{number} result"]


async def test_thirty_creates_typed_at_once_are_all_told_to_the_end_at_slacks_pace(tmp_path: Path) -> None:
    world = install(limits=Limits(per_user=100, total=100))
    async with open_office(tmp_path, world=world, clock=ManualClock()) as office:
        people = office.slack.people
        homes = [f"home-{number}" for number in range(30)]

        acks = await asyncio.gather(
            *(people.command("U_OPERATOR", "C_OPS", f"create home={h}") for h in homes)
        )
        await office.idle()

        assert {ack["outcome"] for ack in acks} == {"acked"}
        assert min(gaps(office.slack.world.transcript)) >= 1.0 - TOLERANCE
        parents = [m for m in office.shown() if not m["thread_ts"]]
        assert len(parents) == 30
        for parent in parents:
            progress, result = office.slack.messages("C_OPS", parent["ts"])[1:]
            assert "is ready for" in parent["text"]
            assert ": ready in" in progress["text"]
            assert "is ready: sandbox" in result["text"]


async def test_in_real_time_no_two_messages_of_a_channel_are_closer_than_a_second(tmp_path: Path) -> None:
    async with open_standin(tmp_path) as place:
        parent = await place.chat.post("C_OPS", said("parent"))
        await asyncio.gather(
            place.chat.update("C_OPS", parent.ts, said("edit 1")),
            place.chat.update("C_OPS", parent.ts, said("edit 2")),
            place.chat.post("C_OPS", said("reply 1"), thread_ts=parent.ts),
            place.chat.post("C_OPS", said("reply 2"), thread_ts=parent.ts),
            place.chat.post("C_ALERTS", said("elsewhere")),
        )

        assert [m["text"] for m in place.messages("C_OPS")] == ["edit 2", "reply 1", "reply 2"]
        between = gaps(place.standin.world.transcript)
        assert len(between) == 3
        assert min(between) >= 1.0 - TOLERANCE


async def test_a_create_all_of_whose_answers_are_lost_says_everything_once(office: Office) -> None:
    office.fault("drop-after-write", times=99)

    await office.types("U_OPERATOR", "create home=alpha")

    texts = [m["text"] for m in office.shown()]
    assert len(texts) == 3
    assert "is ready for <@U_OPERATOR>" in texts[0]
    assert "Studio for home alpha: ready" in texts[1]
    assert "Studio for home alpha is ready" in texts[2]
    assert office.shown("D_U_OPERATOR") == []


async def test_five_hundred_deliveries_of_one_create_make_one_sandbox_and_one_thread(office: Office) -> None:
    envelope = office.typed("U_OPERATOR", "create home=alpha")

    outcomes = await office.delivers("slash_commands", envelope, 500)

    assert outcomes == {"acked"}
    assert len(office.world.cube.sandboxes) == 1
    assert office.world.cube.called("create") == 1
    assert [m["thread_ts"] for m in office.shown()].count(None) == 1
    assert office.whispers("U_OPERATOR") == ""


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Office]:
    """Two bots that share an audit log and locks on a disk, and nothing else that decides."""
    world: Installation = install()
    url = f"sqlite:///{tmp_path}/audit.db"
    (tmp_path / "slack").mkdir()
    logs = [await open_audit_log(url, now=world.clock.now, redactor=Redactor()) for _ in range(2)]
    one, two = (
        replace(world.deps, log=log, locks=open_locks(url), process=name, running=set())
        for log, name in zip(logs, ("p-1", "p-2"), strict=True)
    )
    world.deps = one
    async with open_office(tmp_path / "slack", two, world=world) as opened:
        yield opened
    for log in logs:
        await log.close()


async def test_one_create_delivered_to_two_replicas_is_made_and_told_once(
    replicas: Office,
) -> None:
    assert replicas.slack.world.sockets.connected == 2
    envelope = replicas.typed("U_OPERATOR", "create home=alpha")

    await replicas.delivers("slash_commands", envelope, 20)

    assert replicas.world.cube.called("create") == 1
    assert [m["thread_ts"] for m in replicas.shown()].count(None) == 1
    assert "Studio for home alpha is ready" in replicas.latest()["text"]
    assert replicas.whispers("U_OPERATOR") == ""


async def test_the_same_words_typed_again_are_a_wish_of_their_own(replicas: Office) -> None:
    await replicas.types("U_OPERATOR", "create home=alpha")

    await replicas.types("U_OPERATOR", "create home=alpha")

    assert [m["thread_ts"] for m in replicas.shown()].count(None) == 2
    assert replicas.world.cube.called("create") == 1


async def test_two_clicks_in_the_same_moment_on_two_replicas_stop_once(replicas: Office) -> None:
    await replicas.types("U_OPERATOR", "create home=alpha")
    await replicas.clicks("U_OPERATOR", replicas.latest(), "hermes.stop.ask")
    click = replicas.click("U_OPERATOR", replicas.latest(), "hermes.stop.confirm")

    await asyncio.gather(*(replicas.slack.people.click(click) for _ in range(2)))
    await replicas.idle()

    assert replicas.world.cube.called("kill") == 1
    assert sum("is gone" in m["text"] for m in replicas.shown()) == 1
    assert replicas.whispers("U_OPERATOR")


async def test_one_press_delivered_often_acts_and_answers_once(office: Office) -> None:
    await office.types("U_OPERATOR", "create home=alpha")
    result = office.latest()
    message = office.slack.world.messages.find_posted("C_OPS", result["ts"])
    button = next(e for b in result["blocks"] if b["type"] == "actions" for e in b["elements"])
    assert message is not None
    press = payloads.message_action(
        token="t",
        person=office.slack.world.cast.people["U_OPERATOR"],
        channel=office.slack.world.cast.channels["C_OPS"],
        message=message,
        body=payload_of(office.slack.world, message),
        action=button | {"action_id": "hermes.stop.ask", "action_ts": "1.2"},
        values={},
        trigger_id=office.slack.world.tickets.new_trigger("U_OPERATOR"),
        response_url="",
    )
    before = len(office.shown())

    await office.delivers("interactive", press, 50)

    assert len(office.shown()) == before + 1


async def test_an_event_delivered_again_is_answered_once(office: Office) -> None:
    await office.slack.people.say("U_OPERATOR", "C_OPS", "hello there")
    ts = office.latest()["ts"]
    mention = {
        "type": "app_mention",
        "user": "U_OPERATOR",
        "text": "<@U_BOT> hello",
        "ts": ts,
        "channel": "C_OPS",
        "event_ts": ts,
        "team": "T_DEMO",
    }
    person = office.slack.world.cast.people["U_OPERATOR"]
    event = payloads.event(token="t", event=mention, now=1.0, channel=None, person=person)

    await office.delivers("events_api", event, 20)
    await office.until(lambda: len(office.shown()) > 1)

    assert len(office.shown()) == 2


async def test_two_clicks_on_cancel_are_both_answered_and_said_once(office: Office) -> None:
    async def press_twice() -> None:
        await becomes(lambda: any(m["thread_ts"] for m in office.shown()))
        progress = next(m for m in office.shown() if m["thread_ts"])
        click = office.click("U_OPERATOR", progress, "hermes.create.cancel")
        await asyncio.gather(*(office.slack.people.click(click) for _ in range(2)))
        await becomes(lambda: "Cancel has been pressed before" in office.whispers("U_OPERATOR"))

    office.world.cube.before("create", press_twice)

    await office.types("U_OPERATOR", "create home=alpha")

    assert sum("pressed Cancel" in m["text"] for m in office.shown()) == 1
    assert "Cancelled after step" in office.latest()["text"]
