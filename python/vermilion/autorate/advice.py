"""A configuration of cake-autorate that does better on the line of a log.

Configurations race on what the log shows of the line. What each half of the log says of the best on
the other half, which they have not met, is held against the present configuration: those figures
decide, and are shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.autorate.line import STEP_S, line_of, replay
from vermilion.autorate.rules import DEFAULTS, Rules
from vermilion.files.document import document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from vermilion.autorate.line import Line
    from vermilion.autorate.log import AutorateLog

    Floats = NDArray[np.float64]
    Configuration = dict[str, float]

LEAST_SEEN_S: Final = 30.0
"""Time for which the log has to show the line full."""

_MOST_S: Final = 1200.0  # of the log that is replayed; what is most loaded first
_BLOCK_S: Final = 30.0
_POPULATION: Final = 48
_KEPT: Final = 10
_HALVING: Final = 0.06
"""Part of the goodput that is worth an excess wait half as long."""

_USELESS_S: Final = 1.0
"""Excess wait beyond which nobody can use a line, whatever it carries."""

_HALVING_OF_USELESS: Final = 0.25
_NOTICEABLE: Final = 0.03  # of goodput, or what is worth as much
_CONFIDENCE: Final = 1.96
_LEAST_RATE: Final = 300.0

_COMMON: Final[Mapping[str, tuple[float, float]]] = {
    "bufferbloat_detection_window": (4, 8),
    "bufferbloat_detection_thr": (2, 4),
    "shaper_rate_max_adjust_down_bufferbloat": (0.5, 0.9),
    "shaper_rate_max_adjust_up_load_high": (1.01, 1.15),
    "high_load_thr": (0.6, 0.85),
    "bufferbloat_refractory_period_ms": (100, 400),
}
"""Numbers that both directions share, with what is tried of them."""


@document()
@dataclass(frozen=True, slots=True)
class Figures:
    """Outcome of a configuration for one direction of the line.

    Attributes:
        goodput_share: part carried of what the line could have carried.
        excess_p95_s: 95th percentile of the wait above that of an empty queue, while loaded.
    """

    goodput_share: float
    excess_p95_s: float


@document()
@dataclass(frozen=True, slots=True)
class DirectionAdvice:
    """One direction of the advice.

    Attributes:
        seen_s: time for which the log shows the capacity.
        capacity_kbps: its 5th, 50th and 95th percentile; none where it is never seen.
        present: of the present configuration, on the half that judges.
        advised: of the advised one; none where there is no advice for this direction.
        ratio: of excess waits, advised to present, with its interval; none likewise.
    """

    seen_s: float
    capacity_kbps: tuple[float, float, float] | None
    present: Figures | None = None
    advised: Figures | None = None
    ratio: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class AutorateAdvice:
    """Advice for a configuration.

    Attributes:
        answer: ``set``, ``keep`` or ``not judged``.
        reason: a sentence.
        present: configuration in use.
        changes: numbers to set, by name; empty unless the answer is ``set``.
        directions: ``dl`` and ``ul``.
    """

    answer: str
    reason: str
    present: Mapping[str, float]
    changes: dict[str, float]
    directions: dict[str, DirectionAdvice]

    @property
    def download(self) -> DirectionAdvice:
        """The advice for what comes in."""
        return self.directions["dl"]

    @property
    def upload(self) -> DirectionAdvice:
        """The advice for what goes out."""
        return self.directions["ul"]


def advise_autorate(
    log: AutorateLog,
    present: Mapping[str, float] | None = None,
    *,
    delay_s: float = 0.03,
    generations: int = 5,
    seed: int = 1,
    progress: Callable[[float], object] | None = None,
) -> AutorateAdvice:
    """Search a configuration for the line of a log, and judge it.

    Args:
        log: of the line.
        present: configuration that is in use; by default the script's, with the range of rates
            that the log has.
        delay_s: excess wait that is good enough; less is not bought with goodput.
        generations: of each of three searches.
        seed: of all random numbers.
        progress: called with the share that is done.
    """
    lines = {name: line_of(log, name, seed) for name in log.directions}
    current = dict(present) if present is not None else _rates_of(log)
    found = {name: _evidence(line) for name, line in lines.items()}
    judged = [name for name in lines if found[name].seen_s >= LEAST_SEEN_S]
    if not judged:
        most = max(each.seen_s for each in found.values())
        reason = (
            f"the log shows a full line for {most:.0f} s; {LEAST_SEEN_S:.0f} s are needed. Log"
            " while somebody loads it, and let max_..._shaper_rate_kbps be above what it carries"
        )
        return AutorateAdvice("not judged", reason, current, {}, found)
    whole = {name: _loaded_part(lines[name]) for name in judged}
    halves = {name: _halves(line) for name, line in whole.items()}
    tasks = [{name: half[place] for name, half in halves.items()} for place in (0, 1)]
    first, second, best = (
        _Search(current, task, delay_s, seed).run(
            generations, None if progress is None else _share_of(progress, place / 3)
        )
        for place, task in enumerate((*tasks, whole))
    )
    # Each half judges what was found on the other.
    verdicts = {
        name: _judge([(half[0], second), (half[1], first)], name, current)
        for name, half in halves.items()
    }
    for name, (before, after, ratio) in verdicts.items():
        each = found[name]
        found[name] = DirectionAdvice(each.seen_s, each.capacity_kbps, before, after, ratio)
    changes = {name: value for name, value in best.items() if value != current[name]}
    gains = [_gain(verdict, delay_s) for verdict in verdicts.values()]
    if min(gains) < -_NOTICEABLE < _NOTICEABLE < max(gains):
        reason = "what helps one direction harms the other"
        return AutorateAdvice("keep", reason, current, {}, found)
    if not changes or max(gains) < _NOTICEABLE or min(gains) < -_NOTICEABLE:
        reason = "nothing that was tried is clearly better"
        return AutorateAdvice("keep", reason, current, {}, found)
    reason = "better where it was not searched"
    return AutorateAdvice("set", reason, current, changes, found)


def _share_of(progress: Callable[[float], object], start: float) -> Callable[[float], object]:
    """Progress of one of three searches."""
    return lambda done: progress(start + done / 3)


def _rates_of(log: AutorateLog) -> Configuration:
    """The script's configuration with the rates between which CAKE's have moved."""
    current = dict(DEFAULTS)
    for name, rows in log.directions.items():
        rates = rows.shaper_kbps
        ends = (rates.min(), float(np.median(rates)), rates.max())
        for kind, rate in zip(("min", "base", "max"), ends, strict=True):
            current[f"{kind}_{name}_shaper_rate_kbps"] = float(rate)
    return current


def _evidence(line: Line) -> DirectionAdvice:
    seen = line.capacity_kbps[line.seen]
    low, middle, high = np.percentile(seen, (5, 50, 95)) if len(seen) else (0.0, 0.0, 0.0)
    capacity = (float(low), float(middle), float(high)) if len(seen) else None
    return DirectionAdvice(len(seen) * STEP_S, capacity)


def _loaded_part(line: Line) -> Line:
    """Half minutes in which the line was seen longest, in their order, as many as are replayed."""
    size, most = round(_BLOCK_S / STEP_S), int(_MOST_S / _BLOCK_S)
    count = len(line.seen) // size
    if count <= most:
        return line
    seen = line.seen[: count * size].reshape(count, size).sum(axis=1)
    kept = np.sort(np.argsort(-seen, kind="stable")[:most])
    return line.part((kept[:, None] * size + np.arange(size)).ravel())


def _halves(line: Line) -> tuple[Line, Line]:
    """Halves between which the time that was seen is shared equally."""
    seen = np.cumsum(line.seen)
    middle = int(np.searchsorted(seen, seen[-1] / 2))
    return line.part(np.arange(middle)), line.part(np.arange(middle, len(seen)))


class _Search:
    """A search whose generations are replayed at once."""

    def __init__(
        self,
        current: Configuration,
        lines: Mapping[str, Line],
        delay_s: float,
        seed: int,
    ) -> None:
        self.current = current
        self.lines = lines
        self.delay_s = delay_s
        self.coins = np.random.default_rng(seed)
        self.space = dict(_COMMON)
        for name, line in lines.items():
            seen = line.capacity_kbps[line.seen]
            low, tenth, half, high = (float(it) for it in np.percentile(seen, (1, 10, 50, 99)))
            floor = max(_LEAST_RATE, 0.3 * low)
            self.space |= {
                f"min_{name}_shaper_rate_kbps": (floor, max(1.2 * floor, tenth)),
                f"base_{name}_shaper_rate_kbps": (max(1.5 * floor, 0.5 * half), 1.2 * half),
                f"max_{name}_shaper_rate_kbps": (1.1 * half, max(1.3 * half, 1.2 * high)),
                f"{name}_owd_delta_delay_thr_ms": (8.0, 40.0),
                f"{name}_avg_owd_delta_max_adjust_up_thr_ms": (1.0, 30.0),
                f"{name}_avg_owd_delta_max_adjust_down_thr_ms": (10.0, 100.0),
            }

    def run(self, generations: int, progress: Callable[[float], object] | None) -> Configuration:
        """Return the best configuration."""
        scored = [(self.scores([self.current])[0], self.current)]
        for turn in range(generations):
            scored.sort(key=lambda each: -each[0])
            parents = [each for _, each in scored[:_KEPT]]
            born = [self._draw(parents if turn else None, turn) for _ in range(_POPULATION)]
            scored += zip(self.scores(born), born, strict=True)
            if progress is not None:
                progress((turn + 1) / generations)
        return max(scored, key=lambda each: each[0])[1]

    def scores(self, configurations: list[Configuration]) -> list[float]:
        """Values on all directions together."""
        totals = np.zeros(len(configurations))
        for name, line in self.lines.items():
            outcome = replay(Rules.of(configurations, name), line)
            figures = outcome.goodput_share(line.settled), outcome.excess_p95_s(line.settled)
            totals += _value(*figures, self.delay_s)
        return [float(each) for each in totals]

    def _draw(self, parents: list[Configuration] | None, turn: int) -> Configuration:
        drawn = dict(self.current)
        parent = parents[self.coins.integers(len(parents))] if parents else None
        for name, (low, high) in self.space.items():
            if parent is None:
                place = self.coins.uniform()
            else:
                value = min(max(parent[name], low), high)
                place = math.log(value / low) / math.log(high / low)
                place += self.coins.normal(0.0, 0.4 / (turn + 1))
            drawn[name] = _rounded(name, low * (high / low) ** min(max(place, 0.0), 1.0))
        return _ordered(drawn, list(self.lines))


def _value(goodput_share: Floats, excess_s: Floats, delay_s: float) -> Floats:
    """Logarithm of goodput, less what longer waits than are good enough are worth."""
    halvings = np.log2(np.clip(excess_s, delay_s, max(_USELESS_S, delay_s)) / delay_s)
    beyond = np.log2(np.maximum(excess_s, _USELESS_S) / _USELESS_S)
    worth = _HALVING * halvings + _HALVING_OF_USELESS * beyond
    value: Floats = np.log(np.maximum(goodput_share, 1e-6)) - worth
    return value


def _rounded(name: str, value: float) -> float:
    if name.endswith("_kbps"):
        return max(round(value, 1 - int(math.log10(value))), 100.0)
    if "detection" in name:
        return float(round(value))
    if name.endswith("_period_ms"):
        return float(round(value, -1))
    return round(value, 2 if value < 2 else 1)  # noqa: PLR2004 - factors, and milliseconds


def _ordered(drawn: Configuration, directions: list[str]) -> Configuration:
    """Let thresholds rise from raising to lowering, and rates from the least to the greatest."""
    window = drawn["bufferbloat_detection_window"]
    drawn["bufferbloat_detection_thr"] = min(drawn["bufferbloat_detection_thr"], window)
    for name in directions:
        for names in (
            [f"{kind}_{name}_shaper_rate_kbps" for kind in ("min", "base", "max")],
            [
                f"{name}_avg_owd_delta_max_adjust_up_thr_ms",
                f"{name}_owd_delta_delay_thr_ms",
                f"{name}_avg_owd_delta_max_adjust_down_thr_ms",
            ],
        ):
            for each, value in zip(names, sorted(drawn[it] for it in names), strict=True):
                drawn[each] = value
    return drawn


_Verdict = tuple[Figures, Figures, tuple[float, float, float]]


def _judge(folds: list[tuple[Line, Configuration]], name: str, present: Configuration) -> _Verdict:
    """The present configuration against those found elsewhere; the ratio of waits is by block."""
    outcomes = [replay(Rules.of([present, advised], name), line) for line, advised in folds]
    lines = [line.settled for line, _ in folds]
    shares = np.zeros(2)
    could = np.array([np.minimum(it.capacity_kbps, it.demand_kbps).sum() for it in lines])
    for weight, line, outcome in zip(could / could.sum(), lines, outcomes, strict=True):
        shares += weight * outcome.goodput_share(line)
    loaded = [
        outcome.excess_s[:, line.loaded] for line, outcome in zip(lines, outcomes, strict=True)
    ]
    waits = np.percentile(np.concatenate(loaded, axis=1), 95, axis=1)
    figures = [Figures(float(g), float(w)) for g, w in zip(shares, waits, strict=True)]
    size = round(_BLOCK_S / STEP_S)
    logs = []
    for each in loaded:
        for start in range(0, each.shape[1] - size // 2, size):
            block = np.percentile(each[:, start : start + size], 95, axis=1)
            before, after = np.maximum(block, 1e-3)
            logs.append(math.log(after / before))
    whole = max(float(waits[1]), 1e-3) / max(float(waits[0]), 1e-3)
    if len(logs) < 2:  # noqa: PLR2004 - nothing is known of what scatters
        return figures[0], figures[1], (whole, 0.0, math.inf)
    mean = float(np.mean(logs))
    apart = _CONFIDENCE * float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return figures[0], figures[1], (whole, math.exp(mean - apart), math.exp(mean + apart))


def _gain(verdict: _Verdict, delay_s: float) -> float:
    """Gain in value; none where the waits of half minutes do not say that it is one."""
    present, advised, (_, low, high) = verdict
    goodput = np.array([present.goodput_share, advised.goodput_share])
    waits = np.array([present.excess_p95_s, advised.excess_p95_s])
    before, after = _value(goodput, waits, delay_s)
    sure = high < 1 if waits[1] < waits[0] else low > 1
    return (
        float(after - before)
        if sure or waits.max() <= delay_s
        else float(np.log(goodput[1] / max(goodput[0], 1e-6)))
    )
