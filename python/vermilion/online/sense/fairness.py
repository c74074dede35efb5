"""How alike the flows fare, from what each of them moved in each second.

How unequal flows are is no mean over seconds, because in a second chance makes every flow differ.
So it is taken over the whole stretch, and its confidence from leaving out one second after the
other (the jackknife: M. H. Quenouille, "Notes on bias in estimation", Biometrika 43, 1956; J. W.
Tukey, "Bias and confidence in not-quite large samples", Annals of Mathematical Statistics 29,
1958), which also takes away most of what a short stretch has too much of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from vermilion.simulate.statistics import Interval


def jackknifed(
    goodput: NDArray[np.float64] | None,
    of: Callable[[NDArray[np.float64]], float],
    fewest: int,
    confidence: float,
) -> Interval | None:
    """A number of the flows' goodputs over a whole stretch, with its jackknife interval.

    ``None`` where it is too short, or nothing was moved.

    Args:
        goodput: bit/s of each flow (columns) in each second (rows); ``None`` where nobody knows.
        of: the number, of one goodput for each flow.
        fewest: seconds without which nothing is said.
        confidence: of the interval.
    """
    from vermilion.simulate.statistics import mean_interval

    if goodput is None or len(goodput) < fewest:
        return None
    count, total = len(goodput), goodput.sum(axis=0)
    if total.sum() <= 0.0:
        return None
    whole = of(total / count)
    without = [of((total - batch) / (count - 1)) for batch in goodput]
    return mean_interval([count * whole - (count - 1) * each for each in without], confidence)


def variation(goodputs: NDArray[np.float64]) -> float:
    """The coefficient of variation."""
    return float(goodputs.std() / goodputs.mean()) if goodputs.mean() > 0.0 else 0.0


def jain_index(goodputs: NDArray[np.float64]) -> float:
    """Jain's index: 1 where all fare alike."""
    return 1.0 / (1.0 + variation(goodputs) ** 2)


FAIRNESS: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput_cov": variation,
    "jain_index": jain_index,
}
"""Metrics of how alike the flows fare, by their names."""
FAIRNESS_OBJECTIVES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "goodput-variation": variation,
    "jain-index": jain_index,
}
"""Objectives of that, by their names."""
