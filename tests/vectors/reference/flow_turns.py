"""Flows that take turns, as RFC 8290 (section 4) and Linux's flow-queueing disciplines have them.

The rules:

- Each flow has a queue. One that is in no list and gets a packet becomes the last of the new
  queues, with a credit of one quantum.
- At a turn of the link the first new queue is looked at, or if there is none the first old one. One
  whose credit is not positive gets another quantum and becomes the last old one, and the next is
  looked at. Else it may send, and its credit falls by the bytes sent.
- If it is empty instead, it leaves the lists, except that a new one becomes the last old one while
  there are old ones.

The queues of a vector's flows differ: none depends on a hash. Its key is a coin drawn with the
first packet, unless `perturbation` gives it. With one queue for all it is that of flow 0.
"""

from collections import deque
from dataclasses import dataclass

from kept import Coin, Parcel
from vector_file import Parameters


@dataclass(frozen=True)
class Queued:
    """A packet in a flow's queue, and when it came."""

    parcel: Parcel
    arrived: int


class FlowTurns:
    """The queues and the two lists."""

    def __init__(self, parameters: Parameters) -> None:
        self._single = parameters["flows"] == 1.0
        self._keyed = parameters["perturbation"] is not None
        self.queues: dict[int, deque[Queued]] = {}
        self._credit: dict[int, int] = {}
        self._new: deque[int] = deque()
        self._old: deque[int] = deque()

    def draw_key(self, coin: Coin) -> None:
        """A packet comes: the first one lets the hash have its key."""
        if not self._keyed:
            coin()
        self._keyed = True

    def queue_of(self, parcel: Parcel) -> int:
        return 0 if self._single else parcel.flow

    def join(self, parcel: Parcel, now: int, quantum: int) -> None:
        queue = self.queue_of(parcel)
        self.queues.setdefault(queue, deque()).append(Queued(parcel, now))
        if queue not in self._new and queue not in self._old:
            self._new.append(queue)
            self._credit[queue] = quantum

    def first(self, quantum: int) -> int | None:
        """The queue that may send."""
        while self._new or self._old:
            listed = self._new or self._old
            queue = listed[0]
            if self._credit[queue] > 0:
                return queue
            self._credit[queue] += quantum
            self._old.append(listed.popleft())
        return None

    def found_empty(self, queue: int) -> None:
        if self._new:
            self._new.popleft()
            if self._old:
                self._old.append(queue)
        else:
            self._old.popleft()

    def charge(self, queue: int, size: int) -> None:
        self._credit[queue] -= size

    def backlog(self, queue: int) -> int:
        return sum(queued.parcel.size for queued in self.queues.get(queue, ()))

    def waiting(self) -> tuple[int, int]:
        """Packets and bytes in all queues."""
        return sum(map(len, self.queues.values())), sum(map(self.backlog, self.queues))
