"""A page that plays a person in Slack: pick who and where, type, read threads, press buttons."""

import html
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from bot.standin.console_blocks import blocks, form, hidden, mrkdwn
from bot.standin.slack import ImpossibleActionError, SlackStandIn
from bot.standin.slack.people import Click

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem}
form{display:inline}article{border-top:1px solid #ddd;padding:.4rem 0}
.reply{margin-left:2rem}.ephemeral{background:#f6f2e4}
.modal{border:2px solid #357;padding:.6rem;margin:.6rem 0}
button.primary{background:#cfe8cf}button.danger{background:#f3c9c9}
pre{overflow:auto;background:#f4f4f4}
.text{white-space:pre-line;margin:.2rem 0}ul{list-style:none;padding-left:.5rem}
td{border:1px solid #ccc;padding:.1rem .5rem}.error{color:#a00}
"""
_SCRIPT = """
addEventListener("submit", event => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
setInterval(async () => {
  const live = document.getElementById("live"), active = document.activeElement;
  if (live.contains(active) && active.matches("input, select, button")) return;
  const answer = await fetch("/console/live" + location.search);
  const text = await answer.text();
  if (answer.ok && text !== live.dataset.shown) { live.dataset.shown = text; live.innerHTML = text; }
}, 1000);
"""


class Console:
    """The routes below ``/console``. ``report`` gives the sandboxes that are shown at the foot."""

    def __init__(self, slack: SlackStandIn, report: Callable[[], dict[str, Any]]) -> None:
        self._slack = slack
        self._report = report

    def add_to(self, application: web.Application) -> None:
        """Serve the console in an application."""
        application.add_routes(
            [
                web.get("/", self._away),
                web.get("/console", self._page),
                web.get("/console/live", self._live),
                web.post("/console/{deed:command|click|submit|close|home}", self._act),
            ]
        )

    async def _away(self, _request: web.Request) -> web.Response:
        raise web.HTTPSeeOther("/console")

    async def _page(self, request: web.Request) -> web.Response:
        user, channel = self._who(request)
        nonce = secrets.token_urlsafe(12)
        error = html.escape(request.query.get("error", ""))
        text = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Hermes console</title>
<style nonce="{nonce}">{_STYLE}</style>
<form method=get action=/console>{self._menus(user, channel)}<button>Show</button></form>
<form method=post action=/console/home>{self._place(user, channel)}<button>Open Home</button></form>
<p><form method=post action=/console/command>{self._place(user, channel)} /hermes
<input name=text size=60 autofocus placeholder="create home=alpha"><button>Send</button></form>
<p class=error>{error}</p><div id=live>{self._live_part(user, channel)}</div>
<script nonce="{nonce}">{_SCRIPT}</script></html>"""
        policy = (
            f"default-src 'none'; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        return web.Response(text=text, content_type="text/html", headers={"Content-Security-Policy": policy})

    async def _live(self, request: web.Request) -> web.Response:
        return web.Response(text=self._live_part(*self._who(request)), content_type="text/html")

    async def _act(self, request: web.Request) -> web.Response:
        given = {name: str(value) for name, value in (await request.post()).items()}
        back = {"user": given.get("user", ""), "channel": given.get("channel", "")}
        try:
            answer = await self._deed(request.match_info["deed"], given)
            if answer["outcome"] not in ("acked", "not_sent"):
                back["error"] = f"Slack would show: {answer['outcome']}"
        except ImpossibleActionError as refused:
            back["error"] = str(refused)
        raise web.HTTPSeeOther(f"/console?{urlencode(back)}")

    async def _deed(self, deed: str, given: dict[str, str]) -> dict[str, Any]:
        people, user = self._slack.people, given.get("user", "")
        if deed == "command":
            return await people.command(user, given.get("channel", ""), given.get("text", ""))
        if deed == "home":
            return await people.open_home(user)
        if deed == "close":
            return await people.close(user, given.get("view_id"))
        if deed == "submit":
            values: dict[str, dict[str, Any]] = {}
            for name, value in given.items():
                if name.startswith("field "):
                    _, block_id, action_id = name.split(" ", 2)
                    values.setdefault(block_id, {})[action_id] = value or None
            return await people.submit(user, given.get("view_id"), values)
        click = Click(
            user=user,
            action_id=given.get("action_id", ""),
            channel=given.get("channel", ""),
            ts=given.get("ts", ""),
            block_id=given.get("block_id"),
            value=given.get("value"),
            selected=given.get("selected"),
            view_id=given.get("view_id"),
            home="home" in given,
        )
        return await people.click(click)

    def _who(self, request: web.Request) -> tuple[str, str]:
        cast = self._slack.world.cast
        user, channel = request.query.get("user", ""), request.query.get("channel", "")
        return (
            user if cast.human(user) else "U_OPERATOR",
            channel if channel in cast.channels else "C_OPS",
        )

    def _menus(self, user: str, channel: str) -> str:
        cast = self._slack.world.cast
        people = [person for person in cast.people if cast.human(person)]
        menus = []
        for name, chosen, listed in (("user", user, people), ("channel", channel, list(cast.channels))):
            options = "".join(
                f"<option{' selected' if one == chosen else ''}>{html.escape(one)}</option>" for one in listed
            )
            menus.append(f"<select name={name}>{options}</select> ")
        return "".join(menus)

    @staticmethod
    def _place(user: str, channel: str) -> str:
        return hidden(user=user, channel=channel)

    def _live_part(self, user: str, channel: str) -> str:
        place = self._place(user, channel)
        parts = [self._modal(view, place) for view in self._slack.views(user)[-1:]]
        if home := self._slack.home(user):
            tab = blocks(home["blocks"], place + hidden(home="1"))
            parts.append(f"<details><summary>Home</summary>{tab}</details>")
        messages = [m for m in self._slack.messages(channel) if m.get("ephemeral_for") in (None, user)]
        for message in messages:
            if message["thread_ts"] is None:
                replies = [reply for reply in messages if reply["thread_ts"] == message["ts"]]
                parts += [self._message(one, place) for one in (message, *replies)]
        sandboxes = self._report().get("sandboxes", [])
        rows = (html.escape(f"{box['sandboxID']} {box['state']} on {box['node']}") for box in sandboxes[:20])
        parts.append(f"<hr><small>Sandboxes: {len(sandboxes)}<br>{'<br>'.join(rows)}</small>")
        return "".join(parts)

    @staticmethod
    def _message(message: dict[str, Any], place: str) -> str:
        kinds = ("reply" if message["thread_ts"] else "", "ephemeral" if "ephemeral_for" in message else "")
        body = blocks(message["blocks"], place + hidden(ts=message["ts"])) or mrkdwn(message["text"])
        who = html.escape(message["user"]) + (" (only you see this)" if kinds[1] else "")
        files = "".join(
            f'<div><a href="/files/{html.escape(file["id"])}">{html.escape(file["title"])}</a></div>'
            for file in message.get("files", [])
        )
        return f'<article class="{" ".join(kinds)}"><small>{who}</small><div>{body}{files}</div></article>'

    @staticmethod
    def _modal(view: dict[str, Any], place: str) -> str:
        where = place + hidden(view_id=view["id"])
        errors = "".join(
            f"<p class=error>{html.escape(text)}</p>" for text in view.get("errors", {}).values()
        )
        inputs = [block for block in view["blocks"] if block["type"] == "input"]
        others = [block for block in view["blocks"] if block["type"] != "input"]
        submit = form("submit", where + blocks(inputs, ""), view["submit"]["text"]) if view["submit"] else ""
        title = html.escape(view["title"]["text"])
        shown = f"<h3>{title}</h3>{errors}{blocks(others, where)}{submit}{form('close', where, 'Close')}"
        return f"<div class=modal>{shown}</div>"
