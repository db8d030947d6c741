"""Every message, modal and Home tab that the bot can make, for the judges of tests/types and the tests.

A new render function is added in `tests.golden.samples`, one line for each thing it may say; a test names the
functions that are missing there.
"""

import importlib
import inspect
import json
import pkgutil
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import handlers.render
from bot.domain.block_text import as_text
from bot.ports import Message
from bot.standin.slack.block_shapes import BLOCKS

Surface = Literal["message", "modal", "home", "text"]

PIECES = ("blocks", "limits", "mrkdwn")
"""Modules of handlers.render that make parts of messages, not messages."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One thing that the bot says, and the function or constant of handlers.render that said it."""

    source: str
    label: str
    made: Message | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Payload:
    """One form of it as Slack gets it: the blocks of a message, a view, or the text that is left."""

    name: str
    surface: Surface
    body: Any


def sample(function: Callable[..., Any], label: str, *given: Any, **named: Any) -> Sample:
    """Call a render function; ``label`` tells its samples apart."""
    return Sample(_name_of(function), label, function(*given, **named))


def constant(module: Any, name: str) -> Sample:
    """A message that is always the same."""
    return Sample(f"{module.__name__.rpartition('.')[2]}.{name}", "always", getattr(module, name))


def payloads(samples: Iterator[Sample]) -> Iterator[Payload]:
    """All forms of all samples: rich, classic, and the text that is sent when Slack takes no blocks."""
    for one in samples:
        name = f"{one.source}/{one.label}"
        if not isinstance(one.made, Message):
            yield _of_dict(name, _as_json(one.made))
            continue
        rich, classic = one.made.blocks, one.made.classic
        if rich:
            yield Payload(name, "message", _as_json(rich))
        if classic is not None:
            yield Payload(f"{name}/classic", "message", _as_json(classic))
        yield Payload(f"{name}/own-text", "text", one.made.text)
        yield Payload(f"{name}/plain", "text", as_text(one.made.text, classic or rich))


def _of_dict(name: str, made: dict[str, Any]) -> Payload:
    kind = made.get("type")
    if kind in ("modal", "home"):
        return Payload(name, kind, made)
    if kind in BLOCKS:
        return Payload(name, "message", [made])
    raise ValueError(f"{name} is no message, no view and no block: {made}")


def makers() -> set[str]:
    """Every public function of handlers.render that makes a message or a view, and every constant message."""
    found: set[str] = set()
    for info in pkgutil.iter_modules(handlers.render.__path__):
        if info.name in PIECES:
            continue
        module = importlib.import_module(f"handlers.render.{info.name}")
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            if isinstance(value, Message) or (inspect.isfunction(value) and _makes(value, module.__name__)):
                found.add(f"{info.name}.{name}")
    return found


def _makes(function: Callable[..., Any], module: str) -> bool:
    if function.__module__ != module:
        return False
    given = typing.get_type_hints(function).get("return")
    return given is Message or typing.get_origin(given) in (dict, Mapping)


def _name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=dict))
