"""Signs of illness that can be seen without waking a sandbox: Cube's, the node's and the heartbeat's."""

from collections.abc import Iterator

from bot.domain.condition import Condition, moment
from bot.domain.evidence import CubeEvidence, Evidence, NodeEvidence, Place, Unseen
from bot.domain.heartbeat import FRESH_SECONDS, Heartbeat
from bot.domain.illnesses import Weight
from bot.domain.sandbox import SandboxState, SandboxView
from bot.domain.signs import Sign, disk_signs, names, span

OWN_MODE = 0o700
OTHERS_MAY = 0o066
"""Reading and writing by anybody but the owner. A mode of 0701 is one that the agent knows."""

_NODE_CODES = {
    "node-login-refused": "node-login-refused",
    "host-key-changed": "host-key-changed",
    "node-unreachable": "node-silent",
    "node-timeout": "node-silent",
}


def cube_signs(evidence: Evidence) -> Iterator[Sign]:
    """The control plane."""
    cube = evidence.cube
    if isinstance(cube, Unseen):
        yield Sign("not-examined", f"Cube could not be asked about it: {cube.why}")
        return
    if cube.view is None:
        yield Sign("gone", "Cube does not know this sandbox any more; home and workspace are on the node.")
        return
    if cube.others:
        listed = names([evidence.sandbox_id, *cube.others])
        yield Sign("second-writer", f"More than one sandbox has home {evidence.home}: {listed}.")
    yield from _lifecycle(evidence, cube, cube.view)
    if not cube.listed:
        yield Sign("list-incomplete", "Cube's list leaves it out; only a question by its id finds it.")
    yield from _labels(cube, cube.view)
    if cube.template_status is None:
        yield Sign("not-examined", "Whether its template is READY could not be told.")
    elif cube.template_status != "READY":
        state = f"is {cube.template_status}" if cube.template_status else "is not known to Cube any more"
        yield Sign("template-not-ready", f"Its template `{cube.view.template}` {state}.")


def _lifecycle(evidence: Evidence, cube: CubeEvidence, view: SandboxView) -> Iterator[Sign]:
    paused = view.state is SandboxState.PAUSED
    if cube.wake_refused:
        code = "cannot-resume" if cube.wake_for_good else "wake-failed"
        yield Sign(code, f"Cube did not wake it: {cube.wake_refused.rstrip('.')}.")
    elif evidence.judged.condition is Condition.UNRESUMABLE:
        yield Sign("cannot-resume", "It is paused, and Cube has refused to wake it for good.")
    elif paused and cube.past.resume_undone:
        yield Sign("resume-undone", "It was woken, and went back to sleep at once.")
    if evidence.judged.condition is Condition.STUCK:
        yield Sign("stuck-pausing", "Its pause does not come to an end.")
    if view.state is SandboxState.UNKNOWN:
        yield Sign("not-examined", "Cube itself does not say in which state it is.")


def _labels(cube: CubeEvidence, view: SandboxView) -> Iterator[Sign]:
    if not cube.past.ours and not view.request:
        yield Sign(
            "paused-is-killed",
            "The bot did not make it, so it may be destroyed instead of paused when it idles.",
        )
    elif view.labels_from_log or not view.labelled:
        yield Sign("labels-lost", "Cube has lost what it knew of its home and owner.")


def node_signs(evidence: Evidence) -> Iterator[Sign]:
    """The node's side of the mounts."""
    node = evidence.node
    if isinstance(node, Unseen):
        works = not isinstance(evidence.studio, Unseen) and evidence.studio.web_ui.ok is True
        code = _NODE_CODES.get(node.code)
        if code is None:
            yield Sign("not-examined", f"Its directories on the node could not be looked at: {node.why}")
        else:
            yield Sign(code, node.why or "The node does not answer.", Weight.RISK if works else None)
        return
    yield from _directory(node.home, "home")
    yield from _directory(node.workspace, "workspace")
    if node.public_skills.kind == "missing":
        yield Sign("public-skills-gone", f"The public Skills are not on the node: {node.public_skills.path}.")
    elif node.public_skills.kind != "dir":
        yield Sign("path-unsafe", _unsafe(node.public_skills))
    yield from disk_signs(node.home_disk, "the home", floor=evidence.min_free)
    if node.workspace_disk != node.home_disk:
        yield from disk_signs(node.workspace_disk, "the workspace", floor=evidence.min_free)
    if node.home.kind == "dir":
        yield from _files(evidence, node)


