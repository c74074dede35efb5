"""Congestion controls that a user writes in Python.

A class says what it is called, which parameters it has, and what becomes of the window. Once it is
registered its name stands for it wherever a sender is named. How losses are noticed and repaired,
when the timer expires and what the receiver answers is the core's, as for its own senders, and can
be chosen. :mod:`vermilion` has the names of this module.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from vermilion.scenario import algorithms
from vermilion.scenario.errors import CongestionControlError, FieldError, did_you_mean, errors_under
from vermilion.scenario.own_class import (
    OwnClassAdapter,
    OwnKind,
    check_class,
    check_table,
    has_own,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion._core import Acknowledgement, Reduction, Sent, Window
    from vermilion.scenario.algorithms import Parameter, ParameterValue

_Class = TypeVar("_Class", bound="type[CongestionControl]")

_KIND: Final = OwnKind(
    "congestion control",
    "congestion_control",
    "sender",
    algorithms.senders.cache_clear,
)

_SELECTIVE_RECOVERIES: Final = ("rack", "sack")
"""The recoveries under which a rule can govern its window."""


_registered: Final[dict[str, bool]] = {}
"""Whether each class that is registered answers marks, by its name."""


class CongestionControl:
    """The base class of congestion controls in Python.

    Each connection has an instance of its own. The values of its parameters are attributes of the
    same names, in the units of the table, there before ``__init__`` is called; so are those that
    all senders have. Windows are in packets and need not be whole, times are in nanoseconds.

    Attributes:
        name: its name in scenarios, in small letters, digits and hyphens.
        title: its name in prose; without one, the name of the class.
        source: where it comes from.
        parameters: its table, of :func:`number`, :func:`switch` and :func:`choice`.
        ordered: pairs of parameters of which the first must be below the second.
        defaults: what parameters that all senders have are without being set, where that differs
            from the table in :doc:`/senders`: ``{"recovery": "rack", "pacing": True}``.
        answers_marks: whether ``on_ack`` is told of every mark and answers it, instead of
            ``on_mark`` once in a window.
        governs_window: whether the class alone sets the window, also while losses are repaired.
        scalable: whether its data is ECT(1) (RFC 9331).
        headers: whether its packets carry headers that queues of classes with ``headers`` read and
            write: four numbers, 0 at first, which receivers return.
    """

    name: ClassVar[str]
    title: ClassVar[str] = ""
    source: ClassVar[str] = "written in Python"
    parameters: ClassVar[Sequence[Parameter]] = ()
    ordered: ClassVar[Sequence[tuple[str, str]]] = ()
    defaults: ClassVar[Mapping[str, object]] = {}
    answers_marks: ClassVar[bool] = False
    governs_window: ClassVar[bool] = False
    scalable: ClassVar[bool] = False
    headers: ClassVar[bool] = False

    if TYPE_CHECKING:

        def __getattr__(self, parameter: str) -> Any:  # noqa: ANN401 - by its table
            """The value of a parameter, which a type checker cannot know."""

    def prepare(self) -> None:
        """Derive values from the parameters; called after ``__init__``.

        A ``ValueError`` refuses the settings, with its message.
        """

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        """Let ``window.size`` grow for an acknowledgement of new data.

        ``ack`` and ``window`` are the same objects every time and show the present
        acknowledgement only.
        """
        raise NotImplementedError

    def on_round(self, ack: Acknowledgement, window: Window) -> None:
        """Set ``window.size`` once a round trip, before ``on_ack`` is told of the same."""
        raise NotImplementedError

    def on_sent(self, sent: Sent, window: Window) -> None:
        """Take note of a packet that leaves; ``window.size`` may be set."""
        raise NotImplementedError

    def on_timer(self, now: int, window: Window) -> None:
        """Do what is due at ``window.wake_at``, which is None again; the window may be set."""
        raise NotImplementedError

    def on_loss(self, loss: Reduction, window: Window) -> float:
        """The window after a loss: it becomes the threshold too, of two packets at least.

        Called once in a window of data; ``loss.base`` is what is to be reduced.
        """
        raise NotImplementedError

    def on_mark(self, mark: Reduction, window: Window) -> float:
        """The same for a mark, once in a window; a class without it answers as for a loss."""
        raise NotImplementedError

    def on_timeout(self, timeout: Reduction, window: Window) -> float:
        """The threshold after a timeout, the window being one packet; as for a loss without it."""
        raise NotImplementedError


def register_congestion_control(own: _Class) -> _Class:
    """Register a congestion control by its name in this process.

    One of the same name that was registered before is replaced. Also a decorator.

    Raises:
        ScenarioError: a name, a default or a parameter that is not accepted.
    """
    _KIND.register(own, lambda: _table(own), lambda: _Adapter(own))
    _registered[own.name] = own.answers_marks or has_own(own, CongestionControl, "on_mark")
    return own


def unregister_congestion_control(name: str) -> None:
    """Unregister a congestion control.

    Raises:
        ScenarioError: there is none of this name.
    """
    _KIND.unregister(name)
    _registered.pop(name, None)


def is_own(name: str) -> bool:
    """Return whether a sender is written in Python."""
    return name in _registered


def answers_marks(name: str) -> bool:
    """Return whether a sender has an answer of its own to marks, as all of the core's have."""
    return _registered.get(name, True)


