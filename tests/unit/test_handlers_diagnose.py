"""Diagnosing as people in Slack see it."""

from dataclasses import replace

import pytest
from contract.doubles import fault
from slack_desk import Desk, open_desk, shown

from bot.domain.errors import NodeError
from bot.domain.evidence import ConfigFile
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.sandbox import SandboxState

SECRET = "EXAMPLE-" + "s3cret-" * 3


@pytest.fixture
async def desk() -> Desk:
    made = open_desk()
    await made.command("U_OPERATOR", "create home=alpha workspace=proj")
    made.world.node.homes["alpha"].heartbeat = Heartbeat(age=3.0, studio=Inside.READY, envd=True)
    return made


def sandbox(desk: Desk) -> str:
    [found] = desk.world.cube.sandboxes
    return found


async def test_a_healthy_one_is_called_healthy_and_its_evidence_is_a_file(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "diagnose alpha")

    verdict, evidence = desk.thread(number=1)
    assert "Nothing is wrong: all four sides were examined." in desk.parents()[1].text
    assert "Nothing is wrong" in verdict.text
    assert list(verdict.buttons) == ["hermes.diagnose"]
    assert "list says running, GET says running" in shown(evidence)
    [file] = desk.chat.files
    assert "== Inside" in file.text
    assert "port 9000: python3" in file.text


async def test_the_verdict_comes_first_with_its_cure_and_the_buttons_for_it(desk: Desk) -> None:
    desk.world.guest.studio_running.clear()
    desk.world.node.examined = {"config": ConfigFile(state="broken", problem="line 3 is not YAML")}

    await desk.command("U_OPERATOR", "diagnose alpha")

    text = shown(desk.thread(number=1)[0])
    assert text.index("line 3 is not YAML") < text.index("Also found") < text.index("Nothing listens on")
    assert "Type `/hermes resume alpha`" in text
    assert "config-corrupt" in text
    assert list(desk.thread(number=1)[0].buttons) == ["hermes.open", "hermes.resume", "hermes.diagnose"]


async def test_a_paused_one_stays_paused_and_can_be_woken_by_its_button(desk: Desk) -> None:
    desk.world.cube.set_state(sandbox(desk), SandboxState.PAUSED)
    before = desk.world.cube.sandboxes[sandbox(desk)]

    await desk.command("U_OPERATOR", "diagnose alpha")

    card = desk.thread(number=1)[0]
    assert "It is paused, and nothing is wrong as far as can be seen without waking it." in card.text
    assert desk.world.cube.sandboxes[sandbox(desk)] == before
    assert desk.world.guest.called("examine") == desk.world.studio.called("web_ui") - 1 == 0
    await desk.press("U_OPERATOR", card, "hermes.diagnose.wake")
    assert "Nothing is wrong: all four sides were examined." in desk.thread(number=1)[2].text
    assert "woken for this" in shown(desk.thread(number=1)[2])
    assert desk.world.cube.sandboxes[sandbox(desk)].state is SandboxState.RUNNING


async def test_waking_is_an_intent_and_an_outcome_and_the_examination_a_step(desk: Desk) -> None:
    desk.world.cube.set_state(sandbox(desk), SandboxState.PAUSED)
    await desk.command("U_OPERATOR", "diagnose alpha")

    await desk.press("U_OPERATOR", desk.thread(number=1)[0], "hermes.diagnose.wake")

    rows = await desk.world.log.recent(home="alpha", limit=4)
    told = [(row.action, row.phase, row.code) for row in reversed(rows)]
    assert told == [
        ("diagnose", "step", "asleep"),
        ("resume", "intent", ""),
        ("resume", "outcome", "resumed"),
        ("diagnose", "step", "healthy"),
    ]
    assert rows[0].details["examined"] == ["cube", "node", "inside", "studio"]


async def test_a_sandbox_that_cube_cannot_wake_is_named_so(desk: Desk) -> None:
    desk.world.cube.set_state(sandbox(desk), SandboxState.PAUSED)
    await desk.command("U_OPERATOR", "diagnose alpha")
    words = "CubeMaster returned error code 130589: OpenTap(TapOpen) ResourceBusy"
    desk.world.cube.fail("resume", fault("connect", 500, words))

    await desk.press("U_OPERATOR", desk.thread(number=1)[0], "hermes.diagnose.wake")

    [row] = [row for row in await desk.world.log.recent(home="alpha") if row.phase == "outcome"][:1]
    assert "Cube did not wake it" in desk.thread(number=1)[2].text
    assert "cannot-resume" in shown(desk.thread(number=1)[2])
    assert (row.action, row.result, row.code) == ("resume", "failed", "cube-unresumable-tap-busy")


async def test_somebody_else_may_not_look_and_nothing_is_looked_at(desk: Desk) -> None:
    await desk.command("U_OPERATOR2", "diagnose alpha")

    assert "only the owner or an approver" in shown(desk.thread(number=1)[0])
    assert desk.world.guest.called("examine") == 0
    assert desk.world.node.called("examine") == 0


