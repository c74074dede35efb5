"""Numbers beside a logarithmic axis: written out, and as many as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vermilion.report.numbers import significant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axis import Axis

_LONG: Final = 200.0
"""From here on, a little more than two decades, powers of ten are enough."""

_SHORT: Final = 6.0
"""Up to here, less than a decade, 1, 2 and 5 would leave the axis almost bare."""


def plain_numbers(axis: Axis) -> None:
    """A logarithmic axis with numbers like 0.02 and 500, and not with powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    class Steps(LogLocator):
        """Those that fit how much is shown."""

        def tick_values(self, vmin: float, vmax: float) -> Any:  # noqa: ANN401 - as matplotlib has it
            self.set_params(subs=_steps(vmax / vmin))
            return super().tick_values(vmin, vmax)

    axis.set_major_locator(Steps())
    axis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))
    # Else matplotlib labels the small ticks of a short axis too, over one another.
    axis.set_minor_formatter(NullFormatter())


def _steps(factor: float) -> Sequence[float]:
    """The numbers of a decade beside an axis whose ends differ by a factor."""
    if factor > _LONG:
        return (1.0,)
    if factor < _SHORT:
        return (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
    return (1.0, 2.0, 5.0)
