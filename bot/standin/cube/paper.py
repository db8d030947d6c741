"""Paper sandboxes: state in the API and a heartbeat on the node, no process. For scale tests."""

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.standin.cube import paper_beats
from bot.standin.cube.lifecycle import new_address
from bot.standin.cube.paper_beats import HOME_KEY
from bot.standin.cube.record import NEVER, Record

_STATES = ("running", "pausing", "paused")


class PaperError(ValueError):
    """The body of ``POST /paper`` is not right; the text gives an example."""


def records(body: Mapping[str, Any], *, now: float, node_id: str, template_id: str) -> list[Record]:
    """The records for ``{count, state, metadata, timeout, on_timeout, auto_resume, node, heartbeat}``.

    ``{n}`` in a metadata value becomes the number of the sandbox; a ``hermes-home`` without it gets
    ``-n`` when there are several, since a home has one live sandbox.
    """
    count, state = body.get("count", 1), body.get("state", "running")
    metadata: Any = body.get("metadata", {})
    counted = isinstance(count, int) and not isinstance(count, bool) and count >= 1
    if not counted or state not in _STATES or not isinstance(metadata, dict):
        example = '{"count": 1000, "state": "running", "metadata": {"hermes-home": "paper-{n}"}}'
        states = ", ".join(_STATES)
        raise PaperError(f"count is a positive number, state one of {states}, metadata a map, e.g. {example}")
    told, age = heartbeat_told(body)
    made = []
    for number in range(count):
        record = Record(
            sandbox_id=secrets.token_hex(16),
            template_id=template_id,
            asked_template=template_id,
            node_id=str(body.get("node", node_id)),
            created_at=now,
            state=state,
            on_timeout="kill" if body.get("on_timeout") == "kill" else "pause",
            auto_resume=bool(body.get("auto_resume", False)),
            paused_by="api" if state == "paused" else "",
            was_paused=state == "paused",
            metadata={key: _numbered(key, str(value), number, count) for key, value in metadata.items()},
            guest_ip=new_address(),
            paper=True,
            heartbeat=told if age == 0 else None,
        )
        record.set_timeout(now, int(body.get("timeout", NEVER)))
        made.append(record)
    return made


def _numbered(key: str, value: str, number: int, count: int) -> str:
    if "{n}" in value:
        return value.replace("{n}", str(number))
    return f"{value}-{number}" if key == HOME_KEY and count > 1 else value


def heartbeat_told(body: Mapping[str, Any]) -> tuple[dict[str, Any] | None, float]:
    """What the heartbeats tell otherwise than healthy ones would, and how many seconds old they are.

    ``heartbeat`` is false for none (None), or a map of what is told; ``age_s`` in it makes an old one, that
    of a sandbox in which nothing beats any more. Raises PaperError for anything else.
    """
    told: Any = body.get("heartbeat", {})
    if told is False:
        return None, 0.0
    told = {} if told is True or told is None else told
    age: Any = told.get("age_s", 0) if isinstance(told, dict) else None
    if isinstance(age, bool) or not isinstance(age, int | float):
        example = '{"studio": "not-ready", "note": "the agent bridge is not ready"}, or {"age_s": 300}'
        raise PaperError(f"heartbeat is false for none, or a map of what it tells, e.g. {example}")
    return {key: value for key, value in told.items() if key != "age_s"}, float(age)


def write_heartbeats(made: Sequence[Record], shared: Path, told: Mapping[str, Any], age: float) -> None:
    """The first heartbeat of each below ``shared``. Blocking."""
    for record in made:
        paper_beats.write(record, shared, told, age=age)
