"""Fields of an objective's table: accepted values and their parsers.

An objective is a dataclass, and each of its fields says with ``field(metadata=LINK)`` of
which kind it is. A field without a default is required.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives.metrics import MetricPath
from vermilion.objectives.windows import matching
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean
from vermilion.scenario.quantities import PACKETS, RATIO, TIME, Quantity
from vermilion.scenario.tuning_table import target_delay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.scenario import Scenario

    ReadTable = Callable[[Mapping[str, Any], Scenario], Any]
    """Function that reads an objective from its table."""

_KIND: Final = "objective field"


@dataclass(frozen=True, slots=True)
class FieldKind:
    """A kind of field.

    Attributes:
        meaning: what it says, in words.
        read: from what a table holds (:data:`MISSING` where it is required and absent) to the
            value; raises :class:`FieldError`. It is given what reads an objective's table, for
            fields that hold such tables themselves.
    """

    meaning: str
    read: Callable[[object, Scenario, ReadTable], Any]


def kind(meaning: str, read: Callable[[object, Scenario], Any]) -> Mapping[str, FieldKind]:
    """A kind of field, as ``field(metadata=...)`` takes it."""
    return kind_with_tables(meaning, lambda value, scenario, _: read(value, scenario))


def kind_with_tables(
    meaning: str, read: Callable[[object, Scenario, ReadTable], Any]
) -> Mapping[str, FieldKind]:
    """The same for a field that holds tables of objectives."""
    return {_KIND: FieldKind(meaning, read)}


def fields_of(objective: type) -> dict[str, FieldKind]:
    """The fields of an objective's table besides ``name``, with their kinds."""
    return {
        entry.name: entry.metadata[_KIND]
        for entry in dataclasses.fields(objective)
        if _KIND in entry.metadata
    }


def required_fields(objective: type) -> list[str]:
    """List the fields that have no default."""
    return [
        entry.name
        for entry in dataclasses.fields(objective)
        if _KIND in entry.metadata and entry.default is dataclasses.MISSING
    ]


def _link(value: object, scenario: Scenario) -> str:
    if not isinstance(value, str) or value not in scenario.links:
        known = did_you_mean(_text(value), scenario.links)
        raise FieldError("", value, f"a link of this scenario, {known}")
    return value


def _flows(value: object, scenario: Scenario) -> str:
    if not isinstance(value, str) or not matching(value, scenario.flows):
        known = did_you_mean(_text(value), scenario.flows)
        raise FieldError("", value, f'flows of this scenario, {known}, or "*" for all')
    return value


@dataclass(frozen=True, slots=True)
class QueueDelay:
    """A queue length that is given as a time.

    Attributes:
        time_s: to send what waits, s.
    """

    time_s: float


def _target(value: object, _: Scenario) -> float | QueueDelay:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value!r} packets"  # a bare number is packets
    time_s = target_delay(value)
    return float(Quantity(PACKETS).parse(value)) if time_s is None else QueueDelay(time_s)


def _time(value: object, _: Scenario) -> float:
    return float(Quantity(TIME, minimum_excluded=True).parse(value))


def _share(value: object, _: Scenario) -> float:
    return float(Quantity(RATIO, maximum=1.0, minimum_excluded=True).parse(value))


def choice(accepted: Mapping[Any, Any]) -> Callable[[object, Scenario], Any]:
    """Read one of several names, each of which stands for a value."""

    def read(value: object, _: Scenario) -> Any:  # noqa: ANN401 - whatever they stand for
        for known, meant in accepted.items():
            if type(value) is type(known) and value == known:
                return meant
        raise FieldError("", value, f"one of: {_quote_all(accepted)}")

    return read


def _quote_all(values: Iterable[object]) -> str:
    return ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)


def _text(value: object) -> str:
    return "" if value is MISSING else str(value)


def _metric(value: object, scenario: Scenario) -> MetricPath:
    return MetricPath.parse(value, scenario)


LINK: Final = kind("the name of a link", _link)
FLOWS: Final = kind('a group of flows; "*" stands for any letters', _flows)
TARGET: Final = kind("the queue length wanted: packets, or the time to send it", _target)
BASE_DELAY: Final = kind("the delay without queue, such as the round trip", _time)
OVER: Final = kind(
    'the mean of all "phases" or the "total"', choice({"phases": "phases", "total": "total"})
)
PERCENTILE: Final = kind("5, 50, 95 or 99", choice({5: "p5", 50: "p50", 95: "p95", 99: "p99"}))
UPPER_PERCENTILE: Final = kind("50, 95 or 99", choice({50: "p50", 95: "p95", 99: "p99"}))
AT_MOST: Final = kind("the longest wait that is accepted, a time", _time)
GOODPUT_SHARE: Final = kind("the part of the goodput of now that has to stay, 0 to 1", _share)
LATENCY: Final = kind(
    '"delay", "jitter" or "loss"',
    choice({"delay": "delay", "jitter": "jitter", "loss": "loss"}),
)
METRIC: Final = kind("the path of a metric", _metric)
DIRECTION: Final = kind(
    '"minimise" or "maximise"',
    choice(
        {
            "minimise": "minimise",
            "maximise": "maximise",
            "minimize": "minimise",
            "maximize": "maximise",
        }
    ),
)
