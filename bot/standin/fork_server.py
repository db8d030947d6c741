"""The process that forks the processes of ours that live in sandboxes: the first one of each, and its agent.

An interpreter of its own would cost each sandbox five megabytes and most of its boot time. So the first
process of a sandbox is a fork that turns into a small idle program once everything is in place; the agent is
a fork that comes when somebody connects to its port and goes when nobody has needed it for a while.

Started by :mod:`bot.standin.cube.forks` with ``{"channel": descriptor}`` on standard input. Every message on
that socket carries two descriptors: a file with the sandbox's :class:`~bot.standin.sandbox_boot.Config` as
JSON, and the pipe to answer on. The answers are JSON lines: first ``{"pid": n}``, the number by which the
machine knows the sandbox's first process, then what :mod:`bot.standin.sandbox_boot` says. All sandboxes end
with this process.
"""

import gc
import json
import os
import resource
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from bot.standin import kernel, sandbox_boot
from bot.standin.guest import envd

_DESCRIPTORS = 2
_INSIDE = (
    kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWUTS | kernel.CLONE_NEWIPC
)


def main() -> None:
    """Say that we are ready, and fork until the channel ends."""
    kernel.die_with_parent()
    kernel.adopt_orphans()
    kernel.keep_one_arena()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Nobody asks for the exit code of a sandbox, so the kernel may collect them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    channel = socket.socket(fileno=json.load(sys.stdin)["channel"])
    kernel.report(1, {"ready": True})
    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    # What exists by now is never collected, so that the forks go on sharing its pages.
    gc.collect()
    gc.freeze()
    _Server(channel).run()


class _Server:
    """Waits for wishes, and for connections to the agents that sleep."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._ready = selectors.DefaultSelector()

    def run(self) -> None:
        """Until the channel ends."""
        self.on(self._channel.fileno(), self._take)
        while True:
            for key, _ in self._ready.select():
                # One that was ready with others may have been taken away by them.
                if key.fd in self._ready.get_map():
                    key.data()

    def on(self, descriptor: int, act: Callable[[], None]) -> None:
        """Call ``act`` whenever the descriptor is ready."""
        self._ready.register(descriptor, selectors.EVENT_READ, act)

    def off(self, descriptor: int) -> None:
        """Do not look at the descriptor any more."""
        with suppress(KeyError):
            self._ready.unregister(descriptor)

    def _take(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._channel, 1, _DESCRIPTORS)
        if not message:
            sys.exit(0)
        config, answer = descriptors
        number, listener = _first_process(config, answer)
        # Who asked may have given up by now, or ended the sandbox at once; the others must not end with it.
        with suppress(BrokenPipeError, ProcessLookupError):
            if number:
                kernel.report(answer, {"pid": number})
                _Sandbox(self, os.pidfd_open(number), config, listener)
                config = -1
                # Only now is it our child, and would die with us and not with the process between.
                listener.send(b"!")
        os.close(answer)
        if config >= 0:
            os.close(config)
            listener.close()


class _Sandbox:
    """What is kept of one sandbox, so that its agent can be forked."""

    def __init__(self, server: _Server, first: int, config: int, talk: socket.socket) -> None:
        self._server = server
        self._first = first
        self._config = config
        self._talk = talk
        self._listener = -1
        self._agent = -1
        server.on(first, self._ended)
        server.on(talk.fileno(), self._booted)

    def _booted(self) -> None:
        """The first process hands over the agent's port, or has ended without."""
        self._server.off(self._talk.fileno())
        message, descriptors = b"", list[int]()
        with suppress(ConnectionResetError):  # it was ended before it had read that it may begin
            message, descriptors, _, _ = socket.recv_fds(self._talk, 1, 1)
        self._talk.close()
        if message:
            (self._listener,) = descriptors
            self._server.on(self._listener, self._wanted)

    def _wanted(self) -> None:
        """Somebody connects, and the agent sleeps."""
        number = _agent(self._first, self._config, self._listener)
        try:
            self._agent = os.pidfd_open(number)
        except OSError:
            # No agent, so whoever asked for it is turned away and not kept waiting.
            _turn_away(self._listener)
            return
        self._server.off(self._listener)
        self._server.on(self._agent, self._asleep)

    def _asleep(self) -> None:
        self._server.off(self._agent)
        os.close(self._agent)
        self._agent = -1
        self._server.on(self._listener, self._wanted)

    def _ended(self) -> None:
        for descriptor in (self._first, self._listener, self._agent, self._config):
            if descriptor >= 0:
                self._server.off(descriptor)
                os.close(descriptor)
        if self._talk.fileno() >= 0:
            self._server.off(self._talk.fileno())
            self._talk.close()


def _turn_away(listener: int) -> None:
    with socket.socket(fileno=os.dup(listener)) as agents:
        agents.accept()[0].close()


def _first_process(config: int, answer: int) -> tuple[int, socket.socket]:
    """Fork a sandbox's first process: its number (0 = that failed), and a socket to it that it waits on."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def between() -> Callable[[], None]:
        try:
            kernel.unshare(kernel.CLONE_NEWPID)
        except OSError as error:
            kernel.report(answer, {"error": str(error)})
            raise
        return become

    def become() -> None:
        if theirs.recv(1):
            sandbox_boot.first_process(config, answer, theirs)

    with theirs:
        return _through(between, keep=(config, answer, theirs.fileno())), ours


def _agent(first: int, config: int, listener: int) -> int:
    """Fork an agent into the sandbox of a first process; its number, or 0 when the sandbox is gone."""

    def between() -> Callable[[], None]:
        os.lseek(config, 0, os.SEEK_SET)
        with open(config, encoding="utf-8", closefd=False) as told:
            wanted: sandbox_boot.Config = json.load(told)
        sandbox_boot.join_groups(wanted["freezer"])
        kernel.setns(first, _INSIDE)
        kernel.drop_capabilities()
        return envd.Agent(socket.socket(fileno=listener), wanted["environment"]).run

    return _through(between, keep=(first, config, listener))


def _through(between: Callable[[], Callable[[], None]], keep: tuple[int, ...]) -> int:
    """Fork a process that forks another one, which becomes what ``between`` gives; the number of that one.

    A process cannot itself move to another process namespace; only its children are born there.
    """
    told, tell = os.pipe()
    if (middle := os.fork()) == 0:
        _close_all_but(*keep, tell)
        _go_between(between, tell)
    os.close(tell)
    number = os.read(told, 32)
    os.close(told)
    with suppress(ChildProcessError):  # collected already
        os.waitpid(middle, 0)
    return int(number or 0)


def _go_between(between: Callable[[], Callable[[], None]], tell: int) -> NoReturn:
    try:
        become = between()
        if child := os.fork():
            os.write(tell, b"%d" % child)
        else:
            os.close(tell)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            become()
    finally:
        os._exit(0)


def _close_all_but(*kept: int) -> None:
    """Sandboxes must not hold each other's descriptors."""
    begin = 3
    for descriptor in sorted({*kept}):
        os.closerange(begin, descriptor)
        begin = descriptor + 1
    os.closerange(begin, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
