"""The one interface of every objective: a run's result in, a number to be minimised out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, Self, TypeVar

from vermilion.objectives.fields import FLOWS, LINK, OVER
from vermilion.objectives.metrics import MetricPath
from vermilion.objectives.noticeable import NOTICEABLE_SHARE, Noticeable
from vermilion.objectives.windows import (
    ALL_FLOWS,
    FlowsWindow,
    Over,
    flow_windows,
    is_idle,
    link_windows,
    weighted_mean,
)
from vermilion.simulate.metric import metric_of
from vermilion.simulate.result_data import LinkMetrics, Stretch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

WindowT = TypeVar("WindowT", bound=Stretch)
"""The metrics of a window: of a link, of flows, or of both."""


class NotMeasuredError(ValueError):
    """An objective or a constraint needs a number that the result does not have."""


class Objective(ABC):
    """A number that a run is judged by.

    Most objectives are better derived from :class:`LinkObjective` or :class:`FlowsObjective`:
    a number for each window, which is averaged over the measured phases.

    What an objective measures must not be something that the tuned discipline computes for
    itself, or the search will please the number and not the network.

    Attributes:
        name: how the objective is chosen.
        summary: one line about it.
        unit: of its values, "" for a plain number.
        goal: whether low or high values are wanted; "either" where each object says it.
        guards: constraints without which the objective could be gamed, with ``{link}`` for each
            of its links; they come with every list of constraints but an empty one.
        noticeable: the smallest difference that anyone would notice, in its unit.
        noticeable_share: the smallest part of what the setting in force reaches that anyone would
            notice. What is gained has to be more than either.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[str] = ""
    goal: ClassVar[Literal["minimise", "maximise", "either"]] = "minimise"
    guards: ClassVar[tuple[str, ...]] = ()
    noticeable: ClassVar[float] = 0.0
    noticeable_share: ClassVar[float] = NOTICEABLE_SHARE

    @classmethod
    def from_values(cls, values: Mapping[str, Any], scenario: Scenario) -> Self:
        """The objective that a table describes.

        Args:
            values: of the table's fields, as their kinds have read them.
            scenario: what the table belongs to.

        Raises:
            FieldError: values that do not fit each other or the scenario.
        """
        return cls(**values).for_scenario(scenario)

    def for_scenario(self, scenario: Scenario) -> Self:  # noqa: ARG002 - most need nothing of it
        """Return the objective adapted to a scenario."""
        return self

    @abstractmethod
    def measure(self, result: Result) -> float:
        """The number for a whole run, in its own unit.

        Raises:
            NotMeasuredError: the run has no such number.
        """

    def evaluate(self, result: Result) -> float:
        """The number for a whole run, to be minimised: its negative if it is to be maximised.

        Raises:
            NotMeasuredError: the run has no such number.
        """
        measured = self.measure(result)
        return -measured if self.maximised else measured

    def relative_to(self, incumbent: Sequence[Result]) -> Self:  # noqa: ARG002 - most need none
        """The same objective, once runs of the setting in force are known.

        Args:
            incumbent: runs of it, at least one.

        Raises:
            NotMeasuredError: they lack what is needed.
        """
        return self

    @property
    def needs_incumbent(self) -> bool:
        """True if it needs the setting in force, by :meth:`relative_to`."""
        return False

    @property
    def maximised(self) -> bool:
        """True if high values are better."""
        return self.goal == "maximise"

    @property
    def own_constraints(self) -> tuple[str, ...]:
        """Constraints that are a part of it: they hold whatever else is asked for, or is not."""
        return ()

    @property
    def guarding(self) -> tuple[str, ...]:
        """Its guards, of its links."""
        return tuple(guard.format(link=link) for guard in self.guards for link in self.links)

    @property
    def noticed(self) -> Noticeable:
        """Smallest noticeable difference of this very objective."""
        return Noticeable(self.noticeable, self.noticeable_share)

    @property
    def least_size(self) -> float:
        """Least value to which relative differences refer.

        0 where a value is its own size. Above 0 where what is wanted and what is not cancel in it:
        then a value near 0 is not a small one, and differences are not relative to it.
        """
        return 0.0

    def size_of(self, value: float) -> float:
        """Magnitude to which a relative difference from a value refers, in its unit."""
        return max(abs(value), self.least_size)

    def least_gain(self, incumbent: float, share: float | None = None) -> float:
        """Smallest gain that anyone would notice, in its unit.

        Args:
            incumbent: what the setting in force reaches.
            share: of that, if another part than the objective's own is asked for.
        """
        return self.noticed.least_gain(self.size_of(incumbent), share)

    @property
    def label(self) -> str:
        """Name in a report."""
        return self.name

    @property
    def links(self) -> tuple[str, ...]:
        """The links that it is about, which have to remain in use; none where it does not say."""
        return ()

    @property
    def paths(self) -> tuple[MetricPath, ...]:
        """The metrics that it is made of; none where it does not say.

        What is said of a delay here needs no bound of harm (:mod:`vermilion.objectives.harm`).
        """
        return ()


