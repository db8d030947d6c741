"""From the text of a slash command as Slack sends it to the words that a person meant.

Phones and Slack change what is typed: quotes turn round, an address becomes a link, a blank becomes a
no-break space. All of that is undone here, in a fixed order, and nothing else is: an id with an invisible
character in it stays as it is and is refused later.
"""

import re

# One link or mention. An address has no blank in it, so a typed "a < b > c" is left alone.
_MARKUP = re.compile(r"<([^<>|\s]+)(?:\|([^<>]*))?>")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}

# White_Space of Unicode, without the control characters that Python's str.split also takes for blanks.
_BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
_PLAIN = str.maketrans(
    dict.fromkeys(_BLANKS, " ") | dict.fromkeys(_SINGLE_QUOTES, "'") | dict.fromkeys(_DOUBLE_QUOTES, '"')
)


def plain_text(text: str) -> str:
    """`text` with links and mentions resolved, entities decoded once, blanks and quotes in ASCII."""
    resolved = _MARKUP.sub(lambda found: _resolve(found[1], found[2] or ""), text)
    return typed(_ENTITY.sub(lambda found: _ENTITIES[found[1]], resolved))


def typed(text: str) -> str:
    """`text` with blanks and quotes in ASCII. What stands in a form field has no links and entities in it."""
    return text.translate(_PLAIN)


def _resolve(address: str, label: str) -> str:
    if address.startswith(("@", "#")):
        return address
    if address[:7].lower() == "mailto:":
        return address[7:]
    # Slack makes links of what looks like one; the label is then what was typed.
    return label if label in {address, _SCHEME.sub("", address, count=1)} and label else address


def split_words(plain: str) -> list[str] | None:
    """The words of `plain`, quotes taken off; None when a quote is opened and not closed.

    A quote opens only at the start of a word or right after `=`, so that `it's` is a word. Inside double
    quotes a backslash keeps a quote or a backslash; inside single quotes nothing is special.
    """
    words: list[str] = []
    word: list[str] | None = None
    at = 0
    while at < len(plain):
        character = plain[at]
        at += 1
        if character == " ":
            if word is not None:
                words.append("".join(word))
            word = None
        elif character in "\"'" and (word is None or plain[at - 2] == "="):
            quoted = quoted_part(plain, at, character)
            if quoted is None:
                return None
            content, at = quoted
            word = [*(word or ()), content]
        else:
            word = word if word is not None else []
            word.append(character)
    if word is not None:
        words.append("".join(word))
    return words


def quoted_part(plain: str, start: int, quote: str) -> tuple[str, int] | None:
    """What stands between `start` and the closing quote, and where reading goes on; None without one."""
    content: list[str] = []
    at = start
    while at < len(plain):
        character = plain[at]
        at += 1
        if character == quote:
            return "".join(content), at
        if character == "\\" and quote == '"' and plain[at : at + 1] in {'"', "\\"}:
            character = plain[at]
            at += 1
        content.append(character)
    return None
