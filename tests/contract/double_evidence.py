"""What an examination of something healthy sees, for the doubles and for tests that then change one part."""

from dataclasses import replace
from typing import Any

from bot.domain.evidence import (
    ConfigFile,
    Disk,
    GuestEvidence,
    Mounted,
    NodeEvidence,
    Place,
    Reached,
)
from bot.domain.heartbeat import Inside
from bot.domain.sandbox import GUEST_HOME, GUEST_PUBLIC_SKILLS, GUEST_WORKSPACE, Places

GIB = 1024**3
DISK = Disk(
    kind="ext4", read_only=False, free=100 * GIB, total=200 * GIB, free_inodes=10**6, total_inodes=2 * 10**6
)


def directory(path: str, mode: int = 0o700) -> Place:
    return Place(path=path, kind="dir", uid=0, gid=0, mode=mode, size=4096)


def well_node(places: Places, *, now: float = 0.0, **changes: Any) -> NodeEvidence:
    """A home that was seeded, with a Studio that has run in it."""
    seen = NodeEvidence(
        now=now,
        home=directory(places.home),
        workspace=directory(places.workspace, 0o755),
        public_skills=directory(places.public_skills, 0o755),
        bot_directory=directory(f"{places.home}/.hermes-bot"),
        home_disk=DISK,
        workspace_disk=DISK,
        launch_file="ok",
        access_file="ok",
        config=ConfigFile(state="ok"),
        database=Place(path=f"{places.home}/state.db", kind="file", uid=0, gid=0, mode=0o644, size=4096),
        journal_mode="wal",
        public_names=0,
    )
    return replace(seen, **changes)


def well_guest(
    *,
    now: float = 0.0,
    port: int = 9000,
    endpoints: tuple[str, ...] = (),
    **changes: Any,
) -> GuestEvidence:
    """A sandbox with its three mounts and a Studio that is ready."""
    seen = GuestEvidence(
        now=now,
        asked=(now, now),
        uid=0,
        home=Mounted(path=GUEST_HOME, mode="rw", write="ok", uid=0, permissions=0o700),
        workspace=Mounted(path=GUEST_WORKSPACE, mode="rw", write="ok", uid=0, permissions=0o755),
        public=Mounted(path=GUEST_PUBLIC_SKILLS, mode="ro", write="EROFS", uid=0, permissions=0o755),
        file_system="ext2/ext3",
        journal_mode="wal",
        databases_ok=True,
        agent_version="0.19.0",
        lacks_wal_guard=True,
        disk_free=10 * GIB,
        memory_free=4 * GIB,
        memory_total=8 * GIB,
        listeners={port: ("python3",), 49983: ("envd",)},
        studio_processes=("python3 server",),
        studio=Inside.READY,
        log_tail=("server.log: ready",),
        config="file",
        skills_public={},
        skills_home={},
        endpoints=tuple(Reached(endpoint=one, result="open", seconds=0.01) for one in endpoints),
    )
    return replace(seen, **changes)
