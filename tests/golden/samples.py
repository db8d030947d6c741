"""The corpus: one line for each thing that a render function may say. Add yours at the end of its block."""

from collections.abc import Iterator

from bot.domain.actors import Action, Actor
from bot.domain.outcome import Failed, Offer, Refused, Unknown
from bot.domain.provisioning import SIGN_IN_NOTES, Generation, Seeding, SignIn, Step, StepState
from bot.domain.rules import Limits, NodeRules, Rules
from bot.domain.sandbox import SandboxState, TemplateView
from bot.usecases.suggestions import HomeChoice, LastTime, Suggestions
from handlers.commands import AVAILABLE
from handlers.form_fields import Ticket
from handlers.refusals import unbalanced_quotes, unknown_verb
from handlers.render import (
    access,
    audit,
    card,
    create_form,
    diagnosis,
    failure,
    help,  # noqa: A004  # the module's name
    home,
    interrupted,
    leaving,
    notices,
    progress,
    result,
    status,
    stop,
    untold,
)
from handlers.verbs import BY_NAME
from tests.golden import states, values
from tests.golden.corpus import Payload, Sample, constant, payloads, sample
from tests.golden.sleep_samples import sleep_samples
from tests.golden.values import ANGRY, AT, LONGEST_ID, LONGEST_PERSON, PERSON

EVERY_OFFER = tuple(Offer)
EVERY_VERB = frozenset(BY_NAME)


def corpus() -> Iterator[Payload]:
    """Everything, in every form."""
    return payloads(samples())


def samples() -> Iterator[Sample]:
    """Everything that the bot says."""
    yield from _help()
    yield from _create()
    yield from _ends()
    yield from _failures()
    yield from _stop()
    yield from _diagnosis()
    yield from _untold()
    yield from _status()
    yield from _access()
    yield from _audit()
    yield from _notices()
    yield from _form()
    yield from sleep_samples()


def _help() -> Iterator[Sample]:
    yield sample(help.help_message, "today", AVAILABLE)
    yield sample(help.help_message, "every-verb", EVERY_VERB)
    yield sample(help.help_line, "mention")
    for role, who in values.WHO.items():
        yield sample(help.whoami_message, role.word, who)
        yield sample(home.home_view, role.word, who, AVAILABLE)
        yield sample(home.home_view, f"{role.word}-form", who, AVAILABLE, form=True)
    yield sample(help.whoami_message, "worst", values.WHO_WORST)
    yield sample(home.home_view, "worst", values.WHO_WORST, EVERY_VERB)
    yield sample(help.refusal_message, "unknown-verb", unknown_verb("<!channel>" * 50))
    yield sample(help.refusal_message, "quotes", unbalanced_quotes())
    yield sample(help.not_available, "skills", "skills.list", AVAILABLE)


def _create() -> Iterator[Sample]:
    yield sample(result.announcement, "new", values.request())
    yield sample(result.announcement, "continued", values.request(continues="r-0", home=LONGEST_ID))
    yield sample(result.announcement, "command-line", values.request(actor=Actor("cli:<anna>")))
    yield sample(progress.progress_message, "waiting", progress.Progress(
        request_id=values.REQUEST, home=LONGEST_ID, waiting=True))  # fmt: skip
    yield sample(progress.progress_message, "first", progress.Progress(
        request_id=values.REQUEST, home="atlas"))  # fmt: skip
    for step in Step:
        for state in (StepState.RUNNING, StepState.FAILED):
            yield sample(progress.progress_message, f"{state.value}-{step.value}", values.progress(
                "3 of <@U_OPERATOR>, `alias`", state, step))  # fmt: skip
    yield sample(progress.progress_message, "done", values.progress().closed("ready in 12 s", well=True))
    yield sample(progress.progress_message, "cancelled", values.progress().closed("cancelled", well=False))
    yield sample(progress.progress_message, "worst", values.progress(ANGRY, until=Step.HEALTH))
    yield sample(progress.progress_message, "worst-end", values.progress(ANGRY).closed(ANGRY, well=False))
    for after in (None, *Step):
        line = interrupted.interrupted_line(values.interrupted(after=after))
        stuck = progress.still_progress(values.REQUEST, "atlas", after, line)
        yield sample(progress.progress_message, f"interrupted-{after or 0}", stuck)
    for until in (Step.SEED, Step.HEALTH):
        yield sample(
            leaving.leaving_message, f"in-{until.value}", values.request(), values.progress(until=until)
        )
    between = values.progress(state=StepState.DONE)
    for label, request in (("between", values.request()), ("worst", values.request(home=LONGEST_ID))):
        yield sample(leaving.leaving_message, label, request, between)
        yield sample(leaving.leaving_announcement, label, request, between)
    yield sample(result.announcement_failed, "usual", values.request(), values.not_done())
    yield sample(
        result.announcement_failed, "worst", values.request(home=LONGEST_ID), values.not_done(what=ANGRY)
    )


