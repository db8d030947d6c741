# pathlib would cost every sandbox a seventh of its boot time.
# ruff: noqa: PTH102, PTH103, PTH106, PTH108, PTH110, PTH112, PTH116, PTH120, PTH123, PTH208, PTH211

"""The first process of a sandbox: makes its namespaces and its root, then rests.

Forked by :mod:`bot.standin.fork_server`, in a process namespace of its own. It answers with one JSON line:
``{"ready": true, "volatile": bool}`` or ``{"error": text}``, with ``"mount": index`` when a caller's mount is
at fault.
"""

import json
import os
import shutil
import signal
import socket
import stat
import sys
import time
from typing import NoReturn, TypedDict

from bot.standin import kernel
from bot.standin.guest import envd

_STAGING = "run/.mounts"
_START_SECONDS = 15.0
_READ_ONLY_PROC = ("sys", "irq", "bus", "fs", "sysrq-trigger")
_HIDDEN_PROC = ("kcore", "keys", "timer_list", "sched_debug")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_ALLOWED = "/data/shared"
# statvfs flags that a remount has to repeat, and what mount(2) calls them.
_LOCKED_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}


class Mount(TypedDict):
    """One host-mount: ``source`` as the node sees it, ``target`` inside."""

    source: str
    target: str
    readOnly: bool


class Config(TypedDict):
    """What the server tells. Paths are the node's, except where said."""

    namespace: str
    freezer: list[str]
    home: str
    template: str
    skeleton: str
    hidden: list[str]
    hostname: str
    guest_address: str
    mounts: list[Mount]
    files: dict[str, str]
    environment: dict[str, str]
    start: list[str]
    start_port: int


class MountSourceError(OSError):
    """A caller's mount cannot be made; ``index`` says which."""

    def __init__(self, index: int, number: int) -> None:
        super().__init__(number, os.strerror(number).lower())
        self.index = index


def first_process(told: int, answer: int, talk: socket.socket) -> None:
    """Become the sandbox: ``told`` is a file with its `Config`, ``answer`` the pipe for what comes of it.

    The agent's port is handed over through ``talk`` to those who fork agents.
    """
    try:
        kernel.die_with_parent()
        with open(told, encoding="utf-8", closefd=False) as file:
            config: Config = json.load(file)
        _make_namespaces(config["namespace"])
        listener, volatile = _set_up(config)
    except MountSourceError as error:
        kernel.report(answer, {"error": error.strerror, "mount": error.index})
        return
    except (OSError, shutil.Error) as error:
        kernel.report(answer, {"error": str(error)})
        return
    socket.send_fds(talk, [b"!"], [listener.fileno()])
    kernel.report(answer, {"ready": True, "volatile": volatile})
    _rest()


def _rest() -> NoReturn:
    """Turn into a small program that never ends; the kernel collects the orphans of the sandbox for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    never, held = os.pipe()
    os.dup2(never, 0)
    os.set_inheritable(held, True)  # noqa: FBT003  # the only way to say it
    os.execve("/bin/sh", ["init", "-c", "read never"], {})  # noqa: S606  # this very program is wanted


def _make_namespaces(node: str) -> None:
    """Join the node's view of the file system, and leave everything else that is shared with it."""
    view = os.open(node, os.O_RDONLY | os.O_CLOEXEC)
    kernel.setns(view, kernel.CLONE_NEWNS)
    os.close(view)
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC)


def join_groups(groups: list[str]) -> None:
    """Be counted among the processes that are frozen together."""
    for group in groups:
        with open(group, "w", encoding="ascii") as joined:
            joined.write("0")


def _set_up(config: Config) -> tuple[socket.socket, bool]:
    for index, wanted in enumerate(config["mounts"]):
        _check_source(index, wanted["source"])
    join_groups(config["freezer"])
    socket.sethostname(config["hostname"])
    kernel.interfaces_up(config["guest_address"])
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    os.umask(0o022)
    volatile = _build_root(config)
    _stage_mounts(config["mounts"])
    kernel.change_root("root")
    _write_files(config["files"])
    listener = envd.listen()
    if config["start"]:
        _start_before_mounts(config)
    _place_mounts(config["mounts"])
    os.rmdir(f"/{_STAGING}")
    kernel.drop_capabilities()
    return listener, volatile


def _check_source(index: int, source: str) -> None:
    """Links in a source are followed, but not out of the allowed prefix.

    A real node follows them anywhere; here that would be the disk of whoever runs the stand-in.
    """
    try:
        os.stat(source)
        if os.path.commonpath((os.path.realpath(source), _ALLOWED)) != _ALLOWED:
            raise FileNotFoundError(2, "no such file or directory")
        if not os.path.isdir(source):
            raise NotADirectoryError(20, "not a directory")
    except OSError as error:
        raise MountSourceError(index, error.errno or 2) from None


def _build_root(config: Config) -> bool:
    """Assemble the root at ``root`` below the sandbox's own directory, which becomes our cwd.

    Layers are named by links in that directory, so that no character of a path can be taken for a
    separator by the overlay file system. Nothing of the machine is in it but its ``/usr``.
    """
    os.chdir(config["home"])
    for name, target in (("t", config["template"]), ("s", config["skeleton"])):
        if os.path.lexists(name):
            os.unlink(name)
        os.symlink(target, name)
    volatile = not _overlay("t:s", "upper", "root")
    if volatile:
        # An overlay (inside a container, say) cannot be the upper layer of another one.
        kernel.mount("upper", "volatile", "tmpfs", 0, "mode=0755")
        for layer in ("upper", "usr"):
            os.mkdir(f"volatile/{layer}")
            os.mkdir(f"volatile/{layer}.work")
        if not _overlay("t:s", "volatile/upper", "root"):
            raise OSError(95, "this kernel does not allow overlay file systems here")
    usr_upper = "volatile/usr" if volatile else "usr"
    _usr(config["template"], usr_upper, [path for path in config["hidden"] if path.startswith("/usr/")])
    _kernel_file_systems("root")
    return volatile