def _table(own: type[CongestionControl]) -> dict[str, object]:
    """The class's entry in the list of senders.

    Raises:
        FieldError: what is wrong with it.
    """
    check_class(
        own,
        CongestionControl,
        "my-reno",
        {"on_ack": "lets the window grow", "on_loss": "gives the window after a loss"},
    )
    common = _common_parameters()
    check_table(own, CongestionControl, own.parameters, own.ordered, list(common.parameters))
    for name in ("answers_marks", "governs_window", "scalable", "headers"):
        if not isinstance(getattr(own, name), bool):
            raise FieldError(name, getattr(own, name), "True or False")
    rows = [*_with_defaults(own, common.parameters).values(), *own.parameters]
    return _KIND.table(own, rows, (*common.ordered, *own.ordered))


def _with_defaults(
    own: type[CongestionControl], common: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """The rows that all senders have, with the class's own defaults.

    Raises:
        FieldError: a default of no such row, or that the row refuses.
    """
    rows = dict(common)
    defaults: dict[str, object] = dict(own.defaults)
    if own.governs_window:
        rows["recovery"] = replace(
            rows["recovery"], choices=_SELECTIVE_RECOVERIES, default=_SELECTIVE_RECOVERIES[0]
        )
    if own.answers_marks:
        defaults.setdefault("ecn_feedback", "accurate")
    for name, value in defaults.items():
        if name not in rows:
            accepted = f"a parameter of all senders: {did_you_mean(str(name), rows)}"
            raise FieldError("defaults", name, accepted)
        with errors_under("defaults"):
            rows[name] = replace(rows[name], default=rows[name].parse(value))
    return rows


@cache
def _common_parameters() -> algorithms.Algorithm:
    """Parameters common to all senders, as a sender without a name."""
    from vermilion import _core

    return algorithms.table_of(json.loads(_core.common_sender_parameters()))


class _Adapter(OwnClassAdapter[CongestionControl]):
    """Interface of a class to the core: making and copying instances, and explaining."""

    kind = "congestion control"
    failure = CongestionControlError

    def __init__(self, own: type[CongestionControl]) -> None:
        rows = (*_common_parameters().parameters.values(), *own.parameters)
        super().__init__(own, own.name, rows)
        self.on_ack, self.on_loss = own.on_ack, own.on_loss
        self.on_mark = self.own(CongestionControl, "on_mark")
        self.on_timeout = self.own(CongestionControl, "on_timeout")
        self.on_round = self.own(CongestionControl, "on_round")
        self.on_sent = self.own(CongestionControl, "on_sent")
        self.on_timer = self.own(CongestionControl, "on_timer")
        self.answers_marks = own.answers_marks
        self.governs_window = own.governs_window
        self.scalable = own.scalable
        self.headers = own.headers

    def build(self, values: Mapping[str, ParameterValue]) -> CongestionControl:
        """An instance with these values, for a connection that begins."""
        instance = self.bare(values)
        type(instance).__init__(instance)
        instance.prepare()
        return instance
