"""Uploaded files. What has been shared is kept on disk, as the messages are that show it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(slots=True)
class File:
    """An uploaded file of ``length`` bytes. ``content`` is None until they have arrived."""

    id: str
    name: str
    upload_key: str
    length: int
    content: bytes | None = None
    mimetype: str = "application/octet-stream"
    title: str = ""
    alt: str = ""
    completed: bool = False


class Uploads:
    """The files of the workspace. ``folder`` has the facts and the bytes of each that was shared."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = {file.id: file for file in self._kept()}

    def add(self, file: File) -> None:
        """One whose bytes are still to come. It is forgotten at a restart, as an upload that broke off."""
        self._files[file.id] = file

    def find(self, file_id: str) -> File | None:
        """The file with this id."""
        return self._files.get(file_id)

    def values(self) -> list[File]:
        """All of them."""
        return [*self._files.values()]

    def awaited(self, key: str) -> File | None:
        """The file whose bytes go to this upload address."""
        return next((file for file in self._files.values() if file.upload_key == key), None)

    def complete(self, file: File) -> None:
        """It is shared from now on, and stays."""
        file.completed = True
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{file.id}.bytes").write_bytes(file.content or b"")
        facts = asdict(file)
        del facts["content"]
        written = self._folder / f"{file.id}.part"
        written.write_text(json.dumps(facts), encoding="utf-8")
        written.replace(self._folder / f"{file.id}.json")

    def _kept(self) -> list[File]:
        facts = sorted(self._folder.glob("*.json"))
        return [
            File(
                **json.loads(path.read_text(encoding="utf-8")),
                content=path.with_suffix(".bytes").read_bytes(),
            )
            for path in facts
        ]
