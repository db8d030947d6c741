"""What the bot can do, and what a person may do: help, whoami, and the answers to what was typed wrong."""

from collections.abc import Collection

from bot.domain.actors import Role
from bot.ports import Message
from bot.usecases.whoami import WhoAmI
from handlers.grammar import Refusal
from handlers.render import blocks, limits
from handlers.render.mrkdwn import bold, code, person, prose
from handlers.verbs import SLASH, VERBS, Verb

EXAMPLE = "/hermes create home=atlas"


def available(verbs: Collection[str]) -> list[Verb]:
    """The verbs that work now, in the order of the table."""
    return [verb for verb in VERBS if verb.name in verbs]


def help_message(verbs: Collection[str]) -> Message:
    """Every command that works now, with what it does and an example."""
    rows = [
        f"*{code(f'{SLASH} {verb.usage}')}*\n{prose(verb.line)} For example {code(verb.example)}"
        for verb in available(verbs)
    ]
    return limits.message(
        f"Type {code(EXAMPLE)} and you get a working Hermes Studio. Commands: "
        + ", ".join(verb.name for verb in available(verbs)),
        [
            blocks.section(
                "I give you a working *Hermes Studio* in a sandbox. Sandboxes come and go;"
                " your *home* (settings, conversations, private Skills) and *workspace* (project files) stay."
            ),
            *(blocks.section(row) for row in rows),
            blocks.context(f"{code(f'{SLASH} whoami')} shows what you may do."),
        ],
    )


def help_line() -> Message:
    """Help in one line, for a mention."""
    text = f"Type {code(EXAMPLE)} for a working Studio, or {code(f'{SLASH} help')} for everything I can do."
    return limits.message(text, [blocks.section(text)])


def whoami_message(who: WhoAmI) -> Message:
    """Role, what it allows, and why the rest is not allowed."""
    may = ", ".join(code(action) for action in who.may) or "nothing that changes something"
    lines = [f"You are {person(who.actor_id)}, {standing(who.role)}.", f"*You may:* {may}"]
    lines += [f"*Not* {code(action)}: {prose(why)}" for action, why in who.may_not]
    if who.may_not:
        lines.append("An administrator can give you a role.")
    return limits.message(f"You are {standing(who.role)}.", [blocks.section("\n".join(lines))])


def standing(role: Role) -> str:
    """The role in a sentence."""
    if role is Role.NONE:
        return "without a role in this bot"
    return f"{'an' if role.word[0] in 'aeiou' else 'a'} *{role.word}* of this bot"


def refusal_message(refusal: Refusal) -> Message:
    """One sentence on what was wrong, and the right example. Nothing that was typed is repeated."""
    text = f"{prose(refusal.message)} For example: {code(refusal.example)}"
    parts = [blocks.section(text)]
    if refusal.example.startswith(f"{SLASH} create"):
        parts.append(blocks.actions(blocks.form_button("Use the form")))
    return limits.message(text, parts)


def not_available(name: str, verbs: Collection[str]) -> Message:
    """The answer to a verb that is in the table but not built."""
    known = ", ".join(code(f"{SLASH} {verb.name}") for verb in available(verbs))
    text = f"{bold(name.replace('.', ' '))} is not available yet. What works now: {known}."
    return limits.message(text, [blocks.section(text)])
