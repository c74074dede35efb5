"""Ctrl-C while an answer is sought: once, it ends the search with what there is; twice, at once.

Between two batches of simulations settings are drawn and results read. Nothing may be torn in the
middle there, so the first Ctrl-C is only remembered. A busy machine spends more of its time so.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.advise.timekeeping import Timekeeper


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
