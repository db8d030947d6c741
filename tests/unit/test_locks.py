"""Locks between tasks and between processes, in files and (where there is one to test with) in PostgreSQL."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import bot
from bot.adapters.locks import open_locks
from bot.domain.locks import LockUnavailableError, advisory_key, lock_file_name
from bot.ports import Locks

HOLDER = """
import asyncio, sys
from bot.adapters.locks import open_locks

async def main():
    async with open_locks(sys.argv[1]).hold(sys.argv[2]):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@pytest.fixture(params=["files", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "files":
        return f"sqlite:///{tmp_path}/var/audit.db"
    server = os.environ.get("HERMES_TEST_POSTGRES_URL", "")
    if not server:
        pytest.skip("HERMES_TEST_POSTGRES_URL names no PostgreSQL database to test with")
    return server


@pytest.fixture
def name() -> str:
    """Unique, because a PostgreSQL server is shared with other runs."""
    return f"home:alpha/{uuid.uuid4().hex}"


@contextmanager
def holder(url: str, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock until it reads a line or dies."""
    environment = {**os.environ, "PYTHONPATH": str(Path(bot.__file__).parents[1])}
    argv = [sys.executable, "-c", HOLDER, url, name]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


async def test_tasks_take_turns_in_the_order_in_which_they_came(url: str, name: str) -> None:
    locks = open_locks(url)
    seen: list[str] = []

    async def worker(number: int) -> None:
        async with locks.hold(name):
            seen.append(f"in {number}")
            await asyncio.sleep(0)
            seen.append(f"out {number}")

    await asyncio.gather(*(worker(number) for number in range(6)))

    assert seen == [f"{word} {number}" for number in range(6) for word in ("in", "out")]


async def test_other_names_do_not_wait(url: str, name: str) -> None:
    locks = open_locks(url)

    async with locks.hold(name), asyncio.timeout(10), locks.hold(f"{name}-other"):
        taken = await locks.try_hold(f"{name}-third")

    assert taken is not None
    await taken.release()


async def test_trying_does_not_wait(url: str, name: str) -> None:
    locks = open_locks(url)
    first = await locks.try_hold(name)
    assert first is not None

    second = await locks.try_hold(name)

    assert second is None
    await first.release()
    await first.release()
    third = await locks.try_hold(name)
    assert third is not None
    await third.release()


async def test_two_openings_exclude_each_other(url: str, name: str) -> None:
    one, two = open_locks(url), open_locks(url)
    entered = asyncio.Event()

    async def enter() -> None:
        async with two.hold(name):
            entered.set()

    async with one.hold(name):
        assert await two.try_hold(name) is None
        waiting = asyncio.ensure_future(enter())
        await asyncio.sleep(0.05)
        assert not entered.is_set()

    await asyncio.wait_for(waiting, 10)


async def test_a_waiter_who_gives_up_leaves_the_line_in_order(url: str, name: str) -> None:
    locks = open_locks(url)

    async def enter() -> str:
        async with locks.hold(name):
            return "entered"

    async with locks.hold(name):
        gone, stays = asyncio.ensure_future(enter()), asyncio.ensure_future(enter())
        await asyncio.sleep(0)
        gone.cancel()

    assert await asyncio.wait_for(stays, 10) == "entered"
    assert gone.cancelled()
    await free(locks, name)


async def test_cancelling_who_just_got_the_turn_hands_it_on(url: str, name: str) -> None:
    locks = open_locks(url)
    first = await locks.try_hold(name)
    assert first is not None

    async def enter() -> str:
        async with locks.hold(name):
            return "entered"

    gone, stays = asyncio.ensure_future(enter()), asyncio.ensure_future(enter())
    await asyncio.sleep(0)
    await first.release()
    gone.cancel()

    assert await asyncio.wait_for(stays, 10) == "entered"
    await free(locks, name)


async def test_an_error_in_the_body_frees_the_lock(url: str, name: str) -> None:
    locks = open_locks(url)

    with pytest.raises(RuntimeError, match="body"):
        async with locks.hold(name):
            raise RuntimeError("body")

    await free(locks, name)


async def test_another_process_keeps_us_out_until_it_is_done(url: str, name: str) -> None:
    locks = open_locks(url)
    with holder(url, name) as process:
        assert await locks.try_hold(name) is None
        assert process.stdin is not None

        process.stdin.close()

        async with asyncio.timeout(10), locks.hold(name):
            pass


async def test_a_killed_process_holds_nothing(url: str, name: str) -> None:
    locks = open_locks(url)
    with holder(url, name) as process:
        assert await locks.try_hold(name) is None

        process.send_signal(signal.SIGKILL)

        async with asyncio.timeout(10), locks.hold(name):
            pass


async def test_waiting_for_another_process_does_not_stop_the_loop(url: str, name: str) -> None:
    locks = open_locks(url)
    gaps: list[float] = []

    async def enter() -> None:
        async with locks.hold(name):
            pass

    with holder(url, name) as process:
        waiting = asyncio.ensure_future(enter())
        for _ in range(20):
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            gaps.append(time.perf_counter() - before)
        assert not waiting.done()
        process.kill()
        await asyncio.wait_for(waiting, 10)

    assert sorted(gaps)[len(gaps) // 2] < 0.1


async def free(locks: Locks, name: str) -> None:
    lock = await locks.try_hold(name)
    assert lock is not None
    await lock.release()


async def test_lock_files_lie_beside_the_database_for_their_owner_only(tmp_path: Path) -> None:
    async with open_locks(f"sqlite:///{tmp_path}/my%20var/audit.db").hold("../../etc/passwd"):
        folder = tmp_path / "my var" / "locks"
        files = {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}

    assert list(files.values()) == [0o600]
    assert [name.partition(".")[0] for name in files] == ["etc-passwd"]
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("in the way")
    locks = open_locks(f"sqlite:///{tmp_path}/audit.db")

    for _ in range(2):
        with pytest.raises(LockUnavailableError, match=r"lock file .*/locks/home-a\..* cannot be opened"):
            await locks.try_hold("home-a")


async def test_a_database_that_does_not_answer_is_an_error_without_its_password() -> None:
    locks = open_locks("postgresql+psycopg://bot:hunter2@127.0.0.1:1/none")

    with pytest.raises(LockUnavailableError, match="does not answer") as raised:
        await locks.try_hold("home-a")

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("one", "other"), [("home:a", "home/a"), ("ä", "ö"), ("", "lock"), ("x" * 90, "x" * 91)]
)
def test_different_names_are_different_locks(one: str, other: str) -> None:
    assert lock_file_name(one) != lock_file_name(other)
    assert advisory_key(one) != advisory_key(other)
    assert len(lock_file_name(one)) < 100
    assert -(2**63) <= advisory_key(one) < 2**63
