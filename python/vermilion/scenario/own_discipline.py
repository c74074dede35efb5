"""Queue disciplines that a user writes in Python.

A class says what it is called, which parameters it has, and what becomes of a packet. Once it is
registered its name stands for it wherever a discipline is named: in scenarios, on the command line,
in comparisons and tunings. :mod:`vermilion` has the names of this module.
"""

from __future__ import annotations

import copy
import enum
import inspect
import json
import keyword
import math
import re
import traceback
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from vermilion.scenario import algorithms
from vermilion.scenario.errors import DisciplineError, FieldError, ScenarioError, from_core, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion._core import Coin, Packet, Queue
    from vermilion.scenario.algorithms import Parameter, ParameterValue

UNITS: Final = ("packets", "bytes", "seconds", "bit/s", "probability", "1")
"""What a parameter can be measured in."""

_Class = TypeVar("_Class", bound="type[Discipline]")

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Verdict(enum.Enum):
    """What becomes of a packet that arrives, or whose turn it is."""

    ACCEPT = "accept"
    """It joins the queue, or is sent."""
    MARK = "mark"
    """As ACCEPT, with the congestion-experienced mark; for ECN-capable packets only."""
    NOTIFY = "notify"
    """MARK for an ECN-capable packet, DROP for any other."""
    DROP = "drop"
    """It is dropped early, by choice, to give notice of congestion."""
    FORCED = "forced"
    """It is dropped by a rule that leaves no choice, such as an average above its maximum."""
    OVERFLOW = "overflow"
    """It is dropped because the buffer is full."""


