"""Rows of the audit log as a table that a spreadsheet may open: no cell of it is taken for a formula."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Any, Final

from bot.domain.audit import COLUMNS, AuditRow, timestamp

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def plain(row: AuditRow) -> dict[str, Any]:
    """The row in the order of its columns, its time with its zone, its details as JSON."""
    return {name: timestamp(row.at) if name == "at" else getattr(row, name) for name in COLUMNS}


def cells(row: AuditRow) -> list[str]:
    """A row of the table. What a spreadsheet would calculate gets an apostrophe in front."""
    columns = plain(row)
    columns["details"] = json.dumps(columns["details"], ensure_ascii=False)
    texts = [str(columns[name]) for name in COLUMNS]
    return [f"'{text}" if text.startswith(_FORMULA) else text for text in texts]


def table(rows: Iterable[AuditRow]) -> str:
    """The table with its header, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(cells, rows))
    return text.getvalue()
