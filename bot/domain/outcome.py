"""How a use case ends: one of four outcomes, each with a stable code and three sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Offer(StrEnum):
    """Buttons that a message may offer; what a press means is decided when it happens."""

    OPEN = "open"
    STOP = "stop"
    CONTINUE = "continue"
    CANCEL = "cancel"
    RESUME = "resume"
    STATUS = "status"
    FORM = "form"


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The job is done and was checked. ``value`` is what came of it."""

    code: str
    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class _NotDone:
    code: str
    """Kebab-case; listed in docs/errors.md."""
    what: str
    """What happened, in one sentence."""
    safe: str
    """What is safe, in one sentence."""
    todo: str
    """What to do next, in one sentence, with the command or button for it."""
    detail: str = ""
    """The other system's own words, redacted before they are shown."""
    offers: tuple[Offer, ...] = ()
    sandbox: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further named facts that a message may show, such as the owner of a conflicting sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(_NotDone):
    """Nothing was changed, because a rule said no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(_NotDone):
    """Something went wrong on the way; ``safe`` says what exists now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(_NotDone):
    """It cannot be told whether the change happened. Never rounded to done or failed."""


NotDone = Refused | Failed | Unknown
Outcome = Done[T] | Refused | Failed | Unknown