def _ends() -> Iterator[Sample]:
    yield sample(result.announcement_done, "usual", values.provisioned())
    yield sample(result.announcement_done, "worst", values.WORST_PROVISIONED)
    for seeding in Seeding:
        yield sample(
            result.result_message, seeding.value.replace(" ", "-"), values.provisioned(seeding=seeding)
        )
    for generation in Generation:
        for sign_in in SignIn:
            notes = (SIGN_IN_NOTES[sign_in],) if sign_in in SIGN_IN_NOTES else ()
            yield sample(result.result_message, f"{generation.value}-{sign_in.value}", values.provisioned(
                generation=generation, sign_in=sign_in, notes=notes))  # fmt: skip
    yield sample(result.result_message, "adopted", values.provisioned(adopted=True, durations={}))
    yield sample(result.result_message, "bare", values.provisioned(ports=(), durations={}))
    yield sample(result.result_message, "worst", values.WORST_PROVISIONED)
    yield sample(
        result.result_message, "forged", values.provisioned(home=ANGRY, workspace=ANGRY, owner=ANGRY)
    )


def _failures() -> Iterator[Sample]:
    for code, outcome in values.listed_codes():
        yield sample(failure.failure_message, f"code-{code}", outcome, request_id=values.REQUEST)
    for name, outcome in values.explained_errors():
        yield sample(failure.failure_message, f"error-{name}", outcome, request_id=values.REQUEST)
    for kind in (Refused, Failed, Unknown):
        every = values.not_done(kind, offers=EVERY_OFFER, sandbox=values.SANDBOX, detail="words\nof `Cube`")
        worst = values.not_done(kind, what=ANGRY, safe=ANGRY, todo=ANGRY, detail=ANGRY, offers=EVERY_OFFER,
                                sandbox=values.SANDBOX, code="c" * 300)  # fmt: skip
        name = kind.__name__.lower()
        yield sample(failure.failure_message, f"{name}-every-offer", every, request_id=values.REQUEST)
        yield sample(failure.failure_message, f"{name}-no-request", every)
        yield sample(failure.failure_message, f"{name}-worst", worst, request_id=values.REQUEST)
        yield sample(access.refused_view, f"{name}-every-offer", every)
        yield sample(access.refused_view, f"{name}-worst", worst)
    for action in (Action.CREATE, Action.STOP):
        for after in (None, Step.SEED, Step.STUDIO):
            for sandbox, known in ((values.SANDBOX, True), (None, True), (None, False)):
                found = values.interrupted(
                    action=action, after=after, sandbox_id=sandbox, sandbox_known=known, restarted=known
                )
                there = "there" if sandbox else "gone" if known else "unknown"
                label = f"{action.value}-{after or 0}-{there}"
                yield sample(interrupted.interrupted_message, label, found)
                yield sample(interrupted.interrupted_announcement, label, found)
    worst_found = values.interrupted(home=LONGEST_ID, workspace=LONGEST_ID, owner=LONGEST_PERSON)
    forged = values.interrupted(home=ANGRY, workspace=ANGRY, owner=ANGRY)
    yield sample(interrupted.interrupted_message, "forged", forged)
    yield sample(interrupted.interrupted_message, "worst", worst_found)
    yield sample(interrupted.interrupted_announcement, "worst", worst_found)


