"""Whose password opens a Studio when it is started again: ours, its owner's, everybody's, or a stranger's."""

import json
import time
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from contract.doubles import MemoryCube, MemoryGuest, MemoryNode
from contract.standin_world import World, places_of, spec_of, world

from bot.domain.errors import GuestError
from bot.domain.provisioning import Generation, SignIn
from bot.ports import StoredAccess

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="module")]

FIRST = "123456"
OWN = "EXAMPLE-of-the-owner"

TAKEN = """#!/usr/bin/python3
# Somebody is at the first login between the start of Studio and our sign-in, each time it is started.
import http.client, json, os, subprocess, sys, time
real = "{program}.real"
if sys.argv[1:2] == ["start"] and not os.path.exists("/tmp/taken"):
    def call(path, body, bearer=""):
        connection = http.client.HTTPConnection("127.0.0.1", 9111, timeout=10)
        headers = {{"Content-Type": "application/json", "Authorization": "Bearer " + bearer}}
        connection.request("POST", path, json.dumps(body), headers)
        return json.load(connection.getresponse())
    subprocess.run([real, "start", "--port", "9111", "--no-open"], check=True)
    bearer = call("/api/auth/login", {{"username": "admin", "password": "123456"}})["token"]
    new = {{"currentPassword": "123456", "newPassword": "EXAMPLE-theirs"}}
    call("/api/auth/change-password", new, bearer)
    subprocess.run([real, "stop"], check=True)
    open("/tmp/taken", "w").close()
os.execv(real, [real, *sys.argv[1:]])
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def there(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with world(tmp_path_factory.mktemp("sign-in-world")) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def real(there: World) -> AsyncIterator[World]:
    yield there
    there.faults.clear()
    for view in await there.cube.list():
        await there.cube.kill(view.sandbox_id)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return "s-" + "".join(c if c.isalnum() else "-" for c in request.node.name.lower())[-50:].strip("-")


def own_files(there: World, name: str) -> Path:
    return there.home(name) / ".hermes-bot"


async def started(there: World, name: str) -> str:
    """A sandbox whose Studio was started once, with a sign-in of ours."""
    sandbox = await there.provisioned(name)
    await there.guest.start_studio(sandbox, port=9000, auth="auto")
    return sandbox


async def again(there: World, name: str, sandbox: str) -> str:
    """The home in a new sandbox."""
    await there.guest.stop_studio(sandbox)
    await there.cube.kill(sandbox)
    return await there.provisioned(name)


async def ask(there: World, sandbox: str, path: str, body: Any, bearer: str = "none") -> httpx.Response:
    """Through the proxy, as a browser does."""
    headers = {"Host": f"9000-{sandbox}.localhost", "Authorization": f"Bearer {bearer}"}
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(f"{there.studio._proxy}{path}", headers=headers, json=body)


async def log_in(there: World, sandbox: str, password: str) -> httpx.Response:
    return await ask(there, sandbox, "/api/auth/login", {"username": "admin", "password": password})


async def change_password(there: World, name: str, sandbox: str, new: str) -> None:
    """What a person does in Studio's settings."""
    access = await there.node.read_access(places_of(name))
    assert access
    bearer = (await log_in(there, sandbox, access.password)).json()["token"]
    body = {"currentPassword": access.password, "newPassword": new}
    answer = await ask(there, sandbox, "/api/auth/change-password", body, bearer)
    assert answer.status_code == 200


def failures(there: World, name: str) -> int:
    """Failed sign-ins that Studio has counted."""
    locks = own_files(there, name) / "web-ui/.login-lock.json"
    return len(json.loads(locks.read_text())["failures"]) if locks.exists() else 0


async def test_a_password_that_the_owner_changed_is_kept_and_told(real: World, name: str) -> None:
    first = await started(real, name)
    await change_password(real, name, first, OWN)
    sandbox = await again(real, name, first)

    studio = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert studio.sign_in is SignIn.CHANGED
    assert not studio.first_login_replaced
    assert (await log_in(real, sandbox, OWN)).status_code == 200
    assert await real.node.read_access(places_of(name)) == StoredAccess(
        generation=Generation.USERS, username="admin", sign_in=SignIn.CHANGED
    )
    mode = (own_files(real, name) / "access.json").stat().st_mode
    assert oct(mode & 0o777) == "0o600"


async def test_starting_again_and_again_stays_away_from_studio_s_lock(real: World, name: str) -> None:
    sandbox = await started(real, name)
    await change_password(real, name, sandbox, OWN)
    counts = [failures(real, name)]
    for _ in range(3):
        studio = await real.guest.start_studio(sandbox, port=9000, auth="auto")
        counts.append(failures(real, name))

    assert studio.sign_in is SignIn.CHANGED
    assert [after - before for before, after in pairwise(counts)] == [2, 1, 1]
    assert (await log_in(real, sandbox, OWN)).status_code == 200


@pytest.mark.parametrize(
    "content",
    ["", "{", '{"generation": "users", "username": "admin"}'],
    ids=["missing", "damaged", "incomplete"],
)
async def test_a_lost_or_damaged_record_locks_nobody_out(real: World, name: str, content: str) -> None:
    sandbox = await started(real, name)
    record = own_files(real, name) / "access.json"
    password = json.loads(record.read_text())["password"]
    record.write_text(content)
    if not content:
        record.unlink()

    studio = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    access = await real.node.read_access(places_of(name))
    assert studio.sign_in is SignIn.CHANGED
    assert access == StoredAccess(generation=Generation.USERS, sign_in=SignIn.CHANGED)
    assert (await log_in(real, sandbox, password)).status_code == 200


