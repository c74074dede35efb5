"""Recommendation on the page of a study: decision, price, harm, neighbourhood.

It is made of the recommendation's JSON as the study's file has it. Files of earlier versions lack
some of its keys; what they lack is not shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives.constraint import path_in
from vermilion.objectives.harm import meaning_of
from vermilion.objectives.price import PRICE
from vermilion.report.numbers import (
    ABSENT,
    significant,
    significant_decimals,
    typeset,
    with_interval,
)
from vermilion.simulate.statistics import Interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FEWEST: Final = 36
"""Settings from which on shares are computed: three bins of a dozen."""

_PER_BIN: Final = 12
_MOST_BINS: Final = 10
_HALF_SAMPLES: Final = 200
_SEED: Final = 1
_NORMAL_975: Final = 1.959964


@dataclass(frozen=True, slots=True)
class Share:
    """Share of the variance that one parameter explains by itself.

    Attributes:
        share: of the ranks' variance, 0 to 1; 0 where chance explains as much.
        low: the lower end of its 95 % interval.
        high: the upper end.
        direction: Spearman's correlation of value and rank: above 0 where small values are better;
            near 0 also where the best lies in between.
    """

    share: float
    low: float
    high: float
    direction: float


def shares(columns: Sequence[Sequence[float]], told: Sequence[float]) -> list[Share] | None:
    """The share of each parameter.

    Args:
        columns: for each parameter, its value in each setting.
        told: what the search was told of each setting; infinite ones share a rank.

    Returns:
        In the order of the columns; ``None`` of fewer than :data:`FEWEST` settings, or if all
        settings are equally good.
    """
    import numpy as np

    count = len(told)
    ranks = _ranks(np.asarray(told, dtype=np.float64))
    if count < FEWEST or np.ptp(ranks) == 0.0:
        return None
    bins = min(_MOST_BINS, count // _PER_BIN)
    generator = np.random.default_rng(_SEED)
    halves = [generator.permutation(count)[: count // 2] for _ in range(_HALF_SAMPLES)]
    found = []
    for column in columns:
        values = _ranks(np.asarray(column, dtype=np.float64))
        share = _share(values, ranks, bins)
        spread = np.std([_share(values[half], ranks[half], bins) for half in halves])
        half_width = _NORMAL_975 * float(spread)
        direction = float(np.corrcoef(values, ranks)[0, 1]) if np.ptp(values) else 0.0
        found.append(
            Share(
                min(1.0, max(0.0, share)),
                min(1.0, max(0.0, share - half_width)),
                min(1.0, max(0.0, share + half_width)),
                direction,
            )
        )
    return found


def _share(values: Numbers, outcomes: Numbers, bins: int) -> float:
    """Epsilon squared of the outcomes in bins of equally many values."""
    import numpy as np

    count = len(values)
    # Equal values have equal ranks, so they fall into one bin.
    places = np.floor((_ranks(values) - 0.5) / count * bins).astype(np.int64)
    sizes = np.bincount(places, minlength=bins)
    total = float(np.sum((outcomes - outcomes.mean()) ** 2))
    filled = int(np.count_nonzero(sizes))
    if total == 0.0 or count <= filled:
        return 0.0
    means = np.bincount(places, outcomes, minlength=bins) / np.maximum(sizes, 1)
    within = float(np.sum((outcomes - means[places]) ** 2))
    return 1.0 - (within / (count - filled)) / (total / (count - 1))


def _ranks(values: Numbers) -> Numbers:
    """The rank of each value, from 1; equal values share the mean of theirs."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Numbers = (last - (counts - 1) / 2.0)[inverse]
    return ranks


_PRICE: Final = {row.metric: row for row in PRICE}

_VERDICTS: Final = {
    "better": "better, and recommended",
    "no difference": "no difference that is proven and worth a change",
    "worse": "worse",
}


