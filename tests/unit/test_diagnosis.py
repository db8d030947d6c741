"""From evidence to a verdict: one part is ill at a time, then several, and the cause comes first."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain import illnesses
from bot.domain.condition import Condition, Past
from bot.domain.diagnosis import diagnose
from bot.domain.evidence import ConfigFile, Disk, Evidence, Mounted, Place, Reached, Unseen
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.illnesses import BY_CODE, ILLNESSES, VERDICTS, Weight
from bot.domain.sandbox import SandboxState
from bot.domain.skills import Entry, EntryType
from tests.golden.evidence_kit import ASLEEP, AT, NOW, SANDBOX, asleep, cube, evidence, judged, ports, view

ROOT = Path(__file__).parents[2]
SKILL = Entry(EntryType.DIR, skill=True)
LINK = Entry(EntryType.LINK, target="/opt/hermes-common-skills/notes")
FULL = Disk(kind="ext4", read_only=False, free=0, total=10**12, free_inodes=10**6, total_inodes=10**7)
DARK = Unseen(why="HTTP 504.", code="cube-guest-unreachable")
LINKED = Place(path="/data/shared/hermes-homes/atlas", kind="link")


def mount(**changes: Any) -> Mounted:
    return replace(Mounted(path="/root/.hermes", mode="rw", write="ok"), **changes)


def with_endpoint(result: str) -> Evidence:
    seen = evidence()
    assert not isinstance(seen.inside, Unseen)
    return replace(seen, inside=replace(seen.inside, endpoints=(Reached(endpoint="m:1", result=result),)))


ONE_ILL: list[tuple[str, Callable[[], Evidence]]] = [
    ("gone", lambda: evidence(cube=cube(view=None, get_state=""), judged=judged(Condition.GONE))),
    ("second-writer", lambda: evidence(cube=cube(others=("f" * 32,)))),
    ("cannot-resume", lambda: asleep(judged=judged(Condition.UNRESUMABLE))),
    (
        "wake-failed",
        lambda: asleep(cube=cube(view=view(state=SandboxState.PAUSED), wake_refused="HTTP 503.")),
    ),
    (
        "stuck-pausing",
        lambda: asleep(cube=cube(view=view(state=SandboxState.PAUSING)), judged=judged(Condition.STUCK)),
    ),
    (
        "resume-undone",
        lambda: asleep(cube=cube(view=view(state=SandboxState.PAUSED), past=Past(resume_undone=True))),
    ),
    ("node-login-refused", lambda: asleep(node=Unseen(why="Refused.", code="node-login-refused"))),
    ("host-key-changed", lambda: asleep(node=Unseen(why="Another key.", code="host-key-changed"))),
    ("node-silent", lambda: asleep(node=Unseen(why="No answer.", code="node-unreachable"))),
    ("home-missing", lambda: evidence(node={"home": replace(LINKED, kind="missing")})),
    ("path-unsafe", lambda: evidence(node={"home": LINKED})),
    ("node-read-only", lambda: evidence(node={"home_disk": replace(FULL, free=10**12, read_only=True)})),
    ("disk-full", lambda: evidence(node={"home_disk": FULL})),
    ("disk-full", lambda: evidence(inside={"home": mount(write="ENOSPC")})),
    ("inodes-full", lambda: evidence(node={"home_disk": replace(FULL, free=10**12, free_inodes=3)})),
    ("dark", lambda: evidence(inside=DARK, studio=ports(web_ui=False, envd=False))),
    ("mount-missing", lambda: evidence(inside={"home": mount(mode="")})),
    ("mount-missing", lambda: evidence(inside={"public": mount(mode="", write="ok")})),
    ("mount-read-only", lambda: evidence(inside={"home": mount(mode="ro", write="EROFS")})),
    ("mount-read-only", lambda: evidence(inside={"workspace": mount(write="EROFS")})),
    ("not-writable", lambda: evidence(inside={"home": mount(write="EACCES")})),
    (
        "envd-dead",
        lambda: evidence(inside=Unseen(why="HTTP 502.", code="cube-not-listening"), studio=ports(envd=False)),
    ),
    ("database-corrupt", lambda: evidence(inside={"databases_ok": False})),
    (
        "config-not-a-file",
        lambda: evidence(node={"config": ConfigFile(state="not-a-file", problem="a pipe")}),
    ),
    (
        "config-not-a-file",
        lambda: evidence(node={"config": ConfigFile(state="link")}, inside={"config": "nothing"}),
    ),
    ("config-corrupt", lambda: evidence(node={"config": ConfigFile(state="broken", problem="line 1")})),
    ("config-corrupt", lambda: evidence(node={"config": ConfigFile(state="too-large", problem="long")})),
    ("launch-file-damaged", lambda: evidence(node={"launch_file": "studio.env is not what the bot wrote"})),
    ("access-file-damaged", lambda: evidence(node={"access_file": "access.json is not what the bot wrote"})),
    ("bot-directory-unsafe", lambda: evidence(node={"bot_directory": LINKED})),
    ("memory-full", lambda: evidence(inside={"memory_free": 1024})),
    ("root-full", lambda: evidence(inside={"disk_free": 1024})),
    ("port-taken", lambda: evidence(inside={"studio": Inside.NOT_READY, "studio_processes": ()})),
    (
        "studio-dead",
        lambda: evidence(inside={"studio": Inside.SILENT, "listeners": {}, "studio_processes": ()}),
    ),
    (
        "studio-dead",
        lambda: evidence(
            inside=Unseen(why="No python3."), studio=ports(web_ui=False, note="nothing listens")
        ),
    ),
    ("bridge-not-ready", lambda: evidence(inside={"studio": Inside.NOT_READY, "studio_note": "starting"})),
    ("bridge-not-ready", lambda: evidence(inside={"studio": Inside.SILENT})),
    ("route-dead", lambda: evidence(studio=ports(web_ui=False, note="the sandbox cannot be reached"))),
    ("endpoint-refused", lambda: with_endpoint("refused")),
    ("endpoint-refused", lambda: with_endpoint("unreachable")),
    ("endpoint-silent", lambda: with_endpoint("timeout")),
    ("endpoint-unnamed", lambda: with_endpoint("no-name")),
    ("wal-unsafe", lambda: evidence(inside={"file_system": "fuseblk"})),
    ("wal-unsafe", lambda: asleep(node={"home_disk": replace(FULL, free=10**12, kind="9p")})),
    ("clock-skew", lambda: evidence(node={"now": NOW - 90})),
    ("clock-skew", lambda: evidence(inside={"now": NOW + 90, "asked": (NOW, NOW)})),
    ("clock-skew", lambda: asleep(heartbeat=Heartbeat(age=1.0, skew=-300.0))),
    (
        "paused-is-killed",
        lambda: evidence(cube=cube(view=view(metadata={"hermes-home": "atlas"}))),
    ),
    ("home-open", lambda: evidence(node={"home": replace(LINKED, kind="dir", mode=0o755)})),
    ("home-open", lambda: evidence(node={"bot_directory": replace(LINKED, kind="dir", mode=0o750)})),
    ("public-skills-gone", lambda: evidence(node={"public_skills": replace(LINKED, kind="missing")})),
    (
        "public-skills-writable",
        lambda: evidence(inside={"public": Mounted(path="/opt/s", mode="rw", write="ok")}),
    ),
    (
        "skills-dangling",
        lambda: evidence(inside={"home": mount(), "skills_home": {"notes": replace(LINK, exists=False)}}),
    ),
    ("skills-missing", lambda: evidence(inside={"skills_public": {"notes": SKILL}})),
    (
        "skills-shadowed",
        lambda: evidence(inside={"skills_public": {"notes": SKILL}, "skills_home": {"notes": SKILL}}),
    ),
    ("heartbeat-stopped", lambda: evidence(heartbeat=Heartbeat(age=600.0, sandbox=SANDBOX))),
    ("heartbeat-stopped", lambda: evidence(heartbeat=Heartbeat(age=1.0, sandbox="f" * 32))),
    ("heartbeat-stopped", lambda: evidence(heartbeat=None)),
    ("disk-low", lambda: evidence(node={"home_disk": replace(FULL, free=10**9)}, min_free=2 * 10**9)),
    ("list-incomplete", lambda: evidence(cube=cube(listed=False, list_state=""))),
    ("labels-lost", lambda: evidence(cube=cube(view=view(labels_from_log=True)))),
    ("template-not-ready", lambda: evidence(cube=cube(template_status="FAILED"))),
    ("template-not-ready", lambda: evidence(cube=cube(template_status=""))),
]


@pytest.mark.parametrize(("code", "seen"), ONE_ILL, ids=[f"{n}-{one[0]}" for n, one in enumerate(ONE_ILL)])
def test_one_illness_is_named_first(code: str, seen: Callable[[], Evidence]) -> None:
    diagnosis = diagnose(seen())

    assert diagnosis.verdict == code, diagnosis.findings
    assert diagnosis.headline == diagnosis.findings[0].sentence


def test_the_table_has_every_illness() -> None:
    told = {code for code, _ in ONE_ILL}

    assert told == {one.code for one in ILLNESSES if one.weight is not Weight.UNTOLD}


def test_where_all_is_well_it_says_so() -> None:
    assert diagnose(evidence()).verdict == "healthy"
    assert diagnose(evidence()).findings == ()


def test_a_paused_one_without_illness_is_asleep() -> None:
    diagnosis = diagnose(asleep())

    assert (diagnosis.verdict, [one.code for one in diagnosis.findings]) == ("asleep", ["asleep-inside"])
    assert diagnosis.remedies == (illnesses.Remedy.WAKE,)


UNTOLD: list[Evidence] = [
    evidence(cube=Unseen(why="HTTP 503.")),
    evidence(cube=cube(template_status=None)),
    evidence(cube=cube(view=view(state=SandboxState.UNKNOWN))),
    evidence(node=Unseen(why="It broke.")),
    evidence(node={"home": replace(LINKED, kind="unreadable", note="I/O error")}),
    evidence(node={"config": ConfigFile(state="link")}),
    evidence(node={"config": ConfigFile(state="unreadable", problem="I/O error")}),
    evidence(heartbeat=Unseen(why="It broke.")),
    evidence(inside=Unseen(why="It broke.")),
    evidence(inside={"untold": {"databases": "I/O error"}}),
    evidence(inside={"studio": Inside.UNKNOWN}),
    evidence(studio=ports(web_ui=None, note="no answer in time")),
    evidence(studio=Unseen(why="It broke.")),
    with_endpoint("untold"),
    evidence(cube=cube(past=Past(changed_at=AT - timedelta(seconds=20))), heartbeat=None),
    evidence(cube=cube(view=view(started_at=AT.isoformat())), heartbeat=Heartbeat(age=900.0)),
    asleep(node=Unseen(why="It broke.")),
]


@pytest.mark.parametrize("seen", UNTOLD)
def test_what_could_not_be_told_is_never_called_well(seen: Evidence) -> None:
    diagnosis = diagnose(seen)

    assert diagnosis.verdict == "not-all-told"
    assert "not-examined" in {one.code for one in diagnosis.untold}


SEVERAL: list[tuple[list[str], Evidence]] = [
    (
        ["disk-full", "studio-dead"],
        evidence(
            node={"home_disk": FULL, "workspace_disk": FULL},
            inside={"studio": Inside.SILENT, "listeners": {}, "studio_processes": ()},
        ),
    ),
    (
        ["path-unsafe", "dark"],
        evidence(node={"home": LINKED}, inside=DARK, studio=ports(web_ui=False, envd=False)),
    ),
    (
        ["mount-read-only", "studio-dead", "skills-missing"],
        evidence(
            inside={
                "home": mount(mode="ro"),
                "studio": Inside.SILENT,
                "listeners": {},
                "skills_public": {"notes": SKILL},
            }
        ),
    ),
    (
        ["config-corrupt", "bridge-not-ready", "home-open"],
        evidence(
            node={
                "config": ConfigFile(state="broken", problem="line 1"),
                "home": replace(LINKED, kind="dir", mode=0o777),
            },
            inside={"studio": Inside.NOT_READY},
        ),
    ),
    (
        ["cannot-resume", "labels-lost"],
        asleep(
            cube=cube(
                view=view(state=SandboxState.PAUSED, labels_from_log=True),
                wake_refused="OpenTap ResourceBusy",
                wake_for_good=True,
            ),
            judged=judged(Condition.UNRESUMABLE),
        ),
    ),
]


@pytest.mark.parametrize(("codes", "seen"), SEVERAL, ids=[codes[0] for codes, _ in SEVERAL])
def test_the_cause_stands_above_what_it_explains(codes: list[str], seen: Evidence) -> None:
    assert [one.code for one in diagnose(seen).wrong] == codes


@pytest.mark.parametrize("condition", list(Condition))
@pytest.mark.parametrize("state", list(SandboxState))
def test_what_was_not_looked_at_from_inside_is_never_healthy(
    condition: Condition, state: SandboxState
) -> None:
    diagnosis = diagnose(asleep(cube=cube(view=view(state=state)), judged=judged(condition)))

    assert diagnosis.verdict != "healthy"
    assert diagnosis.untold


def test_a_node_that_is_silent_weighs_less_where_studio_works() -> None:
    silent = Unseen(why="No answer.", code="node-unreachable")

    [finding] = diagnose(evidence(node=silent)).wrong

    assert (finding.code, finding.weight) == ("node-silent", Weight.RISK)


def test_the_bots_own_clock_is_suspected_when_both_others_agree() -> None:
    seen = evidence(node={"now": NOW - 600}, inside={"now": NOW - 601, "asked": (NOW, NOW)})

    [finding] = diagnose(seen).wrong

    assert finding.sentence == "The bot's own clock is 10 min ahead of those of node and sandbox."


def test_a_slow_way_is_no_wrong_clock() -> None:
    seen = evidence(inside={"now": NOW + 100, "asked": (NOW, NOW + 120)})

    assert diagnose(seen).verdict == "healthy"


def test_how_old_the_last_sign_of_life_is_belongs_to_a_dark_one() -> None:
    beat = Heartbeat(age=125.0, sandbox=SANDBOX)
    seen = evidence(inside=DARK, studio=ports(web_ui=False, envd=False), heartbeat=beat)

    assert diagnose(seen).headline.endswith("is 2 min old, so its VM has probably ended.")
    assert [one.code for one in diagnose(seen).findings] == ["dark"]


def test_a_young_sign_of_life_says_that_the_vm_may_still_run() -> None:
    beat = Heartbeat(age=3.0, sandbox=SANDBOX)
    seen = evidence(inside=DARK, studio=ports(web_ui=False, envd=False), heartbeat=beat)

    assert diagnose(seen).headline.endswith("is 3 s old, so its VM may still run, cut off from Cube's proxy.")


def test_a_sandbox_that_is_refused_to_wake_is_not_offered_to_be_woken() -> None:
    paused = cube(view=view(state=SandboxState.PAUSED), wake_refused="OpenTap", wake_for_good=True)

    assert illnesses.Remedy.WAKE not in diagnose(asleep(cube=paused)).remedies


def test_cures_name_the_command_with_the_home_that_is_meant() -> None:
    [finding] = diagnose(evidence(cube=cube(others=("f" * 32,)))).wrong
    dead = diagnose(evidence(inside={"studio": Inside.SILENT, "listeners": {}})).findings[0]

    assert "`/hermes stop ID`" in finding.cure
    assert dead.cure.startswith("Type `/hermes resume atlas`")


def test_an_unlabelled_one_is_named_by_its_id() -> None:
    seen = evidence(
        home="", cube=cube(view=view(metadata={})), inside={"listeners": {}, "studio": Inside.SILENT}
    )

    assert any(SANDBOX in one.cure for one in diagnose(seen).findings)


def test_the_order_of_illnesses_is_total_and_every_one_has_a_cure() -> None:
    codes = [one.code for one in ILLNESSES]

    assert len(codes) == len(set(codes)) == len(BY_CODE)
    assert all(re.fullmatch(r"[a-z]+(?:-[a-z]+)*", code) for code in codes)
    assert all(one.cure.endswith(".") and len(one.cure) < 400 for one in ILLNESSES)


def test_the_runbook_names_every_verdict_and_no_other() -> None:
    text = (ROOT / "docs/runbook.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| [^|]+ \| [^|]+ \| `([a-z-]+)` \|", text, flags=re.MULTILINE)

    assert sorted(set(listed)) == sorted({*BY_CODE, *VERDICTS})


def test_asleep_is_a_reason_not_to_look_and_no_illness() -> None:
    assert ASLEEP.asleep
    assert diagnose(asleep()).wrong == ()
