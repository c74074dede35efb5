"""Linear algebra on one thread.

Libraries for linear algebra spread a product of matrices over all cores. While simulations keep
these busy, each core then waits for the others: choosing two points took ten times as long. And how
sums are rounded would depend on the number of cores, and so might what a search tries next.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from threadpoolctl import ThreadpoolController


@contextmanager
def single_thread() -> Iterator[None]:
    """Within, the libraries that numpy and scipy use take one thread."""
    with _controller().limit(limits=1):
        yield


@cache
def _controller() -> ThreadpoolController:
    """Of the libraries that are there when it is first asked for: import scipy.linalg before."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
