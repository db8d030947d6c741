"""Finds the secrets that the process knows, in every encoding they may have left in.

A known secret of six or more characters is found as it is, percent-encoded, JSON- or Slack-escaped, broken by
line ends, and inside base64 at each of its three alignments. Shorter ones would damage ordinary words; they
are hidden by the name they stand under.
"""

import base64
import re
from collections.abc import Collection, Iterator
from threading import Lock
from typing import NamedTuple

from bot.adapters.redaction_views import Reading, blanks_for_plus, fold_blanks, join_lines, readings

MIN_LENGTH = 6
"""Characters; a shorter secret is not looked for outside the values of secret names."""

_FEW = 400  # forms; up to here it is faster to ask for each of them than to look every position up
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]")


class Hit(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) of a text come from ``secret``."""

    start: int
    end: int
    secret: str


class _Form(NamedTuple):
    """One way in which a secret is written; ``lead`` and ``trail`` neighbours carry some of its bits."""

    written: str
    secret: str
    lead: bool = False
    trail: bool = False
    padded: bool = False


class KnownSecrets:
    """An index of known secrets. Learning is cheap and may happen in any thread while others look."""

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._lock = Lock()
        self._secrets: frozenset[str] = frozenset()
        self._forms: tuple[str, ...] = ()
        self._by_beginning: dict[str, tuple[_Form, ...]] = {}
        self._blanks = False

    def __contains__(self, secret: object) -> bool:
        return secret in self._secrets

    def learn(self, secrets: Collection[str]) -> None:
        """Add these; a known, short or wholly blank one adds no form to look for.

        The line end behind a secret that was read from a file is not part of it.
        """
        wanted = {each for secret in secrets if secret.strip() for each in (secret, secret.strip())}
        if wanted <= self._secrets:
            return
        with self._lock:
            written: list[str] = []
            for secret in wanted - self._secrets:
                for form in _forms(secret):  # all of them stand for the secret without blanks around it
                    if form.written in self._marker:
                        continue  # hiding the marker would add another marker, for ever
                    beginning = form.written[:MIN_LENGTH]
                    longest_first = sorted(
                        {*self._by_beginning.get(beginning, ()), form}, key=lambda each: -len(each.written)
                    )
                    self._by_beginning[beginning] = tuple(longest_first)
                    written.append(form.written)
            self._blanks = self._blanks or any(" " in secret or "\t" in secret for secret in wanted)
            self._forms = (*self._forms, *written)
            self._secrets |= wanted

    def hits(self, text: str) -> list[Hit]:
        """Where known secrets stand in the text, in no particular order; hits may overlap."""
        if not self._forms or len(text) < MIN_LENGTH:
            return []
        return [
            hit
            for reading in readings(text, blanks=self._blanks)
            if self._suspect(reading.text)
            for hit in self._found(reading)
        ]

    def _suspect(self, text: str) -> bool:
        forms = self._forms
        return len(forms) > _FEW or any([form in text for form in forms])  # noqa: C419 -- a list is faster than a generator here

    def _found(self, reading: Reading) -> Iterator[Hit]:
        text, by_beginning = reading.text, self._by_beginning
        for start in range(len(text) - MIN_LENGTH + 1):
            for form in by_beginning.get(text[start : start + MIN_LENGTH], ()):
                if text.startswith(form.written, start):
                    yield Hit(*reading.origin(*_with_neighbours(text, start, form)), form.secret)


def _with_neighbours(text: str, start: int, form: _Form) -> tuple[int, int]:
    end = start + len(form.written)
    if form.lead and start and _BASE64.match(text, start - 1):
        start -= 1
    if form.trail and _BASE64.match(text, end):
        end += 1
    while form.padded and text.startswith("=", end):
        end += 1
    return start, end


def _forms(secret: str) -> Iterator[_Form]:
    """The forms to look for in any reading of a text; what a reading decodes needs no form of its own."""
    plain = {secret, join_lines(secret), fold_blanks(secret)}
    plain |= {blanks_for_plus(each) for each in plain}
    for written in plain:
        if len(written) >= MIN_LENGTH:
            yield _Form(written, secret.strip())
    if len(secret) >= MIN_LENGTH:
        yield from _base64_forms(secret)


def _base64_forms(secret: str) -> Iterator[_Form]:
    raw = secret.encode("utf-8", "surrogatepass")
    for offset in range(3):  # bytes of other text before it, modulo the three bytes that make four characters
        encoded = base64.b64encode(bytes(offset) + raw).decode("ascii")
        first = (offset * 8 + 5) // 6
        last = (offset + len(raw)) * 8 // 6
        trail = (offset + len(raw)) * 8 % 6 != 0
        core = encoded[first:last]
        for written in {core, core.replace("+", "-").replace("/", "_"), blanks_for_plus(core)}:
            yield _Form(written, secret.strip(), lead=offset > 0, trail=trail, padded=True)
