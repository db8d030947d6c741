"""The kernel calls that namespaces need and Python 3.11 has no names for.

Standard library only: the boot programs run under the distribution's own interpreter, outside the
project's virtual environment.
"""

import ctypes
import errno
import fcntl
import os
import signal
import socket
import struct
from typing import Any

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_MOVE = 8192
MS_REC = 16384
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_M_ARENA_MAX = -8
_CAPABILITY_VERSION_3 = 0x20080522
_CAP_SYS_ADMIN = 21
_LAST_CAPABILITY_GUESS = 63
_SIOCSIFADDR = 0x8916
_SIOCSIFFLAGS = 0x8914
_SIOCSIFNETMASK = 0x891C
_IFF_UP = 1

# What root in a container usually keeps. Without the others, root in a sandbox cannot remount,
# make device nodes, load modules or open files by handle, so it stays in its sandbox.
_KEPT_CAPABILITIES = frozenset(
    {
        0,  # CHOWN
        1,  # DAC_OVERRIDE
        3,  # FOWNER
        4,  # FSETID
        5,  # KILL
        6,  # SETGID
        7,  # SETUID
        8,  # SETPCAP
        10,  # NET_BIND_SERVICE
        13,  # NET_RAW
        18,  # SYS_CHROOT
        31,  # SETFCAP
    }
)

_libc = ctypes.CDLL(None, use_errno=True)
_PIVOT_ROOT_NUMBERS = {"x86_64": 155, "aarch64": 41, "ppc64le": 203, "s390x": 217, "riscv64": 41}


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    """``mount(2)``. Raises OSError with both paths in its text."""
    _check(
        _libc.mount(
            os.fsencode(source),
            os.fsencode(target),
            kind.encode() if kind else None,
            ctypes.c_ulong(flags),
            os.fsencode(options) if options else None,
        ),
        f"mount {source} -> {target}",
    )


def umount(target: str, flags: int = 0) -> None:
    """``umount2(2)``."""
    _check(_libc.umount2(os.fsencode(target), flags), f"umount {target}")


def unshare(flags: int) -> None:
    """``unshare(2)``."""
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """``setns(2)`` for the calling thread."""
    _check(_libc.setns(descriptor, kind), "setns")


def change_root(new_root: str) -> None:
    """Make ``new_root`` (a mount point) the root of this mount namespace and forget the old one."""
    number = _PIVOT_ROOT_NUMBERS.get(os.uname().machine)
    if number is None:
        raise OSError(errno.ENOSYS, f"pivot_root: unknown machine {os.uname().machine}")
    os.chdir(new_root)
    # pivot_root(".", ".") stacks the old root on the new one, so that no directory for it is needed.
    _check(_libc.syscall(ctypes.c_long(number), b".", b"."), f"pivot_root {new_root}")
    umount(".", MNT_DETACH)
    os.chdir("/")


def die_with_parent() -> None:
    """Get SIGKILL when the thread that started this process ends."""
    parent = os.getppid()
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl PR_SET_CHILD_SUBREAPER")


def keep_one_arena() -> None:
    """Have the threads of this process and its forks share one heap, where the C library has a say in it."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)


def drop_capabilities() -> None:
    """Keep only the capabilities of a root user in a container, for this process and its children."""
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for number in range(_LAST_CAPABILITY_GUESS + 1):
        dropped = number in _KEPT_CAPABILITIES or _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0
        if not dropped:  # the first number that this kernel does not know
            break
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    have = effective_capabilities()
    keep = sum(1 << number for number in _KEPT_CAPABILITIES) & have
    low, high = keep & 0xFFFFFFFF, keep >> 32
    data = struct.pack("=IIIIII", low, low, 0, high, high, 0)
    _check(_libc.capset(header, data), "capset")


def effective_capabilities() -> int:
    """The effective capability set of this process, as a bit mask."""
    # Not read from /proc, which does not know a process that has just come from another namespace.
    held = ctypes.create_string_buffer(24)
    _check(_libc.capget(struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), held), "capget")
    low, _, _, high, _, _ = struct.unpack("=IIIIII", held.raw)
    return int(high << 32 | low)


def may_administrate() -> bool:
    """Whether this process may mount and make namespaces (root, or root in a user namespace)."""
    return bool(effective_capabilities() >> _CAP_SYS_ADMIN & 1)


def in_user_namespace() -> bool:
    """Whether this process lives in a user namespace other than the machine's first."""
    with open("/proc/self/uid_map", encoding="ascii") as ids:  # noqa: PTH123  # pathlib costs boot time
        return ids.read().split() != ["0", "0", "4294967295"]


def interfaces_up(guest_address: str) -> None:
    """Bring loopback up in this network namespace and give it the guest's address too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        _interface_call(control, _SIOCSIFFLAGS, "lo", struct.pack("=H14x", _IFF_UP))
        _interface_call(control, _SIOCSIFADDR, "lo:1", _address(guest_address))
        _interface_call(control, _SIOCSIFNETMASK, "lo:1", _address("255.255.255.255"))


def _address(dotted: str) -> bytes:
    return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(dotted))


def _interface_call(control: socket.socket, request: int, name: str, value: bytes) -> None:
    fcntl.ioctl(control.fileno(), request, struct.pack("=16s16s8x", name.encode(), value))


def open_socket_in(namespace: int) -> socket.socket:
    """A TCP socket that lives in another network namespace, as a non-blocking socket.

    Leaves the calling thread in that namespace.
    """
    setns(namespace, CLONE_NEWNET)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)  # noqa: FBT003  # the only way to say it
    return made


def report(descriptor: int, answer: Any) -> None:
    """Write one JSON line to the process that waits for this one to be ready."""
    import json  # noqa: PLC0415  # the caller has it already; the server imports this module without need of it

    os.write(descriptor, json.dumps(answer).encode() + b"\n")
