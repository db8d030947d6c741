"""Settings: the environment first, then one TOML file; read once, frozen, failing fast by name."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bot.domain.actors import Role
from bot.domain.durations import MAX_SECONDS, read_duration
from bot.domain.environment import env_name_problem
from bot.domain.rules import MIN_IDLE, Lifecycle, Limits, NodeRules, Rules, StudioRules

_PORTS = 65_536
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class SettingsError(Exception):
    """A setting is missing or wrong; the message names it and shows the right form.

    ``name`` is the variable, or empty for the TOML file; ``cure`` says in one sentence what to do.
    """

    def __init__(self, message: str, *, name: str = "", cure: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.cure = cure


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


def _absolute(path: str) -> str:
    if not path.startswith("/") or ".." in path.split("/"):
        raise ValueError('must be an absolute path, for example "/data/shared"')
    return path.rstrip("/")


class NodeSettings(_Section):
    """``[[nodes]]``: a Cubelet node and how to reach it over SSH."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,62}$")]
    host: str
    port: Annotated[int, Field(ge=1, le=65535)] = 22
    user: str = "root"
    key: Path
    known_hosts: Path
    shared_root: Annotated[str, AfterValidator(_absolute)] = "/data/shared"
    cube_node: str = ""


class RoleSettings(_Section):
    """``[roles]``: Slack user ids, usergroup ids or ``*``; whoever is not named has no role."""

    viewer: tuple[str, ...] = ()
    operator: tuple[str, ...] = ()
    approver: tuple[str, ...] = ()
    admin: tuple[str, ...] = ()

    def grants(self) -> dict[Role, tuple[str, ...]]:
        """Role → who holds it."""
        return {
            Role.VIEWER: self.viewer,
            Role.OPERATOR: self.operator,
            Role.APPROVER: self.approver,
            Role.ADMIN: self.admin,
        }


class ChannelSettings(_Section):
    """``[channels]``: where alerts and audit heads go, and where commands are accepted."""

    alerts: str = ""
    audit: str = ""
    allowed: tuple[str, ...] = ("*",)


def _patient(idle: int) -> int:
    if idle != -1 and idle < MIN_IDLE:
        raise ValueError(f"must be -1 (never) or at least {MIN_IDLE} seconds, for example 900")
    return idle


def _lead(given: object) -> object:
    seconds = read_duration(given) if isinstance(given, str) else given
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= MAX_SECONDS:
        raise ValueError('must be 0 (off) or a length of time, for example "10m" or 600')
    return seconds


class LifecycleSettings(_Section):
    """``[lifecycle]``: idle seconds (-1 = never). Only ``pause`` keeps a paused sandbox alive."""

    idle: Annotated[int, AfterValidator(_patient)] = 900
    on_timeout: Literal["pause"] = "pause"
    auto_resume: bool = True
    warn_before: Annotated[int, BeforeValidator(_lead)] = 0


class ApprovalSettings(_Section):
    """``[approval]``: for rebuilds."""

    self_approval: bool = False
    required: Annotated[int, Field(ge=1, le=2)] = 1
    expiry: Annotated[int, Field(ge=60)] = 3600


class LimitSettings(_Section):
    """``[limits]``: quotas (0 = none) and the disk floor of a node."""

    per_user: int = 3
    total: int = 50
    min_free_gib: Annotated[float, Field(ge=0)] = 5.0


class StudioSettings(_Section):
    """``[studio]``: where Studio listens and how a browser reaches it."""

    port: Annotated[int, Field(ge=1, le=65535)] = 9000
    auth: Literal["auto", "token", "users"] = "auto"
    public_url: str = "https://{port}-{sandbox}.{domain}"


class EnvSettings(_Section):
    """``[env.defaults]`` and ``[env.profiles.NAME]``: what Studio is started with."""

    defaults: Mapping[str, str] = Field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)


class NetworkSettings(_Section):
    """``[network]``: endpoints that every sandbox must reach."""

    endpoints: tuple[str, ...] = ()


