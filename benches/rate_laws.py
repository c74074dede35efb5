"""Laws that keep a shaper at the rate of its line, on lines drawn from seeds and on recorded ones.

    python benches/rate_laws.py [TRACE ...] [--seeds 3] [--threads 2] [--table FILE]
    python benches/rate_laws.py --tuned [--seeds 3] [--threads 2] [--table FILE]

`--table` writes what the documentation includes (docs/figures/rate_laws.txt and, with `--tuned`,
docs/figures/rate_laws_tuned.txt). TRACE are files of Mahimahi's format to measure besides; none are
kept here.

CAKE and behind it (in a download before it) a modem with 700 packets of room. Four Linux CUBIC
flows, round trips of 45 to 55 ms, and a call; six reflectors, a probe each 50 ms; 60 s, from 10 s
on. Excess is the call's 95th percentile less that of the empty line. `service-curve` has its
defaults, `autorate` is told the 5th, 25th and 99th percentile of the line's rate over windows of a
second, `fixed` the 10th, and `oracle` takes 0.95 of what the line can in the next 0.1 s.

With `--tuned`: constants of `service-curve` that stay, and those that a model of the last minutes
chooses; 150 s, from 70 s on.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from provenance import made_by

from vermilion.scenario import parse_scenario
from vermilion.scenario.load import scenario_from_document
from vermilion.simulate import run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vermilion.simulate import Result

LAWS: Final = ("service-curve", "autorate", "fixed", "oracle")
LINES: Final[dict[str, dict[str, Any]]] = {
    "constant 12": {"rate": "12 Mbit/s"},
    **{
        f"{kind} {mean}": {"line": {"kind": kind, "mean": f"{mean} Mbit/s"}}
        for kind, mean in (
            ("lte", 2.5),
            ("lte", 8),
            ("lte", 30),
            ("starlink", 20),
            ("starlink", 60),
            ("docsis", 5),
            ("docsis", 20),
            ("wifi", 8),
            ("wifi", 25),
        )
    },
}
NETWORK: Final = """
duration = "60 s"
warm_up = "10 s"
[links.shaper]
rate = "1 Gbit/s"
delay = "0 s"
queue = { discipline = "cake", bandwidth = "1 Gbit/s" }
[links.modem]
rate = "12 Mbit/s"
delay = "0 s"
queue = { discipline = "drop-tail", limit = "700 packets" }
[flows.pings]
count = 6
path = ["shaper", "modem"]
rtt = ["38 ms", "40 ms", "42 ms", "44 ms", "46 ms", "50 ms"]
packet_size = "64 bytes"
start = "0 s .. 0.3 s"
traffic = { kind = "constant-rate", rate = "1.7 kbit/s" }
[flows.call]
path = ["shaper", "modem"]
rtt = "40 ms"
packet_size = "200 bytes"
traffic = { kind = "constant-rate", rate = "80 kbit/s" }
[flows.bulk]
count = 4
path = ["shaper", "modem"]
rtt = ["45 ms", "48 ms", "52 ms", "55 ms"]
packet_size = "1500 bytes"
header_size = "52 bytes"
sender = { congestion_control = "cubic", option_set = "linux" }
start = "1 s .. 3 s"
"""
FRESH_SEED: Final = 11
"""From here on, for what was chosen with the first seeds."""

Row = tuple[float, float, float]


def simulated(
    line: dict[str, Any],
    control: dict[str, Any] | None,
    direction: str,
    seed: int,
    seconds: tuple[int, int] = (10, 60),
) -> Result:
    """A run of the network over a line; without a law only probes and the call are there."""
    document = parse_scenario(NETWORK).document | {
        key: f"{each} s" for key, each in zip(("warm_up", "duration"), seconds, strict=True)
    }
    links = {name: dict(link) for name, link in document["links"].items()}
    flows = {name: dict(group) for name, group in document["flows"].items()}
    links["modem"] = {key: links["modem"][key] for key in ("delay", "queue")} | line
    if control is None:
        del flows["bulk"]
    else:
        links["shaper"]["rate_control"] = {"probes": "pings", **control}
    for group in flows.values():
        group["path"] = ["shaper", "modem"] if direction == "up" else ["modem", "shaper"]
    scenario = scenario_from_document({**document, "links": links, "flows": flows})
    return run(scenario, seed, 0.1, flow_delays=True)


def call_p95_ms(result: Result) -> float:
    """The 95th percentile of the call's delay."""
    return float(result.flows("call").total["delay_ms"]["p95"])


