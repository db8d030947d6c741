"""Whatever a value looks like, it arrives as it was, and nothing of it is run."""

import base64
import json
import posixpath
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.programs.assemble import NODE_FILES, NODE_VERBS, SKILLS_FILES, program
from bot.adapters.programs.beneath import Refusal
from bot.adapters.programs.guest_answer import ANSWER_PREFIX
from bot.adapters.programs.node_seed import stays_inside
from bot.adapters.programs.shapes import parse_access, parse_env, variable_allowed

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
NASTY = st.one_of(TEXT, st.sampled_from(["$(touch pwned)", "`id`", "';x='", '"\\', "\n\r\t", "--", "%s{}"]))
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,20}", fullmatch=True).filter(
    lambda name: variable_allowed(name, "")
)


def shell(command: str, stdin: bytes, cwd: str) -> subprocess.CompletedProcess[bytes]:
    """As sshd and envd run a command."""
    return subprocess.run(["/bin/sh", "-c", command], input=stdin, capture_output=True, cwd=cwd, check=False)


@settings(max_examples=25, deadline=None)
@given(env=st.dictionaries(NAMES, NASTY, max_size=5))
def test_an_environment_survives_the_shell_the_program_and_the_file(env: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "hermes-common-skills").mkdir()
        base = {"shared_root": directory, "home_id": "h", "workspace_id": "w", "seconds": 10}
        command = f"{shlex.quote(sys.executable)} -I -c {shlex.quote(program(NODE_FILES, NODE_VERBS))}"
        given_ = json.dumps({**base, "env": env, "min_free_bytes": 0}).encode()

        stored = shell(f"{command} prepare", given_, directory)
        read = shell(f"{command} launch_env", json.dumps(base).encode(), directory)

        assert "ok" in json.loads(stored.stdout), stored
        assert json.loads(read.stdout) == {"ok": {"env": env}}
        assert sorted(path.name for path in Path(directory).iterdir()) == [
            "hermes-common-skills",
            "hermes-homes",
            "hermes-workspaces",
        ]


@settings(max_examples=25, deadline=None)
@given(names=st.lists(NASTY, max_size=4, unique=True))
def test_skill_names_survive_the_command_line_and_touch_nothing_outside(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        for name in ("home", "public"):
            (Path(directory) / name).mkdir()
        arguments = {
            "home": f"{directory}/home",
            "public": f"{directory}/public",
            "link": names,
            "remove": [],
        }
        packed = base64.b64encode(json.dumps(arguments).encode()).decode()
        text = shlex.quote(program(SKILLS_FILES, ("inventory", "apply")))

        done = shell(f"{shlex.quote(sys.executable)} -I -c {text} apply {packed}", b"", directory)

        line = done.stdout.decode().splitlines()[-1]
        assert json.loads(line.removeprefix(ANSWER_PREFIX)) == {"ok": {"fates": dict.fromkeys(names, "gone")}}
        assert sorted(path.name for path in Path(directory).iterdir()) == ["home", "public"]


@given(data=st.binary(max_size=300))
def test_reading_a_stored_file_never_ends_in_anything_but_a_value_or_a_refusal(data: bytes) -> None:
    for read in (parse_env, parse_access):
        try:
            found = read(data)
        except Refusal:
            continue
        assert all(isinstance(text, str) for pair in found.items() for text in pair)


@given(parts=st.lists(st.sampled_from("ab"), max_size=4), target=st.text("ab./", max_size=12))
def test_a_link_that_stays_inside_never_leads_outside(parts: list[str], target: str) -> None:
    directory = "/".join(parts)

    inside = stays_inside(directory, target)

    resolved = posixpath.normpath(posixpath.join("/home", directory, target))
    assert not inside or resolved == "/home" or resolved.startswith("/home/")
