"""Raw distributions: every packet's queueing delay and one-way delay, every gap between drops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TextIO

from vermilion.scenario.errors import FieldError, did_you_mean
from vermilion.simulate.extras import optional

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario

_LEAST_WIDTH_S: Final = 1e-9
_GREATEST_WIDTH_S: Final = 1.0


@dataclass(frozen=True)
class RawDistributions:
    """Choice of the quantities of which raw distributions are kept.

    Attributes:
        links: queueing delays, and gaps between drops, of these links.
        flows: one-way delays, and gaps between drops, of the data of these groups.
        width_s: of the histograms' bins, in seconds.
        values: most single values that are kept of each, in the order in which they came.
    """

    links: Sequence[str] = ()
    flows: Sequence[str] = ()
    width_s: float = 1e-5
    values: int = 0

    def to_core(self, scenario: Scenario) -> dict[str, object]:
        """Return it for the core.

        Raises:
            FieldError: a name that there is not, or a width that is none.
        """
        if not _LEAST_WIDTH_S <= self.width_s <= _GREATEST_WIDTH_S:
            raise FieldError("width_s", self.width_s, "seconds, from 1e-9 to 1")
        return {
            "links": _check_names("links", self.links, scenario.links),
            "groups": _check_names("flows", self.flows, scenario.flows),
            "width_ns": round(self.width_s * 1e9),
            "values": self.values,
        }


@dataclass(frozen=True)
class RawDistribution:
    """Histogram of values, in bins of one width.

    Attributes:
        width_s: of the bins; the first has the values from 0 on.
        counts: values in each bin.
        mean_s: exact, of the values themselves; ``None`` if there are none.
        least_s: the least value.
        greatest_s: the greatest.
        values_s: the values themselves, as many as were asked for, in the order in which they came.
    """

    width_s: float
    counts: NDArray[np.int64] = field(repr=False)
    mean_s: float | None
    least_s: float | None
    greatest_s: float | None
    values_s: NDArray[np.float64] = field(repr=False)

    @property
    def count(self) -> int:
        """Values in all."""
        return int(self.counts.sum())

    def cumulative(self) -> NDArray[np.float64]:
        """The share of values below the upper edge of each bin."""
        import numpy as np

        return np.asarray(np.cumsum(self.counts) / max(1, self.count), dtype=np.float64)

    def quantile_s(self, share: float) -> float | None:
        """The upper edge of the bin by which that share is reached; ``None`` without values.

        Args:
            share: of the values, from 0 to 1.

        Raises:
            ValueError: it is none.
        """
        import numpy as np

        if not 0.0 <= share <= 1.0:
            message = f"share: {share} is not accepted; expected a number from 0 to 1"
            raise ValueError(message)
        if self.count == 0:
            return None
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.count, side="left"))
        return float((min(place, len(self.counts) - 1) + 1) * self.width_s)


@dataclass(frozen=True)
class RawDistributionsData:
    """The raw distributions of a run, after its warm-up.

    Attributes:
        sojourn: queueing delays of the packets that left a queue, by link.
        delay: one-way delays of the data packets that arrived, by group.
        drop_gap: times between two drops, by link or group: ``links.NAME`` and ``flows.NAME``.
    """

    sojourn: Mapping[str, RawDistribution]
    delay: Mapping[str, RawDistribution]
    drop_gap: Mapping[str, RawDistribution]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each bin that has values: ``of``, ``name``, ``from_s``, ``to_s``, ``count``.

        Raises:
            MissingPackageError: there is no pandas.
        """
        pandas = optional("pandas", "data frames")
        rows = [
            (kind, name, bin_ * each.width_s, (bin_ + 1) * each.width_s, int(each.counts[bin_]))
            for kind in ("sojourn", "delay", "drop_gap")
            for name, each in getattr(self, kind).items()
            for bin_ in each.counts.nonzero()[0].tolist()
        ]
        columns = ["of", "name", "from_s", "to_s", "count"]
        frame: pd.DataFrame = pandas.DataFrame(rows, columns=columns)
        return frame

    def write_csv(self, file: TextIO) -> None:
        """Write a line for each bin that has values, as :meth:`to_pandas` has rows."""
        file.write("of,name,from_s,to_s,count\n")
        for kind in ("sojourn", "delay", "drop_gap"):
            for name, each in getattr(self, kind).items():
                for place in each.counts.nonzero()[0].tolist():
                    ends = f"{place * each.width_s:.9g},{(place + 1) * each.width_s:.9g}"
                    file.write(f"{kind},{name},{ends},{each.counts[place]}\n")


def raw_distributions_of(found: Mapping[str, Any], width_s: float) -> RawDistributionsData:
    """Convert the counts of the core."""
    sojourn, delay, gaps = {}, {}, {}
    for path, columns in found.items():
        room, _, rest = path.partition(".")
        name, _, kind = rest.rpartition(".")
        distribution = _distribution(columns, width_s)
        if kind == "sojourn":
            sojourn[name] = distribution
        elif kind == "delay":
            delay[name] = distribution
        else:
            gaps[f"{room}.{name}"] = distribution
    return RawDistributionsData(sojourn, delay, gaps)


def _distribution(columns: Mapping[str, Any], width_s: float) -> RawDistribution:
    def seconds(nanoseconds: int | None) -> float | None:
        return None if nanoseconds is None else nanoseconds / 1e9

    count = columns["count"]
    return RawDistribution(
        width_s=width_s,
        counts=columns["counts"],
        mean_s=columns["sum_ns"] / count / 1e9 if count else None,
        least_s=seconds(columns["least_ns"]),
        greatest_s=seconds(columns["greatest_ns"]),
        values_s=columns["values_ns"] / 1e9,
    )


def _check_names(field_name: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    names = [names] if isinstance(names, str) else list(names)
    known = list(known)
    for name in names:
        if name not in known:
            accepted = f"a name of the scenario: {did_you_mean(name, known)}"
            raise FieldError(field_name, name, accepted)
    return names
