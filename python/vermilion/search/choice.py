"""Which search is used when nobody says which.

The benchmark of the searches (docs/search-benchmark.md) decides. A **tuning** gets CMA-ES, which
learns what directions matter. FIGURES

Where **only some dozens of settings** can be tried, as in an advice or in the on-line search of
several queues together, it is the localised recursive random search for up to
:data:`FEW_PARAMETERS`: their figures were measured with it, and no other was measured there.
"""

from __future__ import annotations

from typing import Final

from vermilion.search.cma_es import CmaEs
from vermilion.search.localised_recursive_random_search import LocalisedRecursiveRandomSearch

AUTOMATIC: Final = "automatic"
"""The name that leaves the choice to this module."""

FEW_PARAMETERS: Final = 6


def chosen_search(name: str) -> str:
    """The search of a tuning that a name means.

    Args:
        name: of a search, or :data:`AUTOMATIC`.
    """
    return CmaEs.name if name == AUTOMATIC else name


def hurried_search(parameters: int) -> str:
    """The search where only some dozens of settings can be tried.

    Args:
        parameters: how many are searched.
    """
    few = parameters <= FEW_PARAMETERS
    return LocalisedRecursiveRandomSearch.name if few else CmaEs.name
