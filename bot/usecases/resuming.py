"""Waking a sandbox for a person: it stays awake and is well, or what is not well is said."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bot.domain.actors import Action
from bot.domain.cube_errors import FaultClass
from bot.domain.errors import CubeError, DomainError, GuestError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Done, Failed, Offer, Outcome, Refused
from bot.domain.past import FOR_GOOD, WOKEN
from bot.domain.sandbox import Places, SandboxState, SandboxView
from bot.usecases.changing import HOMES_ARE_SAFE, Change, ChangeRequest, change, gone, state_now
from bot.usecases.deps import Deps
from bot.usecases.mounts import mount_problems
from bot.usecases.waking import wake

STAYS_AFTER = 2.0
"""Seconds after which a sandbox that was woken is looked at again, as a waiting pause may undo it."""

PAUSE_ENDS_SECONDS = 15.0
"""How long that pause may take to come to its end."""

STUDIO_SECONDS = 3.0
"""How long Studio may take to answer in a sandbox that was just woken."""

_FOR_GOOD = ("no pause snapshot", "pause snapshot status=failed")
"""Cube's words for a pause that has left nothing to wake up from."""

_LOST = "What is only in the memory of the sandbox cannot be reached."
_WORDS: dict[FaultClass, tuple[str, str, str]] = {
    FaultClass.UNRESUMABLE_TAP_BUSY: (
        "Cube cannot wake this sandbox: its network port is held since a restart of Cube.",
        f"{HOMES_ARE_SAFE} {_LOST}",
        "Stop it and create a new one with the same home; tell the people who run Cube: 0.7.0 cures it.",
    ),
    FaultClass.NO_CAPACITY: (
        "The node has no room to wake this sandbox just now.",
        f"It sleeps on, with its memory. {HOMES_ARE_SAFE}",
        "Pause or stop a sandbox that nobody uses, then press Resume; or try again in a few minutes.",
    ),
    FaultClass.NODE_UNREACHABLE: (
        "Cube cannot reach the node that this sandbox sleeps on.",
        "Nothing was changed; home and workspace lie on that node.",
        "Try again in a minute; if it stays, an administrator should look at the node.",
    ),
}


