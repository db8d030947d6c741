"""Every view at both widths, light and dark: photographed, and judged by axe."""

import struct
import zlib

import pytest
from browser.acts import about, followed, type_command
from browser.pages import SCHEMES, Pages, photograph, portraits, serious
from e2e.installed import Installed
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.processes import environment

pytestmark = [pytest.mark.browser, pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]


async def test_an_empty_channel(pages: Pages) -> None:
    page = await pages.open(channel="C_PUBLIC")

    assert await portraits(page, "beginning") == []


async def test_usage_hint(pages: Pages) -> None:
    page = await pages.open(channel="C_PUBLIC")
    await page.locator("#compose").press_sequentially("/hermes ")
    await page.keyboard.press("ArrowDown")

    assert await portraits(page, "usage") == []


async def test_app_home(pages: Pages) -> None:
    page = await pages.open("U_ADMIN", "HOME")
    await expect(page.locator(".home")).to_contain_text("Hermes Studio for your team")

    assert await portraits(page, "home") == []


async def test_direct_messages(pages: Pages) -> None:
    page = await pages.open("U_ADMIN", "D_U_ADMIN")

    assert await portraits(page, "direct") == []


async def test_channel_thread_window_question_and_truth(pages: Pages, site: Installed) -> None:
    await site.create("U_OPERATOR", "home=alpha workspace=proj")
    await site.ask("U_OPERATOR", "whoami")
    await site.control.post("/say", user="U_ADMIN", channel="C_OPS", text="Nice, alpha is up. Thank you!")
    await share_files(site)
    page = await pages.open()
    await expect(page.locator("article.ephemeral")).to_be_visible()
    found = await portraits(page, "channel")

    await page.locator(".feed article", has_text="home alpha").first.locator(".replies").click()
    await expect(page.locator("#thread article").last).to_be_visible()
    found += await portraits(page, "thread")

    await page.locator("#thread").get_by_role("button", name="Open Studio").click()
    await expect(page.get_by_role("dialog", name="Open Studio")).to_contain_text("Password")
    found += await portraits(page, "window")
    await page.keyboard.press("Escape")
    await expect(page.locator("#modal")).not_to_be_visible()
    await page.keyboard.press("Escape")

    await site.control.command("U_OPERATOR", "C_OPS", "stop alpha")
    await page.get_by_role("button", name="Stop sandbox").click()
    await expect(page.get_by_role("dialog", name="Stop this sandbox?")).to_be_visible()
    found += await portraits(page, "question")
    await page.keyboard.press("Escape")
    found += await truth(page)

    assert found == []


async def test_a_create_under_way(pages: Pages, site: Installed) -> None:
    await site.fault("cube", "slow-api", delay_s=6)
    page = await pages.open()
    await type_command(page, "/hermes create home=under-way")
    await about(page, "under-way").locator(".replies").click()
    await expect(page.locator("#thread").get_by_role("button", name="Cancel")).to_be_visible()

    assert await portraits(page, "progress") == []

    await followed(page)


async def truth(page: Page) -> list[str]:
    """The side panel with everything in it open; on a narrow screen it is a drawer."""
    for part in ("faults", "clock"):
        await page.locator(f"[data-part={part}] > summary").click()
    await page.locator(".fault-target > summary").first.click()
    await page.get_by_role("button", name="Arm slow-api").first.click()
    await page.locator("[data-region=folders] summary", has_text="alpha").click()
    await page.locator("[data-part=faults] > summary").scroll_into_view_if_needed()
    found = await portraits(page, "truth-faults", [1280])
    await page.locator("[data-part=faults] > summary").click()
    found += await portraits(page, "truth", [1280])

    await page.set_viewport_size({"width": 390, "height": 844})
    drawer = page.get_by_role("button", name="The truth", exact=True)
    await expect(drawer).to_have_attribute("aria-expanded", "false")  # the page has noticed its new width
    await drawer.click()
    await expect(page.get_by_role("heading", name="The truth")).to_be_in_viewport()
    found += await portraits_as_it_stands(page, "truth")
    await page.locator("[data-part=faults] > summary").click()
    await page.locator("[data-part=faults] > summary").evaluate("one => one.scrollIntoView()")
    found += await portraits_as_it_stands(page, "truth-faults")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("heading", name="The truth")).not_to_be_in_viewport()
    await page.get_by_role("button", name="Channels and people").click()
    await page.locator(".switch > summary").click()
    return found + await portraits_as_it_stands(page, "people")


async def portraits_as_it_stands(page: Page, view: str) -> list[str]:
    """On the narrow screen that it is on: another size would close the drawer."""
    found: list[str] = []
    for scheme in SCHEMES:
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found += await serious(page)
        await photograph(page, f"{view}-390-{scheme}")
    return found


async def test_people(pages: Pages) -> None:
    page = await pages.open(channel="C_PUBLIC")
    await page.locator(".switch > summary").click()
    assert await portraits(page, "people", [1280]) == []

    await page.get_by_role("link", name="ari-approver").click()

    await expect(page.locator(".switch > summary")).to_contain_text("approver")


async def test_colours_are_chosen_and_kept(pages: Pages) -> None:
    page = await pages.open(channel="C_PUBLIC")
    await page.get_by_role("button", name="Change colours").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    await page.reload()

    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def picture(width: int, height: int) -> bytes:
    """A PNG with a sky of some colours."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(
        b"\0" + bytes(part for x in range(width) for part in (20 + x // 3, 90 + y // 2, 150 - x // 6))
        for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


async def share_files(site: Installed) -> None:
    env = environment(site.env_file)
    client = AsyncWebClient(token=env["SLACK_BOT_TOKEN"], base_url=env["SLACK_API_URL"])
    await client.files_upload_v2(
        channel="C_OPS", filename="report.txt", title="Full report", content="lines\n" * 90
    )
    await client.files_upload_v2(
        channel="C_OPS", filename="dot.png", title="A picture", content=picture(360, 180)
    )
