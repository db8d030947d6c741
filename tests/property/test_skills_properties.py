"""Laws of the overlay plan and of the reading of Cube's errors that hold for any input."""

from hypothesis import given
from hypothesis import strategies as st

from bot.domain.cube_errors import DATA_PLANE, FaultClass, classify
from bot.domain.skills import Entry, EntryType, OverlayPlan, entries_from_json, own_link_target, plan_overlay

NAMES = st.one_of(
    st.sampled_from(["a", "b", "ops", "log-triage", "My Skill", "X", ".git", "._a", ".DS_Store", "_draft"]),
    st.text(min_size=1, max_size=8).filter(lambda name: "/" not in name and name not in {".", ".."}),
)


def links(name: str) -> st.SearchStrategy[Entry]:
    targets = st.one_of(
        st.just(own_link_target(name)),
        st.sampled_from(["/opt/hermes-common-skills/a", "/workspace/x", "../a", own_link_target(name) + "/"]),
    )
    return st.builds(Entry, st.just(EntryType.LINK), target=targets, exists=st.booleans())


def entries(name: str) -> st.SearchStrategy[Entry]:
    nested = st.lists(st.sampled_from(["one", "two", "three"]), unique=True).map(tuple)
    return st.one_of(
        st.builds(Entry, st.just(EntryType.DIR), skill=st.booleans(), nested=nested),
        st.sampled_from([Entry(EntryType.FILE), Entry(EntryType.OTHER)]),
        links(name),
    )


def trees() -> st.SearchStrategy[dict[str, Entry]]:
    names = st.lists(NAMES, unique=True, max_size=8)
    return names.flatmap(lambda found: st.fixed_dictionaries({name: entries(name) for name in found}))


def listed(plan: OverlayPlan) -> list[str]:
    lists = (plan.link, plan.keep_private, plan.already, plan.remove_dangling, plan.conflict, plan.ignored)
    return [name for names in lists for name in names]


def perform(plan: OverlayPlan, home: dict[str, Entry]) -> dict[str, Entry]:
    kept = {name: entry for name, entry in home.items() if name not in plan.remove_dangling}
    made = {name: Entry(EntryType.LINK, target=own_link_target(name)) for name in plan.link}
    return kept | made


@given(trees(), trees())
def test_every_entry_is_in_exactly_one_list(public: dict[str, Entry], home: dict[str, Entry]) -> None:
    names = listed(plan_overlay(public, home))

    categories = {
        name
        for name, entry in public.items()
        if entry.is_category and not name.startswith(".") and name not in home
    }
    inside = {
        f"{name}/{skill}"
        for name, entry in public.items()
        if entry.is_category and not name.startswith(".")
        for skill in entry.nested
    }
    assert len(names) == len(set(names))
    assert set(names) == ((public.keys() | home.keys()) - categories) | inside


@given(trees(), trees())
def test_performing_a_plan_leaves_nothing_to_do(public: dict[str, Entry], home: dict[str, Entry]) -> None:
    plan = plan_overlay(public, home)

    again = plan_overlay(public, perform(plan, home))

    assert again.changes_nothing
    assert set(again.already) == set(plan.already) | set(plan.link)
    assert again.keep_private == plan.keep_private


@given(trees(), trees())
def test_nothing_private_is_linked_over_or_removed(public: dict[str, Entry], home: dict[str, Entry]) -> None:
    plan = plan_overlay(public, home)

    assert not set(plan.link) & home.keys()
    for name in plan.remove_dangling:
        assert home[name].type is EntryType.LINK
        assert home[name].target == own_link_target(name)
        assert not home[name].exists


@given(trees(), trees())
def test_only_readable_public_skills_with_a_plain_name_are_linked(
    public: dict[str, Entry], home: dict[str, Entry]
) -> None:
    plan = plan_overlay(public, home)

    for name in plan.link:
        assert public[name].is_skill
        assert name.isascii()
        assert name[0] not in "._-"


@given(trees(), trees())
def test_every_list_is_sorted(public: dict[str, Entry], home: dict[str, Entry]) -> None:
    plan = plan_overlay(public, home)

    for names in (
        plan.link,
        plan.keep_private,
        plan.already,
        plan.remove_dangling,
        plan.conflict,
        plan.ignored,
    ):
        assert list(names) == sorted(names)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.sampled_from(["dir", "link", "file"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "skill", "nested", "target", "exists", "x", "../y"]), inner
        )
    ),
    max_leaves=20,
)


@given(JSON, JSON)
def test_any_listing_from_inside_gives_a_plan(public: object, home: object) -> None:
    plan = plan_overlay(entries_from_json(public), entries_from_json(home))

    assert not any(".." in name.split("/") for name in listed(plan))


OPERATIONS = [
    "create",
    "pause",
    "resume",
    "connect",
    "kill",
    "get",
    "list",
    "network",
    "refreshes",
    DATA_PLANE,
    "",
]
WORDS = st.sampled_from(
    [
        "CubeMaster returned error code 130589: ",
        "error code 130400: ",
        "OpenTap",
        "already paused",
        '{"message":"',
        '"',
        "\\",
        "is not within an allowed mount prefix",
        "no such file or directory",
    ]
)
BODIES = st.text(max_size=60) | st.lists(WORDS | st.text(max_size=5), max_size=6).map("".join)


@given(
    st.sampled_from(OPERATIONS) | st.text(max_size=8),
    st.none() | st.integers(min_value=-1, max_value=1000),
    BODIES,
    st.dictionaries(st.sampled_from(["Retry-After", "retry-after", "x"]), st.text(max_size=12)),
)
def test_any_answer_is_one_of_the_classes(
    operation: str, status: int | None, body: str, headers: dict[str, str]
) -> None:
    fault = classify(operation, status, body, headers)

    assert fault.kind in FaultClass
    assert fault.advice_key
    assert fault.message
    assert len(fault.message) <= 400
    assert fault.message.split() == fault.message.split(" ")
    looked = operation in {"get", "list"}
    assert not (looked and fault.kind is FaultClass.UNKNOWN_OUTCOME)
    assert not (fault.kind is FaultClass.UNKNOWN_OUTCOME and fault.retryable)
