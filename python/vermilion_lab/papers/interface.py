"""Interface of a paper: figures to measure and draw, and claims about the measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vermilion.files.document import document
from vermilion_lab.papers.verdict import Ruling, judge, reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from vermilion_lab.papers.verdict import Check
    from vermilion_lab.papers.workbench import Workbench

Numbers = dict[str, Any]
"""What a figure has measured: nested dictionaries and lists as JSON has them.

Whatever a claim rests on is there seed by seed, so that its interval can be worked out.
"""

Evidence = Mapping[str, Numbers]
"""The numbers of a paper's figures, by the figures' ids."""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A table of a figure's numbers.

    Attributes:
        caption: what it shows, units included where all columns share them.
        heads: of the columns.
        rows: texts; the first of each names the row.
    """

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@document("id place title")
@dataclass(frozen=True, slots=True)
class Figure:
    """A figure or table of a paper.

    Attributes:
        id: unique in the paper, like "figure-5".
        place: where the paper has it, like "figure 5".
        title: what it is about, in a line.
        caption: what is drawn, and how to read it.
        settings: what was run: values, and readings of what the paper leaves open.
        scenarios: names of the shipped scenarios behind it.
        effort: processor seconds that it takes, roughly, for the progress bar.
        measure: runs the simulations.
        draw: the plot, in the paper's axes.
        tables: the numbers as tables.
    """

    id: str
    place: str
    title: str
    caption: str
    settings: str
    scenarios: tuple[str, ...]
    effort: float
    measure: Callable[[Workbench], Numbers]
    draw: Callable[[Numbers], Drawing]
    tables: Callable[[Numbers], Sequence[FigureTable]] = field(default=lambda _numbers: ())


@document("id place says measured figures")
@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a paper says and a simulation can confirm or contradict.

    Attributes:
        id: unique in the paper.
        place: the figure, table or section where the paper says it.
        says: the claim, in our words.
        measured: what was measured here, and what has to come out for it to hold.
        figures: ids of the figures whose numbers it needs.
        checks: from those numbers to what is checked.
        remarks: why it came out so, for a verdict that needs an explanation.
    """

    id: str
    place: str
    says: str
    measured: str
    figures: tuple[str, ...]
    checks: Callable[[Evidence], Sequence[Check]]
    remarks: Mapping[Ruling, str] = field(default_factory=dict)


@document(
    "id=claim.id place=claim.place says=claim.says measured=claim.measured verdict why"
    " remark checks"
)
@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """A claim, and what came out.

    Attributes:
        claim: what was judged.
        checks: the quantities with their intervals.
    """

    claim: Claim
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> Ruling:
        """Verdict, computed from the checks alone."""
        return judge(self.checks)

    @property
    def why(self) -> str:
        """The numbers that decide it."""
        return reason(self.checks)

    @property
    def remark(self) -> str:
        """Explanation of this verdict; "" where nothing needs to be explained."""
        return self.claim.remarks.get(self.verdict, "")


@document("name title authors published figures claims")
@dataclass(frozen=True, slots=True)
class Paper:
    """A paper, as far as it is re-run here.

    Attributes:
        name: its name in commands, like "ye-2002".
        title: the paper's.
        authors: their names.
        published: where and when.
        story: what the paper is about, for somebody who has not read it; paragraphs.
        open_questions: what the paper does not say, and what is done about it; sentences.
        figures: in the paper's order.
        claims: in the paper's order.
    """

    name: str
    title: str
    authors: str
    published: str
    story: tuple[str, ...]
    open_questions: tuple[str, ...]
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
