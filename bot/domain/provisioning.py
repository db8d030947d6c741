"""The steps of a provisioning, what each reports, and what comes of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from bot.domain.actors import Actor
from bot.domain.outcome import Outcome
from bot.domain.skills import OverlayPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateRequest:
    """One person's wish for a Studio."""

    request_id: str
    actor: Actor
    home: str
    workspace: str
    template: str = ""
    timeout: int | None = None
    node: str = ""
    profile: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    channel: str = ""
    thread_ts: str = ""
    progress_ts: str = ""
    """Coordinates of the thread that is told; empty from a command line."""
    continues: str = ""
    """The interrupted request that this one finishes."""
    for_owner: str = ""
    """Whose sandbox it becomes, when an approver continues somebody else's request."""
    asked: bool = False
    """It is in the audit log already, as asked for and not yet admitted."""
    env_names: tuple[str, ...] = ()
    """Names of overrides whose values this process never saw, because it was restarted."""

    @property
    def owner(self) -> str:
        """Whose sandbox it becomes."""
        return self.for_owner or self.actor.id


class Step(IntEnum):
    """In the order in which they are done. The number is the one a thread shows."""

    CHECK = 1
    RECORD = 2
    DIRECTORIES = 3
    SEED = 4
    CREATE = 5
    ANSWER = 6
    MOUNTS = 7
    SKILLS = 8
    STUDIO = 9
    HEALTH = 10


STEP_TITLES: Mapping[Step, str] = {
    Step.CHECK: "Check the request",
    Step.RECORD: "Write it to the audit log",
    Step.DIRECTORIES: "Prepare the directories on the node",
    Step.SEED: "Fill a new home",
    Step.CREATE: "Create the sandbox",
    Step.ANSWER: "Wait until the sandbox answers",
    Step.MOUNTS: "Prove the mounts",
    Step.SKILLS: "Link the public Skills",
    Step.STUDIO: "Start Studio and secure it",
    Step.HEALTH: "Check health",
}


class StepState(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StepEvent:
    """A step began, ended or failed. ``note`` is one short line for a person."""

    step: Step
    state: StepState
    note: str = ""
    seconds: float = 0.0


class Seeding(StrEnum):
    """What seeding found and did."""

    SEEDED = "seeded"
    ALREADY = "already initialised"
    COMPLETED = "completed"


class Generation(StrEnum):
    """How a Studio authenticates: a token in the link up to 0.5.x, first-login users from 0.6."""

    TOKEN = "token"  # noqa: S105 - the name of a way to sign in, not a secret
    USERS = "users"


class SignIn(StrEnum):
    """What the bot knows of the sign-in to a Studio that it has started."""

    KNOWN = "known"
    CHANGED = "changed-by-owner"
    """Accounts that stood in the home before the start open neither with ours nor with the first password."""
    NOT_TOLD = "not-told"
    """Such accounts are there, and Studio takes no sign-in for the time being."""


SIGN_IN_NOTES: Mapping[SignIn, str] = {
    SignIn.CHANGED: "The bot does not know the password of this Studio: it is the one that was set in Studio,"
    " and it was kept. Please sign in with that one.",
    SignIn.NOT_TOLD: "Studio takes no sign-in just now (after too many that failed, for up to an hour), so"
    " the bot could not see whether the password it has is still right. Nothing was changed.",
}
"""One plain line for the thread, where there is something to say."""


def sign_in_words(generation: Generation, sign_in: SignIn, *, replaced: bool) -> str:
    """What became of the sign-in, in the few words of a step."""
    if generation is Generation.TOKEN:
        return "token sign-in"
    told = {SignIn.CHANGED: "password set in Studio", SignIn.NOT_TOLD: "sign-in not checked"}
    return f"user sign-in, {told.get(sign_in) or ('first password replaced' if replaced else 'sign-in kept')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHealth:
    """One port, judged. ``ok`` is None when it could not be told."""

    port: int
    name: str
    ok: bool | None
    note: str = ""
    reached: bool | None = None
    """Whether something in the sandbox answered at all; None when Cube's proxy did not let that be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What the agent in the sandbox says of itself and its database."""

    version: str = ""
    file_system: str = ""
    journal_mode: str = ""
    """Of ``state.db``: wal, delete, … or empty when there is no database yet."""
    databases_ok: bool | None = None
    """Result of ``PRAGMA quick_check`` over the databases of the home; None = none looked at."""
    database_notes: tuple[str, ...] = ()
    lacks_wal_guard: bool = False
    """The agent switches WAL on without looking at the file system (true up to 0.19.0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioned:
    """A working Studio."""

    request_id: str
    sandbox_id: str
    home: str
    workspace: str
    template: str
    node: str
    owner: str
    url: str
    """Without any secret part."""
    generation: Generation
    seeding: Seeding
    overlay: OverlayPlan
    ports: tuple[PortHealth, ...]
    agent: AgentFacts
    durations: Mapping[Step, float]
    sign_in: SignIn = SignIn.KNOWN
    adopted: bool = False
    """The sandbox was found after its create call had lost its answer."""
    notes: tuple[str, ...] = ()
    """Plain lines a person should know, such as another sandbox on the same workspace."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event: how it ended."""

    outcome: Outcome[Provisioned]
