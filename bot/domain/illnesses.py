"""Everything that a diagnosis can name: how bad it is, what it explains, and what cures it.

The order is the story: what stands above explains what stands below, so of several findings the topmost is
the most likely cause. ``docs/runbook.md`` has the same list for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Weight(IntEnum):
    """How much a finding matters; smaller comes first."""

    ILL = 0
    """It explains why somebody cannot work."""
    RISK = 1
    """Work goes on, and this will hurt later or is not as it should be."""
    UNTOLD = 2
    """It could not be examined, so nobody knows whether it is well."""


class Remedy(StrEnum):
    """Buttons that a cure may have; what a press means is decided when it happens."""

    RESUME = "resume"
    RESTART = "restart"
    """Of Studio, in a sandbox that runs."""
    OPEN = "open"
    STOP = "stop"
    CHECK = "check"
    WAKE = "wake"


@dataclass(frozen=True, slots=True)
class Illness:
    """One thing that can be wrong."""

    code: str
    weight: Weight
    cure: str
    """One sentence with the command for it; ``{target}``, ``{home}`` and ``{sandbox}`` are filled in."""
    remedies: tuple[Remedy, ...] = ()


_RESTART = "type `/hermes resume {target}`: that starts a Studio that does not work"
_RECREATE = "stop it with `/hermes stop {target}` and create it again with `/hermes create home={home}`"


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."


ILLNESSES: tuple[Illness, ...] = (
    Illness(
        "gone",
        Weight.ILL,
        "Create a new sandbox on the same home with `/hermes create home={home}`.",
    ),
    Illness(
        "second-writer",
        Weight.ILL,
        "Stop all but one of them by their ids, with `/hermes stop ID`: two writers damage `state.db`.",
        (Remedy.STOP,),
    ),
    Illness(
        "cannot-resume",
        Weight.ILL,
        "Do not try on: " + _RECREATE + "; home and workspace are kept, the memory of the VM is lost.",
        (Remedy.STOP,),
    ),
    Illness(
        "wake-failed",
        Weight.ILL,
        "Try `/hermes resume {target}` in a minute; if it stays so, tell the people who run Cube.",
        (Remedy.RESUME,),
    ),
    Illness(
        "stuck-pausing",
        Weight.ILL,
        "Tell the people who run Cube that its pause does not end; once Cube lets go of it, "
        "`/hermes resume {target}` wakes it.",
    ),
    Illness(
        "node-login-refused",
        Weight.ILL,
        "An administrator puts the bot's public key back on the node, and runs `hermes-bot check`.",
    ),
    Illness(
        "host-key-changed",
        Weight.ILL,
        "An administrator finds out why, and puts the right key into `known_hosts`.",
    ),
    Illness(
        "node-silent",
        Weight.ILL,
        "An administrator looks whether the node is up, and runs `hermes-bot check`.",
    ),
    Illness(
        "home-missing",
        Weight.ILL,
        "An administrator looks where the directory went on the node, and moves it back.",
    ),
    Illness(
        "path-unsafe",
        Weight.ILL,
        "An administrator looks at the path on the node and puts the real directory back.",
    ),
    Illness(
        "node-read-only",
        Weight.ILL,
        "An administrator looks at the node's disk (`dmesg`) and mounts it writable again; then "
        + _RESTART
        + ".",
    ),
    Illness(
        "disk-full",
        Weight.ILL,
        "An administrator makes room on the node; then " + _RESTART + ".",
    ),
    Illness(
        "inodes-full",
        Weight.ILL,
        "An administrator removes many small files on the node; then " + _RESTART + ".",
    ),
    Illness(
        "dark",
        Weight.ILL,
        "Use *Check now* in half a minute; if it stays dark, tell the people who run Cube; if it gives no "
        "sign of life either, " + _RECREATE + ".",
        (Remedy.CHECK, Remedy.STOP),
    ),
    Illness(
        "mount-missing",
        Weight.ILL,
        "What is written there dies with the VM: " + _RECREATE + ".",
        (Remedy.STOP,),
    ),
    Illness(
        "mount-read-only",
        Weight.ILL,
        "A mount cannot be changed while it is in use: " + _RECREATE + ".",
        (Remedy.STOP,),
    ),
    Illness(
        "not-writable",
        Weight.ILL,
        "An administrator gives the directory on the node back to the user that the sandbox runs as "
        "(`chown`), with mode 0700.",
    ),
    Illness(
        "envd-dead",
        Weight.ILL,
        "Pause it and wake it with `/hermes pause {target}` and `/hermes resume {target}`; if it stays so, "
        + _RECREATE
        + ".",
        (Remedy.STOP,),
    ),
    Illness(
        "database-corrupt",
        Weight.ILL,
        "Stop it before more is written, with `/hermes stop {target}`; then put a backup of `state.db` back "
        "on the node.",
        (Remedy.STOP,),
    ),
    Illness(
        "config-not-a-file",
        Weight.ILL,
        "Put a plain file back at `/root/.hermes/config.yaml`, such as the `config.yaml.bak` beside it; then "
        + _RESTART
        + ".",
        (Remedy.OPEN, Remedy.RESTART),
    ),
    Illness(
        "config-corrupt",
        Weight.ILL,
        "Mend the file inside, or put a backup of it back; do not use `hermes config set` before that, which "
        "would throw the rest away.",
        (Remedy.OPEN,),
    ),
    Illness(
        "launch-file-damaged",
        Weight.ILL,
        "Remove `.hermes-bot/studio.env` in the home, then " + _RECREATE + ", which writes it anew.",
        (Remedy.STOP,),
    ),
    Illness(
        "access-file-damaged",
        Weight.RISK,
        "Remove `.hermes-bot/access.json` in the home, then "
        + _RECREATE
        + ", which secures the sign-in anew.",
        (Remedy.STOP,),
    ),
    Illness(
        "bot-directory-unsafe",
        Weight.ILL,
        "Remove what stands at `.hermes-bot` in the home, then " + _RECREATE + ", which makes it anew.",
        (Remedy.STOP,),
    ),
    Illness(
        "resume-undone",
        Weight.ILL,
        "Wake it again with `/hermes resume {target}`; if it sleeps again, give it a longer idle time with "
        "`/hermes keep {target} 2h`.",
        (Remedy.RESUME,),
    ),
    Illness(
        "memory-full",
        Weight.ILL,
        "End what takes the memory inside, or " + _RECREATE + " from a template with more.",
        (Remedy.OPEN, Remedy.STOP),
    ),
    Illness(
        "root-full",
        Weight.ILL,
        "Remove files outside of the home and the workspace inside the sandbox, such as caches in `/tmp`.",
        (Remedy.OPEN,),
    ),
    Illness(
        "port-taken",
        Weight.ILL,
        "End that program inside the sandbox; then " + _RESTART + ".",
        (Remedy.RESTART,),
    ),
    Illness(
        "studio-dead",
        Weight.ILL,
        _sentence(_RESTART),
        (Remedy.RESTART,),
    ),
    Illness(
        "bridge-not-ready",
        Weight.ILL,
        _sentence(_RESTART + "; if it stays so, its log below says why"),
        (Remedy.RESTART,),
    ),
    Illness(
        "route-dead",
        Weight.ILL,
        "Use *Check now* in half a minute; if it stays so, tell the people who run Cube that its proxy has "
        "a wrong route.",
        (Remedy.CHECK,),
    ),
    Illness(
        "endpoint-refused",
        Weight.ILL,
        "An administrator allows it in the network policy (`allow_out`), or starts what should listen there.",
    ),
    Illness(
        "endpoint-silent",
        Weight.ILL,
        "An administrator looks at routes and firewalls between the node and that address.",
    ),
    Illness(
        "endpoint-unnamed",
        Weight.ILL,
        "An administrator mends the name in `[network] endpoints`, or the DNS that the sandboxes use.",
    ),
    Illness(
        "wal-unsafe",
        Weight.RISK,
        "An administrator moves the homes to a block device with ext4 or xfs; until then, back up often.",
    ),
    Illness(
        "clock-skew",
        Weight.RISK,
        "An administrator sets that clock right (`chronyc tracking`); sign-ins and deadlines depend on it.",
    ),
    Illness(
        "paused-is-killed",
        Weight.RISK,
        "Nobody knows what Cube does when it idles; keep it with `/hermes keep {target} never` until it was "
        "replaced by `/hermes create home={home}`.",
    ),
    Illness(
        "home-open",
        Weight.RISK,
        "An administrator sets the owner and mode of the directory on the node right (`chmod 0700`).",
    ),
    Illness(
        "public-skills-gone",
        Weight.RISK,
        "An administrator puts the team's public Skills back on the node; the next create on this home links "
        "them.",
    ),
    Illness(
        "public-skills-writable",
        Weight.RISK,
        "Any sandbox could change the Skills of all: " + _RECREATE + ", which mounts them read-only.",
        (Remedy.STOP,),
    ),
    Illness(
        "skills-dangling",
        Weight.RISK,
        "Remove the link inside (`rm /root/.hermes/skills/NAME`); the next create on this home does it too.",
    ),
    Illness(
        "skills-missing",
        Weight.RISK,
        "Link it inside with `ln -s /opt/hermes-common-skills/NAME /root/.hermes/skills/NAME`; the next "
        "create on this home does it too.",
    ),
    Illness(
        "skills-shadowed",
        Weight.RISK,
        "Rename the private Skill in `/root/.hermes/skills`, if the team's one is wanted; nothing is lost.",
    ),
    Illness(
        "heartbeat-stopped",
        Weight.RISK,
        "Nothing has to be done at once: it starts with the next start of Studio, at the latest when you "
        + _RECREATE
        + ".",
    ),
    Illness(
        "disk-low",
        Weight.RISK,
        "An administrator makes room on the node before it is full.",
    ),
    Illness(
        "list-incomplete",
        Weight.RISK,
        "Tell the people who run Cube: its list leaves the sandbox out, so its node may not answer them.",
    ),
    Illness(
        "labels-lost",
        Weight.RISK,
        "Nothing to do now: the audit log supplies them; Cube 0.7.1 and later keep them.",
    ),
    Illness(
        "template-not-ready",
        Weight.RISK,
        "An administrator builds the template again before this sandbox has to be replaced.",
    ),
    Illness(
        "not-examined",
        Weight.UNTOLD,
        "Ask again in a minute with `/hermes diagnose {target}`.",
    ),
    Illness(
        "asleep-inside",
        Weight.UNTOLD,
        "*Wake and examine* has it looked at from inside, too; that counts as use.",
        (Remedy.WAKE,),
    ),
)
"""In this order, which is total: no two have the same place."""

EXPLAINED_BY: Mapping[str, frozenset[str]] = {
    "inodes-full": frozenset({"disk-full"}),
    "heartbeat-stopped": frozenset(
        {"home-missing", "path-unsafe", "node-read-only", "disk-full", "dark", "mount-missing", "studio-dead"}
        | {"mount-read-only", "envd-dead", "port-taken"}
    ),
}
"""What is not worth a line of its own where one of these was found, as it goes away with it."""

BY_CODE = {illness.code: illness for illness in ILLNESSES}
RANK = {illness.code: place for place, illness in enumerate(ILLNESSES)}

HEALTHY = "healthy"
ASLEEP = "asleep"
NOT_ALL_TOLD = "not-all-told"
VERDICTS = {
    HEALTHY: "Nothing is wrong: all four sides were examined.",
    ASLEEP: "It is paused, and nothing is wrong as far as can be seen without waking it.",
    NOT_ALL_TOLD: "Nothing wrong was found, but not everything could be examined.",
}
"""What is said where no illness was found."""
