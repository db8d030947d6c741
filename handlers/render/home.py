"""The App Home: what the bot is, who you are to it, what you can type."""

from collections.abc import Collection
from typing import Any

from bot.usecases.whoami import WhoAmI
from handlers.render import blocks, limits
from handlers.render.help import available, standing
from handlers.render.mrkdwn import code, prose
from handlers.verbs import SLASH


def home_view(who: WhoAmI, verbs: Collection[str], *, form: bool = False) -> dict[str, Any]:
    """The view to publish for one person; ``form`` = a button for the create form."""
    commands = "\n".join(f"{code(f'{SLASH} {v.usage}')}  {prose(v.line)}" for v in available(verbs))
    may = (
        ", ".join(code(action) for action in who.may)
        or "nothing that changes something yet; ask an administrator"
    )
    content = [
        blocks.header("Hermes Studio for your team"),
        blocks.section(
            "I start a working Hermes Studio in a sandbox of its own, with your *home* and *workspace*"
            " mounted in and the team's Skills linked. The sandbox may go; home and workspace stay."
        ),
        blocks.section(f"You are {standing(who.role)}.\nYou may: {may}"),
        *([blocks.actions(blocks.form_button("New Studio"))] if form else []),
        {"type": "divider"},
        blocks.section(f"*Type in a channel*\n{commands}"),
        blocks.context("I keep no state but an audit log: what I show is read live each time."),
    ]
    return {"type": "home", "blocks": [*limits.fit(content, limits.VIEW_BLOCKS)]}
