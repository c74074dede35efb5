"""A shaper at the rate of a line that nobody knows, on a real kernel in virtual time.

    python benches/kernel_line.py FOLDER [--seeds 3] [--stop 15:20]
    python benches/kernel_line.py --table [FILE]

CAKE of Linux 6.12 in front of a modem (a FIFO of 1 MB that follows a delivery trace in Mahimahi's
format), four CUBIC flows and a call, 50 ms without queues, 30 s, judged from 10 s on. FOLDER has
the traces of WINDOWS, as Mahimahi's repository calls them; none is shipped. In each window the
rate is

- *line*: kept by ``vermilion control --line auto``, which is told nothing; and with an ``--excess``
  of 30 ms, autorate's threshold, instead of 10 ms;
- *autorate*: set by cake-autorate's rules with its defaults, told the window's 5th, 25th and 99th
  percentile of the rate over 1 s as minimum, base and maximum, which is more than users know;
- *p10*: the 10th percentile, fixed;
- *oracle*: 0.95 of what the line can in the next 0.1 s.

The first two take all seeds, the others one. Excess is the 95th percentile of the call's one-way
delay less that of a call alone on the line. Results are added to a file as they come; what is there
is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from provenance import commit_of, made_by

from vermilion_lab.kernel_plant.line import LineCase, read_trace, run_line

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT: Final = "benches/kernel_line.py"
RESULTS: Final = Path(__file__).parent / "results" / "kernel-line.jsonl"
SPAN_S: Final = 30.0
WAYS: Final = ("line", "line 30 ms", "autorate", "p10", "oracle")
LEAST_MS: Final = 1.0
"""Excess below which nobody can hear a difference."""
WINDOWS: Final[dict[str, tuple[tuple[str, str, float], ...]]] = {
    # Name: direction, trace, begin in seconds.
    "Verizon LTE": (
        ("up", "Verizon-LTE-short.up", 0),
        ("up", "Verizon-LTE-short.up", 60),
        ("down", "Verizon-LTE-short.down", 0),
        ("down", "Verizon-LTE-short.down", 60),
    ),
    "T-Mobile LTE": (
        ("up", "TMobile-LTE-short.up", 0),
        ("up", "TMobile-LTE-short.up", 60),
        ("down", "TMobile-LTE-short.down", 0),
        ("down", "TMobile-LTE-short.down", 60),
    ),
    "AT&T LTE, driving": (
        ("up", "ATT-LTE-driving.up", 60),
        ("up", "ATT-LTE-driving.up", 240),
        ("down", "ATT-LTE-driving.down", 60),
        ("down", "ATT-LTE-driving.down", 240),
    ),
    "AT&T LTE 2016, driving": (
        ("down", "ATT-LTE-driving-2016.down", 30),
        ("down", "ATT-LTE-driving-2016.down", 90),
    ),
    "T-Mobile LTE, driving": (
        ("down", "TMobile-LTE-driving.down", 60),
        ("down", "TMobile-LTE-driving.down", 240),
    ),
    "T-Mobile UMTS, driving": (("up", "TMobile-UMTS-driving.up", 60),),
    "steps of 10 s, 8 to 24 Mbit/s": (("up", "steps", 0), ("down", "steps", 0)),
    "constant 12 Mbit/s": (("up", "constant", 0), ("down", "constant", 0)),
}


def trace_of(folder: Path, name: str, begin_s: float) -> list[int]:
    """Return the opportunities of a window, in milliseconds."""
    if name == "constant":
        return list(range(1, round(1000 * SPAN_S) + 1))
    if name == "steps":
        return steps()
    return read_trace(folder / name, begin_s, SPAN_S)


def steps(seed: int = 4) -> list[int]:
    """Return a line of steps of 10 s with 80 ms of silence at each, and a fifth of jitter."""
    random, found, credit, rate = Random(seed), [], 0.0, 0.0  # noqa: S311 - a line, no secret
    for at in range(round(1000 * SPAN_S)):
        if at % 10_000 == 0:
            level = random.uniform(8.0, 24.0)
        if at % 100 == 0:
            rate = level * random.uniform(0.8, 1.2)
        if at % 10_000 < 80:  # noqa: PLR2004 - ms of silence
            continue
        credit += rate * 1e3 / 12_000
        found += [at + 1] * int(credit)
        credit %= 1.0
    return found


def case_of(trace: list[int], direction: str, way: str) -> LineCase:
    """Return the run of one way."""
    counts = [0] * round(SPAN_S)
    for each in trace:
        counts[min(each // 1000, len(counts) - 1)] += 12_000
    ranked = sorted(counts)

    def at(share: float) -> float:
        return max(300e3, float(ranked[min(len(ranked) - 1, int(share * len(ranked)))]))

    told: dict[str, Any] = {}
    if way == "autorate":
        told = {"minimum": at(0.05), "base": at(0.25), "maximum": at(0.99)}
    return LineCase(
        trace,
        direction,
        law={"line": "service-curve", "line 30 ms": "service-curve", "p10": "fixed"}.get(way, way),
        settings=told,
        # The product is told nothing: a shaper that somebody has set to 10 Mbit/s.
        start_bit_per_s={"autorate": at(0.25), "p10": at(0.10)}.get(way, 10e6),
        duration_s=SPAN_S,
        more={"excess_s": 0.03 if way == "line 30 ms" else 0.01},
    )


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--stop", help="time of the day after which no run begins")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", nargs="?", const="-")
    given = parser.parse_args()
    done = read(given.results)
    known = {key_of(each) for each in done}
    seeds = range(1, given.seeds + 1)
    # What the comparison needs comes first, and of every line something.
    both = ("line", "autorate")
    rest = tuple(way for way in WAYS if way not in both)
    rounds = [(1, both), (1, rest), *((seed, both) for seed in seeds[1:])]
    windows = [(line, *window) for line, those in WINDOWS.items() for window in those]
    first = {window[:2]: window for window in reversed(windows)}
    windows.sort(key=lambda window: window not in first.values())
    for seed, line, direction, name, begin_s, way in [
        (seed, *window, way)
        for seed, ways in (rounds if given.folder else ())
        for window in windows
        for way in ways
    ]:
        if given.stop and time.strftime("%H:%M") >= given.stop:
            break
        row: dict[str, Any] = {
            "line": line,
            "direction": direction,
            "begin_s": begin_s,
            "seed": seed,
            "way": way,
        }
        if key_of(row) in known:
            continue
        found = run_line(case_of(trace_of(given.folder, name, begin_s), direction, way), seed)
        row |= {
            "goodput_mbit_per_s": round(found.goodput_bit_per_s / 1e6, 4),
            "share": round(found.share, 4),
            "used": round(found.used, 4),
            "excess_p95_ms": round(1e3 * found.excess_p95_s, 1),
            "commit": commit_of(SCRIPT),
        }
        print(json.dumps(row), flush=True)
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        done.append(row)
    text = table(done)
    print(text)
    if given.table and given.table != "-":
        made = f"{text}\n\n{made_by(SCRIPT, done)}\n"
        Path(given.table).write_text(made, encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def key_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what tells a run from others."""
    return tuple(row[name] for name in ("line", "direction", "begin_s", "seed", "way"))


