"""The bot dies in the middle of a create: the thread tells the truth, and the same sandbox is finished."""

import asyncio
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e import quick_bot
from e2e.installed import APPROVER, OPERATOR, OPERATOR2, OPS, Installed, Thread

from bot.demo.reading import buttons, thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

KEY = "EXAMPLE-kept-through-the-crash"
INTERRUPTED = "What happened: Interrupted"
"""Only the reply says it so; the first message of the thread, which is edited before, does not."""


@dataclass(frozen=True)
class Crash:
    """In which step the bot is killed, and what then is true."""

    step: int
    sandbox: bool


CRASHES = [Crash(4, sandbox=False), Crash(9, sandbox=True)]
"""Step 5 comes below with a second crash, step 8 with two people who press Continue."""


async def killed(site: Installed, home: str, step: int) -> Thread:
    """A create whose bot was killed with SIGKILL in this step, and started again."""
    if step == 4:
        await site.fault("node", "ssh-slow", delay_s=0.8, times=2)
    if step == 5:
        await site.fault("cube", "slow-api", operation="create", delay_s=1.5)
    thread = await site.type(OPERATOR, f"create home={home} env=OPENAI_API_KEY={KEY}")
    await site.recorded(home=home, code=f"step-{step - 1}")
    if step == 5:
        # The worst moment: Cube has made it, and the bot has not been told.
        await site.control.until("the sandbox", lambda: site.sandboxes(home))
    await site.crash_bot()
    await site.unarm()
    await site.start_bot()
    return thread


async def told_truth(site: Installed, thread: Thread, crash: Crash) -> list[str]:
    """Check what the thread says against Cube and the audit log; gives the sandboxes of the home."""
    text = thread_text([await thread.saying(INTERRUPTED)])
    there = await site.sandboxes(thread.home)
    done = [row["code"] for row in site.rows(home=thread.home, phase="step")]
    assert done[-1] == f"step-{crash.step - 1}", f"killed too late: {done}"
    assert f"Interrupted after step {crash.step - 1} (" in text
    assert len(there) == int(crash.sandbox)
    assert (f"Sandbox {there[0]} exists." if there else "No sandbox was made.") in text
    assert f"Home {thread.home} and workspace {thread.home} are safe on the node." in text
    assert "What to do: @U_OPERATOR, press Continue" in text
    assert (site.home(thread.home) / ".hermes-bot/studio.env").exists()
    return there


def spins(messages: list[dict[str, object]]) -> bool:
    """Whether something in the thread still looks as if it went on."""
    text = json.dumps(messages)
    return "in_progress" in text or ":hourglass" in text or "hermes.create.cancel" in text


