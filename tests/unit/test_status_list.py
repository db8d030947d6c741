"""The list of sandboxes: what it asks, what it says of each, and how it is cut into pages."""

from dataclasses import replace

import pytest
from contract.doubles import fault
from installation import OPERATOR, Installation, install
from slack_desk import Desk, open_desk, shown
from status_rows import add

from bot.domain.condition import Condition
from bot.domain.errors import NodeError
from bot.domain.heartbeat import heartbeat
from bot.domain.outcome import Done
from bot.domain.rules import Limits
from bot.domain.sandbox import SandboxState
from bot.standin.slack.blocks import check_message_blocks
from bot.usecases.sightings import Seen
from bot.usecases.status import Scope, Survey, seen_of, survey
from handlers.buttons import Press
from handlers.render.status import TABLE_TEXT, pages


async def look(world: Installation, scope: Scope = Scope.ALL) -> tuple[Survey, list[Seen]]:
    found = await survey(OPERATOR, scope, world.deps)
    assert isinstance(found, Done), found
    return found.value, await seen_of(found.value, 0, len(found.value.views), world.deps)


def words(seen: list[Seen]) -> dict[str, str]:
    return {one.view.home: one.judged.condition.value for one in seen}


async def test_a_thousand_sandboxes_cost_one_list_and_one_command_on_the_node() -> None:
    desk = open_desk()
    for number in range(1000):
        add(desk.world, number, owner=f"U{number % 7}")

    await desk.command("U_OPERATOR", "status")

    assert [name for name, _ in desk.world.cube.calls] == ["list"]
    assert [name for name, _ in desk.world.node.calls] == ["pulse"]
    assert desk.world.studio.calls == []
    assert desk.world.log.reads == ["unended"]


async def test_ones_own_come_first_and_every_row_tells_how_it_is() -> None:
    desk = open_desk()
    add(desk.world, 1, owner="U_ADMIN", home="beta")
    desk.world.guest.studio_running.add(add(desk.world, 2, home="zeta", end_in=None))
    add(desk.world, 3, home="atlas", state=SandboxState.PAUSED)

    await desk.command("U_OPERATOR", "status")

    [answer] = desk.chat.seen_by("U_OPERATOR")
    check_message_blocks(answer.blocks)
    table = next(block for block in answer.blocks if block["type"] == "table")
    cells = [[cell.get("text") or cell["elements"][0]["elements"][0]["user_id"] for cell in row]
             for row in table["rows"][1:]]  # fmt: skip
    assert [row[:3] for row in cells] == [
        ["atlas", "U_OPERATOR", "💤 asleep"],
        ["zeta", "U_OPERATOR", "🟢 ready"],
        ["beta", "U_ADMIN", "🟢 ready"],
    ]
    assert [row[4:6] for row in cells] == [
        ["-", "asleep"], ["never pauses", "ready, 12 s ago"], ["10 min", "ready, 12 s ago"],
    ]  # fmt: skip
    assert "3 sandboxes; 2 of them are yours" in answer.text


@pytest.mark.parametrize("text", ["status", "status all"])
async def test_both_ways_to_ask_show_everybodys(text: str) -> None:
    desk = open_desk()
    add(desk.world, 1, owner="U_ADMIN", home="beta")

    await desk.command("U_OPERATOR", text)

    assert "beta" in desk.told("U_OPERATOR")


async def test_pages_are_turned_live_and_one_can_see_ones_own_alone() -> None:
    desk = open_desk()
    for number in range(200):
        add(desk.world, number, owner="U_OPERATOR" if number < 3 else "U_ADMIN", home=f"home-{number:03d}")
    await desk.command("U_OPERATOR", "status")

    first = desk.chat.seen_by("U_OPERATOR")[-1]
    assert "hermes.status.page:previous" not in first.buttons
    await desk.press("U_OPERATOR", first, "hermes.status.page:next")
    second = desk.chat.seen_by("U_OPERATOR")[-1]
    await desk.press("U_OPERATOR", second, "hermes.status.page:scope")
    mine = desk.chat.seen_by("U_OPERATOR")[-1]

    assert "Page 2 of" in second.text
    assert "hermes.status.page:previous" in second.buttons
    assert desk.world.cube.called("list") == 3
    assert "Yours are 3 of 200" in mine.text
    assert "home-003" not in shown(mine)


async def test_no_page_is_larger_than_slack_takes_it() -> None:
    desk = open_desk()
    for number in range(130):
        add(desk.world, number, home="h" * 59 + f"-{number:03d}")
        desk.world.node.homes["h" * 59 + f"-{number:03d}"].heartbeat = heartbeat(
            {"studio": "not-ready", "note": "n" * 200, "sandbox": f"{number:032x}"}, age=1
        )
    found, _ = await look(desk.world)

    for number in range(1, len(pages(found)) + 1):
        await desk.press("U_OPERATOR", _page_button(desk, number), Press.STATUS_PAGE.value)

    shown_pages = desk.chat.seen_by("U_OPERATOR")
    assert len(shown_pages) == len(pages(found)) > 3
    for answer in shown_pages:
        check_message_blocks(answer.blocks)
    rows = [len(block["rows"]) - 1 for a in shown_pages for block in a.blocks if block["type"] == "table"]
    assert sum(rows) == 130
    assert max(rows) * 59 < TABLE_TEXT


