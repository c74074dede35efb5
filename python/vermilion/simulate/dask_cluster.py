"""The workers of a Dask cluster (https://distributed.dask.org), as an executor of batches.

Dask itself gives the batches of a worker that dies to others; a batch that has been lost with
several workers, or that no worker is left for, is simulated here
(:mod:`vermilion.simulate.batches`).
Needs the extra ``dask``.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from vermilion.simulate.batches import LEAST_S, BatchRunner, ClusterError
from vermilion.simulate.extras import MissingPackageError, optional

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONNECT_S: Final = 10.0
"""Seconds within which a scheduler has to answer, and to have a worker."""

_PATIENCE_S: Final = 15.0
"""Seconds without any worker after which waiting is given up; one that is restarted needs a few."""

_RETRIES: Final = 2
"""How often a batch that fails on a worker is given to another."""


@contextmanager
def dask_workers(
    address: str, *, least_s: float = LEAST_S, connect_s: float | None = None
) -> Iterator[BatchRunner]:
    """The workers that a Dask scheduler has, for as long as the context lasts.

    Args:
        address: of the scheduler, like ``tcp://10.0.0.1:8786``.
        least_s: seconds of work in a batch.
        connect_s: within which the scheduler has to answer; ten by default.

    Raises:
        ClusterError: there is no Dask, no scheduler, or no worker.
    """
    try:
        distributed = optional("distributed", "--dask", "dask")
    except MissingPackageError as error:
        raise ClusterError(str(error)) from None
    connect_s = connect_s or _CONNECT_S
    # What Dask would log about workers that go is in the outcome's count of rescued batches.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=connect_s, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        message = (
            f'"{address}" is not reached ({reason}); expected the address of a Dask scheduler, '
            "like tcp://10.0.0.1:8786"
        )
        raise ClusterError(message) from None
    try:
        yield _runner(client, address, least_s, connect_s)
    finally:
        client.close()


def _runner(client: Any, address: str, least_s: float, connect_s: float) -> BatchRunner:  # noqa: ANN401 - an optional package has no types here
    try:
        client.wait_for_workers(1, timeout=connect_s)
    except TimeoutError:
        message = f'the scheduler "{address}" has no worker; expected at least one'
        raise ClusterError(message) from None
    cores = sum(client.nthreads().values())
    executor = client.get_executor(pure=False, retries=_RETRIES)
    return BatchRunner(executor, max(1, cores), least_s=least_s, alive=_Pulse(client).beats)


class _Pulse:
    """Whether a cluster still has workers, or had some a moment ago."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - dask has no types
        self._client = client
        self._last = time.monotonic()

    def beats(self) -> bool:
        """Asked while nothing comes back."""
        now = time.monotonic()
        try:
            if self._client.status == "running" and self._client.nthreads():
                self._last = now
        except (OSError, TimeoutError):
            pass
        return now - self._last < _PATIENCE_S
