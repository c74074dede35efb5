"""Ask/tell searches for the lowest value of a function of a few parameters.

:class:`Search` is the interface and tells the life of a search; :data:`SEARCHES` has every
search by name; :class:`Space` turns the unit cube that they work in into parameter values.
"""

from __future__ import annotations

from vermilion.search.interface import Search
from vermilion.search.registry import (
    AUTOMATIC,
    SEARCHES,
    chosen_search,
    search_from_state,
    search_named,
    setting_names,
)
from vermilion.search.space import CountedFromBelow, Dimension, SettableSpace, Space
from vermilion.search.uniform_points import Point

__all__ = [
    "AUTOMATIC",
    "SEARCHES",
    "CountedFromBelow",
    "Dimension",
    "Point",
    "Search",
    "SettableSpace",
    "Space",
    "chosen_search",
    "search_from_state",
    "search_named",
    "setting_names",
]
