"""A stand-in of its own process for the SDK: nothing of it is reached but through the SDK and HTTP."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from cubesandbox import Config, Sandbox

END_SECONDS = 20.0
DEADLINE_SECONDS = 10.0


class Site:
    """One installation that plays one version of the platform."""

    def __init__(self, platform: str, state: Path, where: dict[str, str]) -> None:
        host, port = where["cube_proxy"].split(":")
        self.platform = platform
        self.shared = state / "nodes/node-a/shared"
        self.proxy = f"http://{host}:{port}"
        self.config = Config(
            api_url=where["cube_api"], proxy_node_ip=host, proxy_port=int(port), sandbox_domain="localhost"
        )
        self.api = httpx.Client(base_url=where["cube_api"], timeout=30)
        self._control = httpx.Client(base_url=where["control"], timeout=30)

    def create(self, **options: Any) -> Sandbox:
        return Sandbox.create("hermes-studio", config=self.config, **options)

    def directory(self, name: str) -> str:
        """A new directory on the node; its ``hostPath``."""
        (self.shared / name).mkdir(parents=True)
        return f"/data/shared/{name}"

    def ask(self, sandbox: Sandbox, path: str = "/health", *, port: int = 49983) -> httpx.Response:
        """A GET through the proxy, by Host."""
        host = f"{port}-{sandbox.sandbox_id}.localhost"
        return httpx.get(f"{self.proxy}{path}", headers={"Host": host}, timeout=30)

    def state(self, sandbox: Sandbox) -> str:
        answer = self.api.get(f"/sandboxes/{sandbox.sandbox_id}")
        return str(answer.json()["state"]) if answer.status_code == 200 else "gone"

    def ends_at(self, sandbox: Sandbox) -> str | None:
        """When the idle time runs out, as ISO 8601; None = never."""
        at: str | None = self.api.get(f"/sandboxes/{sandbox.sandbox_id}").json().get("endAt")
        return at

    def pass_time(self, seconds: float) -> None:
        self._control.post("/clock", json={"advance_s": seconds}).raise_for_status()

    def clean(self) -> None:
        """Forget faults and end every sandbox."""
        self._control.delete("/faults").raise_for_status()
        for entry in self.api.get("/sandboxes").json():
            one = f"/sandboxes/{entry['sandboxID']}"
            if self.api.delete(one).status_code not in {204, 404}:  # 0.5.1 deletes no paused one
                self.api.post(f"{one}/connect", json={})
                self.api.delete(one)

    def close(self) -> None:
        self.api.close()
        self._control.close()


def until(look: Callable[[], Any], wanted: Any) -> None:
    """Look until ``wanted`` is seen."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while (seen := look()) != wanted:
        assert time.monotonic() < deadline, f"still {seen!r}, wanted {wanted!r}"
        time.sleep(0.02)


def mounts(*entries: tuple[str, str, bool]) -> dict[str, str]:
    """Metadata with host-mounts: source, target, read-only."""
    told = [{"hostPath": source, "mountPath": target, "readOnly": ro} for source, target, ro in entries]
    return {"host-mount": json.dumps(told)}


@contextmanager
def site(platform: str, folder: Path) -> Iterator[Site]:
    """Started, and ended whatever happens."""
    state = folder / "state"
    with (folder / "standin.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.cli", "standin", "--state", str(state), "--platform", platform],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "standin.log").read_text()
        there = Site(platform, state, json.loads(line))
        try:
            yield there
        finally:
            there.close()
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
