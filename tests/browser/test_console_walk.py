"""The main job in a browser: create, follow the thread, open Studio, stop; and what others see of it."""

import asyncio
import re

import pytest
from browser.acts import about, created, type_command
from browser.pages import Pages
from e2e.installed import Installed
from playwright.async_api import Page, Route, expect

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_create_is_followed_opened_and_stopped(pages: Pages, site: Installed) -> None:
    page = await pages.open()
    await created(page, "walk")
    thread = page.locator("#thread")
    box = page.locator("[data-region=sandboxes] .piece", has_text="walk")
    await expect(box.locator(".state")).to_have_text("running")
    await expect(page.locator("[data-region=folders]")).to_contain_text("walk")
    await expect(page.locator("[data-region=audit]")).to_contain_text("provisioned")

    await thread.get_by_role("button", name="Open Studio").click()
    window = page.get_by_role("dialog", name="Open Studio")
    link = window.get_by_role("button", name="Open Studio")
    await expect(link).to_be_visible()
    async with page.context.expect_page() as opening:
        await link.click()
    studio = await opening.value
    await studio.wait_for_load_state()
    assert re.match(r"http://9000-[0-9a-f]{32}\.localhost:\d+/", studio.url)
    await expect(studio.locator("body")).not_to_be_empty()
    assert (await studio.title()) != ""
    await studio.close()
    await page.keyboard.press("Escape")
    await expect(window).not_to_be_visible()

    await type_command(page, "/hermes stop walk")
    card = page.locator(".feed article", has_text="Stop the sandbox of home walk?")
    await card.get_by_role("button", name="Stop sandbox").click()
    question = page.get_by_role("dialog", name="Stop this sandbox?")
    await question.get_by_role("button", name="Go back").click()
    await expect(card.get_by_role("button", name="Stop sandbox")).to_be_visible()
    assert len(await site.sandboxes("walk")) == 1
    await card.get_by_role("button", name="Stop sandbox").click()
    await question.get_by_role("button", name="Stop it").click()
    await expect(page.locator(".feed article", has_text="Stopped by")).to_be_visible(timeout=30_000)
    # The button is gone; its message keeps the keyboard's place.
    await expect(page.locator(".feed article", has_text="Stopped by")).to_be_focused()
    await expect(box).to_have_count(0)


async def test_second_person_sees_no_whisper_and_no_window_of_the_first(
    pages: Pages, site: Installed
) -> None:
    first = await pages.open("U_OPERATOR")
    second = await pages.open("U_OPERATOR2", beside=first)

    await type_command(first, "/hermes whoami")
    whisper = first.locator("article.ephemeral", has_text="operator")
    await expect(whisper).to_contain_text("Only visible to you")
    await created(first, "private-view")
    await first.locator("#thread").get_by_role("button", name="Open Studio").click()
    await expect(first.get_by_role("dialog", name="Open Studio")).to_contain_text("Password")

    await expect(second.locator(".feed article", has_text="private-view").last).to_contain_text("is ready")
    await expect(second.locator("article.ephemeral")).to_have_count(0)
    await expect(second.locator("dialog[open]")).to_have_count(0)
    assert "Password" not in await second.content()


async def test_messages_arrive_without_a_reload_or_a_loss_of_what_is_typed(
    pages: Pages, site: Installed
) -> None:
    page = await pages.open()
    await page.evaluate("() => { window.untouched = true; }")
    box = page.locator("#compose")
    await box.fill("half a thought")

    for number in range(3):
        await site.control.post("/say", user="U_ADMIN", channel="C_OPS", text=f"live message {number}")

    await expect(page.locator("article", has_text="live message 2")).to_be_visible()
    await expect(box).to_have_value("half a thought")
    await expect(box).to_be_focused()
    assert await page.evaluate("() => window.untouched")


async def test_more_windows_than_a_browser_has_connections_are_all_kept_true(
    pages: Pages, site: Installed
) -> None:
    first = await pages.open(channel="C_ALERTS")
    opened = [first, *[await pages.open(channel="C_ALERTS", beside=first) for _ in range(7)]]

    await site.control.post("/say", user="U_ADMIN", channel="C_ALERTS", text="to every window")

    for page in opened:
        await expect(page.locator("article", has_text="to every window")).to_be_visible()


async def test_what_is_typed_while_something_is_sent_outlives_a_reload(pages: Pages, site: Installed) -> None:
    page = await pages.open()
    held: asyncio.Queue[Route] = asyncio.Queue()
    await page.route("**/say", held.put)
    await type_command(page, "something sent")
    on_its_way = await held.get()
    await page.locator("#compose").fill("the next thought")
    await on_its_way.continue_()
    await expect(page.locator(".composer.sending")).to_have_count(0)

    await page.reload()

    await expect(page.locator("#compose")).to_have_value("the next thought")


