"""The table of docs/online.md: what keeping a queue tuned gives, and what it costs.

Three seeds of four scenarios, searches of a fixed number of settings, so that the same command
gives the same table. Takes about two minutes:

    .venv/bin/python docs/figures/online_reach.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import vermilion
from vermilion.online import run_online
from vermilion.report.price_line import PriceLine, in_unit, price_lines, short_queue

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above

SCENARIOS = (
    "oscillating-red",
    "varying-load",
    "varying-round-trip-time",
    "papers/ye-2002-varying-load",
)
SEEDS = (1, 2, 3)
METRICS = (
    "goodput_bit_per_s.total",
    "drop_rate",
    "jain_index",
    "slowest_share",
    "starved",
)


def rows(name: str, line: PriceLine) -> list[str]:
    """A phase's lines of the table: one for each setting."""
    known = {row.metric: (row, cells) for row, cells in line.rows}
    lines = []
    for place, setting in enumerate(line.settings):
        span = line.waits_ms[place]
        changed = known["sojourn_ms.p95"][1][place].changed if "sojourn_ms.p95" in known else False
        waits = "" if span is None else f"{span[0]:.2g} to {span[1]:.2g}{_star(changed=changed)}"
        cells = [
            f"{in_unit(row, priced[place].interval.mean)}{_star(changed=priced[place].changed)}"
            for row, priced in (known[metric] for metric in METRICS if metric in known)
        ]
        traffic = line.traffic.replace("\N{NO-BREAK SPACE}", " ")
        head = f"`{name}`, {traffic}, {line.start_s:g} to {line.end_s:g} s" if place == 0 else ""
        lines.append(f"| {head} | {setting} | {waits} | {' | '.join(cells)} |")
    return lines


def _star(*, changed: bool) -> str:
    return "\\*" if changed else ""


def main() -> None:
    """Writes the table."""
    headings = (
        "network",
        "queue",
        "waiting (ms)",
        "goodput (Mbit/s)",
        "dropped (%)",
        "Jain's index",
        "slowest flow, of the mean",
        "starved flows",
    )
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for name in SCENARIOS:
        scenario = vermilion.load_scenario(name)
        runs = [run_online(scenario, seed=seed, clock="fixed") for seed in SEEDS]
        rival = short_queue(runs)
        for line in price_lines(runs, [] if rival is None else [rival]):
            lines += rows(name, line)
    lines += ["", made_by("docs/figures/online_reach.py")]
    (HERE / "online_reach.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
