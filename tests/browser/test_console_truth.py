"""The side panel: faults are armed and cleared there, the clock moves, and failures look as in Slack."""

import pytest
from browser.acts import about, type_command
from browser.pages import Pages
from e2e.installed import Installed
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_an_armed_fault_happens_and_is_gone(pages: Pages, site: Installed) -> None:
    page = await pages.open()
    await page.locator("[data-part=faults] > summary").click()
    await page.locator(".fault-target > summary", has_text="cube").click()
    await page.get_by_role("button", name="Arm create-no-capacity").click()
    armed = page.locator("[data-region=armed]")
    await expect(armed).to_contain_text("create-no-capacity")

    await type_command(page, "/hermes create home=no-room")

    await expect(about(page, "no-room").locator(".replies")).to_be_visible()
    await expect(armed).not_to_contain_text("create-no-capacity", timeout=30_000)
    assert await site.sandboxes("no-room") == []


async def test_a_fault_is_armed_several_times_and_cleared(pages: Pages, site: Installed) -> None:
    page = await pages.open()
    await page.locator("[data-part=faults] > summary").click()
    await page.locator(".fault-target > summary", has_text="node").click()
    await page.get_by_label("times for ssh-slow").fill("3")
    await page.get_by_role("button", name="Arm ssh-slow").click()
    await expect(page.locator(".armed-fault")).to_contain_text("3 more times")

    await page.get_by_role("button", name="Clear ssh-slow").click()

    await expect(page.locator("[data-region=armed]")).to_contain_text("None is armed")
    assert (await site.control.get("/faults"))["armed"] == []


async def test_the_clock_moves_and_an_idle_sandbox_sleeps(pages: Pages, site: Installed) -> None:
    await site.create("U_OPERATOR", "home=sleepy")
    page = await pages.open()
    box = page.locator("[data-region=sandboxes] .piece", has_text="sleepy")
    await expect(box).to_contain_text("sleeps in")
    await page.locator("[data-part=clock] > summary").click()

    await page.get_by_role("button", name="+1 h").click()

    await expect(page.locator("[data-region=clock]")).to_contain_text("ahead of this machine")
    await expect(box.locator(".state")).to_have_text("paused")


async def test_what_nobody_answers_looks_as_in_slack(pages: Pages, site: Installed) -> None:
    await site.create("U_OPERATOR", "home=unanswered")
    page = await pages.open()
    await about(page, "unanswered").locator(".replies").click()
    await site.end_bot()

    await page.locator("#thread").get_by_role("button", name="Open Studio").click()
    await expect(page.locator("#thread .press-warning")).to_contain_text("The app is not connected")
    await type_command(page, "/hermes help")

    await expect(page.locator("article.ephemeral").last).to_contain_text(
        '/hermes failed with the error "dispatch_failed"'
    )
