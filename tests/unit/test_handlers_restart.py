import asyncio
from dataclasses import replace
from typing import Any

import pytest
from slack_desk import Desk, open_desk, shown

from bot.domain.actors import Action, Actor
from bot.domain.errors import ChatError
from bot.domain.provisioning import CreateRequest, Step, StepEvent, StepState
from bot.ports import Message
from bot.usecases.asking import ask
from bot.usecases.recovery import Interrupted, find_interrupted
from handlers.render.progress import Progress, progress_message
from handlers.restart import announce_interrupted


@pytest.fixture
def desk() -> Desk:
    return open_desk()


def interrupted(**changes: object) -> Interrupted:
    given: dict[str, Any] = {
        "request_id": "r-1",
        "action": Action.CREATE,
        "owner": "U_OPERATOR",
        "home": "alpha",
        "workspace": "alpha",
        "channel": "C_OPS",
        "thread_ts": "",
        "progress_ts": "",
        "after": Step.SEED,
        "sandbox_id": None,
        "sandbox_known": True,
    }
    return Interrupted(**(given | changes))


async def left_in_the_middle(desk: Desk) -> tuple[str, str]:
    """A thread with a progress message that spins; gives both time stamps."""
    parent = await desk.chat.post("C_OPS", Message("<@U_OPERATOR> is creating"))
    running = Progress(
        request_id="r-1", home="alpha", steps={Step.CREATE: StepEvent(Step.CREATE, StepState.RUNNING)}
    )
    progress = await desk.chat.post("C_OPS", progress_message(running), thread_ts=parent.ts)
    return parent.ts, progress.ts


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (Step.DIRECTORIES, "No sandbox was made."),
        (Step.SEED, "Cube may have been asked for a sandbox already, but it lists none."),
    ],
)
async def test_the_thread_says_how_far_it_came_and_no_more_than_is_known(
    desk: Desk, after: Step, words: str
) -> None:
    thread_ts, progress_ts = await left_in_the_middle(desk)
    found = interrupted(thread_ts=thread_ts, progress_ts=progress_ts, after=after)

    await announce_interrupted([found], desk.services)

    message = desk.thread()[-1]
    assert f"Interrupted after step {after.value}" in message.text
    assert words in message.text
    assert list(message.buttons) == ["hermes.create.continue"]
    assert message.buttons["hermes.create.continue"]["value"] == "v1:r-1"


async def test_a_sandbox_that_exists_can_be_stopped_too(desk: Desk) -> None:
    thread_ts, progress_ts = await left_in_the_middle(desk)
    sandbox = "0" * 31 + "7"
    found = interrupted(thread_ts=thread_ts, progress_ts=progress_ts, after=Step.SKILLS, sandbox_id=sandbox)

    await announce_interrupted([found], desk.services)

    message = desk.thread()[-1]
    assert f"Sandbox `{sandbox}` exists." in message.text
    assert {a: b["value"] for a, b in message.buttons.items()} == {
        "hermes.create.continue": "v1:r-1",
        "hermes.stop.confirm": "v1:r-1",
    }


async def test_no_spinner_and_no_cancel_button_stay(desk: Desk) -> None:
    thread_ts, progress_ts = await left_in_the_middle(desk)

    await announce_interrupted([interrupted(thread_ts=thread_ts, progress_ts=progress_ts)], desk.services)

    progress = desk.thread()[0]
    assert progress.buttons == {}
    statuses = [task["status"] for task in progress.blocks[0]["tasks"]]
    assert statuses == ["complete"] * 4 + ["error"] + ["pending"] * 5
    assert "interrupted after step 4" in desk.parents()[0].text


async def test_an_unknown_sandbox_is_said_to_be_unknown(desk: Desk) -> None:
    thread_ts, _ = await left_in_the_middle(desk)

    await announce_interrupted([interrupted(thread_ts=thread_ts, sandbox_known=False)], desk.services)

    assert "I cannot tell whether a sandbox exists" in desk.thread()[-1].text


async def test_an_interrupted_stop_asks_again(desk: Desk) -> None:
    thread_ts, _ = await left_in_the_middle(desk)
    found = interrupted(thread_ts=thread_ts, action=Action.STOP, sandbox_id="1" * 32)

    await announce_interrupted([found], desk.services)

    message = desk.thread()[-1]
    assert "Interrupted while stopping" in message.text
    assert list(message.buttons) == ["hermes.stop.ask"]


async def test_a_thread_that_is_gone_goes_to_its_owner(desk: Desk) -> None:
    await announce_interrupted([interrupted(thread_ts="1.1")], desk.services)

    assert "Interrupted after step 4" in desk.parents("D_U_OPERATOR")[0].text


async def test_one_that_cannot_be_told_does_not_stop_the_others(desk: Desk) -> None:
    thread_ts, _ = await left_in_the_middle(desk)
    desk.chat.fail("post", ChatError("internal_error"))
    desk.chat.fail("direct", ChatError("internal_error"))

    await announce_interrupted(
        [interrupted(thread_ts=thread_ts), interrupted(thread_ts=thread_ts, request_id="r-2")], desk.services
    )

    assert "v1:r-2" in shown(desk.thread()[-1])


async def test_a_request_of_the_command_line_has_nobody_to_tell(desk: Desk) -> None:
    await announce_interrupted([interrupted(channel="", owner="cli:anna")], desk.services)

    assert desk.chat.messages == []


async def test_continue_after_a_restart_finishes_without_a_second_sandbox(desk: Desk) -> None:
    desk.world.guest.before("skills_inventory", asyncio.Event().wait)
    await desk.send(desk.slash("U_OPERATOR", "create home=alpha"))
    await desk.until(lambda: desk.world.guest.called("skills_inventory") > 0)
    await desk.services.jobs.drain(0)
    again = open_desk(world=desk.world, chat=desk.chat)

    await announce_interrupted(await find_interrupted(again.world.deps), again.services)
    await again.press("U_OPERATOR", again.thread()[-1], "hermes.create.continue")

    assert len(again.world.cube.sandboxes) == 1
    assert "Studio for home alpha is ready" in again.thread()[-1].text


async def test_a_create_that_was_only_typed_is_told_in_a_message_of_its_own(desk: Desk) -> None:
    request = CreateRequest(
        request_id="r-typed", actor=Actor("U_OPERATOR"), home="alpha", workspace="alpha", channel="C_OPS"
    )
    await ask(request, desk.services.deps)
    restarted = replace(desk.services.deps, process="p-2", running=set())

    await announce_interrupted(await find_interrupted(restarted), desk.services)

    [told] = desk.parents()
    assert "Interrupted before its first step" in told.text
    assert "hermes.create.continue" in told.buttons
