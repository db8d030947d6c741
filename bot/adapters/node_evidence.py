"""The answer of the node's examination, believed in its own shape only."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from bot.adapters.config_yaml import judge_config
from bot.domain.evidence import ConfigFile, Disk, NodeEvidence, Place

MAX_TEXT = 300
_MOST = 2**63


def node_evidence(answer: Mapping[str, Any]) -> NodeEvidence:
    """What the program ``examine`` on the node has told."""
    return NodeEvidence(
        now=_number(answer, "now"),
        home=_place(answer, "home"),
        workspace=_place(answer, "workspace"),
        public_skills=_place(answer, "public_skills"),
        bot_directory=_place(answer, "bot_directory"),
        home_disk=_disk(answer, "home_disk"),
        workspace_disk=_disk(answer, "workspace_disk"),
        launch_file=_text(answer, "launch_file"),
        access_file=_text(answer, "access_file"),
        config=_config(answer.get("config")),
        database=_place(answer, "database") if isinstance(answer.get("database"), dict) else None,
        journal_mode=_text(answer, "journal_mode"),
        public_names=_whole(answer, "public_names"),
    )


def _config(told: Any) -> ConfigFile:
    if not isinstance(told, Mapping):
        return ConfigFile(state="absent")
    if told.get("state") != "read":
        return ConfigFile(state=_text(told, "state"), problem=_text(told, "problem"))
    try:
        data = base64.b64decode(str(told.get("data")), validate=True)
    except (binascii.Error, ValueError):
        return ConfigFile(state="unreadable", problem="it did not arrive whole")
    return judge_config(data)


def _place(answer: Mapping[str, Any], name: str) -> Place:
    told = answer.get(name)
    if not isinstance(told, Mapping):
        return Place(path=name, kind="missing")
    return Place(
        path=_text(told, "path"),
        kind=_text(told, "kind"),
        note=_text(told, "note"),
        uid=_whole(told, "uid"),
        gid=_whole(told, "gid"),
        mode=_whole(told, "mode"),
        size=_whole(told, "size"),
    )


def _disk(answer: Mapping[str, Any], name: str) -> Disk:
    told = answer.get(name)
    if not isinstance(told, Mapping):
        return Disk()
    read_only = told.get("read_only")
    return Disk(
        kind=_text(told, "kind"),
        read_only=read_only if isinstance(read_only, bool) else None,
        free=_whole(told, "free"),
        total=_whole(told, "total"),
        free_inodes=_whole(told, "free_inodes"),
        total_inodes=_whole(told, "total_inodes"),
    )


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return " ".join(value[:MAX_TEXT].split()) if isinstance(value, str) else ""


def _whole(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else None


def _number(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
