"""Reading numbers off results, seed by seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.report.numbers import with_interval
from vermilion.simulate import Interval, mean_interval, metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from vermilion.simulate import Result

Samples = list[float]
"""A value for each seed."""


def of_phases(results: Sequence[Result], link: str, metric: str) -> list[Samples]:
    """A link's metric in each phase: for each phase a value for each seed.

    Raises:
        ValueError: a value could not be computed, where the paper needs it.
    """
    phases = len(results[0].link(link).phases)
    return [
        [required(result.link(link).phases[phase], metric) for result in results]
        for phase in range(phases)
    ]


def of_total(results: Sequence[Result], link: str, metric: str) -> Samples:
    """A link's metric after the warm-up, a value for each seed.

    Raises:
        ValueError: a value could not be computed, where the paper needs it.
    """
    return [required(result.link(link).total, metric) for result in results]


def goodput(results: Sequence[Result], group: str) -> Samples:
    """A group's goodput after the warm-up in bit/s, a value for each seed."""
    return [required(result.flows(group).total, "goodput_bit_per_s.total") for result in results]


def interval(values: Sequence[float]) -> Interval | None:
    """The mean over seeds with its interval; ``None`` without values."""
    return mean_interval(values) if values else None


def differences(first: Sequence[float], second: Sequence[float]) -> Samples:
    """First less second, seed by seed."""
    return [a - b for a, b in zip(first, second, strict=True)]


def jain(flows: Iterable[Sequence[float]]) -> Samples:
    """Jain's index of some flows' values, seed by seed."""
    return [
        sum(each) ** 2 / (len(each) * sum(value * value for value in each))
        for each in zip(*flows, strict=True)
    ]


def cell(values: Sequence[float], scale: float = 1.0) -> str:
    """A mean with its interval, as a cell of a table."""
    return with_interval(interval(values), scale)


def required(window: Mapping[str, object], metric: str) -> float:
    """A window's metric.

    Raises:
        ValueError: it could not be computed.
    """
    value = metric_of(window, metric)
    if value is None:
        message = f"{metric} could not be computed"
        raise ValueError(message)
    return value
