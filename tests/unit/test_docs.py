"""The documents, the messages and the code tell the same story."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from bot.cli import app as command_line
from bot.domain.audit import AuditUnavailableError, Fault
from bot.domain.cube_errors import DATA_PLANE, READS, FaultClass, classify
from bot.domain.errors import CubeError, DomainError, GuestError, NodeError
from bot.domain.explanations import CUBE_ADVICE, GUEST_CODES, NODE_CODES, code_of, sentences
from bot.domain.locks import LockUnavailableError
from handlers.commands import AVAILABLE

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
PROGRAMS = ROOT / "bot/adapters/programs"
KEBAB = re.compile(r"[a-z]+(?:-[a-z]+)*")

INNER_CODES = {"program-failed"}
"""What a program says when it has no better word; the adapters make a code of their own side of it."""

SLACKS_WORDS = "ChatError"
"""Its codes are Slack's own error words, which end in the log and are no outcomes."""

ENDS = {"Refused", "Failed", "Unknown", "Done", "Denied", "NodeError", "GuestError"}
"""What carries an outcome's code, as the keyword ``code`` or as the first argument."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sources() -> list[Path]:
    """The bot itself: no stand-in, no demo, and not the programs, whose codes pass an adapter."""
    apart = {"standin", "demo", "programs"}
    found = [*(ROOT / "bot").rglob("*.py"), *(ROOT / "handlers").rglob("*.py")]
    return [path for path in found if not apart & set(path.relative_to(ROOT).parts)]


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def texts_in(value: ast.expr | None, constants: dict[str, str]) -> Iterator[str]:
    """The texts that an expression can have: itself, a constant of the module, both sides of an ``if``."""
    match value:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Name(id=name) if name in constants:
            yield constants[name]
        case ast.IfExp(body=body, orelse=orelse):
            yield from texts_in(body, constants)
            yield from texts_in(orelse, constants)


def constants_of(tree: ast.Module) -> dict[str, str]:
    return {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def takers_of(tree: ast.Module) -> dict[str, int]:
    """Functions of a module that are given a code and end with it: name → place of the code."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [argument.arg for argument in node.args.args]
            ends = any(isinstance(inner, ast.Call) and name_of(inner) in ENDS for inner in ast.walk(node))
            if "code" in names and ends:
                found[node.name] = names.index("code")
    return found


def produced(path: Path) -> set[str]:
    """The codes that a module's own words can end with."""
    tree = parsed(path)
    constants, takers = constants_of(tree), takers_of(tree)
    found: set[str] = set()
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = name_of(call)
        place = 0 if name in ENDS else takers.get(name)
        if place is None:
            continue
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "code"), None)
        at_place = call.args[place] if len(call.args) > place else None
        found.update(texts_in(given or at_place, constants))
    return found


def passed_on(path: Path) -> set[str]:
    """The codes that an adapter takes over from a program: its table ``_CODES``."""
    for node in parsed(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_CODES":
            return {c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant)}  # type: ignore[misc]
    raise AssertionError(f"{path} has no _CODES")


def refused_by_programs(prefix: str) -> set[str]:
    """Codes of the refusals in the programs whose file names start like this."""
    found: set[str] = set()
    for path in (*PROGRAMS.glob(f"{prefix}_*.py"), PROGRAMS / "beneath.py", PROGRAMS / "shapes.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and name_of(node) == "Refusal" and node.args:
                found.update(texts_in(node.args[0], {}))
            if isinstance(node, ast.FunctionDef) and node.name == "error_code":
                returned = [r.value for r in ast.walk(node) if isinstance(r, ast.Return)]
                found.update(text for value in returned for text in texts_in(value, {}))
    return found - INNER_CODES


@cache
def outcome_codes() -> frozenset[str]:
    """Every code that an outcome can have, apart from Cube's classes."""
    ours = {code for path in sources() for code in produced(path)}
    other = {
        code_of(LockUnavailableError("x")),
        code_of(AuditUnavailableError("x")),
        code_of(DomainError("x")),
    }
    return frozenset(ours | NODE_CODES | GUEST_CODES | other)


def grammar_kinds() -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parsed(ROOT / "handlers/refusals.py")):
        if isinstance(node, ast.Call) and name_of(node) == "Refusal":
            found.update(texts_in(node.args[0], {}))
    return found


