"""A process that was told to stop ends, whatever its threads and its peers are waiting for."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot import ending
from bot.adapters import slack_socket

HELD_UP = """
import asyncio, sys, threading
from concurrent.futures import ThreadPoolExecutor
from bot import ending
never = threading.Event()

async def main():
    {body}

print("before")
sys.exit(ending.run(main()))
"""
A_CALL = "ThreadPoolExecutor(1, thread_name_prefix='cube').submit(never.wait)"


def _ended(body: str) -> tuple[int, str, str]:
    """Exit code and both outputs of a program, which has a minute to end."""
    done = subprocess.run(
        [sys.executable, "-c", HELD_UP.format(body=body)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_call_that_hangs_in_a_pool_does_not_hold_the_process() -> None:
    code, printed, logged = _ended(f"{A_CALL}; return 3")

    assert (code, printed) == (3, "before\n")
    assert "left behind: cube_0" in logged


def test_call_that_hangs_in_the_loops_own_threads_does_not_either() -> None:
    code, logged = _ended(
        "call = asyncio.create_task(asyncio.to_thread(never.wait)); await asyncio.sleep(0)"
    )[::2]

    assert code == 0
    assert "left behind: loop_0" in logged


def test_ctrl_c_does_not_wait_for_such_a_call_either() -> None:
    code, _, logged = _ended(
        f"import os, signal; {A_CALL}; os.kill(os.getpid(), signal.SIGINT); await asyncio.sleep(50)"
    )

    assert code == ending.INTERRUPTED
    assert "left behind: cube_0" in logged


def test_process_with_nothing_left_ends_as_ever() -> None:
    code, _, logged = _ended("import atexit; atexit.register(print, 'orderly', file=sys.stderr); return 4")

    assert (code, logged) == (4, "orderly\n")


def test_closing_that_hangs_ends_with_1() -> None:
    code, _, logged = _ended("\n    with ending.at_the_latest(0.2):\n        never.wait()")

    assert code == 1
    assert "not everything could be closed within 0.2 s" in logged


def test_failure_is_raised_as_ever() -> None:
    code, _, logged = _ended("raise OSError('no such Slack')")

    assert code == 1
    assert logged.rstrip().endswith("OSError: no such Slack")


@pytest_asyncio.fixture
async def mute_slack(unused_tcp_port: int) -> AsyncIterator[str]:
    """Opens Socket Mode connections and then neither reads nor closes."""
    url = f"127.0.0.1:{unused_tcp_port}"
    over = asyncio.Event()

    async def link(_: web.Request) -> web.Response:
        return web.json_response({"ok": True, "url": f"ws://{url}/link"})

    async def talk(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_json({"type": "hello"})
        await over.wait()
        return socket

    slack = web.Application()
    slack.add_routes([web.post("/api/apps.connections.open", link), web.get("/link", talk)])
    runner = web.AppRunner(slack, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
    yield f"http://{url}/api/"
    over.set()
    await runner.cleanup()


async def test_socket_whose_peer_does_not_answer_the_close_is_left(
    mute_slack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack_socket, "CLOSE_SECONDS", 0.1)

    async def nothing(_: object) -> dict[str, object]:
        return {}

    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient("EXAMPLE", base_url=mute_slack, session=session)
        before = asyncio.all_tasks()
        socket = slack_socket.SlackSocket(client, "EXAMPLE", nothing, ping_seconds=1)
        await socket.open()
        begun = time.monotonic()

        await socket.close()

        assert time.monotonic() - begun < 2
        await asyncio.sleep(0)
        ours = {task for task in asyncio.all_tasks() - before if "slack_socket" in repr(task.get_coro())}
        assert ours == set()


def test_second_sigterm_changes_neither_the_end_nor_the_exit_code() -> None:
    code, printed, _ = _ended(
        """
    import os, signal
    told = asyncio.Event()
    ending.when_told(told.set)
    os.kill(os.getpid(), signal.SIGTERM)
    await told.wait()
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0.05)
    print("closed in order")"""
    )

    assert (code, printed) == (0, "before\nclosed in order\n")
