"""Why a text is no command: the kinds of refusal and the sentence for each.

A sentence repeats a verb, a key or an id that was typed, cut and with strange characters spelled out; it
never repeats anything else, as what stands in the wrong place is often a secret.
"""

from dataclasses import dataclass

from bot.domain.durations import MAX_SECONDS, spell_duration
from handlers.suggest import closest
from handlers.verbs import BACKENDS, BY_NAME, SLASH, Verb, first_words, subverbs


@dataclass(frozen=True, slots=True)
class Refusal:
    """A text that is no command.

    Attributes:
        kind: stable, kebab-case.
        message: one sentence for the person who typed it.
        example: a right command, complete with the slash command.
        argument: the argument that is missing or wrong.
        key: the setting that is unknown, given twice or without its value; `env.NAME` for a variable.
        suggest: the word or words that were probably meant.
    """

    kind: str
    message: str
    example: str
    argument: str | None = None
    key: str | None = None
    suggest: str | None = None


_WHAT = {
    "target": "a home-id or a sandbox id",
    "duration": "a duration",
    "backend": "a back end",
    "home": "home=HOME",
}
_MAX_SHOWN = 32
_MAX_KEY = 32
_MAX_KEY_WITH_DIGITS = 16


def unbalanced_quotes() -> Refusal:
    """A quote was opened and not closed."""
    return Refusal(
        "unbalanced-quotes",
        "A quote is opened and not closed.",
        f'{SLASH} create home=atlas env=GREETING="hello there"',
    )


def unknown_verb(typed: str) -> Refusal:
    """The first word is none of ours."""
    suggest = closest(typed, first_words())
    known = () if suggest is None else subverbs(suggest) or (BY_NAME[suggest],)
    return Refusal(
        "unknown-verb",
        f"There is no command {_shown(typed)}" + (f"; did you mean `{suggest}`?" if suggest else "."),
        known[0].example if known else BY_NAME["help"].example,
        suggest=suggest,
    )


def missing_subverb(first: str) -> Refusal:
    """The first word needs a second one."""
    return Refusal(
        "missing-subverb",
        f"`{first}` needs a second word: {_choices(first)}.",
        subverbs(first)[0].example,
        argument="subverb",
    )


def unknown_subverb(first: str, typed: str) -> Refusal:
    """The second word is none of those that `first` has."""
    meant = closest(typed, tuple(verb.name.partition(".")[2] for verb in subverbs(first)))
    verb = subverbs(first)[0] if meant is None else BY_NAME[f"{first}.{meant}"]
    suggest = None if meant is None else f"{first} {meant}"
    rest = f"; did you mean `{suggest}`?" if suggest else f"; there is {_choices(first)}."
    return Refusal(
        "unknown-subverb",
        f"`{first}` has no {_shown(typed)}{rest}",
        verb.example,
        suggest=suggest,
    )


def missing_argument(verb: Verb, argument: str) -> Refusal:
    """Something that the command cannot do without was not typed."""
    message = f"`{_spoken(verb)}` needs {_WHAT.get(argument, argument)}."
    return Refusal("missing-argument", message, verb.example, argument=argument)


def unexpected_argument(verb: Verb) -> Refusal:
    """A word too many. It is not repeated: it may be the second half of a secret with a blank in it."""
    if "env" in verb.keys:
        message = f"`{_spoken(verb)}` takes settings only; a value with a blank in it needs quotes."
        example = f'{verb.example} env=GREETING="hello there"'
    else:
        message, example = f"There is a word too many; the command is `{verb.usage}`.", verb.example
    return Refusal("unexpected-argument", message, example)


def unknown_key(verb: Verb, key: str) -> Refusal:
    """A setting that the command does not have."""
    suggest = closest(key, verb.keys)
    if suggest:
        rest = f"; did you mean `{suggest}=`?"
    elif "env" in verb.keys and key.isupper():
        rest = "; an environment variable is written `env=NAME=VALUE`."
    elif verb.keys:
        rest = "; it has " + ", ".join(f"`{known}=`" for known in verb.keys) + "."
    else:
        rest = "; it takes none."
    return Refusal(
        "unknown-key",
        f"`{_spoken(verb)}` has no setting {_shown(_key(key))}{rest}",
        verb.example,
        key=_key(key),
        suggest=suggest,
    )


