"""Classes written by users: their checks, and their description for the core."""

from __future__ import annotations

import copy
import inspect
import json
import keyword
import math
import re
import traceback
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from vermilion.scenario import algorithms
from vermilion.scenario.errors import (
    FieldError,
    ScenarioError,
    errors_of,
    errors_under,
    from_core,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario.algorithms import Parameter, ParameterValue
    from vermilion.scenario.errors import PluginError

_Own = TypeVar("_Own")


class OwnClassAdapter(Generic[_Own]):
    """Adapter that makes and copies instances of a class, and explains their errors.

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
        """Set the values of an instance; whole numbers become ``int``."""
        for name, value in values.items():
            whole = name in self._whole and value is not None
            setattr(instance, name, int(value) if whole else value)  # type: ignore[arg-type] # whole values are numbers

    def copy(self, instance: _Own) -> _Own:
        """An equal instance that shares no state with this one."""
        return copy.deepcopy(instance)

    def explain(self, error: Exception, doing: str, now_ns: int | None) -> PluginError:
        """Return the error that a user sees, with the original as its cause."""
        return explained(self.failure, f"{self.kind} {self._name}", error, doing, now_ns)


def explained(
    failure: type[PluginError], who: str, error: Exception, doing: str, now_ns: int | None
) -> PluginError:
    """Explain an error in a user's code in one line: class, operation, time, place.

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
    explained_error = failure(f"{who}: {doing}{when}: {what}{where}")
    explained_error.__cause__ = error
    return explained_error


@dataclass(frozen=True)
class OwnKind:
    """See the module's head.

    Attributes:
        words: what it is, in words.
        field: of a scenario in which a name of it stands.
        core_name: as the core's functions call it.
        forget: has the lists forgotten that name all of this kind.
    """

    words: str
    field: str
    core_name: str
    forget: Callable[[], None]

    def register(
        self,
        own: type[Any],
        table_of: Callable[[], dict[str, object]],
        adapter: Callable[[], object],
    ) -> None:
        """Register a class with the core.

        Args:
            own: the class.
            table_of: checks it and makes its entry in the list of its kind.
            adapter: makes what the core asks of it.

        Raises:
            ScenarioError: a name or a parameter that is not accepted.
        """
        from vermilion import _core

        origin = f"{self.words} {getattr(own, '__name__', own)}"
        with errors_of(origin):
            table = table_of()
        try:
            getattr(_core, f"register_{self.core_name}")(json.dumps(table), adapter())
        except _core.ParameterError as error:
            raise from_core(error, origin) from None
        self.forget()

    def unregister(self, name: str) -> None:
        """Unregister a class from the core.

        Raises:
            ScenarioError: there is none of this name.
        """
        from vermilion import _core

        if not getattr(_core, f"unregister_{self.core_name}")(name):
            raise ScenarioError(self.field, name, f"the name of a {self.words} written in Python")
        self.forget()

    def table(
        self, own: type[Any], rows: Sequence[Parameter], ordered: Sequence[tuple[str, str]]
    ) -> dict[str, object]:
        """A class's entry in the list of its kind, with these parameters."""
        summary = (inspect.getdoc(own) or "").split("\n")[0]
        return {
            "name": own.name,
            "title": own.title or own.__name__,
            "summary": summary.rstrip(".") or f"A {self.words} written in Python",
            "source": own.source,
            "parameters": [asdict(row) for row in rows],
            "ordered": [list(pair) for pair in ordered],
        }


UNITS: Final = ("packets", "bytes", "seconds", "bit/s", "probability", "1")
"""Units of parameters."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def number(
    name: str,
    unit: str,
    default: float | None,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    minimum_excluded: bool = False,
    whole: bool = False,
    search: tuple[float, float] | None = None,
    scale: str = "linear",
    meaning: str = "",
    source: str = "",
) -> Parameter:
    """A parameter that is a number.

    Args:
        name: of the parameter and of the attribute that has its value.
        unit: "packets", "bytes", "seconds", "bit/s", "probability" or "1".
        default: ``None`` leaves it to the discipline, which then finds ``None``.
        minimum: smallest value accepted.
        maximum: largest value accepted.
        minimum_excluded: whether the smallest value itself is refused.
        whole: whether only whole numbers are accepted.
        search: the box that a tuner searches; without one it is not tuned unless asked for.
        scale: "linear" or "log": how a search should walk along it.
        meaning: one line.
        source: where its default comes from.
    """
    return algorithms.Parameter(
        name,
        "number",
        unit,
        default,
        minimum,
        maximum,
        minimum_excluded,
        whole,
        scale,
        search,
        meaning=meaning,
        source=source,
    )


def switch(name: str, default: bool, *, meaning: str = "", source: str = "") -> Parameter:  # noqa: FBT001 - beside the defaults of number() and choice()
    """A parameter that is on or off."""
    return algorithms.Parameter(name, "switch", default=default, meaning=meaning, source=source)


def choice(
    name: str, default: str, choices: Sequence[str], *, meaning: str = "", source: str = ""
) -> Parameter:
    """A parameter that is one of a few names."""
    return algorithms.Parameter(
        name, "choice", default=default, choices=tuple(choices), meaning=meaning, source=source
    )


def check_class(own: type, base: type, example: str, methods: dict[str, str]) -> None:
    """Refuse a class that cannot be registered.

    Args:
        own: the class.
        base: what it must be derived from.
        example: a name that it could have.
        methods: those it must have, each with what it does.

    Raises:
        FieldError: what is wrong with it.
    """
    if not (isinstance(own, type) and issubclass(own, base)):
        raise FieldError("class", str(own), f"a class derived from vermilion.{base.__name__}")
    name = getattr(own, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FieldError("name", name, f'small letters, digits and hyphens, like "{example}"')
    for method, purpose in methods.items():
        if not has_own(own, base, method):
            raise FieldError(method, None, f"a method that {purpose}")


def has_own(own: type, base: type, method: str) -> bool:
    """Return whether a class overrides a method of its base."""
    return getattr(own, method) is not getattr(base, method)


def check_table(
    own: type,
    base: type,
    parameters: Sequence[Parameter],
    ordered: Sequence[tuple[str, str]],
    taken: Sequence[str] = (),
) -> None:
    """Refuse an invalid table of a class.

    Args:
        own: the class.
        base: what it is derived from, whose names are taken.
        parameters: the rows.
        ordered: pairs of them.
        taken: names of parameters that it has anyway.

    Raises:
        FieldError: what is wrong with it.
    """
    seen: set[str] = set()
    for parameter in parameters:
        if not isinstance(parameter, algorithms.Parameter):
            raise FieldError("parameters", parameter, "vermilion.number, .switch or .choice")
        _check_name(parameter.name, seen, own, base)
        if parameter.name in taken:
            accepted = "a name that no parameter of all senders has"
            raise FieldError("parameters", parameter.name, accepted)
        with errors_under(f"parameters.{parameter.name}"):
            _check_parameter(parameter)
        seen.add(parameter.name)
    for name in (name for pair in ordered for name in pair):
        if name not in seen:
            raise FieldError("ordered", name, one_of(seen))


def _check_name(name: object, seen: set[str], own: type, base: type) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise FieldError(
            "parameters", name, 'a name that can be an attribute, like "min_threshold"'
        )
    if name in seen:
        raise FieldError("parameters", name, "each name once")
    annotated = (vars(kind).get("__annotations__", {}) for kind in base.__mro__)
    if hasattr(base, name) or any(name in names for names in annotated):
        raise FieldError("parameters", name, f"a name that vermilion.{base.__name__} does not use")
    if inspect.isroutine(getattr(own, name, None)):
        raise FieldError("parameters", name, "a name that no method has")


def _check_parameter(parameter: Parameter) -> None:
    """Refuse a contradictory row of the table."""
    if parameter.unit not in UNITS:
        raise FieldError("unit", parameter.unit, one_of(UNITS))
    if parameter.scale not in {"linear", "log"}:
        raise FieldError("scale", parameter.scale, one_of(("linear", "log")))
    if parameter.kind != "number":
        try:
            parameter.parse(parameter.default)
        except FieldError as error:
            raise FieldError("default", parameter.default, error.accepted) from None
    elif parameter.default is not None:
        _check_in_range("default", parameter.default, parameter)
    if parameter.search is not None:
        low, high = parameter.search
        _check_in_range("search", low, parameter)
        _check_in_range("search", high, parameter)
        if low >= high or (parameter.scale == "log" and low <= 0):
            accepted = "a lower and an upper bound, on a logarithmic scale above 0"
            raise FieldError("search", list(parameter.search), accepted)


def _check_in_range(field: str, value: object, parameter: Parameter) -> None:
    """Refuse a number in the table outside of the table's own range."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        low, high = parameter.minimum, parameter.maximum
        too_low = low is not None and (value < low or (parameter.minimum_excluded and value == low))
        broken = parameter.integer and value != int(value)
        if not too_low and not (high is not None and value > high) and not broken:
            return
    raise FieldError(field, value, parameter.accepted())
