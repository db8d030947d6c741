"""Audit rows as a table for spreadsheets, in which no cell is taken for a formula."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bot.domain.audit import COLUMNS, AuditRow, Redactor, timestamp

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def plain_row(row: AuditRow) -> dict[str, Any]:
    """The row in the order of its columns, its time with its zone, its details as JSON."""
    return {name: timestamp(row.at) if name == "at" else getattr(row, name) for name in COLUMNS}


def cells(plain: Mapping[str, Any]) -> list[str]:
    """A plain row as text, in the order of its columns, with nothing in it that a spreadsheet would run."""
    texts = {**plain, "details": json.dumps(plain["details"], ensure_ascii=False)}
    return [inert(str(texts[name])) for name in COLUMNS]


def inert(cell: str) -> str:
    """The cell, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def as_csv(rows: Iterable[AuditRow], redactor: Redactor) -> str:
    """The rows with a line of names before them, in the order in which they are given.

    Each cell is redacted by itself, and quoted, so that no secret is looked for, and then hidden, across the
    border of two cells.
    """
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    table.writerow(COLUMNS)
    for row in rows:
        plain = plain_row(row)
        clean: dict[str, Any] = {name: redactor.text(str(plain[name])) for name in COLUMNS}
        table.writerow(cells(clean | {"details": redactor.payload(plain["details"])}))
    return file.getvalue()
