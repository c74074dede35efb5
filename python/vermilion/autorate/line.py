"""A line's capacity as a log of cake-autorate shows it, and what rules would have done on it.

Bytes let out before a probe have been served when it comes through: times and bytes are points of
the line's service curve. While probes wait that curve is the capacity, otherwise a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.autorate.rules import Shapers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vermilion.autorate.log import AutorateLog
    from vermilion.autorate.rules import Rules

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

STEP_S: Final = 0.05
"""Time between answers in the model: six reflectors, each asked every 0.3 s."""

SETTLE: Final = round(10.0 / STEP_S)
"""Steps at the beginning that do not count."""

_WINDOW_S: Final = 0.1
_WAITS_S: Final = 0.008  # a probe that waits so long has met a queue
_BASELINE_S: Final = 600.0
_LOADED: Final = 0.75  # of CAKE's rate: who sends would send more
_LEAST_BUFFER_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class Line:
    """One direction of a line, an entry for each step.

    Attributes:
        capacity_kbps: of the line.
        seen: steps at which probes waited, so that the capacity is known; others hold what is
            interpolated between them, or what was carried.
        demand_kbps: of senders; infinite where CAKE or the line held them back.
        jitter_us: of delays without a queue.
        share: part of a wait that the rules see: half where the pinger knows round trips only.
        buffer_kbit: largest queue behind CAKE.
    """

    capacity_kbps: Floats
    seen: Flags
    demand_kbps: Floats
    jitter_us: Floats
    share: float
    buffer_kbit: float

    @property
    def settled(self) -> Line:
        """The steps that count."""
        return self.part(np.arange(SETTLE, len(self.seen)))

    @property
    def loaded(self) -> Flags:
        """Steps at which there is more demand than capacity."""
        return self.demand_kbps > self.capacity_kbps

    def part(self, steps: NDArray[np.int64]) -> Line:
        """Return some steps, one after the other."""
        return Line(
            self.capacity_kbps[steps],
            self.seen[steps],
            self.demand_kbps[steps],
            self.jitter_us[steps],
            self.share,
            self.buffer_kbit,
        )


def line_of(log: AutorateLog, direction: str, seed: int = 1) -> Line:
    """Rebuild one direction's line from a log."""
    other = log.directions["ul" if direction == "dl" else "dl"]
    rows = log.directions[direction]
    load = rows.achieved_kbps / rows.shaper_kbps
    halves = 2.0 if log.halves else 1.0
    waits = _waits_us(log, rows.owd_us) * 1e-6 * halves
    if log.halves:  # either direction's queue is in them: that of the one with more load
        waits = np.where(load >= other.achieved_kbps / other.shaper_kbps, waits, 0.0)

    # Bytes that have passed CAKE: each figure is a mean since the one before.
    changed = np.flatnonzero(np.diff(rows.achieved_kbps, prepend=-1.0) != 0)
    times = log.time_s[changed]
    passed = np.cumsum(rows.achieved_kbps[changed] * np.diff(times, prepend=times[0]))
    round_trips = (rows.owd_us + other.owd_us) * 1e-6
    sent = log.time_s - np.maximum(round_trips, 0.0)
    through = np.maximum.accumulate(sent + waits)
    grid = np.arange(0.0, log.seconds, STEP_S)
    if direction == "ul":  # CAKE stands before the queue
        served = np.interp(sent, times, passed)
        begin, end = (np.interp(grid + shift, through, served) for shift in (0.0, _WINDOW_S))
    else:
        begin, end = (np.interp(grid + shift, times, passed) for shift in (0.0, _WINDOW_S))
    carried = np.maximum(end - begin, 0.0) / _WINDOW_S

    # Without an answer in the window the next one tells: it has waited through all of it.
    place = np.minimum(np.searchsorted(through, grid), len(waits) - 1)
    steps = round(_WINDOW_S / STEP_S)
    following = np.append(waits[place], np.full(steps - 1, np.inf))
    seen = np.lib.stride_tricks.sliding_window_view(following, steps).min(axis=1) > _WAITS_S
    loaded = seen | (load[place] > _LOADED)
    capacity = carried
    if seen.any():
        between = np.exp(np.interp(grid, grid[seen], np.log(np.maximum(carried[seen], 1.0))))
        capacity = np.where(seen, carried, np.maximum(carried, between))
    idle = np.abs(rows.delta_us[(waits <= _WAITS_S) & (load < _LOADED)])
    jitter = np.random.default_rng(seed).choice(idle if len(idle) else np.zeros(1), len(grid))
    behind = np.interp(through, times, passed) - np.interp(through - waits, times, passed)
    buffer = max(float(behind.max()), _LEAST_BUFFER_S * float(capacity.mean()))
    demand = np.where(loaded, np.inf, rows.achieved_kbps[place])
    return Line(capacity, seen, demand, jitter, 1.0 / halves, buffer)


