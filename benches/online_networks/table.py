"""What the results say: counts, the findings by name, the worst, and every network in a line."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from online_networks import findings
from online_networks.known import NETWORKS_BY_NAME, minutes
from vermilion.simulate.statistics import mean_interval, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from online_networks.findings import Row

WORST = 12
ABOUT_ALL = (
    "Every network; means over the seeds and phases. *Broken* counts phases in which a constraint "
    "does not hold, and those of them of which the log does not say it. *Harm* names the bounds of "
    "harm that the mean over the seeds breaks in some phase."
)
LEFT, RIGHT = "---", "---:"
COLUMNS = (
    ("network", LEFT),
    ("controller", LEFT),
    ("verdict", LEFT),
    ("objective, alone", RIGHT),
    ("tuned", RIGHT),
    ("ratio", RIGHT),
    ("Jain's index", RIGHT),
    ("starved", RIGHT),
    ("dropped", RIGHT),
    ("goodput, of alone", RIGHT),
    ("broken, silently", RIGHT),
    ("harm", LEFT),
    ("pushes a minute, most", RIGHT),
    ("rolled back", RIGHT),
)
KEPT = "keeps what alone breaks"
VERDICTS = ("better", "no different", KEPT, "worse", "one seed", "crashed", "too slow", "refused")


@dataclass(frozen=True)
class Judged:
    """A network under one controller, all seeds together.

    Attributes:
        name: of the network.
        rows: its runs.
        verdict: see :func:`judged`.
        ratio: what is minimised, tuned by alone, geometric mean; ``None`` if it has none.
    """

    name: str
    rows: Sequence[Row]
    verdict: str
    ratio: float | None

    @property
    def ran(self) -> list[Row]:
        """The runs that came to their end."""
        return [row for row in self.rows if row["outcome"] == "ran"]


def judged(name: str, rows: Sequence[Row]) -> Judged:
    """The verdict on a network, tuned against left alone, paired by seed.

    "better" and "worse" are significant (the 95 % interval of the logarithms of the paired ratios
    excludes zero) and of a size that anyone would notice (docs/objectives.md). A network in which
    any seed crashed has that as its verdict. Where the network left alone breaks a constraint that
    it keeps under control, a worse objective may be the price of that, and what the operator has
    asked for comes first (K. Deb, "An efficient constraint handling method for genetic algorithms",
    CMAME 186, 2000). So no network is "worse" by such runs: it is judged by the others, and where
    fewer than two are left, that is the verdict; the ratio is of all.
    """
    for outcome in ("crashed", "too slow", "refused"):
        if any(row["outcome"] == outcome for row in rows):
            return Judged(name, rows, outcome, None)
    pairs = [
        (row["tuned"], row["alone"])
        for row in rows
        if row["tuned"] is not None and row["alone"] is not None
    ]
    verdict, ratio = compared(pairs, rows)
    alike = [
        (row["tuned"], row["alone"])
        for row in rows
        if row["tuned"] is not None and row["alone"] is not None and not _mends(row)
    ]
    if verdict == "worse" and len(alike) < len(pairs):
        verdict = compared(alike, rows)[0] if len(alike) > 1 else KEPT
    return Judged(name, rows, verdict, ratio)


def _mends(row: Row) -> bool:
    """Whether a run keeps a constraint that the network left alone breaks, and breaks no other."""
    changes = [each["broken"] - each["broken_alone"] for each in row["constraints"]]
    return min(changes, default=0) < 0 and max(changes, default=0) <= 0


def compared(pairs: Sequence[tuple[float, float]], rows: Sequence[Row]) -> tuple[str, float | None]:
    """The verdict on the first of each pair against the second, and their ratio.

    Args:
        pairs: of the objective's values, with a seed in common.
        rows: runs of the network, which tell which way is better and what would be noticed.
    """
    if rows[0]["maximised"]:
        pairs = [(second, first) for first, second in pairs]
    interval = ratio_interval(pairs)
    ratio = None if interval is None else interval.mean
    if len(pairs) < 2:  # noqa: PLR2004 - an interval needs two
        return "one seed", ratio
    # Deviations are squares, which differ by factors: so do their intervals.
    logarithm = mean_interval(
        math.log(first / second) if first > 0.0 < second else first - second
        for first, second in pairs
    )
    noticed = statistics.fmean(row["noticed"] for row in rows if row["alone"] is not None)
    change = statistics.fmean(first - second for first, second in pairs)
    if logarithm.excludes(0.0) and abs(change) >= noticed:
        return ("better" if logarithm.mean < 0.0 else "worse"), ratio
    return "no different", ratio


def table(results: Mapping[str, Sequence[Row]]) -> str:
    """Everything, for one controller or for several beside each other.

    Args:
        results: rows by label.
    """
    networks = {label: _by_network(rows) for label, rows in results.items()}
    rated = set.intersection(
        *({each.name for each in of.values() if each.ratio is not None} for of in networks.values())
    )
    return "\n\n".join(
        [
            _head(results),
            _beside(results, "summary", {k: _summary(v, rated) for k, v in networks.items()}),
            *([_against(*networks.items())] if len(networks) == 2 else []),  # noqa: PLR2004 - a pair
            _findings(results),
            *(_worst(label, each) for label, each in networks.items()),
            _all(networks),
        ]
    )


def summary_of_findings(results: Mapping[str, Sequence[Row]]) -> str:
    """The part on the nine faults alone, and of which runs it is.

    Args:
        results: rows by label.
    """
    return f"{_head(results)}\n\n{_findings(results)}"


def _findings(results: Mapping[str, Sequence[Row]]) -> str:
    return _beside(results, "finding", {k: findings.found(v) for k, v in results.items()})


def _by_network(rows: Sequence[Row]) -> dict[str, Judged]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["network"], []).append(row)
    return {
        name: judged(name, sorted(found[name], key=lambda row: int(row["seed"])))
        for name in NETWORKS_BY_NAME
        if name in found
    }


def _head(results: Mapping[str, Sequence[Row]]) -> str:
    lines = []
    for label, rows in results.items():
        seeds = sorted({row["seed"] for row in rows})
        tried = sorted({row["evaluations"] for row in rows})
        names = {row["network"] for row in rows}
        lines.append(
            f"*{label}*: {len(names)} networks, seeds {seeds[0]} to {seeds[-1]}, {len(rows)} runs; "
            f"{' or '.join(map(str, tried))} settings tried per search, one deadline charged for "
            'each (`clock="fixed"`).'
        )
    return "\n".join(lines)


def _beside(
    results: Mapping[str, Sequence[Row]], heading: str, columns: Mapping[str, Mapping[str, str]]
) -> str:
    """A table with a column for each label."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    lines = [
        f"| {heading} | {' | '.join(results)} |",
        f"| --- |{' --- |' * len(results)}",
    ]
    for name in names:
        cells = " | ".join(columns[label].get(name, "") for label in results)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def _against(
    first: tuple[str, Mapping[str, Judged]], second: tuple[str, Mapping[str, Judged]]
) -> str:
    """How the second controller does against the first, paired by network and seed."""
    verdicts: dict[str, list[str]] = {}
    ratios: dict[str, float] = {}
    for name, one in first[1].items():
        before = {row["seed"]: row["tuned"] for row in one.ran}
        after = {row["seed"]: row["tuned"] for row in second[1][name].ran}
        pairs = [
            (after[seed], value)
            for seed, value in before.items()
            if value is not None and after.get(seed) is not None
        ]
        if pairs:
            verdict, ratio = compared(pairs, one.rows)
            verdicts.setdefault(verdict, []).append(name)
            if ratio is not None:
                ratios[name] = ratio
    worst = sorted(ratios, key=lambda name: -ratios[name])[:WORST]
    counts = ", ".join(f"{verdict} in {len(names)}" for verdict, names in verdicts.items())
    return (
        f"*{second[0]}* against *{first[0]}* in the networks that both have brought to an end, by "
        f"the objective under control: {counts}. Highest ratios: "
        + ", ".join(f"{name} {ratios[name]:.2f}" for name in worst)
        + "."
    )


