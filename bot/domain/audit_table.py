"""Audit rows as a table for spreadsheets, in which no cell is taken for a formula."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any, Final

from bot.domain.audit import COLUMNS, AuditRow, timestamp

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def plain_row(row: AuditRow) -> dict[str, Any]:
    """The row in the order of its columns, its time with its zone, its details as JSON."""
    return {name: timestamp(row.at) if name == "at" else getattr(row, name) for name in COLUMNS}


def cells(row: AuditRow) -> list[str]:
    """The row as text, in the order of its columns, with nothing in it that a spreadsheet would run."""
    plain = plain_row(row)
    plain["details"] = json.dumps(plain["details"], ensure_ascii=False)
    return [inert(str(plain[name])) for name in COLUMNS]


def inert(cell: str) -> str:
    """The cell, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def as_csv(rows: Iterable[AuditRow]) -> str:
    """The rows with a line of names before them, in the order in which they are given."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(cells(row) for row in rows)
    return file.getvalue()
