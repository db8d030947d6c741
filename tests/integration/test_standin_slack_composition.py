"""All stand-ins as one process: the JSON line, the two files for a bot, and nothing left behind."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.standin.server import StandInError, serve

pytestmark = pytest.mark.sandbox
ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, sys
from pathlib import Path
from bot.standin.server import serve
state = Path(sys.argv[1]) if len(sys.argv) > 1 else None
announce = lambda line: print(line, flush=True)
asyncio.run(serve(state=state, platform="0.7.1", nodes=2, templates={}, announce=announce))
"""


@asynccontextmanager
async def running(
    *arguments: str, folder: Path
) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, str]]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        *arguments,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield process, json.loads(line)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), 20)
            except TimeoutError:
                process.kill()
                await process.wait()


def environment(where: dict[str, str]) -> dict[str, str]:
    """What a shell makes of the env file."""
    script = f"set -a; . '{where['env_file']}'; env -0"
    output = subprocess.run(["/bin/sh", "-c", script], env={}, check=True, capture_output=True).stdout
    return dict(entry.split("=", 1) for entry in output.decode().split("\0") if entry)


def read_config(where: dict[str, str]) -> dict[str, Any]:
    config = tomllib.loads(Path(where["config_file"]).read_text())
    assert all(Path(node[name]).is_file() for node in config["nodes"] for name in ("key", "known_hosts"))
    return config


def mode_of(path: str) -> int:
    return stat.S_IMODE(Path(path).stat().st_mode)


def mounts() -> str:
    return Path("/proc/mounts").read_text()


async def test_the_line_and_the_files_are_all_that_a_bot_needs(tmp_path: Path) -> None:
    async with running(str(tmp_path / "a state"), folder=tmp_path) as (_, where):
        env = environment(where)
        config = read_config(where)
        client = AsyncWebClient(token=env["SLACK_BOT_TOKEN"], base_url=env["SLACK_API_URL"])
        who = await client.auth_test()
        async with aiohttp.ClientSession() as http, http.get(f"{where['cube_api']}/sandboxes") as answer:
            sandboxes = await answer.json()

    assert list(where) == [
        "control",
        "slack_api",
        "cube_api",
        "cube_proxy",
        "node_ssh",
        "console",
        "env_file",
        "config_file",
    ]
    assert who["team_id"] == "T_DEMO"
    assert sandboxes == []
    assert env["SLACK_API_URL"] == where["slack_api"]
    assert f"{env['CUBE_PROXY_NODE_IP']}:{env['CUBE_PROXY_PORT_HTTP']}" == where["cube_proxy"]
    assert [node["id"] for node in config["nodes"]] == ["node-a", "node-b"]
    assert config["studio"]["public_url"].endswith(f".localhost:{env['CUBE_PROXY_PORT_HTTP']}")
    assert mode_of(where["env_file"]) == 0o600


async def test_sigterm_leaves_no_process_no_mount_and_no_directory(tmp_path: Path) -> None:
    mounts_before = mounts()
    async with running(folder=tmp_path) as (process, where):
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{where['cube_api']}/sandboxes", json={"templateID": "hermes-studio"}) as answer,
        ):
            assert answer.status == 201
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(process.wait(), 20)

    assert code == 0
    assert family
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []
    assert mounts() == mounts_before
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # pathlib's way blocks as well


async def test_a_restart_on_the_same_state_is_the_same_installation(tmp_path: Path) -> None:
    async with running(str(tmp_path), folder=tmp_path) as (_, first):
        before = environment(first)
        client = AsyncWebClient(token=before["SLACK_BOT_TOKEN"], base_url=before["SLACK_API_URL"])
        await client.chat_postMessage(channel="C_OPS", text="still here")

    async with running(str(tmp_path), folder=tmp_path) as (_, second):
        after = environment(second)
        async with (
            aiohttp.ClientSession() as http,
            http.get(f"{second['control']}/messages?channel=C_OPS") as answer,
        ):
            messages: list[dict[str, Any]] = await answer.json()

    assert (second, after) == (first, before)
    assert [message["text"] for message in messages] == ["still here"]


async def refusal(**wrong: Any) -> str:
    asked: dict[str, Any] = {"state": None, "platform": "0.7.1", "nodes": 1, "templates": {}, **wrong}
    with pytest.raises(StandInError) as caught:
        await serve(**asked, announce=lambda _line: None, until=asyncio.Event())
    return str(caught.value)


async def test_two_stand_ins_do_not_share_a_state(tmp_path: Path) -> None:
    async with running(str(tmp_path), folder=tmp_path):
        assert "give another --state" in await refusal(state=tmp_path)


async def test_what_cannot_be_served_is_refused_in_one_sentence(tmp_path: Path) -> None:
    assert await refusal(nodes=0) == "nodes must be 1 to 26, for example --nodes 2"
    assert "0.7.1" in await refusal(platform="9")
    assert "rootfs" in await refusal(templates={"mine": tmp_path})
    (tmp_path / "file").touch()
    assert "File exists" in await refusal(state=tmp_path / "file")
    assert "as in --state ./standin" in await refusal(state=Path("/proc/nowhere"))
