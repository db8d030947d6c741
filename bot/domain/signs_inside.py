"""Signs of illness inside a sandbox, and of the way into it."""

from collections.abc import Iterator, Mapping

from bot.domain.condition import Condition
from bot.domain.evidence import CubeEvidence, Evidence, GuestEvidence, Mounted, NodeEvidence, Unseen
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.signs import FULL_BYTES, Sign, names, size, span, unsafe_for_wal
from bot.domain.signs_outside import last_beat
from bot.domain.skills import plan_overlay

SILENT = frozenset(
    {"cube-guest-unreachable", "cube-not-found", "cube-gone", "guest-timeout", "took-too-long"}
)
"""Answers to a question inside that no living, reachable sandbox gives."""

NOBODY_LISTENS = "cube-not-listening"
MEMORY_FULL = 32 * 1024 * 1024
SKEW_SECONDS = 30.0
"""From here on a wrong clock is told: sign-ins and signatures fail soon after."""

_NO_USE = frozenset({Condition.STUCK, Condition.UNRESUMABLE})
_FULL = frozenset({"ENOSPC", "EDQUOT"})
_ENDPOINTS = {
    "refused": ("endpoint-refused", "is refused at once: the network policy forbids it, or nothing listens"),
    "unreachable": ("endpoint-refused", "cannot be reached: the sandbox has no way there"),
    "timeout": ("endpoint-silent", "does not answer"),
    "no-name": ("endpoint-unnamed", "has a name that cannot be resolved inside"),
}


def inside_signs(evidence: Evidence) -> Iterator[Sign]:
    """All that a look inside has shown, or why there was none."""
    seen = evidence.inside
    if isinstance(seen, Unseen):
        yield from _unseen(evidence, seen)
        return
    for part, why in seen.untold.items():
        yield Sign("not-examined", f"Inside, {part} could not be examined: {why}.")
    yield from _mount(seen.home, "home")
    yield from _mount(seen.workspace, "workspace")
    yield from _public(seen.public)
    yield from _resources(seen)
    yield from _studio(evidence, seen)
    yield from _skills(seen)
    for one in seen.endpoints:
        code, words = _ENDPOINTS.get(one.result, ("", ""))
        if code:
            yield Sign(code, f"From inside, {one.endpoint} {words}.")
        elif one.result != "open":
            yield Sign("not-examined", f"Whether {one.endpoint} is reached from inside could not be told.")


def _unseen(evidence: Evidence, seen: Unseen) -> Iterator[Sign]:
    if seen.asleep:
        yield from _asleep(evidence)
        return
    studio = evidence.studio
    web_ui = None if isinstance(studio, Unseen) else studio.web_ui
    envd = None if isinstance(studio, Unseen) else studio.envd
    if seen.code in SILENT and not (web_ui and web_ui.ok) and not (envd and envd.ok):
        yield Sign("dark", f"Cube says that it runs, but nothing in it answers{_life(last_beat(evidence))}.")
    elif seen.code == NOBODY_LISTENS:
        yield Sign("envd-dead", "Cube's command service in it does not run, so nothing can be done inside.")
    else:
        yield Sign("not-examined", f"The inside could not be examined: {seen.why}")
    if web_ui and web_ui.ok is False and envd and envd.ok:
        yield Sign("studio-dead", f"Studio does not work: {web_ui.note}.")


def _life(beat: Heartbeat | None) -> str:
    """What the last sign of life adds. A young one proves nothing: the VM may have ended since."""
    if beat is None:
        return ""
    meaning = "may still run, cut off from Cube's proxy" if beat.fresh else "has probably ended"
    return f"; its last sign of life is {span(max(0.0, beat.age))} old, so its VM {meaning}"


def _asleep(evidence: Evidence) -> Iterator[Sign]:
    cube = evidence.cube
    if isinstance(cube, CubeEvidence) and cube.others:
        yield Sign("not-examined", "It was not looked at from inside: awake, two would write the same home.")
    elif (isinstance(cube, CubeEvidence) and cube.wake_refused) or evidence.judged.condition in _NO_USE:
        yield Sign("not-examined", "It was not looked at from inside, because it cannot be woken now.")
    elif evidence.judged.condition is Condition.ASLEEP:
        yield Sign("asleep-inside", "It was not looked at from inside, because that would wake it.")
    else:
        yield Sign("not-examined", "It was not looked at from inside, because it does not run just now.")


def _mount(mount: Mounted, what: str) -> Iterator[Sign]:
    if not mount.path:
        return
    if not mount.mode:
        yield Sign("mount-missing", f"Inside, {mount.path} is not the {what} of the node: it is no mount.")
    elif mount.mode == "ro" or mount.write == "EROFS":
        yield Sign("mount-read-only", f"Inside, the {what} {mount.path} is mounted read-only.")
    elif mount.write in _FULL:
        yield Sign("disk-full", f"Writing into the {what} fails inside: no space is left on the device.")
    elif mount.write not in ("", "ok"):
        yield Sign("not-writable", f"Writing into the {what} {mount.path} fails inside with {mount.write}.")


def _public(mount: Mounted) -> Iterator[Sign]:
    if mount.path and not mount.mode:
        yield Sign("mount-missing", f"Inside, the public Skills {mount.path} are not mounted.")
    elif mount.write == "ok":
        yield Sign("public-skills-writable", f"Inside, the public Skills {mount.path} can be changed.")


