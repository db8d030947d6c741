"""The payloads that the handlers' tests are fed: as Slack's, so that those tests prove something."""

from typing import Any

import pytest
from slack_desk import Desk, open_desk
from slack_shapes import WRONG, fields, judged_all

Body = dict[str, Any]


async def pressed(desk: Desk) -> Body:
    await desk.command("U_OPERATOR", "create home=alpha")
    [card] = [kept for kept in desk.thread() if "hermes.open" in kept.buttons]
    return desk.pressing("U_OPERATOR", card, "hermes.open")


@pytest.fixture
async def sent() -> list[Body]:
    desk = open_desk()
    mention = {"type": "app_mention", "user": "U_ADMIN", "text": "<@U_BOT>", "ts": "1.1", "channel": "C_OPS"}
    return [
        desk.slash("U_OPERATOR", "help"),
        await pressed(desk),
        desk.event({**mention, "event_ts": "1.1"}),
    ]


async def test_slack_events_takes_every_payload_of_the_desk_strictly(sent: list[Body]) -> None:
    wrong, _ = judged_all(sent)

    assert wrong <= set(WRONG)


async def test_the_desk_sends_no_field_that_slack_does_not(sent: list[Body]) -> None:
    assert [sorted(body.keys() - fields(body)) for body in sent] == [[], [], []]
