import asyncio

import pytest
from contract.double_system import ManualClock

from bot.domain.actors import Actor, ActorKind, Role
from bot.domain.errors import ChatError
from bot.usecases import roster as roster_module
from bot.usecases.roster import CONFIRMED_FOR, RETRY_AFTER, STALE_AFTER, Roster


class Groups:
    """Usergroups whose members change, and that Slack may refuse to tell."""

    def __init__(self) -> None:
        self.members = {"S_LEADS": frozenset({"U_LEAD"})}
        self.refused = ""
        self.silent = False
        self.asked = 0

    async def of(self, group: str) -> frozenset[str]:
        self.asked += 1
        if self.silent:
            await asyncio.Event().wait()
        if self.refused:
            raise ChatError(self.refused)
        return self.members[group]


def roster(groups: Groups, clock: ManualClock) -> Roster:
    grants = {Role.OPERATOR: ("*",), Role.APPROVER: ("S_LEADS",), Role.ADMIN: ("U_BOSS",)}
    return Roster(grants, clock, groups.of)


async def test_the_strongest_grant_counts() -> None:
    made = roster(Groups(), ManualClock())
    await made.refresh()

    roles = [made.role_of(Actor(user)) for user in ("U_LEAD", "U_BOSS", "U_ANYBODY")]

    assert roles == [Role.APPROVER, Role.ADMIN, Role.OPERATOR]


async def test_a_usergroup_grants_nothing_before_it_was_read() -> None:
    made = roster(Groups(), ManualClock())

    assert made.role_of(Actor("U_LEAD")) is Role.OPERATOR


async def test_an_old_membership_grants_nothing() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    clock.advance(STALE_AFTER.total_seconds() + 1)

    assert made.role_of(Actor("U_LEAD")) is Role.OPERATOR


async def test_an_old_membership_is_read_again_when_it_is_needed() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    clock.advance(STALE_AFTER.total_seconds() + 1)

    await made.ensure_fresh()
    await made.ensure_fresh()

    assert made.role_of(Actor("U_LEAD")) is Role.APPROVER
    assert groups.asked == 2


async def test_a_group_that_slack_does_not_tell_keeps_its_members_only_for_a_while() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    groups.refused = "ratelimited"

    failures = await made.refresh()
    soon = made.role_of(Actor("U_LEAD"))
    clock.advance(STALE_AFTER.total_seconds() + 1)

    assert failures == {"S_LEADS": "ratelimited"}
    assert soon is Role.APPROVER
    assert made.role_of(Actor("U_LEAD")) is Role.OPERATOR


async def test_somebody_from_outside_holds_no_role_even_by_a_star() -> None:
    made = roster(Groups(), ManualClock())

    assert made.role_of(Actor("U_BOSS", outside_team=True)) is Role.NONE


async def test_a_person_at_the_command_line_is_an_administrator() -> None:
    made = roster(Groups(), ManualClock())

    assert made.role_of(Actor("cli:root", ActorKind.CLI)) is Role.ADMIN


async def test_a_group_that_slack_does_not_tell_is_not_asked_for_at_every_command() -> None:
    groups = Groups()
    groups.refused = "ratelimited"
    made = roster(groups, ManualClock())

    await asyncio.gather(*(made.ensure_fresh() for _ in range(5)))

    assert groups.asked == 1


async def test_whoever_was_taken_out_of_a_group_a_moment_ago_does_not_act_by_it() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    groups.members["S_LEADS"] = frozenset()
    clock.advance(CONFIRMED_FOR.total_seconds() + 1)

    await made.confirm(Actor("U_LEAD"))

    assert made.role_of(Actor("U_LEAD")) is Role.OPERATOR


async def test_a_group_is_asked_about_once_for_many_who_act_and_not_for_those_without_it() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    clock.advance(CONFIRMED_FOR.total_seconds() + 1)

    await asyncio.gather(*(made.confirm(Actor(user)) for user in ("U_BOSS", "U_ANYBODY")))
    others = groups.asked
    await asyncio.gather(*(made.confirm(Actor("U_LEAD")) for _ in range(20)))

    assert (others, groups.asked) == (1, 2)


async def test_a_slack_that_does_not_tell_is_asked_rarely_and_the_last_word_counts() -> None:
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    groups.refused = "ratelimited"
    clock.advance(CONFIRMED_FOR.total_seconds() + 1)

    for _ in range(3):
        await made.confirm(Actor("U_LEAD"))
    soon = groups.asked
    clock.advance(RETRY_AFTER.total_seconds() + 1)
    await made.confirm(Actor("U_LEAD"))

    assert (soon, groups.asked) == (2, 3)
    assert made.role_of(Actor("U_LEAD")) is Role.APPROVER


async def test_a_slack_that_does_not_answer_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "CONFIRM_SECONDS", 0.01)
    clock, groups = ManualClock(), Groups()
    made = roster(groups, clock)
    await made.refresh()
    groups.silent = True
    clock.advance(CONFIRMED_FOR.total_seconds() + 1)

    await asyncio.wait_for(made.confirm(Actor("U_LEAD")), 5)

    assert made.role_of(Actor("U_LEAD")) is Role.APPROVER
