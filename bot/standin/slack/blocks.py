"""The rules of whole messages and views, and the errors that Slack answers when one is broken."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from bot.standin.slack.block_check import Problem, check_shape, fewest, longest, missing, most, unsupported
from bot.standin.slack.block_shapes import BLOCKS, CONTAINERS, VIEW_SIZE, VIEWS
from bot.standin.slack.block_spec import (
    BLOCKS_PER_SURFACE,
    CHARTS_PER_MESSAGE,
    CHOICES,
    ELEMENTS,
    MARKDOWN_TOTAL,
    ONE_PER_MESSAGE,
    TABLE_TEXT_TOTAL,
)
from bot.standin.slack.errors import SlackError

Block = dict[str, Any]


def check_message_blocks(blocks: Any) -> list[Block]:
    """The blocks of a message, once every rule holds.

    Raises:
        SlackError: ``invalid_blocks`` with Slack's explanations and pointers, ``invalid_blocks_format``
            when it is no list of objects, ``invalid_attachments`` for a second table.
    """
    blocks = _parsed(blocks)
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackError("invalid_blocks_format")
    if _kinds(blocks)["table"] > 1:
        raise SlackError(
            "invalid_attachments", extra=_explained([Problem("only_one_table_allowed", "/blocks")])
        )
    problems = list(message_problems(blocks, "/blocks"))
    if problems:
        errors = [str(problem) for problem in problems]
        raise SlackError("invalid_blocks", extra={"errors": errors, **_explained(problems)})
    return blocks


def check_view(view: Any, *, kinds: tuple[str, ...] = ("modal",)) -> Block:
    """A view, once every rule holds.

    Raises:
        SlackError: ``invalid_arguments`` with explanations, or ``view_too_large``.
    """
    view = _parsed(view)
    if isinstance(view, dict) and len(json.dumps(view)) > VIEW_SIZE:
        raise SlackError("view_too_large")
    problems = list(view_problems(view, "/view", kinds))
    if problems:
        raise SlackError("invalid_arguments", extra=_explained(problems))
    checked: Block = view
    return checked


def message_problems(blocks: list[Block], at: str) -> Iterator[Problem]:
    """Everything that is wrong with the blocks of a message, which stand at the pointer ``at``."""
    yield from block_problems(blocks, "message", at)
    kinds = _kinds(blocks)
    for kind in ONE_PER_MESSAGE:
        if kinds[kind] > 1:
            yield Problem(f"Cannot have more than 1 {kind} block", at, {"type": "max_items", "expected": 1})
    if kinds["data_visualization"] > CHARTS_PER_MESSAGE:
        yield Problem(
            f"Cannot have more than {CHARTS_PER_MESSAGE} data_visualization blocks",
            at,
            {"type": "max_items", "expected": CHARTS_PER_MESSAGE},
        )
    markdown = sum(len(str(block.get("text", ""))) for block in blocks if block.get("type") == "markdown")
    if markdown > MARKDOWN_TOTAL:
        yield longest(MARKDOWN_TOTAL, at, " in all markdown blocks")


def view_problems(view: Any, at: str, kinds: tuple[str, ...]) -> Iterator[Problem]:
    """Everything that is wrong with a view of one of these kinds, which stands at the pointer ``at``."""
    if not isinstance(view, dict):
        yield Problem("must provide an object", at, {"type": "type", "expected": "object"})
        return
    kind = view.get("type")
    if kind not in kinds:
        yield Problem(
            f"must be one of: {', '.join(kinds)}", f"{at}/type", {"type": "enum", "expected": list(kinds)}
        )
        return
    rest = {key: value for key, value in view.items() if key not in ("type", "blocks")}
    yield from check_shape(VIEWS[kind], rest, at)
    blocks = view.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        yield missing("blocks", at)
        return
    yield from block_problems(blocks, kind, f"{at}/blocks")
    if sum(element.get("focus_on_load") is True for _, element in _held(blocks)) > 1:
        yield Problem("must have no more than one element with focus_on_load", f"{at}/blocks")
    if kind == "modal" and "submit" not in view and any(b.get("type") == "input" for b in blocks):
        yield missing("submit", at)


def block_problems(blocks: list[Block], surface: str, at: str) -> Iterator[Problem]:
    """What is wrong with blocks on a surface; without one (``""``) only what is wrong everywhere."""
    limit = BLOCKS_PER_SURFACE.get(surface, max(BLOCKS_PER_SURFACE.values()))
    if len(blocks) > limit:
        yield most(limit, at)
    if not blocks and surface == "modal":
        yield fewest(1, at)
    for number, block in enumerate(blocks):
        here = f"{at}/{number}"
        kind = block.get("type")
        shape = BLOCKS.get(kind) if isinstance(kind, str) else None
        if shape is None or surface not in (*shape.surfaces, ""):
            yield unsupported(kind, here, _there(surface))
            continue
        yield from check_shape(shape, block, here, own=("type", "block_id"))
        if kind == "task_card" and block.get("status") == "pending":
            yield Problem("pending is only allowed inside a plan", f"{here}/status")
    for here, block in _placed(blocks, at):
        yield from _tables(block, here)
    yield from _elements(blocks, surface, at)
    yield from _unique_ids(blocks, at)


def _parsed(value: Any) -> Any:
    """JSON in a string, as form fields carry it, or the thing itself."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _there(surface: str) -> tuple[str, ...]:
    return tuple(sorted(kind for kind, shape in BLOCKS.items() if surface in (*shape.surfaces, "")))


