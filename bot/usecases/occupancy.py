"""Which sandboxes occupy a home now: Cube's list, and what the list may have lost."""

from dataclasses import dataclass

from bot.domain.sandbox import HOME_KEY, SandboxView
from bot.usecases.deps import Deps


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """All sandboxes of ours, and those on one home."""

    everything: tuple[SandboxView, ...]
    on_home: tuple[SandboxView, ...]


async def look(deps: Deps, home: str) -> Occupancy:
    """One list call, plus one look at each sandbox that the audit log knows and the list does not.

    Cube's list skips a node that does not answer, and some versions lose metadata after a pause; so
    the log's memory of a home is checked by id. A sandbox counts as gone after two 404s.
    """
    everything = await deps.cube.list()
    labelled = {view.sandbox_id: view for view in everything if view.metadata.get(HOME_KEY) == home}
    for sandbox_id, request_id in (await _remembered(deps, home)).items():
        if sandbox_id in labelled:
            continue
        view = await confirmed(deps, sandbox_id)
        if view is not None and view.home in ("", home):
            labels = {**view.metadata, HOME_KEY: home}
            labels.setdefault("hermes-request", request_id)
            labelled[sandbox_id] = _with_labels(view, labels)
    return Occupancy(everything=tuple(everything), on_home=tuple(labelled.values()))


async def confirmed(deps: Deps, sandbox_id: str) -> SandboxView | None:
    """The sandbox, or None after Cube has said 404 twice."""
    return await deps.cube.get(sandbox_id) or await deps.cube.get(sandbox_id)


async def _remembered(deps: Deps, home: str) -> dict[str, str]:
    alive: dict[str, str] = {}
    for row in reversed(await deps.log.recent(home=home, limit=200)):
        if not row.sandbox:
            continue
        if row.phase == "outcome" and row.action == "stop" and row.result == "ok":
            alive.pop(row.sandbox, None)
        elif row.action == "create":
            alive.setdefault(row.sandbox, row.request_id)
    return alive


def _with_labels(view: SandboxView, labels: dict[str, str]) -> SandboxView:
    return SandboxView(
        sandbox_id=view.sandbox_id,
        state=view.state,
        template=view.template,
        metadata=labels,
        started_at=view.started_at,
        end_at=view.end_at,
        host_id=view.host_id,
        mounts=view.mounts,
    )
