"""The create form: what is asked, what is suggested, and what a person should know before they send it in."""

from collections.abc import Sequence
from typing import Any

from bot.domain.durations import spell_duration
from bot.domain.ids import MAX_ID_LENGTH
from bot.domain.outcome import NotDone
from bot.domain.rules import Rules
from bot.domain.sandbox import SandboxState, TemplateView
from bot.ports import Message
from bot.usecases.suggestions import HomeChoice, Suggestions
from handlers.form_fields import ACTION, CALLBACK, NOTHING, Field, Ticket
from handlers.render import blocks, limits
from handlers.render.failure import failure_view
from handlers.render.limits import Block
from handlers.render.mrkdwn import code, listed
from handlers.verbs import BY_NAME

TITLE = "New Studio"
EXAMPLE = BY_NAME["create"].example
LONGEST_DURATION = 40
"""Characters; more than any duration needs."""

HOME_HINT = (
    "A short name of your own: small letters, digits and dashes, like atlas. Settings, conversations and"
    " private Skills live in the home and outlast every sandbox."
)
ENV_HINT = (
    "One NAME=value a line, set for this Studio and never shown again. Blank lines and lines that begin"
    " with # are skipped; put quotes around a value that begins or ends with a blank."
)


def loading_view() -> dict[str, Any]:
    """Opened at once: Slack's trigger lives three seconds, and looking for suggestions may take longer."""
    text = "One moment, I am looking up your homes …"
    stuck = f"If this stays, close it and type for example {code(EXAMPLE)}"
    return blocks.modal(TITLE, [blocks.section(text), blocks.context(stuck)], callback_id=CALLBACK)


def refused_view(outcome: NotDone) -> dict[str, Any]:
    """Why there is no form; ``outcome`` must be cleaned."""
    return failure_view(TITLE, outcome, callback_id=CALLBACK)


def form_view(found: Suggestions, rules: Rules, ticket: Ticket) -> dict[str, Any]:
    """The form, filled in as far as can be guessed."""
    view = blocks.modal(
        TITLE,
        [blocks.section(_introduction(ticket)), *_warnings(found, rules), *_fields(found, rules)],
        callback_id=CALLBACK,
    )
    return view | {
        "submit": blocks.plain("Create", limits.MODAL_TITLE),
        "close": blocks.plain("Cancel", limits.MODAL_TITLE),
        "private_metadata": ticket.written(),
    }


def not_opened(reason: str) -> Message:
    """The window did not come up, or not with its content; the typed way works, and so does another try."""
    late = "expired" in reason or "invalid_trigger" in reason
    why = "It took too long to open the form" if late else f"Slack did not open the form ({code(reason)})"
    text = f"{why}. Nothing was done. Try again, or type for example {code(EXAMPLE)}"
    return limits.message(text, [blocks.section(text), blocks.actions(blocks.form_button("Open the form"))])


def _introduction(ticket: Ticket) -> str:
    there = ticket.channel.startswith(("C", "G"))
    where = f"<#{ticket.channel}>" if there else "your direct messages with me"
    return f"A Hermes Studio on a home of yours. Its progress and the result come as a thread in {where}."


def _warnings(found: Suggestions, rules: Rules) -> list[Block]:
    lines = []
    limit = rules.limits.per_user
    if found.mine and 0 < limit <= len(found.mine):
        lines.append(
            f":warning: You have {len(found.mine)} of {limit} sandboxes ({listed(found.mine)}); stop one"
            f" with {code(f'/hermes stop {found.mine[0]}')}, or this will be turned away."
        )
    if found.missing:
        what = " and ".join(found.missing)
        lines.append(f":grey_question: I cannot see {what} just now; the form works all the same.")
    return [blocks.context(*lines)] if lines else []


