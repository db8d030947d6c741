"""``metadata["host-mount"]``: validated as CubeMaster does it, word for word."""

import json
from typing import Any

from bot.standin.cube.errors import CubeError, bad_parameters
from bot.standin.cube.platform import Platform
from bot.standin.cube.record import HostMount

KEY = "host-mount"
_ALLOWED_PREFIX = "/data/shared/"


def clean(path: str) -> str:
    """The shortest equivalent path by text alone, as Go's ``path/filepath.Clean`` gives it."""
    rooted = path.startswith("/")
    kept: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            kept.append(part)
        elif kept and kept[-1] != "..":
            kept.pop()
        elif not rooted:
            kept.append("..")
    joined = "/".join(kept)
    return f"/{joined}" if rooted else joined or "."


def parse(platform: Platform, annotation: str) -> list[HostMount]:
    """The mounts asked for. Raises CubeError for the first entry that is not allowed.

    A blank string or an empty list is no mounts at all.
    """
    if not annotation.strip():
        return []
    entries = _entries(platform, annotation)
    mounts = []
    for index, entry in enumerate(entries):
        source, target = entry.get("hostPath") or "", entry.get("mountPath") or ""
        prefix = f'"{KEY}" entry[{index}]:'
        if not source.startswith("/"):
            raise bad_parameters(
                platform, f"{prefix} hostPath must be an absolute path, got {_quote(source)}"
            )
        if not target.startswith("/"):
            raise bad_parameters(
                platform, f"{prefix} mountPath must be an absolute path, got {_quote(target)}"
            )
        if not f"{clean(source)}/".startswith(_ALLOWED_PREFIX):
            said = (
                f"hostPath must be under one of [{_ALLOWED_PREFIX}], got {_quote(source)}"
                if platform.version == "0.5.1"
                else f"hostPath {_quote(source)} is not within an allowed mount prefix"
            )
            raise bad_parameters(platform, f"{prefix} {said}")
        mounts.append(HostMount(clean(source), clean(target), bool(entry.get("readOnly") or False)))
    return mounts


def _entries(platform: Platform, annotation: str) -> list[dict[str, Any]]:
    try:
        parsed = json.loads(annotation)
    except json.JSONDecodeError as error:
        raise _invalid(platform, _syntax(annotation, error)) from None
    if parsed is None:
        return []
    if not isinstance(parsed, list):
        raise _invalid(
            platform, f"json: cannot unmarshal {_kind(parsed)} into Go value of type []HostDirMount"
        )
    for entry in parsed:
        if not isinstance(entry, dict):
            raise _invalid(
                platform, f"json: cannot unmarshal {_kind(entry)} into Go value of type HostDirMount"
            )
        for name, kind in (("hostPath", str), ("mountPath", str), ("readOnly", bool)):
            value = entry.get(name)
            if value is not None and not isinstance(value, kind):
                wanted = "string" if kind is str else "bool"
                text = f"json: cannot unmarshal {_kind(value)} into Go struct field HostDirMount.{name}"
                raise _invalid(platform, f"{text} of type {wanted}")
    return parsed


def _invalid(platform: Platform, text: str) -> CubeError:
    return bad_parameters(platform, f'invalid "{KEY}" annotation: {text}')


def _syntax(text: str, error: json.JSONDecodeError) -> str:
    """Go's words for a syntax error, for the two that people make."""
    rest = text[error.pos :].lstrip()
    if not rest:
        return "unexpected end of JSON input"
    after = (
        "after top-level value" if error.msg.startswith("Extra data") else "looking for beginning of value"
    )
    return f"invalid character {rest[0]!r} {after}"


def _kind(value: Any) -> str:
    names: tuple[tuple[type, str], ...] = ((bool, "bool"), (str, "string"), (dict, "object"), (list, "array"))
    return next((name for kind, name in names if isinstance(value, kind)), "number")


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
