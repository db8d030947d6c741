"""A person who changes the password in Studio keeps the home, the conversation, and the way in."""

import pytest
from e2e.installed import OPERATOR, Installed

from bot.demo.browser import Studio

pytestmark = [pytest.mark.sandbox, pytest.mark.asyncio(loop_scope="session")]

HOME = "own-password"
OWN = "EXAMPLE-of-my-own"


async def test_a_password_changed_in_studio_is_the_one_that_counts(site: Installed) -> None:
    created = await site.create(OPERATOR, f"home={HOME}")
    await created.press("hermes.open")
    studio, (_, username, password, _) = await site.studio(OPERATOR, await created.sandbox())
    await studio.say("first", "Good morning.")
    before = await studio.history("first")
    body = {"currentPassword": password, "newPassword": OWN}
    await call(site, await created.sandbox(), "/api/auth/change-password", body, studio._token)
    card = await site.type(OPERATOR, f"stop {HOME}")
    await card.press("hermes.stop.confirm")
    await card.saying("is gone")
    await site.control.post("/close", user=OPERATOR, clear=True)

    again = await site.create(OPERATOR, f"home={HOME}")
    sandbox = await again.sandbox()
    await again.press("hermes.open")
    window = await site.window(OPERATOR)

    told = await again.text()
    assert "The bot does not know the password of this Studio" in told
    assert "its password is the one that was set in Studio" in told
    assert "The password is the one that was set in Studio" in window
    assert f"9000-{sandbox}" in window
    assert username in window
    assert password not in window
    signed_in = await call(site, sandbox, "/api/auth/login", {"username": username, "password": OWN})
    mine = Studio(site.http, site.where["cube_proxy"], sandbox, signed_in["token"])
    assert await mine.history("first") == before
    assert OWN not in site.log()


async def call(
    site: Installed, sandbox: str, path: str, body: dict[str, str], bearer: str = "none"
) -> dict[str, str]:
    """As the person's browser does, through the proxy."""
    headers = {"Host": f"9000-{sandbox}.localhost", "Authorization": f"Bearer {bearer}"}
    url = f"http://{site.where['cube_proxy']}{path}"
    async with site.http.post(url, json=body, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        found: dict[str, str] = await answer.json()
        return found
