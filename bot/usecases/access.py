"""Handing one person the way into a Studio: authorised live, recorded first, never in a channel."""

from dataclasses import dataclass, field

from bot.domain.actors import Action, Actor, decide
from bot.domain.audit import AuditUnavailableError
from bot.domain.errors import DomainError
from bot.domain.explanations import code_of, sentences
from bot.domain.outcome import Done, Outcome, Refused
from bot.domain.provisioning import Generation, SignIn
from bot.domain.sandbox import Places, SandboxState
from bot.ports import StoredAccess
from bot.usecases.deps import Deps
from bot.usecases.journal import Journal
from bot.usecases.targets import NOTHING_CHANGED, Found, find


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A usable link and sign-in. ``secrets`` may pass the redactor in one private view only."""

    sandbox_id: str
    home: str
    url: str
    link: str = field(repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    generation: Generation = Generation.USERS
    sign_in: SignIn = SignIn.KNOWN
    """``CHANGED``: there is no password to show, and the user name may be empty."""
    paused: bool = False
    """Opening the link will wake the sandbox."""

    @property
    def secrets(self) -> frozenset[str]:
        """The values that make the link usable."""
        token = self.link.removeprefix(self.url) if self.generation is Generation.TOKEN else ""
        return frozenset(
            s for s in (self.link, self.password, token.rpartition("=")[2]) if s and s != self.url
        )


async def reveal(target: str, actor: Actor, channel: str, deps: Deps) -> Outcome[Access]:
    """Read the sign-in from the home on the node. The audit row is written before the answer leaves."""
    try:
        found = await find(target, deps)
        if isinstance(found, Refused):
            return found
        sandbox_id = found.view.sandbox_id
        denied = decide(Action.REVEAL, actor, deps.roster.role_of(actor), owner=found.owner)
        journal = Journal(
            log=deps.log, request_id=deps.ids.request_id(), action=Action.REVEAL, actor=actor,
            channel=channel, home=found.home, workspace=found.workspace,
        )  # fmt: skip
        if denied:
            await journal.write(
                "reveal", sandbox=sandbox_id, node=found.node, result="refused", code=denied.code
            )
            return Refused(
                code=denied.code, what=denied.why, safe="Nothing was shown, and the attempt was recorded.",
                todo="Ask an administrator for a role; `/hermes whoami` shows what you have."
                if denied.code == "role-needed"
                else "Ask the owner or an approver, or make your own: `/hermes create home=NAME`.",
            )  # fmt: skip
        stored = await _stored(found, deps)
        if stored is None:
            return Refused(
                code="access-unknown",
                what="There is no stored sign-in for this Studio.",
                safe=NOTHING_CHANGED,
                todo="Press Continue in the thread of its create; without one, stop it and create again.",
            )
        deps.redactor.learn(*(secret for secret in (stored.token, stored.password) if secret))
        await journal.write("reveal", sandbox=sandbox_id, node=found.node, result="ok", code="revealed")
    except AuditUnavailableError:
        return Refused(
            code="audit-unavailable",
            what="The audit log cannot be written, so the link is not shown.",
            safe=NOTHING_CHANGED,
            todo="An administrator looks at the bot's database; `hermes-bot audit verify` helps.",
        )
    except DomainError as error:
        what, todo = sentences(error)
        return Refused(code=code_of(error), what=what, safe=NOTHING_CHANGED, todo=todo, detail=str(error))
    return Done("revealed", _access(found, stored, deps))


async def _stored(found: Found, deps: Deps) -> StoredAccess | None:
    rules = deps.rules.node(found.node) or (deps.rules.nodes[0] if len(deps.rules.nodes) == 1 else None)
    if rules is None or not found.home:
        return None
    places = Places(
        shared_root=rules.shared_root, home_id=found.home, workspace_id=found.workspace or found.home
    )
    return await deps.nodes[rules.id].read_access(places)


def _access(found: Found, stored: StoredAccess, deps: Deps) -> Access:
    url = deps.rules.studio.url(found.view.sandbox_id)
    link = f"{url}/#/?token={stored.token}" if stored.generation is Generation.TOKEN else f"{url}/"
    return Access(
        sandbox_id=found.view.sandbox_id,
        home=found.home,
        url=url,
        link=link,
        username=stored.username,
        password=stored.password,
        generation=stored.generation,
        sign_in=stored.sign_in,
        paused=found.view.state is SandboxState.PAUSED,
    )
