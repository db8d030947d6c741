"""Reading Cube's error bodies, as in `{"code":500,"message":"CubeMaster returned error code 130597: no …"}`.

A body may be cut, pretty-printed, an HTML page of a proxy, or empty. Nothing here fails or runs long,
whatever it is given: a body from the data plane may come from a hostile guest.
"""

import json
import re

_MAX_BODY = 65_536
_MAX_MESSAGE = 400

_CODE = re.compile(r"error code ([0-9]{1,9}):", re.IGNORECASE)
# An unclosed quote matches up to the end, so that one pass is enough; only a closed one is taken out.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.?)*("|\Z)', re.DOTALL)
_CUT_MESSAGE = re.compile(r'"message"\s*:\s*("(?:[^"\\]|\\.)*)', re.DOTALL)
_TITLE = re.compile(r"<title>([^<]*)</title>", re.IGNORECASE)


def message_of(body: str) -> str:
    """The sentence inside an error body (JSON, cut JSON, HTML or plain), as well as it can be had."""
    body = body[:_MAX_BODY]
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        cut = _CUT_MESSAGE.search(body)
        if cut:
            return _unescape(cut[1])
        title = _TITLE.search(body)
        return title[1] if title else body.replace('\\"', '"').rstrip('"}\r\n ')
    if isinstance(parsed, dict):
        inner = next((parsed[key] for key in ("message", "error") if isinstance(parsed.get(key), str)), None)
        return body if inner is None else inner
    return parsed if isinstance(parsed, str) else body


def _unescape(opened: str) -> str:
    """Decode a JSON string that starts with its quote and was cut before its end."""
    try:
        return str(json.loads(opened + '"', strict=False))
    except ValueError:
        return opened[1:].replace('\\"', '"').replace("\\\\", "\\")


def own_words(message: str) -> str:
    """`message` without what stands in double quotes: that is somebody's input (a host path, a name)."""
    return _QUOTED.sub(lambda found: " " if found[1] else found[0], message)


def code_in(words: str) -> int | None:
    """Cube's code, where it is announced as one; digits elsewhere are not."""
    found = _CODE.search(words)
    return int(found[1]) if found else None


def one_line(message: str) -> str:
    """`message` for people: blanks and line ends made single blanks, at most 400 characters."""
    line = " ".join(message.split())
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 1] + "…"