@cache
def listed() -> dict[str, list[str]]:
    """Second-level heading of docs/errors.md → the codes in the first column of its tables."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in (ROOT / "docs/errors.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        row = re.match(r"\| `([^`]+)` \|", line)
        if row:
            found.setdefault(heading, []).append(row[1])
    return found


def test_every_outcome_code_is_listed_and_no_other() -> None:
    assert sorted(listed()["Outcomes"]) == sorted(outcome_codes())


def test_the_search_for_codes_finds_each_way_of_giving_one() -> None:
    one_of_each = {"create-unknown", "quota-user", "default-home-exists", "cancel-requested", "role-needed"}

    assert one_of_each | {"guest-timeout", "host-key-changed", "locks-unavailable"} <= outcome_codes()


def test_every_cube_class_is_listed_and_no_other() -> None:
    assert sorted(listed()["Cube"]) == sorted("cube-" + kind.replace("_", "-") for kind in FaultClass)


def test_every_kind_of_grammar_refusal_is_listed_and_no_other() -> None:
    assert sorted(listed()["What was typed"]) == sorted(grammar_kinds())


def test_every_fault_of_the_chain_is_listed_and_no_other() -> None:
    assert sorted(listed()["Audit log"]) == sorted(get_args(Fault))


def test_codes_are_kebab_case_and_listed_once() -> None:
    every = [code for codes in listed().values() for code in codes]

    assert [code for code in every if not KEBAB.fullmatch(code)] == []
    assert len(every) == len(set(every))


def test_every_row_of_the_codes_is_complete() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in (ROOT / "docs/errors.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]

    assert [row for row in rows if not all(row) or len(row) not in {2, 3, 4}] == []


OPERATIONS = (*READS, "create", "pause", "resume", "connect", "kill", "network", DATA_PLANE)
BODIES = (
    "",
    "already paused",
    "not in normal state",
    "paused_resource_release_ratio",
    "not within an allowed mount prefix",
    *(f"error code {code}: " for code in (130400, 130404, 130408, 130409, 130490, 130592, 130595)),
    *(f"error code {code}: " for code in (130596, 130597)),
    "error code 130545: mount: no such file or directory",
    "error code 130589: OpenTap",
)


def every_advice() -> set[str]:
    return {
        classify(operation, status, body, headers).advice_key
        for operation in OPERATIONS
        for status in (None, 302, 400, 401, 404, 408, 409, 410, 429, 500, 502, 503, 504)
        for body in BODIES
        for headers in ({}, {"Retry-After": "5"})
    }


def test_cube_advice_has_sentences_for_all_that_the_classifier_gives_and_no_other() -> None:
    assert every_advice() == CUBE_ADVICE


def test_the_classifier_gives_every_class() -> None:
    seen = {
        classify(operation, status, body, headers).kind
        for operation in OPERATIONS
        for status in (None, 302, 400, 401, 404, 408, 409, 410, 429, 500, 502, 503, 504)
        for body in BODIES
        for headers in ({}, {"Retry-After": "5"})
    }

    assert seen == set(FaultClass)


def made_with(error: str) -> set[str]:
    """The codes that are given to one class of error anywhere in the bot."""
    return {
        text
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and name_of(node) == error
        for text in texts_in(node.args[0] if node.args else None, constants_of(parsed(path)))
    }


def test_node_codes_are_those_that_can_be_raised() -> None:
    passed = passed_on(ROOT / "bot/adapters/node_ssh.py")

    assert made_with("NodeError") | passed == NODE_CODES
    assert refused_by_programs("node") == passed


def test_guest_codes_are_those_that_can_be_raised() -> None:
    passed = passed_on(ROOT / "bot/adapters/guest.py")
    renamed = {"overlay-failed"}  # apply_overlay gives it to a program that failed

    assert made_with("GuestError") | passed | renamed == GUEST_CODES
    assert passed <= refused_by_programs("guest")


def every_error() -> list[DomainError]:
    faults = [classify("create", None, "", {}), classify("kill", 404, "", {}), classify("list", 503, "", {})]
    return [
        *(CubeError(fault) for fault in faults),
        *(NodeError(code, "x") for code in sorted(NODE_CODES)),
        *(GuestError(code, "x") for code in sorted(GUEST_CODES)),
        LockUnavailableError("x"),
        AuditUnavailableError("x"),
    ]


@pytest.mark.parametrize("error", every_error(), ids=code_of)
def test_every_error_has_its_own_sentences(error: DomainError) -> None:
    fallback = sentences(DomainError("x"))

    what, todo = sentences(error)

    assert (what, todo) != fallback
    assert what.endswith(".")
    assert todo.endswith(".")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]

    assert [target for target in targets if not (document.parent / target).exists()] == []


def messages() -> dict[str, str]:
    """Where → text, for every document and every text in the bot that is no docstring."""
    found = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    every = [*(ROOT / "bot").rglob("*.py"), *(ROOT / "handlers").rglob("*.py")]
    for path in every:
        tree = parsed(path)
        documentation = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
                found[f"{path.relative_to(ROOT)}:{node.lineno}:f"] = "".join(map(str, parts))
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
            ):
                found[f"{path.relative_to(ROOT)}:{node.lineno}:{node.col_offset}"] = node.value
    return found


def in_code(text: str) -> list[str]:
    """What stands in backticks, and the lines of fenced blocks."""
    fences = re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL)
    without = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [
        *re.findall(r"`([^`\n]+)`", without),
        *(line.strip() for fence in fences for line in fence.splitlines()),
    ]


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))

    named = {
        (where, found[1])
        for where, text in messages().items()
        for code in in_code(text)
        if (found := re.match(r"make ([a-z][a-z-]*)", code))
    }

    assert {target for _, target in named} >= {"demo", "test"}
    assert sorted((where, target) for where, target in named if target not in targets) == []


def problem_of(line: str) -> str:
    """Why ``hermes-bot …`` cannot be run as it is written; empty when it can."""
    command: Any = typer.main.get_command(command_line)
    for word in line.split()[1:]:
        below: dict[str, Any] = getattr(command, "commands", {})
        if below:
            if word not in below:
                return f"{line}: there is no {word}"
            command = below[word]
        elif word.startswith("--"):
            options = {name for parameter in command.params for name in parameter.opts}
            if word.partition("=")[0] not in options | {"--help"}:
                return f"{line}: there is no option {word}"
    return f"{line}: it needs a word more" if getattr(command, "commands", {}) else ""


@pytest.mark.parametrize(
    "line",
    [
        "hermes-bot audit",
        "hermes-bot audit erase",
        "hermes-bot fly",
        "hermes-bot check --fast",
        "hermes-bot demo",
    ],
)
def test_a_command_line_that_is_wrong_is_noticed(line: str) -> None:
    assert bool(problem_of(line)) is (line != "hermes-bot demo")


def test_every_command_line_that_is_named_exists() -> None:
    told = messages()
    exact = {
        (where, code)
        for where, text in told.items()
        for code in in_code(text)
        if re.match(r"hermes-bot [a-z]", code)
    }
    loose = {
        (where, found)
        for where, text in told.items()
        if where.startswith(("bot/", "handlers/"))
        for found in re.findall(r"\bhermes-bot (?:audit|backup|skills|template|context) [a-z]+", text)
    }

    problems = sorted(f"{where}: {why}" for where, line in exact | loose if (why := problem_of(line)))

    assert len(exact) > len({"check", "serve", "verify"})
    assert problems == []


def test_every_slash_command_that_is_named_works() -> None:
    words = {verb.partition(".")[0] for verb in AVAILABLE}
    tables = ("handlers/verbs.py", "handlers/refusals.py", "bot/standin/")

    named = {
        (where, verb)
        for where, text in messages().items()
        if not where.startswith(tables)
        for verb in re.findall(r"/hermes ([a-z]+)", text)
    }

    assert {verb for _, verb in named} == words
    assert sorted((where, verb) for where, verb in named if verb not in words) == []


def test_every_button_that_is_named_exists() -> None:
    labels = {
        text
        for path in (ROOT / "handlers/render").glob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and name_of(node) == "button"
        for text in texts_in(node.args[0], {})
    }
    pressed = re.compile(r"\b[Pp]ress \*?([A-Z][a-z]+(?: [A-Z][a-z]+| it| sandbox)?)")

    named = {
        (where, label)
        for where, text in messages().items()
        for label in pressed.findall(text)
        if not where.startswith("bot/standin/")
    }

    assert {"Continue", "Stop", "Open Studio"} <= {label for _, label in named}
    assert sorted((where, label) for where, label in named if label not in labels) == []


DOTTED = re.compile(r"(?:bot|handlers)(?:\.\w+)+")
PATHS = re.compile(r"(?:bot|handlers|tests)/[\w/.]*")


def names_of(tree: ast.Module | ast.ClassDef) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


def exists(dotted: str) -> bool:
    """Whether this names a package, a module, or something that a module defines."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        place, rest = ROOT.joinpath(*parts[:length]), parts[length:]
        if place.is_dir() and not rest:
            return True
        if place.with_suffix(".py").is_file():
            where: ast.stmt | ast.Module | None = parsed(place.with_suffix(".py"))
            for name in rest:
                where = names_of(where).get(name) if isinstance(where, ast.Module | ast.ClassDef) else None
            return where is not None
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_and_function_that_is_named_exists(document: Path) -> None:
    code = in_code(document.read_text(encoding="utf-8"))
    dotted = [word for text in code if (word := text.split("(")[0]) and DOTTED.fullmatch(word)]
    paths = [text for text in code if PATHS.fullmatch(text)]

    assert [name for name in dotted if not exists(name)] == []
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_architecture_names_what_it_is_about() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")

    assert len([name for name in in_code(text) if DOTTED.fullmatch(name)]) > len(
        "one command from end to end"
    )


