"""What a person typed behind `/hermes`, as a command or as a refusal that says how to type it right.

The grammar knows shapes only. Whether a home exists, who may do what and which of the commands this
installation can already perform is decided behind it.
"""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.domain.durations import read_duration, read_since
from bot.domain.endpoints import is_endpoint
from bot.domain.environment import env_name_problem
from bot.domain.ids import id_problem, is_reference, target
from handlers import refusals
from handlers.refusals import Refusal
from handlers.verbs import BACKENDS, BY_NAME, Verb, first_words, subverbs
from handlers.words import plain_text, split_words

__all__ = ["Command", "Refusal", "fill_in", "parse", "read_variable"]

Arguments = dict[str, str | dict[str, str] | list[str]]

_DASHES = re.compile("(?:--|\N{EM DASH}|\N{EN DASH})+")
_KEYED = re.compile("(?:--|\N{EM DASH}|\N{EN DASH})*([A-Za-z][A-Za-z0-9_-]*)=")
_USER = re.compile(r"@?([UW][A-Z0-9_]{1,30})")


@dataclass(frozen=True, slots=True)
class Command:
    """A well-formed command.

    Attributes:
        name: verb, or `verb.subverb`; a key of `handlers.verbs.BY_NAME`.
        args: what was given: texts, but a dict for `env` and a list for `endpoints`. A duration is its
            seconds as text, `-1` for never. What was not given is absent, but `workspace` follows `home`.
    """

    name: str
    args: Arguments

    def text(self, argument: str) -> str | None:
        """A plain argument, or None when it was not given."""
        value = self.args.get(argument)
        return value if isinstance(value, str) else None

    @property
    def env(self) -> dict[str, str]:
        """The environment variables typed on the line; empty when there are none."""
        value = self.args.get("env")
        return dict(value) if isinstance(value, dict) else {}

    @property
    def endpoints(self) -> list[str]:
        """The endpoints typed on the line; empty when there are none."""
        value = self.args.get("endpoints")
        return list(value) if isinstance(value, list) else []


def parse(text: str) -> Command | Refusal:
    """Read the text of a slash command as Slack sends it. Total: every text gives one or the other."""
    words = split_words(plain_text(text))
    if words is None:
        return refusals.unbalanced_quotes()
    if not words:
        return Command("help", {})
    first = _small(words[0])
    if first not in first_words():
        return refusals.unknown_verb(words[0])
    if not subverbs(first):
        return _read(BY_NAME[first], words[1:])
    if len(words) == 1:
        return refusals.missing_subverb(first)
    verb = BY_NAME.get(f"{first}.{_small(words[1])}")
    return refusals.unknown_subverb(first, words[1]) if verb is None else _read(verb, words[2:])


def fill_in(
    name: str, given: Mapping[str, str], env: Mapping[str, str]
) -> tuple[Command, dict[str, Refusal]]:
    """The command whose settings were filled in one by one, and every setting that is wrong, by its key.

    ``given`` holds what would stand behind each ``key=``, ``env`` variables that `read_variable` has taken.
    A text that is empty counts as not given, and one that is wrong is not in the command.
    """
    verb = BY_NAME[name]
    args: Arguments = {}
    faults: dict[str, Refusal] = {}
    for key, text in given.items():
        read = _READERS[key](verb, key, text) if text else ""
        if isinstance(read, Refusal):
            faults[key] = read
        elif read:
            args[key] = read
    if env:
        args["env"] = dict(env)
    return _completed(verb, args), faults


def read_variable(text: str, env: dict[str, str]) -> Refusal | None:
    """Add what would stand behind `env=` to ``env``, or say why not. An empty value is a value."""
    return _read_variable(BY_NAME["create"], text, env)


def _small(word: str) -> str:
    """`word` in small letters; a look-alike that Unicode would fold to ASCII (the Kelvin sign) is kept."""
    return word.lower() if word.isascii() else word


def _read(verb: Verb, words: list[str]) -> Command | Refusal:
    if not verb.keys:
        return _read_places(verb, words)
    args = _read_settings(verb, words)
    if isinstance(args, Refusal):
        return args
    if verb.name == "create" and words and "home" not in args:
        return refusals.missing_argument(verb, "home")
    return _completed(verb, args)


def _completed(verb: Verb, args: Arguments) -> Command:
    """The command, with what follows from what was given."""
    if verb.name == "create" and "home" in args:
        args.setdefault("workspace", args["home"])
    return Command(verb.name, args)


