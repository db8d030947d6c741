"""A small app with every kind of field, a stack of modals and a question, on a workspace of its own."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integration.standin_slack_kit import Workspace, connected, open_workspace
from slack_bolt.async_app import AsyncApp

from bot.standin.console import Console, Truth
from bot.standin.control import Control
from bot.standin.listener import Listener

Heard = list[tuple[str, dict[str, Any]]]


def words(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def option(value: str) -> dict[str, Any]:
    return {"text": words(value.title()), "value": value}


def block(name: str, label: str, kind: str, **element: Any) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": name,
        "label": words(label),
        "element": {"type": kind, "action_id": "field", **element},
    }


def button(action: str, label: str, **more: Any) -> dict[str, Any]:
    return {"type": "button", "action_id": action, "text": words(label), "value": action, **more}


LETTERS = [option("alpha"), option("beta")]
FORM: dict[str, Any] = {
    "type": "modal",
    "callback_id": "form",
    "notify_on_close": True,
    "title": words("Make a thing"),
    "submit": words("Make it"),
    "blocks": [
        block("name", "Name", "plain_text_input", max_length=20) | {"hint": words("Small letters")},
        block("letter", "Letter", "static_select", options=LETTERS),
        block("day", "Day", "datepicker", initial_date="2026-12-01"),
        block("kind", "Kind", "radio_buttons", options=LETTERS),
        block("extras", "Extras", "checkboxes", options=LETTERS) | {"optional": True},
        block("notes", "Notes", "plain_text_input", multiline=True) | {"optional": True},
        {"type": "actions", "block_id": "more", "elements": [button("deeper", "Go deeper")]},
    ],
}
DEEPER: dict[str, Any] = {
    "type": "modal",
    "callback_id": "deeper",
    "title": words("Deeper"),
    "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "One level *down*."}}],
}
CARD = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "*A card* to try things on"}},
    {
        "type": "actions",
        "block_id": "card",
        "elements": [
            button("open-form", "Open the form", style="primary"),
            button("slow", "Never answered"),
            {"type": "static_select", "action_id": "pick", "placeholder": words("Pick"), "options": LETTERS},
            {"type": "overflow", "action_id": "more", "options": LETTERS},
        ],
    },
]


@dataclass(slots=True)
class Formed:
    """The running app, where its console is, and what it has heard."""

    workspace: Workspace
    folder: Path
    app: AsyncApp
    heard: Heard
    listener: Listener | None = None

    @property
    def console(self) -> str:
        assert self.listener
        return f"{self.listener.url}/console"

    async def serve(self) -> None:
        """Serve the console, on the port that it had before if it had one."""
        control = Control(
            slack=self.workspace.slack, clock=self.workspace.clock, faults=self.workspace.faults
        )
        application = control.application()
        Console(self.workspace.slack, Truth(self.workspace.clock, self.workspace.faults)).add_to(application)
        self.listener = Listener(application, kept_port=self.folder / "console-port")
        await self.listener.start()

    async def unserve(self) -> None:
        """Serve it no more."""
        if self.listener:
            await self.listener.stop()

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.heard if name == kind]

    async def hears(self, kind: str) -> dict[str, Any]:
        """The newest of a kind, waited for."""
        deadline = asyncio.get_running_loop().time() + 5
        while not self.of(kind):
            assert asyncio.get_running_loop().time() < deadline, f"no {kind} came"
            await asyncio.sleep(0.02)
        return self.of(kind)[-1]


@contextlib.asynccontextmanager
async def formed(folder: Path) -> AsyncIterator[Formed]:
    """The app and its workspace, with the card posted to #ops."""
    heard: Heard = []
    async with (
        open_workspace(folder) as workspace,
        connected(workspace, lambda app: _listen(app, heard)) as app,
    ):
        await app.client.chat_postMessage(channel="C_OPS", text="A card", blocks=CARD)
        running = Formed(workspace, folder, app, heard)
        await running.serve()
        try:
            yield running
        finally:
            await running.unserve()


def _listen(app: AsyncApp, heard: Heard) -> None:
    async def open_form(ack: Any, body: dict[str, Any], client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=FORM)

    async def go_deeper(ack: Any, body: dict[str, Any], client: Any) -> None:
        await ack()
        heard.append(("deeper", body))
        await client.views_push(trigger_id=body["trigger_id"], view=DEEPER)

    async def submitted(ack: Any, body: dict[str, Any]) -> None:
        heard.append(("submission", body))
        name = body["view"]["state"]["values"]["name"]["field"]["value"]
        if name == "taken":
            await ack(response_action="errors", errors={"name": "This name is taken."})
        elif name != "silence":
            await ack()

    async def keep(ack: Any, body: dict[str, Any]) -> None:
        await ack()
        heard.append((body["type"], body))

    async def never(body: dict[str, Any]) -> None:
        heard.append(("never", body))

    app.action("open-form")(open_form)
    app.action("deeper")(go_deeper)
    app.action("slow")(never)
    app.action("pick")(keep)
    app.action("more")(keep)
    app.view("form")(submitted)
    app.view_closed("form")(keep)
