"""Sandboxes as CubeAPI shows them."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from bot.standin.cube.host_mount import KEY
from bot.standin.cube.platform import Platform
from bot.standin.cube.record import Record
from bot.standin.cube.templates import timestamp
from bot.standin.faults import Faults


def created(record: Record, domain: str, client_id: str) -> dict[str, Any]:
    """The answer of create, connect and resume. ``clientID`` is a request id on create."""
    return {
        "templateID": record.asked_template,
        "sandboxID": record.sandbox_id,
        "clientID": client_id,
        "envdVersion": record.envd_version,
        "domain": domain,
    }


def lost(record: Record, platform: Platform, faults: Faults) -> bool:
    """Whether metadata and template id are gone from answers."""
    forgetful = platform.loses_labels_after_pause or faults.peek("cube", "labels-lost") is not None
    return forgetful and record.was_paused


def listed(record: Record, platform: Platform, *, lost: bool) -> dict[str, Any]:
    """An entry of a list; ``lost`` is whether its metadata and template id are gone."""
    entry: dict[str, Any] = {
        "templateID": "" if lost else record.template_id,
        "sandboxID": record.sandbox_id,
        "clientID": record.node_id,
        "startedAt": timestamp(record.created_at),
        "cpuCount": record.cpu_count,
        "cpuMilli": record.cpu_count * 1000,
        "memoryMB": record.memory_mb,
        "diskSizeMB": 0,
        "state": "running" if record.state == "killing" else record.state,
        "envdVersion": record.envd_version,
    }
    if record.deadline is not None:
        entry["endAt"] = timestamp(record.deadline)
    if record.metadata and not lost:
        entry["metadata"] = {key: value for key, value in record.metadata.items() if key != KEY}
    if record.mounts and platform.shows_mounts:
        entry["volumeMounts"] = [
            {"name": f"hostdir-{index}", "path": mount.target, "readOnly": mount.read_only}
            for index, mount in enumerate(record.mounts)
        ]
    return entry


def detailed(record: Record, platform: Platform, domain: str, *, lost: bool) -> dict[str, Any]:
    """``GET /sandboxes/{id}``: a state that the API has no name for is shown as running."""
    detail = listed(record, platform, lost=lost) | {"domain": domain}
    if detail["state"] != "paused":
        detail["state"] = "running"
    return detail


def matching(records: list[Record], query: Mapping[str, str], lost: Callable[[Record], bool]) -> list[Record]:
    """The records with all pairs of the one ``metadata`` query value (``k=v&k2=v2``)."""
    wanted = dict(parse_qsl(query.get("metadata", ""), keep_blank_values=True))
    if not wanted:
        return records
    return [
        record
        for record in records
        if not lost(record) and all(record.metadata.get(key) == value for key, value in wanted.items())
    ]
