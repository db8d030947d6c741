"""The modal that hands one person the way into a Studio. It is the only place where a secret ever stands."""

import re
from typing import Any

from bot.domain.outcome import NotDone
from bot.domain.provisioning import Generation, SignIn
from bot.ports import Message
from bot.usecases.access import Access
from handlers.buttons import Press
from handlers.render import blocks, limits
from handlers.render.failure import failure_view
from handlers.render.limits import Block
from handlers.render.mrkdwn import bold, code

CALLBACK = "hermes.access"
TITLE = "Open Studio"

SET_IN_STUDIO = (
    "The password is the one that was set in Studio; the bot does not know it."
    " The user name may have been changed there, too."
)

_PLAIN = re.compile(r"[A-Za-z0-9:/#?=%+@!~,;._$-]+")
"""Needs no escaping anywhere in markup, so that what is shown can be copied as it is."""


def loading_view() -> dict[str, Any]:
    """Opened at once: Slack's trigger lives three seconds, and reading the sign-in may take longer."""
    return blocks.modal(
        TITLE, [blocks.section("One moment, I am fetching your link …")], callback_id=CALLBACK
    )


def access_view(access: Access) -> dict[str, Any]:
    """Link and sign-in."""
    return blocks.modal(TITLE, _content(access), callback_id=CALLBACK)


def access_message(access: Access) -> Message:
    """The same as a direct message, for a press whose trigger had expired."""
    return limits.message(f"Your link to the Studio of home {bold(access.home)}.", _content(access))


def refused_view(outcome: NotDone) -> dict[str, Any]:
    """Why there is no link; ``outcome`` must be cleaned."""
    return failure_view(TITLE, outcome, callback_id=CALLBACK)


def _content(access: Access) -> list[Block]:
    go = blocks.button("Open Studio", Press.LINK, access.sandbox_id, style="primary")
    if len(access.link) <= limits.BUTTON_URL:
        go["url"] = access.link
    home = f"Studio of home {bold(access.home)}, sandbox {code(access.sandbox_id)}."
    waking = " It sleeps now; opening the link wakes it." if access.paused else ""
    return [
        blocks.section(home + waking),
        blocks.actions(go),
        _secret("Address", access.link),
        *_sign_in(access),
        blocks.context(
            "Only you see this. That you opened it has been recorded.",
            "Please do not share the link or the password; a colleague can ask for their own.",
        ),
    ]


def _sign_in(access: Access) -> list[Block]:
    if access.generation is Generation.TOKEN:
        return [blocks.section("The link signs you in by itself.")]
    name = [_secret("User name", access.username)] if access.username else []
    if access.sign_in is SignIn.CHANGED:
        return [*name, blocks.section(SET_IN_STUDIO)]
    return [*name, _secret("Password", access.password)]


def _secret(label: str, value: str) -> Block:
    """Shown exactly: as code in markup where that needs no escaping, else as text without markup."""
    if _PLAIN.fullmatch(value) and len(value) < limits.SECTION - 100:
        return blocks.section(f"*{label}*\n`{value}`")
    return blocks.rich_text((f"{label}: ", False), (value, True))
