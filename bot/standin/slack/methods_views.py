"""views.*: modals and the Home tab."""

from typing import Any

from bot.standin.slack.args import Args
from bot.standin.slack.blocks import check_view
from bot.standin.slack.errors import SlackError, invalid_arguments
from bot.standin.slack.modals import View
from bot.standin.slack.tickets import Trigger
from bot.standin.slack.world import World


def _view_of(args: Args, *kinds: str) -> dict[str, Any]:
    if "view" not in args:
        raise invalid_arguments("missing required field: view")
    return check_view(args.get("view"), kinds=kinds)


def _trigger(world: World, args: Args) -> Trigger:
    trigger_id = args.text("trigger_id") or args.text("interactivity_pointer")
    if not trigger_id:
        raise invalid_arguments("missing required field: trigger_id")
    return world.tickets.redeem_trigger(trigger_id)


def open_view(world: World, args: Args) -> dict[str, Any]:
    """views.open: a first modal, within three seconds of the interaction.

    The view is checked first: a view that is refused leaves the trigger usable, as in Slack.
    """
    source = _view_of(args, "modal")
    return _answer(world.views.open(_trigger(world, args).user, source))


def push_view(world: World, args: Args) -> dict[str, Any]:
    """views.push: one more modal on top, three at most, for an interaction inside a modal."""
    source = _view_of(args, "modal")
    trigger = _trigger(world, args)
    if trigger.view_id not in {view.id for view in world.views.stack(trigger.user)}:
        raise SlackError("invalid_trigger_id")
    return _answer(world.views.push(trigger.user, source))


def update_view(world: World, args: Args) -> dict[str, Any]:
    """views.update, by ``view_id`` or ``external_id``."""
    view_id, external_id = args.text("view_id"), args.text("external_id")
    if not (view_id or external_id):
        raise invalid_arguments("missing required field: view_id or external_id")
    view = world.views.find(view_id or None, external_id or None)
    if view is None:
        raise SlackError("not_found")
    source = _view_of(args, view.source["type"])
    return _answer(world.views.update(view, source, expected_hash=args.text("hash") or None))


def publish_view(world: World, args: Args) -> dict[str, Any]:
    """views.publish: a person's Home tab."""
    source = _view_of(args, "home")
    user = args.needed("user_id")
    if world.cast.human(user) is None:
        raise SlackError("user_not_found" if user not in world.cast.people else "not_enabled")
    return _answer(world.views.publish(user, source, args.text("hash") or None))


def _answer(view: View) -> dict[str, Any]:
    return {"ok": True, "view": view.shown()}
