"""Which search is used when nobody says which.

The benchmark of the searches (docs/search-benchmark.md) decides. A **tuning** of up to
:data:`FEW_PARAMETERS` gets the localised recursive random search, which seldom ends far from the
best; of more, CMA-ES, which learns what directions matter where random points are lost. On networks
drawn at random, as times the best found: with two and three parameters 1.070 and 1.094 after 480
settings (localised, CMA-ES); with four to six 1.148 and 1.092 after 240, at worst 1.65 and 1.39.

Where **only some dozens of settings** can be tried, as in an advice, in each of the searches of a
front, or in the on-line search of several queues together, the line is drawn at
:data:`FEW_WITHOUT_TIME`: so it was when their figures were measured, and nothing else has been
measured there.
"""

from __future__ import annotations

from typing import Final

from vermilion.search.cma_es import CmaEs
from vermilion.search.localised_recursive_random_search import LocalisedRecursiveRandomSearch

AUTOMATIC: Final = "automatic"
"""The name that leaves the choice to this module."""

FEW_PARAMETERS: Final = 3
FEW_WITHOUT_TIME: Final = 6


def chosen_search(name: str, parameters: int, *, hurried: bool = False) -> str:
    """The search that a name means.

    Args:
        name: of a search, or :data:`AUTOMATIC`.
        parameters: how many are searched.
        hurried: whether only some dozens of settings can be tried.
    """
    if name != AUTOMATIC:
        return name
    few = parameters <= (FEW_WITHOUT_TIME if hurried else FEW_PARAMETERS)
    return LocalisedRecursiveRandomSearch.name if few else CmaEs.name
