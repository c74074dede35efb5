"""The parameter table of a class that a user writes in Python, and what is checked of it."""

from __future__ import annotations

import inspect
import keyword
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from vermilion.scenario import algorithms
from vermilion.scenario.errors import FieldError, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario.algorithms import Parameter, ParameterValue

UNITS: Final = ("packets", "bytes", "seconds", "bit/s", "probability", "1")
"""What a parameter can be measured in."""

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
    plain = _row(name, "number", default, None, meaning, source)
    return replace(
        plain,
        unit=unit,
        minimum=minimum,
        maximum=maximum,
        minimum_excluded=minimum_excluded,
        integer=whole,
        scale=scale,
        search=search,
    )


def switch(name: str, default: bool, *, meaning: str = "", source: str = "") -> Parameter:  # noqa: FBT001 - beside the defaults of number() and choice()
    """A parameter that is on or off."""
    return _row(name, "switch", default, None, meaning, source)


def choice(
    name: str, default: str, choices: Sequence[str], *, meaning: str = "", source: str = ""
) -> Parameter:
    """A parameter that is one of a few names."""
    return _row(name, "choice", default, tuple(choices), meaning, source)


def _row(
    name: str,
    kind: str,
    default: ParameterValue,
    choices: tuple[str, ...] | None,
    meaning: str,
    source: str,
) -> Parameter:
    """A row that has no unit and no range."""
    return algorithms.Parameter(
        name=name,
        kind=kind,
        unit="1",
        default=default,
        minimum=None,
        maximum=None,
        minimum_excluded=False,
        integer=False,
        scale="linear",
        search=None,
        choices=choices,
        meaning=meaning,
        source=source,
    )


def check_class(own: type, base: type, example: str, methods: dict[str, str]) -> None:
    """Refuses a class that cannot be registered.

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
        accepted = f'small letters, digits and hyphens, like "{example}"'
        raise FieldError("name", name, accepted)
    for method, purpose in methods.items():
        if not has_own(own, base, method):
            raise FieldError(method, None, f"a method that {purpose}")


def has_own(own: type, base: type, method: str) -> bool:
    """Whether a class has a method of its own, and not only its base's."""
    return getattr(own, method) is not getattr(base, method)


def check_table(
    own: type,
    base: type,
    parameters: Sequence[Parameter],
    ordered: Sequence[tuple[str, str]],
    taken: Sequence[str] = (),
) -> None:
    """Refuses a table that cannot be a class's.

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
        try:
            _check_parameter(parameter)
        except FieldError as error:
            raise error.under(f"parameters.{parameter.name}") from None
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
    if hasattr(base, name) or name in base.__annotations__:
        raise FieldError("parameters", name, f"a name that vermilion.{base.__name__} does not use")
    if inspect.isroutine(getattr(own, name, None)):
        raise FieldError("parameters", name, "a name that no method has")


def _check_parameter(parameter: Parameter) -> None:
    """Refuses a row of the table that contradicts itself."""
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
    """Refuses a number of the table's own that the table would refuse."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        low, high = parameter.minimum, parameter.maximum
        too_low = low is not None and (value < low or (parameter.minimum_excluded and value == low))
        broken = parameter.integer and value != int(value)
        if not too_low and not (high is not None and value > high) and not broken:
            return
    raise FieldError(field, value, parameter.accepted())
