"""What an examination saw, from four sides. Any part may be missing, and is then never taken for well.

Sizes are bytes, times seconds since the epoch. Whatever comes from a home or from inside a sandbox is a hint
in a known shape, never a proof: its owner is root there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.condition import Judged, Past
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.provisioning import PortHealth
from bot.domain.sandbox import SandboxView
from bot.domain.skills import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A side, or a part of one, that could not be examined."""

    why: str
    """In one sentence or a few words, for a person."""
    code: str = ""
    """The error's own code, where there is one."""
    asleep: bool = False
    """It was left out on purpose: looking there would have woken the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeEvidence:
    """The control plane."""

    view: SandboxView | None
    """By list and by id together; None: Cube has said twice that it does not exist."""
    list_state: str = ""
    """Empty when the list left it out."""
    get_state: str = ""
    listed: bool = True
    others: tuple[str, ...] = ()
    """Further sandboxes on the same home that are not destroyed."""
    template_status: str | None = None
    """None: could not be told; empty: Cube does not know the template any more."""
    past: Past = field(default_factory=Past)
    wake_refused: str = ""
    """Cube's words when it would not wake the sandbox just now."""
    wake_for_good: bool = False
    """Such a refusal does not go away by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A directory or a file, as one look without following links shows it."""

    path: str
    kind: str
    """``dir``, ``file``, ``link``, ``missing``, ``other``, ``unreadable``, or ``unsafe``: a link or a file
    stands in its path."""
    note: str = ""
    uid: int | None = None
    gid: int | None = None
    mode: int | None = None
    """Permission bits."""
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The file system that a place is on."""

    kind: str = ""
    read_only: bool | None = None
    free: int | None = None
    total: int | None = None
    free_inodes: int | None = None
    total_inodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """``config.yaml``, judged."""

    state: str
    """``ok``, ``absent``, ``broken``, ``too-large``, ``link``, ``not-a-file`` or ``unreadable``."""
    problem: str = ""
    """What is wrong in it, without its contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvidence:
    """The node's side of the mounts; nothing of it wakes a sandbox."""

    now: float
    """The node's clock."""
    asked: tuple[float, float] | None = None
    """The bot's clock before and after."""
    home: Place
    workspace: Place
    public_skills: Place
    bot_directory: Place
    home_disk: Disk
    workspace_disk: Disk
    launch_file: str = ""
    """``ok``, ``absent``, ``damaged`` or what else it is."""
    access_file: str = ""
    config: ConfigFile = ConfigFile(state="absent")
    database: Place | None = None
    journal_mode: str = ""
    """``wal`` or ``rollback`` by the header of ``state.db``; empty without one."""
    public_names: int | None = None
    """How many entries the directory of public Skills has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """One of the three mounts from inside."""

    path: str
    mode: str = ""
    """``rw``, ``ro``, or empty: nothing is mounted there."""
    write: str = ""
    """``ok``, or the name of the error that a write ended with, such as ``EROFS``; empty: not tried."""
    uid: int | None = None
    permissions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A configured endpoint, tried from inside."""

    endpoint: str
    result: str
    """``open``, ``refused``, ``timeout``, ``no-name``, ``unreachable``, or ``untold``."""
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestEvidence:
    """The inside of a running sandbox. Looking there counts as use."""

    now: float
    """The sandbox's clock."""
    asked: tuple[float, float] | None = None
    """The bot's clock before and after."""
    uid: int | None = None
    home: Mounted = Mounted(path="")
    workspace: Mounted = Mounted(path="")
    public: Mounted = Mounted(path="")
    file_system: str = ""
    journal_mode: str = ""
    databases_ok: bool | None = None
    database_notes: tuple[str, ...] = ()
    agent_version: str = ""
    lacks_wal_guard: bool = False
    disk_free: int | None = None
    """Of the sandbox's own root."""
    memory_free: int | None = None
    memory_total: int | None = None
    listeners: Mapping[int, tuple[str, ...]] | None = None
    """Port → names of the processes that listen there; None: not told."""
    studio_processes: tuple[str, ...] | None = None
    studio: Inside = Inside.UNKNOWN
    studio_note: str = ""
    """What Studio's ``/health`` said on loopback."""
    log_tail: tuple[str, ...] = ()
    config: str = ""
    """``file``, ``absent``, or in words what else stands there."""
    skills_public: Mapping[str, Entry] | None = None
    skills_home: Mapping[str, Entry] | None = None
    endpoints: tuple[Reached, ...] = ()
    untold: Mapping[str, str] = field(default_factory=dict)
    """Part → why it could not be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioEvidence:
    """The two ports as a browser sees them, through Cube's proxy."""

    web_ui: PortHealth
    envd: PortHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All four sides of one examination."""

    home: str
    sandbox_id: str
    at: datetime
    """The bot's clock."""
    judged: Judged
    """The state word, as ``/hermes status`` would give it."""
    cube: CubeEvidence | Unseen
    node: NodeEvidence | Unseen
    heartbeat: Heartbeat | Unseen | None
    """None: the home has none."""
    inside: GuestEvidence | Unseen
    studio: StudioEvidence | Unseen
    studio_port: int = 9000
    min_free: int = 0
    """Bytes that this installation wants free on a node."""