async def test_somebody_else_who_presses_is_told_so_alone(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "diagnose alpha")
    count = len(desk.thread(number=1))

    await desk.press("U_OPERATOR2", desk.thread(number=1)[0], "hermes.diagnose")

    assert "only the owner or an approver" in desk.told("U_OPERATOR2")
    assert len(desk.thread(number=1)) == count


async def test_what_is_not_there_is_answered_where_it_was_asked(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "diagnose beta")

    assert "No sandbox runs on home beta" in desk.parents()[1].text


async def test_secrets_of_the_home_are_taken_out_of_the_log(desk: Desk) -> None:
    home = desk.world.node.homes["alpha"]
    assert home.env is not None
    home.env["MODEL_API_KEY"] = SECRET
    desk.world.guest.examined = {"log_tail": (f"server.log: using key {SECRET} for the model",)}

    await desk.command("U_OPERATOR", "diagnose alpha")

    assert "using key" in desk.chat.files[0].text
    assert SECRET not in desk.chat.files[0].text


async def test_without_the_secrets_of_the_home_no_log_is_shown(desk: Desk) -> None:
    desk.world.node.fail("launch_env", NodeError("node-program-failed", "studio.env is damaged."))
    desk.world.guest.examined = {"log_tail": (f"server.log: using key {SECRET} for the model",)}

    await desk.command("U_OPERATOR", "diagnose alpha")

    assert "using key" not in desk.chat.files[0].text
    assert "could not be read" in desk.chat.files[0].text


async def test_one_side_that_fails_does_not_end_the_examination(desk: Desk) -> None:
    desk.world.node.fail("examine", NodeError("node-unreachable", "Node node-1 does not answer."))
    desk.world.node.fail("pulse", NodeError("node-unreachable", "Node node-1 does not answer."))

    await desk.command("U_OPERATOR", "diagnose alpha")

    text = shown(desk.thread(number=1)[0])
    assert "Node node-1 does not answer." in text
    assert "node-silent" in text
    assert desk.world.guest.called("examine") == 1


async def test_a_log_that_cannot_be_written_does_not_keep_anybody_from_looking(desk: Desk) -> None:
    desk.world.log.broken = "disk full"

    await desk.command("U_OPERATOR", "diagnose alpha")

    assert "Nothing is wrong" in desk.thread(number=1)[0].text


async def test_two_sandboxes_on_one_home_are_the_first_thing_named(desk: Desk) -> None:
    [first] = desk.world.cube.sandboxes.values()
    desk.world.cube.sandboxes["f" * 32] = replace(first, sandbox_id="f" * 32)

    await desk.command("U_OPERATOR", "diagnose alpha")

    assert "More than one sandbox has home alpha" in desk.thread(number=1)[0].text


async def test_of_two_on_one_home_none_is_woken(desk: Desk) -> None:
    [first] = desk.world.cube.sandboxes.values()
    desk.world.cube.set_state(first.sandbox_id, SandboxState.PAUSED)
    await desk.command("U_OPERATOR", "diagnose alpha")
    desk.world.cube.sandboxes["f" * 32] = replace(first, sandbox_id="f" * 32)

    await desk.press("U_OPERATOR", desk.thread(number=1)[0], "hermes.diagnose.wake")

    assert "More than one sandbox has home alpha" in desk.thread(number=1)[2].text
    assert "hermes.diagnose.wake" not in desk.thread(number=1)[2].buttons
    assert desk.world.cube.called("resume") == 0


async def test_a_press_while_a_job_has_the_home_wakes_nothing(desk: Desk) -> None:
    desk.world.cube.set_state(sandbox(desk), SandboxState.PAUSED)
    await desk.command("U_OPERATOR", "diagnose alpha")

    async with desk.world.locks.hold("home:alpha"):
        await desk.press("U_OPERATOR", desk.thread(number=1)[0], "hermes.diagnose.wake")

    assert "Another job is working on home alpha" in desk.told("U_OPERATOR")
    assert desk.world.cube.called("resume") == 0


async def test_a_press_in_the_app_home_is_answered_in_a_thread_of_direct_messages(desk: Desk) -> None:
    await desk.command("U_OPERATOR", "diagnose alpha")
    press = desk.pressing("U_OPERATOR", desk.thread(number=1)[0], "hermes.diagnose")
    in_home = {
        key: value for key, value in press.items() if key not in {"message", "channel", "response_url"}
    }

    await desk.send({**in_home, "container": {"type": "view", "view_id": "V1"}})
    await desk.services.jobs.idle()

    [verdict] = desk.parents("D_U_OPERATOR")
    [evidence] = desk.thread("D_U_OPERATOR")
    assert "Nothing is wrong" in verdict.text
    assert "list says running" in shown(evidence)
    assert desk.chat.files[-1].thread_ts == verdict.ts
