"""Who acts, what they may do, and how that is decided: deny by default, by id, at the moment of acting."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class ActorKind(StrEnum):
    """The kinds of the audit table."""

    USER = "user"
    BOT = "bot"
    SCHEDULE = "schedule"
    CLI = "cli"


@dataclass(frozen=True, slots=True)
class Actor:
    """A person or machine that acts. ``id`` is a Slack user id, or ``cli:<login>``."""

    id: str
    kind: ActorKind = ActorKind.USER
    outside_team: bool = False
    """True for Slack Connect strangers, guests and bots: they hold no role, whatever is configured."""


class Role(IntEnum):
    """Each role may do what the lower ones may."""

    NONE = 0
    VIEWER = 1
    OPERATOR = 2
    APPROVER = 3
    ADMIN = 4

    @property
    def word(self) -> str:
        """The role as a person says it."""
        return "nobody" if self is Role.NONE else self.name.lower()


class Action(StrEnum):
    """What can be asked for; also the ``action`` column of the audit log."""

    CREATE = "create"
    STATUS = "status"
    PAUSE = "pause"
    RESUME = "resume"
    KEEP = "keep"
    STOP = "stop"
    CHECK = "check"
    DIAGNOSE = "diagnose"
    AUDIT = "audit"
    REVEAL = "reveal"
    CANCEL = "cancel"
    SEED_DEFAULT = "seed-default"

    @property
    def word(self) -> str:
        """The action as a person says it, after *to*."""
        return _WORDS.get(self, self.value)


_WORDS = {
    Action.STATUS: "see how sandboxes are",
    Action.KEEP: "change its idle time",
    Action.CHECK: "check a sandbox",
    Action.AUDIT: "read the audit log",
    Action.REVEAL: "open a Studio",
    Action.SEED_DEFAULT: "make a default home",
}


NEEDS: dict[Action, Role] = {
    Action.CREATE: Role.OPERATOR,
    Action.STATUS: Role.VIEWER,
    Action.PAUSE: Role.OPERATOR,
    Action.RESUME: Role.OPERATOR,
    Action.KEEP: Role.OPERATOR,
    Action.CHECK: Role.OPERATOR,
    Action.DIAGNOSE: Role.OPERATOR,
    Action.AUDIT: Role.APPROVER,
    Action.STOP: Role.OPERATOR,
    Action.REVEAL: Role.OPERATOR,
    Action.CANCEL: Role.OPERATOR,
    Action.SEED_DEFAULT: Role.ADMIN,
}

OWNER_OR_APPROVER = frozenset(
    {
        Action.PAUSE,
        Action.RESUME,
        Action.KEEP,
        Action.CHECK,
        Action.DIAGNOSE,
        Action.STOP,
        Action.REVEAL,
        Action.CANCEL,
    }
)
"""Actions on somebody's sandbox: its owner may, and any approver."""


@dataclass(frozen=True, slots=True)
class Denied:
    """Why not, in one sentence, and who could."""

    code: str
    why: str


def decide(action: Action, actor: Actor, role: Role, *, owner: str | None = None) -> Denied | None:
    """None = allowed. ``owner`` is the owner of the sandbox or request acted on, if there is one."""
    if actor.outside_team:
        return Denied("outside-team", "Only members of this Slack team can use Hermes here.")
    needed = NEEDS[action]
    if role < needed:
        have = "You have no role in this bot" if role is Role.NONE else f"You are {_article(role)}"
        return Denied("role-needed", f"{have}; to {action.word} you need to be {_article(needed)}.")
    if action in OWNER_OR_APPROVER and owner is not None and actor.id != owner and role < Role.APPROVER:
        whose = f"<@{owner}>" if owner else "somebody unknown"
        return Denied("not-owner", f"It belongs to {whose}; only the owner or an approver can do that.")
    return None


def _article(role: Role) -> str:
    return f"{'an' if role.word[0] in 'aeiou' else 'a'} {role.word}"


def strongest(grants: Collection[Role]) -> Role:
    """The role of somebody who holds all of these."""
    return max(grants, default=Role.NONE)
