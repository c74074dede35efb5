"""The figure of a tuning: the queue under the present setting above that under the best found."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.report.drawing import picture
from vermilion.report.run_figure import RunFigure, explain, probe_interval_s, run_figure, settle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from vermilion.report.braille import Panel
    from vermilion.scenario import Scenario

_HEIGHT_IN: Final = 5.6


@dataclass(frozen=True, slots=True)
class TunedFigure:
    """Two runs of the same network and seed, under two settings.

    Attributes:
        before: under the present setting.
        after: under the best found; ``None`` where nothing was found.
        recommended: whether the best found is to be used.
        reason: why, in one sentence.
        seed: of both runs.
    """

    before: RunFigure
    after: RunFigure | None
    recommended: bool
    reason: str
    seed: int

    def figure(self, *, narrow: bool = False) -> Figure:
        """The queueing delays of both, on the same axes.

        Args:
            narrow: for a phone, where what the lines mean stands below both panels.
        """
        runs = [self.before] if self.after is None else [self.before, self.after]
        with drawing.style():
            figure = drawing.sheet(_HEIGHT_IN, narrow=narrow)
            panels = figure.subplots(len(runs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
            scenario = self.before.scenario
            if not narrow:
                title = scenario.title or scenario.origin
                figure.suptitle(title, x=0.01, ha="left", weight="bold")
            for axes, run, words in zip(panels, runs, self._titles(), strict=False):
                run.draw_waiting(axes, words)
                run.shade_phases(axes)
            explain(figure, list(panels), narrow=narrow, names=("Now", "Best found"))
            panels[0].set_ylim(bottom=0)
            self.before.number_phases(panels[0])
            panels[-1].set_xlim(0, scenario.duration)
            panels[-1].set_xlabel("time (s)")
            settle(figure)
        return figure

    def rendered(self, kind: str, tables: str = "") -> bytes:
        """The figure as "svg" or "png", or with the recommendation as a page, "html".

        Args:
            kind: which of them.
            tables: the recommendation as HTML, for the page.
        """
        if kind != "html":
            return picture(self.figure(), kind)
        from vermilion.report.templates_of import render_page

        title = self.before.scenario.title or self.before.scenario.origin
        words = self._caption()
        return render_page(
            "tuned.html.j2",
            title=title,
            headline=self._headline(),
            reason=self.reason.replace(" +- ", " ± "),
            figure=drawing.svg_for_both_widths(self.figure, name="tuned", description=words),
            caption=words,
            tables=tables or escape(self.reason),
            version=str(self.before.result.data["version"]),
        ).encode()

    def panels(self) -> list[Panel]:
        """The same for a terminal."""
        from dataclasses import replace

        runs = [self.before] if self.after is None else [self.before, self.after]
        found = [
            replace(run.waiting_panel(), title=f"{title}: {run.waiting_unit()}")
            for run, title in zip(runs, self._titles(), strict=False)
        ]
        top = max(panel.highest() for panel in found)
        return [replace(panel, top=top) for panel in found]

    def _titles(self) -> tuple[str, str]:
        best = "best found, recommended" if self.recommended else "best found, not recommended"
        return "Now", best.capitalize()

    def _headline(self) -> str:
        if self.after is None:
            return "Nothing was found in time"
        return "Use the best setting found" if self.recommended else "Keep the present setting"

    def _caption(self) -> str:
        found = "" if self.after is None else "; below, the same under the best setting found"
        return (
            f"Link {self.before.link}, seed {self.seed}: above, queueing delay under the "
            f"present setting{found}. One seed is an example; the table has the means "
            "over many."
        )


def tuned_figure(
    scenario: Scenario,
    best: Mapping[str, float | None],
    *,
    recommended: bool,
    reason: str,
    seed: int,
) -> TunedFigure:
    """Simulate both settings once, and draw them.

    Args:
        scenario: with the present setting.
        best: the best setting found, by path; empty where nothing was found.
        recommended: whether it is to be used.
        reason: why.
        seed: of both runs; best one that the search has not seen.
    """
    from vermilion.simulate import run

    interval_s = probe_interval_s(scenario)

    def drawn(each: Scenario) -> RunFigure:
        return run_figure(each, run(each, seed, interval_s))

    before = drawn(scenario)
    after = drawn(scenario.with_values(dict(best))) if best else None
    return TunedFigure(before, after, recommended, reason, seed)
