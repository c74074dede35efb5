"""The objects of a machine's queues for an AgentX master: their rows, and changes of them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.agentx.protocol import ZERO_DOT_ZERO, Binding, Status, ValueType, below
from vermilion.agentx.subagent import (
    ChangeFailed,
    ObjectsUnreadable,
    Region,
    SetRefused,
    Snapshot,
    Subagent,
)
from vermilion.routers.base import RouterError, RouterSilent
from vermilion.routers.linux.message import ROOT
from vermilion.routers.snmp.linux_queues import QueuePlace, TrafficSeen
from vermilion.routers.snmp.mib import (
    ALGORITHMIC_DROP,
    DATA_PATH,
    DIFFSERV,
    LARGEST_32,
    LONGEST_TEXT,
    NEXT_FREE,
    QUEUE_ELEMENT,
    QUEUE_ENTRY,
    RANDOM_DROP,
    RANDOM_DROP_SETTINGS,
    TABLE_OF,
    TABLES,
    THRESHOLD,
    TOP,
    TRUTH,
    Fact,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from vermilion.agentx.protocol import ObjectIdentifier, Value
    from vermilion.routers.base import ParameterValue
    from vermilion.routers.snmp.linux_queues import QueueRegistry, ServedQueue
    from vermilion.routers.snmp.mib import Setting

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
        *((*QUEUE_ENTRY, each.number) for each in Fact),
        *((*table.entry, each.number) for table in TABLES for each in table.settings),
        *((*ALGORITHMIC_DROP, each) for each in _ALGORITHMIC_COLUMNS),
        *((*RANDOM_DROP, each) for each in _RANDOM_COLUMNS),
        *((*QUEUE_ELEMENT, each) for each in _ELEMENT_COLUMNS),
        *((*DATA_PATH, each) for each in _DATA_PATH_COLUMNS),
        *NEXT_FREE,
    ]
)
"""Prefixes of the names of all objects, without the index."""


def rows(queues: Sequence[ServedQueue]) -> Iterator[Binding]:
    """Objects with their values; ``None`` if unknown."""
    numbers = diffserv_numbers(queues)
    for queue in queues:
        yield from _queue_bindings(queue, numbers.get(queue.place, 0))
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


def _queue_bindings(queue: ServedQueue, diffserv: int) -> Iterator[Binding]:
    reading, traffic = queue.reading, queue.traffic
    said: Mapping[Fact, Value] = {
        Fact.INTERFACE: _text(queue.interface),
        Fact.KIND: _text(queue.kind),
        Fact.DISCIPLINE: _text(queue.discipline),
        Fact.CHANGEABLE: TRUTH.said(queue.may_change),
        Fact.BACKLOG_PACKETS: _gauge(reading.backlog_packets),
        Fact.BACKLOG_BYTES: _gauge(reading.backlog_bytes),
        Fact.FORWARDED_PACKETS: reading.forwarded_packets & _LARGEST_64,
        Fact.FORWARDED_BYTES: reading.forwarded_bytes & _LARGEST_64,
        Fact.DROPS: reading.drops & _LARGEST_64,
        Fact.MARKS: reading.marks & _LARGEST_64,
        Fact.MEASURED_AT: round(reading.time_s * _US_PER_S) & _LARGEST_64,
        Fact.DIFF_SERV_ID: diffserv,
        Fact.CHANGES: queue.changes & LARGEST_32,
        Fact.LAST_REFUSAL: _text(queue.last_refusal),
        Fact.TRAFFIC_KNOWN: TRUTH.said(traffic != TrafficSeen()),
        Fact.FLOWS: None if traffic.flows is None else _gauge(traffic.flows),
        Fact.ROUND_TRIP_MEAN: _microseconds(traffic.mean_round_trip_s),
        Fact.ROUND_TRIP_LEAST: _microseconds(traffic.least_round_trip_s),
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
    yield from _row_bindings(ALGORITHMIC_DROP, (number,), algorithmic)
    yield from _row_bindings(RANDOM_DROP, (number,), random)
    yield from _row_bindings(QUEUE_ELEMENT, (number,), elements)
    if queue.place.parent == ROOT:
        path: dict[int, tuple[ValueType, Value]] = {
            2: (pointer, dropper),
            3: (integer, _VOLATILE),
            4: (integer, _ACTIVE),
        }
        yield from _row_bindings(DATA_PATH, (queue.place.interface, _OUTBOUND), path)


def _row_bindings(
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


WALK_S: Final = 0.5
"""So old may be what somebody is told who walks from one object to the next."""

_INDEX_LENGTH: Final = 2


class QueueObjects:
    """Objects that an agent serves of a registry.

    Args:
        queues: that are served.
        clock: seconds, never going back.
    """

    def __init__(self, queues: QueueRegistry, clock: Callable[[], float]) -> None:
        self._queues = queues
        self._clock = clock
        self._walked: Snapshot | None = None
        self._walked_s = 0.0

    def snapshot(self, *, walking: bool) -> Snapshot:
        """Snapshot of all objects; walkers get that of a moment ago.

        Raises:
            ObjectsUnreadable: the queues cannot be read.
        """
        now_s = self._clock()
        if walking and self._walked is not None and now_s - self._walked_s < WALK_S:
            return self._walked
        try:
            found = Snapshot(rows(self._queues.queues()), KINDS_OF_OBJECTS)
        except RouterError as error:
            raise ObjectsUnreadable(str(error)) from None
        self._walked, self._walked_s = found, now_s
        return found

    def test(self, bindings: Sequence[Binding]) -> QueueChanges:
        """The changes that some values come to: one for each queue.

        Raises:
            SetRefused: a value cannot be set, or not beside the others.
        """
        try:
            queues = {each.place: each for each in self._queues.queues()}
        except RouterError as error:
            raise SetRefused(Status.GENERAL_ERROR, 1, str(error)) from None
        wanted: dict[QueuePlace, _QueueChange] = {}
        for index, binding in enumerate(bindings, 1):
            try:
                queue, setting = _resolve(binding.name, queues)
                value = _value(binding, setting, queue)
            except _Refusal as refusal:
                raise SetRefused(refusal.status, index, str(refusal)) from None
            own = wanted.setdefault(queue.place, _QueueChange(queue, index))
            if own.parameters.setdefault(setting.parameter, value) != value:
                why = f"{setting.parameter} is set to two values at once"
                raise SetRefused(Status.INCONSISTENT_VALUE, index, why)
        for place, own in wanted.items():
            try:
                self._queues.check(place, own.parameters)
            except RouterError as error:
                raise SetRefused(Status.INCONSISTENT_VALUE, own.index, str(error)) from None
        return QueueChanges(self._queues, list(wanted.values()), self._forget)

    def _forget(self) -> None:
        self._walked = None


@dataclass(slots=True)
class _QueueChange:
    """Change of one queue.

    Attributes:
        queue: as it was.
        index: of the first binding about it.
        parameters: that are to be put in force.
    """

    queue: ServedQueue
    index: int
    parameters: dict[str, ParameterValue] = field(default_factory=dict)

    @property
    def before(self) -> Mapping[str, ParameterValue]:
        """The same parameters as they were."""
        return {name: self.queue.parameters[name] for name in self.parameters}


class QueueChanges:
    """Changes of queues that belong together."""

    def __init__(
        self, queues: QueueRegistry, wanted: Sequence[_QueueChange], forget: Callable[[], None]
    ) -> None:
        self._queues = queues
        self._wanted = wanted
        self._forget = forget
        self._to_put_back: list[tuple[QueuePlace, Mapping[str, ParameterValue]]] = []

    def commit(self) -> None:
        """Changes one queue after another; if one refuses, those before it are put back.

        One that is silent is put back as well, for it may have changed.

        Raises:
            ChangeFailed: one has refused, or nobody knows what it has done.
        """
        for each in self._wanted:
            place = each.queue.place
            try:
                self._queues.apply(place, each.parameters)
            except RouterError as error:
                if isinstance(error, RouterSilent):  # what it was not told may have changed, too
                    self._to_put_back.append((place, each.queue.parameters))
                message = str(error)
                try:
                    self.undo()
                except ChangeFailed as failure:
                    message = f"{message}; {failure}"
                raise ChangeFailed(message) from None
            self._to_put_back.append((place, each.before))
        self._forget()

    def undo(self) -> None:
        """Puts back what was there and is not there again; a second call tries what is left.

        Raises:
            ChangeFailed: a queue has refused, or nobody knows what it has done.
        """
        refusals, left = [], []
        for place, before in reversed(self._to_put_back):
            try:
                self._queues.apply(place, before)
            except RouterError as error:
                left.append((place, before))
                refusals.append(f"what was there could not be put back: {error}")
        self._to_put_back = left[::-1]
        self._forget()
        if refusals:
            raise ChangeFailed("; ".join(refusals))


class _Refusal(Exception):  # noqa: N818 - reads as what it says
    """Refusal of one value."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.status = status