def duplicate_key(verb: Verb, key: str) -> Refusal:
    """A setting, or one environment variable, was given twice."""
    what = "An environment variable" if key.startswith("env.") else f"`{key}=`"
    return Refusal("duplicate-key", f"{what} is given twice.", verb.example, key=key)


def missing_value(verb: Verb, key: str) -> Refusal:
    """A setting has nothing behind its `=`."""
    shape = "`env=NAME=VALUE`" if key == "env" else f"`{key}=` followed by its value"
    return Refusal("missing-value", f"`{key}` has no value; write {shape}.", verb.example, key=key)


def bad_id(verb: Verb, argument: str, typed: str, problem: str) -> Refusal:
    """What should name something breaks the rules for names; `problem` completes the sentence."""
    return Refusal("bad-id", f"{_shown(typed)} {problem}.", verb.example, argument=argument)


def bad_env_name(verb: Verb, problem: str) -> Refusal:
    """An environment variable that cannot be set; `problem` is a whole sentence."""
    return Refusal("bad-env-name", problem, f"{verb.example} env=LANG=C.UTF-8", argument="env")


def bad_duration(verb: Verb, argument: str) -> Refusal:
    """A length of time that cannot be read."""
    days = spell_duration(MAX_SECONDS).replace("d", " days")
    message = f"A duration is written like `90` (seconds), `15m`, `2h`, `1h30m` or `never`, at most {days}."
    example = verb.example
    if argument == "timeout":
        example += " timeout=2h"
    elif argument == "since":
        message = message.replace("`never`", "as a day, `2026-11-01`")
    return Refusal("bad-duration", message, example, argument=argument)


def bad_endpoint(verb: Verb) -> Refusal:
    """An endpoint that is none."""
    message = "An endpoint is `host`, `host:port` or an http(s) address, without user and password."
    return Refusal("bad-endpoint", message, verb.example, argument="endpoints")


def bad_user() -> Refusal:
    """A person who was not mentioned but named."""
    message = "A user is a mention or a member id such as `U0EXAMPLE1`, not a name."
    return Refusal("bad-user", message, f"{SLASH} audit user=U0EXAMPLE1", argument="user")


def unknown_backend(verb: Verb, typed: str) -> Refusal:
    """A back end that Hermes never had."""
    suggest = closest(typed, BACKENDS)
    rest = f"; did you mean `{suggest}`?" if suggest else "."
    message = "The back ends are " + ", ".join(f"`{name}`" for name in BACKENDS) + rest
    example = verb.example if suggest is None else f"{SLASH} backend set atlas {suggest}"
    return Refusal("unknown-backend", message, example, argument="backend", suggest=suggest)


def _spoken(verb: Verb) -> str:
    return verb.name.replace(".", " ")


def _choices(first: str) -> str:
    return ", ".join(f"`{verb.name.partition('.')[2]}`" for verb in subverbs(first))


def _shown(typed: str) -> str:
    """A typed verb, id or key as code: short, look-alike and invisible characters spelled out."""
    cut = typed if len(typed) <= _MAX_SHOWN else typed[:_MAX_SHOWN] + "..."
    plain = cut.replace("`", "'").encode("ascii", "backslashreplace").decode("ascii")
    return "`" + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in plain) + "`"


def _key(typed: str) -> str:
    """A key as it may be repeated. Base64 has `=` too, so what is too long or too odd for a key is cut."""
    key = typed.lower() if typed.isascii() else typed
    longest = _MAX_KEY_WITH_DIGITS if any(c.isdigit() for c in key) else _MAX_KEY
    return key if len(key) <= longest else key[:3] + "..."
