"""Pages in headless Chromium: opened as a person, judged by axe, photographed."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "var/screenshots"
AXE = ROOT / "tests/node/node_modules/axe-core/axe.min.js"
SIZES = {1280: 800, 390: 844}
SCHEMES = ("light", "dark")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # What a page should ask of any other host fails at once; that it asked is noticed all the same.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1",
]


@dataclass(slots=True)
class Pages:
    """One browser over one console. ``requests`` and ``complaints`` grow with everything that it does."""

    browser: Browser
    console: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    async def open(
        self,
        user: str = "U_OPERATOR",
        channel: str = "C_OPS",
        *,
        width: int = 1280,
        beside: Page | None = None,
    ) -> Page:
        """A page of its own browser profile, or a second tab of another page's."""
        if beside is None:
            context = await self.browser.new_context(
                viewport={"width": width, "height": SIZES[width]}, reduced_motion="reduce", locale="en-GB"
            )
            context.set_default_timeout(15_000)
            context.on("request", lambda request: self.requests.append(request.url))
            context.on("console", _ear(self.complaints, self.console))
            context.on("weberror", lambda error: self.complaints.append(str(error.error)))
            self.contexts.append(context)
        else:
            context = beside.context
        page = await context.new_page()
        await page.goto(f"{self.console}?{urlencode({'user': user, 'channel': channel})}")
        await page.locator("body[data-following]").wait_for()
        return page

    async def close(self) -> None:
        """Close every page."""
        for context in self.contexts:
            await context.close()
        self.contexts.clear()

    def strangers(self) -> list[str]:
        """Requests that left for a host other than loopback."""
        return [url for url in self.requests if not _is_here(url)]


def _ear(complaints: list[str], console: str) -> Callable[[ConsoleMessage], None]:
    def hear(message: ConsoleMessage) -> None:
        ours = urlsplit(message.location.get("url", "")).netloc == urlsplit(console).netloc
        # A refusal of the control API is an answer with its own sentence, which the page shows.
        refused = "Failed to load resource" in message.text
        if ours and message.type in ("error", "warning") and not refused:
            complaints.append(message.text)

    return hear


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The system's Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=_ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


async def portraits(page: Page, view: str, widths: Iterable[int] = SIZES) -> list[str]:
    """Photograph a view at both widths in both schemes; gives what axe finds serious or worse in any."""
    found: list[str] = []
    for width in widths:
        await page.set_viewport_size({"width": width, "height": SIZES[width]})
        for scheme in SCHEMES:
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{view} at {width}, {scheme}: {what}" for what in await serious(page)]
            await photograph(page, f"{view}-{width}-{scheme}")
    await page.set_viewport_size({"width": 1280, "height": SIZES[1280]})
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found


async def photograph(page: Page, name: str) -> None:
    """A picture of what can be seen."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SHOTS / f"{name}.png")


async def serious(page: Page) -> list[str]:
    """What axe finds serious or critical, and sideways scrolling, which no page here needs."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(AXE.read_text(encoding="utf-8"))
    result: dict[str, Any] = await page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    found = [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']][:4])} {one['help']}"
        for one in result["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    too_wide = await page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return [*found, *(["the page is wider than its window"] if too_wide else [])]


def _is_here(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme in ("data", "blob", "about") or host == "127.0.0.1" or host.endswith("localhost")
