"""What comparing with another simulator, or with a kernel, has in common whoever it is.

The outcomes of others are in ``tests/reference``: means and standard deviations over their seeds,
with every setting spelled out. A module for each of them (``ns2_reference``, ``ns3_reference``,
``linux_reference``) puts the cases into our language. The rule for all: two means agree if they
lie within the larger of 5 % and three standard errors of their difference. What does not agree is
listed as a :class:`Deviation`: why, and how far off it is, so that a change is noticed.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import vermilion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Window = dict[str, Any]

REFERENCE = Path(__file__).parent.parent / "reference"
DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from refresh_examples import differences  # noqa: E402 - found by the path above

SEEDS = range(1, 13)


class Where(NamedTuple):
    """What is compared: a metric of a link, from one time to another (seconds), in a case."""

    case: str
    link: str
    span: tuple[float, float]
    metric: str


@dataclass(frozen=True)
class Sample:
    """A mean over runs, and their standard deviation."""

    mean: float
    sd: float
    runs: int

    @classmethod
    def of(cls, pair: Sequence[float], runs: int) -> Sample:
        """A pair of mean and standard deviation, as the references have them."""
        mean, sd = pair
        return cls(mean, sd, runs)

    @property
    def error(self) -> float:
        """The mean's standard error."""
        return self.sd / math.sqrt(self.runs)


@dataclass(frozen=True)
class Known:
    """What somebody else has found, and how we measure the same in a window of a link."""

    where: Where
    theirs: Sample
    measure: Callable[[Window], float]


@dataclass(frozen=True)
class Comparison:
    """Our mean beside theirs."""

    where: Where
    ours: Sample
    theirs: Sample

    @property
    def tolerance(self) -> float:
        """The larger of 5 % and three standard errors of the difference."""
        error = math.hypot(self.ours.error, self.theirs.error)
        return max(0.05 * self.theirs.mean, 3 * error)

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def agrees(self) -> bool:
        """Whether the two means are within the tolerance of each other."""
        return abs(self.difference) <= self.tolerance

    @property
    def strain(self) -> float:
        """The difference as a part of the tolerance."""
        return abs(self.difference) / self.tolerance if self.difference else 0.0

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours.mean / self.theirs.mean


@dataclass(frozen=True)
class Deviation:
    """A disagreement that is explained: ours over theirs lies between ``low`` and ``high``."""

    where: Where
    low: float
    high: float
    why: str

    def __str__(self) -> str:
        case, _, (begin, end), metric = self.where
        return f"{case}, {begin:g} .. {end:g} s, {metric}"


@cache
def reference(name: str) -> dict[str, Any]:
    """A file of ``tests/reference``."""
    content: dict[str, Any] = json.loads((REFERENCE / f"{name}.json").read_text())
    return content


def compare_with(text: str, known: Sequence[Known], seeds: range = SEEDS) -> list[Comparison]:
    """Runs a scenario and sets what was measured beside what is known."""
    origin = known[0].where.case
    (results,) = vermilion.run_many([vermilion.parse_scenario(text, origin=origin)], seeds)
    comparisons = []
    for entry in known:
        where = entry.where
        values = [
            entry.measure(window_over(result.link(where.link), where.span))
            for result in results
            if result is not None
        ]
        ours = Sample(fmean(values), stdev(values), len(values))
        comparisons.append(Comparison(where, ours, entry.theirs))
    return comparisons


def window_over(link: Any, span: tuple[float, float]) -> Window:
    """The window of a link's results that covers ``span``, in seconds."""
    windows: list[Window] = [*link.phases, link.total]
    return next(window for window in windows if (window["start_s"], window["end_s"]) == span)


def unexplained(
    comparisons: Iterable[Comparison], deviations: Iterable[Deviation]
) -> list[Comparison]:
    """What disagrees and is not on the list."""
    listed = {deviation.where for deviation in deviations}
    return [row for row in comparisons if not row.agrees and row.where not in listed]


def table(comparisons: Iterable[Comparison], theirs: str, *, with_link: bool = False) -> str:
    """Comparisons as a Markdown table, the worst first."""
    place = " link |" if with_link else ""
    lines = [
        f"| case |{place} seconds | metric | Vermilion | {theirs} | difference | of tolerance |",
        "|---" * (8 if with_link else 7) + "|",
    ]
    lines += [
        line(row, with_link=with_link)
        for row in sorted(comparisons, key=lambda row: (-row.strain, row.where))
    ]
    return "\n".join(lines)


def line(row: Comparison, *, with_link: bool = False) -> str:
    """A comparison as a line of that table."""
    case, link, span, metric = row.where
    ours, other = (f"{each.mean:.4g} ± {each.sd:.2g}" for each in (row.ours, row.theirs))
    cells = [case, *([link] if with_link else []), f"{span[0]:g} .. {span[1]:g}", metric]
    cells += [ours, other, percent(row) if row.agrees else f"**{percent(row)}**"]
    return f"| {' | '.join(cells)} | {row.strain:.2f} |"


def percent(row: Comparison) -> str:
    """How far ours is from theirs, in per cent of theirs."""
    return f"{100 * (row.ratio - 1):+.1f} %" if row.theirs.mean else "n/a"


def shown_otherwise(page: str, rows: Iterable[Comparison], *, with_link: bool = False) -> list[str]:
    """What a page's table says otherwise than comparisons do, beyond rounding."""
    lines = (DOCS / "laboratory" / page).read_text(encoding="utf-8").splitlines()
    differing = []
    for row in rows:
        made = line(row, with_link=with_link)
        head = " | ".join([*made.split(" | ")[: 4 if with_link else 3], ""])
        [found] = [each for each in lines if each.startswith(head)]
        differing += differences(found, made)
    return differing


def summary(comparisons: Sequence[Comparison]) -> str:
    """How many of the numbers agree, in one sentence."""
    agreeing = sum(row.agrees for row in comparisons)
    cases = len({row.where.case for row in comparisons})
    return f"{agreeing} of {len(comparisons)} numbers in {cases} cases agree."
