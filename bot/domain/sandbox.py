"""What Cube says about a sandbox, in our words, and the metadata that ties it to a home."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

HOME_KEY = "hermes-home"
WORKSPACE_KEY = "hermes-workspace"
OWNER_KEY = "hermes-owner"
NODE_KEY = "hermes-node"
REQUEST_KEY = "hermes-request"
LABELS = (HOME_KEY, WORKSPACE_KEY, OWNER_KEY, NODE_KEY, REQUEST_KEY)
"""What every sandbox of ours is labelled with."""

MOUNTS_KEY = "hermes-mounts"
HOST_MOUNT_KEY = "host-mount"
"""The key that Cube reads mounts from and strips: it is never echoed."""

GUEST_HOME = "/root/.hermes"
GUEST_WORKSPACE = "/workspace"
GUEST_PUBLIC_SKILLS = "/opt/hermes-common-skills"
BOT_DIRECTORY = ".hermes-bot"
"""The bot's own directory in a home, mode 0700."""

ENVD_PORT = 49983


class SandboxState(StrEnum):
    """Cube's states. Anything that Cube may add later reads as ``UNKNOWN``, never as running."""

    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, text: str) -> "SandboxState":
        """Cube's word as a state."""
        return cls(text) if text in cls._value2member_map_ else cls.UNKNOWN


@dataclass(frozen=True, slots=True)
class Mount:
    """One host-mount: a directory of the node at a path of the sandbox."""

    host_path: str
    guest_path: str
    read_only: bool = False

    def as_json(self) -> dict[str, str | bool]:
        """The shape Cube reads from ``host-mount``."""
        return {"hostPath": self.host_path, "mountPath": self.guest_path, "readOnly": self.read_only}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The directories of a home, a workspace and the public Skills on one node."""

    shared_root: str
    home_id: str
    workspace_id: str

    @property
    def home(self) -> str:
        """Node path of the home."""
        return f"{self.shared_root}/hermes-homes/{self.home_id}"

    @property
    def workspace(self) -> str:
        """Node path of the workspace."""
        return f"{self.shared_root}/hermes-workspaces/{self.workspace_id}"

    @property
    def public_skills(self) -> str:
        """Node path of the team's public Skills."""
        return f"{self.shared_root}/hermes-common-skills"

    def mounts(self) -> tuple[Mount, Mount, Mount]:
        """The three mounts that every sandbox of ours has."""
        return (
            Mount(self.home, GUEST_HOME),
            Mount(self.workspace, GUEST_WORKSPACE),
            Mount(self.public_skills, GUEST_PUBLIC_SKILLS, read_only=True),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSpec:
    """Everything Cube is told when a sandbox is made. No environment value is part of it."""

    template: str
    timeout: int
    """Idle seconds; -1 = never."""
    mounts: tuple[Mount, ...]
    labels: Mapping[str, str]
    """Our metadata keys, without ``host-mount`` and ``hermes-mounts``."""
    scope: tuple[str, ...] = ()
    """Cube node ids or host IPs for ``distribution_scope``; empty = wherever Cube likes."""
    on_timeout: str = "pause"
    auto_resume: bool = True

    def metadata(self) -> dict[str, str]:
        """The metadata of the create request, ``host-mount`` included."""
        mounts = json.dumps([m.as_json() for m in self.mounts], separators=(",", ":"))
        return {**self.labels, MOUNTS_KEY: mounts, HOST_MOUNT_KEY: mounts}


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxView:
    """One sandbox as Cube showed it at one moment."""

    sandbox_id: str
    state: SandboxState
    template: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    started_at: str = ""
    end_at: str | None = None
    host_id: str = ""
    mounts: tuple[tuple[str, bool], ...] = ()
    """(guest path, read-only) of each mount, where the platform tells; it never tells host paths."""
    labels_from_log: bool = False
    """Cube has lost metadata of it, and the audit log has supplied what it knew."""
    listed: bool = True
    """False: Cube's list left it out, and only a question by its id brought it to light."""

    @property
    def labelled(self) -> bool:
        """Whether none of our labels is missing. Some platforms lose them at a pause."""
        return all(self.metadata.get(key) for key in LABELS)

    @property
    def home(self) -> str:
        """The home-id, or an empty text for a sandbox that is not ours."""
        return self.metadata.get(HOME_KEY, "")

    @property
    def workspace(self) -> str:
        """The workspace-id."""
        return self.metadata.get(WORKSPACE_KEY, "")

    @property
    def owner(self) -> str:
        """The Slack user who asked for it, or ``cli:<login>``."""
        return self.metadata.get(OWNER_KEY, "")

    @property
    def node(self) -> str:
        """Our id of the node it was placed on."""
        return self.metadata.get(NODE_KEY, "")

    @property
    def request(self) -> str:
        """The request that made it."""
        return self.metadata.get(REQUEST_KEY, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateView:
    """A Cube template. ``status`` READY means that sandboxes can be made from it."""

    template_id: str
    name: str = ""
    status: str = ""
    exposed_ports: frozenset[int] | None = None
    """Reachable from every node; None where the platform does not tell."""
    replicas: tuple[tuple[str, str], ...] | None = None
    """(Cube's node id, status) of its copies; None where the platform does not tell."""

    @property
    def ready(self) -> bool:
        """Whether creating from it can work."""
        return self.status == "READY"

    def answers_to(self, text: str) -> bool:
        """Whether a person who typed ``text`` means this template."""
        return text in (self.template_id, self.name)