async def test_reading_further_up_is_not_disturbed(pages: Pages, site: Installed) -> None:
    for number in range(30):
        await site.control.post("/say", user="U_ADMIN", channel="C_ALERTS", text=f"line {number}")
    page = await pages.open(channel="C_ALERTS")
    feed = page.locator("#feed-scroll")
    await feed.evaluate("one => { one.scrollTop = 0; }")

    await site.control.post("/say", user="U_ADMIN", channel="C_ALERTS", text="the newest")

    newer = page.get_by_role("button", name="New messages")
    await expect(newer).to_be_visible()
    assert await feed.evaluate("one => one.scrollTop") == 0
    await newer.click()
    await expect(page.locator("article", has_text="the newest")).to_be_in_viewport()


async def test_the_end_stays_in_sight_when_a_thread_opens_beside_it(pages: Pages, site: Installed) -> None:
    for number in range(20):
        await site.control.post("/say", user="U_ADMIN", channel="C_AUDIT", text=f"{number} " + "long " * 30)
    page = await pages.open(channel="C_AUDIT")
    last = page.locator(".feed article").last
    await expect(last).to_be_in_viewport(ratio=0.9)

    await last.hover()
    await last.get_by_role("button", name="Reply in thread").click()

    await expect(page.locator("#thread")).to_be_visible()
    await expect(page.locator("#feed-scroll article").last).to_be_in_viewport(ratio=0.9)


async def test_everything_is_within_reach_of_the_keyboard(pages: Pages, site: Installed) -> None:
    page = await pages.open()
    keys = page.keyboard

    await keys.press("/")
    await keys.type("her")
    await keys.press("Tab")
    await expect(page.locator("#compose")).to_have_value("/hermes create home=")
    await keys.type("keys")
    await keys.press("Enter")
    await about(page, "keys").locator(".replies").focus()
    await keys.press("Enter")
    await expect(page.locator("#thread h2")).to_be_focused()
    open_studio = page.locator("#thread").get_by_role("button", name="Open Studio")
    await expect(open_studio).to_be_visible(timeout=40_000)
    await tab_to(page, "hermes.open")
    await keys.press("Enter")
    window = page.get_by_role("dialog", name="Open Studio")
    await expect(window).to_contain_text("Password")
    for _ in range(6):
        await keys.press("Tab")
        assert await page.evaluate("() => document.activeElement.closest('main, nav, aside') === null")
    await keys.press("Escape")
    await expect(window).not_to_be_visible()
    await expect(open_studio).to_be_focused()
    await keys.press("Escape")
    await expect(page.locator("#thread")).not_to_be_visible()
    await keys.press("/")
    await keys.press("Backspace")
    await keys.press("ArrowUp")
    await expect(page.locator("#compose")).to_have_value("/hermes create home=keys")


async def tab_to(page: Page, action: str) -> None:
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await page.evaluate("() => document.activeElement.dataset.action") == action:
            return
    raise AssertionError(f"the Tab key does not reach {action}")


async def test_history_is_a_persons_own_and_holds_no_secret(pages: Pages, site: Installed) -> None:
    page = await pages.open("U_OUTSIDER")
    await type_command(page, "/hermes create home=x env=TOKEN=EXAMPLE-not-to-be-kept")
    await expect(page.locator("article.ephemeral").last).to_be_visible()
    await page.reload()
    await page.locator("#compose").press("ArrowUp")
    await expect(page.locator("#compose")).to_have_value("/hermes create home=x env=TOKEN=")
    assert "not-to-be-kept" not in str(await page.evaluate("() => ({...localStorage, ...sessionStorage})"))

    other = await pages.open("U_GUEST", "C_PUBLIC", beside=page)
    await other.locator("#compose").press("ArrowUp")
    await expect(other.locator("#compose")).to_have_value("")


async def test_an_example_fills_the_message_box(pages: Pages) -> None:
    page = await pages.open(channel="C_PUBLIC")

    await page.get_by_role("button", name="/hermes whoami").click()

    await expect(page.locator("#compose")).to_have_value("/hermes whoami")
    await expect(page.locator("#compose")).to_be_focused()


async def test_what_slack_would_not_send_is_said_at_the_box(pages: Pages, site: Installed) -> None:
    page = await pages.open()

    await type_command(page, "/herms help")

    await expect(page.locator(".talk .refused")).to_contain_text("/herms is no command here")
    await expect(page.locator("#compose")).to_have_value("/herms help")
