"""Our payloads as TypeScript, and what Slack's own types say of them.

@slack/types is laxer than it looks, and what it leaves open is closed here: a view takes any block at all
there (``AnyBlock``), and a plan any object for a task. With those holes a wrong block in a modal compiles.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.golden.corpus import Payload

NODE_MODULES = Path(__file__).parents[1] / "node" / "node_modules"
TIMEOUT_S = 120

PRELUDE = """\
import type { HomeView, KnownBlock, ModalView, PlanBlock, TaskCardBlock } from '@slack/types';
type StrictPlan = Omit<PlanBlock, 'tasks'> & { type: 'plan'; tasks?: TaskCardBlock[] };
type StrictBlock = Exclude<KnownBlock, PlanBlock> | StrictPlan;
type Message = StrictBlock[];
type Modal = Omit<ModalView, 'blocks'> & { blocks: StrictBlock[] };
type Home = Omit<HomeView, 'blocks'> & { blocks: StrictBlock[] };
"""
KINDS: Mapping[str, str] = {"message": "Message", "modal": "Modal", "home": "Home"}

UNKNOWN_TO_TYPES: Mapping[str, str] = {}
"""What we send and @slack/types 3.2.0 does not know: a ``"type"`` of block, or a key of it as ``"type.key"``,
with the source that says it is right. It is taken out before the judge looks. Nothing needs it now.
"""

_FINDING = re.compile(r"^(?P<file>[^(\s]+\.ts)\((?P<line>\d+),\d+\): (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Finding:
    """A payload that does not have the type it should have."""

    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


class JudgeBrokenError(Exception):
    """The compiler did not do its work, so nothing was proved."""


def judge(payloads: Iterable[Payload], folder: Path) -> list[Finding]:
    """Compile payloads of messages, modals and homes with ``tsc --noEmit --strict``; gives what is wrong.

    Args:
        payloads: those of other surfaces are not looked at.
        folder: an empty directory to write in.

    Raises:
        JudgeBrokenError: It did not run, or found something outside our payloads.
    """
    lines = _write(payloads, folder)
    done = subprocess.run(
        ["node", str(NODE_MODULES / "typescript" / "bin" / "tsc"), "--project", str(folder)],
        cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    found = list(findings(done.stdout, lines))
    if done.returncode != 0 and not found:
        raise JudgeBrokenError(f"tsc ended with {done.returncode}: {done.stdout}{done.stderr}")
    return found


def _write(payloads: Iterable[Payload], folder: Path) -> dict[tuple[str, int], str]:
    """One file for each surface; gives (file, line) → the payload that stands there, one to a line."""
    (folder / "node_modules").symlink_to(NODE_MODULES, target_is_directory=True)
    options = {
        "noEmit": True, "strict": True, "skipLibCheck": False, "module": "nodenext", "target": "es2022",
        "types": [], "noErrorTruncation": True,
    }  # fmt: skip
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["*.ts"]}))
    files = {surface: PRELUDE.splitlines() for surface in KINDS}
    lines: dict[tuple[str, int], str] = {}
    for payload in payloads:
        if payload.surface not in KINDS:
            continue
        written = files[payload.surface]
        written.append(f"export const p{len(written)}: {KINDS[payload.surface]} = {literal(payload.body)};")
        lines[f"{payload.surface}.ts", len(written)] = payload.name
    for surface, written in files.items():
        (folder / f"{surface}.ts").write_text("\n".join(written) + "\n", encoding="utf-8")
    return lines


def literal(body: Any) -> str:
    """JSON on one line, which TypeScript reads as a literal of exactly that type."""
    return json.dumps(_without_unknown(body))


def _without_unknown(value: Any) -> Any:
    if isinstance(value, dict):
        kind = _type(value)
        return {
            key: _without_unknown(item)
            for key, item in value.items()
            if f"{kind}.{key}" not in UNKNOWN_TO_TYPES
        }
    if isinstance(value, list):
        return [_without_unknown(item) for item in value if _type(item) not in UNKNOWN_TO_TYPES]
    return value


def _type(value: Any) -> str:
    return str(value.get("type", "")) if isinstance(value, dict) else ""


def findings(printed: str, lines: Mapping[tuple[str, int], str]) -> Iterator[Finding]:
    """What the compiler printed, by payload.

    Raises:
        JudgeBrokenError: It found something outside our payloads, such as types that are not there.
    """
    for text in printed.splitlines():
        found = _FINDING.match(text)
        if found is None:
            continue  # the lines below a finding explain it
        place = (Path(found["file"]).name, int(found["line"]))
        if place not in lines:
            raise JudgeBrokenError(f"a finding outside our payloads: {text}")
        yield Finding(lines[place], found["text"])


def known_keys(payloads: Sequence[Payload]) -> set[str]:
    """Every ``type`` and ``type.key`` that occurs in payloads."""
    found: set[str] = set()

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.update((_type(value), *(f"{_type(value)}.{key}" for key in value)))
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    for payload in payloads:
        walk(payload.body)
    return found
