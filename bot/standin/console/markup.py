"""HTML, built so that nothing a message says can become a tag, an attribute or a script."""

import html
import re
from urllib.parse import urlsplit

Attribute = str | int | bool | None

SCHEMES = ("http", "https", "mailto")
"""What a link may start with. Slack opens more; the console is no place to try them."""

_VOID = ("br", "hr", "img", "input")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\x9f]")


def escape(text: object) -> str:
    """Text as the content of a tag or of a quoted attribute.

    A lone surrogate, which JSON can carry and no page can, becomes a question mark.
    """
    return html.escape(str(text).encode("utf-8", "replace").decode("utf-8"))


def lines(text: str) -> str:
    """Plain text with its line breaks."""
    return escape(text).replace("\n", "<br>")


def tag(name: str, content: str = "", /, **attributes: Attribute) -> str:
    """A tag around ready HTML.

    ``data_action`` gives ``data-action``, and a trailing underscore is for Python's own words (``class_``).
    An attribute that is True stands alone; one that is None or False falls away.
    """
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        written.append(f" {shown}" if value is True else f' {shown}="{escape(value)}"')
    start = f"<{name}{''.join(written)}>"
    return start if name in _VOID else f"{start}{content}</{name}>"


def link(url: str, content: str, **attributes: Attribute) -> str:
    """A link around ready HTML, or only the HTML where the address is none that the console opens."""
    if not is_safe(url):
        return content
    return tag("a", content, href=url, target="_blank", rel="noopener noreferrer", **attributes)


def is_safe(url: str) -> bool:
    """Whether an address is a web or mail address, as every browser would read it."""
    if _INVISIBLE.search(url):
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in SCHEMES and bool(parts.path if parts.scheme == "mailto" else parts.netloc)


def is_own_image(url: str) -> bool:
    """Whether an image comes from this machine: nothing is loaded from another host."""
    return is_safe(url) and urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
