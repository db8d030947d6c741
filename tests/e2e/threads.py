"""A thread as a person follows it: what it says, what it ends with, and which buttons it offers."""

import re
from dataclasses import dataclass
from typing import Any

from bot.demo.control import Control
from bot.demo.reading import buttons, thread_text

OPERATOR = "U_OPERATOR"
ENDINGS = (":white_check_mark:", ":x:", ":warning:")
"""How the first message of a create begins once it is over."""

Message = dict[str, Any]
SECONDS = 40


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation: its first message and the replies."""

    control: Control
    channel: str
    ts: str
    home: str = ""

    async def messages(self) -> list[Message]:
        """The first message and its replies, as they stand."""
        return await self.control.messages(self.channel, self.ts)

    async def text(self) -> str:
        """All of it as a person reads it."""
        return thread_text(await self.messages())

    async def first(self) -> str:
        """The text of the first message."""
        return str((await self.messages())[0]["text"])

    async def ended(self, sign: str = "") -> str:
        """Wait until the first message says that it is over, and give the whole text."""

        async def over() -> bool:
            return (await self.first()).startswith(sign or ENDINGS)

        try:
            await self.control.until(f"the end of {self.home or self.ts}", over, seconds=SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}; the thread stands at\n{await self.text()}") from error
        return await self.text()

    async def holding(self, action: str) -> Message:
        """The newest message of the thread with this button, waited for."""

        async def look() -> Message | None:
            found = [m for m in await self.messages() if action in buttons(m)]
            return found[-1] if found else None

        try:
            message: Message = await self.control.until(f"a button {action}", look, seconds=SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}; the thread stands at\n{await self.text()}") from error
        return message

    async def saying(self, words: str) -> Message:
        """The newest message of the thread whose text holds these words, waited for."""

        async def look() -> Message | None:
            found = [m for m in await self.messages() if words in thread_text([m])]
            return found[-1] if found else None

        try:
            message: Message = await self.control.until(f"{words!r}", look, seconds=SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}; the thread stands at\n{await self.text()}") from error
        return message

    async def press(self, action: str, user: str = OPERATOR, *, message: Message | None = None) -> None:
        """Press a button of the thread."""
        where = message or await self.holding(action)
        # Stale, because a client may still show a button that an edit has just taken away.
        answer = await self.control.click(user, self.channel, where["ts"], action, stale=True)
        assert answer["outcome"] == "acked", answer

    async def sandbox(self) -> str:
        """The sandbox that the thread names last."""
        return str(re.findall(r"\b[0-9a-f]{32}\b", await self.text())[-1])
