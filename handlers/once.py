"""Slack may deliver an envelope twice; the second one is recognised here and does nothing."""

from collections import OrderedDict


class Once:
    """Remembers the latest keys. One process only: across replicas the audit log's claims decide."""

    def __init__(self, capacity: int = 4_096) -> None:
        self._capacity = capacity
        self._seen: OrderedDict[str, None] = OrderedDict()

    def first(self, key: str) -> bool:
        """Whether this key is new. An empty key tells nothing apart, so it always counts as new."""
        if not key:
            return True
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > self._capacity:
            self._seen.popitem(last=False)
        return True
