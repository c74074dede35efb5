"""The unit in which a column or an axis shows a parameter: ms for a delay, Mbit/s for a rate.

Where a value stands alone, :meth:`vermilion.scenario.Parameter.readable` chooses the unit by its
size. Values that are to be compared with each other need one unit for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_SHOWN: Final[Mapping[str, tuple[str, float]]] = {
    "seconds": ("ms", 1e3),
    "bit/s": ("Mbit/s", 1e-6),
    "probability": ("", 1.0),
    "1": ("", 1.0),
}


def shown_unit(unit: str) -> tuple[str, float]:
    """The unit to be shown for one of the parameter tables, and the factor that leads to it.

    >>> shown_unit("seconds"), shown_unit("packets"), shown_unit("1")
    (('ms', 1000.0), ('packets', 1.0), ('', 1.0))
    """
    return _SHOWN.get(unit, (unit, 1.0))


def with_shown_unit(name: str, unit: str) -> str:
    """A name with the unit that is shown, as a heading or a label: "target (ms)"."""
    shown, _ = shown_unit(unit)
    return f"{name} ({shown})" if shown else name