def decision(outcome: Mapping[str, Any]) -> dict[str, object]:
    """Describe the verdict, with its caveats."""
    verdict = outcome.get("verdict")
    if outcome["accepted"]:
        headline = "Use the best setting found"
    else:
        headline = "No change: the best found is refused" if outcome.get("refused") else "No change"
    return {
        "headline": headline,
        "verdict": _VERDICTS.get(verdict) if isinstance(verdict, str) else None,
        "reason": str(outcome["reason"]),
        "warnings": [str(each) for each in outcome.get("warnings", ())],
    }


def outcome_tables(
    outcome: Mapping[str, Any], objective: str, unit: str, *, several: bool
) -> list[dict[str, object]]:
    """Tables of each setting on fresh seeds: objective and price.

    Args:
        outcome: the recommendation.
        objective: what it is called where the outcome does not say it.
        unit: of it, likewise.
        several: whether it is of several scenarios; then there is a table for each, after that of
            all together.
    """
    if not several:
        table = _table("", outcome, objective, unit)
        return [table] if table["rows"] else []
    together = _table("All scenarios together", outcome, objective, unit)
    alone = [_table(str(case["scenario"]), case, objective, unit) for case in outcome["scenarios"]]
    return [table for table in (together, *alone) if table["rows"]]


def typical_distance(outcome: Mapping[str, Any], each_ms: float | None) -> str:
    """Root-mean-square deviation of the queue in packets and milliseconds.

    Args:
        outcome: the recommendation, of one scenario.
        each_ms: how long the link takes to send a packet that waits, if that is known.

    Returns:
        A sentence; nothing if the objective is another one.
    """
    reached = outcome.get("objective") or {}
    if reached.get("name") != "queue-deviation" or not {"best", "incumbent"} <= reached.keys():
        return ""

    def distance(of: Mapping[str, Any]) -> str:
        packets = math.sqrt(of["mean"])
        waiting = "" if each_ms is None else f" ({significant(packets * each_ms, 2)} ms)"
        return f"{significant(packets, 2)} packets{waiting}"

    return (
        "The square root of queue-deviation is the typical distance from the target: "
        f"{distance(reached['incumbent'])} with the incumbent, "
        f"{distance(reached['best'])} with the best found."
    )


def kept(outcome: Mapping[str, Any], *, several: bool) -> list[dict[str, str]]:
    """List constraints and bounds of harm, with the value of the best setting and its verdict.

    Args:
        outcome: the recommendation.
        several: whether it is of several scenarios.
    """
    if several:
        found = [
            (str(case["scenario"]), kind, each)
            for case in outcome["scenarios"]
            for kind, key in (("asked for", "constraints"), ("no harm", "harm"))
            for each in case.get(key) or ()
        ]
    else:
        asked = (outcome.get("constraints") or {}).get("best", ())
        found = [("", "asked for", each) for each in asked]
        found += [("", "no harm", each) for each in outcome.get("harm") or ()]
    return [_constraint_row(*each) for each in found]


def neighbourhood(outcome: Mapping[str, Any]) -> dict[str, object] | None:
    """The recommended setting around the conditions given; ``None`` if it was not measured."""
    robustness = outcome.get("robustness")
    if not robustness:
        return None
    unit = (outcome.get("objective") or {}).get("unit")
    return {
        "unit": typeset(unit) if unit else "",
        "holds": bool(robustness["holds"]),
        "seeds": len(robustness["seeds"]),
        "rows": [
            {
                "condition": str(each["condition"]),
                "incumbent": _text(each.get("incumbent")),
                "best": _text(each.get("best")),
                "verdict": "breaks a bound" if each.get("breaks") else str(each["verdict"]),
            }
            for each in robustness["conditions"]
        ],
    }


def device_words(outcome: Mapping[str, Any]) -> dict[str, object] | None:
    """The chosen setting in a device's own words, if they are known."""
    device = outcome.get("device")
    if not device or not device.get("command"):
        return None
    return {
        "profile": str(device["profile"]),
        "command": str(device["command"]),
        "notes": [str(note) for note in device["notes"]],
    }


