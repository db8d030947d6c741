"""Errors of the outside world, after an adapter has translated them once."""

from bot.domain.cube_errors import CubeFault


class DomainError(Exception):
    """Root of the errors that use cases turn into outcomes."""


class CubeError(DomainError):
    """Cube or the data plane answered with an error. ``fault`` says which kind."""

    def __init__(self, fault: CubeFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class NodeError(DomainError):
    """The node refused or failed.

    ``code`` is one of: node-unreachable, node-login-refused, host-key-changed, node-timeout,
    node-program-failed, unsafe-path, not-writable, disk-low, disk-full, default-home-missing,
    public-skills-missing.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class GuestError(DomainError):
    """A program of ours inside a sandbox failed.

    ``code`` is one of: guest-timeout, guest-program-failed, studio-did-not-start, studio-login-failed,
    studio-unknown-generation, overlay-failed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class ChatError(DomainError):
    """Slack refused a call. ``code`` is Slack's own error word."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code