def test_every_test_that_confirms_a_document_exists() -> None:
    tests = {
        node.name
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    named = {
        (str(path.relative_to(ROOT)), name)
        for path in DOCUMENTS
        for name in re.findall(r"`(test_\w+)`", path.read_text(encoding="utf-8"))
    }

    assert sorted((where, name) for where, name in named if name not in tests) == []


def acceptance_rows() -> list[list[str]]:
    """The cells of every row of docs/acceptance.md, without the heads of its tables."""
    lines = (ROOT / "docs/acceptance.md").read_text(encoding="utf-8").splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")
    ]
    return [row for row in rows if not row[-1].startswith("proved by")]


def test_every_row_of_the_acceptance_page_is_proved_or_comes_with_a_part_that_is_not_there_yet() -> None:
    rows = acceptance_rows()
    unproved = [row for row in rows if not re.search(r"`test_\w+`", row[-1])]

    assert len(rows) > len(unproved) > 0
    assert [row for row in unproved if not re.fullmatch(r"comes with (approvals|alerts)", row[-1])] == []


def test_every_item_of_the_fidelity_list_has_its_row_and_its_own_tests() -> None:
    rows = {int(row[0]): row[-1] for row in acceptance_rows() if row[0].isdigit()}

    assert list(rows) == list(range(1, 17))
    assert [item for item, tests in rows.items() if f"`test_item_{item:02}_" not in tests] == []


@pytest.mark.parametrize("record", sorted((ROOT / "docs/adr").glob("*.md")), ids=lambda path: path.stem)
def test_a_decision_record_has_its_four_parts_and_stays_short(record: Path) -> None:
    text = record.read_text(encoding="utf-8")

    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)

    assert headings == ["Context", "Options", "Decision", "How it is confirmed"]
    assert text.startswith(f"# {record.name[:4]}: ")
    assert "`test_" in text.partition("## How it is confirmed")[2]
    assert len(text.splitlines()) <= 60
