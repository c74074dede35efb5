"""The objects of VERMILION-QUEUE-MIB and of DIFFSERV-MIB (RFC 3289) that are served, and scales.

``VERMILION-QUEUE-MIB.txt`` beside this file says the same for other tools; a test holds the two
together. It stands below net-snmp's playpen (``netSnmpPlaypen``), because nobody has registered a
number for Vermilion yet: :data:`TOP` is the only place that would change. SNMP has whole numbers
only; a :class:`Scale` makes them of a parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from vermilion.agentx.protocol import ValueType
from vermilion.routers.base import PushPrice
from vermilion.routers.linux.pie import BUILT_IN
from vermilion.scenario.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.agentx.protocol import ObjectIdentifier
    from vermilion.routers.base import ParameterValue

LARGEST_32: Final = 2**32 - 1
OFF: Final = LARGEST_32
"""Says of a threshold that there is none."""

_MICROSECOND: Final = 1e-6
_PROBABILITY_STEPS: Final = 2**32
_GAIN_STEPS: Final = 16
_PERCENT: Final = 100
_TRUE, _FALSE = 1, 2
"""Of TruthValue (RFC 2579)."""

_MOST_SHIFT: Final = 31
_WEIGHT_STEPS: Final = 65_536
_PER_THOUSAND: Final = 1000


@dataclass(frozen=True, slots=True)
class Scale:
    """Whole numbers that stand for the values of a parameter.

    Attributes:
        type: of the value in SNMP.
        lowest: of the numbers.
        highest: likewise.
        said: the number for a value.
        meant: the value of a number; raises ``ValueError`` for one that stands for none.
        exact: whether a value between two numbers is a mistake; otherwise the nearer is taken.
    """

    type: ValueType
    lowest: int
    highest: int
    said: Callable[[ParameterValue], int]
    meant: Callable[[int], ParameterValue]
    exact: bool = True


def _number(value: ParameterValue) -> float:
    if isinstance(value, int | float):
        return value
    message = f"{value!r} is no number"
    raise ValueError(message)


def _in_steps(steps: float) -> Callable[[ParameterValue], int]:
    return lambda value: round(_number(value) * steps)


def _log_of(weight: float) -> int:
    if weight <= 0.0:
        message = f"{weight!r} is no weight"
        raise ValueError(message)
    return round(-math.log2(weight))


def _decode_weight(said: int) -> ParameterValue:
    if said <= 0 or said & (said - 1):
        message = "no power of two, and the kernel has no other weights"
        raise ValueError(message)
    return round(math.log2(_WEIGHT_STEPS / said))


COUNT: Final = Scale(
    ValueType.GAUGE32, 0, LARGEST_32, lambda value: round(_number(value)), lambda said: said
)
"""Bytes, packets, or anything else that is counted."""

MICROSECONDS: Final = Scale(
    ValueType.GAUGE32,
    0,
    LARGEST_32 - 1,
    _in_steps(1e6),
    lambda said: said * _MICROSECOND,
    exact=False,
)
"""A time; in seconds as a parameter."""

MICROSECONDS_OR_OFF: Final = Scale(
    ValueType.GAUGE32,
    0,
    OFF,
    lambda value: OFF if value is None else round(_number(value) * 1e6),
    lambda said: None if said == OFF else said * _MICROSECOND,
    exact=False,
)
"""A time, or none."""

PROBABILITY: Final = Scale(
    ValueType.GAUGE32,
    0,
    LARGEST_32,
    _in_steps(_PROBABILITY_STEPS),
    lambda said: said / _PROBABILITY_STEPS,
    exact=False,
)
"""A probability below 1 in steps of 2^-32, as the kernel keeps it."""

PER_THOUSAND: Final = Scale(
    ValueType.GAUGE32,
    0,
    _PER_THOUSAND,
    _in_steps(_PER_THOUSAND),
    lambda said: said / _PER_THOUSAND,
    exact=False,
)
"""A probability as DIFFSERV-MIB has it."""

SHIFT: Final = Scale(ValueType.GAUGE32, 0, _MOST_SHIFT, COUNT.said, COUNT.meant)
"""A weight 2^-n, by its n."""

LOG_OF_WEIGHT: Final = Scale(
    ValueType.GAUGE32,
    1,
    _MOST_SHIFT,
    lambda value: _log_of(_number(value)),
    lambda said: 0.5**said,
)
"""A weight that is a power of two, by the n of 2^-n."""

WEIGHT: Final = Scale(
    ValueType.GAUGE32,
    0,
    _WEIGHT_STEPS,
    lambda value: round(_WEIGHT_STEPS * 0.5 ** _number(value)),
    _decode_weight,
)
"""The n of a weight 2^-n as DIFFSERV-MIB has the weight: in parts of 65536."""

SIXTEENTHS: Final = Scale(
    ValueType.GAUGE32, 0, 32, _in_steps(_GAIN_STEPS), lambda said: said / _GAIN_STEPS
)
"""A gain of PIE."""

PERCENTS: Final = Scale(
    ValueType.GAUGE32, 0, _PERCENT, _in_steps(_PERCENT), lambda said: said / _PERCENT
)
"""A probability in whole percents."""

TRUTH: Final = Scale(
    ValueType.INTEGER,
    _TRUE,
    _FALSE,
    lambda value: _TRUE if value else _FALSE,
    lambda said: said == _TRUE,
)
"""A switch."""


_CLOSE: Final = 1e-9


def encoded_value(setting: Setting, value: ParameterValue) -> int:
    """The number for a value.

    Raises:
        FieldError: there is none.
    """
    scale = setting.scale
    try:
        said = scale.said(value)
        near = scale.meant(said)
    except ValueError:
        raise FieldError(setting.parameter, value, "a number") from None
    if not scale.lowest <= said <= scale.highest:
        lowest, highest = scale.meant(scale.lowest), scale.meant(scale.highest)
        raise FieldError(setting.parameter, value, f"{lowest} to {highest}")
    if scale.exact and not is_close(near, value):
        accepted = f"a step that the agent has; the nearest is {near}"
        raise FieldError(setting.parameter, value, accepted)
    return said


def is_close(one: ParameterValue, other: ParameterValue) -> bool:
    """Return whether they are the same but for rounding."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return one == other


