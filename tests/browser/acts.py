"""What people do on the page, in words that tests share."""

from playwright.async_api import Locator, Page, expect


async def type_command(page: Page, text: str) -> None:
    """Type into the message box and press Enter."""
    await page.locator("#compose").fill(text)
    await page.locator("#compose").press("Enter")


def about(page: Page, home: str) -> Locator:
    """The newest message of the channel that names a home."""
    return page.locator(".feed article", has_text=f"home {home}").last


async def created(page: Page, home: str) -> None:
    """Type a create and follow its thread to a good end."""
    await type_command(page, f"/hermes create home={home} workspace={home}")
    await about(page, home).locator(".replies").click()
    await followed(page)


async def followed(page: Page) -> None:
    """Wait until the open thread says that its Studio is ready."""
    await expect(page.locator("#thread article", has_text="is ready").last).to_be_visible(timeout=40_000)