def _read_places(verb: Verb, words: list[str]) -> Command | Refusal:
    """Read arguments that are told apart by their place."""
    args: Arguments = {}
    places = verb.needs + verb.takes
    for argument, word in zip(places, words, strict=False):
        value = _stray_key(verb, word) or _READERS[argument](verb, argument, word)
        if isinstance(value, Refusal):
            return value
        args[argument] = value
    missing = verb.needs[len(words) :]
    if missing:
        return refusals.missing_argument(verb, missing[0])
    further = words[len(places) :]
    if verb.rest == "reason" and any(further):
        args["reason"] = " ".join(further)
    elif verb.rest == "endpoints" and further:
        if not all(is_endpoint(word) for word in further):
            return refusals.bad_endpoint(verb)
        args["endpoints"] = further
    elif further and not verb.rest:
        return _stray_key(verb, further[0]) or refusals.unexpected_argument(verb)
    return Command(verb.name, args)


def _stray_key(verb: Verb, word: str) -> Refusal | None:
    """A setting typed at a command that has none, as people do who have just typed `create home=…`."""
    keyed = _KEYED.match(word)
    return refusals.unknown_key(verb, keyed[1]) if keyed else None


def _read_settings(verb: Verb, words: list[str]) -> Arguments | Refusal:
    """Read arguments that are told apart by their key."""
    args: Arguments = {}
    env: dict[str, str] = {}
    for word in words:
        setting = _split_setting(verb, word)
        if isinstance(setting, Refusal):
            return setting
        key, value = setting
        if key == "env":
            refused = _read_variable(verb, value, env)
            if refused:
                return refused
            args["env"] = env
            continue
        read = refusals.duplicate_key(verb, key) if key in args else _READERS[key](verb, key, value)
        if isinstance(read, Refusal):
            return read
        args[key] = read
    return args


def _split_setting(verb: Verb, word: str) -> tuple[str, str] | Refusal:
    """Take `--key=value` apart; the dashes are optional, the value is not."""
    typed, equals, value = word.partition("=")
    dashes = _DASHES.match(typed)
    typed = typed[dashes.end() :] if dashes else typed
    key = _small(typed)
    if not key or not (equals or dashes):
        return refusals.unexpected_argument(verb)
    if key not in verb.keys:
        return refusals.unknown_key(verb, typed)
    return (key, value) if value else refusals.missing_value(verb, key)


def _read_variable(verb: Verb, text: str, env: dict[str, str]) -> Refusal | None:
    """Add `NAME=VALUE` to `env`, or say why not. An empty value is a value."""
    name, equals, value = text.partition("=")
    problem = env_name_problem(name)
    if problem:
        return refusals.bad_env_name(verb, problem)
    if not equals:
        return refusals.missing_value(verb, "env")
    if name in env:
        return refusals.duplicate_key(verb, f"env.{name}")
    env[name] = value
    return None


def _read_target(verb: Verb, argument: str, word: str) -> str | Refusal:
    if _small(word) in verb.words:
        return _small(word)
    problem = id_problem(word) or "cannot be a name"
    return word if target(word) else refusals.bad_id(verb, argument, word, problem)


def _read_id(verb: Verb, argument: str, word: str) -> str | Refusal:
    problem = id_problem(word)
    return refusals.bad_id(verb, argument, word, problem) if problem else word


def _read_reference(verb: Verb, argument: str, word: str) -> str | Refusal:
    if is_reference(word):
        return word
    problem = f"is no name of a {argument}: letters, digits, dots and dashes only"
    return refusals.bad_id(verb, argument, word, problem)


def _read_duration(verb: Verb, argument: str, word: str) -> str | Refusal:
    seconds = read_duration(word)
    return refusals.bad_duration(verb, argument) if seconds is None else str(seconds)


def _read_since(verb: Verb, argument: str, word: str) -> str | Refusal:
    since = read_since(word)
    if since is None:
        return refusals.bad_duration(verb, argument)
    return since.isoformat() if isinstance(since, dt.date) else str(since)


def _read_user(_verb: Verb, _argument: str, word: str) -> str | Refusal:
    found = _USER.fullmatch(word)
    return found[1] if found else refusals.bad_user()


def _read_backend(verb: Verb, _argument: str, word: str) -> str | Refusal:
    return word if word in BACKENDS else refusals.unknown_backend(verb, word)


_READERS: dict[str, Callable[[Verb, str, str], str | Refusal]] = {
    "target": _read_target,
    "duration": _read_duration,
    "backend": _read_backend,
    "home": _read_id,
    "workspace": _read_id,
    "template": _read_reference,
    "node": _read_reference,
    "profile": _read_reference,
    "timeout": _read_duration,
    "user": _read_user,
    "since": _read_since,
}
