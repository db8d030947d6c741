"""Environment variables as people paste them into a form: one ``NAME=value`` a line.

The rules for names and values are those of ``env=NAME=VALUE``. What stands around them in such files is
taken in good part: blank lines, comments, ``export``, blanks around the ``=``, quotes around a whole value.
What could mean two things is refused, with the number of its line and never with its text.
"""

import re
from dataclasses import dataclass, field

from bot.domain.environment import env_value_problem
from handlers.grammar import read_variable
from handlers.words import quoted_part, typed

MOST_FAULTS = 4
"""Lines that are complained about one by one; the rest is counted."""

_LINE_END = re.compile("\r\n|[\n\r\u0085\u2028\u2029]")
_EXPORT = re.compile("export +(?=[A-Za-z_])")
_TYPED_WAY = re.compile("env *= *[A-Za-z_][A-Za-z0-9_]* *=")
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class EnvLines:
    """What was read. ``faults`` pairs a line's number, from 1, with a sentence about it."""

    env: dict[str, str] = field(repr=False)
    faults: tuple[tuple[int, str], ...] = ()

    def complaint(self) -> str:
        """All faults in one text for a person; empty without any."""
        told = [f"Line {number}: {sentence}" for number, sentence in self.faults[:MOST_FAULTS]]
        more = len(self.faults) - len(told)
        return " ".join([*told, *([f"And {more} more lines."] if more > 0 else [])])


def read_env_lines(text: str) -> EnvLines:
    """Read a whole field. Total: every line is a variable, a fault, or nothing."""
    env: dict[str, str] = {}
    faults: list[tuple[int, str]] = []
    for number, raw in enumerate(_LINE_END.split(text.removeprefix(_BYTE_ORDER_MARK)), start=1):
        line = typed(raw).strip(" ")
        if not line or line.startswith("#"):
            continue
        problem = _read_line(line, env)
        if problem:
            faults.append((number, problem))
    return EnvLines(env, tuple(faults))


def _read_line(line: str, env: dict[str, str]) -> str:
    """Add the line's variable to ``env``; else why not."""
    if _TYPED_WAY.match(line):
        return "leave out the env= in front; write NAME=value."
    name, equals, rest = line.removeprefix(_prefix(line)).partition("=")
    if not equals:
        return "write NAME=value."
    value = _unquoted(rest.strip(" "))
    if value is None:
        return "the quotes are not clear; put them around the whole value, or leave them out."
    problem = env_value_problem(value)
    if problem:
        return problem
    refused = read_variable(f"{name.strip(' ')}={value}", env)
    return "" if refused is None else refused.message.replace("`", "")


def _prefix(line: str) -> str:
    found = _EXPORT.match(line)
    return found[0] if found else ""


def _unquoted(value: str) -> str | None:
    """The value without quotes around it; None when an opening quote does not close at its very end."""
    if value[:1] not in {'"', "'"}:
        return value
    quoted = quoted_part(value, 1, value[0])
    return quoted[0] if quoted and quoted[1] == len(value) else None
