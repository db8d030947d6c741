import json
import os
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.standin.templates import (
    TemplateError,
    add_template,
    ensure_templates,
    seed_default_home,
    template_id,
)

_DEADLINE_S = 15.0
_FIRST = {"username": "admin", "password": "123456"}


@dataclass
class Studio:
    """The programs of one template, run as this machine's processes on a home of their own."""

    rootfs: Path
    directory: Path
    port: int
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def web_home(self) -> Path:
        return self.directory / "web"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.rootfs}/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.directory),
            "HERMES_HOME": str(self.home),
            "HERMES_WEB_UI_HOME": str(self.web_home),
            "HERMES_STANDIN_BRIDGE_SOCKET": str(self.directory / "bridge.sock"),
            "HERMES_STANDIN_START_DELAY": "0",
            **self.extra,
        }

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def start(self) -> subprocess.CompletedProcess[str]:
        return self.run("hermes-web-ui", "start", "--port", str(self.port), "--no-open")

    def call(
        self, method: str, path: str, body: object = None, token: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        status, raw = self.raw(method, path, body, token)
        return status, json.loads(raw)

    def raw(self, method: str, path: str, body: object = None, token: str | None = None) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def health(self, until: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + _DEADLINE_S
        while True:
            health = self.call("GET", "/health")[1]
            if until(health) or time.monotonic() > deadline:
                return health
            time.sleep(0.02)

    def ready(self) -> None:
        assert self.start().returncode == 0
        assert self.health(_ready)["agent_bridge"]["ready"]

    def bridge_says(self, text: str) -> bool:
        deadline = time.monotonic() + _DEADLINE_S
        log = self.web_home / "logs/bridge.log"
        while text not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        return text in log.read_text()

    def login(self, **changed: str) -> str:
        status, answer = self.call("POST", "/api/auth/login", {**_FIRST, **changed})
        assert status == 200
        return str(answer["token"])


def _ready(health: dict[str, Any]) -> bool:
    return bool(health["agent_bridge"]["ready"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("templates")
    ensure_templates(directory)
    return directory


@pytest.fixture
def make(templates: Path) -> Iterator[Callable[[str], Studio]]:
    made: list[Studio] = []
    # Not below /tmp: there, Studio takes its own directory for a temporary one and leaves config.yaml alone.
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="studio-") as scratch:

        def build(template: str) -> Studio:
            directory = Path(scratch) / str(len(made))
            directory.mkdir()
            studio = Studio(templates / template / "rootfs", directory, _free_port())
            made.append(studio)
            return studio

        yield build
        for studio in made:
            studio.run(f"{studio.rootfs}/usr/local/bin/hermes-web-ui", "stop")


@pytest.fixture
def users(make: Callable[[str], Studio]) -> Studio:
    return make("hermes-studio")


@pytest.fixture
def legacy(make: Callable[[str], Studio]) -> Studio:
    return make("hermes-studio-legacy")


def test_start_serves_health_and_answers_everything_else_with_a_page(users: Studio) -> None:
    started = users.start()
    health = users.health(_ready)
    assert (started.returncode, started.stderr) == (0, "")
    assert (health["status"], health["gateway"], health["version"]) == (
        "ok",
        "running",
        "v0.19.0 (2026.7.20)",
    )
    assert health["agent_bridge"] == {"status": "ready", "reachable": True, "ready": True, "running": True}
    assert users.raw("GET", "/healthz")[1].startswith(b"<!doctype html>")
    assert users.call("GET", "/api/health")[0] == 401


def test_start_ignores_port_in_the_environment_and_says_when_it_already_runs(users: Studio) -> None:
    users.extra["PORT"] = str(_free_port())
    users.ready()
    again = users.start()
    assert again.returncode == 1
    assert "already running" in again.stdout


def test_exit_codes_of_stop_and_status(users: Studio) -> None:
    users.ready()
    codes = [
        users.run("hermes-web-ui", word).returncode for word in ("status", "stop", "stop", "status", "-v")
    ]
    assert codes == [0, 0, 1, 0, 0]


def test_restart_keeps_the_port(users: Studio) -> None:
    users.ready()
    assert users.run("hermes-web-ui", "restart").returncode == 0
    assert users.health(_ready)["agent_bridge"]["ready"]


def test_a_stop_folds_every_write_ahead_log_back(users: Studio) -> None:
    users.ready()
    token = users.login()
    users.call("POST", "/api/chat", {"session": "talk", "text": "hello"}, token)
    assert (users.home / "state.db-wal").exists()
    users.run("hermes-web-ui", "stop")
    assert not list(users.home.rglob("*-wal")) + list(users.web_home.rglob("*-wal"))
    with closing(sqlite3.connect(users.home / "state.db")) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    assert (users.home / ".clean_shutdown").exists()
    assert not (users.home / "gateway.pid").exists()


def test_a_conversation_can_be_made_and_read_back_after_a_restart(users: Studio) -> None:
    users.ready()
    token = users.login()
    said = users.call("POST", "/api/chat", {"session": "talk", "text": "hello"}, token)
    users.run("hermes-web-ui", "restart")
    users.health(_ready)
    assert said == (
        200,
        {"session": "talk", "reply": "Turn 1 of talk: you said “hello”.", "message_count": 2},
    )
    assert [row["id"] for row in users.call("GET", "/api/sessions", token=token)[1]["sessions"]] == ["talk"]
    messages = users.call("GET", "/api/sessions/talk/messages", token=token)[1]["messages"]
    assert [(row["role"], row["content"]) for row in messages] == [
        ("user", "hello"),
        ("assistant", "Turn 1 of talk: you said “hello”."),
    ]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/chat", {"session": "../x", "text": "hi"}, 400),
        ("POST", "/api/chat", {"session": "x", "text": " "}, 400),
        ("GET", "/api/sessions/none/messages", None, 404),
        ("GET", "/api/nothing", None, 404),
        ("POST", "/api/chat", ["no", "object"], 400),
    ],
)
def test_bad_calls_are_refused(users: Studio, method: str, path: str, body: object, status: int) -> None:
    users.ready()
    answer = users.call(method, path, body, users.login())
    assert answer[0] == status
    assert answer[1]["error"]


def test_the_first_login_makes_the_super_admin_who_has_to_change_it(users: Studio) -> None:
    users.ready()
    before = users.call("GET", "/api/auth/status")
    wrong = users.call("POST", "/api/auth/login", {"username": "eve", "password": "secret-1"})
    token = users.login()
    assert before == (200, {"hasUsers": False})
    assert wrong[0] == 401
    assert users.call("GET", "/api/auth/status")[1] == {"hasUsers": True}
    me = users.call("GET", "/api/auth/me", token=token)[1]
    assert (me["user"]["username"], me["user"]["role"]) == ("admin", "super_admin")
    assert me["requiresCredentialChange"] is True


def test_a_changed_password_replaces_the_first_one(users: Studio) -> None:
    users.ready()
    token = users.login()
    change = {"currentPassword": "123456", "newPassword": "short"}
    too_short = users.call("POST", "/api/auth/change-password", change, token)[0]
    wrong = users.call(
        "POST",
        "/api/auth/change-password",
        {**change, "currentPassword": "x", "newPassword": "longer"},
        token,
    )[0]
    done = users.call("POST", "/api/auth/change-password", {**change, "newPassword": "longer"}, token)[0]
    assert (too_short, wrong, done) == (400, 400, 200)
    assert users.call("POST", "/api/auth/login", _FIRST)[0] == 401
    again = users.login(password="longer")
    assert users.call("GET", "/api/auth/me", token=again)[1]["requiresCredentialChange"] is False


def test_a_jwt_opens_the_api_as_bearer_and_in_the_query_and_the_token_file_does_not(users: Studio) -> None:
    users.ready()
    token = users.login()
    secret = (users.web_home / ".token").read_text()
    assert len(secret) == 65
    assert (users.web_home / ".token").stat().st_mode & 0o777 == 0o600
    assert users.call("GET", "/api/sessions", token=token)[0] == 200
    assert users.call("GET", f"/api/sessions?token={token}")[0] == 200
    assert users.call("GET", "/api/sessions", token=secret.strip())[0] == 401
    assert users.call("GET", f"/api/sessions?token={secret.strip()}")[0] == 401
    head, claims, signature = token.split(".")
    assert users.call("GET", "/api/sessions", token=f"{head}.{claims}.{signature[::-1]}")[0] == 401


def test_a_given_secret_signs_and_no_token_file_is_written(users: Studio) -> None:
    users.extra["AUTH_TOKEN"] = "EXAMPLE-" + "0" * 56
    users.ready()
    assert users.call("GET", "/api/sessions", token=users.extra["AUTH_TOKEN"])[0] == 401
    assert users.call("GET", "/api/sessions", token=users.login())[0] == 200
    assert not (users.web_home / ".token").exists()


def test_an_expired_jwt_is_refused(users: Studio) -> None:
    users.extra["HERMES_WEB_UI_AUTH_JWT_EXPIRES_IN"] = "0s"
    users.ready()
    assert users.call("GET", "/api/auth/me", token=users.login())[0] == 401


def test_ten_failures_lock_the_address_until_the_locks_are_cleared(users: Studio) -> None:
    users.ready()
    guess = {"username": "admin", "password": "guess"}
    failures = [users.call("POST", "/api/auth/login", guess)[0] for _ in range(10)]
    locked = users.call("POST", "/api/auth/login", _FIRST)[0]
    users.run("hermes-web-ui", "clear-login-locks")
    assert failures == [401] * 10
    assert locked == 429
    assert users.call("POST", "/api/auth/login", _FIRST)[0] == 200


def test_fifty_failures_in_all_lock_everybody(users: Studio) -> None:
    users.ready()
    now = time.time()
    state = {"addresses": {}, "failures": [now] * 49, "locked_until": 0}
    (users.web_home / ".login-lock.json").write_text(json.dumps(state))
    users.call("POST", "/api/auth/login", {"username": "admin", "password": "guess"})
    assert users.call("POST", "/api/auth/login", _FIRST)[0] == 503


def test_losing_the_web_home_brings_the_first_login_back(users: Studio) -> None:
    users.ready()
    token = users.login()
    users.call(
        "POST", "/api/auth/change-password", {"currentPassword": "123456", "newPassword": "longer"}, token
    )
    users.run("hermes-web-ui", "stop")
    users.web_home.rename(users.directory / "lost")
    users.ready()
    assert users.call("GET", "/api/auth/me", token=token)[0] == 401
    assert users.call("POST", "/api/auth/login", _FIRST)[0] == 200


def test_reset_default_login_brings_the_first_login_back(users: Studio) -> None:
    users.ready()
    token = users.login()
    users.call(
        "POST", "/api/auth/change-password", {"currentPassword": "123456", "newPassword": "longer"}, token
    )
    assert users.run("hermes-web-ui", "reset-default-login").returncode == 0
    assert users.call("POST", "/api/auth/login", _FIRST)[0] == 200


def test_the_token_generation_takes_its_token_file(legacy: Studio) -> None:
    started = legacy.start()
    token = (legacy.web_home / ".token").read_text().strip()
    legacy.health(_ready)
    assert f"/#/?token={token}" in started.stdout
    assert legacy.call("GET", "/api/auth/me", token=token) == (
        200,
        {"authenticated": True, "authDisabled": False},
    )
    assert legacy.call("GET", f"/api/sessions?token={token}") == (200, {"sessions": []})
    assert legacy.call("GET", "/api/sessions")[0] == 401
    assert legacy.call("POST", "/api/auth/login", _FIRST)[0] == 401
    assert legacy.call("GET", "/health")[1]["webui_version"] == "0.5.35"


def test_auth_disabled_opens_only_the_token_generation(legacy: Studio, users: Studio) -> None:
    for studio in (legacy, users):
        studio.extra["AUTH_DISABLED"] = "1"
        studio.ready()
    assert legacy.call("GET", "/api/sessions")[0] == 200
    assert users.call("GET", "/api/sessions")[0] == 401


def test_the_page_names_its_generation(legacy: Studio, users: Studio) -> None:
    for studio in (legacy, users):
        studio.ready()
    assert b'GENERATION = "token"' in legacy.raw("GET", "/")[1]
    assert b'GENERATION = "users"' in users.raw("GET", "/")[1]


def test_the_bridge_gets_ready_after_its_delay(users: Studio) -> None:
    users.extra["HERMES_STANDIN_START_DELAY"] = "0.6"
    began = time.monotonic()
    users.start()
    first = users.health(lambda health: health["agent_bridge"]["reachable"])
    users.health(_ready)
    assert first["agent_bridge"]["status"] == "starting"
    assert time.monotonic() - began >= 0.6


def test_an_image_listens_only_when_everything_is_open(users: Studio) -> None:
    users.extra |= {"HERMES_STANDIN_LISTEN_WHEN_READY": "1", "HERMES_STANDIN_START_DELAY": "0.5"}
    assert users.start().returncode == 0
    assert users.call("GET", "/health")[1]["agent_bridge"]["ready"] is True
    assert (users.home / "gateway.pid").exists()


def test_a_dead_bridge_shows_only_in_agent_bridge(users: Studio) -> None:
    users.ready()
    token = users.login()
    listing = subprocess.run(
        ["pgrep", "-f", f"{users.rootfs}.*/bridge$"], capture_output=True, text=True, check=True
    )
    os.kill(int(listing.stdout), signal.SIGKILL)
    health = users.health(lambda health: not health["agent_bridge"]["running"])
    assert (health["status"], health["gateway"]) == ("ok", "running")
    assert health["agent_bridge"]["ready"] is False
    assert users.call("POST", "/api/chat", {"session": "talk", "text": "hi"}, token)[0] == 502


def test_version_is_empty_without_hermes(users: Studio) -> None:
    program = f"{users.rootfs}/usr/local/bin/hermes-web-ui"
    users.extra["PATH"] = "/usr/bin:/bin"
    started = users.run(program, "start", "--port", str(users.port))
    health = users.call("GET", "/health")[1]
    users.run(program, "stop")
    assert (started.returncode, health["status"], health["version"]) == (0, "ok", "")


def test_a_wrong_agent_root_keeps_the_bridge_down(users: Studio) -> None:
    users.extra["HERMES_AGENT_ROOT"] = "/nowhere"
    users.start()
    users.health(lambda health: health["agent_bridge"]["reachable"])
    assert users.bridge_says("run_agent.py not found")
    assert users.call("GET", "/health")[1]["agent_bridge"]["ready"] is False


def test_start_adopts_whoever_has_the_port_and_stop_ends_it(users: Studio) -> None:
    code = (
        f"import socket, time; s = socket.create_server(('127.0.0.1', {users.port}));"
        " print(1, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(["/usr/bin/python3", "-c", code], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            started = users.start()
            stopped = users.run("hermes-web-ui", "stop")
            assert other.wait(_DEADLINE_S) == -signal.SIGTERM
        finally:
            other.kill()
    assert (started.returncode, stopped.returncode) == (1, 0)
    assert f"already running (PID {other.pid}" in started.stdout


def test_a_stale_pid_file_of_another_sandbox_does_not_matter(users: Studio) -> None:
    users.web_home.mkdir()
    (users.web_home / "server.pid").write_text(f"{os.getpid()}\n")
    assert users.start().returncode == 0


def test_faults_of_the_sandbox_are_obeyed(make: Callable[[str], Studio], tmp_path: Path) -> None:
    ensure_templates(tmp_path)
    studio = make("hermes-studio")
    studio.rootfs = tmp_path / "hermes-studio/rootfs"
    (studio.rootfs / "run/standin").mkdir(parents=True)
    faults = studio.rootfs / "run/standin/faults.json"
    faults.write_text('{"studio": "does-not-start"}')
    refused = studio.start()
    faults.write_text('{"studio": "never-ready"}')
    started = studio.start()
    assert studio.bridge_says("never reported back")
    assert (refused.returncode, started.returncode) == (1, 0)
    assert "failed to start" in refused.stderr
    assert studio.call("GET", "/health")[1]["agent_bridge"]["ready"] is False


def test_a_start_rewrites_the_settings_and_adds_its_skills(users: Studio) -> None:
    users.home.mkdir()
    (users.home / "config.yaml").write_text("# mine\nterminal:\n  backend: local\n")
    (users.home / "config.yaml").chmod(0o600)
    users.ready()
    config = yaml.safe_load((users.home / "config.yaml").read_text())
    assert set(config) == {"terminal", "mcp_servers"}
    assert len(config["mcp_servers"]) == 3
    assert (users.home / "config.yaml").stat().st_mode & 0o777 == 0o644
    assert (users.home / "config.yaml.bak").read_text().startswith("# mine")
    assert len(list((users.home / "skills").glob("*/SKILL.md"))) == 5


def test_with_both_switches_on_the_settings_and_skills_stay_untouched(users: Studio) -> None:
    seed_default_home(users.directory)
    (users.directory / "hermes-homes/default").rename(users.home)
    before = {path: path.read_bytes() for path in users.home.rglob("*") if path.is_file()}
    users.extra.update(HERMES_WEB_UI_DISABLE_MCP_AUTOINJECT="1", HERMES_WEB_UI_DISABLE_SKILL_INJECTION="1")
    users.ready()
    assert {path: path.read_bytes() for path in before} == before
    assert not (users.home / "config.yaml.bak").exists()
    assert [path.name for path in (users.home / "skills").iterdir()] == ["team-handover"]


def test_a_corrupt_config_is_not_rewritten(users: Studio) -> None:
    users.home.mkdir()
    (users.home / "config.yaml").write_text("terminal: [\n")
    users.ready()
    assert (users.home / "config.yaml").read_text() == "terminal: [\n"


def test_the_gateway_runs_unless_it_is_switched_off(make: Callable[[str], Studio]) -> None:
    with_gateway, without = make("hermes-studio"), make("hermes-studio")
    without.extra["HERMES_WEB_UI_DISABLE_GATEWAY_AUTOSTART"] = "1"
    for studio in (with_gateway, without):
        studio.ready()
    deadline = time.monotonic() + _DEADLINE_S
    while "is running" not in (shown := with_gateway.run("hermes", "gateway", "status").stdout):
        assert time.monotonic() < deadline
    assert "is running" in shown
    assert "not running" in without.run("hermes", "gateway", "status").stdout


def test_a_second_gateway_is_refused_and_replace_takes_over(users: Studio) -> None:
    users.ready()
    deadline = time.monotonic() + _DEADLINE_S
    while not (users.home / "gateway.pid").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    first = json.loads((users.home / "gateway.pid").read_text())["pid"]
    second = users.run("hermes", "gateway", "run")
    assert second.returncode == 1
    assert f"already running (PID {first})" in second.stderr


def test_hermes_fills_an_empty_home_but_writes_no_config(users: Studio) -> None:
    shown = users.run("hermes", "config", "get", "terminal.backend")
    assert (shown.returncode, shown.stdout) == (0, "local\n")
    assert (users.home / "SOUL.md").exists()
    assert (users.home / "skills").stat().st_mode & 0o777 == 0o700
    assert not (users.home / "config.yaml").exists()


def test_hermes_config_set_keeps_the_rest_and_mirrors_terminal_keys(users: Studio) -> None:
    users.home.mkdir()
    (users.home / "config.yaml").write_text("model:\n  default: m-1\napprovals:\n  mode: off\n")
    codes = [
        users.run("hermes", "config", "set", key, value).returncode
        for key, value in (("terminal.backend", "docker"), ("terminal.docker_network", "false"))
    ]
    assert codes == [0, 0]
    assert yaml.safe_load((users.home / "config.yaml").read_text()) == {
        "model": {"default": "m-1"},
        "approvals": {"mode": False},
        "terminal": {"backend": "docker", "docker_network": False},
    }
    assert (users.home / ".env").read_text() == "TERMINAL_ENV=docker\nTERMINAL_DOCKER_NETWORK=False\n"
    assert users.run("hermes", "config", "get", "no.such.key").returncode == 1


def test_hermes_reads_defaults_from_a_corrupt_config_and_keeps_a_copy(users: Studio) -> None:
    users.home.mkdir()
    (users.home / "config.yaml").write_text("terminal: [\n")
    shown = users.run("hermes", "config", "get", "terminal.backend")
    assert (shown.returncode, shown.stdout) == (0, "local\n")
    assert "cannot be read" in shown.stderr
    assert len(list(users.home.glob("config.yaml.corrupt.*.bak"))) == 1


def test_hermes_lists_linked_skills_once_and_skips_what_it_cannot_read(users: Studio) -> None:
    seed_default_home(users.directory)
    skills = users.home / "skills"
    skills.mkdir(parents=True)
    public = users.directory / "hermes-common-skills"
    (skills / "deploy-check").symlink_to(public / "deploy-check")
    (skills / "second-link").symlink_to(public / "deploy-check")
    (skills / "gone").symlink_to(public / "gone")
    (skills / "broken").mkdir()
    (skills / "broken/SKILL.md").write_bytes(b"\xff\xfe\x00")
    (skills / "._SKILL.md").write_bytes(b"\x00")
    rows = json.loads(users.run("hermes", "skills", "list", "--json").stdout)
    assert [(row["name"], row["category"], row["source"]) for row in rows] == [
        ("deploy-check", None, "local")
    ]


def test_hermes_backup_copies_databases_that_are_in_use(users: Studio) -> None:
    users.ready()
    users.call("POST", "/api/chat", {"session": "talk", "text": "hello"}, users.login())
    done = users.run("hermes", "backup", "--quick", "--label", "before rebuild")
    (snapshot,) = (users.home / "state-snapshots").iterdir()
    with closing(sqlite3.connect(snapshot / "state.db")) as db:
        assert db.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    assert done.returncode == 0
    assert snapshot.name.endswith("-before-rebuild")


def test_hermes_doctor_ends_with_0_whatever_it_finds(users: Studio) -> None:
    users.home.mkdir()
    (users.home / "state.db").write_bytes(b"not a database, and long enough to be looked at" * 100)
    done = users.run("hermes", "doctor")
    assert done.returncode == 0
    assert "FAIL state.db is sound" in done.stdout


def test_hermes_version_leaves_its_mark(users: Studio) -> None:
    users.home.mkdir()
    assert users.run("hermes", "--version").stdout == "Hermes Agent v0.19.0 (2026.7.20)\n"
    assert (users.home / ".update_check").exists()


@pytest.mark.sandbox
def test_hermes_dies_on_a_read_only_home(users: Studio) -> None:
    users.home.mkdir()
    script = (
        f"mount --bind {users.home} {users.home} && mount -o remount,ro,bind {users.home} && hermes status"
    )
    done = users.run("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
    assert done.returncode == 1
    assert "OSError: [Errno 30]" in done.stderr


def test_templates_are_described_and_made_once(tmp_path: Path) -> None:
    ensure_templates(tmp_path)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    ensure_templates(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == made
    described = json.loads((tmp_path / "hermes-studio/template.json").read_text())
    assert described["templateID"] == template_id("hermes-studio")
    assert described["aliases"] == ["hermes-studio"]
    assert described["exposedPorts"] == [9000, 49983]
    assert "start" not in described
    assert json.loads((tmp_path / "hermes-studio-running/template.json").read_text())["start"][-5:] == [
        "/usr/local/bin/hermes-web-ui",
        "start",
        "--port",
        "9000",
        "--no-open",
    ]


def test_an_outdated_template_is_made_again(tmp_path: Path) -> None:
    ensure_templates(tmp_path)
    (tmp_path / "hermes-studio/.made-from").write_text("older sources\n")
    (tmp_path / "hermes-studio/rootfs/usr/local/bin/hermes").unlink()
    ensure_templates(tmp_path)
    assert (tmp_path / "hermes-studio/rootfs/usr/local/bin/hermes").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hermes-studio",
        "hermes-studio-legacy",
        "hermes-studio-running",
    ]


def test_the_image_has_a_home_of_its_own(templates: Path) -> None:
    home = templates / "hermes-studio/rootfs/root/.hermes"
    with closing(sqlite3.connect(f"file:{home}/state.db?mode=ro", uri=True)) as db:
        assert db.execute("SELECT id FROM sessions").fetchall() == [("image-build",)]
    assert (home / "config.yaml").exists()
    assert (home / "skills/image-notes/SKILL.md").exists()


@pytest.mark.parametrize("layout", ["rootfs", "bare", "described"])
def test_a_directory_becomes_a_template_without_a_copy(tmp_path: Path, layout: str) -> None:
    source = tmp_path / "source"
    rootfs = source if layout == "bare" else source / "rootfs"
    (rootfs / "usr/bin").mkdir(parents=True)
    if layout == "described":
        (source / "template.json").write_text('{"templateID": "tpl-given", "memoryMB": 4096}')
    add_template(tmp_path / "templates", "my-studio", source)
    described = json.loads((tmp_path / "templates/my-studio/template.json").read_text())
    assert (tmp_path / "templates/my-studio/rootfs").resolve() == rootfs
    assert described["aliases"] == ["my-studio"]
    expected = ("tpl-given", 4096) if layout == "described" else (template_id("my-studio"), 2048)
    assert (described["templateID"], described["memoryMB"]) == expected


@pytest.mark.parametrize("name", ["tpl-x", "Upper", "", "a/b"])
def test_a_name_that_is_no_alias_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "usr").mkdir()
    with pytest.raises(TemplateError, match="as in my-studio"):
        add_template(tmp_path / "templates", name, tmp_path)


def test_a_directory_without_a_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="neither rootfs/ nor a root file system"):
        add_template(tmp_path / "templates", "my-studio", tmp_path)


@pytest.mark.parametrize(("told", "said"), [("{", "is not JSON"), ("[]", "must hold a JSON object")])
def test_a_description_that_is_no_object_is_refused(tmp_path: Path, told: str, said: str) -> None:
    (tmp_path / "rootfs/usr").mkdir(parents=True)
    (tmp_path / "template.json").write_text(told)
    with pytest.raises(TemplateError, match=said):
        add_template(tmp_path / "templates", "my-studio", tmp_path)


def test_seeding_makes_what_is_absent_and_touches_nothing_that_exists(tmp_path: Path) -> None:
    (tmp_path / "hermes-homes/default").mkdir(parents=True)
    seed_default_home(tmp_path)
    assert list((tmp_path / "hermes-homes/default").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "hermes-common-skills").iterdir()) == [
        "deploy-check",
        "log-triage",
        "release-notes",
    ]
    assert (tmp_path / "hermes-workspaces").is_dir()
