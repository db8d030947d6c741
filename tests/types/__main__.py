"""``python -m tests.types``: every message of ours against @slack/types, with the TypeScript compiler.

Ends with 0 when every payload has its type *and* the judge refused every payload that is wrong on purpose.
"""

import sys
import tempfile
from pathlib import Path

from tests.golden.corpus import Payload
from tests.golden.samples import corpus
from tests.types.typescript import KINDS, UNKNOWN_TO_TYPES, JudgeBrokenError, judge, known_keys
from tests.types.wrong import WRONG


def main() -> int:
    """Judge, and prove the judge."""
    ours = [payload for payload in corpus() if payload.surface in KINDS]
    with tempfile.TemporaryDirectory(prefix="hermes-types-") as folder:
        try:
            # Both in one compilation: starting the compiler takes longer than reading everything.
            findings = judge([*ours, *WRONG], Path(folder))
        except JudgeBrokenError as error:
            print(error, file=sys.stderr)  # noqa: T201  # this is what the command is for
            return 2
    problems = [*(str(f) for f in findings if f.name not in _names(WRONG)), *_unneeded(ours)]
    refused = {finding.name for finding in findings}
    problems += [f"{name}: is wrong on purpose, and was not refused" for name in _names(WRONG) - refused]
    for problem in problems:
        print(problem, file=sys.stderr)  # noqa: T201  # see above
    counts = ", ".join(f"{sum(p.surface == s for p in ours)} {s}" for s in KINDS)
    print(  # noqa: T201  # see above
        f"{len(ours)} payloads ({counts}) against @slack/types: {len(problems)} findings;"
        f" {len(refused & _names(WRONG))} of {len(WRONG)} wrong ones refused"
    )
    return 1 if problems or not ours else 0


def _names(payloads: list[Payload]) -> set[str]:
    return {payload.name for payload in payloads}


def _unneeded(ours: list[Payload]) -> list[str]:
    return [f"{key}: an exception that nothing needs" for key in set(UNKNOWN_TO_TYPES) - known_keys(ours)]


if __name__ == "__main__":
    sys.exit(main())