def _directory(place: Place, what: str) -> Iterator[Sign]:
    if place.kind == "dir":
        if what == "home" and place.mode is not None and place.mode & OTHERS_MAY:
            yield Sign("home-open", f"Others on the node may read the home: its mode is {place.mode:04o}.")
    elif place.kind == "missing":
        yield Sign("home-missing", f"The directory of its {what} is not on the node: {place.path}.")
    elif place.kind == "unreadable":
        yield Sign("not-examined", f"The directory of its {what} could not be looked at: {place.note}.")
    else:
        yield Sign("path-unsafe", _unsafe(place))


def _unsafe(place: Place) -> str:
    what = {"link": "a link", "file": "a file", "unsafe": "a link or a file in its path"}.get(place.kind)
    return f"On the node, {place.path} is {what or 'no directory'}; it is not followed."


def _files(evidence: Evidence, node: NodeEvidence) -> Iterator[Sign]:
    own = node.bot_directory
    if own.kind not in ("dir", "missing"):
        yield Sign("bot-directory-unsafe", f"{own.path} is {_kind(own)}, not the bot's own directory.")
    elif own.mode is not None and own.mode != OWN_MODE:
        mode = f"{own.path} has mode {own.mode:04o} instead of 0700"
        yield Sign("home-open", f"{mode}; it holds the sign-in of Studio.")
    if node.launch_file not in ("ok", "absent", ""):
        yield Sign("launch-file-damaged", f"What Studio is started with cannot be read: {node.launch_file}.")
    if node.access_file not in ("ok", "absent", ""):
        yield Sign("access-file-damaged", f"The stored sign-in cannot be read: {node.access_file}.")
    yield from _config(evidence, node)


def _kind(place: Place) -> str:
    return {"link": "a link", "file": "a file"}.get(place.kind, "something else")


def _config(evidence: Evidence, node: NodeEvidence) -> Iterator[Sign]:
    config = node.config
    inside = "" if isinstance(evidence.inside, Unseen) else evidence.inside.config
    match config.state:
        case "broken":
            silent = "the agent works with its defaults and says nothing"
            yield Sign("config-corrupt", f"`config.yaml` is damaged ({config.problem}), so {silent}.")
        case "too-large":
            yield Sign("config-corrupt", f"`config.yaml` is no settings file ({config.problem}).")
        case "not-a-file":
            yield Sign("config-not-a-file", f"`config.yaml` in the home is {config.problem}.")
        case "link" if inside and inside != "file":
            yield Sign("config-not-a-file", f"`config.yaml` in the home is a link that leads to {inside}.")
        case "link":
            yield Sign(
                "not-examined", "`config.yaml` in the home is a link, which is not followed from the node."
            )
        case "unreadable":
            yield Sign("not-examined", f"`config.yaml` could not be read: {config.problem}.")


def heartbeat_signs(evidence: Evidence) -> Iterator[Sign]:
    """The sign of life through the mount. It only says something about a sandbox that runs."""
    if isinstance(evidence.cube, Unseen) or evidence.cube.view is None or isinstance(evidence.node, Unseen):
        return
    if evidence.cube.view.state is not SandboxState.RUNNING:
        return
    beat = evidence.heartbeat
    fresh = isinstance(beat, Heartbeat) and beat.fresh and beat.sandbox in ("", evidence.sandbox_id)
    if isinstance(beat, Unseen):
        yield Sign("not-examined", f"Its heartbeat could not be read: {beat.why}")
    elif not fresh and _just_begun(evidence, evidence.cube, evidence.cube.view):
        yield Sign(
            "not-examined", "It was started or woken a moment ago, and its heart has not beaten since."
        )
    elif beat is None:
        yield Sign("heartbeat-stopped", "It has no heartbeat, so nobody sees when it falls ill.")
    elif beat.sandbox and beat.sandbox != evidence.sandbox_id:
        yield Sign("heartbeat-stopped", "Its heartbeat is the one of the sandbox before it.")
    elif not beat.fresh:
        yield Sign("heartbeat-stopped", f"Its heartbeat is {span(beat.age)} old.")


def _just_begun(evidence: Evidence, cube: CubeEvidence, view: SandboxView) -> bool:
    """Whether a heartbeat cannot be expected yet."""
    begun = (moment(view.started_at), cube.past.changed_at)
    return any(abs((evidence.at - when).total_seconds()) < FRESH_SECONDS for when in begun if when)


def last_beat(evidence: Evidence) -> Heartbeat | None:
    """The heartbeat, if there is one and it is this sandbox's."""
    beat = evidence.heartbeat
    if beat is None or isinstance(beat, Unseen) or beat.sandbox not in ("", evidence.sandbox_id):
        return None
    return beat
