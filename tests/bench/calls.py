"""Counts what leaves this process, at the vendors' own doors: did two ways of working make the same calls?"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import asyncssh
import httpx
import requests

DOORS: tuple[tuple[str, type, str], ...] = (
    ("ssh commands", asyncssh.SSHClientConnection, "create_process"),
    ("control plane requests", requests.Session, "send"),
    ("commands inside", httpx.Client, "send"),
    ("looks from outside", httpx.AsyncClient, "send"),
)


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts per kind of call, made by anything in this process while the block runs."""
    counts: Counter[str] = Counter()
    with ExitStack() as patched:
        for kind, owner, name in DOORS:
            passing = _passing(kind, getattr(owner, name), counts)
            patched.enter_context(patch.object(owner, name, passing))
        yield counts


def _passing(kind: str, door: Callable[..., Any], counts: Counter[str]) -> Callable[..., Any]:
    def passing(*arguments: Any, **more: Any) -> Any:
        counts[kind] += 1
        return door(*arguments, **more)

    return passing