@dataclass(frozen=True)
class WindowObjective(Objective, Generic[WindowT]):
    """A number for each window of a run; for the run, the mean of those over its phases.

    Each phase is weighted by its duration, because that is what stays true if conditions
    last: the first seconds after each change, when TCP has not settled, are left out of
    phases but not of ``total``. A run without phases to measure falls back to ``total``.

    To write one, derive from one of the classes below, declare the fields of its table with
    the kinds of :mod:`vermilion.objectives.fields`, implement ``value``, and add a line to
    ``vermilion.objectives.registry``.

    Attributes:
        metric: what ``value`` is, like "goodput_bit_per_s.total".
        over: "phases" or "total".
    """

    metric: ClassVar[str] = ""

    over: Over = field(default="phases", kw_only=True, metadata=OVER)

    @abstractmethod
    def windows(self, result: Result) -> list[WindowT]:
        """The windows of a run that have a value."""

    def value(self, window: WindowT) -> float:
        """The number for one window; ``metric`` of it, unless a subclass says otherwise.

        Raises:
            NotMeasuredError: the window has no such number.
        """
        return measured(self.name, window, *self.metric.split("."))

    def value_if_measured(self, window: WindowT) -> float | None:
        """Return the same; ``None`` where the window lacks the metrics, as one without packets."""
        try:
            return self.value(window)
        except NotMeasuredError:
            return None

    def measure(self, result: Result) -> float:
        """The mean over the windows, weighted by their durations."""
        windows = self.windows(result)
        if not windows:
            message = f"{self.label}: no flow is ever active in a measured phase"
            raise NotMeasuredError(message)
        return weighted_mean([self.value(window) for window in windows], windows)


@dataclass(frozen=True)
class LinkObjective(WindowObjective[LinkMetrics]):
    """An objective of one link; its windows are those of ``Result.link``.

    Attributes:
        measures: the link's metrics that it is made of, like "sojourn_ms.mean".
        link: whose metrics.
    """

    measures: ClassVar[tuple[str, ...]] = ()

    link: str = field(metadata=LINK)

    @property
    def links(self) -> tuple[str, ...]:
        """The link."""
        return (self.link,)

    @property
    def paths(self) -> tuple[MetricPath, ...]:
        """Path of ``measures`` at the link."""
        return tuple(MetricPath("links", self.link, each) for each in self.measures)

    def windows(self, result: Result) -> list[LinkMetrics]:
        """The link's windows."""
        return link_windows(result, self.link, self.over)


