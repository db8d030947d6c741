"""The list of sandboxes: one table, in pages that Slack surely takes."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bot.domain.message_limits import TABLE_ROWS
from bot.domain.sandbox import SandboxView
from bot.ports import Message
from bot.usecases.sightings import Seen
from bot.usecases.status import Scope, Survey
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.limits import Block
from handlers.render.mrkdwn import bold, escape, is_person, moment, person
from handlers.render.states import idle, state, studio
from handlers.verbs import SLASH

COLUMNS = ("Home", "Owner", "State", "What it means", "Idle left", "Studio", "Node", "Template", "Skills")
TABLE_TEXT = 10_000
"""Characters in all cells of a table, as Slack counts them."""

_SENTENCE = 110
_STUDIO = 34
_NODE = 24
_TEMPLATE = 20
_SKILLS = 12
_STATE = 14
_IDLE = 14
_LATER = _STATE + _SENTENCE + _IDLE + _STUDIO + _SKILLS
"""What a row may take beside that which is known before anything is looked at."""

_HEADING = sum(map(len, COLUMNS))
_FROM_LOG = " †"

Page = tuple[int, int]


def pages(found: Survey) -> list[Page]:
    """Start and end of each page: as many rows as fit into a table, whatever they will say."""
    made: list[Page] = []
    start, used = 0, _HEADING
    for number, view in enumerate(found.views):
        width = _width(view)
        if number - start >= TABLE_ROWS - 1 or used + width > TABLE_TEXT:
            made.append((start, number))
            start, used = number, _HEADING
        used += width
    return [*made, (start, len(found.views))]


def status_message(found: Survey, shown: Sequence[Seen], number: int, count: int) -> Message:
    """One page of the list; ``number`` counts from 1."""
    if not found.everything:
        text = f"No sandbox runs or sleeps here now. Make one with `{SLASH} create home=NAME`."
        return limits.message(
            text, [blocks.section(text), blocks.actions(blocks.form_button("New Studio")), _print(found, ())]
        )
    headline = _headline(found, number, count)
    if not shown:
        return limits.message(headline, [blocks.section(headline), _turning(found, number, count)])
    twice = {home for home, times in Counter(one.view.home for one in shown).items() if times > 1}
    rows = [_row(one, named=one.view.home not in twice) for one in shown]
    foot = [_print(found, shown), _turning(found, number, count)]
    return limits.message(
        headline,
        [blocks.section(headline), blocks.table(COLUMNS, rows), *foot],
        classic=[blocks.section(headline), *_lines(shown), *foot],
    )


def _headline(found: Survey, number: int, count: int) -> str:
    what = "one sandbox" if found.everything == 1 else f"{found.everything:,} sandboxes"
    yours = (
        f"{found.mine:,} of them {'is' if found.mine == 1 else 'are'} yours"
        if found.mine
        else "none is yours"
    )
    states = Counter(view.state.value for view in found.views)
    told = ", ".join(f"{times:,} {word}" for word, times in states.most_common())
    page = f" Page {number} of {count}." if count > 1 else ""
    if found.scope is Scope.MINE:
        return f"Yours are {found.mine:,} of {what} (Cube says: {told or 'none'}).{page}"
    return f"There {'is' if found.everything == 1 else 'are'} {what}; {yours} (Cube says: {told}).{page}"


def _row(one: Seen, *, named: bool) -> list[dict[str, Any]]:
    view = one.view
    return [
        blocks.cell(_home(view, named=named)),
        _owner(view.owner),
        blocks.cell(state(one.judged.condition)),
        blocks.cell(limits.cut(one.judged.sentence, _SENTENCE)),
        blocks.cell(idle(one.idle)),
        blocks.cell(limits.cut(studio(one), _STUDIO)),
        blocks.cell(_short(view.node, _NODE)),
        blocks.cell(_short(view.template, _TEMPLATE)),
        blocks.cell(_short(one.skills_revision, _SKILLS)),
    ]


def _width(view: SandboxView) -> int:
    """The most that a row of it takes."""
    names = len(_home(view, named=False)) + len(_owner_text(view.owner))
    return names + len(_short(view.node, _NODE)) + len(_short(view.template, _TEMPLATE)) + _LATER


def _home(view: SandboxView, *, named: bool) -> str:
    """The home; where that does not tell it from another one, with the id of the sandbox."""
    if not view.home:
        return view.sandbox_id
    home = _short(view.home, 63)
    mark = _FROM_LOG if view.labels_from_log else ""
    return f"{home}{mark}" if named else f"{home} {view.sandbox_id}{mark}"


def _owner(owner: str) -> dict[str, Any]:
    return blocks.person_cell(owner) if is_person(owner) else blocks.cell(_owner_text(owner))


def _owner_text(owner: str) -> str:
    return owner if is_person(owner) else _short(owner, 40) or "unknown"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _lines(shown: Sequence[Seen]) -> list[Block]:
    """The same where Slack takes no table: a line each."""
    made: list[Block] = []
    lines: list[str] = []
    for one in shown:
        view = one.view
        line = (
            f"{state(one.judged.condition)} {bold(_home(view, named=True))}: {escape(one.judged.sentence)}"
            f" Idle left: {idle(one.idle)}. Studio: {escape(studio(one))}. {person(view.owner or 'unknown')}"
        )
        if sum(map(len, lines)) + len(lines) + len(line) > limits.SECTION:
            made.append(blocks.section("\n".join(lines)))
            lines = []
        lines.append(limits.cut(line, limits.SECTION))
    return [*made, blocks.section("\n".join(lines))]


def _print(found: Survey, shown: Sequence[Seen]) -> Block:
    """Small print: when, and what could not be read."""
    lines = [f"Read live {moment(found.at)}. Looking has woken nothing and prolonged nothing."]
    silent = sorted({one.view.node or "unknown" for one in shown if not one.node_answered})
    if silent:
        names = escape(", ".join(silent[:5]))
        lines.append(f"Did not answer, so health is unknown there: node {names}.")
    if any(one.view.labels_from_log for one in shown):
        lines.append("† Cube has lost the labels of these; they are as the audit log has them.")
    if found.more_left_out:
        lines.append("Cube's list leaves out more of our sandboxes than I ask for; not all are shown.")
    if not found.log_answered:
        lines.append("The audit log cannot be read, so names that Cube has lost are missing.")
    return blocks.context(*lines)


def _turning(found: Survey, number: int, count: int) -> Block:
    """Previous, next, the same again, and the other scope."""
    scope = found.scope.value
    buttons = []
    if number > 1:
        buttons.append(
            blocks.button("Previous", Press.STATUS_PAGE, f"{number - 1}.{scope}", which="previous")
        )
    if number < count:
        buttons.append(blocks.button("Next", Press.STATUS_PAGE, f"{number + 1}.{scope}", which="next"))
    buttons.append(blocks.button("Refresh", Press.STATUS_PAGE, f"{number}.{scope}", which="refresh"))
    if found.scope is Scope.MINE:
        buttons.append(blocks.button("Everybody's", Press.STATUS_PAGE, f"1.{Scope.ALL.value}", which="scope"))
    elif 0 < found.mine < found.everything:
        buttons.append(blocks.button("Only mine", Press.STATUS_PAGE, f"1.{Scope.MINE.value}", which="scope"))
    return blocks.actions(*buttons)
