"""Action ids and button values: stable across releases, because old buttons stay in old threads.

A value is ``v1:<id>``; the id is a request id or a sandbox id, as noted beside each action. What a press
means is decided from live state when it happens, so nothing else is stored in a button.
"""

import re
from enum import StrEnum

VERSION = "v1"

_VALUE = re.compile(r"v1:([A-Za-z0-9][A-Za-z0-9._-]{0,199})")


class Press(StrEnum):
    """Every button we make."""

    CREATE_FORM = "hermes.create.form"
    """``here``: the form's thread opens where the button is; for one in the App Home, in direct messages."""
    CREATE_CANCEL = "hermes.create.cancel"
    """Request id of the running create."""
    CREATE_CONTINUE = "hermes.create.continue"
    """Request id of the interrupted create."""
    OPEN = "hermes.open"
    """Sandbox id."""
    LINK = "hermes.link"
    """A link button; Slack reports its press too, and it only needs an ack."""
    STATUS = "hermes.status"
    """Sandbox id: its card, read anew."""
    STATUS_PAGE = "hermes.status.page"
    """Page number, from 1, of the list; ``2.mine`` or ``2.all`` says which list."""
    CHECK = "hermes.check"
    """Sandbox id: ask it through Cube's proxy now, which wakes it and counts as use."""
    PAUSE = "hermes.pause"
    """Sandbox id."""
    RESUME = "hermes.resume"
    """Sandbox id."""
    KEEP = "hermes.keep"
    """Sandbox id, a dot, and the idle seconds to set; -1 = never."""
    KEEP_UNDO = "hermes.keep.undo"
    """Request id of the keep."""
    DIAGNOSE = "hermes.diagnose"
    """Sandbox id."""
    DIAGNOSE_WAKE = "hermes.diagnose.wake"
    """Sandbox id: wake it, then examine it whole."""
    STOP_ASK = "hermes.stop.ask"
    """Sandbox id."""
    STOP_CONFIRM = "hermes.stop.confirm"
    """Request id of the question, or of the interrupted create."""
    STOP_DISMISS = "hermes.stop.dismiss"
    """Request id of the question."""


def press_of(action_id: str) -> Press | None:
    """Which button it is; what follows a colon only tells two of a kind apart. None for an unknown one."""
    name = action_id.partition(":")[0]
    return Press(name) if name in Press._value2member_map_ else None


def value_of(identifier: str) -> str:
    """The value of a button that acts on ``identifier``."""
    return f"{VERSION}:{identifier}"


def identifier_in(value: str) -> str | None:
    """The id in a button's value; None for a value of another version or shape."""
    found = _VALUE.fullmatch(value)
    return found[1] if found else None
