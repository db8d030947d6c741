"""All that an examination saw, as plain text for a file, and each side in one line for the message."""

from collections.abc import Iterator

from bot.domain.diagnosis import Diagnosis
from bot.domain.evidence import (
    CubeEvidence,
    Disk,
    Evidence,
    GuestEvidence,
    Mounted,
    NodeEvidence,
    Place,
    StudioEvidence,
    Unseen,
)
from bot.domain.heartbeat import Heartbeat
from bot.domain.illnesses import Weight
from bot.domain.provisioning import PortHealth
from bot.domain.signs import size, span
from bot.domain.skills import plan_overlay
from bot.usecases.diagnose import Examined

WEIGHTS = {Weight.ILL: "wrong", Weight.RISK: "risk", Weight.UNTOLD: "could not be told"}


def summary(evidence: Evidence) -> list[tuple[str, str]]:
    """Side → one line."""
    return [
        ("Cube", _cube_line(evidence.cube)),
        ("Node", _node_line(evidence.node)),
        ("Inside", _inside_line(evidence.inside)),
        ("Studio", _studio_line(evidence.studio)),
    ]


def evidence_text(examined: Examined) -> str:
    """The verdict, the findings, and everything that was seen, line by line."""
    evidence = examined.evidence
    lines = [
        f"Examination of sandbox {examined.sandbox_id}, home {examined.home or '(unknown)'}",
        f"At {evidence.at:%Y-%m-%d %H:%M:%S} UTC, request {examined.request_id}",
        f"State: {evidence.judged.condition.value}. {evidence.judged.sentence}",
        "",
        *_findings(examined.diagnosis),
    ]
    for title, part in (
        ("Cube", _cube(evidence.cube)),
        ("Node", _node(evidence.node)),
        ("Heartbeat", _heartbeat(evidence.heartbeat)),
        ("Inside", _inside(evidence.inside)),
        ("Studio, through Cube's proxy", _studio(evidence.studio)),
    ):
        lines += ["", f"== {title}", *part]
    return "\n".join(lines) + "\n"


def _findings(diagnosis: Diagnosis) -> Iterator[str]:
    yield f"Verdict: {diagnosis.verdict}. {diagnosis.headline}"
    for number, one in enumerate(diagnosis.findings, start=1):
        yield f"{number}. [{WEIGHTS[one.weight]}] {one.code}: {one.sentence}"
        yield f"   Cure: {one.cure}"


def _cube_line(cube: CubeEvidence | Unseen) -> str:
    if isinstance(cube, Unseen):
        return f"not examined: {cube.why}"
    listed = cube.list_state or "left out"
    return f"list says {listed}, GET says {cube.get_state or 'not found'}"


def _node_line(node: NodeEvidence | Unseen) -> str:
    if isinstance(node, Unseen):
        return f"not examined: {node.why}"
    free = "unknown" if node.home_disk.free is None else size(node.home_disk.free)
    database = f", state.db in {node.journal_mode} mode" if node.journal_mode else ""
    return f"home is a {node.home.kind}, {free} free, config.yaml {node.config.state}{database}"


def _inside_line(inside: GuestEvidence | Unseen) -> str:
    if isinstance(inside, Unseen):
        return f"not examined: {inside.why}"
    writes = ", ".join(
        f"{name} {mount.mode or 'not mounted'}"
        for name, mount in (("home", inside.home), ("workspace", inside.workspace), ("Skills", inside.public))
    )
    return f"{writes}; Studio {inside.studio.value}; {len(inside.listeners or {})} ports listen"


def _studio_line(studio: StudioEvidence | Unseen) -> str:
    if isinstance(studio, Unseen):
        return f"not examined: {studio.why}"
    return f"{_health(studio.web_ui)}; {_health(studio.envd)}"


def _health(port: PortHealth) -> str:
    word = {True: "answers", False: "does not work", None: "could not be told"}[port.ok]
    return f"{port.name} (port {port.port}) {word}" + (f": {port.note}" if port.note else "")


def _cube(cube: CubeEvidence | Unseen) -> Iterator[str]:
    yield _cube_line(cube)
    if isinstance(cube, Unseen):
        return
    if cube.wake_refused:
        yield f"waking it was refused: {cube.wake_refused}"
    if cube.others:
        yield f"further sandboxes on the same home: {', '.join(cube.others)}"
    status = {None: "could not be told", "": "not known to Cube"}.get(
        cube.template_status, cube.template_status
    )
    view = cube.view
    if view is None:
        return
    yield f"template {view.template or '(unknown)'}: {status}"
    yield f"started {view.started_at or '(not told)'}, deadline {view.end_at or 'none (never, or not told)'}"
    past = cube.past
    idle = {None: "nobody knows", -1: "never"}.get(past.timeout, f"{past.timeout} s")
    made = "the bot, so it is paused when idle" if past.ours or view.request else "somebody else"
    yield f"idle timeout that was last asked for: {idle}; made by {made}"
    for path, read_only in view.mounts:
        yield f"mount as Cube tells it: {path} {'read-only' if read_only else 'read-write'}"
    if view.labels_from_log or not view.labelled:
        yield "some of its labels are lost; the audit log was asked for them"