TOP: Final[ObjectIdentifier] = (1, 3, 6, 1, 4, 1, 8072, 9999, 9999, 2002)
"""Of VERMILION-QUEUE-MIB."""

OBJECTS: Final[ObjectIdentifier] = (*TOP, 1)
DIFFSERV: Final[ObjectIdentifier] = (1, 3, 6, 1, 2, 1, 97)
DATA_PATH: Final[ObjectIdentifier] = (*DIFFSERV, 1, 1, 1, 1)
ALGORITHMIC_DROP: Final[ObjectIdentifier] = (*DIFFSERV, 1, 6, 2, 1)
RANDOM_DROP: Final[ObjectIdentifier] = (*DIFFSERV, 1, 6, 4, 1)
QUEUE_ELEMENT: Final[ObjectIdentifier] = (*DIFFSERV, 1, 7, 2, 1)
NEXT_FREE: Final[tuple[ObjectIdentifier, ...]] = (
    (*DIFFSERV, 1, 6, 1),
    (*DIFFSERV, 1, 6, 3),
    (*DIFFSERV, 1, 7, 1),
)
"""Scalars that say which new row may be made: none."""

LONGEST_TEXT: Final = 255
"""Octets of a DisplayString (RFC 2579)."""


def _capitals(name: str) -> str:
    return name.title().replace("_", "")


class Fact(Enum):
    """A column of the table of all queues: its number and the type of its values."""

    INTERFACE = 2, ValueType.OCTET_STRING
    KIND = 3, ValueType.OCTET_STRING
    DISCIPLINE = 4, ValueType.OCTET_STRING
    CHANGEABLE = 5, ValueType.INTEGER
    BACKLOG_PACKETS = 6, ValueType.GAUGE32
    BACKLOG_BYTES = 7, ValueType.GAUGE32
    FORWARDED_PACKETS = 8, ValueType.COUNTER64
    FORWARDED_BYTES = 9, ValueType.COUNTER64
    DROPS = 10, ValueType.COUNTER64
    MARKS = 11, ValueType.COUNTER64
    MEASURED_AT = 12, ValueType.COUNTER64
    DIFF_SERV_ID = 13, ValueType.GAUGE32
    CHANGES = 14, ValueType.COUNTER32
    LAST_REFUSAL = 15, ValueType.OCTET_STRING
    FLOWS = 16, ValueType.GAUGE32
    ROUND_TRIP_MEAN = 17, ValueType.GAUGE32
    ROUND_TRIP_LEAST = 18, ValueType.GAUGE32
    TRAFFIC_KNOWN = 19, ValueType.INTEGER

    def __init__(self, number: int, kind: ValueType) -> None:
        self.number, self.type = number, kind
        self.title = f"vermilionQueue{_capitals(self.name)}"
        """Its name in the MIB file."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A column that is a parameter of a queue.

    Attributes:
        number: of the column.
        name: in the MIB file.
        parameter: of Vermilion's discipline.
        scale: how it is said.
        writable: whether it can be set, where the kind of queue has it.
    """

    number: int
    name: str
    parameter: str
    scale: Scale
    writable: bool = True


@dataclass(frozen=True, slots=True)
class SettingsTable:
    """The parameters of queues of some kinds; a row for each queue.

    Attributes:
        number: of the table.
        name: of the table in the MIB file.
        kinds: the kernel's words.
        settings: its columns.
    """

    number: int
    name: str
    kinds: tuple[str, ...]
    settings: tuple[Setting, ...]

    @property
    def entry(self) -> ObjectIdentifier:
        """Prefix of the names of its objects."""
        return (*OBJECTS, self.number, 1)


