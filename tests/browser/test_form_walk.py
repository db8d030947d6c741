"""Create by form in the console, as a newcomer does it: the wrong way first, then to a working Studio."""

import pytest
from browser.pages import Pages, portraits
from e2e.installed import OPERATOR, OPS, Installed
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_create_by_form_is_filled_in_wrong_then_right_and_followed_to_its_end(
    pages: Pages, site: Installed
) -> None:
    await site.create(OPERATOR, "home=known workspace=papers timeout=2h")
    page = await pages.open()
    await site.control.command(OPERATOR, OPS, "create")
    window = page.get_by_role("dialog", name="New Studio")
    await expect(window.get_by_label("Or a new home")).to_be_visible()
    found = await portraits(page, "create-form")
    await expect(window.get_by_label("Asleep after")).to_have_value("2h")

    await window.get_by_label("Or a new home").fill("No Good")
    await window.get_by_label("Extra environment").fill("PATH=1")
    await window.get_by_role("button", name="Create").click()
    await expect(window.get_by_text("no dash at either end")).to_be_visible()
    await expect(window.get_by_text("Line 1: That environment name decides")).to_be_visible()
    found += await portraits(page, "create-form-errors")

    await window.get_by_label("Or a new home").fill("walked")
    await window.get_by_label("Extra environment").fill("GREETING=hello there")
    await window.get_by_role("button", name="Create").click()
    await expect(window).not_to_be_visible()
    first = page.locator(".feed article", has_text="walked").last
    await expect(first).to_contain_text("is ready", timeout=40_000)
    assert len(await site.sandboxes("walked")) == 1
    assert found == []
