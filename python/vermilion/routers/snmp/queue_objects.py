"""The queues of a machine as objects of SNMP, and changes of several columns at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vermilion.agentx.object_identifier import below
from vermilion.agentx.objects import (
    ChangeFailed,
    ObjectsUnreadable,
    SetRefused,
    Snapshot,
)
from vermilion.agentx.protocol import Binding, Status
from vermilion.routers.base import RouterError, RouterSilent
from vermilion.routers.snmp.mib import (
    ALGORITHMIC_DROP,
    RANDOM_DROP,
    RANDOM_DROP_SETTINGS,
    TABLES,
    THRESHOLD,
)
from vermilion.routers.snmp.registry import QueuePlace
from vermilion.routers.snmp.rows import KINDS_OF_OBJECTS, diffserv_numbers, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.agentx.object_identifier import ObjectIdentifier
    from vermilion.routers.base import ParameterValue
    from vermilion.routers.snmp.mib import Setting
    from vermilion.routers.snmp.registry import QueueRegistry, ServedQueue

WALK_S: Final = 0.5
"""So old may be what somebody is told who walks from one object to the next."""

_INDEX_LENGTH: Final = 2


class QueueObjects:
    """What an agent serves of a registry.

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
        """All objects; to walkers, those of a moment ago.

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
        wanted: dict[QueuePlace, _Wanted] = {}
        for index, binding in enumerate(bindings, 1):
            try:
                queue, setting = _addressed(binding.name, queues)
                value = _value(binding, setting, queue)
            except _Refusal as refusal:
                raise SetRefused(refusal.status, index, str(refusal)) from None
            own = wanted.setdefault(queue.place, _Wanted(queue, index))
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
class _Wanted:
    """What is to become of one queue.

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
        self, queues: QueueRegistry, wanted: Sequence[_Wanted], forget: Callable[[], None]
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
    """One value that cannot be set."""

    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.status = status


def _addressed(
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
