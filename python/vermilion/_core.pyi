"""The simulator's core, written in Rust. Everything here speaks JSON in SI units."""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "OPTIMISED",
    "RANDOM_STREAMS",
    "VERSION",
    "ParameterError",
    "Simulation",
    "check",
    "disciplines",
    "run",
    "run_many",
    "senders",
]

VERSION: str
"""Version of the core; that of the package."""

OPTIMISED: bool
"""False for a core built without optimisation, which is many times slower."""

RANDOM_STREAMS: str
"""Name and version of the random number generator and of how streams derive from a seed."""

class ParameterError(ValueError):
    """A value that cannot be used; ``args`` are the field, the value, and what is accepted."""

def disciplines() -> str:
    """Return every queue discipline with its parameter table, as a JSON list."""

def senders() -> str:
    """Return every sender with its parameter table, as a JSON list."""

def check(scenario: str) -> None:
    """Build everything a core scenario names, and run nothing.

    Raises:
        ParameterError: The first field that cannot be used.
    """

def run(
    scenario: str, seed: int, distributions: bool = False
) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
    """Run a core scenario to its end.

    With ``distributions`` the metrics of links include the distribution of waiting times.

    Returns:
        The metrics as JSON, and for each link its time series (empty without a probe interval).
    """

def run_many(
    scenarios: Sequence[str],
    jobs: Sequence[tuple[int, int]],
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
    deadline_s: float | None = None,
    distributions: bool = False,
) -> list[str | None]:
    """Run pairs of (number of a scenario, seed) on all cores, or on ``threads`` threads.

    Python's lock is released meanwhile. ``progress`` is called with the number of finished runs
    about every 50 ms, from the calling thread. What ``deadline_s`` seconds cut short is None.
    """

@final
class Simulation:
    """A network that is advanced step by step."""

    def __new__(cls, scenario: str, seed: int, distributions: bool = False) -> Simulation: ...
    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""

    def advance(self, until_ns: int) -> None:
        """Process every event up to and including ``until_ns``, at most the duration."""

    def counters(self, link: str) -> dict[str, int]:
        """Return what a router exports about the queue of a link, cumulative since time 0."""

    def active_flows(self) -> int:
        """Return the number of flows that have begun and not ended."""

    def take_rtt_samples(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return flow numbers and round-trip times (ns) timed since the last call."""

    def set_queue(self, link: str, parameters: str) -> None:
        """Replace parameters of a queue now; those not named stay.

        Raises:
            ParameterError: A value that the discipline refuses; then nothing has changed.
        """

    def queue_parameters(self, link: str) -> str:
        """Return every parameter of a queue in force, as a JSON object."""

    def result(self) -> tuple[str, dict[str, dict[str, NDArray[np.float64]]]]:
        """Return metrics and time series up to now, as ``run`` does."""
