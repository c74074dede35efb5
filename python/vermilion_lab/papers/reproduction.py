"""Running a paper: measure its figures, then judge what it claims about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.files.document import document
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.simulate.accepted import LARGEST_SEED, check_seed
from vermilion_lab.papers.interface import JudgedClaim
from vermilion_lab.papers.workbench import Workbench

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion_lab.papers.interface import Figure, Numbers, Paper
    from vermilion_lab.papers.keeping import Keeper

ENOUGH_SEEDS = 10
"""Replications behind each number, unless told otherwise."""

FEWEST_SEEDS = 2
"""One replication has no interval, and no claim could be judged."""


@document(
    "id=figure.id place=figure.place title=figure.title settings=figure.settings"
    " scenarios=figure.scenarios numbers"
)
@dataclass(frozen=True, slots=True)
class ReproducedFigure:
    """A figure and its numbers."""

    figure: Figure
    numbers: Numbers


@document(
    "name=paper.name title=paper.title authors=paper.authors published=paper.published claims"
    " figures=reproduced"
)
@dataclass(frozen=True, slots=True)
class PaperOutcome:
    """A paper that was re-run.

    Attributes:
        paper: which.
        seeds: the replications.
        numbers: what each figure measured, by its id; only those that were asked for.
        claims: those that these figures can decide.
    """

    paper: Paper
    seeds: tuple[int, ...]
    numbers: Mapping[str, Numbers]
    claims: tuple[JudgedClaim, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures that were measured, in the paper's order."""
        return tuple(figure for figure in self.paper.figures if figure.id in self.numbers)

    def claims_about(self, figure: Figure) -> list[JudgedClaim]:
        """The claims that are told with a figure: those whose first evidence it is."""
        return [judged for judged in self.claims if judged.claim.figures[0] == figure.id]

    @property
    def reproduced(self) -> list[ReproducedFigure]:
        """The same with their numbers."""
        return [ReproducedFigure(figure, self.numbers[figure.id]) for figure in self.figures]


def chosen_figures(paper: Paper, wanted: Sequence[str] = ()) -> tuple[Figure, ...]:
    """The figures of a paper with these ids; all of them if none is named.

    Raises:
        ScenarioError: an id that the paper does not have.
    """
    known = [figure.id for figure in paper.figures]
    for name in wanted:
        if name not in known:
            raise ScenarioError("figure", name, did_you_mean(name, known), paper.name)
    return tuple(figure for figure in paper.figures if not wanted or figure.id in wanted)


def seeds_from(first: int, count: int) -> tuple[int, ...]:
    """``count`` seeds from ``first`` on.

    Raises:
        ScenarioError: too few to judge by, or no seeds.
    """
    if count < FEWEST_SEEDS:
        raise ScenarioError("seeds", count, f"at least {FEWEST_SEEDS}: one has no interval")
    check_seed(first)
    if first + count - 1 > LARGEST_SEED:
        raise ScenarioError("seed", first, f"at most {LARGEST_SEED - count + 1} for {count} seeds")
    return tuple(range(first, first + count))


def reproduce(
    paper: Paper,
    seeds: Sequence[int] = tuple(range(1, ENOUGH_SEEDS + 1)),
    *,
    figures: Sequence[str] = (),
    threads: int | None = None,
    keeper: Keeper | None = None,
    progress: Callable[[float], object] | None = None,
) -> PaperOutcome:
    """Runs a paper's figures and judges its claims.

    The same paper and seeds give the same outcome on all machines of one platform.

    Args:
        paper: which.
        seeds: the replications behind each number.
        figures: ids of the figures to measure; none for all. Claims that need others are left
            out.
        threads: runs at a time; ``None`` for one on each core.
        keeper: where figures are kept as soon as they are measured, and looked for before.
        progress: told the share of the work that is done, 0 to 1.

    Raises:
        ScenarioError: a figure that the paper does not have.
        OSError: a figure cannot be kept.
        KeyboardInterrupt: at Ctrl-C; figures that were finished have been kept.
    """
    chosen = chosen_figures(paper, figures)
    total = sum(figure.effort for figure in chosen)
    before = 0.0
    numbers: dict[str, Numbers] = {}
    for figure in chosen:
        found = None if keeper is None else keeper.find(paper.name, figure.id, seeds)
        if found is None:
            found = figure.measure(
                Workbench(
                    seeds, threads=threads, progress=_share(progress, before, figure.effort, total)
                )
            )
            if keeper is not None:
                keeper.keep(paper.name, figure.id, seeds, found)
        numbers[figure.id] = found
        before += figure.effort
        if progress is not None:
            progress(before / total)
    claims = tuple(
        JudgedClaim(claim, tuple(claim.checks(numbers)))
        for claim in paper.claims
        if set(claim.figures) <= set(numbers)
    )
    return PaperOutcome(paper, tuple(seeds), numbers, claims)


def _share(
    progress: Callable[[float], object] | None, before: float, effort: float, total: float
) -> Callable[[float], object] | None:
    """Progress within one figure as progress of the whole."""
    if progress is None:
        return None
    return lambda done: progress((before + done * effort) / total)
