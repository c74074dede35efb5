"""``vermilion online --figure`` and ``--plot``: the queue left alone, and kept tuned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.endings import UserError
from vermilion.cli.output import FigureFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun
    from vermilion.report.price_line import OtherQueue
    from vermilion.scenario import Scenario

    Queues = Sequence[tuple[list[OnlineRun], list[OtherQueue]]]


class OnlineFigure(FigureFile):
    """Context manager: figure files, opened before the work begins.

    Raises:
        UserError: a name of no known format, or more than one picture can show.
    """

    def __init__(
        self, figure: str | None, scenarios: Sequence[Scenario], *, shown: bool, plot: bool
    ) -> None:
        """Prepare.

        Args:
            figure: the file; ``None`` for none.
            scenarios: what is run.
            shown: whether standard output is for people.
            plot: whether to draw in the terminal.
        """
        if plot and not shown:
            message = "--plot goes to standard output; expected a file name"
            raise UserError(message)
        super().__init__(figure)
        if self.kind in {"svg", "png"} and len(scenarios) > 1:
            message = (
                f"--figure draws one scenario as .{self.kind}; expected one SCENARIO, or "
                "an .html name"
            )
            raise UserError(message)
        self._plot = plot

    def draw(self, queues: Queues) -> None:
        """Draws the first seed of the first queue, or on a page all of them."""
        if self.file is not None:
            self.file.write(self._rendered(queues))
        if self._plot:
            from vermilion.cli.output import show_panels
            from vermilion.report.queue_figure import queue_panels

            for runs, _ in queues:
                show_panels(queue_panels(runs[0]))

    def _rendered(self, queues: Queues) -> bytes:
        if self.kind == "html":
            from vermilion.report import online_report

            page = online_report([runs for runs, _ in queues], [others for _, others in queues])
            return page.encode()
        from vermilion.report.drawing import picture
        from vermilion.report.phases import phases_of
        from vermilion.report.queue_figure import drawn_queues

        runs, _ = queues[0]
        return picture(drawn_queues(runs[0], phases_of(runs)), self.kind)
