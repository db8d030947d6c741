"""Reading what a thread claims after a failure, and holding it against what is really there."""

import re
from collections import Counter
from dataclasses import dataclass

from e2e.installed import OPERATOR, Installed, Thread

from bot.demo.reading import thread_text


@dataclass(frozen=True, slots=True)
class Claims:
    """The three sentences of a failure, and its code."""

    what: str
    safe: str
    todo: str
    code: str


def claims_in(told: str) -> Claims:
    """The last failure of a thread's text."""
    said = {}
    for name in ("What happened", "What is safe", "What to do"):
        found = re.findall(rf"{name}: (.+)", told)
        assert found, f"the thread does not say {name!r}:\n{told}"
        said[name] = found[-1]
    codes = re.findall(r"Code ([a-z0-9-]+)", told)
    assert codes, told
    return Claims(said["What happened"], said["What is safe"], said["What to do"], codes[-1])


async def failed_create(site: Installed, thread: Thread) -> Claims:
    """Wait for a create to fail, and check what it says about the sandbox and the home."""
    told = await thread.ended(":x:")
    claims = claims_in(told)
    there = await site.sandboxes(thread.home)
    assert re.findall(r"[0-9a-f]{32}", claims.safe) == there, claims
    assert there or "No sandbox was made" in claims.safe
    assert "safe on the node" in claims.safe or "nothing is lost" in claims.safe
    assert ":hourglass" not in str(await thread.messages())
    assert "in_progress" not in str(await thread.messages())
    return claims


async def calls(site: Installed) -> Counter[str]:
    """How often Cube and the node have been called so far, by the name of the call."""
    return Counter((await site.control.get("/faults"))["calls"])


async def paused(site: Installed, sandbox: str) -> None:
    """Pause a sandbox past the bot, as its idle timeout does."""
    async with site.http.post(f"{site.where['cube_api']}/sandboxes/{sandbox}/pause") as answer:
        assert answer.status in {204, 408}, await answer.text()


async def stop_that_fails(site: Installed, home: str) -> Claims:
    """Ask for a stop, confirm it, and give what the thread says about the failure."""
    card = await site.type(OPERATOR, f"stop {home}")
    await card.press("hermes.stop.confirm")
    return claims_in(thread_text([await card.saying("What happened:")]))


async def stop_that_works(site: Installed, home: str) -> str:
    """Ask for a stop, confirm it, and give what the thread says at the end."""
    card = await site.type(OPERATOR, f"stop {home}")
    await card.press("hermes.stop.confirm")
    return thread_text([await card.saying("is gone")])
