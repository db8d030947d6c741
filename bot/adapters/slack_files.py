"""The whole of a message that had to be cut, as a text file in its thread."""

import logging
from dataclasses import dataclass

from bot.adapters.slack_calls import SlackCalls
from bot.adapters.slack_pace import Turns
from bot.domain.errors import ChatError

logger = logging.getLogger(__name__)

NAME = "whole-message.txt"
TITLE = "The whole message"
ALT = "The whole text of a message that was cut because Slack takes no longer ones"
ATTACHED = "This is not all of it; the whole is a file in this thread."
NOT_ATTACHED = "This is not all: Slack takes no longer messages, and the whole could not be attached ({why})."
PERHAPS = (
    "This is not all: Slack takes no longer messages. Slack did not confirm the file with the whole of it;"
    " it may be in this thread."
)
NO_PLACE = "This is not all: Slack takes no longer messages."


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that Slack has and shows nobody yet, or why it has none."""

    file_id: str = ""
    why: str = ""

    @property
    def line(self) -> str:
        """What the cut message says about its file."""
        return ATTACHED if self.file_id else NOT_ATTACHED.format(why=self.why)


class WholeTexts:
    """Uploads in two halves: the bytes come first, so that the message can say whether there is a file."""

    def __init__(self, calls: SlackCalls) -> None:
        self._calls = calls

    async def store(self, text: str) -> Stored:
        """Upload. Never raises ``ChatError``: the message goes out without its file too."""
        content = text.encode()
        query = {"filename": NAME, "length": str(len(content)), "alt_txt": ALT}
        try:
            place = await self._calls.web("files.getUploadURLExternal", query, repeatable=True, how="form")
            await self._calls.upload(str(place["upload_url"]), content)
        except ChatError as error:
            logger.warning("the whole of a cut message could not be uploaded: %s", error.code)
            return Stored(why=error.code)
        return Stored(str(place["file_id"]))

    async def share(self, stored: Stored, channel: str, thread_ts: str, turns: Turns) -> str:
        """Show the file in the thread. Gives what the message has to say instead; empty when all is well."""
        listed = [{"id": stored.file_id, "title": TITLE}]
        shown = {"files": listed, "channel_id": channel, "thread_ts": thread_ts}
        try:
            await self._calls.web("files.completeUploadExternal", shown, turns=turns)
        except ChatError as error:
            logger.warning("the whole of a cut message could not be shown in %s: %s", channel, error.code)
            return PERHAPS if error.code == "post-unknown" else NOT_ATTACHED.format(why=error.code)
        return ""
