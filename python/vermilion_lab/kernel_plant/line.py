"""A line of unknown rate on a real kernel in virtual time: CAKE, TCP, a modem with a trace."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from vermilion_lab.kernel_plant.errors import GuestError
from vermilion_lab.kernel_plant.guest import Guest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_OPPORTUNITY_BITS: Final = 12_000
_CALL_EVERY_MS: Final = 20


def read_trace(path: Path, begin_s: float = 0.0, span_s: float | None = None) -> list[int]:
    """Read a window of a delivery trace in Mahimahi's format.

    Args:
        path: of the file, one opportunity of 1500 bytes a line, in milliseconds.
        begin_s: of the window.
        span_s: its length; ``None``: to the end.
    """
    times = [int(line) for line in path.read_text(encoding="ascii").split()]
    begin = round(1000 * begin_s)
    end = times[-1] if span_s is None else begin + round(1000 * span_s)
    # A trace that is too short begins again.
    laps = range(1 + end // times[-1])
    long = [lap * times[-1] + each for lap in laps for each in times]
    window = long[bisect_left(long, begin) : bisect_left(long, end)]
    return [each - begin for each in window] or [end - begin]


@dataclass(frozen=True)
class LineCase:
    """One run.

    Attributes:
        trace_ms: opportunities of the modem.
        direction: of the traffic that it holds back, "up" or "down".
        law: "service-curve", "autorate" or "oracle" set the rate, "fixed" leaves it as it is.
        settings: of the law.
        start_bit_per_s: rate at the beginning.
        shaper: whether there is one.
        duration_s: how long.
        rtt_s: round trip without queues.
        buffer_bytes: of the modem.
        flows: of TCP.
        more: other keys of the guest's program.
    """

    trace_ms: Sequence[int]
    direction: str = "up"
    law: str = "service-curve"
    settings: dict[str, Any] = field(default_factory=dict)
    start_bit_per_s: float = 5e6
    shaper: bool = True
    duration_s: float = 50.0
    rtt_s: float = 0.05
    buffer_bytes: int = 1_000_000
    flows: int = 4
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LineOutcome:
    """Outcome of a run, from its tenth second.

    Attributes:
        goodput_bit_per_s: of TCP.
        share: the same, of what the line could carry.
        used: part of what the line could carry, headers and the call with it.
        delay_p95_s: one-way delay of the call.
        excess_p95_s: the same less that of a call alone on the line.
        lost_calls: packets of the call that did not come, as a share.
        raw: all that the guest said.
    """

    goodput_bit_per_s: float
    share: float
    used: float
    delay_p95_s: float
    excess_p95_s: float
    lost_calls: float
    raw: dict[str, Any] = field(repr=False)


def run_line(case: LineCase, seed: int = 1, patience_s: float = 600.0) -> LineOutcome:
    """Run a case on the kernel.

    Raises:
        KernelPlantError: there is no kernel, or it failed.
    """
    raw = run_guest(case, seed, patience_s)
    return outcome_of(case, raw)


def run_guest(case: LineCase, seed: int = 1, patience_s: float = 600.0) -> dict[str, Any]:
    """Run a case; what its programs have left."""
    orders = asdict(case)
    orders |= orders.pop("more")
    guest = Guest(
        module="vermilion_lab.kernel_plant.line_guest", seed=seed, stepped=False, begin=False
    )
    with guest:
        (guest.job / "case.json").write_text(json.dumps(orders), encoding="utf-8")
        guest.begin()
        guest.wait(patience_s)
        outcome = guest.job / "outcome.json"
        if not outcome.exists():
            message = f"the guest has left no outcome:\n{guest.log()[-2000:]}"
            raise GuestError(message)
        found: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
        return found


def outcome_of(case: LineCase, raw: dict[str, Any], begin_s: float = 10.0) -> LineOutcome:
    """Return the figures of a run."""
    seconds = case.duration_s - begin_s
    received = 8.0 * sum(raw["tcp"][round(10 * begin_s) :])
    could = _OPPORTUNITY_BITS * _count(case.trace_ms, begin_s, case.duration_s)
    calls = [(sent, delay) for sent, delay in raw["call"] if sent >= begin_s]
    delays = sorted(delay for _, delay in calls)
    alone = sorted(lone_delays(case, begin_s))
    p95 = _quantile(delays, 0.95)
    sent = 1000 * (case.duration_s - begin_s) / _CALL_EVERY_MS
    return LineOutcome(
        received / seconds,
        received / could,
        8.0 * sum(raw["served"][round(10 * begin_s) : round(10 * case.duration_s)]) / could,
        p95,
        max(0.0, p95 - _quantile(alone, 0.95)),
        max(0.0, 1 - len(calls) / sent),
        raw,
    )


def lone_delays(case: LineCase, begin_s: float = 10.0) -> list[float]:
    """Return the one-way delays of a call alone on the line, seconds."""
    span = max(case.trace_ms[-1], 1)
    found = []
    for at in range(round(1000 * begin_s), round(1000 * case.duration_s), _CALL_EVERY_MS):
        lap, offset = divmod(at, span)
        index = bisect_left(case.trace_ms, offset)
        served = (
            lap * span + case.trace_ms[index]
            if index < len(case.trace_ms)
            else (lap + 1) * span + case.trace_ms[0]
        )
        found.append((served - at) / 1000 + case.rtt_s / 2)
    return found


def _count(trace: Sequence[int], begin_s: float, end_s: float) -> int:
    span = max(trace[-1], 1)

    def until(seconds: float) -> int:
        lap, offset = divmod(round(1000 * seconds), span)
        return lap * len(trace) + bisect_left(trace, offset)

    return until(end_s) - until(begin_s)


def _quantile(ranked: Sequence[float], share: float) -> float:
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else float("nan")
