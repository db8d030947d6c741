"""What stands in a filled-in create form, read by the rules of the typed command. Nothing here waits.

Block and action ids are stable across releases, because a form may be open while the bot is replaced.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from handlers.env_lines import read_env_lines
from handlers.grammar import Command, fill_in
from handlers.words import typed

CALLBACK = "hermes.create.form"
ACTION = "value"
"""The action id of every field; the block id tells them apart."""

NOTHING = "-"
"""The option that stands for *not given*. No id and no name is written like that."""

_VERSION = 1
_REQUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_CHANNEL = re.compile(r"[CGDUW][A-Z0-9_]{1,40}")


class Field(StrEnum):
    """Block ids of the form."""

    HOME = "home"
    """One of the person's own homes."""
    NEW_HOME = "new-home"
    WORKSPACE = "workspace"
    TEMPLATE = "template"
    PROFILE = "profile"
    TIMEOUT = "timeout"
    NODE = "node"
    ENV = "env"


SETTINGS = (Field.WORKSPACE, Field.TEMPLATE, Field.PROFILE, Field.TIMEOUT, Field.NODE)
"""Fields whose block id is the key of the typed command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """What a form carries through Slack: the request that it becomes, and where its thread opens."""

    request_id: str
    channel: str

    def written(self) -> str:
        """As the form's private metadata. It holds nothing that was typed."""
        return json.dumps({"v": _VERSION, "request": self.request_id, "channel": self.channel})


def ticket(text: str) -> Ticket | None:
    """The ticket in a form's private metadata; None for what is none of ours, or of another version."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("v") != _VERSION:
        return None
    request, channel = found.get("request"), found.get("channel")
    if not (isinstance(request, str) and _REQUEST.fullmatch(request)):
        return None
    if not (isinstance(channel, str) and _CHANNEL.fullmatch(channel)):
        return None
    return Ticket(request_id=request, channel=channel)


def read_form(values: Mapping[str, str], shown: frozenset[str]) -> tuple[Command, dict[str, str]]:
    """The command that was filled in, and a sentence for every field that is wrong, by its block id.

    ``values`` holds what was chosen and typed, ``shown`` the fields that the form has.
    """
    errors: dict[str, str] = {}
    home_field, home = _home(values, shown, errors)
    lines = read_env_lines(values.get(Field.ENV, ""))
    if lines.faults:
        errors[Field.ENV] = lines.complaint()
    given = {key.value: _text(values, key) for key in SETTINGS}
    command, faults = fill_in("create", {"home": home, **given}, lines.env)
    for key, refusal in faults.items():
        errors.setdefault(home_field if key == "home" else key, plain_words(refusal.message))
    return command, errors


def plain_words(sentence: str) -> str:
    """One of our sentences for a place that knows no markup."""
    return sentence.replace("`", "")


def _home(values: Mapping[str, str], shown: frozenset[str], errors: dict[str, str]) -> tuple[str, str]:
    """The field that names the home, and the home; without exactly one a complaint is in ``errors``."""
    chosen, named = _text(values, Field.HOME), _text(values, Field.NEW_HOME)
    if chosen and named and chosen != named:
        errors[Field.NEW_HOME] = (
            f"You chose {chosen} above. Empty this field, or choose the entry for a new home above."
        )
    elif not chosen and not named:
        both = Field.HOME in shown
        what = "Choose one of your homes above, or type a name here." if both else "Type a name, like atlas."
        errors[Field.NEW_HOME] = what
    return (Field.HOME, chosen) if chosen else (Field.NEW_HOME, named)


def _text(values: Mapping[str, str], key: Field) -> str:
    text = typed(values.get(key, "")).strip(" ")
    return "" if text == NOTHING else text
