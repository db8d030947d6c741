"""Validation of blocks and views against the tables, with the errors that Slack answers."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bot.standin.slack.block_shapes import BLOCKS, SHAPES, VIEW_SIZE, VIEWS
from bot.standin.slack.block_spec import (
    BLOCKS_PER_SURFACE,
    CHARTS_PER_MESSAGE,
    ELEMENTS,
    ID,
    MARKDOWN_TOTAL,
    ONE_PER_MESSAGE,
    TABLE_TEXT_TOTAL,
    Choice,
    Flag,
    Free,
    Many,
    Num,
    Shape,
    Spec,
    Str,
    Text,
    Typed,
)
from bot.standin.slack.errors import SlackError

Problem = tuple[str, str]  # what is wrong, and the JSON pointer to it


def check_message_blocks(blocks: Any) -> list[dict[str, Any]]:
    """The blocks of a message, once every rule holds.

    Raises:
        SlackError: ``invalid_blocks`` with Slack's explanations and pointers, ``invalid_blocks_format``
            when it is no list of objects, ``invalid_attachments`` for a second table.
    """
    if isinstance(blocks, str):
        try:
            blocks = json.loads(blocks)
        except ValueError:
            raise SlackError("invalid_blocks_format") from None
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackError("invalid_blocks_format")
    kinds = Counter(str(block.get("type")) for _, block in _placed(blocks, "/blocks"))
    if kinds["table"] > 1:
        raise SlackError("invalid_attachments", extra=_explained([("only_one_table_allowed", "/blocks")]))
    problems = [*_blocks(blocks, "message", "/blocks"), *_message_rules(blocks, kinds)]
    if problems:
        texts = [f"{text} [json-pointer:{pointer}]" for text, pointer in problems]
        raise SlackError("invalid_blocks", extra={"errors": texts, **_explained(problems)})
    return blocks


def check_view(view: Any, *, kinds: tuple[str, ...] = ("modal",)) -> dict[str, Any]:
    """A view, once every rule holds.

    Raises:
        SlackError: ``invalid_arguments`` with explanations, or ``view_too_large``.
    """
    if isinstance(view, str):
        try:
            view = json.loads(view)
        except ValueError:
            raise _bad_view([("must provide an object", "/view")]) from None
    if not isinstance(view, dict):
        raise _bad_view([("must provide an object", "/view")])
    if len(json.dumps(view)) > VIEW_SIZE:
        raise SlackError("view_too_large")
    kind = view.get("type")
    if kind not in kinds:
        raise _bad_view([(f"must be one of: {', '.join(kinds)}", "/view/type")])
    rest = {key: value for key, value in view.items() if key not in ("type", "blocks")}
    problems = list(_shape(VIEWS[kind], rest, "/view"))
    blocks = view.get("blocks")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        problems.append(("missing required field: blocks", "/view"))
        raise _bad_view(problems)
    problems += _blocks(blocks, kind, "/view/blocks")
    if kind == "modal" and "submit" not in view and any(b.get("type") == "input" for b in blocks):
        problems.append(("missing required field: submit", "/view"))
    if problems:
        raise _bad_view(problems)
    return view


def _bad_view(problems: list[Problem]) -> SlackError:
    return SlackError("invalid_arguments", extra=_explained(problems))


def _explained(problems: list[Problem]) -> dict[str, Any]:
    messages = [f"[ERROR] {text} [json-pointer:{pointer}]" for text, pointer in problems]
    return {"response_metadata": {"messages": messages}}


def _blocks(blocks: list[dict[str, Any]], surface: str, at: str) -> Iterator[Problem]:
    limit = BLOCKS_PER_SURFACE[surface]
    if len(blocks) > limit:
        yield f"no more than {limit} items allowed", at
    if not blocks and surface == "modal":
        yield "no fewer than 1 items allowed", at
    for number, block in enumerate(blocks):
        here = f"{at}/{number}"
        kind = block.get("type")
        shape = BLOCKS.get(kind) if isinstance(kind, str) else None
        if shape is None or surface not in shape.surfaces:
            yield f"unsupported type: {kind}", f"{here}/type"
            continue
        yield from _shape(shape, block, here, own=("type", "block_id"))
        if kind == "task_card" and block.get("status") == "pending":
            yield "pending is only allowed inside a plan", f"{here}/status"
    yield from _surface_rules(blocks, surface, at)
    yield from _unique_ids(blocks, at)


def _surface_rules(blocks: list[dict[str, Any]], surface: str, at: str) -> Iterator[Problem]:
    for here, block in _placed(blocks, at):
        element = block.get("element")
        kind = element.get("type") if isinstance(element, dict) else None
        if kind == "file_input" and surface not in ELEMENTS["file_input"].surfaces:
            yield f"unsupported type: {kind}", f"{here}/element/type"


def _unique_ids(blocks: list[dict[str, Any]], at: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for here, block in _placed(blocks, at):
        block_id = block.get("block_id")
        if isinstance(block_id, str):
            if block_id in seen:
                yield f"block_id {block_id} already exists", f"{here}/block_id"
            seen.add(block_id)
        for key in ("elements", "actions"):
            listed = block.get(key)
            if not isinstance(listed, list):
                continue
            names = Counter(str(e["action_id"]) for e in listed if isinstance(e, dict) and e.get("action_id"))
            for name, count in names.items():
                if count > 1:
                    yield f"action_id {name} already exists in this block", f"{here}/{key}"


def _message_rules(blocks: list[dict[str, Any]], kinds: Counter[str]) -> Iterator[Problem]:
    for kind in ONE_PER_MESSAGE:
        if kinds[kind] > 1:
            yield f"Cannot have more than 1 {kind} block", "/blocks"
    if kinds["data_visualization"] > CHARTS_PER_MESSAGE:
        yield f"Cannot have more than {CHARTS_PER_MESSAGE} data_visualization blocks", "/blocks"
    markdown = sum(len(str(block.get("text", ""))) for block in blocks if block.get("type") == "markdown")
    if markdown > MARKDOWN_TOTAL:
        yield f"must be less than {MARKDOWN_TOTAL + 1} characters in all markdown blocks", "/blocks"
    for number, block in enumerate(blocks):
        if block.get("type") == "table" and _length(block.get("rows")) > TABLE_TEXT_TOTAL:
            yield (
                f"must be less than {TABLE_TEXT_TOTAL + 1} characters in all cells",
                f"/blocks/{number}/rows",
            )


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


def _placed(blocks: list[dict[str, Any]], at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every block with its pointer, those inside containers and carousels too."""
    for number, block in enumerate(blocks):
        here = f"{at}/{number}"
        yield here, block
        key = {"container": "child_blocks", "carousel": "elements"}.get(str(block.get("type")), "")
        children = block.get(key)
        if isinstance(children, list):
            yield from _placed([child for child in children if isinstance(child, dict)], f"{here}/{key}")


