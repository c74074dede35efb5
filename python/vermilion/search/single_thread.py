"""Linear algebra on one thread.

Libraries for linear algebra spread a product of matrices over all cores. While simulations keep
these busy, each core then waits for the others: choosing two points took ten times as long. And how
sums are rounded would depend on the number of cores, and so might what a search tries next.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadpoolctl import ThreadpoolController


@contextmanager
def single_thread() -> Iterator[None]:
    """Within, the libraries that numpy and scipy use take one thread."""
    _LIMIT.need()
    try:
        yield
    finally:
        _LIMIT.leave()


class _Limit:
    """One for the process: the first who needs it sets it, the last restores what was before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._needed = 0
        self._set: Any = None

    def need(self) -> None:
        with self._lock:
            if self._needed == 0:
                self._set = _controller().limit(limits=1)
            self._needed += 1

    def leave(self) -> None:
        with self._lock:
            self._needed -= 1
            if self._needed == 0:
                self._set.restore_original_limits()


_LIMIT: Final = _Limit()


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are there when it is first asked for: import scipy.linalg before."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
