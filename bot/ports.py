"""What the use cases need from the outside, in their own words.

Every method that crosses a network has a deadline inside its adapter and raises an error of
``bot.domain.errors``; no vendor type or vendor exception passes a port.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

from bot.domain.audit import AuditEvent, AuditRow, ChainHead, ChainReport
from bot.domain.evidence import GuestEvidence, NodeEvidence
from bot.domain.heartbeat import Heartbeat
from bot.domain.provisioning import AgentFacts, Generation, PortHealth, Seeding, SignIn
from bot.domain.sandbox import CreateSpec, Places, SandboxView, TemplateView
from bot.domain.skills import Entry, OverlayPlan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a command left behind. Output is text, undecodable bytes replaced, cut at 1 MiB."""

    exit_code: int
    stdout: str
    stderr: str


class Cube(Protocol):
    """Cube's control plane, and commands inside a sandbox. Errors: ``CubeError``.

    An answer that names how long to wait is waited for, a few times and within the deadline, before it
    becomes an error; nothing else is repeated.
    """

    async def create(self, spec: CreateSpec) -> SandboxView:
        """Make a sandbox. A lost answer raises a fault of class ``unknown_outcome``."""

    async def list(self, *, labels: Mapping[str, str] | None = None) -> list[SandboxView]:
        """All sandboxes, paused ones too, that carry all ``labels``. Absence proves nothing."""

    async def get(self, sandbox_id: str) -> SandboxView | None:
        """One sandbox, or None on a 404. Never wakes it."""

    async def kill(self, sandbox_id: str) -> None:
        """Destroy a sandbox."""

    async def pause(self, sandbox_id: str) -> None:
        """Ask for a pause. It may be still on its way then, and may never end: look afterwards."""

    async def resume(self, sandbox_id: str) -> None:
        """Wake a paused sandbox, keeping its idle timeout. Nothing happens to one that runs."""

    async def set_timeout(self, sandbox_id: str, seconds: int) -> None:
        """Its idle time from now on; -1 = never. Wakes nothing."""

    async def templates(self) -> Sequence[TemplateView]:
        """All templates."""

    async def template(self, name: str) -> TemplateView | None:
        """By id or alias, or None on a 404."""

    async def healthy(self) -> bool:
        """Whether CubeAPI answers. It does not vouch for what is behind it."""

    async def run(
        self, sandbox_id: str, command: str, *, env: Mapping[str, str] | None = None, deadline: float = 30.0
    ) -> CommandResult:
        """A shell command as root inside the sandbox. This is activity and wakes a paused one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The directories of a home and workspace exist and are safe."""

    home_created: bool
    workspace_created: bool
    home_initialised: bool
    """``config.yaml`` was there before."""
    free_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What seeding did."""

    outcome: Seeding
    files: int = 0
    """Files copied by this call."""
    skipped: tuple[str, ...] = ()
    """Entries of the default home that were left out: links that leave it, and what is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkersFound:
    """Whether the markers that the sandbox wrote were read back on the node."""

    home: bool
    workspace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePulse:
    """What one look at a node tells about all its homes."""

    free_bytes: int
    """On the file system of its shared directory."""
    skills_revision: str
    """Names the content of the public Skills there; empty when there are none."""
    heartbeats: Mapping[str, Heartbeat]
    """By home-id; homes without a readable one are missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a home and a workspace take on the node, in bytes; None = too many files to count in time."""

    home: int | None
    workspace: int | None