def _page_button(desk: Desk, number: int):  # noqa: ANN202 - a message with one button, for a press
    from contract.doubles_chat import Kept  # noqa: PLC0415

    button = {"type": "button", "action_id": Press.STATUS_PAGE.value, "value": f"v1:{number}.all"}
    return Kept("C_OPS", "1.1", "", "", [{"type": "actions", "elements": [button]}])


async def test_a_node_that_does_not_answer_makes_health_unknown_and_no_error() -> None:
    world = install()
    add(world, 1)
    add(world, 2, state=SandboxState.PAUSED)
    world.node.fail("pulse", NodeError("node-unreachable", "no route"))

    _, seen = await look(world)

    assert words(seen) == {"home-1": "unknown", "home-2": "asleep"}
    assert "node cannot be asked" in seen[0].judged.sentence


async def test_a_sandbox_that_the_list_leaves_out_is_unknown_and_not_gone() -> None:
    world = install()
    made = await world.create("atlas")
    assert isinstance(made, Done)
    world.clock.advance(3600)
    there = world.cube.sandboxes[made.value.sandbox_id]
    world.cube.dropped = {there.sandbox_id}

    _, [seen] = await look(world)

    assert seen.judged.condition is Condition.UNKNOWN
    assert "leaves it out of its list" in seen.judged.sentence
    assert (seen.view.home, seen.view.owner) == ("atlas", "U_OPERATOR")


async def test_a_sandbox_of_ours_that_is_gone_is_asked_for_once() -> None:
    world = install()
    made = await world.create("atlas")
    assert isinstance(made, Done)
    del world.cube.sandboxes[made.value.sandbox_id]

    assert (await look(world))[1] == []
    asked = world.cube.called("get")
    assert (await look(world))[1] == []

    assert world.cube.called("get") == asked


async def test_more_than_a_few_that_the_list_leaves_out_are_not_kept_quiet() -> None:
    desk = open_desk(world=install(limits=Limits(per_user=0, total=0)))
    for number in range(21):
        await desk.world.create(f"home-{number}")
    desk.world.clock.advance(3600)
    desk.world.cube.dropped = set(desk.world.cube.sandboxes)
    asked = desk.world.cube.called("get")

    await desk.command("U_OPERATOR", "status")

    assert desk.world.cube.called("get") == asked + 20
    assert "leaves out more of our sandboxes" in desk.told("U_OPERATOR")


async def test_one_that_cannot_even_be_asked_by_its_id_is_unknown() -> None:
    world = install()
    await world.create("atlas")
    world.cube.dropped = set(world.cube.sandboxes)
    world.cube.fail("get", fault("get", 500, "CubeMaster returned error code 130596: ConnHostFailed"))

    _, [seen] = await look(world)

    assert (seen.view.home, seen.judged.condition) == ("atlas", Condition.UNKNOWN)


async def test_one_made_while_the_list_was_read_is_not_called_left_out() -> None:
    world = install()
    made = await world.create("atlas")
    assert isinstance(made, Done)
    view = world.cube.sandboxes[made.value.sandbox_id]
    world.cube.sandboxes[view.sandbox_id] = replace(view, started_at=world.clock.now().isoformat())
    world.cube.dropped = {view.sandbox_id}

    _, [seen] = await look(world)

    assert seen.view.listed


async def test_without_the_role_nothing_is_looked_at() -> None:
    desk = open_desk()

    await desk.command("U_OUTSIDER", "status")

    assert "role-needed" in desk.told("U_OUTSIDER")
    assert desk.world.cube.calls == []


async def test_no_sandbox_at_all_is_said_with_what_to_do() -> None:
    desk = open_desk()

    await desk.command("U_OPERATOR", "status")

    assert "/hermes create home=NAME" in desk.told("U_OPERATOR")


async def test_looking_goes_on_without_the_audit_log() -> None:
    desk = open_desk()
    add(desk.world, 1, home="atlas")
    desk.world.log.unreadable = "the database is locked"

    await desk.command("U_OPERATOR", "status")

    assert "atlas" in desk.told("U_OPERATOR")
    assert "audit log cannot be read" in desk.told("U_OPERATOR")


async def test_mine_lists_ones_own_alone() -> None:
    desk = open_desk()
    add(desk.world, 1, owner="U_ADMIN", home="beta")
    add(desk.world, 2, home="zeta")

    await desk.command("U_OPERATOR", "status mine")

    answer = shown(desk.chat.seen_by("U_OPERATOR")[-1])
    assert "Yours are 1 of 2 sandboxes" in answer
    assert "beta" not in answer
