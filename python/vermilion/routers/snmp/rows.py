"""The rows that the queues of a machine have in the tables of SNMP. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.agentx.object_identifier import ZERO_DOT_ZERO
from vermilion.agentx.protocol import Binding, ValueType
from vermilion.routers.linux.message import ROOT
from vermilion.routers.snmp.mib import (
    ALGORITHMIC_DROP,
    BACKLOG_BYTES,
    BACKLOG_PACKETS,
    CHANGEABLE,
    CHANGES,
    DATA_PATH,
    DIFFSERV_ID,
    DISCIPLINE,
    DROPS,
    FACTS,
    FLOWS,
    FORWARDED_BYTES,
    FORWARDED_PACKETS,
    INTERFACE,
    KIND,
    LAST_REFUSAL,
    LONGEST_TEXT,
    MARKS,
    MEASURED_AT,
    NEXT_FREE,
    QUEUE_ELEMENT,
    QUEUE_ENTRY,
    RANDOM_DROP,
    RANDOM_DROP_SETTINGS,
    ROUND_TRIP_LEAST,
    ROUND_TRIP_MEAN,
    TABLE_OF,
    TABLES,
    THRESHOLD,
    TRAFFIC_KNOWN,
)
from vermilion.routers.snmp.registry import TrafficSeen
from vermilion.routers.snmp.scale import LARGEST_32, TRUTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.agentx.object_identifier import ObjectIdentifier
    from vermilion.agentx.protocol import Value
    from vermilion.routers.snmp.mib import Fact
    from vermilion.routers.snmp.registry import QueuePlace, ServedQueue

_US_PER_S: Final = 1e6
_LARGEST_64: Final = 2**64 - 1
_SHIFT: Final = 16
_LOW: Final = 0xFFFF
_OUTBOUND: Final = 2
"""Of IfDirection (RFC 3289)."""

_RANDOM_DROP: Final = 4
"""Of diffServAlgDropType."""

_VOLATILE: Final = 2
"""Of StorageType (RFC 2579): the kernel forgets a setting when the machine stops."""

_ACTIVE: Final = 1
"""Of RowStatus."""

_EVERY_PACKET: Final = 0
"""Of diffServRandomDropSamplingRate: the average moves with each packet."""

_ALGORITHMIC_COLUMNS: Final = (2, 3, 4, THRESHOLD.number, 6, 8, 10, 11, 12)
_RANDOM_COLUMNS: Final = (*(each.number for each in RANDOM_DROP_SETTINGS), 8, 9, 10)
_ELEMENT_COLUMNS: Final = (2, 3, 4, 5, 6)
_DATA_PATH_COLUMNS: Final = (2, 3, 4)

KINDS_OF_OBJECTS: Final = frozenset(
    [
        *((*QUEUE_ENTRY, each.number) for each in FACTS),
        *((*table.entry, each.number) for table in TABLES for each in table.settings),
        *((*ALGORITHMIC_DROP, each) for each in _ALGORITHMIC_COLUMNS),
        *((*RANDOM_DROP, each) for each in _RANDOM_COLUMNS),
        *((*QUEUE_ELEMENT, each) for each in _ELEMENT_COLUMNS),
        *((*DATA_PATH, each) for each in _DATA_PATH_COLUMNS),
        *NEXT_FREE,
    ]
)
"""What the names of all objects begin with, the index left away."""


def rows(queues: Sequence[ServedQueue]) -> Iterator[Binding]:
    """Every object, with its value; what is not known has none."""
    numbers = diffserv_numbers(queues)
    for queue in queues:
        yield from _facts(queue, numbers.get(queue.place, 0))
        yield from _settings(queue)
        if queue.place in numbers:
            yield from _diffserv(queue, numbers[queue.place])
    for scalar in NEXT_FREE:
        yield Binding((*scalar, 0), ValueType.GAUGE32, 0)


def diffserv_numbers(queues: Sequence[ServedQueue]) -> dict[QueuePlace, int]:
    """The index that each RED queue has in the tables of DIFFSERV-MIB.

    The interface and the minor number of the class make it, so that it stays the same from one
    start of the agent to the next; where two would be the same, the later takes the next.
    """
    found: dict[QueuePlace, int] = {}
    for place in sorted(each.place for each in queues if each.kind == "red"):
        minor = 0 if place.parent == ROOT else place.parent & _LOW
        number = ((place.interface << _SHIFT | minor) & LARGEST_32) or 1
        while number in found.values():
            number = number % LARGEST_32 + 1
        found[place] = number
    return found


def _index(place: QueuePlace) -> ObjectIdentifier:
    return (place.interface, place.parent)


def _facts(queue: ServedQueue, diffserv: int) -> Iterator[Binding]:
    reading, traffic = queue.reading, queue.traffic
    said: Mapping[Fact, Value] = {
        INTERFACE: _text(queue.interface),
        KIND: _text(queue.kind),
        DISCIPLINE: _text(queue.discipline),
        CHANGEABLE: TRUTH.said(queue.may_change),
        BACKLOG_PACKETS: _gauge(reading.backlog_packets),
        BACKLOG_BYTES: _gauge(reading.backlog_bytes),
        FORWARDED_PACKETS: reading.forwarded_packets & _LARGEST_64,
        FORWARDED_BYTES: reading.forwarded_bytes & _LARGEST_64,
        DROPS: reading.drops & _LARGEST_64,
        MARKS: reading.marks & _LARGEST_64,
        MEASURED_AT: round(reading.time_s * _US_PER_S) & _LARGEST_64,
        DIFFSERV_ID: diffserv,
        CHANGES: queue.changes & LARGEST_32,
        LAST_REFUSAL: _text(queue.last_refusal),
        TRAFFIC_KNOWN: TRUTH.said(traffic != TrafficSeen()),
        FLOWS: None if traffic.flows is None else _gauge(traffic.flows),
        ROUND_TRIP_MEAN: _microseconds(traffic.mean_round_trip_s),
        ROUND_TRIP_LEAST: _microseconds(traffic.least_round_trip_s),
    }
    for fact, value in said.items():
        if value is not None:
            yield Binding((*QUEUE_ENTRY, fact.number, *_index(queue.place)), fact.type, value)


def _settings(queue: ServedQueue) -> Iterator[Binding]:
    table = TABLE_OF.get(queue.kind)
    if table is None:
        return
    for each in table.settings:
        if each.parameter in queue.parameters:
            said = each.scale.said(queue.parameters[each.parameter])
            name = (*table.entry, each.number, *_index(queue.place))
            yield Binding(name, each.scale.type, min(max(said, each.scale.lowest), LARGEST_32))


def _diffserv(queue: ServedQueue, number: int) -> Iterator[Binding]:
    """A RED queue as RFC 3289 has it: a dropper, how it drops, and the queue that it looks at."""
    dropper, how = (*ALGORITHMIC_DROP, 2, number), (*RANDOM_DROP, 2, number)
    element = (*QUEUE_ELEMENT, 2, number)
    integer, gauge, pointer = ValueType.INTEGER, ValueType.GAUGE32, ValueType.OBJECT_IDENTIFIER
    limit = queue.parameters.get(THRESHOLD.parameter)
    algorithmic: dict[int, tuple[ValueType, Value]] = {
        2: (integer, _RANDOM_DROP),
        3: (pointer, element),
        4: (pointer, element),
        THRESHOLD.number: (gauge, None if limit is None else THRESHOLD.scale.said(limit)),
        6: (pointer, how),
        8: (ValueType.COUNTER64, queue.full_drops),
        10: (ValueType.COUNTER64, queue.early_drops),
        11: (integer, _VOLATILE),
        12: (integer, _ACTIVE),
    }
    random: dict[int, tuple[ValueType, Value]] = {
        each.number: (each.scale.type, each.scale.said(queue.parameters[each.parameter]))
        for each in RANDOM_DROP_SETTINGS
        if each.parameter in queue.parameters
    }
    random |= {8: (gauge, _EVERY_PACKET), 9: (integer, _VOLATILE), 10: (integer, _ACTIVE)}
    elements: dict[int, tuple[ValueType, Value]] = {
        **dict.fromkeys((2, 3, 4), (pointer, ZERO_DOT_ZERO)),
        5: (integer, _VOLATILE),
        6: (integer, _ACTIVE),
    }
    yield from _row(ALGORITHMIC_DROP, (number,), algorithmic)
    yield from _row(RANDOM_DROP, (number,), random)
    yield from _row(QUEUE_ELEMENT, (number,), elements)
    if queue.place.parent == ROOT:
        path: dict[int, tuple[ValueType, Value]] = {
            2: (pointer, dropper),
            3: (integer, _VOLATILE),
            4: (integer, _ACTIVE),
        }
        yield from _row(DATA_PATH, (queue.place.interface, _OUTBOUND), path)


def _row(
    entry: ObjectIdentifier,
    index: ObjectIdentifier,
    columns: Mapping[int, tuple[ValueType, Value]],
) -> Iterator[Binding]:
    for number, (kind, value) in columns.items():
        if value is not None:
            yield Binding((*entry, number, *index), kind, value)


def _text(text: str) -> bytes:
    return text.encode("ascii", errors="replace")[:LONGEST_TEXT]


def _gauge(value: int) -> int:
    """A gauge stays at its end where a value is beyond it (RFC 2578, 7.1.7)."""
    return min(value, LARGEST_32)


def _microseconds(seconds: float | None) -> int | None:
    return None if seconds is None else _gauge(round(seconds * _US_PER_S))