def studio_environments(value: str) -> list[str]:
    """Command lines of the processes on this machine that were started with this environment value."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if value.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it has ended meanwhile
    return found


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: f"step-{crash.step}")
async def test_continue_finishes_what_a_crash_interrupted(site: Installed, crash: Crash) -> None:
    thread = await killed(site, f"crashed-{crash.step}", crash.step)
    there = await told_truth(site, thread, crash)
    assert not spins(await thread.messages())

    await thread.press("hermes.create.continue")
    told = await thread.ended(":white_check_mark:")

    after = await site.sandboxes(thread.home)
    assert len(after) == 1
    assert not there or after == there
    assert "Continued by @U_OPERATOR" in told
    assert not spins(await thread.messages())
    running = studio_environments(KEY)
    assert any("hermes-studio/server" in line for line in running), running
    await site.recorded(home=thread.home, phase="outcome", code="provisioned")


async def test_stop_on_the_interrupted_thread_removes_the_sandbox(site: Installed) -> None:
    thread = await killed(site, "given-up", 9)
    await told_truth(site, thread, Crash(9, sandbox=True))

    await thread.press("hermes.stop.confirm")

    assert "Kept on the node: home given-up" in thread_text([await thread.saying("is gone")])
    assert await site.sandboxes("given-up") == []
    await thread.press("hermes.create.continue", message=await thread.saying(INTERRUPTED))
    await site.told(OPERATOR, "@U_OPERATOR has already stopped it")
    assert await site.sandboxes("given-up") == []


async def test_two_people_continue_at_once_and_it_happens_once(site: Installed) -> None:
    thread = await killed(site, "pressed", 8)
    there = await told_truth(site, thread, Crash(8, sandbox=True))
    message = await thread.holding("hermes.create.continue")
    refused = await site.answer_to_press(thread, "hermes.create.continue", OPERATOR2, message)

    await asyncio.gather(
        thread.press("hermes.create.continue", OPERATOR, message=message),
        thread.press("hermes.create.continue", APPROVER, message=message),
    )
    told = await thread.ended(":white_check_mark:")

    assert "It belongs to @U_OPERATOR" in refused
    [claim] = site.rows(home="pressed", phase="claim")
    loser = APPROVER if claim["actor"] == OPERATOR else OPERATOR
    await site.told(loser, f"@{claim['actor']} has already continued it")
    assert told.count("STUDIO FOR HOME PRESSED IS READY") == 1
    assert f"Continued by @{claim['actor']}" in told
    assert "Owner: @U_OPERATOR" in told
    assert await site.sandboxes("pressed") == there
    assert (await site.run("audit", "verify"))[0] == 0


async def test_killed_twice_still_ends_with_one_sandbox(site: Installed) -> None:
    thread = await killed(site, "unlucky", 5)
    [sandbox] = await told_truth(site, thread, Crash(5, sandbox=True))
    count = len(site.rows(home="unlucky", code="step-7"))
    await thread.press("hermes.create.continue")
    await site.control.until("step 7 again", lambda: _rows_beyond(site, count))
    await site.crash_bot()
    await site.start_bot()

    again = await thread.saying("Interrupted after step 7")
    await thread.press("hermes.create.continue", message=again)

    assert "is ready" in await thread.ended(":white_check_mark:")
    assert await site.sandboxes("unlucky") == [sandbox]


async def test_stop_that_a_crash_interrupted_is_told_and_not_repeated(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=half-stopped")
    card = await site.type(OPERATOR, "stop half-stopped")
    await card.holding("hermes.stop.confirm")
    await site.fault("cube", "slow-api", operation="kill", delay_s=2)
    await card.press("hermes.stop.confirm")
    await site.recorded(home="half-stopped", action="stop", phase="intent")
    await site.control.until("the end of the sandbox", lambda: _gone(site, "half-stopped"))
    await site.crash_bot()
    await site.unarm()

    await site.start_bot()

    told = thread_text([await card.saying("Interrupted while stopping")])
    assert "The sandbox is gone." in told
    assert re.search(r"nothing; come back with /hermes create home=half-stopped", told)
    # It is told first and recorded then, so that a crash in between tells twice and never not at all.
    assert (await site.recorded(home="half-stopped", action="stop", phase="outcome"))["result"] == "ok"
    assert thread.home == "half-stopped"


async def test_sigterm_lets_a_short_job_end(site: Installed) -> None:
    thread = await site.type(OPERATOR, "create home=patient")
    await site.recorded(home="patient", code="step-9")

    code = await site.end_bot()

    assert code == 0
    assert "is ready" in await thread.ended(":white_check_mark:")
    await site.start_bot()
    assert "restarted" not in await thread.text()
    assert len(site.rows(home="patient", phase="outcome")) == 1


async def test_sigterm_ends_a_long_job_and_the_next_start_tells(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=6)
    thread = await site.type(OPERATOR, "create home=endless")
    await site.recorded(home="endless", phase="intent", code="")

    code = await site.end_bot()
    told_before = await thread.text()
    await site.unarm()
    await site.start_bot()

    assert code == 0
    cut = "2 of 10 steps are done; step 3 (Prepare the directories on the node) took too long"
    assert f"I am being restarted. {cut}" in told_before
    told = thread_text([await thread.saying(INTERRUPTED)])
    assert "Interrupted after step 2" in told
    assert "No sandbox was made." in told
    assert not spins(await thread.messages())
    await thread.press("hermes.create.continue")
    assert "is ready" in await thread.ended(":white_check_mark:")
    assert len(await site.sandboxes("endless")) == 1


async def test_sigterm_does_not_wait_for_a_cube_that_does_not_answer(site: Installed) -> None:
    await site.fault("cube", "slow-api", operation="list", delay_s=60)
    thread = await site.type(OPERATOR, "create home=hanging")

    async def hangs() -> bool:
        return not (await site.control.get("/faults"))["armed"]

    await site.control.until("the call that hangs", hangs)
    begun = time.monotonic()
    code = await site.end_bot()
    took = time.monotonic() - begun

    assert code == 0
    assert took < quick_bot.DRAIN_SECONDS + 3
    await site.start_bot()
    assert "No sandbox was made." in thread_text([await thread.saying(INTERRUPTED)])


async def _rows_beyond(site: Installed, count: int) -> bool:
    return len(site.rows(home="unlucky", code="step-7")) > count


async def _gone(site: Installed, home: str) -> bool:
    return not await site.sandboxes(home)


async def test_killed_before_its_first_step_it_is_told_and_continues(site: Installed) -> None:
    await site.control.command(OPERATOR, OPS, "create home=early")
    await site.recorded(home="early", code="asked")
    await site.crash_bot()
    await site.start_bot()

    async def told() -> dict[str, Any] | None:
        about = [m for m in await site.control.messages(OPS) if "early" in thread_text([m])]
        return next((m for m in about if "hermes.create.continue" in buttons(m)), None)

    message = await site.control.until("the interruption", told)
    assert "Interrupted" in thread_text([message])
    await site.control.click(OPERATOR, OPS, message["ts"], "hermes.create.continue")
    await site.recorded(home="early", code="provisioned")
    assert len(await site.sandboxes("early")) == 1
