"""Where a block stands: who looks, on which surface, with what typed so far and what refused."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bot.standin.console.emoji import spoken, with_emoji
from bot.standin.console.markup import lines, tag
from bot.standin.console.mrkdwn import render_mrkdwn
from bot.standin.console.viewer import Viewer

Block = Mapping[str, Any]
Surface = Literal["message", "modal", "home"]

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Frame:
    """What a renderer knows besides its block."""

    viewer: Viewer
    surface: Surface = "message"
    prefix: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Ids given out so far."""

    def new_id(self, *names: str) -> str:
        """An id that the page has once, as long as every frame of the page has a prefix of its own."""
        wanted = _NOT_IN_AN_ID.sub("-", "-".join(filter(None, ("el", self.surface, self.prefix, *names))))
        given, count = wanted, 1
        while given in self.taken:
            count += 1
            given = f"{wanted}-{count}"
        self.taken.add(given)
        return given

    def text(self, thing: Any) -> str:
        """A text object, or a bare string, as HTML."""
        if not isinstance(thing, Mapping):
            return "" if thing is None else lines(str(thing))
        text = str(thing.get("text", ""))
        if thing.get("type") == "mrkdwn":
            return render_mrkdwn(text, self.viewer, verbatim=bool(thing.get("verbatim")))
        return with_emoji(text) if thing.get("emoji", True) else lines(text)

    def confirm(self, element: Block) -> str | None:
        """The question before an element acts, as the JSON of ``data-confirm``."""
        asked = element.get("confirm")
        if not asked:
            return None
        return json.dumps(
            {
                "title": self.text(asked.get("title")),
                "text": self.text(asked.get("text")),
                "confirm": words(asked.get("confirm")) or "Yes",
                "deny": words(asked.get("deny")) or "Cancel",
                "style": asked.get("style", "primary"),
            }
        )


def words(thing: Any) -> str:
    """A plain text object, or a bare string, as characters for a place that takes no HTML."""
    if not isinstance(thing, Mapping):
        return "" if thing is None else str(thing)
    text = str(thing.get("text", ""))
    return spoken(text) if thing.get("emoji", True) else text


def note(text: str) -> str:
    """The console's own remark, where Slack would show nothing or refuse."""
    return tag("p", lines(text), class_="block-note", role="note")
