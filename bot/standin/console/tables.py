"""Tables. They scroll within their own box, so that a narrow page stays as narrow as it is."""

from collections.abc import Mapping, Sequence
from typing import Any

from bot.standin.console.frame import Block, Frame, note
from bot.standin.console.markup import escape, lines, tag
from bot.standin.console.rich_text import render_rich_text

_ALIGNMENTS = ("left", "center", "right")


def render_table(block: Block, frame: Frame) -> str:
    """A table block; its first row is the heading, as in Slack."""
    return _box(_rows(block, frame, block.get("column_settings") or []), "Table")


def render_data_table(block: Block, frame: Frame) -> str:
    """A data table, all of its pages at once."""
    caption = str(block.get("caption", ""))
    body = _rows(block, frame, [], int(block.get("row_header_column_index", -1)))
    return _box(tag("caption", lines(caption)) + body, caption or "Table")


def render_chart(block: Block, _frame: Frame) -> str:
    """A chart's numbers as a table; nothing is drawn."""
    title, chart = str(block.get("title", "")), block.get("chart")
    chart = chart if isinstance(chart, Mapping) else {}
    series = chart.get("series") or [{"name": "", "data": chart.get("segments") or []}]
    heads = [label for one in series for label in (one.get("name"),) if label]
    rows = (
        [tag("tr", "".join(tag("th", escape(head), scope="col") for head in ("", *heads)))] if heads else []
    )
    for number, point in enumerate(series[0].get("data") or []):
        values = "".join(tag("td", escape(_value(one, number)), class_="align-right") for one in series)
        rows.append(tag("tr", tag("th", escape(point.get("label", "")), scope="row") + values))
    about = f"{title} ({chart.get('type', 'unknown')} chart)"
    return _box(tag("caption", escape(about)) + tag("tbody", "".join(rows)), about)


def _value(series: Any, number: int) -> Any:
    points = series.get("data") or []
    return points[number].get("value", "") if number < len(points) else ""


def _box(rows: str, label: str) -> str:
    table = tag("table", rows)
    return tag("div", table, class_="table-box", tabindex=0, role="region", aria_label=label)


def _rows(block: Block, frame: Frame, columns: Sequence[Any], row_header: int = -1) -> str:
    rows = [row.get("cells", []) if isinstance(row, Mapping) else row for row in block.get("rows") or []]
    heading = len(rows) > 1
    written = []
    for number, row in enumerate(rows):
        cells = "".join(
            _cell(
                cell,
                frame,
                columns[at] if at < len(columns) else None,
                "col" if heading and number == 0 else "row" if at == row_header else "",
            )
            for at, cell in enumerate(row)
        )
        written.append(tag("tr", cells))
    if heading:
        return tag("thead", written[0]) + tag("tbody", "".join(written[1:]))
    return tag("tbody", "".join(written))


def _cell(cell: Any, frame: Frame, settings: Any, scope: str) -> str:
    kind = cell.get("type") if isinstance(cell, Mapping) else None
    if kind == "rich_text":
        shown = render_rich_text(cell, frame)
    elif kind == "raw_number":
        shown = escape(cell.get("text") or cell.get("value", ""))
    elif kind == "raw_text":
        shown = lines(str(cell.get("text", "")))
    else:
        shown = (
            frame.text(cell) if kind in (None, "mrkdwn", "plain_text") else note(f"unsupported cell {kind}")
        )
    wanted = settings if isinstance(settings, Mapping) else {}
    align = wanted.get("align") or ("right" if kind == "raw_number" else "left")
    shape = f"align-{align if align in _ALIGNMENTS else 'left'}{' wrap' if wanted.get('is_wrapped') else ''}"
    return tag("th", shown, scope=scope, class_=shape) if scope else tag("td", shown, class_=shape)
