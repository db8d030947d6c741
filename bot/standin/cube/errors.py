"""The errors of CubeAPI, in its own words."""

import json

from bot.standin.cube.platform import Platform

LOCKED = "sandbox lifecycle operation in progress; retry later"
TAP_BUSY = (
    "Resume vm failed:resume vm from snapshot failed:Cannot restore VM: Failed to restore migratable "
    "component: Could not create devices CreateVirtioNet(OpenTap(TapOpen(ConfigureTap(Os { code: 16, "
    'kind: ResourceBusy, message: "Device or resource busy" })))), status: launched'
)
ALREADY_CREATED = "Resume vm failed:VM is already created, status: launched"
NO_ROOM = "resume rejected by paused_resource_release_ratio policy: need {need}MB > quota {quota}MB"
NO_ROUTE = "ConnHostFailed: dial tcp 10.0.0.1:9966: connect: no route to host"
STILL_PAUSING = "cannot resume: pause rpc timed out and cubelet is not PAUSED"
# What a 500 says when CubeMaster cannot be reached is not known; these are our words.
MASTER_DOWN = "error sending request: connection to CubeMaster refused (127.0.0.1:8089)"


class CubeError(Exception):
    """An answer ``{"code": status, "message": message}``."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after = retry_after


class UnparsedError(Exception):
    """A body that the framework refused before any handler saw it: plain text, no code."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class PageError(Exception):
    """nginx in front of CubeAPI answers with its own page of this status, 502 or 504."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class EmptyAnswerError(Exception):
    """A status without a body: a route's time limit, or a route that does not exist."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


def body(status: int, message: str) -> str:
    """The body of an error, written as CubeAPI writes JSON: without blanks."""
    return json.dumps({"code": status, "message": message}, separators=(",", ":"), ensure_ascii=False)


def master(status: int, code: int, text: str, *, retry_after: int | None = None) -> CubeError:
    """An error relayed from CubeMaster; its six-digit code stands in the message only."""
    return CubeError(status, f"CubeMaster returned error code {code}: {text}", retry_after=retry_after)


def bad_parameters(platform: Platform, text: str) -> CubeError:
    """130400."""
    return master(400 if platform.bad_parameters_are_400 else 500, 130400, text)


def not_found(sandbox_id: str) -> CubeError:
    """The 404 of every sandbox call."""
    return CubeError(404, f"sandbox {sandbox_id} not found")
