"""What stands between ``<`` and ``>`` in Slack's markup: links, people, channels, groups, calls and dates."""

import re

from bot.standin.console.dates import shown_moment
from bot.standin.console.markup import escape, is_safe, link, tag
from bot.standin.console.viewer import Viewer

REFERENCE = re.compile(r"<([^<>\n]+)>")
ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_ENTITY = re.compile("|".join(ENTITIES))

BROADCASTS = ("here", "channel", "everyone")
_DATE = re.compile(
    r"!date\^(?P<epoch>-?\d{1,15})\^(?P<pattern>[^|^]+)(?:\^(?P<url>[^|]*))?(?:\|(?P<fallback>.*))?"
)
_UNREADABLE_DATE = re.compile(r"!date\^[^|]*\|(?P<fallback>.+)")


def decoded(text: str) -> str:
    """Text with the three entities that Slack knows read back, each once, and no others."""
    return _ENTITY.sub(lambda found: ENTITIES[found[0]], text)


def reference(inside: str, viewer: Viewer) -> str | None:
    """A reference as HTML, or None where it is none and stands there as typed."""
    target, _, label = inside.partition("|")
    label = decoded(label)
    if inside.startswith("!date^"):
        return _date(inside, viewer)
    if re.fullmatch(r"@[UWB][A-Z0-9_]+", target):
        return person(target[1:], viewer, label)
    if re.fullmatch(r"#[CGD][A-Z0-9_]+", target):
        return channel(target[1:], viewer, label)
    if target.startswith("!subteam^"):
        return group(target.removeprefix("!subteam^"), viewer, label)
    if target.startswith("!"):
        return broadcast(target[1:]) if target[1:] in BROADCASTS else escape(f"<{label or target[1:]}>")
    url = decoded(target)
    return link(url, escape(label or url.removeprefix("mailto:"))) if is_safe(url) else None


def person(identifier: str, viewer: Viewer, label: str = "") -> str:
    """A mention of a person; the viewer's own stands out."""
    own = " mention-me" if identifier == viewer.user else ""
    return tag("span", escape("@" + viewer.name(identifier, label)), class_=f"mention{own}")


def channel(identifier: str, viewer: Viewer, label: str = "") -> str:
    """A channel by its name."""
    return tag("span", escape("#" + viewer.name(identifier, label)), class_="mention")


def group(identifier: str, viewer: Viewer, label: str = "") -> str:
    """A user group by its handle."""
    return tag("span", escape("@" + viewer.name(identifier, label)), class_="mention")


def broadcast(reach: str) -> str:
    """A call to everybody, which rings for the viewer too."""
    return tag("span", escape(f"@{reach}"), class_="mention mention-me")


def _date(inside: str, viewer: Viewer) -> str | None:
    found = _DATE.fullmatch(inside)
    if found is None:
        unreadable = _UNREADABLE_DATE.fullmatch(inside)
        return escape(decoded(unreadable["fallback"])) if unreadable else None
    return shown_moment(
        found["epoch"],
        decoded(found["pattern"]),
        viewer,
        url=decoded(found["url"] or ""),
        fallback=decoded(found["fallback"] or ""),
    )