def _summary(networks: Mapping[str, Judged], rated: set[str]) -> dict[str, str]:
    counts = {
        verdict: sum(each.verdict == verdict for each in networks.values()) for verdict in VERDICTS
    }
    ran = [row for each in networks.values() for row in each.ran]
    ratios = [networks[name].ratio or math.nan for name in rated]
    pushes = sum(row["pushes"] for row in ran)
    kinds = findings.decisions(ran)
    harmed = findings.harmed(ran)
    any_harm = {name for names in harmed.values() for name in names}
    judged_pushes = sum(row.get("judged", 0) for row in ran)
    worse = sum(row.get("made_worse", 0) for row in ran)
    return {
        "networks": str(len(networks)),
        **{verdict: str(count) for verdict, count in counts.items() if count},
        "what is minimised, tuned by alone: median": (
            f"{statistics.median(ratios):.3f}" if ratios else ""
        ),
        "networks in which a bound of harm is broken": (
            ", ".join(
                [str(len(any_harm)), *(f"{each} {len(names)}" for each, names in harmed.items())]
            )
        ),
        "pushes": (
            f"{pushes}, {pushes / sum(minutes(row['network']) for row in ran):.1f} a minute, at "
            f"most {max((row['most_in_a_minute'] for row in ran), default=0)} in one"
        ),
        "pushes that made it worse at once": f"{worse} of {judged_pushes}",
        "rolled back": str(kinds.get("rolled-back", 0)),
        "refused by the router": str(kinds.get("refused", 0)),
        "processor time of a run: median, most": (
            f"{statistics.median(row['cpu_s'] for row in ran):.1f} s, "
            f"{max(row['cpu_s'] for row in ran):.0f} s"
            if ran
            else ""
        ),
    }


