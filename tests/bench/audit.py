"""The figures of the audit log, as the bot writes it: redaction included."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from bot.adapters.redaction import Redactor
from tests.bench.audit_append import EACH_OF_TWO, bench_audit
from tests.bench.figures import Figure, Target, figure

ONE, SIXTEEN, TWO = "audit_append_one_caller", "audit_append_16_callers", "audit_two_processes"
TARGETS = {
    ONE: Target(0.5, "at least"),
    SIXTEEN: Target(1.0, "at least"),
    TWO: Target(2 * EACH_OF_TWO, "at least"),
}


async def measure(_: Path, __: Mapping[str, str]) -> dict[str, Figure]:
    """The three figures, measured in a thread: the rows have an event loop of their own."""
    found = await asyncio.to_thread(bench_audit, Redactor())
    about = {"floor_rows_per_second": found["floor_rows_per_second"], "n": found["rows"]}
    figures = {
        name: figure(found[key], TARGETS[name], **about)
        for name, key in ((ONE, "one_caller_ratio"), (SIXTEEN, "sixteen_callers_ratio"))
    }
    two = found["two_processes"]
    chain = {"met": two["valid"], "changes_of_writer": two["changes_of_writer"]}
    return figures | {TWO: figure(two["rows"], TARGETS[TWO]) | chain}
