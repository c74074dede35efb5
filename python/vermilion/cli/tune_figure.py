"""``vermilion tune --figure`` and ``--plot``: the queue now, and under the best setting found."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, BinaryIO, Self

from vermilion.cli.figure import figure_format
from vermilion.cli.output import STANDARD_OUTPUT, binary_output_file, check_outputs
from vermilion.cli.user_error import UserError

if TYPE_CHECKING:
    from vermilion.tuning import Recommendation, TuningPlan


class TuneFigure:
    """What was asked for, opened before the work begins. A context manager.

    Raises:
        UserError: a name of no known format, or two outputs that would mix.
    """

    def __init__(self, figure: str | None, target: str | None, *, plot: bool) -> None:
        """Args: the file of the figure, that of the JSON, and whether to draw in the terminal."""
        check_outputs(json=target, figure=figure)
        if plot and STANDARD_OUTPUT in {figure, target}:
            message = '--plot goes to standard output; expected a file name in place of "-"'
            raise UserError(message)
        self._figure = figure
        self._plot = plot
        self._kind = "" if figure is None else figure_format(figure)
        self._opened = ExitStack()
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._opened.__enter__()
        if self._figure is not None:
            self._file = self._opened.enter_context(binary_output_file("--figure", self._figure))
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.__exit__(*error)  # type: ignore[arg-type]

    def draw(self, plan: TuningPlan, outcome: Recommendation) -> None:
        """Simulates both settings once more, and draws them."""
        if self._file is None and not self._plot:
            return
        from vermilion.report.tuned_figure import tuned_figure
        from vermilion.tuning.prepare.other_discipline import tuned_scenarios

        [tuned] = tuned_scenarios(plan)
        drawn = tuned_figure(
            tuned.scenario,
            outcome.parameters,
            recommended=outcome.accepted,
            reason=outcome.reason,
            seed=outcome.seeds.comparison[0],
        )
        if self._file is not None:
            self._file.write(drawn.rendered(self._kind, outcome._repr_html_()))
        if self._plot:
            from vermilion.cli.plot import show_panels

            show_panels(drawn.panels())
