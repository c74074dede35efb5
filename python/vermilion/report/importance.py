"""Which parameters a search's outcome depended on, from the settings that it has tried.

The measure is the correlation ratio of ranks. Settings are ranked by what the search was told of
them (those that keep the constraints first, each by its objective). A parameter's values are cut
into bins of equally many settings, and its share is the part of the ranks' variance that lies
between the bins: the main effect of a functional analysis of variance, whatever the curve's shape.
A parameter without any effect would get (bins - 1) / (settings - 1) by chance alone; that is taken
off (T. L. Kelley, "An unbiased correlation ratio measure", PNAS 21, 1935: epsilon squared).

The interval comes from a bootstrap by half-samples: 200 times half of the settings are drawn
without replacement. Their shares vary around that of the whole as much as that does around the
truth: sigma^2 (1/m - 1/n) is sigma^2 / n for m = n/2. Drawing with replacement would put copies of
a setting into the same bin and inflate the share.

What it is not: settings of a search lie where the search looked, mostly near its best, and not
evenly in the box. Shares are of that sample. Parameters that moved together share the credit, and
what only a combination of two explains is in none of the shares, so they need not add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FEWEST: Final = 36
"""Settings from which on shares are computed: three bins of a dozen."""

_PER_BIN: Final = 12
_MOST_BINS: Final = 10
_HALF_SAMPLES: Final = 200
_SEED: Final = 1
_NORMAL_975: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """How much of the outcome one parameter explains by itself.

    Attributes:
        share: of the ranks' variance, 0 to 1; 0 where chance explains as much.
        low: the lower end of its 95 % interval.
        high: the upper end.
        direction: Spearman's correlation of value and rank: above 0 where small values are better;
            near 0 also where the best lies in between.
    """

    share: float
    low: float
    high: float
    direction: float


def shares(columns: Sequence[Sequence[float]], told: Sequence[float]) -> list[Share] | None:
    """The share of each parameter.

    Args:
        columns: for each parameter, its value in each setting.
        told: what the search was told of each setting; infinite ones share a rank.

    Returns:
        In the order of the columns; ``None`` of fewer than :data:`FEWEST` settings, or if all
        settings are equally good.
    """
    import numpy as np

    count = len(told)
    ranks = _ranks(np.asarray(told, dtype=np.float64))
    if count < FEWEST or np.ptp(ranks) == 0.0:
        return None
    bins = min(_MOST_BINS, count // _PER_BIN)
    generator = np.random.default_rng(_SEED)
    halves = [generator.permutation(count)[: count // 2] for _ in range(_HALF_SAMPLES)]
    found = []
    for column in columns:
        values = _ranks(np.asarray(column, dtype=np.float64))
        share = _share(values, ranks, bins)
        spread = np.std([_share(values[half], ranks[half], bins) for half in halves])
        half_width = _NORMAL_975 * float(spread)
        direction = float(np.corrcoef(values, ranks)[0, 1]) if np.ptp(values) else 0.0
        found.append(
            Share(
                min(1.0, max(0.0, share)),
                min(1.0, max(0.0, share - half_width)),
                min(1.0, max(0.0, share + half_width)),
                direction,
            )
        )
    return found


def _share(values: Numbers, outcomes: Numbers, bins: int) -> float:
    """Epsilon squared of the outcomes in bins of equally many values."""
    import numpy as np

    count = len(values)
    # Equal values have equal ranks, so they fall into one bin.
    places = np.floor((_ranks(values) - 0.5) / count * bins).astype(np.int64)
    sizes = np.bincount(places, minlength=bins)
    total = float(np.sum((outcomes - outcomes.mean()) ** 2))
    filled = int(np.count_nonzero(sizes))
    if total == 0.0 or count <= filled:
        return 0.0
    means = np.bincount(places, outcomes, minlength=bins) / np.maximum(sizes, 1)
    within = float(np.sum((outcomes - means[places]) ** 2))
    return 1.0 - (within / (count - filled)) / (total / (count - 1))


def _ranks(values: Numbers) -> Numbers:
    """The rank of each value, from 1; equal values share the mean of theirs."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Numbers = (last - (counts - 1) / 2.0)[inverse]
    return ranks
