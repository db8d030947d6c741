"""The App Home: one's own sandboxes, what waits, the team's at a glance, and what one can type."""

from collections.abc import Collection
from typing import Any

from bot.usecases.overview import Overview, Own, Team, Unfinished
from bot.usecases.sightings import Seen
from bot.usecases.whoami import WhoAmI
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.card import state_buttons
from handlers.render.help import available, standing
from handlers.render.limits import Block
from handlers.render.mrkdwn import bold, code, moment, person, prose
from handlers.render.states import SIGNS, idle, name, studio
from handlers.verbs import SLASH

MOST_TROUBLED = 8
MOST_OWNERS = 10
MOST_BUTTONS = 4
"""In one row, beside *Details*: the card has all of them."""


def home_view(
    who: WhoAmI, verbs: Collection[str], found: Overview | None = None, *, form: bool = False
) -> dict[str, Any]:
    """The view to publish for one person; ``form`` = a button for the create form."""
    content = [*_head(who, form=form), *(_sections(found) if found else []), *_commands(verbs)]
    return {"type": "home", "blocks": [*limits.fit(content, limits.VIEW_BLOCKS)]}


def reading_view(who: WhoAmI, *, form: bool = False) -> dict[str, Any]:
    """The same before anything was read, so that nobody looks at an empty page."""
    content = [
        *_head(who, form=form),
        blocks.section(":hourglass_flowing_sand: Reading how your sandboxes are …"),
    ]
    return {"type": "home", "blocks": [*limits.fit(content, limits.VIEW_BLOCKS)]}


def _head(who: WhoAmI, *, form: bool) -> list[Block]:
    may = (
        ", ".join(code(action) for action in who.may)
        or "nothing that changes something yet; ask an administrator"
    )
    return [
        blocks.header("Hermes Studio for your team"),
        blocks.section(
            "I start a working Hermes Studio in a sandbox of its own, with your *home* and *workspace*"
            " mounted in and the team's Skills linked. The sandbox may go; home and workspace stay."
        ),
        blocks.section(f"You are {standing(who.role)}.\nYou may: {may}"),
        *([blocks.actions(blocks.form_button("New Studio"))] if form else []),
    ]


def _commands(verbs: Collection[str]) -> list[Block]:
    commands = "\n".join(f"{code(f'{SLASH} {v.usage}')}  {prose(v.line)}" for v in available(verbs))
    return [
        {"type": "divider"},
        blocks.section(f"*Type in a channel*\n{commands}"),
        blocks.context("I keep no state but an audit log: what I show is read live each time."),
    ]


def _sections(found: Overview) -> list[Block]:
    missing = f" I could not read {' and '.join(found.missing)}; open this page again in a minute." * bool(
        found.missing
    )
    return [
        {"type": "divider"},
        *_waiting(found),
        *_mine(found),
        *(_team(found.team) if found.team else []),
        blocks.context(f"Read live {moment(found.at)}.{missing}"),
    ]


def _waiting(found: Overview) -> list[Block]:
    troubled = [own.seen for own in found.mine or () if own.seen.judged.condition.troubled]
    if not troubled and not found.unfinished:
        return []
    return [
        blocks.section("*Waiting for you*"),
        *(blocks.section(_line(seen)) for seen in troubled),
        *(block for one in found.unfinished or () for block in _unfinished(one)),
    ]


def _unfinished(one: Unfinished) -> list[Block]:
    text = (
        f":warning: The Studio for home {bold(one.home)}, asked for {moment(one.at)}, did not come to its end"
        f" ({code(one.code)}). *Continue* picks up what exists."
    )
    go_on = blocks.button("Continue", Press.CREATE_CONTINUE, one.request_id, style="primary")
    return [blocks.section(text), blocks.actions(go_on)]


def _mine(found: Overview) -> list[Block]:
    if found.mine is None:
        text = "*Your sandboxes*\nI cannot tell just now: Cube does not answer. They go on as they are."
        return [blocks.section(text)]
    if not found.mine:
        return [blocks.section("*Your sandboxes*\nYou have none now.")]
    left = found.mine_count - len(found.mine)
    more = f"… and {left} more: {code(f'{SLASH} status')} shows them all."
    return [
        blocks.section("*Your sandboxes*"),
        *(block for own in found.mine for block in _own(own)),
        *([blocks.context(more)] if left > 0 else []),
    ]


def _own(own: Own) -> list[Block]:
    details = blocks.button("Details", Press.STATUS, own.seen.view.sandbox_id)
    return [
        blocks.section(
            f"{_line(own.seen)}\nIdle time left: {idle(own.seen.idle)}. Studio: {studio(own.seen)}."
        ),
        blocks.actions(*state_buttons(own.seen, own.acts)[:MOST_BUTTONS], details),
    ]


def _team(team: Team) -> list[Block]:
    states = ", ".join(f"{number:,} {word}" for word, number in team.states.items()) or "none"
    by_whom = "" if team.judged else " by Cube's word"
    owners = [f"{person(owner) if owner else 'unknown'} {number:,}" for owner, number in team.owners.items()]
    more = f" and {len(owners) - MOST_OWNERS} more people" if len(owners) > MOST_OWNERS else ""
    text = f"*The team*\n{team.total:,} in all{by_whom}: {states}."
    if owners:
        text += f"\nOwners: {', '.join(owners[:MOST_OWNERS])}{more}."
    troubled = [
        blocks.section(f"{_line(seen)} {person(seen.view.owner) if seen.view.owner else ''}".strip())
        for seen in team.troubled[:MOST_TROUBLED]
    ]
    left = len(team.troubled) - MOST_TROUBLED
    rest = f"… and {left} more that are not well: {code(f'{SLASH} status')} shows them all."
    return [blocks.section(text), *troubled, *([blocks.context(rest)] if left > 0 else [])]


def _line(seen: Seen) -> str:
    condition = seen.judged.condition
    return f"{SIGNS[condition]} {bold(name(seen.view))} is *{condition.value}*. {prose(seen.judged.sentence)}"
