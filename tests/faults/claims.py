"""Reading what a thread claims after a failure, and holding it against what is really there."""

import re
from dataclasses import dataclass

from e2e.installed import Installed, Thread


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
