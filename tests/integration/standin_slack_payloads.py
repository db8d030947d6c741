"""Every payload that the Slack stand-in can send, as a real Bolt app got it, by the name of what happened."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from integration.standin_slack_kit import Workspace, connected, open_workspace, until
from slack_bolt.async_app import AsyncApp

Body = dict[str, Any]
RICH = {
    "type": "rich_text",
    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "x"}]}],
}
PLAIN = {"type": "plain_text", "text": "x"}
OPTIONS = [{"text": PLAIN, "value": value} for value in ("a", "b")]
FEEDBACK = {
    "positive_button": {"text": PLAIN, "value": "good"},
    "negative_button": {"text": PLAIN, "value": "bad"},
}

CHOICES: Mapping[str, tuple[Body, Any]] = {
    "static_select": ({"options": OPTIONS}, "a"),
    "external_select": ({}, "found"),
    "users_select": ({}, "U_ADMIN"),
    "conversations_select": ({"response_url_enabled": True}, "C_OPS"),
    "channels_select": ({}, "C_OPS"),
    "multi_static_select": ({"option_groups": [{"label": PLAIN, "options": OPTIONS}]}, ["a", "b"]),
    "multi_external_select": ({}, ["found"]),
    "multi_users_select": ({}, ["U_ADMIN", "U_APPROVER"]),
    "multi_conversations_select": ({}, ["C_OPS"]),
    "multi_channels_select": ({}, ["C_OPS"]),
    "checkboxes": ({"options": OPTIONS}, ["b"]),
    "radio_buttons": ({"options": OPTIONS}, "b"),
    "datepicker": ({}, "2026-01-31"),
    "timepicker": ({"timezone": "Europe/Berlin"}, "23:59"),
    "datetimepicker": ({}, 1_767_225_600),
    "rich_text_input": ({}, RICH),
}
"""Element type → its further keys, and what a person chooses."""

PRESSED: Mapping[str, tuple[Body, Any]] = {
    "button": ({"text": PLAIN, "value": "v", "style": "danger"}, None),
    "overflow": ({"options": OPTIONS}, "a"),
}
WRITTEN: Mapping[str, tuple[Body, Any]] = {
    "plain_text_input": ({"multiline": True}, "a\nb"),
    "email_text_input": ({}, "ola@example.com"),
    "url_text_input": ({}, "https://example.com"),
    "number_input": ({"is_decimal_allowed": True}, "1.5"),
    "file_input": ({}, ["F1"]),
}
NO_PRESS = frozenset({"workflow_button"})
"""Starts a workflow of Slack's own; the app hears nothing of it."""


def element(kind: str, more: Body) -> Body:
    return {"type": kind, "action_id": kind, **more}


def field(kind: str, more: Body, **changes: Any) -> Body:
    return {"type": "input", "block_id": kind, "label": PLAIN, "element": element(kind, more), **changes}


def rows(given: Mapping[str, tuple[Body, Any]]) -> list[Body]:
    return [
        {"type": "actions", "block_id": kind, "elements": [element(kind, more)]}
        for kind, (more, _) in given.items()
    ]


def modal(blocks: list[Body], **more: Any) -> Body:
    return {"type": "modal", "callback_id": "form", "title": PLAIN, "submit": PLAIN, "blocks": blocks, **more}


def collect(state: Path) -> dict[str, Body]:
    """Do everything that a person can do, once each."""
    return asyncio.run(_collect(state))


async def _collect(state: Path) -> dict[str, Body]:
    async with open_workspace(state) as workspace:
        heard: list[Body] = []
        async with connected(workspace, lambda app: _hears(app, heard)) as app:
            story = _Story(workspace, app, heard)
            await story.commands()
            await story.messages()
            await story.modals()
            await story.home()
            await story.mentions()
            return story.told


def _hears(app: AsyncApp, heard: list[Body]) -> None:
    async def keep(ack: Any, body: Body) -> None:
        await ack()
        heard.append(body)

    anything = re.compile(".*")
    app.command("/hermes")(keep)
    app.action(anything)(keep)
    for kind in ("view_submission", "view_closed"):
        app.view({"type": kind, "callback_id": anything})(keep)
    for name in ("app_mention", "app_home_opened"):
        app.event(name)(keep)


