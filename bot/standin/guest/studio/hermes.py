"""``hermes``: the sub-commands of Hermes Agent 0.19.0 that a sandbox's keeper calls.

What each ``/health`` asks and what stays running is told apart first, before anything more is loaded.
"""

from __future__ import annotations

import sys

from .home import note_update_check
from .places import AGENT_VERSION, complain, hermes_home, say

_GATEWAY_RUN = ["gateway", "run"]


def main(argv: list[str] | None = None) -> int:
    """Run one command; the exit code is the real command's, odd as it may be."""
    words = sys.argv[1:] if argv is None else argv
    if words in (["--version"], ["-V"], ["version"]):
        say(f"Hermes Agent {AGENT_VERSION}")
        note_update_check(hermes_home())
        return 0
    try:
        if words in (_GATEWAY_RUN, [*_GATEWAY_RUN, "--replace"]):
            from . import gateway  # noqa: PLC0415 - see the module's text

            return gateway.run(replace=words != _GATEWAY_RUN)
        from . import commands  # noqa: PLC0415 - see the module's text

        return commands.run(words)
    except OSError as error:
        complain(f"OSError: [Errno {error.errno}] {error.strerror}: {error.filename!r}")
        return 1
