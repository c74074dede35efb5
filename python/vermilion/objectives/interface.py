"""The one interface of every objective: a run's result in, a number to be minimised out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.simulate import Result

Window = dict[str, Any]
"""A link's metrics over a stretch of time: ``LinkResult.total`` or one of its ``phases``."""

Over = Literal["phases", "total"]
"""Which windows are meant: the measured phases, or the whole run after the warm-up."""


class NotMeasuredError(ValueError):
    """An objective or a constraint needs a number that the result does not have."""


class WindowObjective(Protocol):
    """The least that can be minimised: a number for each window of one link's metrics."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def link(self) -> str:
        """Whose metrics."""

    def value(self, window: Mapping[str, Any]) -> float:
        """The number for one window."""


@dataclass(frozen=True)
class Objective(ABC):
    """A number to be minimised, of one link's queue.

    By default it is the mean over the measured phases, weighted by their durations, because
    that is what stays true if conditions last: the first seconds after each change, when TCP
    has not settled, are left out of phases but not of ``total``. A run without phases to
    measure falls back to ``total``.

    To write one, derive from this, implement ``value``, and add a line to
    ``vermilion.objectives.registry``. What it measures must not be something that the tuned
    discipline computes for itself, or the search will please the number and not the network.

    Attributes:
        link: whose queue.
        target: the queue length wanted, packets.
        over: "phases" or "total".
        name: how the objective is chosen.
        summary: one line about it.
        unit: of its values.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    unit: ClassVar[str]

    link: str
    target: float
    over: Over = "phases"

    @abstractmethod
    def value(self, window: Mapping[str, Any]) -> float:
        """The number for one window of the link's metrics.

        Raises:
            NotMeasuredError: the window has no such number.
        """

    def evaluate(self, result: Result) -> float:
        """The number for a whole run.

        Raises:
            NotMeasuredError: the run has no such number.
        """
        return evaluate(self, result, self.over)


def evaluate(objective: WindowObjective, result: Result, over: Over = "phases") -> float:
    """The mean of an objective over a run's windows, weighted by their durations."""
    windows = link_windows(result, objective.link, over)
    return weighted_mean([objective.value(window) for window in windows], windows)


def link_windows(result: Result, link: str, over: Over = "phases") -> list[Window]:
    """A link's measured phases, or ``total`` alone: if asked for, or if there are no phases."""
    measured = result.link(link)
    return measured.phases if over == "phases" and measured.phases else [measured.total]


def weighted_mean(values: Sequence[float], windows: Sequence[Window]) -> float:
    """The mean of a value per window, each weighted by its window's duration."""
    durations = [window["end_s"] - window["start_s"] for window in windows]
    weighted = (value * duration for value, duration in zip(values, durations, strict=True))
    return math.fsum(weighted) / math.fsum(durations)


def mean_squared_distance(name: str, window: Mapping[str, Any], key: str, target: float) -> float:
    """mean((x - target)^2) of a measured x, exactly: its variance + (its mean - target)^2.

    Args:
        name: of the objective, for the message.
        window: a link's metrics.
        key: of x among them.
        target: in x's unit.

    Raises:
        NotMeasuredError: x was not measured.
    """
    if key not in window:
        message = f"{name} needs {key}, which the queue's discipline does not have"
        raise NotMeasuredError(message)
    measured = window[key]
    return float(measured["sd"] ** 2 + (measured["mean"] - target) ** 2)
