"""Paper sandboxes: state in the API and a heartbeat on the node, no process. For scale tests."""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.domain.ids import home_id
from bot.standin.cube.lifecycle import new_address
from bot.standin.cube.record import NEVER, Record
from bot.standin.cube.templates import timestamp

_STATES = ("running", "pausing", "paused")
_HOMES = "hermes-homes"
_HOME_KEY = "hermes-home"


class PaperError(ValueError):
    """The body of ``POST /paper`` is not right; the text gives an example."""


def records(body: Mapping[str, Any], *, now: float, node_id: str, template_id: str) -> list[Record]:
    """The records for ``{count, state, metadata, timeout, on_timeout, auto_resume, node}``.

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
        )
        record.set_timeout(now, int(body.get("timeout", NEVER)))
        made.append(record)
    return made


def _numbered(key: str, value: str, number: int, count: int) -> str:
    if "{n}" in value:
        return value.replace("{n}", str(number))
    return f"{value}-{number}" if key == _HOME_KEY and count > 1 else value


def write_heartbeats(made: list[Record], shared: Path, heartbeat: Mapping[str, Any] | None) -> None:
    """Write ``<home>/.hermes-bot/heartbeat.json`` below ``shared`` for those that have a home. Blocking.

    Metadata may say anything, as with sandboxes of strangers; what is no home-id makes no path.
    """
    for record in made:
        home = home_id(record.metadata.get(_HOME_KEY, ""))
        if home is None:
            continue
        directory = shared / _HOMES / home / ".hermes-bot"
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(0o700)
        told = {"sandbox": record.sandbox_id, "at": timestamp(record.created_at), **(heartbeat or {})}
        scratch = directory / "heartbeat.json.new"
        scratch.write_text(json.dumps(told))
        scratch.replace(directory / "heartbeat.json")
