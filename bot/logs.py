"""Logging: one line per event on stderr, JSON or for people, always redacted."""

import logging
import sys
from typing import Any, Literal

import structlog

from bot.ports import Redactor

QUIET = ("slack_sdk", "slack_bolt", "asyncssh", "httpx", "httpcore", "alembic", "aiohttp.access")
"""Libraries whose debug lines carry bodies, tickets and tokens: never below INFO."""


class _ExpectedOfBolt(logging.Filter):
    """Bolt warns at every start that it ignores SLACK_BOT_TOKEN, which is what we want of it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Everything else passes."""
        return "will be unused" not in record.getMessage() and "will be ignored" not in record.getMessage()


class _LastGate(logging.Formatter):
    """Redacts the finished line, whatever it was made of, tracebacks included."""

    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        """The line that leaves the process."""
        return self._redactor.text(self._inner.format(record))


def configure(style: Literal["json", "console"], redactor: Redactor, level: int = logging.INFO) -> None:
    """Send every logger of the process through the redactor to stderr."""
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.format_exc_info,
    ]
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if style == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LastGate(formatter, redactor))
    logging.getLogger("slack_bolt.AsyncApp").addFilter(_ExpectedOfBolt())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in QUIET:
        logging.getLogger(name).setLevel(max(level, logging.INFO))
    for name in ("httpx", "asyncssh", "aiohttp.access", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
