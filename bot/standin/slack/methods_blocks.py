"""blocks.validate: whether blocks, a message or a view would be taken, unsent. It takes no token."""

from typing import Any

from bot.standin.slack.args import Args
from bot.standin.slack.block_check import Problem
from bot.standin.slack.blocks import block_problems, message_problems, view_problems
from bot.standin.slack.errors import SlackError
from bot.standin.slack.world import World

_ERRORS = {"blocks": "invalid_blocks", "message": "invalid_message", "view": "invalid_view"}
_CODE = "failed_constraint"


def validate(_world: World, args: Args) -> dict[str, Any]:
    """Check one of ``blocks``, ``message`` and ``view``. Pointers start at what was given, not at its name.

    Raises:
        SlackError: ``invalid_blocks``, ``invalid_message`` or ``invalid_view`` with all problems, or
            ``invalid_arguments`` when it was not exactly one.
    """
    given = [name for name in _ERRORS if name in args]
    if len(given) != 1:
        text = "must provide exactly one of `blocks`, `view`, or `message`"
        raise SlackError("invalid_arguments", extra={"response_metadata": {"messages": [text]}})
    [name] = given
    problems = _problems(name, args.data(name, _ERRORS[name]))
    if problems:
        raise SlackError(_ERRORS[name], extra={"errors": [_shown(problem) for problem in problems]})
    return {"ok": True}


def _problems(name: str, value: Any) -> list[Problem]:
    if name == "view":
        return list(view_problems(value, "", ("modal", "home")))
    at = ""
    if name == "message":
        if not isinstance(value, dict):
            return [Problem("must provide an object", "", {"type": "type", "expected": "object"})]
        value, at = value.get("blocks", []), "/blocks"
    if not isinstance(value, list) or not all(isinstance(block, dict) for block in value):
        return [Problem("must provide an array of objects", at, {"type": "type", "expected": "array"})]
    return list(message_problems(value, at) if name == "message" else block_problems(value, "", at))


def _shown(problem: Problem) -> dict[str, Any]:
    shown = {"code": _CODE, "message": problem.text, "pointer": problem.pointer}
    more = {"field": problem.field, "constraint": problem.constraint}
    return shown | {name: value for name, value in more.items() if value}
