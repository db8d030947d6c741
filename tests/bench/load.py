"""What stands in for the health watcher until it exists: blocked threads and parsed lists.

Eight threads wait in a blocking socket read of 50 ms, again and again, as calls to Cube on a thread pool
do. Once a second another thread parses one page of a sandbox list, 500 records as Cube sends them, into
views, the way the Cube adapter does.
"""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from bot.adapters.cube_sdk import _view
from bot.domain.sandbox import HOME_KEY, NODE_KEY, OWNER_KEY, REQUEST_KEY, WORKSPACE_KEY

THREADS = 8
WAIT_SECONDS = 0.05
RECORDS = 500
PAGE_SECONDS = 1.0


@contextmanager
def watching() -> Iterator[None]:
    """The load, for as long as the block runs. What broke in a thread of it is raised at the end."""
    stop = threading.Event()
    with ThreadPoolExecutor(THREADS + 1, thread_name_prefix="load") as pool:
        running = [pool.submit(_wait_in_calls, stop) for _ in range(THREADS)]
        running.append(pool.submit(_parse_pages, stop))
        try:
            yield
        finally:
            stop.set()
            for thread in running:
                thread.result()


def page(records: int = RECORDS) -> bytes:
    """One page of Cube's sandbox list."""
    return json.dumps([_record(number) for number in range(records)]).encode("utf-8")


def _record(number: int) -> dict[str, object]:
    mounts = [{"name": f"host-{path}", "path": path} for path in ("/root/.hermes", "/workspace")]
    return {
        "sandboxID": f"{number:032x}",
        "templateID": "hermes-studio",
        "clientID": "node-a",
        "state": "running",
        "startedAt": "2026-01-01T00:00:00Z",
        "endAt": "2026-01-01T01:00:00Z",
        "cpuCount": 2,
        "memoryMB": 2048,
        "metadata": {
            HOME_KEY: f"home-{number}",
            WORKSPACE_KEY: f"work-{number}",
            OWNER_KEY: f"U{number:08d}",
            NODE_KEY: "node-a",
            REQUEST_KEY: f"req-{number:08d}",
        },
        "volumeMounts": [*mounts, {"name": "host-skills", "path": "/opt/skills", "readOnly": True}],
    }


def _wait_in_calls(stop: threading.Event) -> None:
    near, far = socket.socketpair()
    with near, far:
        near.settimeout(WAIT_SECONDS)
        while not stop.is_set():
            with suppress(TimeoutError):
                near.recv(1)


def _parse_pages(stop: threading.Event) -> None:
    body = page()
    while not stop.wait(PAGE_SECONDS):
        views = [_view(entry) for entry in json.loads(body)]
        if len(views) != RECORDS:
            raise RuntimeError(f"parsed {len(views)} of {RECORDS} records")
