"""What a metric came to, in the unit that a person reads: "24.1 +- 0.3 Mbit/s", "17.2 %"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario.quantities import RATE, TIME

if TYPE_CHECKING:
    from vermilion.objectives.metrics import MetricPath

_IN_PER_CENT: Final = {
    "utilization", "drop_rate", "mark_rate", "loss_rate", "packet_loss_rate", "slowest_share",
}  # fmt: skip


def metric_in_words(path: MetricPath, value: float, half_width: float | None = None) -> str:
    """A metric's value with its unit.

    Args:
        path: of the metric.
        value: in the metric's own unit.
        half_width: of its interval, likewise; ``None`` where there is none.
    """
    factor, unit = _shown(path)
    text = f"{factor * value:.4g}"
    if half_width is not None:
        text += f" +- {factor * half_width:.2g}"
    return f"{text} {unit}".rstrip()


def _shown(path: MetricPath) -> tuple[float, str]:
    """The factor from the metric's own unit to the one that is shown, and that unit."""
    if path.metric in _IN_PER_CENT:
        return 100.0, "%"
    if path.dimension is RATE:
        return 1e-6, "Mbit/s"
    if path.dimension is TIME and path.unit != "ms":
        return 1.0, "s"
    return 1.0, path.unit