class Discipline:
    """The base class of disciplines in Python.

    Each queue has an instance of its own. The values of its parameters are attributes of the same
    names, in the units of the table, there before ``__init__`` is called; so are ``link_rate`` in
    bit/s and ``link_delay`` in seconds. Time is in nanoseconds, as whole numbers.

    Attributes:
        name: its name in scenarios, in small letters, digits and hyphens.
        title: its name in prose; without one, the name of the class.
        source: where it comes from.
        parameters: its table, of :func:`number`, :func:`switch` and :func:`choice`.
        ordered: pairs of parameters of which the first must be below the second.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    source: ClassVar[str] = "written in Python"
    parameters: ClassVar[Sequence[Parameter]] = ()
    ordered: ClassVar[Sequence[tuple[str, str]]] = ()

    link_rate: float
    link_delay: float

    if TYPE_CHECKING:

        def __getattr__(self, parameter: str) -> Any:  # noqa: ANN401 - by its table
            """The value of a parameter, which a type checker cannot know."""

    def prepare(self) -> None:
        """Works out what follows from parameters and link.

        Called after ``__init__`` and after every change of either. A ``ValueError`` refuses the
        settings, with its message.
        """

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        """Decides over a packet that arrives at ``queue``.

        ``packet`` and ``queue`` are the same objects every time and show the present packet only;
        ``coin()`` is the next random number, uniform over [0, 1).
        """
        raise NotImplementedError

    def on_departure(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        """Decides over the packet whose turn it is; ``queue`` is what it leaves behind.

        Only a class that has this method is asked: it makes a run slower. After a drop the next
        packet's turn comes at the same instant.
        """
        raise NotImplementedError

    def average_queue(self) -> float | None:
        """Its own average queue in packets, which metrics and time series then show."""
        raise NotImplementedError

    def drop_probability(self) -> float | None:
        """The probability with which it drops or marks, which time series then show."""
        raise NotImplementedError


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
        name=name,
        kind="number",
        unit=unit,
        default=default,
        minimum=minimum,
        maximum=maximum,
        minimum_excluded=minimum_excluded,
        integer=whole,
        scale=scale,
        search=search,
        choices=None,
        meaning=meaning,
        source=source,
    )


def switch(name: str, default: bool, *, meaning: str = "", source: str = "") -> Parameter:  # noqa: FBT001
    """A parameter that is on or off."""
    return _named_value(name, "switch", default, None, meaning, source)


def choice(
    name: str, default: str, choices: Sequence[str], *, meaning: str = "", source: str = ""
) -> Parameter:
    """A parameter that is one of a few names."""
    return _named_value(name, "choice", default, tuple(choices), meaning, source)


def _named_value(
    name: str,
    kind: str,
    default: ParameterValue,
    choices: tuple[str, ...] | None,
    meaning: str,
    source: str,
) -> Parameter:
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


def register_discipline(discipline: _Class) -> _Class:
    """Makes a discipline known by its name, to everything in this process; also a decorator.

    One of the same name that was registered before is replaced.

    Raises:
        ScenarioError: a name or a parameter that is not accepted.
    """
    from vermilion import _core

    try:
        _check(discipline)
    except FieldError as error:
        raise error.at(_origin(discipline)) from None
    summary = (inspect.getdoc(discipline) or "").split("\n")[0]
    table = {
        "name": discipline.name,
        "title": discipline.title or discipline.__name__,
        "summary": summary.rstrip(".") or "A discipline written in Python",
        "source": discipline.source,
        "parameters": [asdict(parameter) for parameter in discipline.parameters],
        "ordered": [list(pair) for pair in discipline.ordered],
    }
    try:
        _core.register_discipline(json.dumps(table), _Adapter(discipline))
    except _core.ParameterError as error:
        raise from_core(error, _origin(discipline)) from None
    algorithms.disciplines.cache_clear()
    return discipline


def unregister_discipline(name: str) -> None:
    """Forgets a discipline that was registered.

    Raises:
        ScenarioError: there is none of this name.
    """
    from vermilion import _core

    if not _core.unregister_discipline(name):
        raise ScenarioError("discipline", name, "the name of a discipline written in Python")
    algorithms.disciplines.cache_clear()


def _origin(discipline: type[Discipline]) -> str:
    return f"discipline {getattr(discipline, '__name__', discipline)}"


def _check(discipline: type[Discipline]) -> None:
    """Refuses a class that cannot be registered.

    Raises:
        FieldError: what is wrong with it.
    """
    if not (isinstance(discipline, type) and issubclass(discipline, Discipline)):
        raise FieldError("class", str(discipline), "a class derived from vermilion.Discipline")
    name = getattr(discipline, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise FieldError("name", name, 'small letters, digits and hyphens, like "my-red"')
    if not _has_own(discipline, "on_arrival"):
        raise FieldError("on_arrival", None, "a method that decides over a packet")
    seen: set[str] = set()
    for parameter in discipline.parameters:
        if not isinstance(parameter, algorithms.Parameter):
            raise FieldError("parameters", parameter, "vermilion.number, .switch or .choice")
        _check_name(parameter.name, seen, discipline)
        try:
            _check_parameter(parameter)
        except FieldError as error:
            raise error.under(f"parameters.{parameter.name}") from None
        seen.add(parameter.name)
    for name in (name for pair in discipline.ordered for name in pair):
        if name not in seen:
            raise FieldError("ordered", name, one_of(seen))


def _check_name(name: object, seen: set[str], discipline: type[Discipline]) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise FieldError(
            "parameters", name, 'a name that can be an attribute, like "min_threshold"'
        )
    if name in seen:
        raise FieldError("parameters", name, "each name once")
    if hasattr(Discipline, name) or name in Discipline.__annotations__:
        raise FieldError("parameters", name, "a name that vermilion.Discipline does not use")
    if inspect.isroutine(getattr(discipline, name, None)):
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


def _has_own(discipline: type[Discipline], method: str) -> bool:
    return getattr(discipline, method) is not getattr(Discipline, method)


class _Adapter:
    """What the core asks of a class: making, changing and copying instances, and explaining."""

    verdicts = tuple(Verdict)

    def __init__(self, discipline: type[Discipline]) -> None:
        self._discipline = discipline
        self._whole = {row.name for row in discipline.parameters if row.integer}
        self.on_arrival = discipline.on_arrival
        self.on_departure = self._own("on_departure")
        self.average_queue = self._own("average_queue")
        self.drop_probability = self._own("drop_probability")

    def _own(self, method: str) -> Callable[..., object] | None:
        """The function, where the class has one of its own."""
        found: Callable[..., object] = getattr(self._discipline, method)
        return found if _has_own(self._discipline, method) else None

    def _give(
        self,
        instance: Discipline,
        values: Mapping[str, ParameterValue] | None,
        rate: float,
        delay: float,
    ) -> None:
        for name, value in (values or {}).items():
            whole = name in self._whole and value is not None
            setattr(instance, name, int(value) if whole else value)  # type: ignore[arg-type]
        instance.link_rate, instance.link_delay = rate, delay

    def build(self, values: Mapping[str, ParameterValue], rate: float, delay: float) -> Discipline:
        """An instance with these values in front of such a link."""
        instance = self._discipline.__new__(self._discipline)
        self._give(instance, values, rate, delay)
        type(instance).__init__(instance)
        instance.prepare()
        return instance

    def change(
        self,
        instance: Discipline,
        values: Mapping[str, ParameterValue] | None,
        rate: float,
        delay: float,
    ) -> None:
        """New values (``None`` for the old ones), or a new link; all of it or nothing."""
        before = dict(vars(instance))
        try:
            self._give(instance, values, rate, delay)
            instance.prepare()
        except BaseException:
            vars(instance).clear()
            vars(instance).update(before)
            raise

    def copy(self, instance: Discipline) -> Discipline:
        """An equal instance that shares no state with this one."""
        return copy.deepcopy(instance)

    def explain(self, error: Exception, doing: str, now_ns: int | None) -> DisciplineError:
        """The error that a user sees, with what happened as its cause."""
        when = "" if now_ns is None else f" at {now_ns / 1e9:.9g} s"
        lines = traceback.extract_tb(error.__traceback__)
        where = f" ({lines[-1].filename}, line {lines[-1].lineno})" if lines else ""
        what = "".join(traceback.format_exception_only(error)).strip()
        message = f"discipline {self._discipline.name}: {doing}{when}: {what}{where}"
        explained = DisciplineError(message)
        explained.__cause__ = error
        return explained
