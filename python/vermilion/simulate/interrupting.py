"""Ctrl-C during a run: once, it ends the run with what has been simulated; twice, at once.

Between two steps of a simulation what was seen is taken and written. Nothing may be torn in the
middle there, so a Ctrl-C that comes then is only remembered.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion._core import Simulation


class Stepper:
    """Advances a simulation step by step.

    Attributes:
        keeps: whether Ctrl-C ends the run early; otherwise it is raised.
        interrupted: whether it has.
    """

    def __init__(self, *, keeps: bool) -> None:
        self.keeps = keeps
        self.interrupted = False
        self._advancing = False

    def advance(self, simulation: Simulation, until_ns: int) -> None:
        """Simulates until then, or until Ctrl-C.

        Raises:
            KeyboardInterrupt: at Ctrl-C, where nothing is to be kept.
        """
        try:
            try:
                self._advancing = True
                if not self.interrupted:
                    simulation.advance(until_ns)
            finally:
                self._advancing = False
        except KeyboardInterrupt:
            if not self.keeps:
                raise
            self.interrupted = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Has the first Ctrl-C end the run, wherever it comes, where it keeps what there is.

        Where somebody else answers to Ctrl-C, or another thread than the first works, only what
        comes during a step is answered.
        """
        before = signal.getsignal(signal.SIGINT)
        first = threading.current_thread() is threading.main_thread()
        if not self.keeps or not first or before is not signal.default_int_handler:
            yield
            return

        def interrupted(_signal: int, _frame: object) -> None:
            if self._advancing or self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
