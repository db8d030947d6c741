"""A newcomer's whole way: by form to a Studio, into it, and to its end, with a colleague looking on."""

import json

import pytest
from browser.acts import about, followed, type_command
from browser.pages import Pages, portraits
from e2e.installed import OPERATOR, OPS, Installed
from playwright.async_api import Locator, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

SECRET = "EXAMPLE-seen-once"


async def test_from_the_form_to_an_open_studio_and_its_stop_with_a_colleague_beside(
    pages: Pages, site: Installed
) -> None:
    await site.create(OPERATOR, "home=known workspace=papers timeout=2h")
    colleague = await pages.open("U_OPERATOR2")
    page = await pages.open()
    await type_command(page, "/hermes whoami")
    await expect(page.locator("article.ephemeral")).to_contain_text("operator")

    window, found = await form_that_was_waited_for(page, site)
    found += await filled_in_wrong_and_right(page, window)
    await about(page, "walked").locator(".replies").click()
    await followed(page)
    assert len(await site.sandboxes("walked")) == 1
    await open_studio(page)
    await stop(page, "walked")

    assert await site.sandboxes("walked") == []
    assert found == []
    assert await places_that_tell(SECRET, page, site) == []
    await expect(card_about(colleague, "walked")).to_contain_text("Stopped by")
    await expect(colleague.locator("article.ephemeral")).to_have_count(0)
    await expect(colleague.locator("dialog[open]")).to_have_count(0)
    assert "Password" not in await colleague.content()


async def form_that_was_waited_for(page: Page, site: Installed) -> tuple[Locator, list[str]]:
    """Type create alone; what it needs comes late. Gives the form, and what axe finds."""
    await site.fault("slack", "slow-api", method="views.update", delay_s=6)
    await type_command(page, "/hermes create")
    window = page.get_by_role("dialog", name="New Studio")
    await expect(window).to_contain_text("One moment")
    found = await portraits(page, "create-form-loading")
    await expect(window.get_by_label("One of your homes")).to_be_focused(timeout=15_000)
    await expect(window.get_by_label("Asleep after")).to_have_value("2h")
    return window, found + await portraits(page, "create-form")


async def filled_in_wrong_and_right(page: Page, window: Locator) -> list[str]:
    """Every field that can be wrong is; then it is sent in twice. Gives what axe finds."""
    await window.get_by_label("Or a new home").fill("No Good")
    await window.get_by_label("Workspace").fill("all")
    await window.get_by_label("Asleep after").fill("5 parsecs")
    await window.get_by_label("Extra environment").fill(f"PATH={SECRET}\n{SECRET}")
    await window.get_by_role("button", name="Create").click()
    errors = window.locator(".field-error")
    await expect(errors).to_have_count(4)
    await expect(errors.nth(0)).to_contain_text("no dash at either end")
    await expect(errors.nth(1)).to_contain_text("choose another name")
    await expect(errors.nth(2)).to_contain_text("1h30m")
    await expect(errors.nth(3)).to_contain_text("Line 2: write NAME=value")
    await expect(window.get_by_label("Or a new home")).to_be_focused()
    found = await portraits(page, "create-form-errors")

    await window.get_by_label("Or a new home").fill("walked")
    await window.get_by_label("Workspace").fill("")
    await window.get_by_label("Asleep after").fill("30m")
    await window.get_by_label("Extra environment").fill(f"TOKEN={SECRET}\nGREETING=hello there")
    await window.get_by_role("button", name="Create").dblclick()
    await expect(window).not_to_be_visible()
    return found


async def open_studio(page: Page) -> None:
    """Press Open Studio in the thread, go through the private window, and sign in with what it shows."""
    await page.locator("#thread").get_by_role("button", name="Open Studio").click()
    window = page.get_by_role("dialog", name="Open Studio")
    await expect(window).to_contain_text("Password")
    shown = (await window.inner_text()).split("Password", 1)[1].split()[0]
    async with page.context.expect_page() as opening:
        await window.get_by_role("button", name="Open Studio").click()
    studio = await opening.value
    await studio.get_by_label("User name").fill("admin")
    await studio.get_by_label("Password").fill(shown)
    await studio.get_by_role("button", name="Sign in").click()
    await expect(studio.get_by_role("heading", name="Conversations")).to_be_visible()
    await studio.close()
    await page.keyboard.press("Escape")
    await expect(window).not_to_be_visible()


def card_about(page: Page, home: str) -> Locator:
    """The card that asks whether to stop."""
    return page.locator(".feed article", has_text=f"Stop the sandbox of home {home}?")


async def stop(page: Page, home: str) -> None:
    """Type stop, and answer the question."""
    await type_command(page, f"/hermes stop {home}")
    card = card_about(page, home)
    await card.get_by_role("button", name="Stop sandbox").click()
    question = page.get_by_role("dialog", name="Stop this sandbox?")
    await question.get_by_role("button", name="Stop it").click()
    await expect(card).to_contain_text("Stopped by", timeout=30_000)


async def places_that_tell(secret: str, page: Page, site: Installed) -> list[str]:
    """Where a value can be read that was given once; the next form is one of the places."""
    await type_command(page, "/hermes create")
    window = page.get_by_role("dialog", name="New Studio")
    await expect(window.get_by_label("Extra environment")).to_have_value("")
    kept = await page.evaluate("() => JSON.stringify({...localStorage, ...sessionStorage})")
    places = {
        "the page": await page.content(),
        "the browser": str(kept),
        "the channel": json.dumps(await site.control.messages(OPS)),
        "all that was sent to Slack": json.dumps(await site.control.get("/transcript")),
        "the audit log": json.dumps(site.rows()),
        "the bot's log": site.log(),
    }
    await page.keyboard.press("Escape")
    return [place for place, text in places.items() if secret in text]
