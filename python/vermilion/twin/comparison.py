"""Comparison of a twin with its capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.files.document import document
from vermilion.twin.scenario import LINK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.simulate.result_data import ResultData, Summary
    from vermilion.twin.evidence import Evidence
    from vermilion.twin.scenario import Twin


@document()
@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of both.

    Attributes:
        name: what it is.
        unit: of both.
        capture: as the capture has it; ``None`` where it cannot tell.
        twin: the mean over the twin's seeds.
        twin_low: the least of them.
        twin_high: the most of them.
    """

    name: str
    unit: str
    capture: float | None
    twin: float | None
    twin_low: float | None
    twin_high: float | None


def compare_with(
    evidence: Evidence,
    twin: Twin,
    seeds: Sequence[int],
    progress: Callable[[float], object] | None = None,
    *,
    keeps_at_interrupt: bool = False,
) -> tuple[ComparedFigure, ...]:
    """Simulate a twin, and compare it with its capture.

    Args:
        evidence: of the capture.
        twin: made of it.
        seeds: with which it is simulated.
        progress: told how many of them are done.
        keeps_at_interrupt: whether Ctrl-C ends it with the seeds that are done; with none of them
            nothing is compared.

    Raises:
        KeyboardInterrupt: at Ctrl-C, where nothing is to be kept.
    """
    from vermilion import simulate

    runs: list[ResultData] = []
    for seed in seeds:
        try:
            runs.append(simulate.run(twin.scenario, seed=seed).data)
        except KeyboardInterrupt:
            if not keeps_at_interrupt:
                raise
            break
        if progress is not None:
            progress(float(len(runs)))
    if not runs:
        return ()
    link = [run["links"][LINK]["total"] for run in runs]
    wait_s = evidence.mean_wait_s
    wait_ms = None if wait_s is None else 1e3 * wait_s
    captured: dict[str, tuple[str, float | None, list[float | None]]] = {
        "throughput": (
            "Mbit/s",
            evidence.throughput_bit_per_s / 1e6,
            [each["utilization"] for each in link],
        ),
        "wait in the queue": ("ms", wait_ms, [_mean(each.get("sojourn_ms")) for each in link]),
        "lost packets": (
            "%",
            _percent(evidence.resent_share),
            [_percent(each.get("drop_rate")) for each in link],
        ),
        "marked packets": (
            "%",
            _percent(evidence.marked_share),
            [_percent(each.get("mark_rate")) for each in link],
        ),
    }
    return tuple(
        _comparison(name, unit, seen, made, twin.rate_bit_per_s)
        for name, (unit, seen, made) in captured.items()
    )


def _comparison(
    name: str, unit: str, seen: float | None, made: list[float | None], rate: float
) -> ComparedFigure:
    values = [
        each * rate / 1e6 if name == "throughput" else each for each in made if each is not None
    ]
    if not values:
        return ComparedFigure(name, unit, seen, None, None, None)
    mean = sum(values) / len(values)
    return ComparedFigure(name, unit, seen, mean, min(values), max(values))


def _percent(share: float | None) -> float | None:
    return None if share is None else 100.0 * share


def _mean(statistics: Summary | None) -> float | None:
    return None if statistics is None else statistics["mean"]
