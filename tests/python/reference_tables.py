"""Writes the tables of comparison that docs/laboratory/validation.md includes, for all references.

``python tests/python/reference_tables.py`` takes half a minute; tables are sorted, worst first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import linux_reference
import ns2_reference
import ns3_reference
import vermilion
from reference_comparison import (
    DOCS,
    SEEDS,
    Comparison,
    Deviation,
    Where,
    percent,
    summary,
    table,
    window_over,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from provenance import made_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SCRIPT = "tests/python/reference_tables.py"


class Mended(NamedTuple):
    """A disagreement that went when what a source says was built, and nothing else was changed."""

    what: str
    source: str
    before: str
    now: Callable[[], str]


def _linux(case: str, metric: str) -> Callable[[], str]:
    return lambda: _percent(linux_reference.compare(case), Where(case, "r0", (10, 60), metric))


def _ns3(case: str, span: tuple[float, float], metric: str) -> Callable[[], str]:
    where = Where(case, ns3_reference.LINK, span, metric)
    return lambda: _percent(ns3_reference.compare(case), where)


def _percent(rows: Iterable[Comparison], where: Where) -> str:
    [row] = [row for row in rows if row.where == where]
    return percent(row)


def _both_newreno() -> str:
    found = (
        _ns3(case, ns3_reference.FEW, "drop rate")()
        for case in (ns3_reference.NEWRENO, ns3_reference.GENTLE)
    )
    return ", ".join(found)


def _gentle(key: str) -> tuple[list[vermilion.Result], float]:
    """Runs of 64 flows over gentle RED, and what ns-3 has of something in the same case."""
    case = ns3_reference.CASES[ns3_reference.GENTLE]
    text = ns3_reference.scenario_text(case)
    [results] = vermilion.run_many([vermilion.parse_scenario(text, origin="gentle")], SEEDS)
    [phase] = [each for each in case["phases"] if (each["t0"], each["t1"]) == ns3_reference.MANY]
    return [result for result in results if result is not None], phase[key][0]


def _deviation_of_the_queue() -> str:
    results, theirs = _gentle("std_queue")
    windows = [window_over(each.link(ns3_reference.LINK), ns3_reference.MANY) for each in results]
    ours = fmean(window["queue_packets"]["sd"] for window in windows)
    return f"{ours:.1f}; ns-3 has {theirs:.1f}"


def _goodput_of_all() -> str:
    results, theirs = _gentle("goodput_total_bps")
    ours = fmean(
        sum(
            window_over(each.flows(group), ns3_reference.MANY)["goodput_bit_per_s"]["total"]
            for group in ("group0", "group1")
        )
        for each in results
    )
    return f"{ours / 1e6:.2f} Mbit/s; ns-3 has {theirs / 1e6:.2f}"


CUBIC, NO_SACK = "L6: 16 cubic, RED", "X2: L1 without SACK (NewReno)"

MENDED = (
    Mended(
        "Linux with cubic (L6), drop rate",
        "whole numbers, a count of segments for each step, a plateau forgotten at timeouts "
        '(`dialect = "linux"`)',
        "+6.6 %",
        _linux(CUBIC, "drop rate"),
    ),
    Mended(
        "Linux without SACK (X2), utilisation",
        "duplicates counted as arrivals, proportional rate reduction (`linux-newreno`)",
        "-9.3 %",
        _linux(NO_SACK, "utilisation"),
    ),
    Mended("X2, drop rate", "", "+5.0 %; +12 % after the lock-out", _linux(NO_SACK, "drop rate")),
    Mended(
        "ns-3's TcpLinuxReno, 16 flows, drop rate",
        "a count that survives halving, everything that an acknowledgement covers "
        "(`cumulative_counting`), and another bound in the proportional rate reduction "
        '(`reduction_bound = "ns3"`)',
        "-23.7 %",
        _ns3(ns3_reference.LINUX_RENO, ns3_reference.FEW, "drop rate"),
    ),
    Mended(
        "the same, mean queue",
        "",
        "-14.3 %",
        _ns3(ns3_reference.LINUX_RENO, ns3_reference.FEW, "mean queue"),
    ),
    Mended(
        "ns-3's TcpNewReno, 16 flows, drop rate, without gentleness and with it",
        "the same bound",
        "+2.2, +1.8 %",
        _both_newreno,
    ),
    Mended(
        "ns-3's TcpNewReno, 64 flows, gentle, drop rate",
        "only the first partial acknowledgement of a recovery restarts the timer; the "
        "acknowledgement that ends the repair of a timeout counts for nothing "
        '(`recovery_dialect = "ns3"`)',
        "+10.2 %",
        _ns3(ns3_reference.GENTLE, ns3_reference.MANY, "drop rate"),
    ),
    Mended(
        "the same, standard deviation of the queue (packets)",
        "the timer",
        "20",
        _deviation_of_the_queue,
    ),
    Mended(
        "the same, goodput of all",
        "the timer: it expires while repairs are under way, and packets arrive twice",
        "9.97 Mbit/s",
        _goodput_of_all,
    ),
)


def mended_table() -> str:
    """What has gone of the disagreements, as a Markdown table."""
    head = ["| | what its source does | difference before | now |", "|---|---|---|---|"]
    rows = [f"| {row.what} | {row.source} | {row.before} | {row.now()} |" for row in MENDED]
    return "\n".join([*head, *rows])


def comparisons() -> dict[str, list[Comparison]]:
    """Everything that is compared, under the names of those it is compared with."""
    modules = {"ns-2.35": ns2_reference, "ns-3.37": ns3_reference, "Linux 6.12": linux_reference}
    return {
        name: [row for case in module.CASES for row in module.compare(case)]
        for name, module in modules.items()
    }


def explanations(deviations: Iterable[Deviation]) -> str:
    """The list of disagreements: each cause once, with what it is the cause of."""
    causes: dict[str, list[str]] = {}
    for deviation in deviations:
        causes.setdefault(deviation.why, []).append(str(deviation))
    return "\n".join(f"- **{'; '.join(where)}**: {why}." for why, where in causes.items())


def write() -> None:
    """Writes docs/laboratory/validation-*.md but for validation-kernel.md."""
    lists = {
        "ns2": ns2_reference.DEVIATIONS,
        "ns3": ns3_reference.DEVIATIONS,
        "linux": linux_reference.DEVIATIONS,
    }
    found = comparisons()
    for (short, deviations), (name, rows) in zip(lists.items(), found.items(), strict=True):
        parts = [
            f"{summary(rows)} What does not:" if deviations else summary(rows),
            *([explanations(deviations)] if deviations else []),
            table(rows, name, with_link=short == "linux"),
            made_by(SCRIPT),
        ]
        (DOCS / "laboratory" / f"validation-{short}.md").write_text(
            "\n\n".join(parts) + "\n", encoding="utf-8"
        )
    (DOCS / "laboratory" / "validation-mended.md").write_text(
        f"{mended_table()}\n\n{made_by(SCRIPT)}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    write()
