"""One node: the way in, what our programs need there, its directories, default home, disk and clock."""

import base64
import binascii
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.adapters.config_yaml import judge_config
from bot.adapters.node_keys import known_hosts_line, own_key, shown_host_key
from bot.checkup.finding import Finding, Findings, bad, clocks, good, unknown
from bot.domain.errors import NodeError
from bot.domain.explanations import sentences
from bot.ports import Clock, CommandResult, Node
from bot.settings import NodeSettings

GIB = 1024**3
_LOGIN_SECONDS = 18.0
_KEY_SECONDS = 5.0
_OTHERS = 0o077
_MOST_CONFIG = 300_000

_LOOK = """
say() { printf '%s\\t%s\\n' "$1" "$2"; }
say uid "$(id -u)"
say python "$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)"
say rsync "$(rsync --version 2>/dev/null | head -n 1)"
say real "$(readlink -f -- "$1" 2>/dev/null)"
for name in . hermes-homes hermes-workspaces hermes-common-skills hermes-homes/default; do
  path=$1/$name
  if [ "$name" != . ] && [ -L "$path" ]; then kind=link
  elif [ -d "$path" ]; then if [ -w "$path" ] && [ -x "$path" ]; then kind=writable; else kind=readable; fi
  elif [ -e "$path" ]; then kind=other
  else kind=missing; fi
  say "dir $name" "$kind"
done
file=$1/hermes-homes/default/config.yaml
if [ -L "$file" ]; then say config link
elif [ ! -f "$file" ]; then say config missing
elif [ "$(wc -c <"$file")" -gt "$2" ]; then say config long
else say config "$(base64 -w 0 <"$file")"; fi
say free "$(df -P -B1 "$1" 2>/dev/null | awk 'END { print $4 }')"
say now "$(date +%s.%N)"
"""
"""One command for everything, so that one broken tool on the node hides nothing but itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    facts: Mapping[str, str]
    began: datetime
    ended: datetime


class NodeSide:
    """One examination of a node. It changes nothing there."""

    def __init__(
        self, settings: NodeSettings, node: Node, clock: Clock, floor_gib: float, clock_cure: str
    ) -> None:
        self._settings = settings
        self._node = node
        self._clock = clock
        self._floor = floor_gib
        self._clock_cure = clock_cure
        self.subject = f"Node {settings.id}"

    async def look(self) -> Findings:
        """The files for the way in, the way in, then everything there."""
        wrong = self._key_files()
        for finding in wrong:
            yield finding
        if any(finding.ok is False for finding in wrong):
            return
        try:
            told = await self._ask()
        except NodeError as error:
            yield await self._no_way_in(error)
            return
        yield good(f"{self.subject} login", f"{self._settings.user}@{self._where}, host key as known")
        yield self._programs(told.facts)
        for finding in self._directories(told.facts):
            yield finding
        yield self._default_home(told.facts)
        yield self._disk(told.facts)
        yield self._time(told)

    @property
    def _where(self) -> str:
        return f"{self._settings.host}:{self._settings.port}"

    def _key_files(self) -> list[Finding]:
        """The private key and ``known_hosts`` on the bot's machine."""
        subject, key, known = f"{self.subject} key", self._settings.key, self._settings.known_hosts
        name, found = f"[[nodes]] {self._settings.id}", list[Finding]()
        if own_key(key) is None:
            cure = f"Set key of {name} to the file of the bot's SSH private key, without a passphrase."
            found.append(bad(subject, f"{key} cannot be read as a private key", cure))
        elif _open_to_others(key):
            cure = f"Run `chmod 600 {shlex.quote(str(key))}` on this machine."
            found.append(bad(subject, f"{key} can be read by others", cure))
        if not known.is_file():
            cure = f"Set known_hosts of {name} to a file that holds the node's host key."
            found.append(bad(f"{self.subject} host key", f"{known} does not exist", cure))
        return found

    async def _ask(self) -> _Told:
        root = shlex.quote(self._settings.shared_root)
        command = f"sh -c {shlex.quote(_LOOK)} look {root} {_MOST_CONFIG}"
        await self._node.run("true", deadline=_LOGIN_SECONDS)  # so that the login is not in the clock's time
        began = self._clock.now()
        answer: CommandResult = await self._node.run(command, deadline=_LOGIN_SECONDS)
        ended = self._clock.now()
        pairs = (line.partition("\t") for line in answer.stdout.splitlines())
        return _Told(facts={name: value for name, _, value in pairs}, began=began, ended=ended)

    async def _no_way_in(self, error: NodeError) -> Finding:
        settings, what = self._settings, sentences(error)[0]
        if error.code == "node-login-refused":
            key = own_key(settings.key)
            line = f"`{key.line}` to `~{settings.user}/.ssh/authorized_keys`" if key else "the bot's key"
            return bad(f"{self.subject} login", str(error), f"On the node add {line}.")
        if error.code == "host-key-changed":
            shown = await shown_host_key(settings.host, settings.port, _KEY_SECONDS)
            if shown is None:
                return bad(f"{self.subject} host key", str(error), "Compare the keys on the node itself.")
            line = known_hosts_line(settings.host, settings.port, shown)
            cure = (
                f"Compare {shown.fingerprint} with what `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`"
                f" says on the node itself; only if they agree, let {settings.known_hosts} hold the"
                f" line `{line}` instead of the old one."
            )
            return bad(f"{self.subject} host key", str(error), cure)
        if error.code == "node-unreachable":
            cure = f"Start sshd there, or set host and port of [[nodes]] {settings.id} to where it listens."
            return bad(f"{self.subject} login", f"{what} {error}", cure)
        return unknown(f"{self.subject} login", f"{what} {error}", "Run `hermes-bot check` again.")

    def _programs(self, facts: Mapping[str, str]) -> Finding:
        subject = f"{self.subject} programs"
        missing = [name for name in ("python3", "rsync") if not facts.get(name.removesuffix("3"))]
        if missing:
            cure = f"Run `apt-get install -y {' '.join(missing)}` on the node."
            return bad(subject, f"{' and '.join(missing)} not found", cure)
        who = "root" if facts.get("uid") == "0" else f"user id {facts.get('uid')}"
        rsync = " ".join(facts["rsync"].split()[:3])
        return good(subject, f"{who}, Python {facts['python']}, {rsync}")

    def _directories(self, facts: Mapping[str, str]) -> list[Finding]:
        root, found = self._settings.shared_root, list[Finding]()
        for name in (".", "hermes-homes", "hermes-workspaces", "hermes-common-skills"):
            path = root if name == "." else f"{root}/{name}"
            found.append(self._directory(path, facts.get(f"dir {name}", ""), name, facts))
            if name == "." and found[0].ok is not True:
                break
        return found

    def _directory(self, path: str, kind: str, name: str, facts: Mapping[str, str]) -> Finding:
        subject, quoted = f"{self.subject} {path}", shlex.quote(path)
        real = facts.get("real", "")
        if name == "." and kind != "missing" and real != path:
            note, cure = f"its path goes through a link to {real}", f"Set shared_root of [[nodes]] to {real}."
            return bad(subject, note, cure)
        if kind in {"link", "other"}:
            cure = f"Run `mv {quoted} {quoted}.old && mkdir {quoted}` on the node, after looking what it is."
            return bad(subject, "a link or a file stands there", cure)
        makes_itself = name in {"hermes-homes", "hermes-workspaces"}
        if kind == "missing" and makes_itself:
            return good(subject, "not there yet; the first create makes it")
        if kind == "missing":
            return bad(subject, "does not exist", f"Run `mkdir -p {quoted}` on the node.")
        if kind == "writable" or (kind == "readable" and name == "hermes-common-skills"):
            return good(subject, "there" if kind == "readable" else "there, writable")
        if kind == "readable":
            note = "cannot be written: another owner, its mode, or a file system that has become read-only"
            cure = f"Run `mount -o remount,rw {quoted}` on the node; if that is no help, correct its owner."
            return bad(subject, note, cure)
        return unknown(subject, "the node did not tell", "Run `hermes-bot check` again.")

    def _default_home(self, facts: Mapping[str, str]) -> Finding:
        subject, told = f"{self.subject} default home", facts.get("config", "")
        kind = facts.get("dir hermes-homes/default", "")
        if kind in {"link", "other"}:
            return bad(subject, "a link or a file stands at hermes-homes/default", self._new_default())
        if told == "missing" and kind == "missing":
            cure = f"Run `hermes-bot template seed --node {self._settings.id}` on this machine."
            return bad(subject, "there is no hermes-homes/default/config.yaml", cure)
        if told == "missing":
            return bad(subject, "hermes-homes/default has no config.yaml", self._new_default())
        if told in {"link", "long", ""}:
            cure = "Put a plain config.yaml there, of less than 300 kB."
            return bad(subject, "its config.yaml is a link, too long, or cannot be read", cure)
        try:
            judged = judge_config(base64.b64decode(told, validate=True))
        except (binascii.Error, ValueError):
            return unknown(subject, "its config.yaml did not arrive whole", "Run `hermes-bot check` again.")
        if judged.state != "ok":
            note = f"its config.yaml is {judged.state}: {judged.problem}".rstrip(": ")
            return bad(subject, note, self._new_default())
        return good(subject, "there, and its config.yaml can be loaded")

    def _new_default(self) -> str:
        """The cure of a default home that cannot be used: seeding makes one only where there is none."""
        default = shlex.quote(f"{self._settings.shared_root}/hermes-homes/default")
        return (
            f"Run `mv {default} {default}.old` on the node and then"
            f" `hermes-bot template seed --node {self._settings.id}` on this machine."
        )

    def _disk(self, facts: Mapping[str, str]) -> Finding:
        subject, told = f"{self.subject} disk", facts.get("free", "")
        if not told.isdecimal():
            return unknown(subject, "the node does not tell how much is free", "Run `df` on the node.")
        free = int(told) / GIB
        note = f"{free:.1f} GiB free, at least {self._floor:g} GiB wanted"
        if free < self._floor:
            cure = (
                f"Make room in {self._settings.shared_root}, or set [limits] min_free_gib below {free:.2f}."
            )
            return bad(subject, note, cure)
        return good(subject, note)

    def _time(self, told: _Told) -> Finding:
        subject = f"Clock of {self._settings.id}"
        cure = self._clock_cure
        try:
            theirs = datetime.fromtimestamp(float(told.facts.get("now", "")), tz=UTC)
        except (ValueError, OverflowError, OSError):
            return unknown(subject, "the node does not tell the time", cure)
        middle, took = told.began + (told.ended - told.began) / 2, (told.ended - told.began).total_seconds()
        return clocks(subject, middle, theirs, within=0.1 + took / 2, cure=cure)


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & _OTHERS)