def _check(spec: Spec, value: Any, at: str) -> Iterator[Problem]:  # noqa: C901, PLR0912  # one branch per kind of spec
    match spec:
        case Text():
            yield from _text(spec, value, at)
        case Str():
            if not isinstance(value, str):
                yield "must provide a string", at
            else:
                yield from _size(len(value), spec.lo, spec.hi, at)
        case Num():
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield "must provide a number", at
            elif not spec.lo <= value <= spec.hi:
                yield f"must be between {spec.lo:g} and {spec.hi:g}", at
        case Flag():
            if not isinstance(value, bool):
                yield "must provide a boolean", at
        case Choice():
            if value not in spec.values:
                yield f"must be one of: {', '.join(spec.values)}", at
        case Many():
            yield from _many(spec, value, at)
        case Typed():
            yield from _typed(spec, value, at)
        case Shape():
            yield from _shape(spec, value, at)
        case Free():
            return


def _size(length: int, lo: int, hi: int, at: str) -> Iterator[Problem]:
    if length < lo:
        yield f"must be more than {lo - 1} characters", at
    if length > hi:
        yield f"must be less than {hi + 1} characters", at


def _text(spec: Text, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield "must provide an object", at
        return
    kind = value.get("type")
    if kind not in spec.kinds:
        yield f"unsupported type: {kind}", f"{at}/type"
        return
    text = value.get("text")
    if not isinstance(text, str):
        yield "missing required field: text", at
        return
    yield from _size(len(text), spec.lo, spec.hi, f"{at}/text")
    extra_key = "emoji" if kind == "plain_text" else "verbatim"
    yield from _additional(value, {"type", "text", extra_key}, at)
    if extra_key in value and not isinstance(value[extra_key], bool):
        yield "must provide a boolean", f"{at}/{extra_key}"


def _many(spec: Many, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield "must provide an array", at
        return
    if len(value) < spec.lo:
        yield f"no fewer than {spec.lo} items allowed", at
    if len(value) > spec.hi:
        yield f"no more than {spec.hi} items allowed", at
    for number, item in enumerate(value):
        if item is None and spec.nullable:
            continue
        yield from _check(spec.of, item, f"{at}/{number}")


def _typed(spec: Typed, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield "must provide an object", at
        return
    kind = value.get("type")
    # An image is one thing as a block and another, smaller one as an element.
    name = "image_element" if kind == "image" and "image_element" in spec.allowed else kind
    if name not in spec.allowed or not isinstance(name, str):
        yield f"unsupported type: {kind}", f"{at}/type"
        return
    own = ("type", "block_id") if name in BLOCKS else ("type",)
    yield from _shape(SHAPES[name], value, at, own=own)


def _shape(shape: Shape, value: Any, at: str, own: tuple[str, ...] = ()) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield "must provide an object", at
        return
    for key, spec in shape.required.items():
        if value.get(key) is None:
            yield f"missing required field: {key}", at
        else:
            yield from _check(spec, value[key], f"{at}/{key}")
    for key, spec in shape.optional.items():
        if value.get(key) is not None:
            yield from _check(spec, value[key], f"{at}/{key}")
    if shape.one_of and all(value.get(key) is None for key in shape.one_of):
        yield f"missing required field: {' or '.join(shape.one_of)}", at
    if "block_id" in own and value.get("block_id") is not None:
        yield from _check(ID, value["block_id"], f"{at}/block_id")
    yield from _additional(value, {*shape.required, *shape.optional, *own}, at)


def _additional(value: Mapping[str, Any], known: set[str], at: str) -> Iterator[Problem]:
    for key in value:
        if key not in known:
            yield f"invalid additional property: {key}", at
