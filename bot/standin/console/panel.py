"""The side panel that shows the truth next to the messages, with the switches for faults and the clock."""

import datetime as dt
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from bot.standin.console.audit_tail import Row
from bot.standin.console.markup import escape
from bot.standin.console.messages import size
from bot.standin.console.node_tree import Entry
from bot.standin.console.pieces import Piece
from bot.standin.console.standpoint import Standpoint
from bot.standin.console.truth import Truth
from bot.standin.faults import KINDS

_MOST_SANDBOXES = 30
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_ADVANCES = ((900, "+15 min"), (3600, "+1 h"), (86_400, "+1 day"))


def truth_pieces(truth: Truth, at: Standpoint) -> dict[str, list[Piece]]:
    """The regions of the panel that change by themselves."""
    return {
        "sandboxes": list(_sandboxes(truth, at)),
        "folders": [_node(node, folders, at.zone) for node, folders in truth.folders.items()],
        "audit": [_row(row, at.zone) for row in truth.rows] or [_nothing("Nothing has been recorded yet.")],
        "armed": list(_armed(truth.faults.report()["armed"])),
        "clock": [_clock(truth, at.zone)],
    }


def fault_switches() -> str:
    """Every fault that can be armed, by target, with its meaning."""
    return "".join(_target(target, kinds.items()) for target, kinds in KINDS.items())


def clock_buttons() -> str:
    """The buttons that move the clock."""
    return "".join(
        f'<button type="button" class="small-button" data-advance="{seconds}">{label}</button>'
        for seconds, label in _ADVANCES
    )


