"""The commands of `/hermes`: what each takes, one line of help, and a line that can be typed as it is."""

from dataclasses import dataclass
from typing import Literal

SLASH = "/hermes"

BACKENDS = ("local", "docker", "ssh", "singularity", "modal", "daytona", "vercel_sandbox")
"""Names Hermes has ever had for `terminal.backend`; whether a home's agent has it is decided later."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One command.

    Attributes:
        name: verb, or `verb.subverb`.
        usage: its shape, as shown in help, without the slash command.
        line: what it does, in one line.
        example: a right command, complete with the slash command.
        needs: arguments that must stand behind it, in this order.
        takes: arguments that may follow those, in this order.
        rest: what all further words are, when there may be any number of them.
        keys: settings written `key=value`.
        words: words that may stand where a target stands, in any case when `all`.
    """

    name: str
    usage: str
    line: str
    example: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    rest: Literal["", "reason", "endpoints"] = ""
    keys: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def _verb(
    usage: str,
    line: str,
    example: str,
    *,
    needs: str = "",
    takes: str = "",
    rest: Literal["", "reason", "endpoints"] = "",
    keys: str = "",
    words: str = "",
) -> Verb:
    """A table row; its name is read off the usage, as the small words before the first argument."""
    fixed = [word for word in usage.split() if word.isalpha() and word.islower()]
    return Verb(
        name=".".join(fixed),
        usage=usage,
        line=line,
        example=f"{SLASH} {example}",
        needs=tuple(needs.split()),
        takes=tuple(takes.split()),
        rest=rest,
        keys=tuple(keys.split()),
        words=tuple(words.split()),
    )


VERBS: tuple[Verb, ...] = (
    _verb(
        "create home=HOME [workspace=W] [template=T] [timeout=2h] [node=N] [profile=P] [env=NAME=VALUE …]",
        "A working Studio on your home, made new or taken up again. Alone, it opens a form.",
        "create home=atlas",
        keys="home workspace template timeout node profile env",
    ),
    _verb(
        "status [TARGET|all|mine]",
        "What runs, and how it is.",
        "status atlas",
        takes="target",
        words="all mine",
    ),
    _verb("open TARGET", "A private link to the Studio.", "open atlas", needs="target"),
    _verb(
        "pause TARGET|mine",
        "Put a sandbox to sleep; it keeps its memory.",
        "pause atlas",
        needs="target",
        words="mine",
    ),
    _verb("resume TARGET|mine", "Wake a sleeping sandbox.", "resume atlas", needs="target", words="mine"),
    _verb("stop TARGET", "Destroy a sandbox; its home and workspace stay.", "stop atlas", needs="target"),
    _verb(
        "keep TARGET DURATION",
        "Longer idle time before a sandbox pauses.",
        "keep atlas 2h",
        needs="target duration",
    ),
    _verb(
        "rebuild TARGET [REASON …]",
        "A fresh sandbox around the same home, after approval.",
        "rebuild atlas stuck after the node restart",
        needs="target",
        rest="reason",
    ),
    _verb("diagnose TARGET", "Examine a sandbox from all sides.", "diagnose atlas", needs="target"),
    _verb(
        "network TARGET [ENDPOINT …]",
        "Whether a sandbox reaches an endpoint.",
        "network atlas 10.10.0.5:8000",
        needs="target",
        rest="endpoints",
    ),
    _verb("skills list", "The team's public Skills.", "skills list"),
    _verb(
        "skills refresh TARGET|all",
        "Bring a home's links to public Skills up to date.",
        "skills refresh atlas",
        needs="target",
        words="all",
    ),
    _verb("skills diff [TARGET]", "What a deploy would change.", "skills diff atlas", takes="target"),
    _verb("skills status TARGET", "Which Skills a home sees.", "skills status atlas", needs="target"),
    _verb("skills deploy", "Publish the team's public Skills.", "skills deploy"),
    _verb("backend show TARGET", "Where a home runs its commands.", "backend show atlas", needs="target"),
    _verb(
        "backend set TARGET BACKEND",
        "Choose where a home runs its commands.",
        "backend set atlas docker",
        needs="target backend",
    ),
    _verb("backend list", "The terminal back ends of all homes.", "backend list"),
    _verb("backend audit [TARGET]", "Risks in terminal settings.", "backend audit atlas", takes="target"),
    _verb("rescue save TARGET", "Save what only lives in the VM.", "rescue save atlas", needs="target"),
    _verb("rescue list TARGET", "What was saved from the VM.", "rescue list atlas", needs="target"),
    _verb("backup TARGET", "Back up a home.", "backup atlas", needs="target"),
    _verb("template list", "The templates of this Cube.", "template list"),
    _verb(
        "audit [home=HOME] [user=@someone] [since=24h]",
        "Who did what, and when.",
        "audit home=atlas since=24h",
        keys="home user since",
    ),
    _verb("alerts list", "Open health alerts.", "alerts list"),
    _verb(
        "alerts snooze TARGET DURATION",
        "Silence alerts for a while.",
        "alerts snooze atlas 4h",
        needs="target duration",
    ),
    _verb("alerts ack TARGET", "Say that you are on an alert.", "alerts ack atlas", needs="target"),
    _verb("drill", "Rehearse a recovery.", "drill"),
    _verb("whoami", "Your roles and limits.", "whoami"),
    _verb("help", "This list.", "help"),
)

BY_NAME = {verb.name: verb for verb in VERBS}


def first_words() -> tuple[str, ...]:
    """The words a command may start with, in the order of the help."""
    return tuple(dict.fromkeys(verb.name.partition(".")[0] for verb in VERBS))


def subverbs(first: str) -> tuple[Verb, ...]:
    """The commands that start with `first` and have a second word; empty for a verb that stands alone."""
    return tuple(verb for verb in VERBS if verb.name.startswith(f"{first}."))
