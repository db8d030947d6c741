"""What people do in Slack: type, press, fill in, submit, close, open the app's Home."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.standin.slack import elements, payloads
from bot.standin.slack.blocks import check_view
from bot.standin.slack.cast import BOT_NAME, BOT_USER, COMMAND, Channel, Person
from bot.standin.slack.composer import typed
from bot.standin.slack.envelopes import Delivery
from bot.standin.slack.errors import ImpossibleActionError, SlackError
from bot.standin.slack.messages import Message
from bot.standin.slack.methods_chat import payload_of
from bot.standin.slack.modals import View
from bot.standin.slack.responses import show_ack, tell
from bot.standin.slack.world import World

Answer = dict[str, Any]  # {"outcome", "ack_ms", "ack"}, with more keys where something else happened

WARNING_TRIANGLE = "a warning triangle beside the button"
TROUBLE_CONNECTING = "We had some trouble connecting. Try again?"


@dataclass(frozen=True, slots=True)
class Click:
    """A press on an element, in a message (``ts``), a modal (``view_id``) or the Home tab.

    ``selected`` is what was chosen in a menu. ``stale`` presses a button of an older version of the
    message, as a client does that has not yet seen the change.
    """

    user: str
    action_id: str
    channel: str = ""
    ts: str = ""
    block_id: str | None = None
    value: str | None = None
    selected: Any = None
    view_id: str | None = None
    home: bool = False
    stale: bool = False


class People:
    """The people of the workspace, acting on the app through Socket Mode."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._choices: dict[tuple[str, str, str], dict[tuple[str, str], dict[str, Any]]] = {}
        """What a person has chosen in a message: (channel, ts, user) → what its elements report."""

    async def command(
        self,
        user: str,
        channel: str,
        text: str,
        *,
        command: str = COMMAND,
        phone: bool = False,
        raw: bool = False,
    ) -> Answer:
        """Type a slash command. ``raw`` is one without ``should_escape``: names and links stay as typed.

        Returns when the app acknowledged, or after three seconds.
        """
        person, place = self._person(user), self._channel(channel)
        self._may_type(person, place)
        world = self._world
        sent = typed(text, world.cast, phone=phone, should_escape=not raw)
        payload = payloads.slash_command(
            token=world.secrets.verification_token,
            person=person,
            channel=place,
            command=command,
            text=sent,
            response_url=world.base_url + world.tickets.new_response_url(place.id, user),
            trigger_id=world.tickets.new_trigger(user),
        )
        delivery = await world.deliver("slash_commands", payload, accepts_response_payload=True)
        if delivery.outcome == "acked":
            show_ack(world, place, user, f"{command} {sent}".strip(), delivery.ack)
        else:
            tell(world, place, user, f'{command} failed with the error "{delivery.outcome}"')
        return delivery.shown()

    async def say(self, user: str, channel: str, text: str, *, thread_ts: str | None = None) -> Answer:
        """Post an ordinary message; it reaches the app when it names it in a channel the app is in.

        ``outcome`` is ``not_sent`` when there was nothing to deliver.
        """
        person, place = self._person(user), self._channel(channel)
        self._may_type(person, place)
        world = self._world
        if thread_ts is not None:
            parent = world.messages.find_posted(place.id, thread_ts)
            if parent is None:
                raise ImpossibleActionError(
                    f"there is no message {thread_ts} in {channel} to reply to", status=404
                )
            thread_ts = parent.thread_ts or parent.ts
        text = text.replace(f"@{BOT_NAME}", f"@{BOT_USER}")
        shown = typed(text, world.cast).replace(f"<@{BOT_USER}|{BOT_NAME}>", f"<@{BOT_USER}>")
        message = Message(
            world.messages.new_ts(), place.id, user, shown, payloads.plain_blocks(shown), thread_ts
        )
        world.messages.add(message)
        named = f"<@{BOT_USER}>" in shown
        if not named or place.kind == "im" or BOT_USER not in place.members:
            return {"outcome": "not_sent", "ack_ms": 0, "ack": None, "ts": message.ts}
        delivery = await self._event(person, payloads.app_mention(person, message), place)
        return delivery.shown() | {"ts": message.ts}

    async def open_home(self, user: str, tab: str = "home") -> Answer:
        """Open the app's Home tab (or ``messages``)."""
        person = self._person(user)
        view = self._world.views.home(user)
        opened = payloads.app_home_opened(person, tab=tab, view=view, ts=self._world.messages.new_ts())
        return (await self._event(person, opened, None)).shown()

    async def click(self, click: Click) -> Answer:
        """Press a button or choose in a menu."""
        person = self._person(click.user)
        if click.home or click.view_id is not None:
            return await self._click_in_view(person, click)
        return await self._click_in_message(person, click)

    async def submit(self, user: str, view_id: str | None, values: Mapping[str, Mapping[str, Any]]) -> Answer:
        """Fill in the top modal and press its submit button.

        A required field left empty never reaches the app: the client holds it back.
        """
        person = self._person(user)
        world = self._world
        view = world.views.top(user, view_id)
        if view.source.get("submit") is None:
            raise ImpossibleActionError(f"view {view.id} has no submit button")
        view.errors = {}
        world.views.fill(view, values)
        if missing := world.views.missing_inputs(view):
            raise ImpossibleActionError(f"these required fields are empty: {', '.join(missing)}")
        payload = payloads.view_submission(
            token=world.secrets.verification_token,
            person=person,
            view=view,
            trigger_id=world.tickets.new_trigger(user, view.id),
            response_urls=self._response_urls(view),
        )
        delivery = await world.deliver("interactive", payload, accepts_response_payload=True)
        answer = _seen(delivery, TROUBLE_CONNECTING)
        if delivery.outcome == "acked":
            try:
                self._after_submission(view, delivery.ack or {})
            except SlackError as refused:
                # The modal stays as it was.
                answer |= {"ack_error": refused.body(), "seen": TROUBLE_CONNECTING}
        return answer

    async def close(self, user: str, view_id: str | None, *, clear: bool = False) -> Answer:
        """Close the top modal, or with ``clear`` all of them."""
        person = self._person(user)
        world = self._world
        top = world.views.top(user, view_id)
        clear = clear or bool(top.source.get("clear_on_close"))
        closing = list(reversed(world.views.stack(user))) if clear else [top]
        answer: Answer = {"outcome": "not_sent", "ack_ms": 0, "ack": None}
        for view in closing:
            world.views.close(view)
            if view.source.get("notify_on_close"):
                payload = payloads.view_closed(
                    token=world.secrets.verification_token, person=person, view=view, is_cleared=clear
                )
                delivery = await world.deliver("interactive", payload, accepts_response_payload=False)
                answer = delivery.shown()
        return answer

    async def _click_in_message(self, person: Person, click: Click) -> Answer:
        world = self._world
        place = self._channel(click.channel)
        message = world.messages.find(place.id, click.ts, even_deleted=click.stale)
        hidden = message is not None and (message.hidden or message.ephemeral_for not in (None, person.id))
        if message is None or hidden or not world.cast.can_see(person.id, place):
            raise ImpossibleActionError(f"{person.id} sees no message {click.ts!r} in {place.id}", status=404)
        found = self._find_in_message(message, click)
        only = found.element.get("visible_to_user_ids")
        if only and person.id not in only:
            raise ImpossibleActionError(
                f"the button {click.action_id!r} is not shown to {person.id}", status=404
            )
        body = payload_of(world, message)
        choices = self._choices.setdefault((place.id, message.ts, person.id), {})
        if elements.is_stateful(found.element):
            choices[found.key] = elements.answer(found.element, click.selected)
        payload = payloads.message_action(
            token=world.secrets.verification_token,
            person=person,
            channel=place,
            message=message,
            body=body,
            action=elements.pressed(found, click.selected, world.messages.new_ts()),
            values=elements.values(message.blocks, choices),
            response_url=world.base_url
            + world.tickets.new_response_url(
                place.id, person.id, message_ts=message.ts, ephemeral=message.ephemeral_for is not None
            ),
            trigger_id=world.tickets.new_trigger(person.id),
        )
        delivery = await world.deliver("interactive", payload, accepts_response_payload=True)
        return _seen(delivery, WARNING_TRIANGLE)

    @staticmethod
    def _find_in_message(message: Message, click: Click) -> elements.Found:
        versions = [message.blocks]
        if click.stale:
            versions += reversed(message.older_blocks)
        refused: ImpossibleActionError | None = None
        for blocks in versions:
            try:
                return elements.find(blocks, click.action_id, block_id=click.block_id, value=click.value)
            except ImpossibleActionError as missing:
                refused = refused or missing
        raise refused or ImpossibleActionError("the message has no blocks", status=404)

    async def _click_in_view(self, person: Person, click: Click) -> Answer:
        world = self._world
        if click.home:
            view = world.views.home(person.id)
            if view is None:
                raise ImpossibleActionError(f"the app has published no Home tab for {person.id}", status=404)
        else:
            view = world.views.top(person.id, click.view_id)
        found = elements.find(view.blocks, click.action_id, block_id=click.block_id, value=click.value)
        action = elements.pressed(found, click.selected, world.messages.new_ts())
        if elements.is_stateful(found.element):
            view.state[found.key] = elements.answer(found.element, click.selected)
            if found.block.get("type") == "input" and not found.block.get("dispatch_action"):
                return {"outcome": "not_sent", "ack_ms": 0, "ack": None}
        payload = payloads.view_action(
            token=world.secrets.verification_token,
            person=person,
            view=view,
            action=action,
            trigger_id=world.tickets.new_trigger(person.id, view.id),
        )
        delivery = await world.deliver("interactive", payload, accepts_response_payload=True)
        return _seen(delivery, WARNING_TRIANGLE)

    def _after_submission(self, view: View, ack: dict[str, Any]) -> None:
        views = self._world.views
        action = ack.get("response_action")
        if action is None:
            views.close(view)
        elif action == "clear":
            views.clear(view.user)
        elif action == "errors":
            errors = ack.get("errors")
            inputs = {block["block_id"] for block in view.blocks if block.get("type") == "input"}
            if not isinstance(errors, dict) or not errors or not errors.keys() <= inputs:
                raise SlackError("invalid_response_errors", extra={"inputs": sorted(inputs)})
            view.errors = {block_id: str(text) for block_id, text in errors.items()}
        elif action == "update":
            views.update(view, check_view(ack.get("view")))
        elif action == "push":
            views.push(view.user, check_view(ack.get("view")))
        else:
            raise SlackError("invalid_response_action")

    def _response_urls(self, view: View) -> list[dict[str, Any]]:
        urls: list[dict[str, Any]] = []
        values = view.values()
        for found in elements.elements(view.blocks):
            if found.element.get("response_url_enabled"):
                block_id, action_id = found.key
                reported = values[block_id][action_id]
                channel = reported.get("selected_conversation") or reported.get("selected_channel")
                if channel:
                    path = self._world.tickets.new_response_url(channel, view.user)
                    url = self._world.base_url + path
                    urls.append(
                        {
                            "block_id": block_id,
                            "action_id": action_id,
                            "channel_id": channel,
                            "response_url": url,
                        }
                    )
        return urls

    async def _event(self, person: Person, event: dict[str, Any], channel: Channel | None) -> Delivery:
        world = self._world
        payload = payloads.event(
            token=world.secrets.verification_token,
            event=event,
            now=world.clock.time(),
            channel=channel,
            person=person,
        )
        return await world.deliver("events_api", payload, accepts_response_payload=False)

    def _person(self, user: str) -> Person:
        person = self._world.cast.human(user)
        if person is None:
            known = sorted(name for name in self._world.cast.people if self._world.cast.human(name))
            raise ImpossibleActionError(f"no person {user!r} can act here; there are {', '.join(known)}")
        return person

    def _channel(self, channel: str) -> Channel:
        place = self._world.cast.channels.get(channel)
        if place is None:
            known = ", ".join(self._world.cast.channels)
            raise ImpossibleActionError(f"there is no channel {channel!r}; there are {known}")
        return place

    @staticmethod
    def _may_type(person: Person, channel: Channel) -> None:
        if channel.archived:
            raise ImpossibleActionError(f"{channel.id} is archived: nobody can type there")
        if person.id not in channel.members:
            raise ImpossibleActionError(f"{person.id} is not in {channel.id} and cannot type there")


def _seen(delivery: Delivery, trouble: str) -> Answer:
    """The answer of the control API, with what the person sees of an interaction that failed."""
    return delivery.shown() | ({} if delivery.outcome == "acked" else {"seen": trouble})
