"""Who has opened the App Home, and whose is just being drawn: what is never opened is never drawn."""

from collections import OrderedDict

from bot.domain.actors import Actor

MOST = 500
"""People whose Home is kept up to date; the one who opened it longest ago is forgotten first."""


class Homes:
    """Of this process alone: another one draws what was opened there."""

    def __init__(self) -> None:
        self._opened: OrderedDict[str, Actor] = OrderedDict()
        self._drawing: set[str] = set()
        self._again: set[str] = set()

    def opened(self, actor: Actor) -> None:
        """Somebody looks at it."""
        self._opened.pop(actor.id, None)
        self._opened[actor.id] = actor
        if len(self._opened) > MOST:
            self._opened.popitem(last=False)

    def of(self, user: str) -> Actor | None:
        """Whoever has opened theirs."""
        return self._opened.get(user)

    @property
    def nobody(self) -> bool:
        """Whether none was opened."""
        return not self._opened

    def begin(self, user: str) -> bool:
        """Whether to draw it now; while it is drawn already, it is to be drawn once more afterwards."""
        if user in self._drawing:
            self._again.add(user)
            return False
        self._drawing.add(user)
        return True

    def again(self, user: str) -> bool:
        """After a drawing: whether something has changed meanwhile. Otherwise the drawing has ended."""
        if user in self._again:
            self._again.discard(user)
            return True
        self._drawing.discard(user)
        return False

    def broken(self, user: str) -> None:
        """The drawing has ended without a result."""
        self._drawing.discard(user)
        self._again.discard(user)