class WatchSettings(_Section):
    """``[watch]``: the health watcher."""

    interval: Annotated[int, Field(ge=5)] = 30


class TomlSettings(_Section):
    """The whole TOML file."""

    nodes: Annotated[tuple[NodeSettings, ...], Field(min_length=1)]
    roles: RoleSettings = RoleSettings()
    channels: ChannelSettings = ChannelSettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    approval: ApprovalSettings = ApprovalSettings()
    limits: LimitSettings = LimitSettings()
    studio: StudioSettings = StudioSettings()
    env: EnvSettings = EnvSettings()
    network: NetworkSettings = NetworkSettings()
    watch: WatchSettings = WatchSettings()


class SlackSettings(_Section):
    """Tokens from the environment. Never printed."""

    bot_token: str = Field(repr=False)
    app_token: str = Field(default="", repr=False)
    signing_secret: str = Field(default="", repr=False)
    api_url: str = "https://slack.com/api/"


class CubeSettings(_Section):
    """The SDK's own variables."""

    api_url: str = "http://127.0.0.1:3000"
    api_key: str = Field(default="", repr=False)
    template: str = "hermes-studio"
    proxy_ip: str = ""
    proxy_port: int = 80
    domain: str = "cube.app"


class Settings(_Section):
    """Everything, frozen."""

    config_path: Path
    slack: SlackSettings
    cube: CubeSettings
    toml: TomlSettings
    database_url: str = Field(repr=False)
    http: str = "127.0.0.1:8080"
    log: Literal["json", "console"] = "console"
    clock_offset_file: Path | None = None

    def secrets(self) -> tuple[str, ...]:
        """Every secret that this process has been given."""
        password = urlsplit(self.database_url).password or ""
        given = [
            self.slack.bot_token,
            self.slack.app_token,
            self.slack.signing_secret,
            self.cube.api_key,
            password,
        ]
        return tuple(secret for secret in given if secret)

    def rules(self) -> Rules:
        """The values that use cases decide with."""
        toml = self.toml
        return Rules(
            nodes=tuple(
                NodeRules(id=node.id, shared_root=node.shared_root, cube_node=node.cube_node)
                for node in toml.nodes
            ),
            template=self.cube.template,
            limits=Limits(**toml.limits.model_dump()),
            lifecycle=Lifecycle(**toml.lifecycle.model_dump()),
            studio=StudioRules(**toml.studio.model_dump(), domain=self.cube.domain),
            env_defaults=toml.env.defaults,
            env_profiles=toml.env.profiles,
            endpoints=toml.network.endpoints,
        )


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the TOML file is."""
    return Path(environ.get("HERMES_BOT_CONFIG") or "hermes-bot.toml")


def database_url(environ: Mapping[str, str] = os.environ) -> str:
    """Where the audit log is: ``var/audit.db`` beside the TOML file unless the environment says otherwise."""
    beside = config_path(environ).absolute().parent / "var" / "audit.db"
    return environ.get("HERMES_BOT_DATABASE_URL") or f"sqlite:///{beside}"


def load(environ: Mapping[str, str] = os.environ, *, without_toml: bool = False) -> Settings:
    """Read everything; ``without_toml`` is for whoever has met an error in that file and goes on looking.

    Raises:
        SettingsError: naming the variable or the TOML key.
    """
    path = config_path(environ)
    toml = TomlSettings.model_construct(nodes=()) if without_toml else _toml(path, environ)
    bot_token = environ.get("SLACK_BOT_TOKEN", "")
    if not bot_token:
        raise SettingsError(
            "SLACK_BOT_TOKEN is not set; it is the xoxb- token of the app's OAuth page.",
            name="SLACK_BOT_TOKEN",
            cure="Set SLACK_BOT_TOKEN to the Bot User OAuth Token of the app's page OAuth & Permissions.",
        )
    offset = environ.get("HERMES_BOT_CLOCK_OFFSET_FILE")
    try:
        return Settings(
            config_path=path,
            slack=SlackSettings(
                bot_token=bot_token,
                app_token=environ.get("SLACK_APP_TOKEN", ""),
                signing_secret=environ.get("SLACK_SIGNING_SECRET", ""),
                api_url=environ.get("SLACK_API_URL") or "https://slack.com/api/",
            ),
            cube=CubeSettings(
                api_url=environ.get("CUBE_API_URL") or "http://127.0.0.1:3000",
                api_key=environ.get("CUBE_API_KEY", ""),
                template=environ.get("CUBE_TEMPLATE_ID") or "hermes-studio",
                proxy_ip=environ.get("CUBE_PROXY_NODE_IP", ""),
                proxy_port=_port(environ),
                domain=environ.get("CUBE_SANDBOX_DOMAIN") or "cube.app",
            ),
            toml=toml,
            database_url=database_url(environ),
            http=environ.get("HERMES_BOT_HTTP", "127.0.0.1:8080"),
            log=_log(environ),
            clock_offset_file=Path(offset) if offset else None,
        )
    except ValidationError as error:
        raise SettingsError(_first_problem("the environment", error)) from error


def _port(environ: Mapping[str, str]) -> int:
    text = environ.get("CUBE_PROXY_PORT_HTTP") or "80"
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < _PORTS):
        raise SettingsError(
            f"CUBE_PROXY_PORT_HTTP must be a port number, for example 80; it is {text!r}.",
            name="CUBE_PROXY_PORT_HTTP",
            cure="Set CUBE_PROXY_PORT_HTTP to the port of CubeProxy, which is 80 unless somebody changed it.",
        )
    return int(text)


def _log(environ: Mapping[str, str]) -> Literal["json", "console"]:
    text = environ.get("HERMES_BOT_LOG") or "console"
    if text == "json":
        return "json"
    if text == "console":
        return "console"
    raise SettingsError(
        f"HERMES_BOT_LOG must be json or console; it is {text!r}.",
        name="HERMES_BOT_LOG",
        cure="Set HERMES_BOT_LOG to json or console.",
    )


def _toml(path: Path, environ: Mapping[str, str]) -> TomlSettings:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path} does not exist; set HERMES_BOT_CONFIG, or copy the example from README.md.",
            cure="Set HERMES_BOT_CONFIG to the TOML file of this installation; README.md has an example.",
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from error
    try:
        parsed = TomlSettings.model_validate(raw)
    except ValidationError as error:
        raise SettingsError(_first_problem(str(path), error)) from error
    ids = [node.id for node in parsed.nodes]
    if len(set(ids)) != len(ids):
        raise SettingsError(f"{path}: two [[nodes]] have the same id; give each its own.")
    env = EnvSettings(
        defaults=_environment("env.defaults", parsed.env.defaults, environ),
        profiles={
            name: _environment(f"env.profiles.{name}", values, environ)
            for name, values in parsed.env.profiles.items()
        },
    )
    base = path.absolute().parent
    nodes = tuple(
        node.model_copy(update={"key": base / node.key, "known_hosts": base / node.known_hosts})
        for node in parsed.nodes
    )
    return parsed.model_copy(update={"env": env, "nodes": nodes})


def _environment(where: str, values: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    filled: dict[str, str] = {}
    for name, value in values.items():
        problem = env_name_problem(name)
        if problem:
            raise SettingsError(f"[{where}] {name}: {problem}")
        for reference in _REFERENCE.findall(value):
            if reference not in environ:
                raise SettingsError(
                    f"[{where}] {name} wants ${{{reference}}}, which is not set in the environment."
                )
        filled[name] = _REFERENCE.sub(lambda found: environ[found[1]], value)
    return filled


def _first_problem(where: str, error: ValidationError) -> str:
    first: Any = error.errors(include_input=False, include_url=False)[0]
    return f"{where}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}."