def _fields(found: Suggestions, rules: Rules) -> list[Block]:
    profiles, nodes = sorted(rules.env_profiles), [node.id for node in rules.nodes]
    last = found.last
    fields = [
        *_home(found.homes),
        blocks.text_field(
            Field.WORKSPACE,
            ACTION,
            "Workspace",
            placeholder="same name as the home",
            hint="For project files. It outlasts every sandbox, too.",
            most=MAX_ID_LENGTH,
        ),
        *_template(found.templates, rules.template, last.template),
    ]
    if profiles:
        options = [blocks.option("No profile", NOTHING), *(blocks.option(name, name) for name in profiles)]
        initial = last.profile if last.profile in profiles else NOTHING
        hint = "Environment variables that an administrator has prepared."
        fields.append(
            blocks.select_field(
                Field.PROFILE, ACTION, "Env profile", options, hint=hint, initial=initial, needed=True
            )
        )
    if len(nodes) > 1:
        options = [
            blocks.option("Where the home is, else any", NOTHING),
            *(blocks.option(name, name) for name in nodes),
        ]
        fields.append(blocks.select_field(Field.NODE, ACTION, "Node", options, initial=NOTHING, needed=True))
    return [*fields, _timeout(rules.lifecycle.idle, last.timeout), _env()]


def _home(homes: Sequence[HomeChoice]) -> list[Block]:
    if not homes:
        return [
            blocks.text_field(
                Field.NEW_HOME, ACTION, "Home", hint=HOME_HINT, placeholder="atlas", most=MAX_ID_LENGTH,
                needed=True, first=True,
            )
        ]  # fmt: skip
    options = [
        blocks.option("A new home, named below", NOTHING),
        *(blocks.option(choice.home, choice.home, _about(choice)) for choice in homes),
    ]
    return [
        blocks.select_field(Field.HOME, ACTION, "One of your homes", options, placeholder="Choose a home"),
        blocks.text_field(
            Field.NEW_HOME, ACTION, "Or a new home", hint=HOME_HINT, placeholder="atlas", most=MAX_ID_LENGTH
        ),
    ]


def _about(choice: HomeChoice) -> str:
    """What to know of a home before choosing it."""
    told = []
    if choice.live is not None:
        state = {SandboxState.PAUSED: "sleeping ", SandboxState.RUNNING: "running "}.get(choice.live, "")
        whose = "colleague's " if choice.colleague else ""
        told.append(f"has a {whose}{state}sandbox")
    if choice.workspace != choice.home:
        told.append(f"last with workspace {choice.workspace}")
    return ", ".join(told)


def _template(templates: Sequence[TemplateView] | None, own: str, last: str) -> list[Block]:
    if templates is None:
        return []
    if not templates:
        return [blocks.context(":warning: No template is READY; an administrator builds one.")]
    options, standard = [], False
    for template in templates:
        name = template.name or template.template_id
        if template.answers_to(own):
            standard = True
            options.append(blocks.option(f"{name} (the usual one)", NOTHING))
        else:
            options.append(blocks.option(name, name))
    initial = last if any(one["value"] == last for one in options) else NOTHING
    hint = "" if standard else f"The usual one, {own}, is not READY: please choose another one."
    return [
        blocks.select_field(
            Field.TEMPLATE, ACTION, "Template", options, initial=initial, hint=hint, needed=True
        )
    ]


def _timeout(idle: int, last: int | None) -> Block:
    usual = spell_duration(idle)
    return blocks.text_field(
        Field.TIMEOUT,
        ACTION,
        "Asleep after",
        hint=f"Without a request for this long, like 45m, 2h or never. Opening wakes it. Empty = {usual}.",
        placeholder=usual,
        initial="" if last is None else spell_duration(last),
        most=LONGEST_DURATION,
    )


def _env() -> Block:
    return blocks.text_field(
        Field.ENV,
        ACTION,
        "Extra environment",
        hint=ENV_HINT,
        placeholder="LANG=C.UTF-8\nGREETING=hello there",
        lines=True,
    )
