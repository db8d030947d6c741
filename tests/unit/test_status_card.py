"""The card of one sandbox: what it shows and offers, and what asking it now costs."""

from dataclasses import replace
from datetime import timedelta

import pytest
from contract.doubles import MemoryHome
from contract.doubles_chat import Kept
from slack_desk import Desk, open_desk, shown
from status_rows import add

from bot.domain.audit import AuditEvent
from bot.domain.errors import NodeError
from bot.domain.heartbeat import heartbeat
from bot.domain.outcome import Done
from bot.domain.provisioning import Provisioned
from bot.domain.sandbox import SandboxState
from bot.standin.slack.blocks import check_message_blocks
from handlers.buttons import Press

DATA_PLANE = ("web_ui", "envd")


async def made(desk: Desk, home: str = "atlas") -> Provisioned:
    """A Studio that our own create has made, an hour ago."""
    outcome = await desk.world.create(home)
    assert isinstance(outcome, Done), outcome
    desk.world.clock.advance(3600)
    sandbox_id = outcome.value.sandbox_id
    view = desk.world.cube.sandboxes[sandbox_id]
    soon = desk.world.clock.now() + timedelta(seconds=300)
    desk.world.cube.sandboxes[sandbox_id] = replace(view, end_at=soon.isoformat())
    desk.world.studio.calls.clear()
    return outcome.value


async def card_of(desk: Desk, target: str, user: str = "U_OPERATOR") -> Kept:
    await desk.command(user, f"status {target}")
    answer = desk.chat.seen_by(user)[-1]
    check_message_blocks(answer.blocks)
    return answer


def labels(answer: Kept) -> list[str]:
    rows = [b for b in answer.blocks if b["type"] == "actions"]
    return [element["text"]["text"] for row in rows for element in row["elements"]]


async def test_a_card_shows_everything_and_disturbs_nothing() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 7, home="atlas", age=12)
    desk.world.node.homes["atlas"].size = 5 * 1024**2
    desk.world.node.workspaces["atlas"] = MemoryHome(size=None)

    answer = await card_of(desk, "atlas")

    text = shown(answer)
    for word in ("Studio works.", "ready, 12 s ago", "10 min", "5.0 MiB", "100 GiB free", "hermes-studio`",
                 "5f1d0c2a", sandbox_id, "<@U_OPERATOR>"):  # fmt: skip
        assert word in text, word
    assert "`atlas` (unknown)" in text  # the workspace, which could not be counted in time
    assert desk.world.studio.calls == []
    assert desk.world.cube.called("run") == 0


@pytest.mark.parametrize("target", ["atlas", f"{7:032x}"])
async def test_a_pause_on_its_way_is_told_although_cube_says_running_when_asked_by_id(target: str) -> None:
    desk = open_desk()
    add(desk.world, 7, home="atlas", state=SandboxState.PAUSING, end_in=None)

    answer = await card_of(desk, target)

    assert "atlas: pausing" in shown(answer)
    assert labels(answer) == ["Diagnose", "Refresh"]


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ("U_OPERATOR", ["Open Studio", "Check now", "Keep 2 h", "Pause", "Stop", "Diagnose", "Refresh"]),
        ("U_APPROVER", ["Open Studio", "Check now", "Keep 2 h", "Pause", "Stop", "Diagnose", "Refresh"]),
        ("U_OPERATOR2", ["Refresh"]),
    ],
)
async def test_only_buttons_that_this_person_may_press_are_offered(user: str, expected: list[str]) -> None:
    desk = open_desk()
    await made(desk)

    assert labels(await card_of(desk, "atlas", user)) == expected


async def test_a_sleeping_one_offers_to_be_woken() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    desk.world.cube.set_state(sandbox.sandbox_id, SandboxState.PAUSED)

    answer = await card_of(desk, "atlas")

    assert labels(answer) == ["Resume", "Open Studio", "Stop", "Diagnose", "Refresh"]
    assert desk.world.studio.calls == []