def span(seconds: float) -> str:
    """A length of time in its largest units."""
    whole = int(seconds)
    if whole < _MINUTE:
        return "under a minute"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        hours, minutes = divmod(whole // _MINUTE, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(whole // _HOUR, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def _sandboxes(truth: Truth, at: Standpoint) -> Iterator[Piece]:
    listed = truth.sandboxes()
    if not listed:
        yield _nothing("None. A create makes the first one.")
    for box in listed[:_MOST_SANDBOXES]:
        idle = _idle(box, truth.clock.time())
        told = box["metadata"]
        home, workspace = told.get("hermes-home", ""), told.get("hermes-workspace", "")
        owner = at.viewer.names.get(told.get("hermes-owner", ""), told.get("hermes-owner", ""))
        signature = (box["state"], box["node"], idle, home, workspace, owner, box["template"])
        yield Piece(box["sandboxID"], signature, partial(_sandbox, box, *signature))
    if len(listed) > _MOST_SANDBOXES:
        yield _nothing(f"… and {len(listed) - _MOST_SANDBOXES} more", key="more")


def _sandbox(
    box: dict[str, Any],
    state: str,
    node: str,
    idle: str,
    home: str,
    workspace: str,
    owner: str,
    template: str,
) -> str:
    facts = [("workspace", workspace), ("owner", owner), ("node", node), ("template", template)]
    listed = "".join(
        f"<div><dt>{name}</dt><dd>{escape(str(value))}</dd></div>" for name, value in facts if value
    )
    kind = " paper" if box["paper"] else ""
    name = escape(home) if home else "no home named"
    return (
        f'<div class="sandbox{kind}"><p class="sandbox-head"><b>{name}</b>'
        f'<span class="state state-{escape(state)}">{escape(state)}</span></p>'
        f'<p class="idle">{escape(idle)}</p><dl>{listed}</dl>'
        f'<code class="id">{escape(box["sandboxID"])}</code></div>'
    )


def _idle(box: dict[str, Any], now: float) -> str:
    if box["state"] == "paused":
        return "asleep; opening it wakes it"
    deadline = box["deadline"]
    if deadline is None:
        return "never sleeps by itself"
    return f"sleeps in {span(deadline - now)}" if deadline > now else "about to sleep"


def _node(node: str, folders: list[Entry], zone: dt.tzinfo) -> Piece:
    def render() -> str:
        return (
            f'<p class="node-name">{escape(node)} <code>/data/shared</code></p>'
            f'<ul class="tree">{"".join(_entry(entry, zone, depth=0) for entry in folders)}</ul>'
        )

    return Piece(node, tuple(folders), render)


def _entry(entry: Entry, zone: dt.tzinfo, *, depth: int) -> str:
    name = escape(entry.name)
    if entry.kind != "dir":
        mark = {"link": "link"}.get(entry.kind, size(entry.octets) if entry.kind == "file" else entry.kind)
        return (
            f'<li><span class="leaf">{name}</span><small>{mark} · {_when(entry.modified, zone)}</small></li>'
        )
    count = len(entry.entries) + entry.more
    facts = f"<small>{count or 'empty'}{'' if not count else ' entry' if count == 1 else ' entries'}"
    facts += f" · {_when(entry.modified, zone)}</small>" if depth else "</small>"
    if not entry.entries:
        return f'<li><span class="leaf folder">{name}</span>{facts}</li>'
    inner = "".join(_entry(one, zone, depth=depth + 1) for one in entry.entries)
    if entry.more:
        inner += f"<li><small>… and {entry.more} more</small></li>"
    opened = " open" if depth == 0 else ""
    return (
        f'<li><details data-keep="{name}-{depth}"{opened}><summary><span class="folder">{name}</span>{facts}'
        f"</summary><ul>{inner}</ul></details></li>"
    )


def _when(moment: float, zone: dt.tzinfo) -> str:
    shown = dt.datetime.fromtimestamp(moment, zone)
    return f'<time datetime="{shown.isoformat(timespec="seconds")}">{shown:%d %b %H:%M}</time>'


def _row(row: Row, zone: dt.tzinfo) -> Piece:
    def render() -> str:
        where = " ".join(part for part in (row.home, row.sandbox[:8]) if part)
        told = " · ".join(part for part in (row.code, row.reason) if part)
        result = escape(row.result)
        badge = f'<span class="result result-{result}">{result}</span>' if result else ""
        return (
            f'<div class="audit-row"><p><span class="seq">{row.seq}</span>'
            f"<b>{escape(row.action or row.phase)}</b>"
            f"<span>{escape(row.phase if row.action else '')}</span>{badge}"
            f"{_audit_time(row.at, zone)}</p>"
            f"<p>{escape(' · '.join(part for part in (row.actor, where) if part))}</p>"
            f'<p class="told">{escape(told)}</p></div>'
        )

    return Piece(str(row.seq), row, render)


def _audit_time(at: str, zone: dt.tzinfo) -> str:
    try:
        moment = dt.datetime.fromisoformat(at).astimezone(zone)
    except ValueError:
        return f"<time>{escape(at)}</time>"
    return f'<time datetime="{escape(at)}">{moment:%H:%M:%S}</time>'


def _armed(armed: list[dict[str, Any]]) -> Iterator[Piece]:
    if not armed:
        yield _nothing("None is armed. Everything works as it should.")
    for number, fault in enumerate(armed):
        told = {"target", "kind", "times", "held"}
        options = ", ".join(f"{k}={v}" for k, v in fault.items() if k not in told)
        target, kind, times = str(fault["target"]), str(fault["kind"]), int(fault["times"])
        left = f"{times} more {'time' if times == 1 else 'times'}"
        left = ("until you clear it" if fault["held"] else left) + (f", {options}" if options else "")
        yield Piece(f"{number}-{target}-{kind}", left, partial(_armed_fault, target, kind, left))


def _armed_fault(target: str, kind: str, left: str) -> str:
    return (
        f'<div class="armed-fault"><span><b>{escape(target)}: {escape(kind)}</b><small>{escape(left)}</small>'
        f'</span><button type="button" class="small-button" data-disarm="{escape(kind)}" '
        f'data-target="{escape(target)}" aria-label="Clear {escape(kind)}">Clear</button></div>'
    )


def _clock(truth: Truth, zone: dt.tzinfo) -> Piece:
    now = dt.datetime.fromtimestamp(truth.clock.time(), zone)
    ahead = truth.clock.offset
    words = f"{span(ahead)} ahead of this machine" if ahead else "no different from this machine"
    shown = f"{now:%A, %d %B %Y, %H:%M}"
    return Piece(
        "now",
        (shown, words),
        lambda: f'<p class="clock-now"><b>{shown}</b><small>{words}</small></p>',
    )


def _target(target: str, kinds: Iterable[tuple[str, str]]) -> str:
    listed = list(kinds)
    rows = "".join(
        f"<li><span><b>{escape(kind)}</b><small>{escape(meaning)}</small></span>"
        f'<label><span class="hidden">times for {escape(kind)}</span>'
        '<input type="number" min="1" max="999" value="1" class="times"></label>'
        f'<button type="button" class="small-button" data-arm="{escape(kind)}" '
        f'data-target="{escape(target)}" aria-label="Arm {escape(kind)}">Arm</button></li>'
        for kind, meaning in listed
    )
    return (
        f'<details class="fault-target"><summary>{escape(target)} <small>{len(listed)} kinds</small>'
        f'</summary><ul class="faults">{rows}</ul></details>'
    )


def _nothing(words: str, key: str = "nothing") -> Piece:
    return Piece(key, words, lambda: f'<p class="quiet">{escape(words)}</p>')