def _overlay(lower: str, upper: str, target: str) -> bool:
    options = f"lowerdir={lower},upperdir={upper},workdir={upper}.work"
    if kernel.in_user_namespace():
        options += ",userxattr"
    try:
        kernel.mount("overlay", target, "overlay", kernel.MS_NODEV, options)
    except OSError:
        return False
    return True


def _usr(template: str, upper: str, hidden: list[str]) -> None:
    own = f"{template}/usr"
    inside = os.path.realpath(own).startswith("/usr/")
    if os.path.isdir(own) and inside and not os.listdir(upper):
        # A layer must not contain another one, so a template that lies below /usr is copied.
        shutil.copytree(own, upper, symlinks=True, dirs_exist_ok=True)
    for path in hidden:
        if not any(path.startswith(f"{other}/") for other in hidden):
            _white_out(f"{upper}/{path.removeprefix('/usr/')}")
    lower = "t/usr:/usr" if os.path.isdir(own) and not inside else "/usr"
    if not _overlay(lower, upper, "root/usr"):
        raise OSError(95, "this kernel does not allow an overlay over /usr")
    if not os.path.exists("root/usr/bin/python3"):
        os.symlink(os.path.realpath(sys.executable), "root/usr/bin/python3")


def _white_out(path: str) -> None:
    """Have an overlay show nothing at ``path`` of its upper layer, whatever the lower ones hold."""
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # The kernel's mark for "deleted here"; it is no device, and needs no right to make one.
        os.mknod(path, stat.S_IFCHR, os.makedev(0, 0))


def _kernel_file_systems(root: str) -> None:
    safe = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("proc", f"{root}/proc", "proc", safe | kernel.MS_NOEXEC)
    for name in _READ_ONLY_PROC:
        path = f"{root}/proc/{name}"
        if os.path.exists(path):
            kernel.mount(path, path, None, kernel.MS_BIND)
            _make_read_only(path)
    for name in _HIDDEN_PROC:
        if os.path.exists(f"{root}/proc/{name}"):
            kernel.mount("/dev/null", f"{root}/proc/{name}", None, kernel.MS_BIND)
    kernel.mount("tmp", f"{root}/tmp", "tmpfs", safe, "mode=1777")
    kernel.mount("run", f"{root}/run", "tmpfs", safe, "mode=0755")
    kernel.mount("dev", f"{root}/dev", "tmpfs", kernel.MS_NOSUID, "mode=0755")
    for name in _DEVICES:
        os.close(os.open(f"{root}/dev/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        kernel.mount(f"/dev/{name}", f"{root}/dev/{name}", None, kernel.MS_BIND)
    os.mkdir(f"{root}/dev/pts")
    kernel.mount(
        "devpts",
        f"{root}/dev/pts",
        "devpts",
        kernel.MS_NOSUID | kernel.MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=0620",
    )
    os.mkdir(f"{root}/dev/shm")
    kernel.mount("shm", f"{root}/dev/shm", "tmpfs", safe, "mode=1777")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        os.symlink(target, f"{root}/dev/{name}")


def _make_read_only(path: str) -> None:
    held = os.statvfs(path).f_flag
    repeated = sum(flag for bit, flag in _LOCKED_FLAGS.items() if held & bit)
    kernel.mount("none", path, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | repeated)


def _stage_mounts(mounts: list[Mount]) -> None:
    """Take hold of the sources while the node's paths still exist."""
    os.makedirs(f"root/{_STAGING}")
    for index, wanted in enumerate(mounts):
        staged = f"root/{_STAGING}/{index}"
        os.mkdir(staged)
        try:
            kernel.mount(wanted["source"], staged, None, kernel.MS_BIND)
        except OSError as error:
            raise MountSourceError(index, error.errno or 2) from None


def _place_mounts(mounts: list[Mount]) -> None:
    """Move the mounts to where they belong, parents first whatever the caller's order was."""
    for index in sorted(range(len(mounts)), key=lambda at: mounts[at]["target"].count("/")):
        wanted = mounts[index]
        staged = f"/{_STAGING}/{index}"
        os.makedirs(wanted["target"], exist_ok=True)
        kernel.mount(staged, wanted["target"], None, kernel.MS_MOVE)
        safe = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_NODEV | kernel.MS_NOSUID
        if wanted["readOnly"]:
            safe |= kernel.MS_RDONLY
        held = os.statvfs(wanted["target"]).f_flag
        safe |= sum(flag for bit, flag in _LOCKED_FLAGS.items() if held & bit)
        kernel.mount("none", wanted["target"], None, safe)
        os.rmdir(staged)


def _write_files(files: dict[str, str]) -> None:
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as target:
            target.write(text)


def _start_before_mounts(config: Config) -> None:
    """Run the template's own start command and wait until it serves.

    A template is a snapshot of running memory: what its start command had opened was opened before
    the caller's mounts existed.
    """
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "USER": "root",
    }
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            null = os.open("/dev/null", os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            os.closerange(3, 256)
            kernel.drop_capabilities()
            os.chdir("/root")
            os.execvpe(config["start"][0], config["start"], environment)  # noqa: S606  # no shell is wanted
        finally:
            os._exit(127)
    deadline = time.monotonic() + _START_SECONDS
    while config["start_port"] and time.monotonic() < deadline:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            if probe.connect_ex((config["guest_address"], config["start_port"])) == 0:
                return
        time.sleep(0.02)