def _resources(seen: GuestEvidence) -> Iterator[Sign]:
    if seen.databases_ok is False:
        told = f": {seen.database_notes[0]}" if seen.database_notes else ""
        yield Sign("database-corrupt", f"A database of the home is damaged{told}.")
    if seen.memory_free is not None and seen.memory_free < MEMORY_FULL:
        yield Sign("memory-full", f"Its memory is used up: {size(seen.memory_free)} are left.")
    if seen.disk_free is not None and seen.disk_free < FULL_BYTES:
        yield Sign(
            "root-full", f"Its own disk is full: {size(seen.disk_free)} are left outside of the mounts."
        )


def _studio(evidence: Evidence, seen: GuestEvidence) -> Iterator[Sign]:
    port = evidence.studio_port
    if seen.studio is Inside.READY:
        studio = evidence.studio
        if not isinstance(studio, Unseen) and studio.web_ui.ok is False:
            yield Sign("route-dead", f"Studio works, but not through Cube's proxy: {studio.web_ui.note}.")
        elif isinstance(studio, Unseen) or studio.web_ui.ok is None:
            why = studio.why if isinstance(studio, Unseen) else studio.web_ui.note
            yield Sign("not-examined", f"Whether Cube's proxy reaches Studio could not be told: {why}.")
        return
    listening = None if seen.listeners is None else seen.listeners.get(port)
    if listening and seen.studio_processes == ():
        yield Sign("port-taken", f"Port {port} is held by {names(listening)}, and no Studio runs.")
    elif seen.listeners is not None and not listening:
        runs = "its processes run" if seen.studio_processes else "no Studio runs"
        yield Sign("studio-dead", f"Nothing listens on port {port}: {runs}.")
    elif seen.studio is Inside.NOT_READY:
        note = f": {seen.studio_note}" if seen.studio_note else ""
        yield Sign("bridge-not-ready", f"Studio answers, but does not work{note}.")
    elif seen.studio is Inside.SILENT:
        yield Sign("bridge-not-ready", f"Studio's port {port} is open, but nothing comes from it.")
    else:
        yield Sign("not-examined", "Whether Studio works inside could not be told.")


def _skills(seen: GuestEvidence) -> Iterator[Sign]:
    if seen.skills_public is None or seen.skills_home is None or not seen.public.mode:
        return
    plan = plan_overlay(seen.skills_public, seen.skills_home)
    if plan.remove_dangling:
        yield Sign("skills-dangling", f"Links to public Skills lead nowhere: {names(plan.remove_dangling)}.")
    if plan.link:
        yield Sign("skills-missing", f"Public Skills are not linked in the home: {names(plan.link)}.")
    public = seen.skills_public
    shadowed = [name for name in plan.keep_private if name in public and public[name].is_skill]
    if shadowed:
        yield Sign("skills-shadowed", f"Private Skills hide the team's of the same name: {names(shadowed)}.")


def database_signs(evidence: Evidence) -> Iterator[Sign]:
    """The journal mode of ``state.db`` against the file system that it is on, from either side."""
    inside, node = evidence.inside, evidence.node
    seen = [] if isinstance(inside, Unseen) else [(inside.journal_mode, inside.file_system)]
    seen += [(node.journal_mode, node.home_disk.kind)] if isinstance(node, NodeEvidence) else []
    wal = any(mode == "wal" for mode, _ in seen)
    unsafe = [kind for _, kind in seen if unsafe_for_wal(kind)]
    if wal and unsafe:
        yield Sign(
            "wal-unsafe",
            f"`state.db` is in WAL mode on {unsafe[0]}, where SQLite's locks do not hold; that has damaged"
            " databases.",
        )


def clock_signs(evidence: Evidence) -> Iterator[Sign]:
    """Whose clock is wrong, by comparing three."""
    ahead: dict[str, float] = {}
    if isinstance(evidence.node, NodeEvidence):
        ahead["node"] = _ahead(evidence.node.now, evidence.node.asked)
    if isinstance(evidence.inside, GuestEvidence):
        ahead["sandbox"] = _ahead(evidence.inside.now, evidence.inside.asked)
    beat = last_beat(evidence)
    if "sandbox" not in ahead and "node" in ahead and beat and beat.fresh and beat.skew is not None:
        ahead["sandbox"] = ahead["node"] + beat.skew
    wrong = {who: by for who, by in ahead.items() if abs(by) > SKEW_SECONDS}
    if len(wrong) > 1 and abs(wrong["node"] - wrong["sandbox"]) <= SKEW_SECONDS:
        yield Sign("clock-skew", f"The bot's own clock is {_skew(-wrong['node'])} those of node and sandbox.")
        return
    yield from _wrong(wrong)


def _wrong(wrong: Mapping[str, float]) -> Iterator[Sign]:
    for who, by in sorted(wrong.items()):
        yield Sign("clock-skew", f"The {who}'s clock is {_skew(by)} the bot's.")


def _ahead(told: float, asked: tuple[float, float] | None) -> float:
    """Seconds that a clock is surely ahead of the bot's (behind: negative), whatever the way took."""
    before, after = asked or (told, told)
    if told > after:
        return told - after
    return told - before if told < before else 0.0


def _skew(by: float) -> str:
    return f"{span(by)} {'ahead of' if by > 0 else 'behind'}"
