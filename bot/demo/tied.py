"""``python -m bot.demo.tied PID ARGUMENTS``: ``hermes-bot ARGUMENTS`` that does not outlive process ``PID``.

A killed parent ends nothing by itself: its bot would go on answering, and its stand-ins go on serving.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tie_to(parent: int) -> None:
    """Get SIGTERM when the thread of ``parent`` that started this process ends; exit if it already has.

    The kernel forgets it where privileges change, as they do when stand-ins move into a user namespace.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl PR_SET_PDEATHSIG: {os.strerror(number)}")
    if os.getppid() != parent:
        sys.exit("hermes-bot: the process that started this one has ended.")


def main() -> None:
    """Tie, then be ``hermes-bot``."""
    tie_to(int(sys.argv.pop(1)))
    from bot.cli import main as hermes_bot  # noqa: PLC0415 - tied before a second goes into loading it

    hermes_bot()


if __name__ == "__main__":
    main()
