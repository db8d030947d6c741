"""What Studio writes into a home when it starts: its MCP servers and five Skills of its own."""

import json
import shutil
import sys
from pathlib import Path

from . import yaml_subset
from .home import read_config
from .places import switched_on

_SKILLS = {
    "apikey-image-gen": "Make an image through the image service whose key is configured.",
    "grok-image-to-video": "Turn a still image into a short video.",
    "hyperframes": "Compose an animation from HTML frames.",
    "markdown-viewer": "Show a Markdown file the way a reader sees it.",
    "remotion": "Render a video from React components.",
}
_MCP_SERVERS = ("hermes-studio-files", "hermes-studio-preview", "hermes-studio-workflow")
_MARKER = ".webui-managed-skills.json"


def inject(home: Path, web_home: Path, port: int) -> list[str]:
    """Do both unless switched off; gives the lines for the server log. A failure never stops the start."""
    notes: list[str] = []
    if not switched_on("HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT"):
        try:
            notes.append(_inject_mcp(home, web_home, port))
        except OSError as error:
            notes.append(f"mcp: not written: {error}")
    if not switched_on("HERMES_WEB_UI_DISABLE_SKILL_INJECTION"):
        for target in (home, *sorted(path for path in (home / "profiles").glob("*") if path.is_dir())):
            try:
                notes.append(_inject_skills(target / "skills"))
            except OSError as error:
                notes.append(f"skills: injection into {target} failed: {error}")
    return notes


def _inject_mcp(home: Path, web_home: Path, port: int) -> str:
    if web_home.resolve().is_relative_to("/tmp"):
        return "mcp: skipped, the web home is temporary"
    config = read_config(home)
    if config is None:
        return "mcp: skipped, config.yaml cannot be read"
    path = home / "config.yaml"
    if path.exists():
        shutil.copyfile(path, home / "config.yaml.bak")
    servers = config.get("mcp_servers")
    ours = {
        name: {
            "command": sys.executable,
            "args": [f"/usr/local/lib/hermes-studio/mcp/{name}.mjs"],
            "env": {"HERMES_WEB_UI_PORT": str(port), "HERMES_WEB_UI_HOME": str(web_home)},
        }
        for name in _MCP_SERVERS
    }
    config["mcp_servers"] = {**(servers if isinstance(servers, dict) else {}), **ours}
    # The link, not what it points to, is replaced: that is how the real one loses a linked config.yaml.
    scratch = home / ".config.yaml.webui"
    scratch.write_text(yaml_subset.dump(config), encoding="utf-8")
    scratch.chmod(0o644)
    scratch.rename(path)
    return f"mcp: {len(_MCP_SERVERS)} servers written to {path}"


def _inject_skills(skills: Path) -> str:
    skills.mkdir(parents=True, exist_ok=True)
    marker = skills / _MARKER
    try:
        managed = set(json.loads(marker.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        managed = set()
    for name, description in _SKILLS.items():
        directory = skills / name
        if directory.exists() and name not in managed:
            continue
        directory.mkdir(exist_ok=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\n{description}\n"
        (directory / "SKILL.md").write_text(text, encoding="utf-8")
        managed.add(name)
    marker.write_text(json.dumps(sorted(managed)) + "\n", encoding="utf-8")
    return f"skills: {len(managed)} kept up to date in {skills}"
