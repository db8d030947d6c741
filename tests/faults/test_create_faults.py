"""Creates, and what goes on from them, against a Cube that is unkind: one sandbox, one try, a true thread."""

import asyncio

import pytest
from e2e.installed import ADMIN, APPROVER, OPERATOR, OPERATOR2, Installed, Thread
from faults.claims import Claims, calls, claims_in, failed_create, paused

from bot.demo.reading import thread_text

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

REFUSALS = {
    "mount-leak": "The node that Cube chose has no room for another mount, or its disk is full.",
    "node-connection-failed": "Cube cannot reach the node.",
    "master-rate-limited": "Cube asks us to slow down.",
    "auth-rejected": "Cube refused the bot's key.",
    "unparsed-body": "Cube did not accept the request to make the sandbox.",
}
LOST = (
    {"kind": "deadline-exceeded", "done": False},
    {"kind": "empty-408", "done": False},
    {"kind": "front-page"},
)


async def test_creates_that_fail_are_asked_for_once_and_nothing_is_made(site: Installed) -> None:
    for kind in REFUSALS:
        await site.fault("cube", kind, operation="create")
    before = await calls(site)
    refused = await asyncio.gather(
        *(site.type(user, f"create home=no-{user.lower().replace('_', '-')}-{n}")
          for user, n in ((OPERATOR, 1), (OPERATOR, 2), (OPERATOR2, 1), (APPROVER, 1), (ADMIN, 1)))
    )  # fmt: skip
    claims = await asyncio.gather(*(failed_create(site, thread) for thread in refused))

    assert sorted(claim.what for claim in claims) == sorted(REFUSALS.values())
    assert all("No sandbox was made" in claim.safe and claim.todo for claim in claims)
    assert (await calls(site) - before)["cube create"] == len(REFUSALS)
    assert await site.sandboxes() == []
    texts = "".join([await thread.text() for thread in refused])
    for words in ("no space left on device", "130596: ConnHostFailed", "130592: rate limited", "deserialize"):
        assert words in texts  # Cube's own


async def test_creates_whose_answer_and_sandbox_are_both_missing_are_made_by_continue(
    site: Installed,
) -> None:
    for one in LOST:
        await site.fault("cube", operation="create", **one)
    before = await calls(site)
    threads = await asyncio.gather(*(site.type(OPERATOR, f"create home=missing-{n}") for n in range(3)))
    claims = [claims_in(await thread.ended()) for thread in threads]

    assert {claim.code for claim in claims} == {"create-unknown"}
    assert all(claim.safe == "The home and workspace are safe on the node." for claim in claims)
    assert await site.sandboxes() == []
    assert all("have not found one yet" in claim.what for claim in claims)
    assert (await calls(site) - before)["cube create"] == 3
    await threads[0].press("hermes.create.continue")
    await threads[0].ended(":white_check_mark:")
    assert len(await site.sandboxes()) == 1


async def test_a_wait_a_lost_answer_and_a_broken_list_still_come_to_one_sandbox(site: Installed) -> None:
    await site.fault("node", "ssh-slow", delay_s=0.5)
    thread = await site.type(OPERATOR, "create home=unlucky-one")
    await site.recorded(home="unlucky-one", phase="intent", code="")
    await site.fault("cube", "rate-limited", operation="create", retry_after=0)
    await site.fault("cube", "front-page", operation="create", status=504, done=True)
    await site.fault("cube", "list-fails")
    before = await calls(site)

    told = await thread.ended(":white_check_mark:")

    assert "found again after Cube's answer was lost" in told
    assert (await calls(site) - before)["cube create"] == 2
    assert await site.sandboxes("unlucky-one") == [await thread.sandbox()]


async def test_a_sandbox_that_cube_forgets_to_tell_of_keeps_its_home(site: Installed) -> None:
    thread = await site.create(OPERATOR, "home=forgotten")
    sandbox = await thread.sandbox()
    before = await calls(site)
    await site.fault("cube", "list-drops-node")
    dropped = claims_in(await (await site.type(OPERATOR, "create home=forgotten")).ended(":x:"))
    await site.unarm()
    await site.fault("cube", "labels-lost")
    await paused(site, sandbox)
    unlabelled = claims_in(await (await site.type(OPERATOR, "create home=forgotten")).ended(":x:"))

    for claims, state in ((dropped, "running"), (unlabelled, "paused")):
        assert claims.code == "home-in-use"
        assert f"sandbox {sandbox} of @U_OPERATOR" in claims.what
        assert f"is {state}" in claims.what
    assert "as the audit log has it" in unlabelled.what
    assert (await calls(site) - before)["cube create"] == 0


