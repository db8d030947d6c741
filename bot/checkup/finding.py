"""What a look gives, and the rule that no look may hide the next or keep it waiting."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime

from bot.domain.errors import DomainError
from bot.domain.explanations import sentences

LOOK_SECONDS = 20.0
"""What one look may take. The slowest of a sound installation, the login to a node, takes one."""

SKEW_SECONDS = 30.0
"""How far two clocks may be apart. A heartbeat counts for 60 s, and Slack's signatures for 300 s."""

CLOCK_CURE = "Run `timedatectl set-ntp true` on both machines."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``ok`` is None when it could not be told; it then proves nothing."""

    subject: str
    ok: bool | None
    note: str
    cure: str = ""
    """What makes it right, in one sentence that can be followed as it stands; empty when it is."""


Findings = AsyncIterator[Finding]


def good(subject: str, note: str) -> Finding:
    """It is proved."""
    return Finding(subject, True, note)  # noqa: FBT003 - what this function is a name for


def bad(subject: str, note: str, cure: str) -> Finding:
    """It is wrong."""
    return Finding(subject, False, note, cure)  # noqa: FBT003 - see above


def unknown(subject: str, note: str, cure: str) -> Finding:
    """Nobody can tell."""
    return Finding(subject, None, note, cure)


async def guarded(subject: str, look: Callable[[], Findings], seconds: float = LOOK_SECONDS) -> Findings:
    """What a look finds, as far as it comes; its failure or lateness is one more finding."""
    found = look()
    until = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            try:
                async with asyncio.timeout_at(until):
                    finding = await anext(found)
            except StopAsyncIteration:
                return
            yield finding
    except TimeoutError:
        yield unknown(subject, f"no answer within {seconds:g} s", "Run `hermes-bot check` again.")
    except DomainError as error:
        what, todo = sentences(error)
        yield unknown(subject, f"{what} {error}", todo)
    except Exception as error:  # noqa: BLE001 - what nobody foresaw must not hide what comes after it
        note = f"the look itself failed ({type(error).__name__}: {error})"
        yield unknown(subject, note, "Run `hermes-bot check` again, and report it if it stays.")


def clocks(subject: str, ours: datetime, theirs: datetime, *, within: float, cure: str) -> Finding:
    """Two clocks compared. ``within``: seconds by which the comparison itself may be wrong."""
    apart = (ours - theirs).total_seconds()
    sure = max(0.0, abs(apart) - within)
    whose = "ahead" if apart > 0 else "behind"
    if sure > SKEW_SECONDS:
        note = f"the bot's clock is {abs(apart):.0f} s {whose}; at most {SKEW_SECONDS:.0f} s are allowed"
        return bad(subject, note, cure)
    return good(subject, f"at most {abs(apart) + within:.1f} s apart, {SKEW_SECONDS:.0f} s are allowed")
