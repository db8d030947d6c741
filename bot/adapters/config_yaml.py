"""Whether a ``config.yaml`` can be loaded, without loading it: the file comes from a hostile home.

Only the events of the parser are looked at. No object is built, no alias is followed, and nothing of the
file's contents is told but a place in it, as it may hold a key.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from bot.domain.evidence import ConfigFile

MAX_EVENTS = 100_000
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML has it: it limits depth by itself and is ten times as fast."""

_NULLS = ("", "~", "null", "Null", "NULL")
_KNOWN_TAGS = "tag:yaml.org,2002:"
_UNKNOWN_TAGS = "tag:yaml.org,2002:python/"


@dataclass(slots=True)
class _Level:
    """A mapping or a list that is open. In a mapping, keys and values take turns."""

    mapping: bool
    keys: set[str] = field(default_factory=set)
    at_key: bool = True


class _Wrong(Exception):  # noqa: N818 - a circumstance of the file
    """What is wrong, in a few words."""


def judge_config(data: bytes) -> ConfigFile:
    """``ok`` or ``broken``; an empty file is a mapping without settings."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return ConfigFile(state="broken", problem=f"byte {error.start + 1} is not UTF-8")
    try:
        _check(yaml.parse(text, Loader=_LOADER))
    except _Wrong as wrong:
        return ConfigFile(state="broken", problem=str(wrong))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "it"
        return ConfigFile(state="broken", problem=f"{where} is not YAML")
    except (RecursionError, ValueError):
        return ConfigFile(state="broken", problem="it is nested too deeply or holds what YAML does not allow")
    return ConfigFile(state="ok")


def _check(events: Iterator[yaml.Event]) -> None:
    levels: list[_Level] = []
    anchors: set[str] = set()
    documents = 0
    for count, event in enumerate(events):
        if count > MAX_EVENTS:
            raise _Wrong("it holds more than a settings file does")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _Wrong(f"{_line(event)} starts a second document")
        elif isinstance(event, yaml.NodeEvent):
            _check_node(event, levels, anchors)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            levels.pop()


def _check_node(event: yaml.NodeEvent, levels: list[_Level], anchors: set[str]) -> None:
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise _Wrong(f"{_line(event)} refers to something that is not there")
    elif event.anchor:
        anchors.add(event.anchor)
    tag = getattr(event, "tag", None)
    if tag and (not tag.startswith(_KNOWN_TAGS) or tag.startswith(_UNKNOWN_TAGS)):
        raise _Wrong(f"{_line(event)} has a tag that is not loaded")
    if not levels and not _may_be_root(event):
        raise _Wrong("it is no list of settings with names")
    if levels and levels[-1].mapping:
        _take_turn(event, levels[-1])
    if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
        levels.append(_Level(isinstance(event, yaml.MappingStartEvent)))


def _may_be_root(event: yaml.NodeEvent) -> bool:
    if isinstance(event, yaml.ScalarEvent):
        return event.implicit[0] and event.value in _NULLS
    return isinstance(event, yaml.MappingStartEvent)


def _take_turn(event: yaml.NodeEvent, level: _Level) -> None:
    """A key or a value. A key that is there twice breaks Studio, while the agent takes the last one."""
    if level.at_key and isinstance(event, yaml.ScalarEvent):
        if event.value in level.keys and event.value != "<<":
            raise _Wrong(f"{_line(event)} repeats a name")
        level.keys.add(event.value)
    elif level.at_key and isinstance(event, yaml.CollectionStartEvent):
        raise _Wrong(f"{_line(event)} has a list or a mapping as a name")
    level.at_key = not level.at_key


def _line(event: yaml.Event) -> str:
    return f"line {event.start_mark.line + 1}" if event.start_mark else "it"
