"""How a queue over time is drawn: as the band that it moves in, in milliseconds where it can be.

Whoever looks at a queue wants to know how long packets wait. Where the link's rate stays, the
packets of a time series are that many times the time to send one, and the scale on the left says
so; the one on the right counts packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.report import drawing
from vermilion.scenario.how_many import how_many
from vermilion.scenario.queue_target import mean_packet_bytes
from vermilion.scenario.wire import nominal_rate

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from vermilion.scenario import Scenario

_STRETCHES: Final = 480
"""Into how many a run is cut; more than a page has pixels for cannot be told apart."""


def milliseconds_per_packet(scenario: Scenario, name: str) -> float | None:
    """How long a link takes to send one packet that waits.

    At the mean size of the packets; ``None`` where the rate varies, or no data cross the link.
    """
    link = scenario.links[name]
    varies = link.rate_schedule is not None or link.trace is not None
    if varies or any(
        change.link == name and change.rate is not None for change in scenario.changes
    ):
        return None
    size = mean_packet_bytes(scenario, name)
    rate = nominal_rate(scenario, name)
    return None if size is None or rate <= 0.0 else 8e3 * size / rate


def by_stretches(
    time: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """The middle of each stretch of time, and its least, mean and greatest value.

    Samples without a value are left out.
    """
    import numpy as np

    known = ~np.isnan(values)
    time, values = time[known], values[known]
    count = min(_STRETCHES, len(time))
    begins = np.linspace(0, len(time), count, endpoint=False).astype(int)
    lengths = np.diff(np.append(begins, len(time)))
    return (
        np.add.reduceat(time, begins) / lengths,
        np.minimum.reduceat(values, begins),
        np.add.reduceat(values, begins) / lengths,
        np.maximum.reduceat(values, begins),
    )


def draw_band(
    axes: Axes, time: NDArray[np.float64], queue: NDArray[np.float64], each_ms: float | None
) -> None:
    """The queue as the band between its least and its greatest length of each moment.

    Args:
        axes: where.
        time: of the samples, in seconds.
        queue: packets that wait.
        each_ms: how long the link takes to send one of them, if that is known.
    """
    middle, low, _, high = by_stretches(time, queue * (each_ms or 1.0))
    axes.fill_between(
        middle, low, high, color=drawing.SKY_BLUE, linewidth=0.7, label="queue, least to greatest"
    )
    axes.set_ylabel("queue (packets)" if each_ms is None else "queueing delay (ms)")


def target_label(packets: float, each_ms: float | None) -> str:
    """What a line at a target says of it."""
    waiting = "" if each_ms is None else f"{packets * each_ms:.3g} ms, "
    return f"target: {waiting}{how_many(packets, 'packet')}"


def add_packets(axes: Axes, each_ms: float | None) -> None:
    """The same scale in packets, on the right, where the left one is in milliseconds."""
    if each_ms is None:
        return
    import numpy as np

    scale = axes.secondary_yaxis(
        "right",
        functions=(
            lambda times: np.divide(times, each_ms),
            lambda packets: np.multiply(packets, each_ms),
        ),
    )
    scale.set_ylabel("packets", color=drawing.GREY)
    scale.tick_params(colors=drawing.GREY)
    scale.spines["right"].set_visible(True)
