"""The unmodified SDK against the stand-in."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cubesandbox import ApiError, Sandbox, SandboxNotFoundError, Template, TemplateNotFoundError
from cubesandbox._pty import PtySize
from integration.standin_cube_kit import TEMPLATE_ID, Rig, mounts, running

pytestmark = pytest.mark.sandbox


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with running(tmp_path) as made:
        (made.shared / "home").mkdir()
        (made.shared / "skills").mkdir()
        yield made


def _create(rig: Rig, **options: object) -> Sandbox:
    return Sandbox.create("hermes-studio", config=rig.config, **options)


async def test_a_marker_crosses_to_a_second_sandbox_and_a_read_only_mount_refuses(rig: Rig) -> None:
    metadata = mounts(
        ("/data/shared/home", "/root/.hermes", False), ("/data/shared/skills", "/opt/skills", True)
    )

    def script() -> tuple[str, str, str]:
        first, second = _create(rig, metadata=metadata), _create(rig, metadata=metadata)
        first.commands.run("echo marked > /root/.hermes/marker", timeout=10)
        seen = second.commands.run("cat /root/.hermes/marker", timeout=10)
        refused = second.commands.run("touch /opt/skills/x", timeout=10)
        return seen.stdout, refused.stderr, (rig.shared / "home/marker").read_text()

    seen, refused, on_the_node = await asyncio.to_thread(script)

    assert (seen, on_the_node) == ("marked\n", "marked\n")
    assert "Read-only file system" in refused


async def test_an_empty_source_shadows_the_image(rig: Rig) -> None:
    def script() -> tuple[bool, bool]:
        plain = _create(rig)
        mounted = _create(rig, metadata=mounts(("/data/shared/home", "/root/.hermes", False)))
        path = "/root/.hermes/config.yaml"
        return plain.files.exists(path), mounted.files.exists(path)

    assert await asyncio.to_thread(script) == (True, False)


async def test_a_missing_source_is_500_and_leaves_nothing(rig: Rig) -> None:
    with pytest.raises(ApiError, match="prepareHostDirVolume: bind mount /data/shared/nowhere -> ") as caught:
        await asyncio.to_thread(_create, rig, metadata=mounts(("/data/shared/nowhere", "/mnt", False)))

    assert caught.value.status_code == 500
    assert str(caught.value).endswith("/rw/hostdir-0: no such file or directory")
    assert await asyncio.to_thread(Sandbox.list, rig.config) == []
    assert not [path for path in (rig.state / "cube/sandboxes").iterdir() if path.is_dir()]


async def test_missing_sources_at_once_are_all_refused_in_the_same_words(rig: Rig) -> None:
    async def refusal(number: int) -> str:
        metadata = mounts((f"/data/shared/nowhere-{number}", "/mnt", False))
        with pytest.raises(ApiError) as caught:
            await asyncio.to_thread(_create, rig, metadata=metadata)
        return str(caught.value)

    refused = await asyncio.gather(*(refusal(number) for number in range(40)))

    assert [text for text in refused if "prepareHostDirVolume: bind mount" not in text] == []


async def test_a_source_outside_the_prefix_is_refused(rig: Rig) -> None:
    with pytest.raises(ApiError, match='hostPath "/etc" is not within an allowed mount prefix') as caught:
        await asyncio.to_thread(_create, rig, metadata=mounts(("/etc", "/mnt", False)))

    assert caught.value.status_code == 400


async def test_pause_freezes_and_connect_resumes(rig: Rig) -> None:
    count = "cat /tmp/count"
    loop = "n=0; while true; do n=$((n+1)); echo $n > /tmp/count; done"

    def script() -> tuple[str, str, bool]:
        sandbox = _create(rig)
        sandbox.commands.run(f"setsid bash -c '{loop}' >/dev/null 2>&1 </dev/null &", timeout=10)
        while not sandbox.files.exists("/tmp/count"):
            pass
        sandbox.pause()
        paused = str(sandbox.get_info().state)
        again = Sandbox.connect(sandbox.sandbox_id, config=rig.config)
        resumed = str(again.get_info().state)
        before = again.commands.run(count, timeout=10).stdout
        while again.commands.run(count, timeout=10).stdout == before:
            pass
        return paused, resumed, True

    assert await asyncio.to_thread(script) == ("paused", "running", True)


async def test_the_second_kill_gives_not_found(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig)
    await asyncio.to_thread(sandbox.kill)

    with pytest.raises(SandboxNotFoundError, match=f"sandbox {sandbox.sandbox_id} not found"):
        await asyncio.to_thread(sandbox.kill)


async def test_info_and_lists_show_what_was_asked_for_but_no_host_path(rig: Rig) -> None:
    metadata = {"hermes-home": "alpha", **mounts(("/data/shared/skills", "/opt/skills", True))}
    sandbox = await asyncio.to_thread(_create, rig, metadata=metadata, timeout=600)

    info = await asyncio.to_thread(sandbox.get_info)
    (listed,) = await asyncio.to_thread(Sandbox.list, rig.config)
    (listed_v2,) = await asyncio.to_thread(Sandbox.list_v2, rig.config)

    assert info.metadata == {"hermes-home": "alpha"}
    assert info["volumeMounts"] == [{"name": "hostdir-0", "path": "/opt/skills", "readOnly": True}]
    assert info.end_at is not None
    assert (info.template_id, info.sandbox_domain, info.cpu_count) == (TEMPLATE_ID, "localhost", 2)
    assert "domain" not in listed
    assert listed == listed_v2
    assert "/data/shared" not in json.dumps([info, listed])


async def test_timeout_network_and_health_calls_are_taken(rig: Rig) -> None:
    def script() -> tuple[object, object, dict[str, object]]:
        sandbox = _create(rig)
        sandbox.set_timeout(120)
        ends = sandbox.get_info().end_at
        sandbox.set_timeout(-1)
        never = sandbox.get_info().end_at
        sandbox.update_network({"allow_out": ["10.0.0.5/32"]})
        sandbox.update_network(None)
        return ends, never, Sandbox.health(config=rig.config)

    ends, never, health = await asyncio.to_thread(script)

    assert ends is not None
    assert never is None
    assert health == {"status": "ok", "sandboxes": 0}


async def test_templates_are_found_by_id_and_alias(rig: Rig) -> None:
    (listed,) = await asyncio.to_thread(Template.list, config=rig.config)
    by_alias = await asyncio.to_thread(Template.get, "hermes-studio", config=rig.config)

    assert (listed.template_id, listed.name, listed.status) == (TEMPLATE_ID, "hermes-studio", "READY")
    assert by_alias.template_id == TEMPLATE_ID
    with pytest.raises(TemplateNotFoundError):
        await asyncio.to_thread(Template.get, "unheard-of", config=rig.config)


async def test_commands_have_the_users_shell_their_output_and_their_exit_code(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig, env_vars={"COLOUR": "blue"})

    result = await asyncio.to_thread(
        sandbox.commands.run,
        'echo "$COLOUR $SIZE $HOME $(pwd)"; echo wrong >&2; exit 3',
        envs={"SIZE": "big"},
        cwd="/opt",
        timeout=10,
    )
    other = await asyncio.to_thread(sandbox.commands.run, "id -un; pwd", user="user", timeout=10)

    assert (result.stdout, result.stderr, result.exit_code) == ("blue big /root /opt\n", "wrong\n", 3)
    assert other.stdout == "user\n/home/user\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "nobody-here"}, "unauthenticated: invalid username"),
        ({"cwd": "/nowhere"}, "cwd '/nowhere' does not exist"),
    ],
)
async def test_a_command_that_cannot_start_says_why(rig: Rig, options: dict[str, str], words: str) -> None:
    sandbox = await asyncio.to_thread(_create, rig)

    with pytest.raises(RuntimeError, match=words):
        await asyncio.to_thread(sandbox.commands.run, "true", timeout=10, **options)


async def test_a_command_that_outlives_its_timeout_is_killed(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig)

    with pytest.raises(Exception, match=r"deadline_exceeded|timed out"):
        await asyncio.to_thread(sandbox.commands.run, "sleep 77", timeout=0.3)

    # The caller's deadline and the agent's are the same; the kill may come a moment after the answer.
    gone = "while pgrep -x sleep >/dev/null; do read -t 0.1 <> <(:); done; echo none"
    left = await asyncio.to_thread(sandbox.commands.run, gone, timeout=10)
    assert left.stdout == "none\n"


async def test_megabytes_of_output_arrive_whole(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig)

    result = await asyncio.to_thread(
        sandbox.commands.run, "head -c 8000000 /dev/zero | tr '\\0' x", timeout=30
    )

    assert len(result.stdout) == 8_000_000


async def test_files_are_written_read_moved_and_removed(rig: Rig) -> None:
    def script() -> tuple[str, list[str], str, bool]:
        files = _create(rig).files
        files.write("/workspace/deep/note.txt", "straße")
        read = files.read("/workspace/deep/note.txt")
        files.make_dir("/workspace/other")
        names = [entry["name"] for entry in files.list("/workspace")]
        files.rename("/workspace/deep/note.txt", "/workspace/other/note.txt")
        kind = files.stat("/workspace/other/note.txt")["type"]
        files.remove("/workspace/other")
        return read, names, kind, files.exists("/workspace/other/note.txt")

    assert await asyncio.to_thread(script) == ("straße", ["deep", "other"], "FILE_TYPE_FILE", False)


async def test_a_file_that_is_not_there_or_may_not_be_written_says_so(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(
        _create, rig, metadata=mounts(("/data/shared/skills", "/opt/skills", True))
    )

    with pytest.raises(OSError, match=r"path ./nope. does not exist"):
        await asyncio.to_thread(sandbox.files.read, "/nope")
    with pytest.raises(OSError, match="read-only file system"):
        await asyncio.to_thread(sandbox.files.write, "/opt/skills/x", "data")


async def test_a_watched_directory_tells_of_a_new_file(rig: Rig) -> None:
    def script() -> tuple[str, str]:
        sandbox, writer = _create(rig), None
        with sandbox.files.watch_dir("/tmp") as watcher:
            writer = Sandbox.connect(sandbox.sandbox_id, config=rig.config)
            writer.files.write("/tmp/fresh", "x")
            event = next(iter(watcher))
        return event.name, event.type

    assert await asyncio.to_thread(script) == ("fresh", "EVENT_TYPE_CREATE")


async def test_a_terminal_takes_input_a_new_size_and_a_kill(rig: Rig) -> None:
    def script() -> tuple[str, int | None, bool]:
        sandbox = _create(rig)
        terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
        terminal.resize(PtySize(rows=40, cols=132))
        terminal.send_stdin("stty size; tty; exit 5\n")
        seen = b"".join(terminal).decode()
        other = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
        killed = other.kill()
        for _ in other:
            pass
        return seen, terminal.exit_code, killed and not other.kill()

    seen, code, killed = await asyncio.to_thread(script)

    assert "40 132" in seen
    assert "/dev/pts/" in seen
    assert code == 5
    assert killed


async def test_a_terminal_can_be_left_and_joined_again(rig: Rig) -> None:
    def script() -> str:
        sandbox = _create(rig)
        terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
        terminal.disconnect()
        joined = sandbox.pty.connect(terminal.pid, timeout=20)
        joined.send_stdin("echo back$((40+2)); exit\n")
        return b"".join(joined).decode()

    assert "back42" in await asyncio.to_thread(script)


async def test_what_only_the_real_system_has_answers_501(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig)

    with pytest.raises(ApiError, match="snapshots are not available") as snapshot:
        await asyncio.to_thread(sandbox.create_snapshot)
    with pytest.raises(ApiError) as code:
        await asyncio.to_thread(sandbox.run_code, "1 + 1")

    assert (snapshot.value.status_code, code.value.status_code) == (501, 501)


async def test_restricted_traffic_needs_the_token_of_the_create_answer(rig: Rig) -> None:
    sandbox = await asyncio.to_thread(_create, rig, network={"allow_public_traffic": False})
    stranger = await asyncio.to_thread(Sandbox.connect, sandbox.sandbox_id, config=rig.config)

    assert (await asyncio.to_thread(sandbox.commands.run, "echo in", timeout=10)).stdout == "in\n"
    with pytest.raises(RuntimeError, match="HTTP 403"):
        await asyncio.to_thread(stranger.commands.run, "true", timeout=10)


async def test_twenty_sandboxes_at_once(rig: Rig) -> None:
    made = await asyncio.gather(*(asyncio.to_thread(_create, rig) for _ in range(20)))

    results = await asyncio.gather(
        *(
            asyncio.to_thread(sandbox.commands.run, f"echo {at}", timeout=20)
            for at, sandbox in enumerate(made)
        )
    )

    assert [result.stdout for result in results] == [f"{at}\n" for at in range(20)]
    assert len({sandbox.sandbox_id for sandbox in made}) == 20
