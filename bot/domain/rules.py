"""The installation's rules, as plain values that use cases decide with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MIN_IDLE = 60
"""Idle seconds. Cube sees activity at the end of a request, and some steps of a create take a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRules:
    """One configured node."""

    id: str
    shared_root: str = "/data/shared"
    cube_node: str = ""
    """Cube's node id or host IP for ``distribution_scope``; empty = Cube places where it likes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Quotas. Zero or less = no limit."""

    per_user: int = 3
    total: int = 50
    min_free_gib: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """Cube's idle policy for sandboxes that we make."""

    idle: int = 900
    """Seconds; -1 = never."""
    on_timeout: str = "pause"
    auto_resume: bool = True
    warn_before: int = 0
    """Seconds before a pause at which its owner is told; 0 = never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudioRules:
    """Where Studio listens, how it authenticates and how a browser reaches it."""

    port: int = 9000
    auth: str = "auto"
    """auto, token or users."""
    public_url: str = "https://{port}-{sandbox}.{domain}"
    domain: str = "cube.app"

    def url(self, sandbox_id: str) -> str:
        """The address that a browser opens, without any secret."""
        return self.public_url.format(port=self.port, sandbox=sandbox_id, domain=self.domain).rstrip("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds that a step may take before it counts as failed."""

    control: float = 35.0
    """One CubeAPI call; its own route limit is 30 s, and that answer should arrive first."""
    create: float = 60.0
    adopt: float = 45.0
    """How long to look for the sandbox of a create whose answer was lost."""
    data_plane: float = 120.0
    """How long a new sandbox may take until it answers."""
    node: float = 60.0
    guest: float = 60.0
    studio: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All of them."""

    nodes: tuple[NodeRules, ...]
    template: str = "hermes-studio"
    limits: Limits = field(default_factory=Limits)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    studio: StudioRules = field(default_factory=StudioRules)
    deadlines: Deadlines = field(default_factory=Deadlines)
    env_defaults: Mapping[str, str] = field(default_factory=dict)
    env_profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    endpoints: tuple[str, ...] = ()
    """What every sandbox must reach."""

    def node(self, node_id: str) -> NodeRules | None:
        """The configured node of that id."""
        return next((n for n in self.nodes if n.id == node_id), None)
