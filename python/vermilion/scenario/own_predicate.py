"""Conditions on packets that a user writes in Python, for ``[[scripted_losses]]``.

A function says of one packet whether it is meant. Once it is registered its name stands for it: the
key ``when`` of a scripted loss. :mod:`vermilion` has the names of this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from vermilion.scenario.errors import FieldError, PacketPredicateError, ScenarioError, did_you_mean
from vermilion.scenario.own_class import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion._core import PassingPacket
    from vermilion.scenario.errors import PluginError

    PacketPredicate = Callable[[PassingPacket], bool]

_Predicate = TypeVar("_Predicate", bound="PacketPredicate")

_KIND: Final = "packet predicate"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ACCEPTED: Final = "a function of one packet that has a name, like def every_third(packet): ..."


def packet_predicate(function: _Predicate) -> _Predicate:
    """Register a condition on packets in this process; also a decorator.

    Its name in scenarios is the function's, with hyphens: ``after_a_pause`` is "after-a-pause". It
    is called with one packet (:class:`vermilion._core.PassingPacket`) and says whether that one is
    meant. The answer has to follow from the packet alone: a function that remembers, or that draws
    random numbers, makes runs that cannot be repeated. One of the same name is replaced.

        >>> @vermilion.packet_predicate
        ... def powers_of_two(packet):
        ...     return packet.number & (packet.number - 1) == 0

    Raises:
        ScenarioError: what is not a function, or has no name of its own.
    """
    from vermilion import _core

    name = getattr(function, "__name__", "").replace("_", "-")
    if not callable(function) or isinstance(function, type) or not _NAME.fullmatch(name):
        shown = getattr(function, "__name__", repr(function))
        raise ScenarioError("when", shown, _ACCEPTED)
    _core.register_predicate(name, function, _Adapter(name))
    return function


def unregister_packet_predicate(name: str) -> None:
    """Unregister a condition.

    Raises:
        ScenarioError: there is none of this name.
    """
    from vermilion import _core

    if not _core.unregister_predicate(name):
        raise ScenarioError("when", name, f"the name of a {_KIND}")


def registered_predicate(function: PacketPredicate) -> str:
    """Register a function; return its name.

    Raises:
        ScenarioError: it is refused.
    """
    return packet_predicate(function).__name__.replace("_", "-")


def known_predicate(value: object) -> str | None:
    """The name of a condition that is registered; a function is registered first.

    Raises:
        FieldError: there is none of this name.
    """
    from vermilion import _core

    if value is None:
        return None
    if callable(value):
        try:
            return registered_predicate(value)
        except ScenarioError as error:
            raise FieldError("", error.value, error.accepted) from None
    names = _core.predicates()
    if isinstance(value, str) and value in names:
        return value
    if not names:
        accepted = "the name of a function that is registered; none is (see --plugin)"
    else:
        shown = value if isinstance(value, str) else ""
        accepted = f"the name of a function that is registered: {did_you_mean(shown, names)}"
    raise FieldError("", value, accepted)


def names_in(module: dict[str, object]) -> list[str]:
    """The names of the conditions that a module of a user's has registered."""
    from vermilion import _core

    known = set(_core.predicates())
    name_of_module = module["__name__"]
    own = [
        function.__name__.replace("_", "-")
        for function in module.values()
        if callable(function)
        and not isinstance(function, type)
        and getattr(function, "__module__", None) == name_of_module
        and hasattr(function, "__name__")
    ]
    return [name for name in own if name in known]


@dataclass(frozen=True)
class _Adapter:
    """Interface of a function to the core, which asks it to explain a failure."""

    name: str

    def explain(self, error: Exception, doing: str, now_ns: int | None) -> PluginError:
        """Return the error that a user sees, with the original as its cause."""
        return explained(PacketPredicateError, f"{_KIND} {self.name}", error, doing, now_ns)