async def test_a_health_check_that_says_ok_is_not_believed(site: Installed) -> None:
    await site.fault("cube", "master-down")

    thread = await site.type(OPERATOR, "create home=headless")
    claims = claims_in(await thread.ended(":x:"))

    assert claims.what == "Cube answered with an error of its own."
    assert claims.safe == "Nothing was changed."
    assert "connection to CubeMaster refused" in await thread.text()
    assert not site.home("headless").exists()


async def test_what_cannot_be_resumed_is_not_tried_again_and_its_home_gets_a_new_one(site: Installed) -> None:
    await site.fault("cube", "studio-does-not-start")
    thread = await site.type(OPERATOR, "create home=frozen")
    await failed_create(site, thread)
    [sandbox] = await site.sandboxes("frozen")
    kept = (site.home("frozen") / "config.yaml").read_bytes()
    await paused(site, sandbox)
    await site.fault("cube", "resume-tap-busy", times=50)
    before = await calls(site)

    await thread.press("hermes.create.continue")
    await thread.saying("Cube cannot wake this sandbox")
    claims = claims_in(await thread.text())

    assert claims.code == "cube-unresumable-tap-busy"
    assert f"Sandbox {sandbox} was kept" in claims.safe
    assert claims.todo.startswith("Stop it with /hermes stop NAME, then make a new one")
    assert "Device or resource busy" in await thread.text()
    assert (await calls(site) - before)["cube connect"] == 1
    await thread.press("hermes.stop.ask")
    await thread.press("hermes.stop.confirm")
    await thread.saying("is gone")
    again = await site.create(OPERATOR, "home=frozen")
    assert await again.sandbox() != sandbox
    assert (site.home("frozen") / "config.yaml").read_bytes() == kept


async def test_a_resume_that_is_undone_at_once_is_repeated_once(site: Installed) -> None:
    await site.fault("cube", "data-plane-dead", delay_s=0.05, times=100)
    thread = await site.type(OPERATOR, "create home=drowsy")
    await failed_create(site, thread)
    await site.unarm()
    [sandbox] = await site.sandboxes("drowsy")
    await paused(site, sandbox)
    await site.fault("cube", "resume-then-paused", operation="connect")
    before = await calls(site)

    await thread.press("hermes.create.continue")
    told = await thread.ended(":white_check_mark:")

    assert "woken from its pause" in told
    assert (await calls(site) - before)["cube connect"] == 2
    assert await site.sandboxes("drowsy") == [sandbox]


async def test_cancel_while_the_answer_is_being_lost_tells_of_the_sandbox(site: Installed) -> None:
    await site.fault("cube", "slow-api", operation="create", delay_s=0.9)
    await site.fault("cube", "empty-408", operation="create")
    thread = await site.type(OPERATOR, "create home=halted")
    await site.recorded(home="halted", code="step-4")
    await thread.press("hermes.create.cancel")

    claims = await failed_create(site, thread)

    assert claims.code == "cancelled"
    assert claims.what == "Cancelled after step 5."
    assert len(await site.sandboxes("halted")) == 1


async def test_a_crash_while_cube_is_down_is_told_as_far_as_it_is_known(site: Installed) -> None:
    thread = await site.type(OPERATOR, "create home=twice-hit")
    await site.recorded(home="twice-hit", code="step-5")
    await site.crash_bot()
    [sandbox] = await site.sandboxes("twice-hit")
    await site.fault("cube", "master-down")
    await site.start_bot()

    told = thread_text([await thread.saying("What happened: Interrupted")])
    await site.unarm()
    await thread.press("hermes.create.continue")
    await thread.ended(":white_check_mark:")

    assert "No sandbox was made" not in told
    assert "Home twice-hit and workspace twice-hit are safe on the node." in told
    assert await site.sandboxes("twice-hit") == [sandbox]


MIDWAY = {
    "nothing-listens": "Nothing listens on that port in the sandbox.",
    "data-plane-dead": "Cube's proxy cannot reach the sandbox.",
    "proxy-unavailable": "Cube's proxy has trouble of its own, so that the sandbox cannot be seen.",
}


async def test_a_data_plane_that_fails_midway_keeps_the_sandbox_for_continue(site: Installed) -> None:
    async def fails(kind: str) -> tuple[Thread, Claims]:
        thread = await site.type(OPERATOR, f"create home={kind}")
        row = await site.recorded(home=kind, code="step-6")
        await site.fault("cube", kind, sandbox=row["sandbox"], delay_s=0.05)
        return thread, await failed_create(site, thread)

    ended = [await fails(kind) for kind in MIDWAY]
    threads, claims = zip(*ended, strict=True)
    before = await calls(site)
    await threads[0].press("hermes.create.continue")
    await threads[0].ended(":white_check_mark:")

    assert [claim.what for claim in claims] == [*MIDWAY.values()]
    assert all("was kept" in claim.safe for claim in claims)
    assert (await calls(site) - before)["cube create"] == 0
    assert len(await site.sandboxes()) == len(MIDWAY)