def _table(title: str, data: Mapping[str, Any], objective: str, unit: str) -> dict[str, object]:
    """Table of the objective and the price, times first."""
    rivals = data.get("rivals") or ()
    reached = data.get("objective") or {}
    rows: list[tuple[str, list[str]]] = []
    if "best" in reached and "incumbent" in reached:
        own = reached.get("unit", unit)
        name = str(reached.get("name", objective))
        cells = [reached["incumbent"], reached["best"]]
        cells += [each["objective"] for each in rivals]
        rows.append((f"{name} ({typeset(own)})" if own else name, [_text(each) for each in cells]))
        gain = _improvement(reached)
        if gain is not None:
            rows.append((f"improvement of {name}", ["", gain, *("" for _ in cells[2:])]))
    metrics = data.get("metrics") or {}
    for name in _sort_metrics(metrics):
        both = metrics[name]
        cells = [both["incumbent"], both["best"], *(each["metrics"].get(name) for each in rivals)]
        if name == "mark_rate" and not any(each and each["mean"] for each in cells):
            continue
        rows.append(_price_row(name, cells))
    missed = [[str(each) for each in rival["missed"]] for rival in rivals]
    return {
        "title": title,
        "columns": ["incumbent", "best found"]
        + [
            f"{rival['name']}{' *' if lacks else ''}"
            for rival, lacks in zip(rivals, missed, strict=True)
        ],
        "rows": rows,
        "missed": [
            (str(rival["name"]), lacks)
            for rival, lacks in zip(rivals, missed, strict=True)
            if lacks
        ],
    }


def _sort_metrics(metrics: Mapping[str, Any]) -> Iterator[str]:
    """Sort the metrics: times first, then in the order of the price; unknown ones at the end."""
    known = [row for row in PRICE if row.metric in metrics]
    yield from (row.metric for row in known if row.unit == "ms")
    yield from (row.metric for row in known if row.unit != "ms")
    yield from (name for name in metrics if name not in _PRICE)


def _price_row(name: str, cells: Sequence[Mapping[str, Any] | None]) -> tuple[str, list[str]]:
    row = _PRICE.get(name)
    if row is None:
        return name, [_text(cell) for cell in cells]
    return row.heading, [_text(cell, row.factor) for cell in cells]


def _constraint_row(where: str, kind: str, verdict: Mapping[str, Any]) -> dict[str, str]:
    constraint = str(verdict["constraint"])
    parts = path_in(constraint).split(".", 2)
    row = _PRICE.get(parts[-1])
    factor, unit = (1.0, "") if row is None else (row.factor, row.unit)
    value, bound = verdict.get("value"), verdict.get("bound")
    phase = verdict.get("phase")
    return {
        "constraint": constraint,
        "meaning": meaning_of(constraint) if kind == "no harm" else "",
        "kind": kind,
        "value": _with_unit(_text(value, factor), unit) if value else ABSENT,
        "bound": _with_unit(significant(bound * factor, 4), unit) if bound is not None else ABSENT,
        "where": ", ".join([*([where] if where else []), *([f"phase {phase}"] if phase else [])]),
        "holds": str(verdict["holds"]),
    }


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text


def _text(data: Mapping[str, Any] | None, factor: float = 1.0) -> str:
    if data is None:
        return ABSENT
    half = None if data.get("high") is None else data["high"] - data["mean"]
    if half == 0.0 and data["mean"]:  # chance has no part in it, and so sets no number of digits
        return f"{significant(data['mean'] * factor, 4)} ± 0"
    return with_interval(Interval(data["mean"], half, data["count"]), factor)


def _improvement(objective: Mapping[str, Any]) -> str | None:
    gain = objective.get("improvement")
    if not gain:
        return None
    mean, low, high = (
        None if gain.get(key) is None else f"{significant_decimals(100 * gain[key], 1)} %"
        for key in ("mean", "low", "high")
    )
    return f"{mean} [{low}, {high}]" if low is not None and high is not None else mean
