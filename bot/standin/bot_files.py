"""The two files that a bot needs to run against the stand-ins: its environment and its TOML."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TOML_HEAD = """\
# Written by the stand-ins at every start. A real installation has the same sections.
"""
_TOML_REST = """\
[roles]
viewer = ["U_OPERATOR", "U_OPERATOR2", "S_APPROVERS", "U_ADMIN"]
operator = ["U_OPERATOR", "U_OPERATOR2"]
approver = ["S_APPROVERS"]
admin = ["U_ADMIN"]

[channels]
alerts = "C_ALERTS"
audit = "C_AUDIT"
allowed = ["*"]

[lifecycle]
idle = 900
on_timeout = "pause"
auto_resume = true
# warn_before = "10m" tells owners in a direct message before a sandbox goes to sleep.

[limits]
per_user = 3
total = 20
min_free_gib = 0.05

[env.defaults]
LANG = "C.UTF-8"

[env.profiles.gpu]
CUDA_VISIBLE_DEVICES = "0"

[network]
endpoints = []

[watch]
interval = 30
"""


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """How the bot reaches one node."""

    id: str
    host: str
    port: int
    user: str
    key: Path
    known_hosts: Path


def write_env_file(path: Path, values: Mapping[str, str]) -> None:
    """Write KEY=value lines that a shell can source; only the owner may read them."""
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in values.items()]
    _write_private(path, "".join(lines))


def write_config_file(path: Path, *, nodes: Sequence[NodeAccess], proxy_port: int) -> None:
    """Write the TOML file for these nodes and a Studio that is reached through the proxy's port."""
    public_url = f"http://{{port}}-{{sandbox}}.localhost:{proxy_port}"
    studio = f'[studio]\nport = 9000\nauth = "auto"\npublic_url = {json.dumps(public_url)}\n'
    _write_private(path, "\n".join([_TOML_HEAD, *map(_node_table, nodes), studio, _TOML_REST]))


def _node_table(node: NodeAccess) -> str:
    values: dict[str, str | int] = {
        "id": node.id,
        "host": node.host,
        "port": node.port,
        "user": node.user,
        "key": str(node.key),
        "known_hosts": str(node.known_hosts),
        "shared_root": "/data/shared",
        "cube_node": node.id,
    }
    # A JSON string of printable text is a TOML string too.
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(["[[nodes]]", *lines, ""])


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    scratch.touch(mode=0o600)
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
