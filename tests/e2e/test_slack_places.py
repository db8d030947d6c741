"""Wherever a command is typed, and whoever types it, an answer arrives."""

import json
from typing import Any

import pytest
from e2e.installed import (
    ADMIN,
    APPROVER,
    FOREIGNER,
    OPERATOR,
    OPERATOR2,
    OPS,
    OUTSIDER,
    Installed,
    Message,
    Thread,
)

from bot.demo.reading import thread_text
from handlers.commands import AVAILABLE
from handlers.verbs import VERBS

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

DM = "D_U_OPERATOR"
NOT_BUILT = [verb for verb in VERBS if verb.name not in AVAILABLE]


@pytest.mark.parametrize(
    ("typed_in", "shows_in", "said"),
    [
        ("C_PUBLIC", "C_PUBLIC", ""),
        ("G_PRIVATE", DM, "I am not a member of this conversation"),
        (DM, DM, ""),
        ("D_PAIR", DM, "I am not a member of this conversation"),
    ],
)
async def test_thread_arrives_where_its_person_will_find_it(
    site: Installed, typed_in: str, shows_in: str, said: str
) -> None:
    before = {message["ts"] for message in await site.control.messages(typed_in)}
    thread = await site.type(OPERATOR, "stop nothing-here", channel=typed_in, shows_in=shows_in)

    told = thread_text([await thread.saying("What happened:")])

    assert "No sandbox runs on home nothing-here." in told
    if said:
        notice = await site.whispered(OPERATOR, typed_in, before)
        assert said in notice
        assert "my answer is in your direct messages" in notice


async def test_create_in_a_private_channel_is_told_in_direct_messages_to_its_end(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=discreet", channel="G_PRIVATE", shows_in=DM)

    await thread.press("hermes.open")
    studio, _ = await site.studio(OPERATOR, await thread.sandbox())

    await studio.say("first", "Hello.")
    assert [m for m in await site.control.messages("G_PRIVATE") if not m.get("ephemeral_for")] == []


@pytest.mark.parametrize("text", ["help", "create home=abroad", "stop alpha"])
async def test_people_of_other_teams_are_refused_visibly(site: Installed, text: str) -> None:
    answer = await site.ask(FOREIGNER, text)

    assert "only members of this Slack team can use Hermes here. Nothing was done." in answer
    assert await site.sandboxes() == []


@pytest.mark.parametrize(
    ("user", "standing"),
    [
        (ADMIN, "an admin of this bot"),
        (APPROVER, "an approver of this bot"),
        (OPERATOR, "an operator of this bot"),
        (OPERATOR2, "an operator of this bot"),
        (OUTSIDER, "without a role in this bot"),
    ],
)
async def test_whoami_tells_each_person_their_role(site: Installed, user: str, standing: str) -> None:
    answer = await site.ask(user, "whoami")

    assert f"You are @{user}, {standing}." in answer


async def test_whoami_without_a_role_says_how_to_get_one(site: Installed) -> None:
    answer = await site.ask(OUTSIDER, "whoami")

    assert "You may: nothing that changes something" in answer
    assert "An administrator can give you a role." in answer


async def test_create_without_a_role_is_refused_in_three_sentences(site: Installed) -> None:
    told = await site.ask(OUTSIDER, "create home=not-mine")

    assert "You have no role in this bot; to create you need to be an operator." in told
    assert "What is safe: Nothing was changed." in told
    assert "What to do: Ask an administrator for a role" in told
    assert not site.home("not-mine").exists()
    await site.recorded(home="not-mine", result="refused")
    assert [row["result"] for row in site.rows(home="not-mine")] == ["", "refused"]


async def test_help_shows_each_command_that_works_and_no_other(site: Installed) -> None:
    answer = await site.ask(OPERATOR, "help")

    assert [verb.name for verb in VERBS if f"/hermes {verb.usage}" in answer] == [
        verb.name for verb in VERBS if verb.name in AVAILABLE
    ]


@pytest.mark.parametrize("verb", NOT_BUILT, ids=lambda verb: verb.name)
async def test_verbs_that_are_not_built_say_so_in_one_line(site: Installed, verb: object) -> None:
    example = str(getattr(verb, "example", "")).removeprefix("/hermes ")

    answer = await site.ask(OPERATOR, example)

    lines = answer.splitlines()
    assert len(lines) == 2, answer  # who it is for, and the one line
    assert "is not available yet. What works now:" in lines[1]


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("create hoem=alpha env=TOKEN=EXAMPLE-hush-hush", "/hermes create home=atlas"),
        ("create home=alpha EXAMPLE-hush-hush", "env=GREETING="),
        ("create home=alpha env=BAD-NAME=EXAMPLE-hush-hush", "env=LANG=C.UTF-8"),
        ("create home=alpha env=EXAMPLE_hush=x timeout=EXAMPLE-hush-hush", "timeout=2h"),
        ('create home=alpha env=TOKEN="EXAMPLE-hush-hush', "env=GREETING="),
        ("create home=alpha password=EXAMPLE-hush-hush", "/hermes create home=atlas"),
        ("stop", "/hermes stop atlas"),
        ("creat home=alpha env=TOKEN=EXAMPLE-hush-hush", "/hermes create home=atlas"),
    ],
)
async def test_refused_text_gets_an_example_and_is_not_repeated(
    site: Installed, text: str, example: str
) -> None:
    answer = await site.ask(OPERATOR, text)

    assert "For example:" in answer
    assert example in answer
    assert "hush-hush" not in json.dumps(await site.control.transcript()) + site.log()


