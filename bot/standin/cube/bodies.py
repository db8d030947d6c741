"""Request bodies: what the framework refuses in plain text, and what a handler refuses in JSON."""

import ipaddress
import json
import re
from typing import Any

from aiohttp import web

from bot.standin.cube.errors import CubeError, UnparsedError

_POSIX_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_DENIED_NAMES = frozenset({"BASH_ENV", "ENV", "PATH", "PYTHONPATH", "NODE_PATH", "IFS"})
_DENIED_PREFIXES = ("LD_", "DYLD_")
_VALUE_LIMIT = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DENY_ALL = "0.0.0.0/0"
_POLICY_LIMIT = 8192
_KINDS: dict[type, str] = {bool: "a boolean", int: "i64", str: "a string", dict: "a map", list: "a sequence"}

Shape = dict[str, type]


async def parsed(request: web.Request, shape: Shape, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON object of a request, its fields of the kinds in ``shape``; null counts as absent.

    Raises UnparsedError as the framework would: 415 without a JSON content type, 400 for broken
    syntax, 422 for a wrong kind or a missing field.
    """
    raw = await request.read()
    if not raw and not required:
        return {}
    if request.content_type != "application/json" and not request.content_type.endswith("+json"):
        raise UnparsedError(415, "Expected request with `Content-Type: application/json`")
    try:
        body = json.loads(raw)
    except ValueError as error:
        where = getattr(error, "colno", 1)
        line = getattr(error, "lineno", 1)
        text = f"Failed to parse the request body as JSON: expected value at line {line} column {where}"
        raise UnparsedError(400, text) from None
    if not isinstance(body, dict):
        raise _wrong(f"invalid type: {_told(body)}, expected a map", len(raw))
    for name in required:
        if body.get(name) is None:
            raise _wrong(f"missing field `{name}`", len(raw))
    for name, kind in shape.items():
        value = body.get(name)
        if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise _wrong(f"{name}: invalid type: {_told(value)}, expected {_KINDS[kind]}", len(raw))
    return {key: value for key, value in body.items() if value is not None}


def strings(body: dict[str, Any], name: str) -> dict[str, str]:
    """A map of strings. Raises UnparsedError for another kind of value."""
    given: dict[str, Any] = body.get(name, {})
    for key, value in given.items():
        if not isinstance(value, str):
            raise _wrong(f"{name}.{key}: invalid type: {_told(value)}, expected a string", 0)
    return {str(key): value for key, value in given.items()}


def _wrong(what: str, column: int) -> UnparsedError:
    text = f"Failed to deserialize the JSON body into the target type: {what} at line 1 column {column}"
    return UnparsedError(422, text)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value}"'
    return "null" if value is None else "map" if isinstance(value, dict) else "sequence"


def environment(body: dict[str, Any]) -> dict[str, str]:
    """``envVars``. Raises CubeError 400 for a name or a value that is not allowed."""
    wanted = strings(body, "envVars")
    for name, value in wanted.items():
        denied = name in _DENIED_NAMES or name.startswith(_DENIED_PREFIXES)
        if denied or not _POSIX_NAME.fullmatch(name):
            raise CubeError(400, f"invalid environment variable name: {name}")
        if len(value) > _VALUE_LIMIT:
            raise CubeError(400, f"environment variable {name} is longer than {_VALUE_LIMIT} bytes")
        if _CONTROL.search(value):
            raise CubeError(400, f"environment variable {name} contains a control character")
    return wanted


def network(given: dict[str, Any], *, internet: bool) -> dict[str, Any]:
    """A network policy as stored. Raises CubeError 400.

    ``internet`` false means that everything is denied already, which allowed domains need.
    """
    allow, deny = _targets(given, "allowOut"), _targets(given, "denyOut")
    for target in deny:
        _cidr(target, "denyOut")
    domains = []
    for target in allow:
        if _is_domain(target):
            domains.append(target)
        else:
            _cidr(target, "allowOut")
    if domains and internet and _DENY_ALL not in deny:
        raise CubeError(
            400,
            "When specifying allowed domains in allow_out, you must disable public outbound traffic or "
            "include '0.0.0.0/0' in deny_out to block all other traffic.",
        )
    rules = given.get("rules", [])
    if not isinstance(rules, list):
        raise CubeError(400, "rules must be a list")
    kept: dict[str, Any] = {
        key: given[key] for key in ("allowPublicTraffic", "maskRequestHost") if key in given
    }
    return {"allowOut": allow, "denyOut": deny, "rules": rules, "internet": internet, **kept}


def _targets(given: dict[str, Any], name: str) -> list[str]:
    targets = given.get(name) or []
    if not isinstance(targets, list) or not all(isinstance(target, str) for target in targets):
        raise CubeError(400, f"{name} must be a list of strings")
    if len(targets) > _POLICY_LIMIT:
        raise CubeError(400, f"{name} has more than {_POLICY_LIMIT} entries")
    return targets


def _is_domain(target: str) -> bool:
    return "/" not in target and any(letter.isalpha() for letter in target) and ":" not in target


def _cidr(target: str, name: str) -> None:
    try:
        ipaddress.ip_network(target, strict=False)
    except ValueError:
        raise CubeError(400, f"invalid CIDR in {name}: {target}") from None
