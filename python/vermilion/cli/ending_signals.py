"""SIGTERM and SIGHUP end a command as Ctrl-C does: with what it has, and nothing half written."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS: Final = ("SIGTERM", "SIGHUP")
_SIGNALLED: Final = 128


class EndingSignals:
    """What has ended a command, beside Ctrl-C.

    Attributes:
        number: of the first such signal; ``None`` where there was none.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    def exit_code(self, interrupted: int) -> int:
        """What the shell is told of a command that was ended: 143 after SIGTERM, 129 after SIGHUP.

        Args:
            interrupted: the code after Ctrl-C.
        """
        return interrupted if self.number is None else _SIGNALLED + self.number

    def answer(self, number: int, frame: FrameType | None) -> None:
        """Does whatever Ctrl-C would do at this moment.

        Raises:
            KeyboardInterrupt: unless somebody answers to Ctrl-C in another way.
        """
        if self.number is None:
            self.number = number
        at_interrupt = signal.getsignal(signal.SIGINT)
        # A shell has the commands behind "&" ignore Ctrl-C, but not these signals.
        if callable(at_interrupt):
            at_interrupt(signal.SIGINT, frame)
        else:
            raise KeyboardInterrupt


@contextmanager
def like_interrupts() -> Iterator[EndingSignals]:
    """Within it, the signals that end programs count as Ctrl-C.

    Signals that are ignored, or that somebody else answers, stay as they are. So do all of them
    where another thread than the first works.
    """
    ending = EndingSignals()
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, ending.answer)
    try:
        yield ending
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
