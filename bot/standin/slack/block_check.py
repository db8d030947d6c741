"""One value against one specification of `block_spec`, and every problem with it in Slack's words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.standin.slack.block_shapes import BLOCKS, SHAPES
from bot.standin.slack.block_spec import ID, Choice, Flag, Free, Many, Num, Shape, Spec, Str, Text, Typed


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where.

    Attributes:
        text: as Slack says it in ``response_metadata.messages`` and ``errors``.
        pointer: JSON pointer to the value that is wrong, or to the object in which something is missing.
        constraint: what was expected, for blocks.validate; None where nothing was measured.
        field: the key that is missing or too many.
    """

    text: str
    pointer: str
    constraint: Mapping[str, Any] | None = None
    field: str = ""

    def __str__(self) -> str:
        return f"{self.text} [json-pointer:{self.pointer}]"


def unsupported(kind: object, at: str, allowed: tuple[str, ...] = ()) -> Problem:
    """A ``type`` that has no place here."""
    expected = {"type": "enum", "expected": list(allowed)} if allowed else None
    return Problem(f"unsupported type: {kind}", f"{at}/type", expected)


def missing(name: str, at: str) -> Problem:
    """A key that must be there."""
    return Problem(f"missing required field: {name}", at, {"type": "required", "expected": [name]}, name)


def most(limit: int, at: str) -> Problem:
    """More than ``limit`` items."""
    return Problem(f"no more than {limit} items allowed", at, {"type": "max_items", "expected": limit})


def fewest(limit: int, at: str) -> Problem:
    """Fewer than ``limit`` items."""
    return Problem(f"no fewer than {limit} items allowed", at, {"type": "min_items", "expected": limit})


def longest(limit: int, at: str, where: str = "") -> Problem:
    """More than ``limit`` characters."""
    text = f"must be less than {limit + 1} characters{where}"
    return Problem(text, at, {"type": "max_length", "expected": limit})


def check(spec: Spec, value: Any, at: str) -> Iterator[Problem]:  # noqa: C901  # one branch per kind of spec
    """Every problem of a value that stands at the JSON pointer ``at``."""
    match spec:
        case Text():
            yield from _text(spec, value, at)
        case Str():
            yield from _string(spec, value, at)
        case Num():
            yield from _number(spec, value, at)
        case Flag():
            if not isinstance(value, bool):
                yield _kind("boolean", at)
        case Choice():
            if value not in spec.values:
                expected = {"type": "enum", "expected": list(spec.values)}
                yield Problem(f"must be one of: {', '.join(spec.values)}", at, expected)
        case Many():
            yield from _many(spec, value, at)
        case Typed():
            yield from _typed(spec, value, at)
        case Shape():
            yield from check_shape(spec, value, at)
        case Free():
            return


def check_shape(shape: Shape, value: Any, at: str, own: tuple[str, ...] = ()) -> Iterator[Problem]:
    """Every problem of an object; the keys ``own`` are its type and id, which are looked at elsewhere."""
    if not isinstance(value, Mapping):
        yield _kind("object", at)
        return
    for key, spec in shape.required.items():
        if value.get(key) is None:
            yield missing(key, at)
        else:
            yield from check(spec, value[key], f"{at}/{key}")
    for key, spec in shape.optional.items():
        if value.get(key) is not None:
            yield from check(spec, value[key], f"{at}/{key}")
    if shape.one_of and all(value.get(key) is None for key in shape.one_of):
        yield missing(" or ".join(shape.one_of), at)
    if "block_id" in own and value.get("block_id") is not None:
        yield from check(ID, value["block_id"], f"{at}/block_id")
    yield from _additional(value, {*shape.required, *shape.optional, *own}, at)


def _kind(name: str, at: str) -> Problem:
    article = "an" if name[0] in "aeiou" else "a"
    return Problem(f"must provide {article} {name}", at, {"type": "type", "expected": name})


def _string(spec: Str, value: Any, at: str) -> Iterator[Problem]:
    if isinstance(value, str):
        yield from _size(len(value), spec.lo, spec.hi, at)
    else:
        yield _kind("string", at)


def _number(spec: Num, value: Any, at: str) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield _kind("number", at)
    elif not (spec.lo <= value <= spec.hi) or (spec.open and value == spec.lo):
        # JSON has no infinity, so a side without a limit is none.
        lo, hi = (None if abs(end) == float("inf") else end for end in (spec.lo, spec.hi))
        expected = {"type": "range", "expected": [lo, hi]}
        yield Problem(f"must be between {spec.lo:g} and {spec.hi:g}", at, expected)


def _size(length: int, lo: int, hi: int, at: str) -> Iterator[Problem]:
    if length < lo:
        yield Problem(f"must be more than {lo - 1} characters", at, {"type": "min_length", "expected": lo})
    if length > hi:
        yield longest(hi, at)


def _text(spec: Text, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _kind("object", at)
        return
    kind = value.get("type")
    if kind not in spec.kinds:
        yield unsupported(kind, at, spec.kinds)
        return
    text = value.get("text")
    if not isinstance(text, str):
        yield missing("text", at)
        return
    yield from _size(len(text), spec.lo, spec.hi, f"{at}/text")
    extra_key = "emoji" if kind == "plain_text" else "verbatim"
    yield from _additional(value, {"type", "text", extra_key}, at)
    if extra_key in value and not isinstance(value[extra_key], bool):
        yield _kind("boolean", f"{at}/{extra_key}")


def _many(spec: Many, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield _kind("array", at)
        return
    if len(value) < spec.lo:
        yield fewest(spec.lo, at)
    if len(value) > spec.hi:
        yield most(spec.hi, at)
    for number, item in enumerate(value):
        if item is None and spec.nullable:
            continue
        yield from check(spec.of, item, f"{at}/{number}")


def _typed(spec: Typed, value: Any, at: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _kind("object", at)
        return
    kind = value.get("type")
    # An image is one thing as a block and another, smaller one as an element.
    name = "image_element" if kind == "image" and "image_element" in spec.allowed else kind
    if name not in spec.allowed or not isinstance(name, str):
        yield unsupported(kind, at, spec.allowed)
        return
    own = ("type", "block_id") if name in BLOCKS else ("type",)
    yield from check_shape(SHAPES[name], value, at, own=own)


def _additional(value: Mapping[str, Any], known: set[str], at: str) -> Iterator[Problem]:
    for key in value:
        if key not in known:
            yield Problem(f"invalid additional property: {key}", at, field=key)