def _worst(label: str, networks: Mapping[str, Judged]) -> str:
    """Where the controller did most harm, by its own objective."""
    known = [each for each in networks.values() if each.ratio is not None]
    lines = [
        f"The {WORST} worst of *{label}*, by what is minimised:",
        "",
        "| network | tuned by alone | verdict | what happens |",
        "| --- | ---: | --- | --- |",
    ]
    for each in sorted(known, key=lambda one: -(one.ratio or 0.0))[:WORST]:
        about = NETWORKS_BY_NAME[each.name].about
        lines.append(f"| {each.name} | {each.ratio:.2f} | {each.verdict} | {about} |")
    return "\n".join(lines)


def _all(networks: Mapping[str, Mapping[str, Judged]]) -> str:
    lines = [ABOUT_ALL, "", f"| {' | '.join(name for name, _ in COLUMNS)} |"]
    lines.append(f"| {' | '.join(mark for _, mark in COLUMNS)} |")
    for name in NETWORKS_BY_NAME:
        for label, each in networks.items():
            if name in each:
                lines.append(f"| {name} | {label} | {_cells(each[name])} |")
    return "\n".join(lines)


def _cells(network: Judged) -> str:
    ran, rows = network.ran, network.rows
    alone = [row["alone"] for row in rows if row["alone"] is not None]
    if not ran:
        words = str(rows[0].get("words", "")).replace("|", "/")
        return f"{network.verdict} | {_mean(alone)} | {words[:90]} |" + " |" * 8
    verdict = network.verdict
    lost = len(rows) - len(ran)
    if lost:
        verdict += f" {lost} of {len(rows)}"
    kept = findings.broken(ran)
    harm = [metric for metric, names in findings.harmed(ran).items() if network.name in names]
    rate = statistics.fmean(row["pushes"] for row in ran) / minutes(network.name)
    most = max(row["most_in_a_minute"] for row in ran)
    return " | ".join(
        [
            verdict,
            _mean(alone),
            _mean([row["tuned"] for row in ran if row["tuned"] is not None]),
            "" if network.ratio is None else f"{network.ratio:.2f}",
            _change(ran, "jain_index", 1.0, 2),
            _change(ran, "starved", 1.0, 1),
            _change(ran, "drop_rate", 100.0, 1, " %"),
            _goodput(ran),
            f"{kept.broken}, {kept.silently}" if kept.broken else "",
            ", ".join(harm),
            f"{rate:.1f}, {most}",
            str(sum(row["decisions"].get("rolled-back", 0) for row in ran) or ""),
        ]
    )


def _mean(values: Sequence[float]) -> str:
    return f"{statistics.fmean(values):.4g}" if values else ""


def _change(rows: Sequence[Row], metric: str, factor: float, digits: int, unit: str = "") -> str:
    pairs = [
        (row["alone_price"][metric], row["tuned_price"][metric])
        for row in rows
        if metric in row["alone_price"] and metric in row["tuned_price"]
    ]
    if not pairs:
        return ""
    alone, tuned = (factor * statistics.fmean(each) for each in zip(*pairs, strict=True))
    return f"{alone:.{digits}f} → {tuned:.{digits}f}{unit}"


def _goodput(rows: Sequence[Row]) -> str:
    name = "goodput_bit_per_s.total"
    pairs: list[tuple[float, float]] = [
        (row["tuned_price"].get(name, math.nan), row["alone_price"].get(name, math.nan))
        for row in rows
    ]
    ratio: Any = ratio_interval(pairs) if all(a > 0 and b > 0 for a, b in pairs) else None
    return "" if ratio is None else f"{100.0 * ratio.mean:.1f} %"
