"""Several queues, on one router or on many, managed as one.

A set is a :class:`~vermilion.routers.base.ManagedQueue` whose parameters are those of all its
queues, each with its link's name before it: ``first.min_threshold``. So whoever controls one queue
can control a set: its settings are joint, and a change is one change of all queues or of none.

No protocol changes several routers at the same instant. A change is made one queue after the other,
and each is read back. Where one refuses, or does not have afterwards what it was asked for, those
that were changed before are given back what they had. Only where that fails as well nobody knows
what is in force: then the whole answer counts as lost, and has to be read.

A set sees only while every one of its queues does: of a network in which one queue is not seen, no
setting of the others can be judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from vermilion.routers.base import (
    HeldValues,
    LinkConfiguration,
    ManagedQueue,
    Observation,
    PushPrice,
    Reading,
    RouterError,
    RouterSilent,
)
from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from vermilion.routers.base import ParameterValue

BETWEEN = "."
"""Between a link's name, which has none of these, and a parameter's."""

AND: Final = "+"
"""Between the names of a set's links, and of its disciplines."""


def joint_name(link: str, parameter: str) -> str:
    """Name of a parameter of one queue in a set."""
    return f"{link}{BETWEEN}{parameter}"


def by_queue(
    parameters: Mapping[str, ParameterValue],
) -> dict[str, dict[str, ParameterValue]]:
    """A joint setting as one setting for each queue that it says anything of."""
    settings: dict[str, dict[str, ParameterValue]] = {}
    for name, value in parameters.items():
        link, _, parameter = name.partition(BETWEEN)
        settings.setdefault(link, {})[parameter] = value
    return settings


def configuration_of(
    link: str, discipline: str, setting: Mapping[str, ParameterValue]
) -> LinkConfiguration:
    """The queue or the queues of a journal, without the delays, which it does not have.

    Args:
        link: the name of the link or of the set.
        discipline: of the queue, or each one that there is in the set: "red+pie".
        setting: every parameter in force. It tells which queue of a set has which discipline.
    """
    queues = tuple(
        LinkConfiguration(each, _matching_discipline(own, discipline.split(AND)), delay_s=0.0)
        for each, own in (by_queue(setting).items() if _is_joint(setting) else ())
    )
    return LinkConfiguration(link, discipline, delay_s=0.0, queues=queues)


def _is_joint(setting: Mapping[str, ParameterValue]) -> bool:
    return any(BETWEEN in name for name in setting)


def _matching_discipline(parameters: Iterable[str], names: Iterable[str]) -> str:
    """Return the discipline that has just these parameters; "" if none is known."""
    wanted = set(parameters)
    known = disciplines()
    return next(
        (name for name in names if name in known and set(known[name].parameters) == wanted), ""
    )


