"""The link to Slack: from what was observed to what is to be done about it.

A link that looks connected and hears nothing is the commonest way for a Slack bot to die unnoticed, and one
that ends itself at the first slow answer is the commonest cure that is worse. So there are four stages, each
of them reached only through the one before it and only after its time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

PING_SECONDS = 5.0
"""Between two of our pings on a socket. A connection behind a silent network box costs one small packet."""

PONG_SECONDS = 3 * PING_SECONDS
"""An older pong is a symptom. One lost packet, or two, are ordinary."""

QUIET_SECONDS = 900.0
"""A socket that has carried no message for so long is replaced, without any doubt in it: sockets are known
that answer pings and deliver nothing. Four connections an hour are far below Slack's limit."""

PROBE_SECONDS = 60.0
"""Between two ``auth.test`` calls. Slack allows hundreds of them a minute."""

PROBE_AGAIN_SECONDS = 10.0
"""The same while the latest one had no answer, so that a verdict rests on several tries."""

PROBES_MISSED = 2
"""Calls without an answer, one after the other, that are a symptom. A single slow answer is none."""

STEADY_SECONDS = 10.0
"""Without a symptom for so long, a link that was in doubt is well again. A shorter time lets a link that
breaks again and again look well in between."""

NOT_READY_SECONDS = 30.0
"""In doubt for so long, the bot reports that it is not ready. A reconnect takes less than one second, and
three seconds when Slack is slow."""

GIVE_UP_SECONDS = 300.0
"""In doubt for so long, the process ends, so that a supervisor starts it anew. As every process lasts at
least so long, an outage of Slack makes no faster loop of restarts than one in five minutes."""

PAUSE_SECONDS = 1.0
"""Before the second try to connect; each later pause is twice as long."""

GAP_SECONDS = 5.0
"""The most that counts between two looks: a process that was frozen for an hour was not in doubt for one."""


class LinkState(StrEnum):
    """How far the doubts about a link have gone."""

    HEALTHY = "healthy"
    SUSPECT = "suspect"
    NOT_READY = "not-ready"
    GIVEN_UP = "given-up"
    REFUSED = "refused"
    """Slack said no: waiting and starting anew cure nothing."""

    @property
    def over(self) -> bool:
        """Whether the process is to end."""
        return self in (LinkState.GIVEN_UP, LinkState.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long each stage lasts, in seconds. The defaults are meant; tests are less patient."""

    ping: float = PING_SECONDS
    pong: float = PONG_SECONDS
    quiet: float = QUIET_SECONDS
    probe: float = PROBE_SECONDS
    probe_again: float = PROBE_AGAIN_SECONDS
    steady: float = STEADY_SECONDS
    not_ready: float = NOT_READY_SECONDS
    give_up: float = GIVE_UP_SECONDS
    pause: float = PAUSE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known at one moment. Without a socket, as in HTTP mode, the defaults stay."""

    at: float
    """Seconds of a clock that never goes back."""
    connected: bool = True
    """A socket is open and Slack has said hello on it."""
    pong_age: float = 0.0
    """Since its latest pong, or since its hello."""
    frame_age: float = 0.0
    """Since the latest message on it of any kind."""
    unanswered: int = 0
    """``auth.test`` calls in a row that had no answer."""
    refusal: str = ""
    """Slack's own word for why it does not want us, said twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A verdict, and what the next one needs to remember."""

    state: LinkState = LinkState.HEALTHY
    reasons: tuple[str, ...] = ()
    """For a person; the last ones that were seen while the state is not healthy."""
    doubted: float = 0.0
    """Seconds in doubt, frozen time left out."""
    steady: float = 0.0
    """Seconds without a symptom since then."""
    at: float | None = None


def judge(link: Link, seen: Seen, patience: Patience) -> Link:
    """The next verdict. Once it is over it stays over."""
    if link.state.over:
        return link
    if seen.refusal:
        return replace(link, state=LinkState.REFUSED, reasons=(seen.refusal,), at=seen.at)
    passed = 0.0 if link.at is None else min(max(seen.at - link.at, 0.0), GAP_SECONDS)
    found = symptoms(seen, patience)
    if link.state is LinkState.HEALTHY:
        state = LinkState.SUSPECT if found else LinkState.HEALTHY
        return Link(state=state, reasons=found, at=seen.at)
    if not found:
        steady = link.steady + passed
        if steady >= patience.steady:
            return Link(at=seen.at)
        return replace(link, doubted=link.doubted + passed, steady=steady, at=seen.at)
    doubted = link.doubted + passed
    return Link(
        state=_worse(link.state, doubted, patience), reasons=found, doubted=doubted, steady=0.0, at=seen.at
    )


def symptoms(seen: Seen, patience: Patience) -> tuple[str, ...]:
    """What is wrong with it, for a person. The same trouble always has the same words."""
    found = []
    if not seen.connected:
        found.append("no connection to Slack")
    elif seen.pong_age > patience.pong:
        found.append("Slack's socket does not answer pings")
    if seen.unanswered >= PROBES_MISSED:
        found.append("Slack's Web API does not answer")
    return tuple(found)


def wants_another(link: Link, seen: Seen, patience: Patience) -> bool:
    """Whether a new connection should be opened now, beside the one that is there."""
    if link.state.over:
        return False
    return (
        not seen.connected
        or seen.pong_age > patience.pong
        or seen.frame_age > patience.quiet
        or (link.state is not LinkState.HEALTHY and bool(symptoms(seen, patience)))
    )


def _worse(state: LinkState, doubted: float, patience: Patience) -> LinkState:
    """One stage further when its time has come; never two at once."""
    if state is LinkState.SUSPECT and doubted >= patience.not_ready:
        return LinkState.NOT_READY
    if state is LinkState.NOT_READY and doubted >= patience.give_up:
        return LinkState.GIVEN_UP
    return state


_RENEW = "make a new token in the Slack app's settings, put it into the bot's environment and start the bot"
REFUSALS: Mapping[str, str] = {
    "invalid_auth": f"Slack does not accept the token; {_RENEW}",
    "not_authed": f"Slack was given no token; {_RENEW}",
    "token_revoked": f"the token was revoked; {_RENEW}",
    "token_expired": f"the token has expired; {_RENEW}",
    "account_inactive": "the app was removed from the workspace; install it again and start the bot",
    "not_allowed_token_type": "SLACK_APP_TOKEN must be the xapp- token and SLACK_BOT_TOKEN the xoxb- one",
    "missing_scope": "the app-level token lacks connections:write; make one with it and start the bot",
    "link_disabled": "Socket Mode is switched off; switch it on in the Slack app's settings, or serve --http",
    "team_access_not_granted": "the workspace took the app's access away; install it again",
    "access_denied": "the workspace took the app's access away; install it again",
}
"""Slack's words after which trying again cures nothing, and what an administrator does about each.

Source: Slack's reference of ``auth.test`` and ``apps.connections.open``, and of the disconnect frame."""

TOO_MANY = "too_many_websockets"
TOO_MANY_SECONDS = 60.0
"""Before the next try after it. Slack takes ten sockets of one app, and others have to end first."""

LONGEST_PAUSE_SECONDS = 30.0


def pause_before(attempt: int, word: str = "", first: float = PAUSE_SECONDS) -> float:
    """Seconds before another try to connect, after ``attempt`` that failed in a row (0 = none yet)."""
    if word == TOO_MANY:
        return TOO_MANY_SECONDS
    return 0.0 if attempt <= 0 else float(min(first * 2.0 ** min(attempt - 1, 30), LONGEST_PAUSE_SECONDS))
