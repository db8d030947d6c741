"""A home in which something else stands where a file or a directory is needed: told at once."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from contract.standin_world import World, world

from bot.domain.errors import GuestError

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

LINK, FILE, PIPE, DIRECTORY = "a symbolic link", "a file", "a named pipe", "a directory"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("entries-world")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def real(there: World) -> AsyncIterator[World]:
    yield there
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return "e-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[-50:].strip("-")


def put(place: Path, kind: str) -> None:
    """Put this kind of entry there; what stood there goes aside."""
    if place.exists():
        place.rename(place.with_name(f"{place.name}.aside"))
    match kind:
        case "a symbolic link":
            place.symlink_to("/workspace")
        case "a file":
            place.write_text("x")
        case "a named pipe":
            os.mkfifo(place)
        case _:
            place.mkdir()


@pytest.mark.parametrize("kind", [LINK, FILE, PIPE])
async def test_skills_that_are_no_directory_are_named(real: World, name: str, kind: str) -> None:
    sandbox = await real.provisioned(name)
    put(real.home(name) / "skills", kind)

    with pytest.raises(GuestError) as refused:
        await real.guest.skills_inventory(sandbox)

    assert refused.value.code == "unsafe-home-entry"
    assert f"/root/.hermes/skills is {kind} and must be a directory" in str(refused.value)


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (".hermes-bot", LINK),
        (".hermes-bot", FILE),
        (".hermes-bot/web-ui", LINK),
        (".hermes-bot/web-ui", PIPE),
        (".hermes-bot/access.json", DIRECTORY),
        (".hermes-bot/web-ui/hermes-web-ui.db", PIPE),
        ("state.db", PIPE),
        ("state.db", DIRECTORY),
        ("state.db-wal", PIPE),
        ("config.yaml", PIPE),
    ],
)
async def test_an_entry_that_studio_cannot_start_on_is_named_at_once(
    real: World, name: str, entry: str, kind: str
) -> None:
    sandbox = await real.provisioned(name)
    (real.home(name) / ".hermes-bot/web-ui").mkdir()
    if entry == ".hermes-bot/web-ui":
        (real.home(name) / entry).rmdir()
    put(real.home(name) / entry, kind)

    with pytest.raises(GuestError) as refused:
        await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert refused.value.code == "unsafe-home-entry"
    assert f"/root/.hermes/{entry} is {kind}" in str(refused.value)
    assert not (await real.studio.web_ui(sandbox)).ok


async def test_a_pipe_beside_another_database_keeps_nobody_waiting(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    (real.home(name) / "extra.db").write_bytes(b"")
    os.mkfifo(real.home(name) / "extra.db-wal")
    os.mkfifo(real.home(name) / "pipe.db")

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert [note for note in started.agent.database_notes if "extra.db-wal" in note]


async def test_more_skills_than_are_looked_at_are_told_with_their_place(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    for number in range(5001):
        (real.home(name) / "skills" / f"n{number}").touch()

    with pytest.raises(GuestError) as refused:
        await real.guest.skills_inventory(sandbox)

    assert refused.value.code == "too-many-skills"
    assert "/root/.hermes/skills holds 5" in str(refused.value)


async def test_once_it_is_renamed_the_same_sandbox_goes_on(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    pipe = real.home(name) / "state.db"
    put(pipe, PIPE)
    with pytest.raises(GuestError):
        await real.guest.start_studio(sandbox, port=9000, auth="auto")
    pipe.rename(pipe.with_name("was-in-the-way"))

    started = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert started.first_login_replaced
