"""Counters of 32 bits that begin again at 0 after 4,294,967,295."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_RANGE: Final = 2**32


@dataclass(slots=True)
class Unwrapped:
    """Counters that never go back while their queue lives.

    A counter that is smaller than before has either wrapped or been set back with its queue. What
    tells the two apart is the number of bytes, which has 64 bits: if it went back, or the queue
    got another handle, all have begun anew. Between two readings a counter must wrap no more than
    once: at a million packets a second it takes 71 minutes.
    """

    _raw: dict[str, int] = field(default_factory=dict)
    _added: dict[str, int] = field(default_factory=dict)
    _bytes: int = 0
    _life: int | None = None

    def take(self, counters: dict[str, int], sent_bytes: int, life: int) -> dict[str, int]:
        """The counters without wraps.

        Args:
            counters: as the kernel says them.
            sent_bytes: at the same moment.
            life: what differs from one queue at this place to the next (its handle).
        """
        if life != self._life or sent_bytes < self._bytes:
            self._raw.clear()
            self._added.clear()
        self._life, self._bytes = life, sent_bytes
        for name, value in counters.items():
            if value < self._raw.get(name, 0):
                self._added[name] = self._added.get(name, 0) + _RANGE
            self._raw[name] = value
        return {name: value + self._added.get(name, 0) for name, value in counters.items()}

    @property
    def now(self) -> dict[str, int]:
        """The counters as they were last taken, without wraps."""
        return {name: value + self._added.get(name, 0) for name, value in self._raw.items()}