def _node(node: NodeEvidence | Unseen) -> Iterator[str]:
    if isinstance(node, Unseen):
        yield _node_line(node)
        return
    for place in (node.home, node.workspace, node.public_skills, node.bot_directory):
        yield _place(place)
    yield f"disk of the home: {_disk(node.home_disk)}"
    yield f"disk of the workspace: {_disk(node.workspace_disk)}"
    yield f"studio.env: {node.launch_file or 'not looked at'}"
    yield f"access.json: {node.access_file or 'not looked at'}"
    yield f"config.yaml: {node.config.state}" + (f" ({node.config.problem})" if node.config.problem else "")
    if node.database is not None:
        yield f"{_place(node.database)}, journal mode by its header: {node.journal_mode or 'cannot be told'}"
    yield f"entries in the public Skills: {'not counted' if node.public_names is None else node.public_names}"
    yield f"its clock: {node.now:.0f}{_ahead(node.now, node.asked)}"


def _place(place: Place) -> str:
    told = f"{place.path}: {place.kind}" + (f" ({place.note})" if place.note else "")
    mode = "" if place.mode is None else f", mode {place.mode:04o}, owner {place.uid}:{place.gid}"
    return told + mode + ("" if place.size is None else f", {place.size} bytes")


def _disk(disk: Disk) -> str:
    free = "unknown" if disk.free is None else size(disk.free)
    total = "unknown" if disk.total is None else size(disk.total)
    mode = {True: "read-only", False: "read-write", None: "mode unknown"}[disk.read_only]
    return f"{disk.kind or 'unknown kind'}, {mode}, {free} of {total} free, {disk.free_inodes} inodes free"


def _heartbeat(beat: Heartbeat | Unseen | None) -> Iterator[str]:
    if beat is None:
        yield "there is none"
    elif isinstance(beat, Unseen):
        yield f"not read: {beat.why}"
    else:
        yield f"{span(beat.age)} old, of sandbox {beat.sandbox or '(not told)'}, Studio {beat.studio.value}"
        told = {"load": beat.load, "memory free": beat.memory_free, "disk free": beat.disk_free}
        yield ", ".join(f"{name} {'not told' if value is None else value}" for name, value in told.items())


def _inside(inside: GuestEvidence | Unseen) -> Iterator[str]:
    if isinstance(inside, Unseen):
        yield f"not examined: {inside.why}"
        return
    yield f"runs as uid {inside.uid}; its clock: {inside.now:.0f}{_ahead(inside.now, inside.asked)}"
    for name, mount in (
        ("home", inside.home),
        ("workspace", inside.workspace),
        ("public Skills", inside.public),
    ):
        yield f"{name}: {_mounted(mount)}"
    yield f"file system of the home: {inside.file_system or 'not told'}"
    ok = {True: "well", False: "damaged", None: "not told"}[inside.databases_ok]
    yield f"databases of the home: {ok}; state.db in {inside.journal_mode or 'unknown'} mode"
    yield from (f"  {note}" for note in inside.database_notes)
    guard = " (switches WAL on without looking at the file system)" if inside.lacks_wal_guard else ""
    yield f"agent: {inside.agent_version or 'version not told'}{guard}"
    sizes = {"memory free": inside.memory_free, "of": inside.memory_total, "own disk free": inside.disk_free}
    yield ", ".join(f"{name} {'not told' if got is None else size(got)}" for name, got in sizes.items())
    for port, programs in sorted((inside.listeners or {}).items()):
        yield f"port {port}: {', '.join(programs) or 'a program that is not shown'}"
    running = inside.studio_processes
    yield f"processes of Studio: {'not told' if running is None else ', '.join(running) or 'none'}"
    yield f"Studio's /health on loopback: {inside.studio.value}" + (
        f" ({inside.studio_note})" if inside.studio_note else ""
    )
    yield f"config.yaml as the agent finds it: {inside.config or 'not told'}"
    yield from _skills(inside)
    for one in inside.endpoints:
        took = "" if one.seconds is None else f" after {one.seconds:.3f} s"
        yield f"endpoint {one.endpoint}: {one.result}{took}"
    yield from (f"not examined: {part}: {why}" for part, why in sorted(inside.untold.items()))
    yield "Studio's log, its last lines:"
    yield from (f"  {line}" for line in inside.log_tail or ("nothing",))


def _mounted(mount: Mounted) -> str:
    mode = "" if mount.permissions is None else f", mode {mount.permissions:04o}, owner {mount.uid}"
    return f"{mount.path} {mount.mode or 'not a mount'}{mode}, a write ends with {mount.write or 'nothing'}"


def _skills(inside: GuestEvidence) -> Iterator[str]:
    if inside.skills_public is None or inside.skills_home is None:
        yield "Skills: not told"
        return
    plan = plan_overlay(inside.skills_public, inside.skills_home)
    for what, names in (
        ("linked", plan.already),
        ("not linked", plan.link),
        ("links that lead nowhere", plan.remove_dangling),
        ("private", plan.keep_private),
    ):
        yield f"Skills {what}: {', '.join(names) or 'none'}"


def _studio(studio: StudioEvidence | Unseen) -> Iterator[str]:
    if isinstance(studio, Unseen):
        yield f"not examined: {studio.why}"
        return
    yield _health(studio.web_ui)
    yield _health(studio.envd)


def _ahead(told: float, asked: tuple[float, float] | None) -> str:
    if asked is None:
        return ""
    by = told - sum(asked) / 2
    return f" ({abs(by):.1f} s {'ahead of' if by >= 0 else 'behind'} the bot's)"