def measured(line: dict[str, Any], seed: int) -> dict[tuple[str, str], Row]:
    """Used part, goodput in bit/s and excess in ms, by direction and law."""
    empty = simulated(line, None, "up", seed)
    rates = empty.series("modem")["rate_bit_per_s"][1:]
    seconds = rates[: len(rates) // 10 * 10].reshape(-1, 10).mean(axis=1)
    p5, p10, p25, p99 = (
        f"{max(rate, 1e3)} bit/s" for rate in np.percentile(seconds, (5, 10, 25, 99))
    )
    told: dict[str, dict[str, Any]] = {
        "autorate": {"minimum": p5, "base": p25, "maximum": p99},
        "fixed": {"rate": p10},
    }
    rows = {}
    for direction in ("up", "down"):
        for law in LAWS:
            result = simulated(line, {"law": law, **told.get(law, {})}, direction, seed)
            rows[direction, law] = (
                float(result.link("modem").total["utilization"] or 0.0),
                float(result.flows("bulk").total["goodput_bit_per_s"]["total"]),
                call_p95_ms(result) - call_p95_ms(empty),
            )
    return rows


def with_models(names: Iterable[str], seeds: int, threads: int) -> str:
    """The table of constants that stay, and of those that a model chooses."""
    span = (70, 150)
    told = (10, 30)
    ways = [(law, excess) for excess in told for law in ("service-curve", "tuned-service-curve")]

    def row(name: str, direction: str, seed: int) -> list[tuple[float, float]]:
        line = LINES[name]
        base = call_p95_ms(simulated(line, None, "up", seed, span))
        found = []
        for law, excess in ways:
            control = {"law": law, "excess": f"{excess} ms"}
            result = simulated(line, control, direction, seed, span)
            used = float(result.link("modem").total["utilization"] or 0.0)
            found.append((used, call_p95_ms(result) - base))
        return found

    heads = " | ".join(f"{each} ms | {each} ms, model" for each in told)
    text = [f"| line, mean in Mbit/s | {heads} |", "|" + " --- |" * (len(ways) + 1)]
    with ThreadPoolExecutor(threads) as pool:
        jobs = {
            (name, direction): [
                pool.submit(row, name, direction, seed)
                for seed in range(FRESH_SEED, FRESH_SEED + seeds)
            ]
            for name in names
            for direction in ("up", "down")
        }
        for (name, direction), those in jobs.items():
            means = np.mean([each.result() for each in those], axis=0)
            cells = [f"{100 * used:.0f} %, {excess:.0f}" for used, excess in means]
            text.append(f"| {name}, {direction} | {' | '.join(cells)} |")
    return "\n".join(text)


def geometric(ratios: list[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(ratios))))


def tables(found: dict[str, list[dict[tuple[str, str], Row]]]) -> str:
    """The tables of both directions."""
    text = []
    for direction, name in (("up", "Upload"), ("down", "Download")):
        text.append(f"{name}: part of the line that is used, and excess in ms\n")
        heads = " | ".join(LAWS)
        text.append(f"| line, mean in Mbit/s | {heads} | goodput / autorate | excess / autorate |")
        text.append("|" + " --- |" * (len(LAWS) + 3))
        goodputs, excesses = [], []
        for line, seeds in found.items():
            cells = []
            for law in LAWS:
                used, _, excess = np.mean([rows[direction, law] for rows in seeds], axis=0)
                cells.append(f"{100 * used:.0f} %, {excess:.0f}")
            ours = [rows[direction, "service-curve"] for rows in seeds]
            theirs = [rows[direction, "autorate"] for rows in seeds]
            goodput = [mine[1] / other[1] for mine, other in zip(ours, theirs, strict=True)]
            # What is below a millisecond is none.
            excess = [
                max(mine[2], 1.0) / max(other[2], 1.0)
                for mine, other in zip(ours, theirs, strict=True)
            ]
            cells += [f"{geometric(goodput):.2f}", f"{geometric(excess):.2f}"]
            text.append(f"| {line} | {' | '.join(cells)} |")
            goodputs += goodput
            excesses += excess
        means = f"{geometric(goodputs):.2f} | {geometric(excesses):.2f}"
        text.append(f"| *geometric mean* |{' |' * len(LAWS)} {means} |\n")
    return "\n".join(text)


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tuned", action="store_true", help="constants that a model chooses")
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    lines = LINES | {path.name: {"trace": str(path.resolve())} for path in options.traces}
    if options.tuned:
        text = with_models(LINES, options.seeds, options.threads)
    else:
        with ThreadPoolExecutor(options.threads) as pool:
            jobs = {
                name: [pool.submit(measured, line, seed) for seed in range(1, options.seeds + 1)]
                for name, line in lines.items()
            }
            found = {name: [job.result() for job in each] for name, each in jobs.items()}
        text = tables(found)
    print(text)
    if options.table is not None:
        options.table.write_text(f"{text}\n{made_by('benches/rate_laws.py')}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
