"""Modals and controls: fields, errors on them, stacks, closing, choices, and a button nobody answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from browser.forms import Formed, formed
from browser.pages import Pages, portraits
from playwright.async_api import Browser, Page, Route, expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def app(tmp_path: Path) -> AsyncIterator[Formed]:
    async with formed(tmp_path) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def form_pages(browser: Browser, app: Formed) -> AsyncIterator[Pages]:
    opened = Pages(browser, app.console)
    yield opened
    await opened.close()
    assert opened.strangers() == []
    assert opened.complaints == []


@pytest_asyncio.fixture(loop_scope="session")
async def form(form_pages: Pages) -> Page:
    """A page with the form open."""
    page = await form_pages.open()
    await page.get_by_role("button", name="Open the form").click()
    await expect(page.get_by_role("dialog", name="Make a thing")).to_be_visible()
    return page


async def fill_in(page: Page, name: str) -> None:
    await page.get_by_label("Name").fill(name)
    await page.get_by_label("Letter", exact=True).select_option("beta")
    await page.get_by_role("radio", name="Alpha").check()
    await page.get_by_role("checkbox", name="Beta").check()


async def test_a_filled_form_reaches_the_app_as_typed(app: Formed, form: Page) -> None:
    await fill_in(form, "thing")
    await form.get_by_role("button", name="Make it").click()

    await expect(form.locator("#modal")).not_to_be_visible()
    values = (await app.hears("submission"))["view"]["state"]["values"]
    assert values["name"]["field"]["value"] == "thing"
    assert values["letter"]["field"]["selected_option"]["value"] == "beta"
    assert values["day"]["field"]["selected_date"] == "2026-12-01"
    assert values["kind"]["field"]["selected_option"]["value"] == "alpha"
    assert [one["value"] for one in values["extras"]["field"]["selected_options"]] == ["beta"]
    assert values["notes"]["field"]["value"] is None


async def test_an_empty_required_field_is_held_back_and_said_there(app: Formed, form: Page) -> None:
    await form.get_by_role("button", name="Make it").click()

    name = form.get_by_label("Name")
    await expect(name).to_be_focused()
    await expect(name).to_have_attribute("aria-invalid", "true")
    await expect(form.locator(".field-error").first).to_have_text("Please fill in this field.")
    assert app.of("submission") == []


async def test_an_error_of_the_app_comes_back_on_its_field_and_nothing_typed_is_lost(
    app: Formed, form: Page
) -> None:
    await fill_in(form, "taken")
    await form.get_by_role("button", name="Make it").click()

    name = form.get_by_label("Name")
    await expect(form.locator(".field-error")).to_have_text("This name is taken.")
    await expect(name).to_have_attribute("aria-invalid", "true")
    await expect(name).to_be_focused()
    await expect(name).to_have_value("taken")
    await expect(form.get_by_label("Letter", exact=True)).to_have_value("beta")
    await expect(form.get_by_role("checkbox", name="Beta")).to_be_checked()
    assert await portraits(form, "form-errors") == []

    await name.fill("free")
    await form.get_by_role("button", name="Make it").click()
    await expect(form.locator("#modal")).not_to_be_visible()
    assert len(app.of("submission")) == 2


async def test_a_second_modal_lies_on_the_first_and_goes_back_to_it(app: Formed, form: Page) -> None:
    await form.get_by_label("Name").fill("half")
    await form.get_by_role("button", name="Go deeper").click()
    deeper = form.get_by_role("dialog", name="Deeper")
    await expect(deeper).to_be_visible()
    assert await portraits(form, "modal-stack") == []

    await deeper.get_by_role("button", name="Back").first.click()

    await expect(form.get_by_role("dialog", name="Make a thing")).to_be_visible()
    await expect(form.get_by_label("Name")).to_have_value("half")
    pressed = await app.hears("deeper")
    assert pressed["view"]["state"]["values"]["name"]["field"]["value"] == "half"
    assert app.of("view_closed") == []


async def test_escape_closes_a_modal_and_the_app_is_told(app: Formed, form: Page) -> None:
    await form.keyboard.press("Escape")

    await expect(form.locator("#modal")).not_to_be_visible()
    assert (await app.hears("view_closed"))["is_cleared"] is False
    await expect(form.get_by_role("button", name="Open the form")).to_be_focused()


async def test_a_window_goes_at_once_even_when_the_way_is_long(app: Formed, form: Page) -> None:
    held: asyncio.Queue[Route] = asyncio.Queue()
    await form.route("**/close", held.put)

    await form.keyboard.press("Escape")

    await expect(form.locator("#modal")).not_to_be_visible()
    await expect(form.get_by_role("button", name="Open the form")).to_be_focused()
    await (await held.get()).continue_()
    await app.hears("view_closed")


async def test_a_window_that_cannot_be_closed_comes_back_and_says_why(form: Page) -> None:
    await form.route("**/close", lambda route: route.fulfill(status=409, json={"error": "Not now."}))

    await form.keyboard.press("Escape")

    await expect(form.locator(".modal-trouble")).to_have_text("Not now.")
    await expect(form.get_by_label("Name")).to_be_focused()


async def test_a_submission_that_nobody_answers_stays_open_and_says_so(app: Formed, form: Page) -> None:
    await fill_in(form, "silence")
    await form.get_by_role("button", name="Make it").click()

    await expect(form.get_by_role("button", name="Make it")).to_have_attribute("aria-busy", "true")
    await expect(form.locator(".modal-trouble")).to_contain_text("trouble connecting")
    await expect(form.get_by_label("Name")).to_have_value("silence")


async def test_choices_in_a_message_reach_the_app(app: Formed, form_pages: Pages) -> None:
    page = await form_pages.open()

    await page.locator("article").get_by_label("Pick").select_option("beta")
    picked = (await app.hears("block_actions"))["actions"][0]
    await page.locator("article").get_by_label("More actions").select_option("alpha")
    await expect(page.locator("article").get_by_label("More actions")).to_have_value("")

    assert (picked["action_id"], picked["selected_option"]["value"]) == ("pick", "beta")
    assert app.of("block_actions")[-1]["actions"][0]["selected_option"]["value"] == "alpha"


async def test_a_button_that_nobody_answers_gets_a_warning(app: Formed, form_pages: Pages) -> None:
    page = await form_pages.open()
    slow = page.get_by_role("button", name="Never answered")

    await slow.click()

    await expect(slow).to_have_attribute("aria-busy", "true")
    await expect(page.locator(".press-warning")).to_contain_text("did not answer in time")
    assert len(app.of("never")) == 1


async def test_a_page_finds_back_by_itself(app: Formed, form_pages: Pages) -> None:
    page = await form_pages.open()
    await page.locator("#compose").fill("half a thought")
    await app.unserve()
    await expect(page.locator(".offline")).to_be_visible()
    await page.locator("#compose").press("Enter")
    await expect(page.locator(".talk .refused")).to_contain_text("do not answer")

    await app.serve()
    await app.app.client.chat_postMessage(channel="C_OPS", text="we are back")

    await expect(page.locator("article", has_text="we are back")).to_be_visible()
    await expect(page.locator(".offline")).not_to_be_visible()
    await expect(page.locator(".talk .refused")).not_to_be_visible()
    await expect(page.locator("#compose")).to_have_value("half a thought")
