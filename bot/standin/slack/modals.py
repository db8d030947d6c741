"""Modal stacks and Home tabs."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.standin.clock import StandInClock
from bot.standin.slack import elements
from bot.standin.slack.cast import APP_ID, BOT_ID, TEAM
from bot.standin.slack.errors import ImpossibleActionError, SlackError
from bot.standin.slack.messages import with_ids

STACK_LIMIT = 3


@dataclass(slots=True)
class View:
    """One modal or Home tab as it stands. ``state`` is what its user chose and typed so far."""

    id: str
    user: str
    source: dict[str, Any]
    blocks: list[dict[str, Any]]
    hash: str
    root_id: str
    previous_id: str | None = None
    state: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, dict[str, Any]]:
        """``state.values``: every input and choice, touched or not."""
        return elements.values(self.blocks, self.state)

    def shown(self) -> dict[str, Any]:
        """The view object of payloads and Web API answers."""
        source = self.source
        view: dict[str, Any] = {
            "id": self.id,
            "team_id": TEAM,
            "type": source["type"],
            "blocks": self.blocks,
            "private_metadata": source.get("private_metadata") or "",
            "callback_id": source.get("callback_id") or "",
            "state": {"values": self.values()},
            "hash": self.hash,
            "title": source.get("title") or {"type": "plain_text", "text": "View Title", "emoji": True},
            "clear_on_close": bool(source.get("clear_on_close")),
            "notify_on_close": bool(source.get("notify_on_close")),
            "close": source.get("close"),
            "submit": source.get("submit"),
            "previous_view_id": self.previous_id,
            "root_view_id": self.root_id,
            "app_id": APP_ID,
            "external_id": source.get("external_id") or "",
            "app_installed_team_id": TEAM,
            "bot_id": BOT_ID,
        }
        return view | ({"errors": dict(self.errors)} if self.errors else {})


class ViewStore:
    """The open modals and the published Home tabs of everybody."""

    def __init__(self, clock: StandInClock) -> None:
        self._clock = clock
        self._stacks: dict[str, list[View]] = {}
        self._homes: dict[str, View] = {}

    def stack(self, user: str) -> list[View]:
        """The person's open modals, the top one last."""
        return self._stacks.setdefault(user, [])

    def home(self, user: str) -> View | None:
        """The Home tab published for a person."""
        return self._homes.get(user)

    def open(self, user: str, source: dict[str, Any]) -> View:
        """Start a new stack; what was open before is gone."""
        self._check_external_id(source)
        view = self._new(user, source)
        self._stacks[user] = [view]
        return view

    def push(self, user: str, source: dict[str, Any]) -> View:
        """Put a view on top of the person's stack.

        Raises:
            SlackError: No modal is open, or three already are.
        """
        stack = self.stack(user)
        if not stack:
            raise SlackError("invalid_trigger_id")
        if len(stack) >= STACK_LIMIT:
            raise SlackError("push_limit_reached")
        self._check_external_id(source)
        view = self._new(user, source)
        view.root_id, view.previous_id = stack[0].id, stack[-1].id
        stack.append(view)
        return view

    def update(self, view: View, source: dict[str, Any], *, expected_hash: str | None = None) -> View:
        """Change a view in place; what was typed stays where block and action ids are the same.

        Raises:
            SlackError: ``hash_conflict``.
        """
        if expected_hash and expected_hash != view.hash:
            raise SlackError("hash_conflict")
        self._check_external_id(source, besides=view)
        view.source, view.blocks, view.hash = source, with_ids(source["blocks"]), self._hash()
        kept = {found.key for found in elements.elements(view.blocks)}
        view.state = {key: value for key, value in view.state.items() if key in kept}
        view.errors = {}
        return view

    def publish(self, user: str, source: dict[str, Any], expected_hash: str | None = None) -> View:
        """Set a person's Home tab."""
        home = self._homes.get(user)
        if home is not None:
            return self.update(home, source, expected_hash=expected_hash)
        self._homes[user] = self._new(user, source)
        return self._homes[user]

    def find(self, view_id: str | None, external_id: str | None = None) -> View | None:
        """An open modal or a Home tab by either of its ids."""
        for view in self._all():
            if view.id == view_id or (external_id and view.source.get("external_id") == external_id):
                return view
        return None

    def top(self, user: str, view_id: str | None) -> View:
        """The view a person looks at.

        Raises:
            ImpossibleActionError: It is not the one that was named.
        """
        stack = self.stack(user)
        if not stack:
            raise ImpossibleActionError(f"{user} has no modal open", status=404)
        if view_id is not None and stack[-1].id != view_id:
            raise ImpossibleActionError(f"{user} looks at view {stack[-1].id}, not at {view_id}", status=409)
        return stack[-1]

    def close(self, view: View) -> None:
        """Take a view away, with everything on top of it."""
        stack = self.stack(view.user)
        if view in stack:
            del stack[stack.index(view) :]

    def clear(self, user: str) -> None:
        """Close all of a person's modals."""
        self._stacks[user] = []

    def fill(self, view: View, values: Mapping[str, Mapping[str, Any]]) -> None:
        """Type and choose in a view: ``{block_id: {action_id: given}}``.

        Raises:
            ImpossibleActionError: There is no such field, or the client would not take the value.
        """
        fields = {found.key: found.element for found in elements.elements(view.blocks)}
        for block_id, actions in values.items():
            for action_id, given in actions.items():
                element = fields.get((block_id, action_id))
                if element is None or not elements.is_stateful(element):
                    there = ", ".join(f"{block}/{action}" for block, action in fields) or "no fields"
                    raise ImpossibleActionError(
                        f"the view has no field {block_id}/{action_id}; it has {there}"
                    )
                view.state[block_id, action_id] = elements.answer(element, given)

    def missing_inputs(self, view: View) -> list[str]:
        """The block ids of required inputs that are still empty."""
        values = view.values()
        return [
            block["block_id"]
            for block in view.blocks
            if block.get("type") == "input"
            and not block.get("optional")
            and all(elements.is_empty(reported) for reported in values.get(block["block_id"], {}).values())
        ]

    def _all(self) -> list[View]:
        return [*self._homes.values(), *(view for stack in self._stacks.values() for view in stack)]

    def _new(self, user: str, source: dict[str, Any]) -> View:
        view_id = f"V{secrets.token_hex(5).upper()}"
        return View(view_id, user, source, with_ids(source["blocks"]), self._hash(), root_id=view_id)

    def _hash(self) -> str:
        return f"{int(self._clock.time())}.{secrets.token_hex(4)}"

    def _check_external_id(self, source: dict[str, Any], besides: View | None = None) -> None:
        external_id = source.get("external_id")
        taken = self.find(None, external_id) if external_id else None
        if taken is not None and taken is not besides:
            raise SlackError("duplicate_external_id")
