"""Findings as a person reads them, as a program reads them, and as an exit code."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from bot.checkup.finding import Finding

ALL_PROVED = 0
SOMETHING_BAD = 1
NOT_ALL_KNOWN = 3
"""Nothing is known to be wrong, and not everything could be proved. 2 is for a mistyped command."""

_WORDS = {True: "ok", False: "bad", None: "unknown"}
_VERDICT = max(map(len, _WORDS.values()))


def exit_code(findings: Sequence[Finding]) -> int:
    """0 when all is proved; what is unknown never passes as that."""
    if any(finding.ok is False for finding in findings):
        return SOMETHING_BAD
    return ALL_PROVED if all(finding.ok for finding in findings) else NOT_ALL_KNOWN


def as_json(findings: Sequence[Finding]) -> str:
    """A list of ``{subject, ok, note, cure}``; ``ok`` is null when it could not be told."""
    return json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=1)


def as_table(findings: Sequence[Finding]) -> str:
    """Subject, verdict and note in columns, a cure below each line that is not ok, and a sum."""
    wide = max((len(finding.subject) for finding in findings), default=0)
    lines = []
    for finding in findings:
        lines.append(f"{finding.subject:<{wide}}  {_WORDS[finding.ok]:<{_VERDICT}}  {finding.note}".rstrip())
        if finding.cure:
            lines.append(f"{'':<{wide}}  {'':<{_VERDICT}}  → {finding.cure}")
    counted = {word: sum(_WORDS[finding.ok] == word for finding in findings) for word in _WORDS.values()}
    lines.append(", ".join(f"{count} {word}" for word, count in counted.items()))
    return "\n".join("".join(char if char.isprintable() else " " for char in line) for line in lines)
