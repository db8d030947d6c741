"""What is kept of a sandbox, in memory and on disk."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

State = Literal["running", "pausing", "paused", "killing"]
NEVER = -1


@dataclass(slots=True)
class HostMount:
    """One validated host-mount. ``source`` is the cleaned hostPath; it is never shown."""

    source: str
    target: str
    read_only: bool


@dataclass(slots=True)
class Record:
    """One sandbox. Times are seconds since the epoch; ``timeout_s`` is idle seconds, -1 never."""

    sandbox_id: str
    template_id: str
    asked_template: str
    node_id: str
    created_at: float
    timeout_s: int = NEVER
    deadline: float | None = None
    on_timeout: Literal["kill", "pause"] = "kill"
    auto_resume: bool = False
    state: State = "running"
    # Who paused it: the API, or the sweeper.
    paused_by: Literal["", "api", "idle"] = ""
    was_paused: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    mounts: list[HostMount] = field(default_factory=list)
    network: dict[str, Any] = field(default_factory=dict)
    traffic_token: str = ""
    guest_ip: str = ""
    cpu_count: int = 2
    memory_mb: int = 2048
    envd_version: str = ""
    exposed_ports: list[int] = field(default_factory=list)
    # The studio fault that was armed when the sandbox was made.
    studio_fault: str = ""
    home_read_only: bool = False
    paper: bool = False
    # What a paper one tells otherwise than a healthy one while it runs; None: it gives no sign of life.
    heartbeat: dict[str, Any] | None = None

    def touch(self, now: float) -> None:
        """A proxied request ended: the idle time starts anew."""
        if self.timeout_s >= 0:
            self.deadline = max(self.deadline or 0.0, now + self.timeout_s)

    def set_timeout(self, now: float, seconds: int) -> None:
        """A new idle timeout, counted from now; -1 is never."""
        self.timeout_s = seconds
        self.deadline = None if seconds == NEVER else now + seconds

    def extend(self, now: float, seconds: int) -> None:
        """At least ``seconds`` more; never less than there was. -1 is never."""
        if seconds == NEVER:
            self.set_timeout(now, NEVER)
        elif self.deadline is not None and self.deadline < now + seconds:
            self.deadline = now + seconds

    def to_json(self) -> dict[str, Any]:
        """The record as it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Record":
        """The record that was stored; keys of another version are left out."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in stored.items() if key in known}
        values["mounts"] = [HostMount(**mount) for mount in values.get("mounts", [])]
        return cls(**values)


class Store:
    """All sandboxes: real ones in a directory each, paper ones in one file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._paper_file = directory / "paper.json"
        self._records: dict[str, Record] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._marked: set[str] = set()

    def load(self) -> None:
        """Read what a predecessor has left. A sandbox whose creation or end was cut short is dropped."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for path in sorted(self._directory.glob("*/record.json")):
            record = Record.from_json(json.loads(path.read_text()))
            if record.state == "pausing":
                record.state = "paused"
            self._records[record.sandbox_id] = record
        if self._paper_file.exists():
            for stored in json.loads(self._paper_file.read_text()):
                self._records[stored["sandbox_id"]] = Record.from_json(stored)

    def home_of(self, sandbox_id: str) -> Path:
        """Where a sandbox's layers are."""
        return self._directory / sandbox_id

    def homes(self) -> list[Path]:
        """Every directory of layers, also those without a record."""
        return [path for path in self._directory.iterdir() if path.is_dir()]

    def get(self, sandbox_id: str) -> Record | None:
        """The record, or None."""
        return self._records.get(sandbox_id)

    def lock(self, sandbox_id: str) -> asyncio.Lock:
        """The lifecycle lock of a sandbox."""
        return self._locks.setdefault(sandbox_id, asyncio.Lock())

    def newest_first(self) -> list[Record]:
        """All records."""
        return sorted(self._records.values(), key=lambda record: record.created_at, reverse=True)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def add(self, record: Record) -> None:
        """Enter a record without writing it; follow with ``save`` or ``save_paper``."""
        self._records[record.sandbox_id] = record

    def save(self, record: Record) -> None:
        """Write a record."""
        if record.sandbox_id not in self._records:
            return
        if record.paper:
            self.save_paper()
        else:
            _replace(self.home_of(record.sandbox_id) / "record.json", record.to_json())

    def mark(self, record: Record) -> None:
        """Have a record written by the next ``flush``: for changes too frequent to write each."""
        self._marked.add(record.sandbox_id)

    def flush(self) -> None:
        """Write the marked records."""
        marked, self._marked = self._marked, set()
        records = [self._records[sandbox_id] for sandbox_id in marked if sandbox_id in self._records]
        for record in records:
            if not record.paper:
                self.save(record)
        if any(record.paper for record in records):
            self.save_paper()

    def save_paper(self) -> None:
        """Write all paper records."""
        _replace(self._paper_file, [record.to_json() for record in self._records.values() if record.paper])

    def remove(self, record: Record) -> None:
        """Forget a record. The layers of a real one are removed by its owner."""
        self._records.pop(record.sandbox_id, None)
        self._locks.pop(record.sandbox_id, None)
        if record.paper:
            self.save_paper()
        else:
            (self.home_of(record.sandbox_id) / "record.json").unlink(missing_ok=True)


def _replace(path: Path, value: Any) -> None:
    scratch = path.with_suffix(".new")
    # Environment values may be secret: nobody but the owner of STATE reads them.
    scratch.touch(mode=0o600)
    scratch.write_text(json.dumps(value))
    scratch.replace(path)
