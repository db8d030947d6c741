"""The very texts that the bot sends into a sandbox, overheard from the adapter that sends them."""

from contextlib import suppress
from typing import cast

from bot.adapters.guest import GuestPrograms
from bot.domain.errors import GuestError
from bot.domain.skills import OverlayPlan
from bot.ports import CommandResult, Cube


class Overhearing:
    """The one method of ``Cube`` that programs go through. Every command fails, and its text is kept."""

    def __init__(self) -> None:
        self.command = ""

    async def run(self, _sandbox_id: str, command: str, **_: object) -> CommandResult:
        self.command = command
        return CommandResult(1, "", "")


async def guest_programs() -> dict[str, str]:
    """Verb → the command up to its verb and arguments, which are its last two words."""
    cube = Overhearing()
    guest = GuestPrograms(cast("Cube", cube))
    plan = OverlayPlan(
        link=("any",), keep_private=(), already=(), remove_dangling=(), conflict=(), ignored=()
    )
    told: dict[str, str] = {}
    for asked in (
        guest.check_mounts("", ""),
        guest.skills_inventory(""),
        guest.apply_overlay("", plan),
        guest.start_studio("", port=9000, auth="auto"),
    ):
        with suppress(GuestError):
            await asked
        text, verb, _ = cube.command.rsplit(" ", 2)
        told[verb] = text
    return told
