"""Deficit round robin as a plug-in: see docs/own-discipline.md.

After M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995.
"""
# ruff: noqa: ARG002 - methods look at a part of what they are shown

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion import Scheduler, Verdict, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion._core import Coin, Packet, Queue

EXPEDITED = 46  # codepoint EF
QUANTUM = 1500  # bytes


class TwoWeights(Scheduler):
    """Gives packets of codepoint EF a queue, and so many times the bytes of all others."""

    name = "two-weights"
    parameters = (
        number("limit", "packets", 100, 1, 1e6, whole=True, meaning="what each queue holds"),
        number("weight", "1", 3, 0.1, 100, search=(0.5, 20), scale="log"),
    )
    queue_count = 2

    def __init__(self) -> None:
        self.turn, self.deficit = 0, [0.0, 0.0]

    def on_arrival(
        self,
        packet: Packet,
        queues: Sequence[Queue],
        coin: Coin,
    ) -> int | Verdict:
        """Sort by codepoint; drop what meets a full queue."""
        queue = queues[0 if packet.dscp == EXPEDITED else 1]
        return queue.number if queue.packets < self.limit else Verdict.OVERFLOW

    def choose(self, queues: Sequence[Queue], coin: Coin) -> int:
        """Stay with a queue while its deficit lasts; an empty one keeps none."""
        while True:
            head = queues[self.turn].head_size
            if head is not None and head <= self.deficit[self.turn]:
                self.deficit[self.turn] -= head
                return self.turn
            if head is None:
                self.deficit[self.turn] = 0.0
            self.turn = 1 - self.turn
            self.deficit[self.turn] += QUANTUM * (1 if self.turn else self.weight)