def _resolve(
    name: ObjectIdentifier, queues: Mapping[QueuePlace, ServedQueue]
) -> tuple[ServedQueue, Setting]:
    """The queue and the parameter that an object is.

    Raises:
        _Refusal: it is none that can be set.
    """
    for entry, settings in _SETTABLE:
        if not below(name, entry):
            continue
        column, index = name[len(entry) : len(entry) + 1], name[len(entry) + 1 :]
        setting = next((each for each in settings if (each.number,) == column), None)
        if setting is None or not setting.writable:
            break
        if entry in {ALGORITHMIC_DROP, RANDOM_DROP}:
            numbers = diffserv_numbers(list(queues.values()))
            place = next((at for at, own in numbers.items() if (own,) == index), None)
        else:
            place = QueuePlace(*index) if len(index) == _INDEX_LENGTH else None
        queue = None if place is None else queues.get(place)
        if queue is None or setting.parameter not in queue.parameters:
            raise _Refusal(Status.NO_CREATION, f"{setting.name}: there is no such queue")
        if setting.parameter not in queue.settable:
            raise _Refusal(
                Status.NOT_WRITABLE, f"{setting.name}: {queue.kind} has no such parameter to set"
            )
        if not queue.may_change:
            raise _Refusal(Status.NOT_WRITABLE, f"{queue.interface}: this agent must not change it")
        return queue, setting
    raise _Refusal(Status.NOT_WRITABLE, "an object that is only read")


