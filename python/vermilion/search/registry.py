"""Every search by name: one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
