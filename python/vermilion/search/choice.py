"""Which search is used when nobody says which.

The benchmark of the searches (docs/search-benchmark.md) decides: up to :data:`FEW_PARAMETERS` the
localised recursive random search, which is among the best from 50 settings on and seldom ends far
from them; above, CMA-ES, which learns what directions matter where random points are lost. Measured
on networks are 4 and 16 parameters, on test functions 3, 5, 10 and 20.
"""

from __future__ import annotations

from typing import Final

from vermilion.search.cma_es import CmaEs
from vermilion.search.localised_recursive_random_search import LocalisedRecursiveRandomSearch

AUTOMATIC: Final = "automatic"
"""The name that leaves the choice to this module."""

FEW_PARAMETERS: Final = 6


def chosen_search(name: str, parameters: int) -> str:
    """The search that a name means.

    Args:
        name: of a search, or :data:`AUTOMATIC`.
        parameters: how many are searched.
    """
    if name != AUTOMATIC:
        return name
    few = parameters <= FEW_PARAMETERS
    return LocalisedRecursiveRandomSearch.name if few else CmaEs.name