_SETTABLE: Final = (
    *((table.entry, table.settings) for table in TABLES),
    (ALGORITHMIC_DROP, (THRESHOLD,)),
    (RANDOM_DROP, RANDOM_DROP_SETTINGS),
)


def _value(binding: Binding, setting: Setting, queue: ServedQueue) -> ParameterValue:
    """The parameter that a value stands for; the one in force where it says no other.

    Raises:
        _Refusal: it stands for none.
    """
    scale, said = setting.scale, binding.value
    if binding.type != scale.type or not isinstance(said, int):
        wanted = scale.type.name.lower().replace("_", " ")
        raise _Refusal(Status.WRONG_TYPE, f"{setting.name}: expected a value of type {wanted}")
    if not scale.lowest <= said <= scale.highest:
        accepted = f"expected {scale.lowest} to {scale.highest}"
        raise _Refusal(Status.WRONG_VALUE, f"{setting.name}: {said} is not accepted; {accepted}")
    in_force = queue.parameters[setting.parameter]
    if said == scale.said(in_force):
        return in_force  # what is said is coarser than what is meant
    try:
        return scale.meant(said)
    except ValueError as error:
        raise _Refusal(Status.WRONG_VALUE, f"{setting.name}: {said}: {error}") from None


REGIONS: Final = (Region(TOP, "VERMILION-QUEUE-MIB"), Region(DIFFSERV, "DIFFSERV-MIB"))


def queue_subagent(queues: QueueRegistry, clock: Callable[[], float]) -> Subagent:
    """A subagent for one connection.

    Args:
        queues: that are served.
        clock: seconds, never going back.
    """
    return Subagent(
        QueueObjects(queues, clock),
        REGIONS,
        identity=TOP,
        description="Vermilion: queues and their active queue management",
    )
