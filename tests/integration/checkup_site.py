"""An installation to be examined: stand-ins of all sides, and somebody who does what a cure says."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bot.adapters.node_ssh import SshNode
from bot.checkup.finding import Finding
from bot.checkup.report import exit_code
from bot.checkup.run import findings
from bot.standin.bot_files import NodeAccess, write_config_file
from bot.standin.clock import StandInClock
from bot.standin.cube import CubeStandIn
from bot.standin.faults import Faults
from bot.standin.node import NodeServer
from bot.standin.node_space import NodeSpace
from bot.standin.slack import SlackStandIn
from bot.standin.slack.cast import BOT_USER, Channel
from bot.standin.templates import ensure_templates, seed_default_home

ROOT = Path(__file__).parents[2]
KEY = "cube-key-EXAMPLE"


@dataclass(kw_only=True)
class Site:
    """The servers, and the settings of a bot that is right about them."""

    folder: Path
    faults: Faults
    slack: SlackStandIn
    cube: CubeStandIn
    node: NodeServer
    right: dict[str, str]
    """The environment that is right."""
    right_toml: str
    env: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return Path(self.right["HERMES_BOT_CONFIG"])

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    @property
    def templates(self) -> Path:
        return self.folder / "templates"

    def channel(self, channel: str) -> Channel:
        return self.slack.world.cast.channels[channel]

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text, (old, text)
        self.config.write_text(text.replace(old, new))

    async def check(self, **more: bool) -> tuple[int, list[Finding]]:
        """What ``hermes-bot check`` ends with and finds."""
        found = await findings(self.env, **more)
        return exit_code(found), found

    # Following a cure, word by word.

    async def follow(self, cure: str) -> None:
        """Do what one cure says; fails when it says nothing that can be done."""
        done = [
            await self._run(cure), self._set_toml(cure), self._set_env(cure), self._in_slack(cure),
            self._on_the_node(cure), self._elsewhere(cure),
        ]  # fmt: skip
        assert any(done), f"nobody can follow: {cure}"

    async def _run(self, cure: str) -> bool:
        """``Run `COMMAND` on the node`` or on this machine, one after the other as they are named."""
        pieces = re.findall(r"`([^`]+)` (on the node|on this machine|here)", cure)
        for command, where in pieces:
            if where == "on the node":
                await self._run_on_node(command)
            else:
                await self._run_here(command)
        return bool(pieces)

    async def _run_on_node(self, command: str) -> None:
        if command.startswith("apt-get install -y "):  # there is no network to install from
            self.faults.disarm("node", f"{command.rsplit(maxsplit=1)[-1]}-missing")
            return
        host, port = self.node.address
        node = SshNode("node-a", host, port, "root", self.node.client_key, self.node.known_hosts)
        try:
            ended = await node.run(command)
        finally:
            await node.close()
        assert ended.exit_code == 0, (command, ended)

    async def _run_here(self, command: str) -> None:
        command = re.sub(r"^hermes-bot ", f"{sys.executable} -m bot.cli ", command)
        env = {**self.env, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(ROOT)}
        program = await asyncio.create_subprocess_shell(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        said, _ = await program.communicate()
        assert program.returncode == 0, (command, said.decode())

    def _set_env(self, cure: str) -> bool:
        if unset := re.match(r"Unset ([A-Z_]+)", cure):
            del self.env[unset[1]]
            return True
        given = re.findall(r"\b([A-Z]+(?:_[A-Z]+)+) to ", cure)
        for name in given:
            named = re.search(r": `([^`]+)`", cure)
            self.env[name] = named[1] if named else self.right[name]
        return bool(given)

    def _set_toml(self, cure: str) -> bool:
        if dropped := re.search(r"(?:Set|set) \[(\w+)\] (\w+).* without (\w+)\.", cure):
            values = tomllib.loads(self.config.read_text())[dropped[1]][dropped[2]]
            left = [value for value in values if value != dropped[3]]
            self.edit(f"{dropped[2]} = {json.dumps(values)}", f"{dropped[2]} = {json.dumps(left)}")
            return True
        if value := re.search(r"set \[(\w+)\] (\w+) (?:to|below) ([0-9.]+)\.$", cure):
            number = float(value[3]) - 0.01 if "below" in cure else int(value[3])
            was = tomllib.loads(self.config.read_text())[value[1]][value[2]]
            self.edit(f"{value[2]} = {was}", f"{value[2]} = {number}")
            return True
        if re.match(r"Set \[channels\] (\w+) to the id of", cure) or "Correct " in cure:
            self.config.write_text(self.right_toml)
            return True
        return False

    def _in_slack(self, cure: str) -> bool:
        if "scopes of manifest.yaml" in cure and "reinstall" in cure:
            manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
            self.slack.world.scopes = tuple(manifest["oauth_config"]["scopes"]["bot"])
            return True
        if cure.startswith("Type `/invite @hermes` in that channel"):
            for channel in ("C_AUDIT", "C_ALERTS"):
                self.channel(channel).members.add(BOT_USER)
            return True
        return False

    def _on_the_node(self, cure: str) -> bool:
        if line := re.search(r"let (\S+) hold the line `([^`]+)`", cure):
            Path(line[1]).write_text(line[2] + "\n")
            return True
        if key := re.search(r"On the node add `([^`]+)` to `~root/.ssh/authorized_keys`", cure):
            ours = subprocess.check_output(["ssh-keygen", "-y", "-f", str(self.node.client_key)], text=True)
            assert key[1].split()[:2] == ours.split()[:2]
            self.faults.disarm("node", "auth-refused")
            return True
        return False

    def _elsewhere(self, cure: str) -> bool:
        if cure.startswith("Start CubeMaster"):
            self.faults.disarm("cube", "master-down")
            return True
        return False

    def tidy(self) -> None:
        """Make it sound again, whatever a test has done."""
        self.faults.clear()
        self.config.write_text(self.right_toml)
        self.env.clear()
        self.env.update(self.right)
        manifest = yaml.safe_load((ROOT / "manifest.yaml").read_text())
        self.slack.world.scopes = tuple(manifest["oauth_config"]["scopes"]["bot"])
        for channel in ("C_AUDIT", "C_ALERTS"):
            self.channel(channel).members.add(BOT_USER)
        known, public = self.node.known_hosts, self.node.known_hosts.with_name("host_key")
        line = subprocess.check_output(["ssh-keygen", "-y", "-f", str(public)], text=True).strip()
        known.write_text("[{}]:{} {}\n".format(*self.node.address, line))
        for name in ("default", "default.old"):
            shutil.rmtree(self.shared / "hermes-homes" / name, ignore_errors=True)
        seed_default_home(self.shared)
        for made in self.templates.glob("*/template.json.right"):
            made.rename(made.with_suffix(""))
        shutil.rmtree(self.config.parent / "var", ignore_errors=True)


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """Start everything in ``folder``, and leave nothing behind."""
    shared, templates, faults, clock = folder / "shared", folder / "templates", Faults(), folder / "clock"
    shared.mkdir(parents=True)
    ensure_templates(templates)
    seed_default_home(shared)
    space = NodeSpace("node-a", shared)
    node = NodeServer(state=folder / "node", space=space, faults=faults)
    cube = CubeStandIn(
        state=folder / "cube", platform="0.7.1", clock=StandInClock(clock), faults=faults, nodes=[space],
        templates_dir=templates, api_key=KEY,
    )  # fmt: skip
    slack = SlackStandIn(state=folder, clock=StandInClock(clock), faults=faults)
    await space.start()
    try:
        await node.start()
        await cube.start()
        await slack.start()
        slack.world.limits.quicken(1000)
        config = folder / "bot" / "hermes-bot.toml"
        access = NodeAccess("node-a", *node.address, "root", node.client_key, node.known_hosts)
        write_config_file(config, nodes=[access], proxy_port=cube.proxy_address[1])
        right = {
            "SLACK_BOT_TOKEN": slack.secrets.bot_token,
            "SLACK_APP_TOKEN": slack.secrets.app_token,
            "SLACK_API_URL": slack.api_url,
            "CUBE_API_URL": cube.api_url,
            "CUBE_API_KEY": KEY,
            "CUBE_PROXY_NODE_IP": cube.proxy_address[0],
            "CUBE_PROXY_PORT_HTTP": str(cube.proxy_address[1]),
            "CUBE_SANDBOX_DOMAIN": "localhost",
            "HERMES_BOT_CONFIG": str(config),
            "HERMES_BOT_DATABASE_URL": f"sqlite:///{config.parent}/var/audit.db",
            "HERMES_BOT_HTTP": "127.0.0.1:0",
        }
        made = Site(
            folder=folder, faults=faults, slack=slack, cube=cube, node=node, right=right,
            right_toml=config.read_text(),
        )  # fmt: skip
        made.tidy()
        yield made
    finally:
        await slack.stop()
        await cube.stop()
        await node.stop()
        await space.stop()