class StudioNow(StrEnum):
    """How Studio is after waking."""

    WELL = "well"
    RESTARTED = "restarted"
    """It had died, and only it."""
    UNTOLD = "untold"
    """It was not looked at: the sandbox is not one of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """It runs, and was found well."""

    sandbox_id: str
    home: str
    owner: str
    seconds: float = 0.0
    already: bool = False
    """It ran before; its Studio at most was started again."""
    studio: StudioNow = StudioNow.UNTOLD
    notes: tuple[str, ...] = ()


async def resume(request: ChangeRequest, deps: Deps) -> Outcome[Resumed]:
    """Wake a sandbox and see that it stays awake and is well. One that runs has its Studio seen to."""
    return await change(Action.RESUME, request, deps, _act)


async def _act(job: Change) -> Outcome[Resumed]:
    view = job.found.view
    if view.state is SandboxState.PAUSING:
        return Refused(
            code="still-pausing",
            what="The sandbox is just being paused, and cannot be woken before that has ended.",
            safe=f"Nothing was changed. {HOMES_ARE_SAFE}",
            todo="Wait half a minute, then press Resume; if it stays so, tell the people who run Cube.",
            offers=(Offer.RESUME,),
            sandbox=job.sandbox_id,
        )
    if view.state is SandboxState.RUNNING:
        return await _see_to_studio(job)
    await job.begin()
    clock = job.deps.clock
    began = clock.monotonic()
    try:
        awake = await _stays_awake(job)
    except CubeError as error:
        return await job.end(_refused(job, error), for_good(error))
    if isinstance(awake, Failed):
        return await job.end(awake)
    outcome = await _examine(job)
    if isinstance(outcome, Done):
        seconds = clock.monotonic() - began
        return await job.end(Done("resumed", replace(outcome.value, seconds=seconds)))
    return await job.end(outcome, {WOKEN: True})


async def _see_to_studio(job: Change) -> Outcome[Resumed]:
    """There is nothing to wake. A Studio of ours that has died is started again; else nothing is done."""
    if _places(job) is None or not await _healthy(job):
        return Done("already-running", _resumed(job, already=True))
    await job.begin()
    clock = job.deps.clock
    began = clock.monotonic()
    outcome = await _examine(job)
    if not isinstance(outcome, Done):
        return await job.end(outcome, {WOKEN: True})
    value = replace(outcome.value, already=True, seconds=clock.monotonic() - began)
    return await job.end(Done("studio-restarted", value))


async def _stays_awake(job: Change) -> SandboxView | Failed:
    """Wake it, and once more when it went back to sleep. Raises the ``CubeError`` of a refusal."""
    for attempt in (1, 2):
        now = await wake(job.sandbox_id, job.deps)
        if now is not None and now.state is SandboxState.RUNNING:
            now = await _a_little_later(job)
        elif attempt == 1 and now is not None:
            break  # waking has tried it twice already
        if now is None:
            return _vanished(job)
        if now.state is SandboxState.RUNNING:
            return now
    return Failed(
        code="resume-undone",
        what="Cube woke the sandbox, and it went back to sleep at once, twice.",
        safe=f"It sleeps, with its memory. {HOMES_ARE_SAFE}",
        todo="Press Resume in a minute: a pause that was waiting in line has been carried out by then.",
        offers=(Offer.RESUME, Offer.STOP),
        sandbox=job.sandbox_id,
    )


async def _a_little_later(job: Change) -> SandboxView | None:
    """How it stands after ``STAYS_AFTER``, or when the pause that came then has ended."""
    clock = job.deps.clock
    began = clock.monotonic()
    while True:
        await clock.sleep(STAYS_AFTER)
        now = await state_now(job.sandbox_id, job.deps)
        ended = now is None or now.state is not SandboxState.PAUSING
        if ended or clock.monotonic() - began > PAUSE_ENDS_SECONDS:
            return now


async def _examine(job: Change) -> Outcome[Resumed]:
    """The guest, the mounts and Studio, now that it runs. What is not well is told; nothing is undone."""
    deps, sandbox_id = job.deps, job.sandbox_id
    try:
        if not await deps.guest.answers(sandbox_id):
            return _silent(job)
        places = _places(job)
        if places is None:
            note = "I did not make this sandbox, so its mounts and its Studio were not examined."
            return Done("resumed", _resumed(job, notes=(note,)))
        problems = await mount_problems(sandbox_id, deps.nodes[places[0]], places[1], deps)
        if problems:
            return _unmounted(job, problems)
        return await _studio(job)
    except DomainError as error:
        return _half(job, error)


async def _studio(job: Change) -> Outcome[Resumed]:
    """Studio as a browser sees it. One that has died is started again, once."""
    deps, rules = job.deps, job.deps.rules.studio
    health = await _healthy(job)
    if not health:
        return Done("resumed", _resumed(job, studio=StudioNow.WELL))
    await deps.guest.start_studio(job.sandbox_id, port=rules.port, auth=rules.auth)
    health = await _healthy(job)
    if not health:
        return Done("resumed", _resumed(job, studio=StudioNow.RESTARTED))
    return Failed(
        code="health-failed",
        what=f"The sandbox is awake, but its Studio is not well, also after a restart: {health}.",
        safe=f"The sandbox runs, with its memory. {HOMES_ARE_SAFE}",
        todo="Stop the sandbox and create it again with the same home, or tell an administrator.",
        offers=(Offer.STOP,),
        sandbox=job.sandbox_id,
    )


async def _healthy(job: Change) -> str:
    """An empty text, or what is wrong with Studio after ``STUDIO_SECONDS``."""
    clock = job.deps.clock
    began = clock.monotonic()
    while True:
        health = await job.deps.studio.web_ui(job.sandbox_id)
        if health.ok:
            return ""
        if clock.monotonic() - began > STUDIO_SECONDS:
            return health.note or "it does not answer"
        await clock.sleep(0.5)


def _places(job: Change) -> tuple[str, Places] | None:
    """The node and the directories of one of our sandboxes."""
    found, rules = job.found, job.deps.rules
    node = rules.node(found.node) or (rules.nodes[0] if len(rules.nodes) == 1 else None)
    if node is None or not found.home:
        return None
    places = Places(
        shared_root=node.shared_root, home_id=found.home, workspace_id=found.workspace or found.home
    )
    return node.id, places


def _resumed(
    job: Change,
    *,
    already: bool = False,
    studio: StudioNow = StudioNow.UNTOLD,
    notes: tuple[str, ...] = (),
) -> Resumed:
    return Resumed(
        sandbox_id=job.sandbox_id, home=job.found.home, owner=job.found.owner, already=already, studio=studio,
        notes=notes,
    )  # fmt: skip


def for_good(error: CubeError) -> dict[str, object]:
    """The detail of the outcome row of a refusal that no repetition will change; else none."""
    tap_busy = error.fault.kind is FaultClass.UNRESUMABLE_TAP_BUSY
    return {FOR_GOOD: True} if tap_busy or _left_nothing(error) else {}


def _left_nothing(error: CubeError) -> bool:
    return any(words in error.fault.message.lower() for words in _FOR_GOOD)


def _refused(job: Change, error: CubeError) -> Failed:
    """Cube did not wake it. It is never tried again by itself."""
    what, todo = sentences(error)
    safe = f"It was left as it is. {HOMES_ARE_SAFE}"
    if error.fault.kind in _WORDS:
        what, safe, todo = _WORDS[error.fault.kind]
    elif _left_nothing(error):
        what = "Cube cannot wake this sandbox: its pause has left nothing to wake up from."
        safe = f"{HOMES_ARE_SAFE} {_LOST}"
        todo = "Stop it and create a new one with the same home."
    lasting = bool(for_good(error))
    return Failed(
        code=code_of(error), what=what, safe=safe, todo=todo, detail=str(error),
        offers=(Offer.STOP, Offer.FORM) if lasting else (Offer.RESUME, Offer.STOP), sandbox=job.sandbox_id,
    )  # fmt: skip


def _vanished(job: Change) -> Failed:
    missing = gone(job.found)
    return Failed(
        code="sandbox-gone",
        what="While it was being woken, Cube said twice that the sandbox does not exist any more.",
        safe=missing.safe,
        todo=missing.todo,
    )


def _silent(job: Change) -> Failed:
    return Failed(
        code="data-plane-silent",
        what="Cube says that the sandbox is awake, but nothing in it answers.",
        safe=f"The sandbox was kept. {HOMES_ARE_SAFE}",
        todo="Press Resume in a minute; if it stays so, stop it and create it again with the same home.",
        offers=(Offer.RESUME, Offer.STOP),
        sandbox=job.sandbox_id,
    )


def _unmounted(job: Change, problems: list[str]) -> Failed:
    return Failed(
        code="mount-not-proved",
        what=f"The sandbox is awake, but its mounts are not what they should be: {problems[0]}.",
        safe=f"{HOMES_ARE_SAFE} What is written in the sandbox now may not reach them.",
        todo="Press Stop and create it again with the same home; an administrator runs `hermes-bot check`.",
        detail="; ".join(problems),
        offers=(Offer.STOP,),
        sandbox=job.sandbox_id,
    )


def _half(job: Change, error: DomainError) -> Failed:
    """It was woken, and whether all in it is well could not be told."""
    what, todo = sentences(error)
    inside = isinstance(error, (GuestError, CubeError))
    return Failed(
        code=code_of(error),
        what=f"The sandbox is awake, but whether all in it is well could not be told. {what}",
        safe=f"The sandbox runs, with its memory. {HOMES_ARE_SAFE}",
        todo="Open its Studio; if that does not work, stop it and create it again with the same home."
        if inside or "Continue" in todo
        else todo,
        detail=str(error),
        offers=(Offer.OPEN, Offer.STOP),
        sandbox=job.sandbox_id,
    )
