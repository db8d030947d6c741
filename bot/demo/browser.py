"""What a person does in the browser after *Open Studio*: sign in, talk, read back; and files inside."""

import re
from typing import Any

import aiohttp

from bot.demo.control import Control


class Studio:
    """A Studio opened with what the modal showed. Talks through the proxy, like a browser."""

    def __init__(self, session: aiohttp.ClientSession, proxy: str, sandbox: str, token: str) -> None:
        self._session = session
        self._base = f"http://{proxy}"
        self._sandbox = sandbox
        self._token = token

    async def say(self, conversation: str, text: str) -> None:
        """One message in a conversation."""
        await self._call(9000, "POST", "/api/chat", json={"session": conversation, "text": text})

    async def history(self, conversation: str) -> list[str]:
        """The texts of a conversation, oldest first."""
        found = await self._call(9000, "GET", f"/api/sessions/{conversation}/messages")
        messages = found["messages"] if isinstance(found, dict) else found
        return [f"{message['role']}: {message['content']}" for message in messages]

    async def write_file(self, path: str, text: str) -> None:
        """A file inside the sandbox, through Cube's command service."""
        query = {"path": path, "username": "root"}
        await self._call(49983, "POST", "/files", params=query, data=text.encode())

    async def read_file(self, path: str) -> str:
        """Its content."""
        query = {"path": path, "username": "root"}
        return str(await self._call(49983, "GET", "/files", params=query))

    async def _call(self, port: int, method: str, path: str, **arguments: Any) -> Any:
        headers = {"Host": f"{port}-{self._sandbox}.localhost", "Authorization": f"Bearer {self._token}"}
        if port == 49983:  # noqa: PLR2004 - envd: the user is root, as the SDK sends it
            headers["Authorization"] = aiohttp.BasicAuth("root").encode()
            headers["Content-Type"] = "application/octet-stream"
        async with self._session.request(method, self._base + path, headers=headers, **arguments) as answer:
            answer.raise_for_status()
            return await (answer.json() if answer.content_type == "application/json" else answer.text())


async def open_studio(
    control: Control, session: aiohttp.ClientSession, proxy: str, *, user: str, sandbox: str
) -> tuple[Studio, dict[str, Any]]:
    """Sign in with what the person's own modal shows; gives the Studio and the modal."""
    view = await control.until("the access modal", lambda: _revealed(control, user), seconds=20)
    address, username, password, token = sign_in_of(view)
    if not token:
        body = {"username": username, "password": password}
        host = {"Host": re.sub(r"^https?://([^:/]+).*$", r"\1", address)}
        async with session.post(f"http://{proxy}/api/auth/login", json=body, headers=host) as answer:
            answer.raise_for_status()
            token = (await answer.json())["token"]
    return Studio(session, proxy, sandbox, token), view


def sign_in_of(view: dict[str, Any]) -> tuple[str, str, str, str]:
    """(address, user name, password, token) as the modal shows them."""
    texts = "\n".join(_strings(view))
    address = re.search(r"https?://9000-[0-9a-f]+\.[^\s\"|>`]+", texts)
    token = re.search(r"[?&]token=([0-9a-f]{64})", texts)
    username, password = (re.search(rf"\*{label}\*\n`([^`]+)`", texts) for label in ("User name", "Password"))
    return (
        address[0] if address else "",
        username[1] if username else "",
        password[1] if password else "",
        token[1] if token else "",
    )


async def _revealed(control: Control, user: str) -> dict[str, Any] | None:
    views = await control.views(user)
    return next((view for view in views if sign_in_of(view)[0]), None)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return []
