"""What the app's manifest promises the person who types: usage hint, description, who may write to it."""

import re
from dataclasses import dataclass
from pathlib import Path

import bot

_HELP = "help"
_FILE = Path(bot.__file__).resolve().parents[1] / "manifest.yaml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The lines of the manifest that a Slack client shows or obeys."""

    usage_hint: str = _HELP
    description: str = ""
    app_takes_messages: bool = True

    @property
    def usages(self) -> list[str]:
        """The alternatives of the usage hint."""
        return [usage.strip() for usage in self.usage_hint.split("|") if usage.strip()]


def read_manifest(path: Path = _FILE) -> Manifest:
    """Read the manifest of this checkout; an installed package has none, and then hints at help alone.

    The few values wanted stand on one line each, which spares the stand-ins a YAML library.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return Manifest()
    _, _, commands = text.partition("slash_commands:")
    read_only = _value(text, "messages_tab_read_only_enabled") == "true"
    return Manifest(
        usage_hint=_value(commands, "usage_hint") or _HELP,
        description=_value(commands, "description"),
        app_takes_messages=not read_only,
    )


def _value(text: str, key: str) -> str:
    found = re.search(rf"^[ -]*{key}:[ ]*(.+?)[ ]*$", text, re.MULTILINE)
    return found[1].strip("\"'") if found else ""