async def test_a_stranger_that_may_be_destroyed_when_idle_has_a_cure_of_one_press() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 7, home="atlas", state=SandboxState.PAUSED)

    answer = await card_of(desk, "atlas")

    assert "Cube may destroy it when it is idle" in shown(answer)
    assert answer.buttons[f"{Press.KEEP.value}:never"]["value"] == f"v1:{sandbox_id}.-1"


async def test_our_own_is_paused_when_idle_and_needs_no_cure() -> None:
    desk = open_desk()
    await made(desk)

    assert "may destroy" not in shown(await card_of(desk, "atlas"))


async def test_the_last_events_are_told_as_people_tell_them() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    told = {"request_id": "x", "phase": "outcome", "actor": "U_APPROVER", "actor_kind": "user",
            "sandbox": sandbox.sandbox_id, "home": "atlas"}  # fmt: skip
    rows = [
        {"action": "keep", "result": "ok", "code": "kept", "details": {"timeout": 7200, "before": 900}},
        {"action": "pause", "result": "unknown", "code": "pause-unknown"},
    ]
    for row in rows:
        await desk.world.log.append(AuditEvent(**told, **row))

    text = shown(await card_of(desk, "atlas"))

    assert "<@U_APPROVER> wanted to pause it: it is not known how it ended (`pause-unknown`)" in text
    assert "<@U_APPROVER> set its idle time to 2 h" in text
    assert "<@U_OPERATOR> made it" in text


async def test_labels_that_cube_has_lost_are_shown_as_the_log_has_them() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    view = desk.world.cube.sandboxes[sandbox.sandbox_id]
    desk.world.cube.sandboxes[sandbox.sandbox_id] = replace(view, metadata={}, state=SandboxState.PAUSED)

    answer = await card_of(desk, sandbox.sandbox_id)

    assert "atlas: asleep" in shown(answer)
    assert "as the audit log has them" in shown(answer)


async def test_a_silent_node_leaves_unknown_what_only_it_knows() -> None:
    desk = open_desk()
    add(desk.world, 7, home="atlas")
    desk.world.node.fail("pulse", NodeError("node-unreachable", "no route"))
    desk.world.node.fail("sizes", NodeError("node-unreachable", "no route"))

    text = shown(await card_of(desk, "atlas"))

    assert "atlas: unknown" in text
    assert "`atlas` (unknown)" in text


async def test_what_is_not_there_is_said_with_what_one_has() -> None:
    desk = open_desk()
    add(desk.world, 7, home="atlas")

    await desk.command("U_OPERATOR", "status zeta")

    assert "No sandbox runs on home zeta" in desk.told("U_OPERATOR")
    assert "Yours now: `atlas`" in desk.told("U_OPERATOR")


async def test_check_now_asks_it_says_so_and_is_recorded() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    assert answer.buttons[Press.CHECK.value]["confirm"]["text"]["text"].startswith("I send a request")
    desk.world.studio.calls.clear()

    await desk.press("U_OPERATOR", answer, Press.CHECK.value)

    card = desk.chat.seen_by("U_OPERATOR")[-1]
    assert [name for name, _ in desk.world.studio.calls] == [*DATA_PLANE]
    assert "counts as a use" in shown(card)
    rows = await desk.world.log.recent(sandbox=sandbox.sandbox_id)
    assert [(row.action, row.phase, row.code) for row in rows[:1]] == [("check", "step", "check-asked")]


async def test_check_now_leaves_a_sleeping_one_asleep() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    desk.world.studio.calls.clear()
    desk.world.cube.set_state(sandbox.sandbox_id, SandboxState.PAUSED)

    await desk.press("U_OPERATOR", answer, Press.CHECK.value)

    refusal = desk.chat.seen_by("U_OPERATOR")[-1]
    assert "check-would-wake" in shown(refusal)
    assert labels(refusal) == ["Resume"]
    assert desk.world.studio.calls == []


