"""Stopping a sandbox in its tracks: cgroup v2, else cgroup v1, else signals."""

import asyncio
import contextlib
import fcntl
import hashlib
import os
import signal
import time
from pathlib import Path
from typing import Protocol

_SETTLE_SECONDS = 5.0
_SWEEP_SECONDS = 1.0
_NAME = "hermes-standin-"


class Freezer(Protocol):
    """Freezes all processes of a sandbox, named by its id and its first process's number."""

    def prepare(self, sandbox_id: str) -> list[str]:
        """Files into which the first process writes ``0`` to be counted in."""

    async def freeze(self, sandbox_id: str, pid: int) -> None:
        """Stop everything; returns when it has stopped."""

    async def thaw(self, sandbox_id: str, pid: int) -> None:
        """Let everything go on."""

    async def forget(self, sandbox_id: str) -> None:
        """Remove what ``prepare`` made, once the processes are gone."""


class CgroupFreezer:
    """A control group per sandbox below a base of our own, which is locked for as long as we live.

    ``unified`` says whether ``base`` is in a version 2 hierarchy.
    """

    def __init__(self, base: Path, *, unified: bool) -> None:
        self._base = base
        self._unified = unified
        self._held = -1
        self._switch, self._on, self._off = (
            ("cgroup.freeze", "1", "0") if unified else ("freezer.state", "FROZEN", "THAWED")
        )

    def open(self) -> bool:
        """Take the base and end what a killed predecessor left in it. False where that is refused."""
        try:
            self._held = _owned(self._base)
            probe = self._base / "probe"
            probe.mkdir(exist_ok=True)
            usable = (probe / self._switch).exists() and os.access(probe / self._switch, os.W_OK)
            probe.rmdir()
            _sweep_up(self._base)
            for left in _groups(self._base):
                self._end(left)
        except OSError:
            return False
        return usable

    def _end(self, group: Path) -> None:
        for line in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line), signal.SIGKILL)
        (group / self._switch).write_text(self._off)
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (group / "cgroup.procs").read_text().strip() and time.monotonic() < deadline:
            time.sleep(0.005)
        group.rmdir()

    def close(self) -> None:
        """Remove the base when nothing is left in it, and let go of it."""
        held, self._held = self._held, -1
        if held >= 0:
            with contextlib.suppress(OSError):
                self._base.rmdir()
            os.close(held)

    def prepare(self, sandbox_id: str) -> list[str]:
        """Make the group."""
        group = self._base / sandbox_id
        group.mkdir(parents=True, exist_ok=True)
        return [str(group / "cgroup.procs")]

    async def freeze(self, sandbox_id: str, pid: int) -> None:
        """Freeze and wait for it."""
        del pid
        group = self._base / sandbox_id
        (group / self._switch).write_text(self._on)
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not self._is_frozen(group):
            if time.monotonic() > deadline:
                (group / self._switch).write_text(self._off)
                raise TimeoutError("the sandbox did not come to rest")
            await asyncio.sleep(0.002)

    def _is_frozen(self, group: Path) -> bool:
        if self._unified:
            return "frozen 1" in (group / "cgroup.events").read_text()
        return (group / self._switch).read_text().strip() == "FROZEN"

    async def thaw(self, sandbox_id: str, pid: int) -> None:
        """Thaw; takes effect at once."""
        del pid
        with contextlib.suppress(FileNotFoundError):
            (self._base / sandbox_id / self._switch).write_text(self._off)

    async def forget(self, sandbox_id: str) -> None:
        """Remove the group; the last process may need a moment to leave it."""
        deadline = time.monotonic() + _SETTLE_SECONDS
        while True:
            try:
                (self._base / sandbox_id).rmdir()
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.002)
            else:
                return


class SignalFreezer:
    """SIGSTOP to every process of the sandbox's process namespace."""

    def prepare(self, sandbox_id: str) -> list[str]:
        """Nothing to join."""
        del sandbox_id
        return []

    async def freeze(self, sandbox_id: str, pid: int) -> None:
        """Stop all, looking again until no new process has appeared."""
        del sandbox_id
        await asyncio.to_thread(_signal_all, pid, signal.SIGSTOP)

    async def thaw(self, sandbox_id: str, pid: int) -> None:
        """Continue all."""
        del sandbox_id
        await asyncio.to_thread(_signal_all, pid, signal.SIGCONT)

    async def forget(self, sandbox_id: str) -> None:
        """Nothing to remove."""
        del sandbox_id

    def close(self) -> None:
        """Nothing to remove."""


def _signal_all(first: int, number: signal.Signals) -> None:
    try:
        namespace = str(Path(f"/proc/{first}/ns/pid").readlink())
    except FileNotFoundError:
        return
    told: set[int] = set()
    while True:
        fresh = {pid for pid in _members(namespace) if pid not in told}
        if not fresh:
            return
        for pid in fresh:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        told |= fresh


def _members(namespace: str) -> list[int]:
    members = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if str((process / "ns/pid").readlink()) == namespace:
                    members.append(int(process.name))
    return members


def _owned(base: Path) -> int:
    """Make a base and lock it; gives the descriptor that holds the lock.

    Another one's sweeping may hold it for a moment, and may have removed it between our making and our
    locking; then it is made anew.

    Raises:
        BlockingIOError: a living stand-in owns it.
        OSError: it cannot be made.
    """
    deadline = time.monotonic() + _SWEEP_SECONDS
    while True:
        base.mkdir(exist_ok=True)
        try:
            descriptor = _locked(base)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
            continue
        if descriptor is None:
            continue
        if _is(base, descriptor):
            return descriptor
        os.close(descriptor)


def _locked(base: Path) -> int | None:
    """Lock a base; None when it is gone. Raises BlockingIOError when it is somebody else's."""
    try:
        descriptor = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _is(base: Path, descriptor: int) -> bool:
    """Whether the descriptor is still the directory of that name."""
    try:
        return os.path.samestat(base.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _groups(base: Path) -> list[Path]:
    return [entry for entry in base.iterdir() if entry.is_dir()]


def _sweep_up(mine: Path) -> None:
    """Remove what killed stand-ins of other states have left: bases that nobody owns, without processes."""
    for base in mine.parent.glob(f"{_NAME}*"):
        if base == mine:
            continue
        with contextlib.suppress(OSError):  # it is somebody's, or a process in it has not ended yet
            descriptor = _locked(base)
            if descriptor is None:
                continue
            try:
                for group in _groups(base):
                    group.rmdir()
                base.rmdir()
            finally:
                os.close(descriptor)


def choose(state: Path) -> CgroupFreezer | SignalFreezer:
    """The best freezer that this machine allows. ``state`` tells installations apart."""
    name = _NAME + hashlib.sha256(str(state).encode()).hexdigest()[:12]
    for unified, base in _hierarchies():
        group = CgroupFreezer(base / name, unified=unified)
        if group.open():
            return group
        group.close()
    return SignalFreezer()


def _hierarchies() -> list[tuple[bool, Path]]:
    """Where cgroup v2 and the v1 freezer are mounted, and where in them this process is."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path.lstrip("/")
    found: list[tuple[bool, Path]] = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, options = line.split()[:4]
        if kind == "cgroup2" and "" in own:
            found.insert(0, (True, Path(point) / own[""]))
        elif kind == "cgroup" and "freezer" in options.split(",") and "freezer" in own:
            found.append((False, Path(point) / own["freezer"]))
    return found