@dataclass(frozen=True)
class FlowsObjective(WindowObjective[FlowsWindow]):
    """An objective of flows; its windows are those of ``Result.flows``.

    A window has the metrics of docs/metrics.md over all flows that are meant, whatever group
    they are of, except for percentiles of several groups' completion times; further
    ``slowest_share``. Windows in which no flow is active are left out.

    Attributes:
        flows: the group; ``*`` in its name stands for any letters, so "*" means all flows.
    """

    flows: str = field(default=ALL_FLOWS, metadata=FLOWS)

    def windows(self, result: Result) -> list[FlowsWindow]:
        """The windows of the flows in which any was active."""
        windows = flow_windows(result, self.flows, self.over)
        return [window for window in windows if not is_idle(window)]


def measured(name: str, window: Mapping[str, object], *keys: str) -> float:
    """A number of a window by its keys.

    Args:
        name: of the objective, for the message.
        window: of a link or of flows.
        keys: one or two, like "queue_packets" and "mean".

    Raises:
        NotMeasuredError: the window has no such number.
    """
    value = metric_of(window, ".".join(keys))
    if value is None:
        raise NotMeasuredError(_why_absent(name, keys))
    return value


def mean_squared_distance(name: str, window: LinkMetrics, key: str, target: float) -> float:
    """mean((x - target)^2) of a measured x, exactly: its variance + (its mean - target)^2.

    Args:
        name: of the objective, for the message.
        window: a link's metrics.
        key: of x among them.
        target: in x's unit.

    Raises:
        NotMeasuredError: x was not measured.
    """
    mean, sd = measured(name, window, key, "mean"), measured(name, window, key, "sd")
    return sd**2 + (mean - target) ** 2


def _why_absent(name: str, keys: tuple[str, ...]) -> str:
    """Reason why a number is absent, as far as its name tells."""
    if keys[0] == "average_queue_packets":
        return f"{name} needs {keys[0]}, which the queue's discipline does not have"
    return f"{name} needs {'.'.join(keys)}, which was not measured in every phase"


_LARGEST: Final = 1e75
"""The fourth power of what is larger is no number any more, and statistics need it."""


@dataclass(frozen=True)
class CalledFunction(Objective):
    """A function of a run's result.

    The result has no single flows (``each``), because a tuning runs many.

    Attributes:
        function: returns the number, or ``None`` where the run does not have it.
        title: what a report calls it; by default the function's own name.
        maximise: whether high values are wanted.
        needs_flow_delays: whether it asks for what :func:`vermilion.run` measures of groups of
            flows only with ``flow_delays``: ``delay_ms``, ``packet_loss_rate`` and so on.
    """

    name: ClassVar[str] = "function"
    summary: ClassVar[str] = "a function of a run's result, from Python"
    noticeable: ClassVar[float] = 0.0

    function: Callable[[Result], float | None]
    title: str = ""
    maximise: bool = False
    needs_flow_delays: bool = False

    @property
    def maximised(self) -> bool:
        """True if high values are better."""
        return self.maximise

    @property
    def label(self) -> str:
        """The title or the function's name."""
        return self.title or getattr(self.function, "__name__", self.name)

    def measure(self, result: Result) -> float:
        """Return the function's value for a result."""
        value = self.function(result)
        try:
            number = math.nan if isinstance(value, str | bytes | None) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not abs(number) <= _LARGEST:
            message = (
                f"{self.label} returned {value!r} where a number is needed, "
                f"from -{_LARGEST:g} to {_LARGEST:g}"
            )
            raise NotMeasuredError(message)
        return number


def waiting_ms(name: str, window: LinkMetrics, key: str) -> float:
    """A summary of the queueing delays of a window's packets, ms.

    Where packets came and none got through, it is the window's length: whoever wanted to send has
    waited for all of it. So a setting that shuts its queue is a bad one, and not one that nothing
    is known of.

    Args:
        name: of the objective, for the message.
        window: of the link.
        key: "mean", or a percentile like "p95".

    Raises:
        NotMeasuredError: no packet came.
    """
    if metric_of(window, f"sojourn_ms.{key}") is None and window.get("arrivals"):
        return 1e3 * (window["end_s"] - window["start_s"])
    return measured(name, window, "sojourn_ms", key)