async def test_check_now_is_for_the_owner_or_an_approver() -> None:
    desk = open_desk()
    await made(desk)
    answer = await card_of(desk, "atlas")
    desk.world.studio.calls.clear()

    await desk.press("U_OPERATOR2", answer, Press.CHECK.value)

    assert "not-owner" in desk.told("U_OPERATOR2")
    assert desk.world.studio.calls == []


async def test_running_but_dark_is_told_by_a_check() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    desk.world.studio.dark.add(sandbox.sandbox_id)

    await desk.press("U_OPERATOR", answer, Press.CHECK.value)

    card = desk.chat.seen_by("U_OPERATOR")[-1]
    assert "atlas: dark" in shown(card)
    assert labels(card) == ["Check now", "Stop", "Diagnose", "Refresh"]


async def test_one_that_never_times_out_is_asked_whenever_it_is_looked_at() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 7, home="atlas", end_in=None)
    desk.world.studio.dark.add(sandbox_id)

    answer = await card_of(desk, "atlas")

    assert "atlas: dark" in shown(answer)
    assert "Keep 2 h" not in labels(answer)


async def test_refresh_shows_the_same_card_as_it_is_now() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    desk.world.cube.set_state(sandbox.sandbox_id, SandboxState.PAUSED)

    await desk.press("U_OPERATOR", answer, Press.STATUS.value)

    assert "atlas: asleep" in shown(desk.chat.seen_by("U_OPERATOR")[-1])


async def test_a_request_that_nothing_answered_is_told_for_a_minute_and_not_longer() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    desk.world.studio.dark.add(sandbox.sandbox_id)
    await desk.press("U_OPERATOR", answer, Press.CHECK.value)
    desk.world.studio.calls.clear()

    soon = await card_of(desk, "atlas")
    desk.world.clock.advance(61)
    later = await card_of(desk, "atlas")

    assert "atlas: dark" in shown(soon)
    assert "atlas: dark" not in shown(later)
    assert desk.world.studio.calls == []


async def test_our_own_request_is_never_taken_for_somebodys_use() -> None:
    desk = open_desk()
    sandbox = await made(desk)
    answer = await card_of(desk, "atlas")
    await desk.press("U_OPERATOR", answer, Press.CHECK.value)
    view = desk.world.cube.sandboxes[sandbox.sandbox_id]
    used_now = desk.world.clock.now() + timedelta(seconds=900)
    desk.world.cube.sandboxes[sandbox.sandbox_id] = replace(view, end_at=used_now.isoformat())
    desk.world.studio.calls.clear()

    await card_of(desk, "atlas")
    assert desk.world.studio.calls == []
    desk.world.clock.advance(5)
    later = desk.world.clock.now() + timedelta(seconds=900)
    desk.world.cube.sandboxes[sandbox.sandbox_id] = replace(view, end_at=later.isoformat())
    await card_of(desk, "atlas")

    assert [name for name, _ in desk.world.studio.calls] == [*DATA_PLANE]


async def test_what_another_sandbox_says_of_itself_is_not_told_of_this_one() -> None:
    desk = open_desk()
    add(desk.world, 7, home="atlas")
    told = {"sandbox": "f" * 32, "studio": "ready", "load": 42.0, "memory_free": 1, "memory_total": 2}
    desk.world.node.homes["atlas"].heartbeat = heartbeat(told, age=5)

    answer = await card_of(desk, "atlas")

    text = shown(answer)
    assert "the heartbeat in its home is another's" in text
    assert "42.0" not in text


async def test_labels_that_somebody_else_wrote_stay_short_and_turn_nothing_around() -> None:
    desk = open_desk()
    sandbox_id = add(desk.world, 7)
    view = desk.world.cube.sandboxes[sandbox_id]
    evil = dict.fromkeys(view.metadata, f"<!channel> \u202egnp.exe\x07 {'x' * 3000}")
    desk.world.cube.sandboxes[sandbox_id] = replace(view, metadata=evil)

    answer = await card_of(desk, sandbox_id)

    text = shown(answer)
    assert text.count("x") < 1500
    assert not {"\u202e", "\x07"} & set(text)
    assert "<!channel>" not in str(answer.blocks[1:])
