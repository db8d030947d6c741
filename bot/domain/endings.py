"""How a provisioning can end other than well: each ending in its three sentences."""

from collections.abc import Sequence
from dataclasses import replace

from bot.domain.errors import CubeError, DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Failed, Offer, Refused, Unknown
from bot.domain.provisioning import PortHealth, Step
from bot.domain.sandbox import SandboxView

FINISH_OR_REMOVE = (Offer.CONTINUE, Offer.STOP)
SAFE_ON_NODE = "The home and workspace are safe on the node."
TRY_AGAIN = "Press Continue to try again; an administrator finds more in the bot's log."


def kept(sandbox_id: str) -> str:
    """What exists after a failure."""
    if sandbox_id:
        return f"Sandbox `{sandbox_id}` was kept; the home and workspace are safe on the node."
    return "No sandbox was made and nothing is lost; what was prepared on the node is used the next time."


def offers(sandbox_id: str) -> tuple[Offer, ...]:
    """The buttons that make sense after a failure."""
    return FINISH_OR_REMOVE if sandbox_id else (Offer.CONTINUE,)


def broken(error: DomainError, sandbox_id: str, *, recorded: bool) -> Refused | Failed:
    """Another system failed. Before the intent was recorded, that is a refusal: nothing was changed."""
    what, todo = sentences(error, may_continue=recorded)
    if not recorded:
        return refused_by(code_of(error), what, todo, str(error))
    return Failed(
        code=code_of(error),
        what=what,
        safe=kept(sandbox_id),
        todo=todo,
        detail=str(error),
        offers=offers(sandbox_id),
        sandbox=sandbox_id,
    )


def as_before(outcome: Refused | Failed | Unknown) -> Refused | Failed | Unknown:
    """A Continue that was turned away at once: whatever existed still does, and it can be pressed again."""
    offered = outcome.offers if Offer.CONTINUE in outcome.offers else (*outcome.offers, Offer.CONTINUE)
    return replace(
        outcome,
        safe="Nothing was changed: what existed before Continue was pressed is as it was.",
        offers=offered,
    )


def refused_by(code: str, what: str, todo: str, detail: str) -> Refused:
    """Nothing was changed."""
    return Refused(code=code, what=what, safe="Nothing was changed.", todo=todo, detail=detail)


def bug(error: Exception, step: Step, sandbox_id: str, *, recorded: bool) -> Refused | Failed:
    """The bot itself failed."""
    what = f"The bot itself failed in step {step.value}."
    if not recorded:
        return refused_by(
            "internal-error", what, "Try again; an administrator finds more in the bot's log.", ""
        )
    return Failed(
        code="internal-error",
        what=what,
        safe=kept(sandbox_id),
        todo=TRY_AGAIN,
        detail=type(error).__name__,
        offers=offers(sandbox_id),
        sandbox=sandbox_id,
    )


def create_unknown(error: CubeError) -> Unknown:
    """Cube did not say whether it made the sandbox, and we have not found one."""
    what, todo = sentences(error)
    return Unknown(
        code="create-unknown",
        what=f"{what} We looked for the sandbox and have not found one yet.",
        safe=SAFE_ON_NODE,
        todo=todo,
        detail=str(error),
        offers=(Offer.CONTINUE,),
    )


def cancelled(after: Step | None, sandbox_id: str) -> Failed:
    """A person pressed Cancel."""
    finish = "Press Continue to finish it, or Stop to remove it."
    return Failed(
        code="cancelled",
        what=f"Cancelled after step {after.value}." if after else "Cancelled before its first step.",
        safe=kept(sandbox_id),
        todo=finish if sandbox_id else "Press Continue when you want it after all.",
        offers=offers(sandbox_id),
        sandbox=sandbox_id,
    )


def unrecorded() -> Refused:
    """The intent could not be written."""
    return refused_by(
        "audit-unavailable",
        "The audit log cannot be written, so nothing is changed.",
        "An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
        "",
    )


def log_lost(sandbox_id: str) -> Failed:
    """The audit log failed on the way."""
    return Failed(
        code="audit-unavailable",
        what="The audit log cannot be written any more, so the job stopped.",
        safe=kept(sandbox_id),
        todo="An administrator looks at the bot's database; when it is well again, press Continue.",
        offers=offers(sandbox_id),
        sandbox=sandbox_id,
    )


def overtaken(home: str, other: SandboxView) -> Failed:
    """Somebody else's sandbox came to life on the home while ours was made."""
    return Failed(
        code="home-in-use",
        what=f"Another sandbox, `{other.sandbox_id}`, came to life on home {home} meanwhile.",
        safe="The sandbox we had just made was removed before it started anything; the home is safe.",
        todo=f"Use the other one, or stop it with `/hermes stop {home}` and create again.",
        sandbox=other.sandbox_id,
        facts={"owner": other.owner},
        offers=(Offer.OPEN,),
    )


def silent(sandbox_id: str, view: SandboxView | None) -> Failed:
    """The control plane shows it, the data plane does not answer."""
    state = view.state.value if view else "gone"
    return Failed(
        code="data-plane-silent",
        what=f"Cube says that the sandbox is {state}, but it does not answer.",
        safe=kept(sandbox_id),
        todo="Press Continue to try again, or Stop to remove it.",
        offers=FINISH_OR_REMOVE,
        sandbox=sandbox_id,
    )


def mounts_not_proved(sandbox_id: str, problems: Sequence[str], several_nodes: bool) -> Failed:  # noqa: FBT001 - a fact
    """What the sandbox sees is not what the node has."""
    elsewhere = several_nodes and any("node" in problem for problem in problems)
    hint = " Cube may have placed it on another node: set `cube_node` for each node." if elsewhere else ""
    return Failed(
        code="mount-not-proved",
        what=f"The mounts are not what they should be: {problems[0]}.{hint}",
        safe=f"Studio was not started. {kept(sandbox_id)}",
        todo="Press Stop to remove the sandbox, and ask an administrator to run `hermes-bot check`.",
        detail="; ".join(problems),
        offers=FINISH_OR_REMOVE,
        sandbox=sandbox_id,
    )


def unhealthy(sandbox_id: str, ports: Sequence[PortHealth]) -> Failed:
    """Everything was done, and it is not well."""
    bad = [port for port in ports if not port.ok]
    return Failed(
        code="health-failed",
        what="; ".join(f"{port.name} on port {port.port}: {port.note or 'not well'}" for port in bad) + ".",
        safe=kept(sandbox_id),
        todo="Press Continue to start Studio again, or Stop to remove the sandbox; the home stays.",
        offers=FINISH_OR_REMOVE,
        sandbox=sandbox_id,
    )
