"""Status on a running installation: typed, answered to one person alone, with a Home tab that follows."""

import pytest
from e2e.installed import APPROVER, OPERATOR, OUTSIDER, Installed

from bot.demo.reading import buttons

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_status_tells_one_person_how_a_real_sandbox_is(site: Installed) -> None:
    created = await site.create(OPERATOR, "home=visible workspace=papers")
    sandbox = await created.sandbox()

    listed = await site.ask(OPERATOR, "status")
    card = await site.ask(APPROVER, "status visible")

    assert "There is one sandbox, yours" in listed
    for words in ("visible", "ready", "Studio works.", "node-a"):
        assert words in listed, words
    for words in ("VISIBLE: READY", sandbox, "papers", "/root/.hermes read and write", "@U_OPERATOR made it"):
        assert words in card, words
    assert "You have no role in this bot" in await site.ask(OUTSIDER, "status")


async def test_the_home_tab_follows_a_create_and_a_stop(site: Installed) -> None:
    await site.control.post("/click", user=OPERATOR, home=True)
    await _home_saying(site, "You have none now.")

    await site.create(OPERATOR, "home=followed")
    await _home_saying(site, "*followed* is")
    card = await site.type(OPERATOR, "stop followed")
    await card.press("hermes.stop.confirm", message=await card.holding("hermes.stop.confirm"))

    await _home_saying(site, "You have none now.")


async def test_check_now_asks_inside_and_is_answered_with_a_fresh_card(site: Installed) -> None:
    await site.create(OPERATOR, "home=asked")
    await site.ask(OPERATOR, "status asked")
    message = [m for m in await site.control.messages("C_OPS") if m.get("ephemeral_for") == OPERATOR][-1]
    assert "hermes.check" in buttons(message)

    await site.control.click(OPERATOR, "C_OPS", message["ts"], "hermes.check")

    fresh = await site.told(OPERATOR, "which counts as a use")
    assert "ASKED: READY" in fresh
    assert "@U_OPERATOR asked it whether it answers" in fresh


async def _home_saying(site: Installed, words: str) -> None:
    async def look() -> bool:
        home = await site.control.get("/home", user=OPERATOR)
        return words in repr(home)

    await site.control.until(f"a Home that says {words}", look, seconds=20)
