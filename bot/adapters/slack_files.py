"""The file of a message, in its thread: the whole of one that had to be cut, or what it brings along."""

import logging
from dataclasses import dataclass

from bot.adapters.slack_calls import SlackCalls
from bot.adapters.slack_pace import Turns
from bot.domain.errors import ChatError
from bot.ports import Attachment

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
class Enclosure:
    """A file that belongs to a message, and what the message says about it; ``text`` is redacted."""

    text: str
    name: str = NAME
    title: str = TITLE
    alt: str = ALT
    attached: str = ATTACHED
    not_attached: str = NOT_ATTACHED
    perhaps: str = PERHAPS
    no_place: str = NO_PLACE


def whole_text(text: str) -> Enclosure:
    """All that a cut message says."""
    return Enclosure(text)


def brought_along(attachment: Attachment, text: str) -> Enclosure:
    """What a message brings along; ``text`` is its content without secrets."""
    named = attachment.title
    return Enclosure(
        text,
        name=attachment.name,
        title=named,
        alt=named,
        attached=f"{named}: a file in this thread.",
        not_attached=f"{named}: the file could not be attached ({{why}}). Please ask again.",
        perhaps=f"{named}: Slack did not confirm the file; it may be in this thread, else ask again.",
        no_place=f"{named}: no file can stand here.",
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that Slack has and shows nobody yet, or why it has none."""

    file: Enclosure
    file_id: str = ""
    why: str = ""

    @property
    def line(self) -> str:
        """What the message says about its file."""
        return self.file.attached if self.file_id else self.file.not_attached.format(why=self.why)


class Files:
    """Uploads in two halves: the bytes come first, so that the message can say whether there is a file."""

    def __init__(self, calls: SlackCalls) -> None:
        self._calls = calls

    async def store(self, file: Enclosure) -> Stored:
        """Upload. Never raises ``ChatError``: the message goes out without its file too."""
        content = file.text.encode()
        query = {"filename": file.name, "length": str(len(content)), "alt_txt": file.alt}
        try:
            place = await self._calls.web("files.getUploadURLExternal", query, repeatable=True, how="form")
            await self._calls.upload(str(place["upload_url"]), content)
        except ChatError as error:
            logger.warning("the file of a message could not be uploaded: %s", error.code)
            return Stored(file, why=error.code)
        return Stored(file, str(place["file_id"]))

    async def share(self, stored: Stored, channel: str, thread_ts: str, turns: Turns) -> str:
        """Show the file in the thread. Gives what the message has to say instead; empty when all is well."""
        file = stored.file
        listed = [{"id": stored.file_id, "title": file.title}]
        shown = {"files": listed, "channel_id": channel, "thread_ts": thread_ts}
        try:
            await self._calls.web("files.completeUploadExternal", shown, turns=turns)
        except ChatError as error:
            logger.warning("the file of a message could not be shown in %s: %s", channel, error.code)
            return file.perhaps if error.code == "post-unknown" else file.not_attached.format(why=error.code)
        return ""
