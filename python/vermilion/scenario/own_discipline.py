"""Queue disciplines and schedulers that a user writes in Python.

A class says what it is called, which parameters it has, and what becomes of a packet. Once it is
registered its name stands for it wherever a discipline is named: in scenarios, on the command line,
in comparisons and tunings. :mod:`vermilion` has the names of this module.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from vermilion.scenario import algorithms
from vermilion.scenario.errors import DisciplineError, FieldError
from vermilion.scenario.own_class import OwnClassAdapter, OwnKind, check_class, check_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion._core import Coin, NamedVerdict, Packet, Queue
    from vermilion.scenario.algorithms import Parameter, ParameterValue

_Class = TypeVar("_Class", bound="type[Discipline | Scheduler]")

_KIND: Final = OwnKind("discipline", "discipline", "discipline", algorithms.disciplines.cache_clear)


class Verdict(enum.Enum):
    """Fate of a packet that arrives, or whose turn it is."""

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

    def because(self, cause: str) -> NamedVerdict:
        """The same drop with a cause, as packet traces show it: ``Verdict.DROP.because("late")``.

        To be made once, as an attribute of the class or of its module: every word stays known for
        as long as the process lives.

        Raises:
            ValueError: a verdict that drops nothing, or a cause of more than 40 characters or of
                others than letters, digits, blanks and ``-_.:/%+()<>=``.
        """
        from vermilion import _core

        return _core.NamedVerdict(self.value, cause)


class _Managed:
    """Members that disciplines and schedulers have in common."""

    name: ClassVar[str]
    title: ClassVar[str] = ""
    source: ClassVar[str] = "written in Python"
    parameters: ClassVar[Sequence[Parameter]] = ()
    ordered: ClassVar[Sequence[tuple[str, str]]] = ()
    headers: ClassVar[bool] = False

    link_rate: float
    link_delay: float

    if TYPE_CHECKING:

        def __getattr__(self, parameter: str) -> Any:  # noqa: ANN401 - by its table
            """The value of a parameter, which a type checker cannot know."""

    def prepare(self) -> None:
        """Derive values from the parameters and the link.

        Called after ``__init__`` and after every change of either. A ``ValueError`` refuses the
        settings, with its message.
        """

    def on_departure(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict | NamedVerdict:
        """Decide on the packet whose turn it is; ``queue`` is its queue without it.

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


class Discipline(_Managed):
    """The base class of disciplines in Python, which decide over one first-in, first-out queue.

    Each queue has an instance of its own. The values of its parameters are attributes of the same
    names, in the units of the table, there before ``__init__`` is called; so are ``link_rate`` in
    bit/s and ``link_delay`` in seconds. Time is in nanoseconds, as whole numbers.

    Attributes:
        name: its name in scenarios, in small letters, digits and hyphens.
        title: its name in prose; without one, the name of the class.
        source: where it comes from.
        parameters: its table, of :func:`number`, :func:`switch` and :func:`choice`.
        ordered: pairs of parameters of which the first must be below the second.
        headers: whether it sees and writes ``packet.header``.
    """

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict | NamedVerdict:
        """Decide on a packet that arrives at ``queue``.

        ``packet`` and ``queue`` are the same objects every time and show the present packet only;
        ``coin()`` is the next random number, uniform over [0, 1).
        """
        raise NotImplementedError


class Scheduler(_Managed):
    """The base class of schedulers in Python, which have first-in, first-out queues of their own.

    Each link has an instance of its own. What is said of :class:`Discipline` holds here too.

    Attributes:
        queue_count: number of queues; ``prepare`` may set it once.
    """

    queue_count: int = 1

    def on_arrival(
        self, packet: Packet, queues: Sequence[Queue], coin: Coin
    ) -> int | tuple[int, Verdict | NamedVerdict] | Verdict | NamedVerdict:
        """Return the number of the queue that a packet joins, or a verdict that drops it.

        A pair of both is accepted too, to mark a packet that joins.
        """
        raise NotImplementedError

    def choose(self, queues: Sequence[Queue], coin: Coin) -> int:
        """Return the number of the queue whose first packet is sent next; it must have one."""
        raise NotImplementedError


Own = Discipline | Scheduler


def register_discipline(discipline: _Class) -> _Class:
    """Register a discipline or a scheduler by its name in this process; also a decorator.

    One of the same name that was registered before is replaced.

    Raises:
        ScenarioError: a name or a parameter that is not accepted.
    """
    _KIND.register(discipline, lambda: _table(discipline), lambda: _Adapter(discipline))
    return discipline


def unregister_discipline(name: str) -> None:
    """Unregister a discipline.

    Raises:
        ScenarioError: there is none of this name.
    """
    _KIND.unregister(name)


def _table(discipline: type[Own]) -> dict[str, object]:
    """The class's entry in the list of disciplines.

    Raises:
        FieldError: what is wrong with it.
    """
    base: type[Own] = Discipline
    methods = {"on_arrival": "decides over a packet"}
    if isinstance(discipline, type) and issubclass(discipline, Scheduler):
        base = Scheduler
        methods["choose"] = "chooses the queue that sends next"
    check_class(discipline, base, "my-red", methods)
    if not isinstance(discipline.headers, bool):
        raise FieldError("headers", discipline.headers, "True or False")
    check_table(discipline, base, discipline.parameters, discipline.ordered)
    return _KIND.table(discipline, discipline.parameters, discipline.ordered)


_MOST_QUEUES: Final = 4096


class _Adapter(OwnClassAdapter[Own]):
    """Interface of a class to the core: making, changing and copying instances, and explaining."""

    kind = "discipline"
    failure = DisciplineError
    verdicts = tuple(Verdict)

    def __init__(self, discipline: type[Own]) -> None:
        super().__init__(discipline, discipline.name, discipline.parameters)
        self.on_arrival = discipline.on_arrival
        self.on_departure = self.own(_Managed, "on_departure")
        self.average_queue = self.own(_Managed, "average_queue")
        self.drop_probability = self.own(_Managed, "drop_probability")
        self.choose = discipline.choose if issubclass(discipline, Scheduler) else None
        self.headers = discipline.headers

    def build(self, values: Mapping[str, ParameterValue], rate: float, delay: float) -> Own:
        """An instance with these values in front of such a link."""
        instance = self.bare(values)
        instance.link_rate, instance.link_delay = rate, delay
        type(instance).__init__(instance)
        instance.prepare()
        return instance

    def queues(self, instance: Own) -> int:
        """Number of queues of a scheduler."""
        count = instance.queue_count if isinstance(instance, Scheduler) else 1
        if type(count) is not int or not 1 <= count <= _MOST_QUEUES:
            message = f"queue_count: {count!r} is not accepted; expected 1 to {_MOST_QUEUES}"
            raise ValueError(message)
        return count

    def change(
        self,
        instance: Own,
        values: Mapping[str, ParameterValue] | None,
        rate: float,
        delay: float,
    ) -> None:
        """New values (``None`` for the old ones), or a new link; all of it or nothing."""
        before = dict(vars(instance))
        try:
            self.give(instance, values or {})
            instance.link_rate, instance.link_delay = rate, delay
            instance.prepare()
            if vars(instance).get("queue_count") != before.get("queue_count"):
                message = "queue_count cannot change while packets wait"
                raise ValueError(message)  # noqa: TRY301 - undone below as any other
        except BaseException:
            vars(instance).clear()
            vars(instance).update(before)
            raise
