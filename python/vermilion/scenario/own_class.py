"""What the core asks of a class that a user has written, whatever it is for."""

from __future__ import annotations

import copy
import traceback
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario.algorithms import Parameter, ParameterValue
    from vermilion.scenario.errors import PluginError

_Own = TypeVar("_Own")


class OwnClassAdapter(Generic[_Own]):
    """Makes and copies instances of a class, and explains what goes wrong in them.

    Attributes:
        kind: what the class is, in words that stand before its name.
        failure: what a user sees when it has failed.
    """

    kind: ClassVar[str]
    failure: ClassVar[type[PluginError]]

    def __init__(self, own: type[_Own], name: str, parameters: Sequence[Parameter]) -> None:
        self._class = own
        self._name = name
        self._whole = {row.name for row in parameters if row.integer}

    def own(self, base: type, method: str) -> Callable[..., object] | None:
        """The function of this name, where the class has one of its own."""
        found: Callable[..., object] = getattr(self._class, method)
        return found if found is not getattr(base, method) else None

    def bare(self, values: Mapping[str, ParameterValue]) -> _Own:
        """An instance with these values, before its ``__init__``."""
        instance = self._class.__new__(self._class)
        self.give(instance, values)
        return instance

    def give(self, instance: _Own, values: Mapping[str, ParameterValue]) -> None:
        """Gives an instance values; whole numbers are of Python's type for them."""
        for name, value in values.items():
            whole = name in self._whole and value is not None
            setattr(instance, name, int(value) if whole else value)  # type: ignore[arg-type] # whole values are numbers

    def copy(self, instance: _Own) -> _Own:
        """An equal instance that shares no state with this one."""
        return copy.deepcopy(instance)

    def explain(self, error: Exception, doing: str, now_ns: int | None) -> PluginError:
        """The error that a user sees, with what happened as its cause."""
        return explained(self.failure, f"{self.kind} {self._name}", error, doing, now_ns)


def explained(
    failure: type[PluginError], who: str, error: Exception, doing: str, now_ns: int | None
) -> PluginError:
    """One line about an error in what a user has written: who failed, at what, when and where.

    Args:
        failure: its kind.
        who: failed.
        error: what was raised.
        doing: what it was about.
        now_ns: the simulated time.
    """
    when = "" if now_ns is None else f" at {now_ns / 1e9:.9g} s"
    lines = traceback.extract_tb(error.__traceback__)
    where = f" ({lines[-1].filename}, line {lines[-1].lineno})" if lines else ""
    # Messages and notes have lines of their own.
    what = " ".join("".join(traceback.format_exception_only(error)).split())
    told = failure(f"{who}: {doing}{when}: {what}{where}")
    told.__cause__ = error
    return told