@dataclass(frozen=True, slots=True)
class SetValues(HeldValues):
    """Values that the queues of a set hold, by their joint names.

    Attributes:
        queues: the same of each, by its link.
    """

    queues: Mapping[str, HeldValues] = field(default_factory=dict)

    def nearest(self, setting: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
        """The nearest values that the queues have."""
        near = {
            joint_name(link, name): value
            for link, own in by_queue(setting).items()
            for name, value in self._of(link).nearest(own).items()
        }
        return {name: near[name] for name in setting}

    def moving(self, parameters: Mapping[str, ParameterValue]) -> frozenset[str]:
        """Parameters that any of the queues moves by itself."""
        return frozenset(
            joint_name(link, name)
            for link, own in by_queue(parameters).items()
            for name in self._of(link).moving(own)
        )

    def _of(self, link: str) -> HeldValues:
        return self.queues.get(link, HeldValues())


class QueueSet(ManagedQueue):
    """Queues that are controlled together."""

    kind: ClassVar[str] = "set"

    def __init__(self, queues: Iterable[ManagedQueue]) -> None:
        """Prepare.

        Args:
            queues: each of a link of its own, whose name holds no dot.

        Raises:
            RouterError: there is none, or two have the same name, or one has a dot in it.
        """
        known = list(queues)
        self._queues = {queue.configuration.link: queue for queue in known}
        names = [queue.configuration.link for queue in known]
        if not known or len(self._queues) < len(known) or any(BETWEEN in name for name in names):
            message = f"queues {', '.join(names) or 'none'}: expected names that differ, no dots"
            raise RouterError(message)
        configurations = tuple(queue.configuration for queue in known)
        self._configuration = LinkConfiguration(
            link=AND.join(names),
            discipline=AND.join(dict.fromkeys(each.discipline for each in configurations)),
            delay_s=sum(each.delay_s for each in configurations),
            queues=configurations,
        )
        self.reading_interval_s = max(queue.reading_interval_s for queue in known)
        self.held = SetValues(
            tolerance=max(queue.held.tolerance for queue in known),
            queues={link: queue.held for link, queue in self._queues.items()},
        )
        self.push_price = PushPrice(
            flushes_queue=any(queue.push_price.flushes_queue for queue in known),
            forgets_average=any(queue.push_price.forgets_average for queue in known),
        )

    @property
    def queues(self) -> Mapping[str, ManagedQueue]:
        """The queues, by the names of their links."""
        return dict(self._queues)

    # --- what is seen --------------------------------------------------------------------------

    def read(self) -> Reading:
        """The sum of all counters, at the time of the last reading."""
        return _sum([_query(link, queue.read) for link, queue in self._queues.items()])

    def observe(self) -> Observation:
        """Observation of every queue.

        Raises:
            RouterSilent: one of them does not answer.
        """
        seen = {link: _query(link, queue.observe) for link, queue in self._queues.items()}
        return Observation(_sum([each.reading for each in seen.values()]), queues=seen)

    def parameters(self) -> dict[str, ParameterValue]:
        """Parameters of every queue."""
        return {
            joint_name(link, name): value
            for link, queue in self._queues.items()
            for name, value in _query(link, queue.parameters).items()
        }

    def wait(self, until_s: float) -> None:
        """Return when the time of every queue's network has reached ``until_s``."""
        for queue in self._queues.values():
            queue.wait(until_s)

    # --- what is changed -----------------------------------------------------------------------

    def apply(self, parameters: Mapping[str, ParameterValue]) -> None:
        """Put a joint setting in force: one queue after the other, all of it or nothing.

        Raises:
            RouterSilent: a queue does not answer, and what is in force is not known.
            RouterError: a queue refused, or could not be asked; all are as they were.
        """
        wanted = by_queue(parameters)
        unknown = [link for link in wanted if link not in self._queues]
        if unknown:
            known = ", ".join(self._queues)
            message = f'queue "{unknown[0]}" is not accepted; expected one of: {known}'
            raise RouterError(message)
        before = self._previous_parameters(wanted)
        told: list[str] = []
        for link, setting in wanted.items():
            changed = self._changed(link, setting, before[link])
            if not changed:
                continue
            told.append(link)
            obstacle = self._apply_to(link, changed)
            if obstacle:
                self._roll_back(told, before, f"{link}: {obstacle}")

    def _previous_parameters(
        self, wanted: Mapping[str, object]
    ) -> dict[str, dict[str, ParameterValue]]:
        """Parameters of the queues concerned; a change begins only when all answer.

        Raises:
            RouterError: one does not, and none was changed.
        """
        try:
            return {link: self._queues[link].parameters() for link in wanted}
        except RouterError as error:
            message = f"no queue was changed, because one could not be read: {error}"
            raise RouterError(message) from error

    def _apply_to(self, link: str, setting: Mapping[str, ParameterValue]) -> str:
        """Change one queue and read it back; why it does not have the setting, "" if it has."""
        queue = self._queues[link]
        try:
            queue.apply(setting)
            found = queue.parameters()
        except RouterError as error:
            return str(error)
        for name in queue.held.missed(setting, found):
            return f"{name} is {found.get(name)} after {setting[name]} was set"
        return ""

    def _changed(
        self,
        link: str,
        setting: Mapping[str, ParameterValue],
        in_force: Mapping[str, ParameterValue],
    ) -> dict[str, ParameterValue]:
        """Part of a setting that is not in force, but for what the queue moves by itself."""
        held = self._queues[link].held
        moving = held.moving(in_force) & held.moving({**in_force, **setting})
        return {
            name: value
            for name, value in setting.items()
            if name not in moving and (name not in in_force or value != in_force[name])
        }

    def _roll_back(
        self,
        told: list[str],
        before: Mapping[str, Mapping[str, ParameterValue]],
        obstacle: str,
    ) -> None:
        """Give the queues that were told back what they had, the last one first.

        Raises:
            RouterSilent: that failed, too: nobody knows what is in force.
            RouterError: all are as they were.
        """
        failed = [link for link in reversed(told) if not self._restore(link, before[link])]
        if failed:
            message = f"{obstacle}; and {', '.join(failed)} could not be put back"
            raise RouterSilent(message)
        message = f"{obstacle}; the other queues are as they were"
        raise RouterError(message)

    def _restore(self, link: str, before: Mapping[str, ParameterValue]) -> bool:
        """Return whether a queue has its former parameters."""
        queue = self._queues[link]
        try:
            found = queue.parameters()
            changed = self._changed(link, before, found)
            if changed:
                queue.apply(changed)
            return queue.held.holds(before, queue.parameters())
        except RouterError:
            return False


_Answer = TypeVar("_Answer")


def _query(link: str, ask: Callable[[], _Answer]) -> _Answer:
    """Query a queue; an error names the queue before the reason."""
    try:
        return ask()
    except RouterSilent as error:
        message = f"{link}: {error}"
        raise RouterSilent(message) from error
    except RouterError as error:
        message = f"{link}: {error}"
        raise RouterError(message) from error


def _sum(readings: list[Reading]) -> Reading:
    """Counters of several queues in one reading."""
    latest = max(each.time_s for each in readings)
    counters = (each.name for each in fields(Reading) if each.name != "time_s")
    return Reading(latest, *(sum(getattr(each, name) for each in readings) for name in counters))
