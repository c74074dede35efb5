"""``vermilion tune --figure`` and ``--plot``: the queue now, and under the best setting found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.figure import FigureFile
from vermilion.cli.output import STANDARD_OUTPUT, check_outputs
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from vermilion.tuning import Recommendation, TuningPlan


class TuneFigure(FigureFile):
    """Figure of a tuning, opened before the work begins. A context manager.

    Raises:
        UserError: a name of no known format, or two outputs that would mix.
    """

    def __init__(self, figure: str | None, target: str | None, *, plot: bool) -> None:
        """Args: the file of the figure, that of the JSON, and whether to draw in the terminal."""
        check_outputs(json=target, figure=figure)
        if plot and STANDARD_OUTPUT in {figure, target}:
            message = '--plot goes to standard output; expected a file name in place of "-"'
            raise UserError(message)
        super().__init__(figure)
        self._plot = plot

    def draw(self, plan: TuningPlan, outcome: Recommendation) -> None:
        """Simulates both settings once more, and draws them."""
        if self.file is None and not self._plot:
            return
        from vermilion.report.tuned_figure import tuned_figure
        from vermilion.tuning.preparation import tuned_scenarios

        [tuned] = tuned_scenarios(plan)
        drawn = tuned_figure(
            tuned.scenario,
            outcome.parameters,
            recommended=outcome.accepted,
            reason=outcome.reason,
            seed=outcome.seeds.comparison[0],
        )
        if self.file is not None:
            self.file.write(drawn.rendered(self.kind, outcome._repr_html_()))
        if self._plot:
            from vermilion.cli.plot import show_panels

            show_panels(drawn.panels())
