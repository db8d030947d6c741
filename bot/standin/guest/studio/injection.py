"""What Studio writes into a home when it starts: its MCP servers and five Skills of its own."""

from __future__ import annotations

import json
import os
import sys

from . import yaml_subset
from .config import read_config
from .places import switched_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .place import Place

_SKILLS = {
    "apikey-image-gen": "Make an image through the image service whose key is configured.",
    "grok-image-to-video": "Turn a still image into a short video.",
    "hyperframes": "Compose an animation from HTML frames.",
    "markdown-viewer": "Show a Markdown file the way a reader sees it.",
    "remotion": "Render a video from React components.",
}
_MCP_SERVERS = ("hermes-studio-files", "hermes-studio-preview", "hermes-studio-workflow")
_MARKER = ".webui-managed-skills.json"


def inject(home: Place, web_home: Place, port: int) -> list[str]:
    """Do both unless switched off; gives the lines for the server log. A failure never stops the start."""
    notes: list[str] = []
    if not switched_on("HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT"):
        try:
            notes.append(_inject_mcp(home, web_home, port))
        except OSError as error:
            notes.append(f"mcp: not written: {error}")
    if not switched_on("HERMES_WEB_UI_DISABLE_SKILL_INJECTION"):
        for target in (home, *(path for path in (home / "profiles").children() if path.is_dir())):
            try:
                notes.append(_inject_skills(target / "skills"))
            except OSError as error:
                notes.append(f"skills: injection into {target} failed: {error}")
    return notes


def _inject_mcp(home: Place, web_home: Place, port: int) -> str:
    if f"{web_home.resolve()}/".startswith("/tmp/"):
        return "mcp: skipped, the web home is temporary"
    config = read_config(home)
    if config is None:
        return "mcp: skipped, config.yaml cannot be read"
    path = home / "config.yaml"
    if path.exists():
        (home / "config.yaml.bak").write_bytes(path.read_bytes())
    servers = config.get("mcp_servers")
    ours = {
        name: {
            "command": sys.executable,
            "args": [f"/usr/local/lib/hermes-studio/mcp/{name}.mjs"],
            "env": {"HERMES_WEB_UI_PORT": str(port), "HERMES_WEB_UI_HOME": web_home},
        }
        for name in _MCP_SERVERS
    }
    config["mcp_servers"] = {**(servers if isinstance(servers, dict) else {}), **ours}
    # The link, not what it points to, is replaced: that is how the real one loses a linked config.yaml.
    scratch = home / ".config.yaml.webui"
    scratch.write_text(yaml_subset.dump(config))
    os.chmod(scratch, 0o644)
    os.rename(scratch, path)
    return f"mcp: {len(_MCP_SERVERS)} servers written to {path}"


def _inject_skills(skills: Place) -> str:
    skills.make_dir()
    marker = skills / _MARKER
    try:
        managed = set(json.loads(marker.read_text()))
    except (OSError, ValueError, TypeError):
        managed = set()
    for name, description in _SKILLS.items():
        directory = skills / name
        if directory.exists() and name not in managed:
            continue
        directory.make_dir()
        text = f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{description}\n"
        (directory / "SKILL.md").write_text(text)
        managed.add(name)
    marker.write_text(json.dumps(sorted(managed)) + "\n")
    return f"skills: {len(managed)} kept up to date in {skills}"