QUEUE_ENTRY: Final[ObjectIdentifier] = (*OBJECTS, 1, 1)
"""Of the table of all queues. All tables are indexed by ``ifIndex`` and the class that the queue is
below, as one number (4294967295 at the root)."""


def _table(
    number: int, title: str, kinds: tuple[str, ...], scales: Mapping[str, Scale]
) -> SettingsTable:
    settings = [
        Setting(
            column,
            f"vermilion{title}{_capitals(_TITLES.get(name, name))}",
            name,
            scale,
            name not in _FIXED,
        )
        for column, (name, scale) in enumerate(scales.items(), 1)
    ]
    return SettingsTable(number, f"vermilion{title}Table", kinds, tuple(settings))


_TITLES: Final = {"weight": "weight_log"}
_FIXED: Final = {"shaped", "flows", "maximum_packet_size", "candidates"}
"""Parameters that are only read."""

TABLES: Final = (
    _table(
        2,
        "Red",
        ("red",),
        {
            "limit": COUNT,
            "min_threshold": COUNT,
            "max_threshold": COUNT,
            "max_probability": PROBABILITY,
            "weight_log": SHIFT,
            "ecn": TRUTH,
            "drop_above_maximum": TRUTH,
            "no_drop": TRUTH,
            "adaptive": TRUTH,
            "shaped": TRUTH,
        },
    ),
    _table(
        3,
        "Pie",
        ("pie", "fq_pie"),
        {
            "limit": COUNT,
            "target": MICROSECONDS,
            "interval": MICROSECONDS,
            "alpha": SIXTEENTHS,
            "beta": SIXTEENTHS,
            "ecn": TRUTH,
            "byte_mode": TRUTH,
            "estimate_rate": TRUTH,
            "mark_probability": PERCENTS,
            "quantum": COUNT,
            "flows": COUNT,
            "maximum_packet_size": COUNT,
        },
    ),
    _table(
        4,
        "Codel",
        ("codel", "fq_codel"),
        {
            "limit": COUNT,
            "target": MICROSECONDS,
            "interval": MICROSECONDS,
            "ce_threshold": MICROSECONDS_OR_OFF,
            "ecn": TRUTH,
            "quantum": COUNT,
            "memory_limit": COUNT,
            "drop_batch": COUNT,
            "flows": COUNT,
            "maximum_packet_size": COUNT,
        },
    ),
    _table(
        5,
        "Fifo",
        ("pfifo", "bfifo", "pfifo_head_drop"),
        {
            "limit": COUNT,
            "limit_bytes": COUNT,
        },
    ),
    _table(
        6,
        "Choke",
        ("choke",),
        {
            "limit": COUNT,
            "min_threshold": COUNT,
            "max_threshold": COUNT,
            "max_probability": PROBABILITY,
            "weight": LOG_OF_WEIGHT,
            "ecn": TRUTH,
            "drop_above_maximum": TRUTH,
            "candidates": COUNT,
        },
    ),
)

TABLE_OF: Final[Mapping[str, SettingsTable]] = {
    kind: table for table in TABLES for kind in table.kinds
}
"""By kind of queue."""

BUILT_INTO: Final[Mapping[str, Mapping[str, ParameterValue]]] = {
    "red": {"burst": None},
    "pie": BUILT_IN,
    "fq_pie": BUILT_IN,
    "codel": {"dialect": "linux"},
    "fq_codel": {"dialect": "linux"},
    "choke": {},
    "pfifo": {"drop": "tail"},
    "bfifo": {"drop": "tail"},
    "pfifo_head_drop": {"drop": "head"},
}
"""Parameters that are the same of all queues of a kind, so that no object says them."""

PRICE_OF: Final[Mapping[str, PushPrice]] = {
    "red": PushPrice(flushes_queue=True, forgets_average=True),
    "choke": PushPrice(flushes_queue=False, forgets_average=True),
}
"""Price of a change, for the kinds where it costs anything (net/sched/sch_red.c, sch_choke.c)."""

THRESHOLD: Final = Setting(5, "diffServAlgDropQThreshold", "limit", COUNT)
"""Of an algorithmic dropper."""

RANDOM_DROP_SETTINGS: Final = (
    Setting(2, "diffServRandomDropMinThreshBytes", "min_threshold", COUNT),
    Setting(4, "diffServRandomDropMaxThreshBytes", "max_threshold", COUNT),
    Setting(6, "diffServRandomDropProbMax", "max_probability", PER_THOUSAND),
    Setting(7, "diffServRandomDropWeight", "weight_log", WEIGHT),
)
"""Of a random dropper. The kernel has no thresholds in packets, so that no object says any."""
