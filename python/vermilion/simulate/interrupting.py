"""Ctrl-C during a run: once, it ends the run with the results so far; twice, at once.

A Ctrl-C may come while what was seen is taken and written, or in the middle of a discipline in
Python. Nothing may be torn there, so it is only remembered, and the simulation goes on in slices
so short that a person does not notice.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion._core import Simulation

_SLICE_S: Final = 0.1
"""Wall seconds that a slice should take."""
_FIRST_SLICE_NS: Final = 1_000_000
_SHORTEST_SLICE_NS: Final = 1_000


class Stepper:
    """Advance a simulation step by step.

    Attributes:
        keeps: whether Ctrl-C ends the run early; otherwise it is raised.
        interrupted: whether it has.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self.interrupted = False
        self._slice_ns = _FIRST_SLICE_NS

    def advance(self, simulation: Simulation, until_ns: int) -> None:
        """Simulate up to a time, until Ctrl-C, or until records should be taken.

        Raises:
            KeyboardInterrupt: at Ctrl-C, where nothing is to be kept, or at a second one.
        """
        if not self.keeps:
            simulation.advance(until_ns)
            return
        while not self.interrupted and simulation.now_ns < until_ns:
            begin = time.monotonic()
            simulation.advance(min(until_ns, simulation.now_ns + self._slice_ns))
            if simulation.paused:
                return
            if time.monotonic() - begin < _SLICE_S:
                self._slice_ns *= 2
            else:
                self._slice_ns = max(_SHORTEST_SLICE_NS, self._slice_ns // 2)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Make the first Ctrl-C end the run, where it keeps the results so far.

        Where somebody else answers to Ctrl-C, or another thread than the first works, nothing
        changes.
        """
        before = signal.getsignal(signal.SIGINT)
        first = threading.current_thread() is threading.main_thread()
        if not self.keeps or not first or before is not signal.default_int_handler:
            yield
            return

        def interrupted(_signal: int, _frame: object) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