def _stop() -> Iterator[Sample]:
    worst = values.stop_plan(home=LONGEST_ID, workspace=LONGEST_ID, owner=LONGEST_PERSON, state=ANGRY,
                             lost=(ANGRY,) * 60, kept=(ANGRY,) * 60)  # fmt: skip
    yield sample(stop.looking, "home", PERSON, "atlas")
    yield sample(stop.looking, "worst", LONGEST_PERSON, ANGRY)
    yield sample(stop.not_asked, "usual", PERSON, "atlas", "there is no sandbox on home `atlas`.")
    yield sample(stop.not_asked, "worst", LONGEST_PERSON, ANGRY, ANGRY)
    yield sample(stop.stop_card, "usual", values.stop_plan(), PERSON)
    yield sample(stop.stop_card, "no-home", values.stop_plan(home="", workspace="", owner=""), "cli:anna")
    yield sample(stop.stop_card, "worst", worst, LONGEST_PERSON)
    # Cube's labels can be written by whoever has its key, so that a home may have any name there.
    yield sample(stop.stop_card, "forged", values.stop_plan(home=ANGRY, workspace=ANGRY, owner=ANGRY), PERSON)
    forged = values.stopped(home=ANGRY, workspace=ANGRY, sandbox_id=ANGRY)
    yield sample(stop.stopped_message, "forged", forged, PERSON)
    yield sample(stop.working, "usual", PERSON)
    for closed in (True, False, None):
        yield sample(stop.stopped_message, str(closed).lower(), values.stopped(studio_closed=closed), PERSON)
    yield sample(
        stop.stopped_message,
        "no-home",
        values.stopped(home="", workspace="", seconds=86_399.0),
        LONGEST_PERSON,
    )
    for label, plan in (("usual", values.stop_plan()), ("worst", worst)):
        card = stop.stop_card(plan, PERSON)
        # A pressed card comes back from Slack with the ids that Slack gave its blocks.
        shown = [{**block, "block_id": f"b{number}"} for number, block in enumerate(card.blocks)]
        for gone in (True, False):
            line = stop.decided_stop(PERSON, AT, gone=gone)
            yield sample(notices.settled, f"stop-{gone}-{label}".lower(), card.text, shown, line)
        yield sample(notices.settled, f"keep-{label}", card.text, shown, stop.decided_keep(PERSON, AT))
    for begun in (False, True):
        yield sample(leaving.stop_leaving_message, f"begun-{begun}", LONGEST_PERSON, begun=begun)


def _diagnosis() -> Iterator[Sample]:
    yield sample(diagnosis.examining, "usual", PERSON, "atlas")
    yield sample(diagnosis.examining, "worst", LONGEST_PERSON, ANGRY)
    yield sample(diagnosis.waking, "usual", PERSON)
    yield sample(diagnosis.not_examined, "usual", PERSON, "atlas", "No sandbox runs on home atlas.")
    yield sample(diagnosis.not_examined, "worst", LONGEST_PERSON, ANGRY, ANGRY)
    for label, found in values.examinations().items():
        yield sample(diagnosis.examined_announcement, label, found, PERSON)
        yield sample(diagnosis.diagnosis_message, label, found)
        yield sample(diagnosis.evidence_message, label, found)


def _untold() -> Iterator[Sample]:
    ends = {
        "ready": values.untold(),
        "ready-and-gone": values.untold(sandbox_id=""),
        "not-ready": values.untold(well=False, reason="No free place on the node.", sandbox_id=""),
        "worst": values.untold(
            request=values.request(home=LONGEST_ID), well=False, reason=ANGRY, after=None, sandbox_id=""
        ),
    }
    for label, found in ends.items():
        yield sample(untold.untold_message, label, found)
        yield sample(untold.untold_announcement, label, found)
        yield sample(progress.progress_message, f"untold-{label}", untold.untold_progress(found))


def _status() -> Iterator[Sample]:
    for label, found, shown in states.lists():
        cuts = status.pages(found)
        yield sample(status.status_message, label, found, shown, 1, len(cuts))
    yield sample(status.status_message, "middle", *states.middle_page())
    for label, made in states.cards():
        yield sample(card.card_message, label, made)
    for label, who, found in states.overviews():
        yield sample(home.home_view, f"overview-{label}", who, EVERY_VERB, found, form=True)
    yield sample(home.reading_view, "worst", values.WHO_WORST, form=True)


