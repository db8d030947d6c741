"""Commands and terminals inside a sandbox, through the unmodified SDK, on every version of the platform."""

import base64
import threading
import time

import pytest
from contract.sdk.site import Site, until
from cubesandbox._pty import PtySize

pytestmark = pytest.mark.sandbox
TEN_MEGABYTES = 10_000_000


def test_output_errors_and_exit_code_come_apart(there: Site) -> None:
    result = there.create().commands.run("echo out; echo err >&2; exit 3", timeout=10)

    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 3)


def test_variables_of_the_sandbox_and_of_the_command(there: Site) -> None:
    sandbox = there.create(env_vars={"COLOUR": "blue", "SIZE": "small"})

    result = sandbox.commands.run(
        'echo "$COLOUR $SIZE $EMPTY."', envs={"SIZE": "big", "EMPTY": ""}, timeout=10
    )

    assert result.stdout == "blue big .\n"


def test_a_directory_to_start_in(there: Site) -> None:
    sandbox = there.create()
    sandbox.commands.run("mkdir -p '/tmp/a dir'", timeout=10)

    inside = sandbox.commands.run("pwd", cwd="/tmp/a dir", timeout=10)
    at_home = sandbox.commands.run("pwd", timeout=10)

    assert (inside.stdout, at_home.stdout) == ("/tmp/a dir\n", "/root\n")


def test_another_user(there: Site) -> None:
    sandbox = there.create()

    result = sandbox.commands.run("id -un; echo $HOME; touch /root/x", user="user", timeout=10)

    assert result.stdout == "user\n/home/user\n"
    assert "Permission denied" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "nobody-here"}, "unauthenticated: invalid username"),
        ({"cwd": "/nowhere"}, "cwd '/nowhere' does not exist"),
    ],
)
def test_a_command_that_cannot_start_says_why(there: Site, options: dict[str, str], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        there.create().commands.run("true", timeout=10, **options)


def test_ten_megabytes_of_output_arrive_whole(there: Site) -> None:
    result = there.create().commands.run(f"head -c {TEN_MEGABYTES} /dev/zero | tr '\\0' x", timeout=60)

    assert len(result.stdout) == TEN_MEGABYTES


def test_bytes_that_are_no_text_are_not_lost(there: Site) -> None:
    sandbox = there.create()
    sandbox.commands.run("printf '\\000\\377\\376ok' > /tmp/binary", timeout=10)

    encoded = sandbox.commands.run("base64 -w0 /tmp/binary", timeout=10).stdout

    assert base64.b64decode(encoded) == b"\x00\xff\xfeok"


def test_output_streams_while_the_command_runs(there: Site) -> None:
    sandbox = there.create()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
    terminal.send_stdin("echo $((6*7)); while [ ! -e /tmp/go-on ]; do sleep 0.02; done; exit\n")

    seen = b""
    for piece in terminal:
        seen += piece
        if b"42\r\n" in seen:
            break

    sandbox.files.write("/tmp/go-on", "")
    assert b"42\r\n" in seen


def test_a_command_that_outlives_its_timeout_is_killed(there: Site) -> None:
    sandbox = there.create()

    with pytest.raises(Exception, match=r"deadline_exceeded|timed out"):
        sandbox.commands.run("sleep 77", timeout=0.3)

    until(lambda: sandbox.commands.run("pgrep -fx 'sleep 77'", timeout=10).exit_code, 1)


def test_a_command_that_a_signal_ends_says_so(there: Site) -> None:
    result = there.create().commands.run("kill -TERM $$", timeout=10)

    assert result.exit_code != 0


def test_a_background_process_outlives_its_command(there: Site) -> None:
    sandbox = there.create()
    sandbox.commands.run("setsid sleep 71 >/dev/null 2>&1 </dev/null &", timeout=10)

    assert sandbox.commands.run("pgrep -fx 'sleep 71' >/dev/null", timeout=10).exit_code == 0


def test_orphans_are_collected(there: Site) -> None:
    sandbox = there.create()
    sandbox.commands.run("(setsid sh -c 'sleep 0.05' >/dev/null 2>&1 </dev/null &)", timeout=10)

    until(lambda: sandbox.commands.run("ps -eo stat= | grep -c Z", timeout=10).stdout, "0\n")


def test_many_commands_at_once_do_not_mix(there: Site) -> None:
    sandbox = there.create()
    said: dict[int, str] = {}

    def run(at: int) -> None:
        said[at] = sandbox.commands.run(f"sleep 0.0{at % 5}; echo {at}", timeout=20).stdout

    threads = [threading.Thread(target=run, args=(at,)) for at in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert said == {at: f"{at}\n" for at in range(20)}


def test_a_sandbox_that_rested_answers_at_once(there: Site) -> None:
    """The agent of the stand-in sleeps when nobody needs it; nobody may notice."""
    sandbox = there.create()
    begin = time.monotonic()

    result = sandbox.commands.run("echo up", timeout=10)

    assert result.stdout == "up\n"
    assert time.monotonic() - begin < 5


def test_a_terminal_takes_input_a_new_size_and_a_kill(there: Site) -> None:
    sandbox = there.create()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
    terminal.resize(PtySize(rows=40, cols=132))
    terminal.send_stdin("stty size; tty; exit 5\n")
    seen = b"".join(terminal).decode()
    other = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)

    killed = other.kill()

    for _ in other:
        pass
    assert "40 132" in seen
    assert "/dev/pts/" in seen
    assert terminal.exit_code == 5
    assert killed
    assert not other.kill()


def test_a_terminal_can_be_left_and_joined_again(there: Site) -> None:
    sandbox = there.create()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), timeout=20)
    terminal.disconnect()

    joined = sandbox.pty.connect(terminal.pid, timeout=20)

    joined.send_stdin("echo back$((40+2)); exit\n")
    assert "back42" in b"".join(joined).decode()
