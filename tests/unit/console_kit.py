"""What a browser would make of a piece of the console's HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from bot.standin.console.blocks import render_blocks
from bot.standin.console.viewer import Viewer

NEW_YEAR = 1_767_225_600
"""2026-01-01 00:00:00 UTC."""
VIEWER = Viewer(
    "U_OPERATOR",
    "Europe/Amsterdam",
    {
        "U_OPERATOR": "ola-operator",
        "U_ADMIN": "ada-admin",
        "C_OPS": "ops",
        "G_PRIVATE": "private",
        "S_APPROVERS": "approvers",
        "D_U_ADMIN": "ada-admin",
    },
    now=NEW_YEAR,
)

_VOID = {"br", "hr", "img", "input"}


@dataclass
class Element:
    """A tag with its attributes and the text below it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""

    def __getitem__(self, name: str) -> str | None:
        return self.attributes.get(name)


@dataclass
class Page(HTMLParser):
    """All elements of a piece of HTML, and its text with ``<br>`` as a line break."""

    html: str
    elements: list[Element] = field(default_factory=list)
    text: str = ""
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()
        assert not self._open, f"never closed: {[element.tag for element in self._open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, dict(attrs))
        self.elements.append(element)
        if tag == "br":
            self._add("\n")
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        opened = self._open.pop()
        assert opened.tag == tag, f"</{tag}> closes <{opened.tag}>"

    def handle_data(self, data: str) -> None:
        self._add(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")

    def _add(self, text: str) -> None:
        self.text += text
        for element in self._open:
            element.text += text

    def all(self, tag: str, class_: str = "") -> list[Element]:
        """The elements with a tag and, if given, a class."""
        return [
            element
            for element in self.elements
            if element.tag == tag and (not class_ or class_ in (element["class"] or "").split())
        ]

    def one(self, tag: str, class_: str = "") -> Element:
        [element] = self.all(tag, class_)
        return element

    @property
    def ids(self) -> list[str]:
        return [identifier for element in self.elements if (identifier := element["id"])]


def shown(*blocks: dict[str, Any], surface: Any = "message", **options: Any) -> Page:
    """Blocks as the console shows them."""
    return Page(render_blocks(blocks, options.pop("viewer", VIEWER), surface=surface, **options))


def plain(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, **more}


def mrkdwn(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, **more}


def options(*values: str) -> list[dict[str, Any]]:
    return [{"text": plain(value.title()), "value": value} for value in values]


def rt_section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(elements)}


def rich(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(parts)}


def text(words: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"style": style} if style else {})


def cells(*words: str) -> list[dict[str, Any]]:
    return [{"type": "raw_text", "text": word} for word in words]