class _Story:
    def __init__(self, workspace: Workspace, app: AsyncApp, heard: list[Body]) -> None:
        self._workspace, self._app, self._heard = workspace, app, heard
        self.told: dict[str, Body] = {}

    async def commands(self) -> None:
        for channel in ("C_OPS", "C_PUBLIC", "G_PRIVATE", "D_U_OPERATOR", "D_PAIR"):
            await self._do(f"command in {channel}", "/command", channel=channel, text="help me")
        await self._do("command without text", "/command", channel="C_OPS", text="")
        await self._do("command of a foreigner", "/command", user="U_FOREIGNER", channel="C_OPS", text="help")

    async def messages(self) -> None:
        post = self._app.client.chat_postMessage
        parent = await post(channel="C_OPS", text="parent", blocks=rows(CHOICES) + rows(PRESSED))
        for kind, (_, chosen) in {**CHOICES, **PRESSED}.items():
            await self._click(f"{kind} in a message", "C_OPS", parent["ts"], kind, chosen)
        reply = await post(
            channel="C_OPS", thread_ts=parent["ts"], text="reply", blocks=rows(PRESSED),
            metadata={"event_type": "job", "event_payload": {"id": "1"}},
        )  # fmt: skip
        await self._click("button in a thread", "C_OPS", reply["ts"], "button", None)
        await self._click("button of a foreigner", "C_OPS", reply["ts"], "button", None, user="U_FOREIGNER")
        special = await post(channel="C_OPS", text="special", blocks=[
            {"type": "context_actions", "elements": [
                element("icon_button", {"icon": "trash", "text": PLAIN, "value": "v"}),
                element("feedback_buttons", FEEDBACK)]},
            {"type": "card", "title": {"type": "mrkdwn", "text": "x"},
             "actions": [{"type": "button", "action_id": "card", "text": PLAIN}]},
            {"type": "section", "text": PLAIN, "accessory": element("users_select", {})},
            field("plain_text_input", {}, dispatch_action=True),
        ])  # fmt: skip
        for action, chosen in (
            ("icon_button", None), ("feedback_buttons", "good"), ("card", None), ("users_select", "U_ADMIN"),
            ("plain_text_input", "typed"),
        ):  # fmt: skip
            await self._click(f"{action} in its own block", "C_OPS", special["ts"], action, chosen)
        await self._app.client.chat_postEphemeral(
            channel="C_OPS", user="U_OPERATOR", text="only you", blocks=rows(PRESSED)
        )
        shown = [m for m in await self._workspace.messages() if m.get("ephemeral_for")]
        await self._click("button in an ephemeral message", "C_OPS", shown[-1]["ts"], "button", None)
        direct = await post(channel="U_OPERATOR", text="direct", blocks=rows(PRESSED))
        await self._click("button in a direct message", direct["channel"], direct["ts"], "button", None)

    async def modals(self) -> None:
        choices = await self._open(modal(rows(CHOICES) + rows(PRESSED)))
        for kind, (_, chosen) in {**CHOICES, **PRESSED}.items():
            await self._do(f"{kind} in a modal", "/click", view_id=choices, action_id=kind, selected=chosen)
        fields = {**CHOICES, **WRITTEN}
        dispatching = await self._open(modal([field("plain_text_input", {}, dispatch_action=True)]))
        await self._do(
            "plain_text_input in a modal", "/click", view_id=dispatching, action_id="plain_text_input",
            selected="typed",
        )  # fmt: skip
        blocks = [field(kind, more) for kind, (more, _) in fields.items()]
        full = await self._open(modal(blocks, private_metadata="home=atlas", external_id="e1"))
        values = {kind: {kind: chosen} for kind, (_, chosen) in fields.items()}
        await self._do("submission of every field", "/submit", view_id=full, values=values)
        empty = await self._open(modal([block | {"optional": True} for block in blocks]))
        await self._do("submission of empty fields", "/submit", view_id=empty, values={})
        noticed = modal([{"type": "divider"}], notify_on_close=True, close=PLAIN)
        for label, clear in (("closed", False), ("cleared", True)):
            view = await self._open(noticed)
            await self._do(label, "/close", view_id=view, clear=clear)

    async def home(self) -> None:
        await self._enter("home opened first", "home")
        view = {"type": "home", "blocks": rows(CHOICES) + rows(PRESSED), "private_metadata": "m"}
        await self._app.client.views_publish(user_id="U_OPERATOR", view=view)
        await self._enter("home opened again", "home")
        await self._enter("messages tab opened", "messages")
        for kind, (_, chosen) in {**CHOICES, **PRESSED}.items():
            await self._do(f"{kind} in the home", "/click", home=True, action_id=kind, selected=chosen)

    async def mentions(self) -> None:
        parent = await self._app.client.chat_postMessage(channel="C_OPS", text="parent")
        await self._do("mention", "/say", channel="C_OPS", text="@hermes help")
        await self._do("mention in a thread", "/say", channel="C_OPS", text="@hermes", thread_ts=parent["ts"])
        await self._do("mention of a foreigner", "/say", user="U_FOREIGNER", channel="C_OPS", text="@hermes")

    async def _click(
        self, name: str, channel: str, ts: str, action: str, chosen: Any, user: str = "U_OPERATOR"
    ) -> None:
        await self._do(name, "/click", user=user, channel=channel, ts=ts, action_id=action, selected=chosen)

    async def _open(self, view: Body) -> str:
        await self._workspace.command("open")
        opened = await self._app.client.views_open(trigger_id=self._heard[-1]["trigger_id"], view=view)
        return str(opened["view"]["id"])

    async def _enter(self, name: str, tab: str) -> None:
        before = len(self._heard)
        await self._workspace.slack.people.open_home("U_OPERATOR", tab)
        # Bolt acks an event before its listener has run.
        await until(lambda: len(self._heard) > before)
        self._keep(name, before)

    async def _do(self, name: str, path: str, /, user: str = "U_OPERATOR", **body: Any) -> None:
        before = len(self._heard)
        answer = await self._workspace.post(path, user=user, **body)
        assert answer["outcome"] == "acked", (name, answer)
        await until(lambda: len(self._heard) > before)
        self._keep(name, before)

    def _keep(self, name: str, before: int) -> None:
        [self.told[name]] = self._heard[before:]
