"""The answer of the examination inside, believed in its own shape only and cut to what a message can bear."""

from collections.abc import Mapping
from typing import Any

from bot.domain.evidence import GuestEvidence, Mounted, Reached
from bot.domain.heartbeat import Inside
from bot.domain.skills import entries_from_json

MAX_TEXT = 300
MAX_LINES = 40
MAX_PORTS = 200
_MOST = 2**63
_RESULTS = frozenset({"open", "refused", "timeout", "no-name", "unreachable"})


def guest_evidence(
    answer: Mapping[str, Any], endpoints: tuple[str, ...], asked: tuple[float, float] | None
) -> GuestEvidence:
    """What the program ``examine`` in the sandbox has told.

    Args:
        answer: its JSON.
        endpoints: those that were asked for; others are not believed.
        asked: the bot's clock before and after.
    """
    mounts, resources = _object(answer, "mounts"), _object(answer, "resources")
    databases, studio = _object(answer, "databases"), _object(answer, "studio")
    skills = answer.get("skills")
    shown = skills if isinstance(skills, Mapping) else None
    ok = databases.get("ok")
    return GuestEvidence(
        now=_number(answer, "now") or 0.0,
        asked=asked,
        uid=_whole(answer, "uid"),
        home=_mount(mounts, "home"),
        workspace=_mount(mounts, "workspace"),
        public=_mount(mounts, "public"),
        file_system=_text(resources, "file_system"),
        journal_mode=_text(databases, "journal_mode"),
        databases_ok=ok if isinstance(ok, bool) else None,
        database_notes=_lines(databases.get("notes")),
        agent_version=_text(studio, "version"),
        lacks_wal_guard=studio.get("lacks_wal_guard") is not False,
        disk_free=_whole(resources, "disk_free"),
        memory_free=_whole(resources, "memory_free"),
        memory_total=_whole(resources, "memory_total"),
        listeners=_listeners(answer.get("listeners")),
        studio_processes=_lines(answer["processes"]) if isinstance(answer.get("processes"), list) else None,
        studio=_inside(studio.get("word")),
        studio_note=_text(studio, "note"),
        log_tail=_lines(answer.get("log")),
        config=_text(answer, "config"),
        skills_public=None if shown is None else entries_from_json(shown.get("public")),
        skills_home=None if shown is None else entries_from_json(shown.get("home")),
        endpoints=_endpoints(answer.get("endpoints"), endpoints),
        untold={
            _plain(str(part)): _plain(str(why)) for part, why in [*_object(answer, "untold").items()][:20]
        },
    )


def _mount(mounts: Mapping[str, Any], side: str) -> Mounted:
    told = _object(mounts, side)
    return Mounted(
        path=_text(told, "path"),
        mode=_text(told, "mode"),
        write=_text(told, "write"),
        uid=_whole(told, "uid"),
        permissions=_whole(told, "permissions"),
    )


def _listeners(told: Any) -> dict[int, tuple[str, ...]] | None:
    if not isinstance(told, Mapping):
        return None
    ports = [(port, names) for port, names in told.items() if isinstance(port, str) and port.isdecimal()]
    return {int(port[:5]): _lines(names) for port, names in ports[:MAX_PORTS]}


def _endpoints(told: Any, wanted: tuple[str, ...]) -> tuple[Reached, ...]:
    listed = [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []
    by_name = {str(one.get("endpoint")): one for one in listed}
    return tuple(_reached(endpoint, by_name.get(endpoint, {})) for endpoint in wanted)


def _reached(endpoint: str, told: Mapping[str, Any]) -> Reached:
    result = told.get("result")
    known = result if isinstance(result, str) and result in _RESULTS else "untold"
    return Reached(endpoint=endpoint, result=known, seconds=_number(told, "seconds"))


def _inside(word: Any) -> Inside:
    return Inside(word) if isinstance(word, str) and word in Inside._value2member_map_ else Inside.UNKNOWN


def _object(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = told.get(name)
    return value if isinstance(value, dict) else {}


def _lines(told: Any) -> tuple[str, ...]:
    return (
        tuple(_plain(line) for line in told[:MAX_LINES] if isinstance(line, str))
        if isinstance(told, list)
        else ()
    )


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return _plain(value) if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_TEXT]).split())


def _whole(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def _number(told: Mapping[str, Any], name: str) -> float | None:
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_MOST < value < _MOST else None