def _kinds(blocks: list[Block]) -> Counter[str]:
    return Counter(str(block.get("type")) for _, block in _placed(blocks, ""))


def _explained(problems: list[Problem]) -> dict[str, Any]:
    return {"response_metadata": {"messages": [f"[ERROR] {problem}" for problem in problems]}}


def _tables(block: Block, at: str) -> Iterator[Problem]:
    rows, kind = block.get("rows"), str(block.get("type"))
    if kind not in TABLE_TEXT_TOTAL or not isinstance(rows, list):
        return
    if _length(rows) > TABLE_TEXT_TOTAL[kind]:
        yield longest(TABLE_TEXT_TOTAL[kind], f"{at}/rows", " in all cells")
    widths = {len(row) for row in rows if isinstance(row, list)}
    if kind == "data_table" and len(widths) > 1:
        yield Problem("must have the same number of cells in every row", f"{at}/rows")


def _held(blocks: list[Block], at: str = "") -> Iterator[tuple[str, Block]]:
    """Every element of every block, with its pointer."""
    for here, block in _placed(blocks, at):
        for key in ("element", "accessory", "elements"):
            listed = block.get(key)
            for number, element in enumerate(listed if isinstance(listed, list) else [listed]):
                if isinstance(element, dict) and isinstance(element.get("type"), str):
                    yield f"{here}/{key}" + (f"/{number}" if isinstance(listed, list) else ""), element


def _elements(blocks: list[Block], surface: str, at: str) -> Iterator[Problem]:
    """Elements that may stand on some surfaces only, and choices that are not among the options."""
    for here, element in _held(blocks, at):
        shape = ELEMENTS.get(element["type"])
        if surface and shape is not None and surface not in shape.surfaces:
            yield unsupported(element["type"], here)
        yield from _initial(element, here)


def _initial(element: Block, at: str) -> Iterator[Problem]:
    """An option that is chosen from the start "exactly matches" one that is offered (Slack's reference)."""
    if element["type"] not in CHOICES:
        return
    if element.get("options") is not None and element.get("option_groups") is not None:
        yield Problem("must provide either options or option_groups", at, field="option_groups")
    offered = _objects(element.get("options"))
    for group in _objects(element.get("option_groups")):
        offered += _objects(group.get("options"))
    if element.get("initial_option") is not None and element["initial_option"] not in offered:
        yield Problem("must match one of the options", f"{at}/initial_option")
    chosen = element.get("initial_options")
    for number, one in enumerate(chosen if isinstance(chosen, list) else []):
        if one not in offered:
            yield Problem("must match one of the options", f"{at}/initial_options/{number}")


def _objects(value: Any) -> list[Block]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _unique_ids(blocks: list[Block], at: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for here, block in _placed(blocks, at):
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in seen:
                yield Problem(f"block_id {block_id} already exists", f"{here}/block_id")
            seen.add(block_id)
        for key in ("elements", "actions"):
            named = [e["action_id"] for e in _objects(block.get(key)) if e.get("action_id")]
            for name, count in Counter(map(str, named)).items():
                if count > 1:
                    yield Problem(f"action_id {name} already exists in this block", f"{here}/{key}")
        tasks = Counter(str(t["task_id"]) for t in _objects(block.get("tasks")) if t.get("task_id"))
        for name, count in tasks.items():
            if count > 1:
                yield Problem(f"task_id {name} already exists in this plan", f"{here}/tasks")


def _length(value: Any) -> int:
    """Characters of every ``text`` below a value."""
    if isinstance(value, list):
        return sum(_length(item) for item in value)
    if isinstance(value, dict):
        return sum(
            len(item) if isinstance(item, str) and key == "text" else _length(item)
            for key, item in value.items()
        )
    return 0


def _placed(blocks: list[Block], at: str) -> Iterator[tuple[str, Block]]:
    """Every block with its pointer, those inside containers and carousels too."""
    for number, block in enumerate(blocks):
        here = f"{at}/{number}"
        yield here, block
        key = CONTAINERS.get(str(block.get("type")), "")
        children = block.get(key)
        if isinstance(children, list):
            yield from _placed([child for child in children if isinstance(child, dict)], f"{here}/{key}")
