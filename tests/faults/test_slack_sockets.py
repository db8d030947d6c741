"""Sockets end and envelopes come twice in the middle of the work; it goes on, and happens once."""

import asyncio

import pytest
from e2e.installed import ADMIN, OPERATOR, OPS, Installed

from bot.demo.reading import buttons

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.parametrize("reason", ["warning", "refresh_requested", "too_many_websockets"])
async def test_job_and_its_ack_survive_a_disconnect_right_after_the_command(
    site: Installed, reason: str
) -> None:
    await site.fault("slack", "disconnect", reason=reason, after="envelope")

    thread = await site.create(OPERATOR, f"home=cut-{reason.replace('_', '-')}")

    assert "is ready" in await thread.text()
    assert f"You are @{OPERATOR}" in await site.ask(OPERATOR, "whoami")


async def test_create_that_comes_many_times_makes_one_sandbox_and_one_thread(site: Installed) -> None:
    await site.fault("slack", "duplicate-envelope", type="slash_commands", times=20)

    thread = await site.create(OPERATOR, "home=again")

    starts = [
        message
        for message in await site.control.messages(OPS)
        if message["ts"] > site.since and message["thread_ts"] is None and not message.get("ephemeral_for")
    ]
    assert [len(e["sent"]) for e in await site.control.get("/envelopes") if len(e["sent"]) > 1] == [21]
    assert len(await site.sandboxes("again")) == 1
    assert len(starts) == 1
    assert "hermes.open" in buttons((await thread.messages())[-1])


async def test_press_that_comes_twice_acts_once(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=pressed")
    await thread.press("hermes.stop.ask")
    await thread.holding("hermes.stop.confirm")
    await site.fault("slack", "duplicate-envelope", type="interactive", times=5)

    await thread.press("hermes.stop.confirm")
    await thread.saying("is gone")

    assert len((await site.control.get("/envelopes"))[-1]["sent"]) == 6
    assert await site.sandboxes("pressed") == []
    assert len(site.rows(home="pressed", phase="claim", action="stop")) == 1
    assert (await thread.text()).count("is gone") == 1


async def test_fifty_commands_at_once_are_acked_in_under_a_second(site: Installed) -> None:
    await site.fault("slack", "slow-api", delay_s=4, times=5)

    answers = await asyncio.gather(
        *(site.control.command(ADMIN if n % 2 else OPERATOR, OPS, "help") for n in range(50))
    )

    assert {answer["outcome"] for answer in answers} == {"acked"}
    assert max(answer["ack_ms"] for answer in answers) < 1000
