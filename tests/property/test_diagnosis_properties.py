"""Whatever was seen or not seen, a diagnosis is total, in one order, with a cure for everything."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.condition import Condition, Past
from bot.domain.diagnosis import Diagnosis, diagnose
from bot.domain.evidence import ConfigFile, Disk, Evidence, GuestEvidence, Mounted, Place, Reached, Unseen
from bot.domain.heartbeat import Heartbeat, Inside
from bot.domain.illnesses import RANK, Weight
from bot.domain.sandbox import SandboxState
from bot.domain.skills import Entry, EntryType
from tests.golden.evidence_kit import asleep, cube, evidence, judged, ports, view

WORDS = st.text(max_size=20)
SIZES = st.none() | st.integers(0, 2**40)
UNSEEN = st.builds(
    Unseen,
    why=WORDS,
    code=st.sampled_from(["", "node-unreachable", "cube-guest-unreachable", "cube-not-listening"]),
    asleep=st.booleans(),
)
PLACES = st.builds(
    Place,
    path=WORDS,
    kind=st.sampled_from(["dir", "file", "link", "missing", "other", "unsafe", "unreadable", ""]),
    mode=st.none() | st.integers(0, 0o7777),
)
DISKS = st.builds(
    Disk,
    kind=st.sampled_from(["", "ext4", "virtiofs"]),
    read_only=st.none() | st.booleans(),
    free=SIZES,
    free_inodes=SIZES,
    total_inodes=SIZES,
)
MOUNTS = st.builds(
    Mounted,
    path=WORDS,
    mode=st.sampled_from(["", "rw", "ro"]),
    write=st.sampled_from(["", "ok", "EROFS", "EIO"]),
)
ENTRIES = st.dictionaries(
    st.sampled_from(["a", "b", ".c"]),
    st.builds(Entry, type=st.sampled_from(list(EntryType)), skill=st.booleans(), exists=st.booleans()),
    max_size=3,
)
HEARTBEATS = (
    st.none() | UNSEEN | st.builds(Heartbeat, age=st.floats(-1e6, 1e6), skew=st.none() | st.floats(-1e6, 1e6))
)


@st.composite
def some_evidence(draw: st.DrawFn) -> Evidence:
    state = draw(st.sampled_from(list(SandboxState)))
    seen_cube: Any = draw(
        UNSEEN
        | st.builds(
            cube,
            view=st.just(view(state=state)) | st.none(),
            listed=st.booleans(),
            others=st.just(()) | st.just(("f" * 32,)),
            template_status=st.none() | st.sampled_from(["", "READY", "FAILED"]),
            past=st.builds(Past, cannot_resume=st.booleans(), resume_undone=st.booleans()),
            wake_refused=WORDS,
        )
    )
    node: Any = draw(
        st.just({})
        | UNSEEN
        | st.fixed_dictionaries(
            {},
            optional={
                "home": PLACES,
                "workspace": PLACES,
                "public_skills": PLACES,
                "bot_directory": PLACES,
                "home_disk": DISKS,
                "config": st.builds(
                    ConfigFile, state=st.sampled_from(["ok", "broken", "link", "absent", ""])
                ),
                "launch_file": WORDS,
                "now": st.floats(0, 2e9),
            },
        )
    )
    inside: Any = draw(
        st.just({})
        | UNSEEN
        | st.fixed_dictionaries(
            {},
            optional={
                "home": MOUNTS,
                "public": MOUNTS,
                "studio": st.sampled_from(list(Inside)),
                "listeners": st.none() | st.just({}),
                "studio_processes": st.none() | st.just(()),
                "databases_ok": st.none() | st.booleans(),
                "memory_free": SIZES,
                "skills_public": st.none() | ENTRIES,
                "skills_home": st.none() | ENTRIES,
                "untold": st.dictionaries(WORDS, WORDS, max_size=2),
                "config": WORDS,
            },
        )
    )
    studio: Any = draw(
        UNSEEN | st.builds(ports, st.none() | st.booleans(), st.none() | st.booleans(), st.just("a note"))
    )
    return evidence(
        cube=seen_cube,
        node=node,
        inside=inside,
        studio=studio,
        heartbeat=draw(HEARTBEATS),
        judged=judged(draw(st.sampled_from(list(Condition)))),
        home=draw(st.sampled_from(["", "atlas"])),
    )


@given(some_evidence())
def test_a_diagnosis_is_total_ordered_and_the_same_each_time(seen: Evidence) -> None:
    first, again = diagnose(seen), diagnose(seen)

    order = [(one.weight, RANK[one.code], one.sentence) for one in first.findings]
    assert first == again
    assert order == sorted(set(order))
    assert all(one.cure and one.sentence and "{" not in one.cure for one in first.findings)
    assert first.verdict == (first.wrong[0].code if first.wrong else first.verdict)


@given(some_evidence())
def test_what_was_not_seen_is_never_called_healthy(seen: Evidence) -> None:
    diagnosis = diagnose(seen)

    sides = (seen.cube, seen.node, seen.inside, seen.studio)
    if any(isinstance(side, Unseen) for side in sides) or _parts_missing(seen):
        assert diagnosis.verdict != "healthy"


@given(some_evidence(), UNSEEN.filter(lambda unseen: not unseen.asleep))
def test_losing_sight_of_a_side_never_makes_it_well(seen: Evidence, unseen: Unseen) -> None:
    for side in ("node", "inside", "studio"):
        blind = diagnose(replace(seen, **{side: unseen}))

        assert blind.verdict not in {"healthy", "asleep"} or seen.cube == asleep().cube or _gone(blind)


def _parts_missing(seen: Evidence) -> bool:
    return isinstance(seen.inside, GuestEvidence) and bool(seen.inside.untold)


def _gone(diagnosis: Diagnosis) -> bool:
    return diagnosis.verdict == "gone"


def test_every_endpoint_result_is_told() -> None:
    results = ("open", "refused", "timeout", "no-name", "unreachable", "untold", "")
    seen = evidence()
    assert isinstance(seen.inside, GuestEvidence)

    told = [
        diagnose(replace(seen, inside=replace(seen.inside, endpoints=(Reached(endpoint="m", result=one),))))
        for one in results
    ]

    assert [one.verdict == "healthy" for one in told] == [True, *[False] * 6]
    assert {one.weight for diagnosis in told for one in diagnosis.findings} == {Weight.ILL, Weight.UNTOLD}
