"""A shaper at the rate of a line that nobody knows, on a real kernel in virtual time.

    python benches/kernel_line.py TRACE... [--directions up,down] [--windows 20] [--seeds 3]
    python benches/kernel_line.py --table

CAKE of Linux 6.12 in front of a modem (a FIFO of 1 MB that follows a delivery trace in Mahimahi's
format), four CUBIC flows and a call, 50 ms without queues, 50 s, judged from 10 s on. Traces are
files of your own; none is shipped. For each window and direction the rate is

- *line*: kept by ``vermilion online --line auto``, which is told nothing;
- *autorate*: set by cake-autorate's rules with its defaults, told the window's 5th, 25th and 99th
  percentile of the rate over 1 s as minimum, base and maximum, which is more than users know;
- *p10*: the 10th percentile, fixed; *none*: no shaper.

Excess is the 95th percentile of the call's one-way delay less that of a call alone on the line.
Results are added to a file as they come; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import product
from pathlib import Path
from typing import Any, Final

from vermilion_lab.kernel_plant.line import LineCase, read_trace, run_line

RESULTS: Final = Path(__file__).parent / "results" / "kernel-line.jsonl"
SPAN_S: Final = 50.0
WAYS: Final = ("line", "autorate", "p10", "none")
LEAST_MS: Final = 1.0
"""Excess below which nobody can hear a difference."""


def rates(trace: list[int]) -> list[float]:
    """Return the rates of each second, sorted, bits a second."""
    counts = [0] * round(SPAN_S)
    for each in trace:
        counts[min(each // 1000, len(counts) - 1)] += 12_000
    return sorted(float(each) for each in counts)


def case_of(trace: list[int], direction: str, way: str) -> LineCase:
    """Return the run of one way."""
    ranked = rates(trace)

    def at(share: float) -> float:
        return max(300e3, ranked[min(len(ranked) - 1, int(share * len(ranked)))])

    told: dict[str, Any] = {}
    if way == "autorate":
        told = {"minimum": at(0.05), "base": at(0.25), "maximum": at(0.99)}
    return LineCase(
        trace,
        direction,
        law={"line": "service-curve", "autorate": "autorate"}.get(way, "fixed"),
        settings=told,
        # The product is told nothing: a shaper that somebody has set to 10 Mbit/s.
        start_bit_per_s={"line": 10e6, "autorate": at(0.25)}.get(way, at(0.10)),
        shaper=way != "none",
        duration_s=SPAN_S,
    )


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--directions", default="up,down")
    parser.add_argument("--ways", default=",".join(WAYS[:3]))
    parser.add_argument("--windows", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    done = read(given.results)
    known = {key_of(each) for each in done}
    cases = product(
        range(1, given.seeds + 1),
        range(given.windows),
        given.traces if not given.table else (),
        given.directions.split(","),
        given.ways.split(","),
    )
    for seed, window, path, direction, way in cases:
        row: dict[str, Any] = {
            "trace": path.name,
            "window": window,
            "direction": direction,
            "seed": seed,
            "way": way,
        }
        if key_of(row) in known:
            continue
        trace = read_trace(path, window * SPAN_S, SPAN_S)
        found = run_line(case_of(trace, direction, way), seed)
        row |= {
            "goodput_bit_per_s": found.goodput_bit_per_s,
            "share": found.share,
            "delay_p95_ms": 1e3 * found.delay_p95_s,
            "excess_p95_ms": 1e3 * found.excess_p95_s,
            "lost_calls": found.lost_calls,
        }
        print(json.dumps(row), flush=True)
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        done.append(row)
    print(table(done))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others."""
    return tuple(row[name] for name in ("trace", "window", "direction", "seed", "way"))


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures of each line, and the line's against autorate's where both are there."""
    lines = ["trace                     way   window seed  goodput/excess p95 of each way"]
    by = {key_of(row): row for row in rows}
    for place in dict.fromkeys(key[:4] for key in by):
        cells = [
            f"{way} {row['share']:.2f}/{row['excess_p95_ms']:.0f} ms"
            for way in WAYS
            if (row := by.get((*place, way))) is not None
        ]
        lines.append(
            f"{place[0]:<25} {place[2]:<5} {place[1]:>4} {place[3]:>5}  {', '.join(cells)}"
        )
    pairs = [
        (by[*place, "line"], by[*place, "autorate"])
        for place in dict.fromkeys(key[:4] for key in by)
        if (*place, "line") in by and (*place, "autorate") in by
    ]
    if pairs:
        excess = fmean_log(
            max(one["excess_p95_ms"], LEAST_MS) / max(other["excess_p95_ms"], LEAST_MS)
            for one, other in pairs
        )
        ratios = [one["goodput_bit_per_s"] / other["goodput_bit_per_s"] for one, other in pairs]
        lines.append(
            f"line against autorate, geometric means of {len(pairs)}: excess {excess:.2f}, "
            f"goodput {fmean_log(iter(ratios)):.2f}, least goodput {min(ratios):.2f}"
        )
    return "\n".join(lines)


def fmean_log(values: Any) -> float:  # noqa: ANN401 - any iterable of numbers
    """Return the geometric mean."""
    logs = [math.log(each) for each in values]
    return math.exp(sum(logs) / len(logs))


if __name__ == "__main__":
    main()
