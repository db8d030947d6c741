"""What Slack's message box does to the words that a person types."""

import re

from bot.standin.slack.cast import Cast

# Bare host names become links only under endings that the client takes for a web address.
_LINK_ENDINGS = "com|org|net|io|dev|app|ai|internal"
_TOKENS = re.compile(
    r"<(?P<pasted>[@#][A-Z][A-Z0-9_]+)>"
    r"|(?P<url>https?://[^\s<>|\"'“”]+)"
    r"|(?P<mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?<![\w&])(?P<sign>[@#])(?P<name>[A-Za-z][\w.-]*\w)"
    rf"|(?<![\w@./-])(?P<host>(?:[a-z0-9-]+\.)+(?:{_LINK_ENDINGS})(?::\d+)?(?:/[^\s<>|\"']*)?)(?![\w.-])"
    r"|(?P<special>[&<>])"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def typed(text: str, cast: Cast, *, phone: bool = False, should_escape: bool = True) -> str:
    """The ``text`` of a slash command, or of a message.

    ``phone`` adds what a telephone's keyboard changes: curly quotes, an em dash for two hyphens, and
    the space after the last word. Without the command's ``should_escape`` names and links stay as they
    were typed.
    """
    if phone:
        text = _as_on_a_phone(text)
    if not should_escape:
        return text
    return _TOKENS.sub(lambda match: _rewritten(match, cast), text)


def _rewritten(match: re.Match[str], cast: Cast) -> str:
    whole = match.group(0)
    escaped = "".join(_ENTITIES.get(char, char) for char in whole)
    if match["pasted"]:
        return _mention(match["pasted"][0], match["pasted"][1:], cast) or escaped
    if match["url"]:
        return f"<{escaped}>"
    if match["mail"]:
        return f"<mailto:{whole}|{whole}>"
    if match["sign"]:
        return _mention(match["sign"], match["name"], cast) or escaped
    if match["host"]:
        return f"<http://{escaped}|{escaped}>"
    return escaped


def _mention(sign: str, name: str, cast: Cast) -> str | None:
    if sign == "@":
        for person in cast.people.values():
            if name in (person.id, person.name):
                return f"<@{person.id}|{person.name}>"
        for group in cast.usergroups:
            handle = group.removeprefix("S_").lower()
            if name in (group, handle):
                return f"<!subteam^{group}|@{handle}>"
        return None
    for channel in cast.channels.values():
        if channel.kind != "im" and name in (channel.id, channel.name):
            return f"<#{channel.id}|{channel.name if channel.kind == 'public' else ''}>"
    return None


def _as_on_a_phone(text: str) -> str:
    text = re.sub(r"(^|[\s=(\[])\"", "\\1“", text).replace('"', "”")
    text = re.sub(r"(^|[\s=(\[])'", "\\1‘", text).replace("'", "’")  # noqa: RUF001  # curly quotes are the point
    return text.replace("--", "—") + " "
