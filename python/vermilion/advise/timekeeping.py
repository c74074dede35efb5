"""Time limit of an answer, whatever the machine.

What is simulated is planned in packets, so that a slow machine has the answer of a fast one.
A machine that is slow, or has others to serve, may not get through that in the time that was
promised. So each stage has a moment at which it stops with what it has, and what is planned last is
planned by the pace of what went before. An answer that was cut short says so.

The first Ctrl-C only ends the search, with the answer so far: nothing is torn between two batches
of simulations. The second ends at once.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


AnyResults = TypeVar("AnyResults")

_HURRIED_STAGE: Final = 0.1
CAUTION: Final = 0.85
"""Of what the pace so far promises: the last runs of a batch do not keep all cores busy."""


HURRY_S: Final = 8.0
"""In which an answer is given to somebody who has pressed Ctrl-C."""


@dataclass(slots=True)
class Timekeeper:
    """The clock of an answer, the moment at which its present stage stops, and its pace.

    Attributes:
        clock: seconds from any moment, like :func:`time.monotonic`.
        until: when the present stage stops, on this clock; without end where nobody waits.
        simulated_s: seconds that batches took so far.
        packets: what they came to.
        was_up: whether anything was left out because of the time.
        ends: when all stages stop; without end until somebody is in a hurry.
        simulating: whether a batch is being simulated, which Ctrl-C ends.
    """

    clock: Callable[[], float] = time.monotonic
    until: float = math.inf
    simulated_s: float = 0.0
    packets: float = 0.0
    was_up: bool = False
    ends: float = math.inf
    simulating: bool = False

    @property
    def hurried(self) -> bool:
        """True if somebody wants the answer now."""
        return math.isfinite(self.ends)

    def hurry(self) -> None:
        """Ends all stages within :data:`HURRY_S` seconds, with what there is."""
        now = self.clock()
        self.ends = now + HURRY_S
        # The rest is for the stages to come: a search that nobody compares is no answer.
        self.until = min(self.until, now + _HURRIED_STAGE * HURRY_S)
        self.was_up = True

    @property
    def left_s(self) -> float:
        """Seconds until the present stage stops."""
        return max(self.until - self.clock(), 0.0)

    def simulated(self, simulate: Callable[[float | None], AnyResults]) -> AnyResults:
        """Results of a batch of simulations until the present stage stops.

        At the first Ctrl-C it begins anew: what fits into the moment that is left is an answer, and
        half a batch is none.

        Args:
            simulate: told when to stop.
        """
        self.simulating = True
        try:
            return simulate(None if math.isinf(self.until) else self.until)
        except KeyboardInterrupt:
            self.simulating = False
            if self.hurried:
                raise
            self.hurry()
            return simulate(self.until)
        finally:
            self.simulating = False

    def count(self, seconds: float, packets: float) -> None:
        """Takes a batch into account."""
        self.simulated_s += seconds
        self.packets += packets

    def in_time(self, packets: float) -> float:
        """Packets that can be simulated until the present stage stops, at most those asked for."""
        if not math.isfinite(self.until) or self.simulated_s <= 0.0:
            return packets
        pace = self.packets / self.simulated_s
        can = CAUTION * pace * self.left_s
        self.was_up = self.was_up or can < packets
        return min(packets, can)

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """A stage that may take this share of the time that is left."""
        usual = self.until
        if math.isfinite(usual):
            now = self.clock()
            self.until = now + share * max(usual - now, 0.0)
        try:
            yield
        finally:
            self.until = min(usual, self.ends)


@contextmanager
def answering_at_interrupt(keeper: Timekeeper) -> Iterator[None]:
    """Has the first Ctrl-C hurry the answer, wherever it comes.

    Where somebody else answers to Ctrl-C, or another thread than the first works, nothing changes.

    Args:
        keeper: of the answer's time.
    """
    before = signal.getsignal(signal.SIGINT)
    first = threading.current_thread() is threading.main_thread()
    if not first or before is not signal.default_int_handler:
        yield
        return

    def interrupted(_signal: int, _frame: object) -> None:
        if keeper.hurried or keeper.simulating:
            raise KeyboardInterrupt
        keeper.hurry()

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
