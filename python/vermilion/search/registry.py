"""Registry of searches: one line each.

Which search is used when nobody says which.

The benchmark of the searches (docs/laboratory/search-benchmark.md) decides. A **tuning** of up to
:data:`FEW_PARAMETERS` gets the localised recursive random search, which seldom ends far from the
best; of more, CMA-ES, which learns what directions matter where random points are lost. On networks
drawn at random, as times the best found: with two and three parameters 1.080 and 1.105 after 480
settings (localised, CMA-ES); with four to six 1.160 and 1.103 after 240, at worst 1.70 and 1.44.

Each search of a **front** may try some dozens of settings only, and has no bounds of harm. For up
to :data:`FEW_WITHOUT_TIME` parameters it is Bayesian optimisation, which makes the most of few
values: 1.038 and 1.200 after 80 settings (localised: 1.165 and 1.278). Within bounds of harm, as in
whole tunings and in advice, no gain of it was shown.

Where **a hurry** leaves time for some dozens of settings, as in an advice or in the on-line search
of several queues together, the line between the first two is drawn at :data:`FEW_WITHOUT_TIME`: so
it was when their figures were measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from vermilion.search.cma_es import CmaEs
from vermilion.search.gaussian_process import GaussianProcess
from vermilion.search.localised_recursive_random_search import LocalisedRecursiveRandomSearch
from vermilion.search.random_search import RandomSearch
from vermilion.search.recursive_random_search import RecursiveRandomSearch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.search.interface import Search

_SEARCHES: Final[tuple[type[Search], ...]] = (
    RecursiveRandomSearch,
    LocalisedRecursiveRandomSearch,
    CmaEs,
    GaussianProcess,
    RandomSearch,
)

SEARCHES: Final[Mapping[str, type[Search]]] = {search.name: search for search in _SEARCHES}
"""The searches by name."""


_OF_ALL: Final = ("seed", "start_points")


def search_named(name: str) -> type[Search]:
    """The search of this name.

    Raises:
        ValueError: there is none.
    """
    if name not in SEARCHES:
        message = f'search: "{name}" is not accepted; expected one of: {", ".join(SEARCHES)}'
        raise ValueError(message)
    return SEARCHES[name]


def setting_names(name: str) -> list[str]:
    """The settings that a search of this name has, besides what all searches have."""
    from inspect import Parameter, signature

    arguments = signature(search_named(name)).parameters.values()
    own = (each.name for each in arguments if each.kind is Parameter.KEYWORD_ONLY)
    return [each for each in own if each not in _OF_ALL]


def search_from_state(state: Mapping[str, Any]) -> Search:
    """The search, of whatever kind, whose ``state()`` this was."""
    return search_named(str(state.get("search"))).from_state(state)


AUTOMATIC: Final = "automatic"
"""The name that leaves the choice to this module."""

FEW_PARAMETERS: Final = 3
FEW_WITHOUT_TIME: Final = 6

Use = Literal["tuning", "front", "hurry"]
"""What it is for: a tuning, a search of a front, or some dozens of settings in a hurry."""


def chosen_search(name: str, parameters: int, use: Use = "tuning") -> str:
    """The search that a name means.

    Args:
        name: of a search, or :data:`AUTOMATIC`.
        parameters: how many are searched.
        use: what it is for.
    """
    if name != AUTOMATIC:
        return name
    if parameters > (FEW_PARAMETERS if use == "tuning" else FEW_WITHOUT_TIME):
        return CmaEs.name
    return GaussianProcess.name if use == "front" else LocalisedRecursiveRandomSearch.name
