"""The main job as a story with checks: create, use, stop, create again; all still there, nothing leaked."""

import json
import re
import secrets
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from bot.demo.browser import Studio, open_studio, sign_in_of
from bot.demo.control import Control
from bot.demo.processes import environment, stand_ins, start, the_bot
from bot.demo.reading import buttons, thread_text, view_text

USER, CHANNEL = "U_OPERATOR", "C_OPS"
Message = dict[str, Any]
FINAL = {"hermes.open", "hermes.create.continue"}
CONVERSATION = "release-notes"
ACK_MS = 1000
"""Slack gives up after three times as long."""


class UntrueError(Exception):
    """Something that the demo was about to show is not true."""


@dataclass(slots=True)
class Stage:
    """Where the story is played, and what it learns on the way."""

    control: Control
    session: aiohttp.ClientSession
    proxy: str
    folder: Path
    env_file: Path
    key: str = field(default_factory=lambda: "EXAMPLE-" + secrets.token_hex(12), repr=False)
    """The value given with env=; it may appear nowhere."""
    shown: set[str] = field(default_factory=set, repr=False)
    """Secrets that were shown in a person's own modal, and may appear nowhere else."""


async def play() -> int:
    """Play it. 0 = every line that was printed is true."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hermes-demo-") as name:
        folder = Path(name)
        try:
            async with (
                stand_ins(folder) as where,
                Control(where["control"]) as control,
                aiohttp.ClientSession() as session,
                the_bot(folder, Path(where["env_file"])),
            ):
                await _story(Stage(control, session, where["cube_proxy"], folder, Path(where["env_file"])))
        except (UntrueError, TimeoutError, RuntimeError, aiohttp.ClientError) as error:
            _say(f"\nNOT TRUE: {type(error).__name__}: {error}")
            _say("The last lines of the bot's log:")
            log = folder / "bot.log"
            _say("\n".join(log.read_text().splitlines()[-15:]) if log.exists() else "(none)")
            return 1
    _say(f"\nAll of this was checked and is true ({time.monotonic() - began:.0f} s).")
    return 0


async def _story(stage: Stage) -> None:
    _title("1. A team member asks for a Studio")
    first = await _create(stage, f"create home=alpha workspace=proj env=OPENAI_API_KEY={stage.key}")

    _title("2. The link comes in a private window; the person signs in, talks, and saves a file")
    studio = await _open(stage, first)
    await studio.say(CONVERSATION, "Please draft the release notes.")
    await studio.write_file("/workspace/notes.md", "release notes, first draft\n")
    before = await studio.history(CONVERSATION)
    _check("the conversation holds a question and an answer", len(before) >= 2)  # noqa: PLR2004 - one of each
    for line in before:
        _say(f"    {line}")

    _title("3. Stop: the sandbox goes, home and workspace stay")
    await _stop(stage)

    _title("4. The same home again, in a new sandbox")
    second = await _create(stage, "create home=alpha workspace=proj")
    _check("it is another sandbox", _sandbox(first) != _sandbox(second))
    _check("the home was not seeded again", "already initialised" in _text(second))

    _title("5. Everything is still there")
    studio = await _open(stage, second)
    after = await studio.history(CONVERSATION)
    _check("the conversation is complete", after == before)
    _check(
        "the file in the workspace is there", "first draft" in await studio.read_file("/workspace/notes.md")
    )

    _title("6. The audit log is whole, and no secret got out")
    await _audit(stage)
    await _no_secret(stage)


async def _create(stage: Stage, text: str) -> dict[str, Any]:
    _say(f"@{USER} in #{CHANNEL}:  /hermes {text.replace(stage.key, '(a key)')}")
    before = {message["ts"] for message in await stage.control.messages(CHANNEL)}
    answer = await stage.control.command(USER, CHANNEL, text)
    _check(
        f"acknowledged in {answer['ack_ms']:.0f} ms",
        answer["outcome"] == "acked" and answer["ack_ms"] < ACK_MS,
    )
    final: dict[str, Any] = await stage.control.until(
        "the end of the create", lambda: _new_final(stage, before), seconds=90
    )
    thread: list[Message] = await stage.control.until(
        "the last edits of its thread", lambda: _settled(stage, final), seconds=30
    )
    _say(thread_text(thread))
    _check("Studio is offered", "hermes.open" in buttons(final))
    return final


async def _open(stage: Stage, result: dict[str, Any]) -> Studio:
    await stage.control.click(USER, CHANNEL, result["ts"], "hermes.open")
    studio, view = await open_studio(
        stage.control, stage.session, stage.proxy, user=USER, sandbox=_sandbox(result)
    )
    _address, _user, password, token = sign_in_of(view)
    stage.shown |= {secret for secret in (password, token) if secret}
    shown = view_text(view)
    for secret in stage.shown:
        shown = shown.replace(secret, "(shown to this person only)")
    _say("\n".join(f"    {line}" for line in shown.splitlines()))
    return studio


async def _stop(stage: Stage) -> None:
    _say(f"@{USER} in #{CHANNEL}:  /hermes stop alpha")
    before = {message["ts"] for message in await stage.control.messages(CHANNEL)}
    await stage.control.command(USER, CHANNEL, "stop alpha")
    card = await stage.control.until(
        "the stop card", lambda: _new_with(stage, before, "hermes.stop.confirm"), seconds=20
    )
    _say(thread_text([card]))
    _say(f"@{USER} presses [ {buttons(card)['hermes.stop.confirm']} ]")
    await stage.control.click(USER, CHANNEL, card["ts"], "hermes.stop.confirm")
    await stage.control.until("the end of the stop", lambda: _replied(stage, card["ts"]), seconds=60)
    _say(thread_text(await stage.control.messages(CHANNEL, card["ts"])))


async def _audit(stage: Stage) -> None:
    program = await start(
        "audit", "verify", log=stage.folder / "verify.log", env=environment(stage.env_file), pipe=True
    )
    output, _ = await program.process.communicate()
    _say("    " + output.decode().strip())
    _check("the chain of the audit log holds", program.process.returncode == 0)


async def _no_secret(stage: Stage) -> None:
    calls = await stage.control.transcript()
    public = json.dumps([call for call in calls if not _is_private(call)])
    everything = json.dumps(calls)
    log = (stage.folder / "bot.log").read_text()
    env = environment(stage.env_file)
    never = {stage.key, env["SLACK_BOT_TOKEN"], env["SLACK_APP_TOKEN"]}
    _check("the key given with env= is in no message, not even a private one", stage.key not in everything)
    _check("no secret is in a message or log line", not any(s in public + log for s in never | stage.shown))


def _is_private(call: dict[str, Any]) -> bool:
    return call["method"] in {"views.open", "views.update"}


async def _new_final(stage: Stage, before: set[str]) -> Message | None:
    return await _newest(stage, before, FINAL)


async def _new_with(stage: Stage, before: set[str], action: str) -> Message | None:
    return await _newest(stage, before, {action})


async def _newest(stage: Stage, before: set[str], actions: set[str]) -> Message | None:
    new = [message for message in await stage.control.messages(CHANNEL) if message["ts"] not in before]
    return next((message for message in reversed(new) if actions & set(buttons(message))), None)


async def _replied(stage: Stage, ts: str) -> bool:
    return any(message["ts"] != ts for message in await stage.control.messages(CHANNEL, ts))


async def _settled(stage: Stage, final: Message) -> list[Message] | None:
    """The whole thread, once nothing in it says any more that something runs."""
    thread = await stage.control.messages(CHANNEL, final.get("thread_ts") or final["ts"])
    runs = any("hermes.create.cancel" in buttons(message) for message in thread)
    return None if runs or "is ready" not in thread[0]["text"] else thread


def _sandbox(result: dict[str, Any]) -> str:
    found = re.search(r"\b[0-9a-f]{32}\b", _text(result))
    if not found:
        raise UntrueError("the result names no sandbox")
    return found[0]


def _text(message: dict[str, Any]) -> str:
    return thread_text([message])


def _check(what: str, true: object) -> None:
    if not true:
        raise UntrueError(what)
    _say(f"  ✓ {what}")


def _title(text: str) -> None:
    _say(f"\n{text}\n" + "─" * len(text))


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