def _waits_us(log: AutorateLog, owd_us: Floats) -> Floats:
    """Delays above each reflector's least in ten minutes: its baseline follows a long queue."""
    spans = (log.time_s // _BASELINE_S).astype(int)
    keys = log.reflector * (int(spans[-1]) + 1) + spans
    _, group = np.unique(keys, return_inverse=True)
    least = np.full(int(group.max()) + 1, np.inf)
    np.minimum.at(least, group, owd_us)
    waits: Floats = owd_us - least[group]
    return waits


@dataclass(frozen=True, slots=True)
class Outcome:
    """What configurations come to on a line, a row for each.

    Attributes:
        carried_kbit: in each step.
        excess_s: wait of a packet that comes at a step, less that in an empty queue.
    """

    carried_kbit: Floats
    excess_s: Floats

    def goodput_share(self, line: Line) -> Floats:
        """Part of what the line could have carried of the demand."""
        could = np.minimum(line.capacity_kbps, line.demand_kbps).sum() * STEP_S
        shares: Floats = self.carried_kbit.sum(axis=1) / max(float(could), 1e-9)
        return shares

    def excess_p95_s(self, line: Line) -> Floats:
        """95th percentile of the excess wait while the line is loaded."""
        waits = self.excess_s[:, line.loaded]
        if not waits.shape[1]:
            return np.zeros(len(waits))
        percentiles: Floats = np.percentile(waits, 95, axis=1)
        return percentiles


def replay(rules: Rules, line: Line) -> Outcome:
    """Let configurations set CAKE's rate on a line; queues are fluids. The beginning is left out.

    What CAKE lets out beyond the capacity waits behind it. An answer shows the wait of what is
    served now; in an outage there is none.
    """
    steps, count = len(line.capacity_kbps), rules.count
    shapers = Shapers(rules)
    service = np.concatenate([[0.0], np.cumsum(line.capacity_kbps * STEP_S)])
    let_out = np.zeros((steps + 1, count))
    lost = np.zeros(count)
    backlog = np.zeros(count)
    carried = np.zeros((count, steps))
    queues = np.zeros((count, steps))
    age_of = np.zeros(count, dtype=np.int64)
    columns = np.arange(count)
    waits = np.zeros(count)
    since_achieved = np.zeros(count)
    every = max(1, round(float(rules.monitoring.max()) / 1e6 / STEP_S))
    for step in range(steps):
        capacity = float(line.capacity_kbps[step])
        out = np.minimum(shapers.rate, line.demand_kbps[step]) * STEP_S
        arrived = backlog + out
        sent = np.minimum(arrived, capacity * STEP_S)
        backlog = np.minimum(arrived - sent, line.buffer_kbit)
        lost += arrived - sent - backlog
        carried[:, step] = sent
        queues[:, step] = backlog
        let_out[step + 1] = let_out[step] + out
        since_achieved += out
        if (step + 1) % every == 0:
            achieved = since_achieved / (every * STEP_S)
            shapers.on_achieved(achieved.astype(np.int64))
            since_achieved[:] = 0.0
        # The answer of this step left when the last that is served now was let out.
        served = let_out[step + 1] - lost - backlog
        while True:
            older = (let_out[np.minimum(age_of + 1, step + 1), columns] - lost <= served) & (
                age_of < step + 1
            )
            if not older.any():
                break
            age_of += older
        seen = np.where(backlog > 0, (step + 1 - age_of) * STEP_S, 0.0)
        delta = waits * line.share * 1e6 + line.jitter_us[step]
        if capacity > 0:
            shapers.on_answer(round((step + 1) * STEP_S * 1e6), delta.astype(np.int64))
        waits = seen  # half a round trip until it is known
    grid = np.arange(steps + 1) * STEP_S
    ends = service[1:]
    empty = np.maximum(np.interp(ends + 1e-9, service, grid) - grid[1:], 0.0)
    excess = np.empty_like(queues)
    tail = float(line.capacity_kbps[-200:].mean()) or 1.0
    for row in range(count):
        goal = ends + queues[row]
        drained = np.interp(goal + 1e-9, service, grid)
        beyond = np.maximum(goal - service[-1], 0.0) / tail
        excess[row] = np.maximum(drained + beyond - grid[1:] - empty, 0.0)
    return Outcome(carried[:, SETTLE:], excess[:, SETTLE:])