@pytest.mark.parametrize("record", ["right", "marked", "missing"])
async def test_the_password_that_everybody_knows_is_replaced_on_old_accounts_too(
    real: World, name: str, record: str
) -> None:
    sandbox = await started(real, name)
    await change_password(real, name, sandbox, OWN if record == "marked" else FIRST)
    if record == "marked":
        await real.guest.start_studio(sandbox, port=9000, auth="auto")
        bearer = (await log_in(real, sandbox, OWN)).json()["token"]
        body = {"currentPassword": OWN, "newPassword": FIRST}
        await ask(real, sandbox, "/api/auth/change-password", body, bearer)
    if record == "missing":
        (own_files(real, name) / "access.json").unlink()

    studio = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    access = await real.node.read_access(places_of(name))
    assert (studio.sign_in, studio.first_login_replaced) == (SignIn.KNOWN, True)
    assert access
    assert (await log_in(real, sandbox, access.password)).status_code == 200
    assert (await log_in(real, sandbox, FIRST)).status_code == 401


async def test_who_comes_first_to_the_first_login_is_not_taken_for_the_owner(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    found = await real.cube.run(sandbox, "command -v hermes-web-ui")
    program = found.stdout.strip()
    await real.cube.run(sandbox, f"mv {program} {program}.real")
    script = TAKEN.format(program=program)
    await real.cube.run(sandbox, f"cat > {program} <<'END'\n{script}END\nchmod 755 {program}")

    codes = []
    for _ in range(2):
        with pytest.raises(GuestError) as failed:
            await real.guest.start_studio(sandbox, port=9000, auth="auto")
        codes.append(failed.value.code)

    assert codes == ["studio-login-failed"] * 2
    assert "after its start" in str(failed.value)
    assert await real.node.read_access(places_of(name)) is None


async def test_a_lock_on_sign_ins_is_no_failure_and_forgets_nothing(real: World, name: str) -> None:
    sandbox = await started(real, name)
    before = await real.node.read_access(places_of(name))
    locks = {"addresses": {}, "failures": [], "locked_until": time.time() + 600}
    (own_files(real, name) / "web-ui/.login-lock.json").write_text(json.dumps(locks))

    studio = await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert studio.sign_in is SignIn.NOT_TOLD
    assert await real.node.read_access(places_of(name)) == before


async def test_a_lock_while_the_first_login_is_open_is_a_failure(real: World, name: str) -> None:
    sandbox = await real.provisioned(name)
    web_home = own_files(real, name) / "web-ui"
    web_home.mkdir()
    locks = {"addresses": {}, "failures": [], "locked_until": time.time() + 600}
    (web_home / ".login-lock.json").write_text(json.dumps(locks))

    with pytest.raises(GuestError) as failed:
        await real.guest.start_studio(sandbox, port=9000, auth="auto")

    assert failed.value.code == "studio-login-failed"


async def test_a_token_that_studio_made_anew_is_the_one_that_is_stored(real: World, name: str) -> None:
    sandbox = await real.provisioned(name, template="hermes-studio-legacy")
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    before = await real.node.read_access(places_of(name))
    await real.guest.stop_studio(sandbox)
    (own_files(real, name) / "web-ui/.token").unlink()

    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    after = await real.node.read_access(places_of(name))
    assert before
    assert after
    assert after.token == (own_files(real, name) / "web-ui/.token").read_text().strip() != before.token


async def test_a_token_from_the_launch_environment_wins_over_an_old_file(real: World, name: str) -> None:
    token = "5a" * 32
    sandbox = await real.provisioned(name, template="hermes-studio-legacy")
    await real.guest.start_studio(sandbox, port=9000, auth="auto")
    await real.node.prepare(places_of(name), launch_env={"AUTH_TOKEN": token}, min_free_bytes=0)

    await real.guest.start_studio(sandbox, port=9000, auth="auto")

    access = await real.node.read_access(places_of(name))
    assert access
    assert access.token == token


async def test_the_double_knows_an_owner_s_password_and_a_lock_too(name: str) -> None:
    cube, node = MemoryCube(), MemoryNode()
    guest = MemoryGuest(cube, node)
    await node.prepare(places_of(name), launch_env={}, min_free_bytes=0)
    sandbox = (await cube.create(spec_of(name))).sandbox_id
    told = [await guest.start_studio(sandbox, port=9000, auth="auto")]
    guest.sign_ins_locked = True
    told.append(await guest.start_studio(sandbox, port=9000, auth="auto"))
    guest.sign_ins_locked, node.homes[name].password_changed = False, True

    told.append(await guest.start_studio(sandbox, port=9000, auth="auto"))

    assert [studio.sign_in for studio in told] == [SignIn.KNOWN, SignIn.NOT_TOLD, SignIn.CHANGED]
    assert await node.read_access(places_of(name)) == StoredAccess(
        generation=Generation.USERS, username="admin", sign_in=SignIn.CHANGED
    )
