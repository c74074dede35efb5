"""Windows over time: a panel of the figure of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.report import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from vermilion.simulate import Result

MOST_LINES: Final = 6
"""More windows in one panel cannot be told apart."""

_COLOURS: Final = (
    drawing.BLUE,
    drawing.ORANGE,
    drawing.GREEN,
    drawing.VERMILION,
    drawing.GREY,
    drawing.SKY_BLUE,
)


def draw_windows(axes: Axes, result: Result) -> None:
    """Draws the windows of a result's flow series, of the first flows if there are too many.

    Raises:
        ValueError: it has no flow series.
    """
    series = result.flow_series
    if series is None:
        message = "no windows to draw: the run had no FlowSeries"
        raise ValueError(message)
    flows = series.flows()
    shown = flows[:MOST_LINES]
    more = f", the first {len(shown)} of {len(flows)} flows" if len(flows) > len(shown) else ""
    axes.set_title(f"Windows{more}")
    axes.set_ylabel("packets")
    for colour, (group, flow) in zip(_COLOURS, shown, strict=False):
        columns = series.of(group, flow)
        axes.step(
            *drawing.thinned(columns["time_s"], columns["window_packets"]),
            where="post",
            color=colour,
            lw=1.2,
            label=f"{group}:{flow}",
        )
