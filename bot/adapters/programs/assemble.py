"""Joining program files into the one text that ``python3 -I -c`` is given."""

import ast
from functools import cache
from importlib import resources

_HERE = "bot.adapters.programs"


NODE_FILES = ("beneath", "shapes", "node_prepare", "node_seed", "node_pulse", "node_sizes", "node_answers")
NODE_VERBS = (
    "prepare",
    "seed",
    "has_home",
    "launch_env",
    "plant",
    "collect",
    "read_access",
    "pulse",
    "sizes",
)
MOUNTS_FILES = ("beneath", "shapes", "guest_entries", "guest_file_system", "guest_mounts", "guest_answer")
SKILLS_FILES = ("beneath", "guest_entries", "guest_skills", "guest_answer")
STUDIO_FILES = (
    "beneath",
    "shapes",
    "guest_entries",
    "guest_file_system",
    "guest_facts",
    "guest_processes",
    "guest_accounts",
    "guest_login",
    "guest_heartbeat",
    "guest_studio",
    "guest_answer",
)


@cache
def heartbeat_script() -> str:
    """The text of ``heartbeat.sh``.

    It stands with the programs and not with the Studio template, because it travels with the start of Studio:
    into templates that are not ours, and with the wheel, which holds packages only.
    """
    return resources.files(_HERE).joinpath("heartbeat.sh").read_text(encoding="utf-8")


@cache
def program(files: tuple[str, ...], verbs: tuple[str, ...]) -> str:
    """The text of these files in this order, without their imports of each other and without docstrings.

    It ends with a call of ``main`` with the functions of these names.
    """
    functions = ", ".join(f'"{verb}": {verb}' for verb in verbs)
    future = "from __future__ import annotations"
    return "\n".join([future, *(_body(name) for name in files), f"main({{{functions}}})", ""])


def _body(name: str) -> str:
    source = resources.files(_HERE).joinpath(f"{name}.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if _is_dropped(node):
            first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[attr-defined]
            lines[first - 1 : last] = [""] * (last - first + 1)
    kept = (line.rstrip() for line in lines)
    return "\n".join(line for line in kept if line and not line.lstrip().startswith("#"))


def _is_dropped(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or (node.module or "").startswith(_HERE)
    # A docstring after other statements of its block, or one that is alone in it, would leave a gap.
    return isinstance(node, ast.Expr) and _is_docstring(node)


def _is_docstring(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