def _access() -> Iterator[Sample]:
    yield sample(access.loading_view, "always")
    for generation in Generation:
        for sign_in in SignIn:
            given = values.access(generation=generation, sign_in=sign_in, paused=True)
            yield sample(access.access_view, f"{generation.value}-{sign_in.value}", given)
            yield sample(access.access_message, f"{generation.value}-{sign_in.value}", given)
    bare = values.access(username="", password="", sign_in=SignIn.CHANGED)
    yield sample(access.access_view, "no-name", bare)
    yield sample(access.access_message, "no-name", bare)
    yield sample(access.access_view, "worst", values.WORST_ACCESS)
    yield sample(access.access_message, "worst", values.WORST_ACCESS)
    yield sample(access.access_message, "forged", values.access(home=ANGRY, sandbox_id="a" * 128))


def _audit() -> Iterator[Sample]:
    for label, reading in values.readings().items():
        yield sample(audit.audit_announcement, label, reading)
        yield sample(audit.audit_message, label, reading, "seq,at\n")
    yield sample(audit.audit_elsewhere, "always")
    yield sample(audit.audit_not_sent, "off", "messages_tab_disabled")


def _notices() -> Iterator[Sample]:
    unknown = ("UNKNOWN_BUTTON", "UNKNOWN_FORM", "UNKNOWN_COMMAND", "UNKNOWN_SHORTCUT")
    for name in ("OUTSIDER", "CANCELLING_ALREADY", *unknown):
        yield constant(notices, name)
    yield sample(notices.notice, "kept", stop.decided_keep(PERSON, AT))
    for reason in ("not_in_channel", "channel_not_found", "is_archived", "post-unknown", "restricted_action"):
        yield sample(notices.moved, reason, reason, "U_HERMES")
        yield sample(notices.only_here, reason, reason, "U_HERMES")
    yield sample(notices.wrong_channel, "one", ("C_OPS",))
    yield sample(notices.wrong_channel, "worst", tuple(f"C{number:010d}" for number in range(500)))
    yield sample(notices.window_failed, "expired", "expired_trigger_id")
    yield sample(notices.link_not_shown, "gone", "not_found")
    found = values.interrupted()
    card = interrupted.interrupted_message(found)
    yield sample(notices.settled, "continued", card.text, card.blocks, notices.continued_by(PERSON, AT))
    yield sample(notices.settled, "empty", "", (), notices.continued_by(PERSON, AT))
    yield sample(notices.cancelling, "usual", PERSON)
    yield sample(notices.sent_directly, "usual")
    here = notices.only_here("not_in_channel", "U_HERMES")
    yield sample(notices.both, "announcement", here, result.announcement(values.request()))
    yield sample(notices.both, "worst", here, help.help_message(EVERY_VERB))
    yield sample(notices.audit_head, "usual", 1234, f"1234:{'ab' * 32}")


def _form() -> Iterator[Sample]:
    refused = Refused(code="role-needed", what=ANGRY, safe="All.", todo="Ask.")
    yield sample(create_form.loading_view, "always")
    yield sample(create_form.refused_view, "role", refused)
    yield sample(failure.failure_view, "role", "Title", refused, callback_id="x")
    for reason in ("expired_trigger_id", "invalid_arguments"):
        yield sample(create_form.not_opened, reason, reason)
    ticket = Ticket(request_id=values.REQUEST, channel="C_OPS")
    nothing = Suggestions(homes=(), templates=None, last=LastTime(), mine=None)
    yield sample(create_form.form_view, "bare", nothing, Rules(nodes=(NodeRules(id="n"),)), ticket)
    home_choice = HomeChoice(home="h" * 63, workspace="w" * 63, live=SandboxState.PAUSED, colleague=True)
    full = Suggestions(
        homes=(home_choice,),
        templates=(TemplateView(template_id="t", name="hermes-studio", status="READY"),),
        last=LastTime(timeout=7200, profile="p"),
        mine=("a",),
        missing=("the templates",),
    )
    crowded = Rules(
        nodes=(NodeRules(id="a"), NodeRules(id="b")), limits=Limits(per_user=1), env_profiles={"p": {}}
    )
    yield sample(create_form.form_view, "full", full, crowded, ticket)
