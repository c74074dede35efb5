"""Keywords of the builders: one that is misspelt is refused with the one that is meant."""

from __future__ import annotations

from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from vermilion.networks.network import OWN_KEYS
from vermilion.scenario.errors import ScenarioError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

Arguments = ParamSpec("Arguments")
Built = TypeVar("Built")


def with_known_keywords(builder: Callable[Arguments, Built]) -> Callable[Arguments, Built]:
    """The same builder, which knows its own keywords and those of a scenario, and no others."""
    own = [
        name
        for name, parameter in signature(builder).parameters.items()
        if parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(builder)
    def checked(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Built:
        known = dict.fromkeys([*own, *OWN_KEYS])
        for name, value in keywords.items():
            if name not in known:
                accepted = f"a keyword of {builder.__name__}: {did_you_mean(name, known)}"
                raise ScenarioError(name, value, accepted)
        return builder(*arguments, **keywords)

    return checked