class Node(Protocol):
    """One Cubelet node, over SSH. Paths are built from ids, never taken. Errors: ``NodeError``."""

    @property
    def node_id(self) -> str:
        """Our id of the node."""

    async def prepare(
        self, places: Places, *, launch_env: Mapping[str, str], min_free_bytes: int
    ) -> Prepared:
        """Create and check the directories and store ``launch_env`` 0600 in the home; one round trip."""

    async def seed(self, places: Places) -> Seeded:
        """Fill a home without ``config.yaml`` from the default home, under a node-side lock."""

    async def has_home(self, places: Places) -> bool:
        """Whether the home's directory exists on this node."""

    async def launch_env(self, places: Places) -> dict[str, str] | None:
        """The stored launch environment, re-validated; None when there is none."""

    async def plant_markers(self, places: Places, marker: str) -> None:
        """Write ``marker`` into home and workspace for the sandbox to read."""

    async def collect_markers(self, places: Places, marker: str) -> MarkersFound:
        """Look for the sandbox's answer to ``marker`` and remove both."""

    async def read_access(self, places: Places) -> "StoredAccess | None":
        """The sign-in stored in the home, re-validated; None when there is none."""

    async def pulse(self, shared_root: str, homes: Collection[str]) -> NodePulse:
        """The heartbeats of these homes, and how the node is; one round trip however many there are."""

    async def sizes(self, places: Places) -> Sizes:
        """How much a home and its workspace hold."""

    async def examine(self, places: Places) -> NodeEvidence:
        """Everything that can be seen of these directories by looking; one round trip, nothing is woken."""

    async def run(self, command: str, *, stdin: bytes = b"", deadline: float = 30.0) -> CommandResult:
        """A shell command on the node. For examinations; changes have methods of their own."""

    async def close(self) -> None:
        """End the connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAccess:
    """How to sign in to a Studio. Secret; shown to one person in private, on request."""

    generation: Generation
    token: str = field(default="", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    sign_in: SignIn = SignIn.KNOWN
    """``CHANGED``: the owner has set a password that is not known here; the user name may be empty too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountReport:
    """What the mounts look like from inside."""

    home_read_write: bool
    workspace_read_write: bool
    public_skills_read_only: bool
    """A write was tried and refused with EROFS."""
    marker_seen_in_home: bool
    marker_seen_in_workspace: bool
    file_system: str = ""
    """Of the home, as ``stat -f`` names it."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillsInventory:
    """Entries of the public directory and of the home's ``skills/``, as seen from inside."""

    public: Mapping[str, Entry]
    home: Mapping[str, Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioStarted:
    """Studio runs on the mounted home, and nobody but its owner can have set its password."""

    generation: Generation
    replaced_running: bool
    """A Studio that was already there was stopped first."""
    agent: AgentFacts
    first_login_replaced: bool
    """The password was changed by this call, not earlier."""
    sign_in: SignIn = SignIn.KNOWN
    heartbeat_note: str = ""
    """Why no heartbeat tells how it is; empty when one does."""


class Guest(Protocol):
    """Our programs inside a sandbox. They are activity. Errors: ``GuestError``, ``CubeError``."""

    async def answers(self, sandbox_id: str) -> bool:
        """Whether envd answers now; one request, no waiting."""

    async def check_mounts(self, sandbox_id: str, marker: str) -> MountReport:
        """Look at the three mounts, read the node's marker, answer it, try to write where one may not."""

    async def skills_inventory(self, sandbox_id: str) -> SkillsInventory:
        """What is in the public directory and in the home's ``skills/``."""

    async def apply_overlay(self, sandbox_id: str, plan: OverlayPlan) -> OverlayPlan:
        """Make and remove links as planned, in one command; gives what is true afterwards."""

    async def start_studio(self, sandbox_id: str, *, port: int, auth: str) -> StudioStarted:
        """Make sure that a Studio runs on the mounted home, then secure its sign-in, all from inside.

        A heartbeat is started with it, and has beaten once when this returns.
        """

    async def examine(
        self, sandbox_id: str, *, port: int, endpoints: Sequence[str], now: Callable[[], float]
    ) -> GuestEvidence:
        """Look at everything inside, in one command that leaves nothing behind.

        Args:
            sandbox_id: it must run, because looking would wake it.
            port: Studio's.
            endpoints: those that a sandbox must reach; each is tried with one TCP connection.
            now: the bot's clock, in seconds since the epoch, to compare the sandbox's with.
        """

    async def stop_studio(self, sandbox_id: str) -> bool:
        """End the heartbeat, and Studio cleanly, so that its databases are closed.

        False when no Studio was running.
        """


class Studio(Protocol):
    """A Studio and its sandbox, seen from outside through the proxy. Every look is activity."""

    async def web_ui(self, sandbox_id: str) -> PortHealth:
        """The Web UI, judged by the content of ``/health``, not by its status."""

    async def envd(self, sandbox_id: str) -> PortHealth:
        """Cube's command service."""


class AuditLog(Protocol):
    """The only thing the bot stores. Raises ``AuditUnavailableError`` when it cannot be written."""

    async def append(self, event: AuditEvent) -> AuditRow:
        """Durable when it returns."""

    async def claim(self, event: AuditEvent) -> AuditRow | None:
        """The one claim of a request; None when it is taken already."""

    async def vote(self, event: AuditEvent) -> AuditRow | None:
        """One person's vote on a request; None when that person has voted."""

    async def of_request(self, request_id: str) -> list[AuditRow]:
        """Its rows, oldest first."""

    async def open_intents(self) -> list[AuditRow]:
        """Intents whose request has no outcome yet."""

    async def created(self, sandbox_ids: Collection[str]) -> dict[str, AuditRow]:
        """By sandbox, of those that a create has made: the last intent of the request that made it."""

    async def created_on(self, home: str) -> dict[str, AuditRow]:
        """The same for the sandboxes of a home, without those of which a row tells the end."""

    async def created_by(self, actor: str, *, limit: int = 100) -> list[AuditRow]:
        """What this actor has made, dead or alive, newest first, at most ``limit`` sandboxes.

        For each it is the last intent of the request that made it.
        """

    async def unended(self, besides: Collection[str], *, limit: int) -> dict[str, AuditRow]:
        """By sandbox, what creates have made and no row tells the end of, without ``besides``.

        The latest ``limit`` of them; for each it is the last intent of the request that made it.
        """

    async def changes(self, sandbox_ids: Collection[str]) -> dict[str, list[AuditRow]]:
        """By sandbox, intents and outcomes of pauses, resumes and keeps, newest first, at most 20 each."""

    async def recent(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
        limit: int = 50,
    ) -> list[AuditRow]:
        """The latest rows that match, newest first."""

    def export(
        self,
        *,
        home: str | None = None,
        sandbox: str | None = None,
        actor: str | None = None,
        since: datetime | None = None,
    ) -> AsyncIterator[AuditRow]:
        """All rows that match, oldest first."""

    def watch(self, told: Callable[[AuditRow], None]) -> None:
        """Have ``told`` called with each row that is appended here from now on; it must not wait or raise."""

    async def head(self) -> ChainHead:
        """The last row's number and hash."""

    async def verify(self) -> ChainReport:
        """Walk the chain."""

    async def close(self) -> None:
        """Flush and release."""


class Lock(Protocol):
    """A held lock."""

    async def release(self) -> None:
        """Give it back. Safe to call twice."""


class Locks(Protocol):
    """Exclusive among tasks, processes and replicas of one installation; freed when a holder dies."""

    def hold(self, name: str) -> AbstractAsyncContextManager[None]:
        """Wait for it."""

    async def try_hold(self, name: str) -> Lock | None:
        """At once, or None."""


class Clock(Protocol):
    """Time."""

    def now(self) -> datetime:
        """Aware UTC."""

    def monotonic(self) -> float:
        """Seconds, for durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Ids(Protocol):
    """Fresh identifiers."""

    def request_id(self) -> str:
        """Unique, sortable by time, safe in metadata and URLs."""

    def marker(self) -> str:
        """Unguessable hex text for mount markers."""


class Redactor(Protocol):
    """The one place that hides secrets; every egress passes it."""

    def learn(self, *secrets: str) -> None:
        """Hide these everywhere from now on."""

    def text(self, text: str) -> str:
        """The text without secrets."""

    def payload(self, value: T, *, reveal: Collection[str] = ()) -> T:
        """A JSON-like value without secrets, apart from those in ``reveal``."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that a message brings along, in its thread."""

    name: str
    """What it is saved as; the end of it says what it is, as in ``audit.csv``."""
    title: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. ``classic`` blocks stand in where Slack refuses ``blocks``."""

    text: str
    blocks: tuple[Mapping[str, Any], ...] = ()
    classic: tuple[Mapping[str, Any], ...] | None = None
    whole: str = ""
    """All that it says, where something was cut to fit; it goes into a file beside the message."""
    attachment: Attachment | None = None
    """Goes into the thread in place of ``whole``. The message says whether it is there."""


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a message stands."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class Window:
    """A modal as it was left: ``state`` changes whenever somebody replaces its content."""

    view_id: str
    state: str = ""


class Chat(Protocol):
    """Slack, outgoing. Everything passes the redactor; links never unfurl. Errors: ``ChatError``.

    Posts and edits wait for their turn in the channel. A message that is too long is cut, says so, and has
    the whole as a file in its thread, where there is one.
    """

    async def post(self, channel: str, message: Message, *, thread_ts: str = "") -> Posted:
        """A message, once; a user id as channel opens the DM.

        ``post-unknown``: it cannot be told whether it stands there; it is never posted again.
        """

    async def update(self, channel: str, ts: str, message: Message) -> None:
        """Replace a message of ours. Done too when a later replacement of it has come first."""

    async def whisper(self, channel: str, user: str, message: Message, *, thread_ts: str = "") -> None:
        """Ephemeral: seen by one person, perhaps never; not for the only copy of anything."""

    async def respond(self, response_url: str, message: Message) -> None:
        """Answer a command or click, ephemerally, where the bot may not post. Replaces nothing."""

    async def open_view(self, trigger_id: str, view: Mapping[str, Any]) -> Window:
        """Open a modal. The trigger lives three seconds."""

    async def update_view(
        self, window: Window, view: Mapping[str, Any], *, reveal: Collection[str] = ()
    ) -> Window:
        """Replace a modal as it was left; else ``hash_conflict``, or ``not_found`` once it is shut.

        Secrets in ``reveal`` may pass: a modal is seen by one person.
        """

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Replace one person's App Home."""

    async def direct(self, user: str, message: Message, *, reveal: Collection[str] = ()) -> Posted:
        """A DM from the bot. Secrets in ``reveal`` may pass."""

    async def group_members(self, group_id: str) -> frozenset[str]:
        """Active members of a usergroup."""