def table(rows: list[dict[str, Any]]) -> str:
    """Return the figures of each line, and both of ours against autorate's."""
    by = {key_of(row): row for row in rows}
    pairs = {
        ours: [
            (row, by[*key[:4], "autorate"])
            for key, row in by.items()
            if key[4] == ours and (*key[:4], "autorate") in by
        ]
        for ours in WAYS[:2]
    }
    lines = [
        "| line | windows | 10 ms | 30 ms | autorate | fixed at p10 | oracle | goodput | excess |",
        "|" + " --- |" * 9,
    ]
    for line, direction in dict.fromkeys(key[:2] for key in by):
        here = [row for key, row in by.items() if key[:2] == (line, direction)]
        windows = len({row["begin_s"] for row in here})
        cells = []
        for way in WAYS:
            those = [row for row in here if row["way"] == way]
            share = 100 * sum(row["share"] for row in those) / max(len(those), 1)
            excess = geometric(max(row["excess_p95_ms"], LEAST_MS) for row in those)
            some = len({row["begin_s"] for row in those})
            of_all = "" if some == windows else f" ({some} of {windows})"
            cells.append(f"{share:.0f} %, {excess:.0f} ms{of_all}" if those else "")
        cells += [f"{each:.2f}" for each in ratios(pairs["line"], (line, direction))]
        lines.append(f"| {line}, {direction} | {windows} | {' | '.join(cells)} |")
    lines.append("")
    for ours, name in zip(WAYS, ("10 ms", "30 ms"), strict=False):
        goodput, excess = ratios(pairs[ours])
        places = dict.fromkeys(key_of(one)[:3] for one, _ in pairs[ours])
        means = [ratios(pairs[ours], place)[0] for place in places]
        if not means:
            continue
        lines.append(
            f"- {name}: {len(means)} windows, {len(pairs[ours])} pairs of runs: "
            f"{goodput:.2f} of autorate's goodput at {excess:.2f} of its excess (geometric means). "
            f"The worst window has {min(means):.2f} of its goodput, and "
            f"{sum(each < 0.97 for each in means)} have less than 0.97."  # noqa: PLR2004 - asked
        )
    return "\n".join(lines)


def ratios(
    pairs: list[tuple[dict[str, Any], dict[str, Any]]], place: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """Return the geometric means of the ratios of goodput and of excess, of a place."""
    here = [pair for pair in pairs if key_of(pair[0])[: len(place)] == place]
    return (
        geometric(one["goodput_mbit_per_s"] / other["goodput_mbit_per_s"] for one, other in here),
        geometric(
            max(one["excess_p95_ms"], LEAST_MS) / max(other["excess_p95_ms"], LEAST_MS)
            for one, other in here
        ),
    )


def geometric(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [math.log(each) for each in values]
    return math.exp(sum(logs) / len(logs)) if logs else float("nan")


if __name__ == "__main__":
    main()