async def test_audit_log_is_read_in_direct_messages_with_a_table_beside_it(site: Installed) -> None:
    refused = await site.ask(OPERATOR, "audit since=24h")

    thread = await site.type(APPROVER, "audit user=<@U_OPERATOR>", shows_in=f"D_{APPROVER}")
    told = thread_text([await thread.saying("wanted to read the audit log: was refused")])

    assert "you need to be an approver" in refused
    assert "All rows: a file in this thread." in told
    await thread.saying("That you read this has been recorded")
    assert "in your direct messages" in await site.told(APPROVER, "The audit log is not for everybody")
    [file] = await _files(site, thread)
    assert file["name"].endswith(".csv")
    async with site.http.get(f"{site.where['control']}/files/{file['id']}") as answer:
        lines = (await answer.text()).splitlines()
    assert lines[0].startswith('"seq","at","request_id","phase"')
    assert "role-needed" in lines[1]
    assert json.loads(site.rows(code="audit-read")[-1]["details"])["rows"] == len(lines) - 1


async def _files(site: Installed, thread: Thread) -> list[dict[str, Any]]:
    """The files of a thread, once there is one."""

    async def look() -> list[dict[str, Any]]:
        return [file for message in await thread.messages() for file in message.get("files", ())]

    found: list[dict[str, Any]] = await site.control.until("a file", look, seconds=20)
    return found


async def test_button_of_an_older_version_is_answered(site: Installed) -> None:
    message = await _post_button(site, "hermes.of.old")
    before = {m["ts"] for m in await site.control.messages(OPS)}

    await site.control.click(OPERATOR, OPS, message["ts"], "hermes.of.old")

    assert "I do not know this button any more" in await site.whispered(OPERATOR, OPS, before)


async def test_button_pressed_by_another_team_is_refused_visibly(site: Installed) -> None:
    message = await _post_button(site, "hermes.open")
    before = {m["ts"] for m in await site.control.messages(OPS)}

    await site.control.click(FOREIGNER, OPS, message["ts"], "hermes.open")

    assert "only members of this Slack team" in await site.whispered(FOREIGNER, OPS, before)


async def test_mention_is_answered_in_its_thread(site: Installed) -> None:
    said = await site.control.post("/say", user=OPERATOR, channel=OPS, text="@hermes are you there?")

    async def answered() -> str:
        return thread_text((await site.control.messages(OPS, said["ts"]))[1:])

    assert "/hermes create home=atlas" in await site.control.until("an answer", answered, seconds=20)


async def _post_button(site: Installed, action: str) -> Message:
    """A message of the bot's that holds a button which today's bot did not make."""
    token = next(
        line.removeprefix("SLACK_BOT_TOKEN=")
        for line in site.env_file.read_text(encoding="utf-8").splitlines()
        if line.startswith("SLACK_BOT_TOKEN=")
    )
    button = {
        "type": "button",
        "action_id": action,
        "text": {"type": "plain_text", "text": "Old"},
        "value": "v1:0123456789abcdef0123456789abcdef",
    }
    body = {"channel": OPS, "text": "old", "blocks": [{"type": "actions", "elements": [button]}]}
    headers = {"Authorization": f"Bearer {token}"}
    async with site.http.post(
        site.where["slack_api"] + "chat.postMessage", json=body, headers=headers
    ) as answer:
        posted: Message = await answer.json()
    assert posted["ok"], posted
    return posted
