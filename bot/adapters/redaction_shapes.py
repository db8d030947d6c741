"""Hides what shows by its shape alone: tokens by prefix, JWTs, private keys, Slack hooks, users in URLs."""

import re

from bot.adapters.redaction_marks import MARKER, nothing_to_hide

# A word starts behind anything but a word character, or behind an escape that ends in one (\n, %3D, \u0026).
WORD_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[abfnrtv])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2}))"

_TOKEN = re.compile(
    WORD_START + r"(?:xox[A-Za-z]-|xapp-|e2b_|sk-|gh[pousr]_|github_pat_|AKIA|ASIA|AKID)[A-Za-z0-9_-]{16,}+"
)
_JWT = re.compile(WORD_START + r"eyJ[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]++){2,4}")
_PEM = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----END ).)*+-----END [A-Z0-9 ]{0,60}-----|.*)",  # one that was cut off has no end
    re.DOTALL,
)
_HOOK = re.compile(
    r"(?P<kind>hooks\.slack(?:-gov)?\.com(?:\\*/|%2F)(?:services|commands|workflows|triggers)(?:\\*/|%2F))"
    r"(?:[^\s\"'`<>|\\(){}\[\],;\uff0c\uff1b。]|\\++/)++",
    re.IGNORECASE,
)
_SCHEME = r"(?P<scheme>[A-Za-z0-9]:(?:\\*+/){2})"
_USER = r"(?P<user>[^\s/?#:@\\\"'`<>]*+)"
_USERINFO = re.compile(_SCHEME + _USER + r"(?::(?P<password>[^\s/?#\\\"'`<>]*))?@")
# A password with an unescaped slash makes no valid URL, yet people write them; a port is not taken for one.
_BROKEN_USERINFO = re.compile(
    _SCHEME + _USER + r":(?!\d*+(?:[/?#\s\\\"'`<>]|$))(?P<password>[^\s@\\\"'`<>]*+)@"
)
_SHORTEST = 16  # characters; no shape is shorter
_LONG_USER = 24  # characters; nobody is called that
_LIKELY_TOKEN = re.compile(r"(?=.*\d)(?:.{16,}|(?=.*[a-z])(?=.*[A-Z]).{8,})")


def hide_shapes(text: str) -> str:
    """The text with the marker in place of everything that has the shape of a secret."""
    if len(text) < _SHORTEST and "@" not in text:
        return text
    for signs, pattern, replacement in _SHAPES:
        if any([sign in text for sign in signs]):  # noqa: C419 -- a list is faster than a generator here
            text = pattern.sub(replacement, text)
    if "@" in text and ":" in text:
        text = _USERINFO.sub(_hide_userinfo, text)
        text = _BROKEN_USERINFO.sub(_hide_userinfo, text)
    return text


def _hide_userinfo(match: re.Match[str]) -> str:
    user, password = match["user"], match["password"]
    if len(user) >= _LONG_USER or _LIKELY_TOKEN.match(user):
        user = user if nothing_to_hide(user) else MARKER
    if password is None:
        return f"{match['scheme']}{user}@"
    return f"{match['scheme']}{user}:{password if nothing_to_hide(password) else MARKER}@"


_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("PRIVATE KEY",), _PEM, MARKER),
    (
        ("xox", "xapp-", "e2b_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKI", "ASIA"),
        _TOKEN,
        MARKER,
    ),
    (("eyJ",), _JWT, MARKER),
    (("slack",), _HOOK, rf"\g<kind>{MARKER}"),
)
