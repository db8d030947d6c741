"""A region of the page as keyed pieces, so that only those that changed are sent again."""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.standin.console.markup import escape


@dataclass(frozen=True, slots=True)
class Piece:
    """One child of a region.

    Attributes:
        key: names it within its region.
        signature: everything that its HTML is made of; equal signatures mean equal HTML.
        render: makes the HTML. Called only when the signature is new.
    """

    key: str
    signature: Hashable
    render: Callable[[], str]


Regions = Mapping[str, Sequence[Piece]]


@dataclass(slots=True)
class _Known:
    signature: Hashable
    revision: str
    shown: str


@dataclass(slots=True)
class Memory:
    """What one open page has been sent already. ``latest`` is the newest message of each channel."""

    latest: dict[str, str] = field(default_factory=dict)

    _regions: dict[str, dict[str, _Known]] = field(default_factory=dict)

    def whole(self, region: str, pieces: Sequence[Piece]) -> str:
        """All pieces of a region as HTML."""
        self.news(region, pieces)
        return "".join(self._regions[region][piece.key].shown for piece in pieces)

    def news(self, region: str, pieces: Sequence[Piece]) -> dict[str, Any] | None:
        """``{"order": [[key, revision]], "html": {key: html}}`` with the new pieces, or None without any."""
        known = self._regions.get(region)
        before = known or {}
        now: dict[str, _Known] = {}
        fresh: dict[str, str] = {}
        for piece in pieces:
            old = before.get(piece.key)
            if old is not None and old.signature == piece.signature:
                now[piece.key] = old
                continue
            shown, revision = _wrapped(piece)
            now[piece.key] = _Known(piece.signature, revision, shown)
            if old is None or old.revision != revision:
                fresh[piece.key] = shown
        self._regions[region] = now
        if known is not None and not fresh and list(before) == list(now):
            return None
        return {"order": [[key, one.revision] for key, one in now.items()], "html": fresh}


def _wrapped(piece: Piece) -> tuple[str, str]:
    body = piece.render()
    revision = hashlib.blake2s(body.encode(), digest_size=6).hexdigest()
    start = f'<div class="piece" data-key="{escape(piece.key)}" data-rev="{revision}">'
    return f"{start}{body}</div>", revision
