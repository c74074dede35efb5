"""Advice on networks drawn at random, judged on seeds that it has not seen.

    python benches/advise.py [--networks 60] [--seed 1] [--quick] [--threads N] [--json FILE]
                             [--table FILE]

`--table` writes what docs/advise.md includes (docs/figures/advise_networks.txt). Networks that the
file of `--json` holds already are not measured again, so that an interrupted benchmark goes on
where it stood; remove the file to measure anew. No deadline is set, so that the answers are those
of any machine that keeps it.

Drawn, each on its own: the rate from 1 Mbit/s to 1 Gbit/s and the bound from 5 to 100 ms (both
evenly on a logarithmic scale); two round trips from 2 to 200 ms and two numbers of flows from 1 to
100, likewise, which are the ends of the ranges; the device, Linux twice as often as each of the
others; and what stands there: half the time the device's default, else on Linux a queue of a random
kind with its defaults or with a buffer of a random size.

For each network the advice is compared with what stands there on ten other seeds over the whole
grid, by the same judgement as in the product (docs/advise.md): better, no different or worse, and
whether a margin is broken. It is also held against the device's best default: is a sparse flow
significantly and noticeably worse off with what is advised?
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenance import commit_of, made_by
from scipy.stats import binomtest

from vermilion.advise import advise, assumed, read_question
from vermilion.advise.commands import candidate_families
from vermilion.advise.conditions import grid, nominal, with_ramp
from vermilion.advise.families import buffer_bytes, families
from vermilion.advise.harms import harms
from vermilion.advise.judgement import (
    goodput_share,
    judge,
    keeps,
    total_points,
    worst_p95_ms,
    worst_sparse_ms,
)
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.metrics import CALL_LOSS, SPARSE
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import answer, largest
from vermilion.simulate import mean_interval

if TYPE_CHECKING:
    from vermilion.advise import Present, Question

FIRST_SEED = 900_000_007
SEEDS = 10
PACKETS = 40e6
"""Simulated at most for a comparison, about."""

_SHARES = (
    "Of {total} networks, on the user's own goal, with the 95 % interval of each share (C. J. "
    "Clopper and E. S. Pearson, 1934):"
)
_COLUMNS = (
    *("rate", "trips", "flows", "bound", "device: now", "then", "on seeds", "than best default"),
    *("call waits", "call loses", "goodput", "p95 of all", "CPU"),
)
_HOW_MUCH = (
    "How much is told in points, with its 95 % interval over the seeds. The waits and losses are "
    "those of the worst condition of the range, the goodput is the mean as part of what the line "
    "can carry."
)


def main() -> None:
    """Runs the benchmark and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--networks", type=int, default=60)
    parser.add_argument("--first", type=int, default=0, help="skip so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=str, default=None)
    parser.add_argument("--table", type=str, default=None)
    given = parser.parse_args()
    kept = Path(given.json) if given.json else None
    rows = json.loads(kept.read_text(encoding="utf-8")) if kept and kept.exists() else []
    known = {(row["seed"], row["number"], row["quick"]) for row in rows}
    for number in range(given.first, given.first + given.networks):
        if (given.seed, number, given.quick) in known:
            continue
        question, present = draw(given.seed, number, quick=given.quick)
        row = {"seed": given.seed, "number": number, "quick": given.quick}
        row |= judged(question, present, given.threads)
        row["commit"] = commit_of("benches/advise.py")
        rows.append(row)
        print(line(number, row), flush=True)
        if given.json:
            with Path(given.json).open("w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
    print(summary(rows))
    if given.table:
        text = f"{table(rows)}\n{made_by('benches/advise.py', rows)}\n"
        Path(given.table).write_text(text, encoding="utf-8")


def draw(seed: int, number: int, *, quick: bool) -> tuple[Question, Present]:
    """The network of a number, and what stands there."""
    coin = random.Random(f"advise {seed} {number}")  # noqa: S311 - no secret

    def even(low: float, high: float) -> float:
        return math.exp(coin.uniform(math.log(low), math.log(high)))

    rate = even(1e6, 1e9)
    bound = even(0.005, 0.1)
    trips = sorted(even(0.002, 0.2) for _ in range(2))
    flows = sorted(round(even(1.0, 100.0)) for _ in range(2))
    device = coin.choice(["linux", "linux", "sonic", "cisco"])
    question = read_question(
        rate=f"{rate:.4g} bit/s",
        rtt=f"{trips[0]:.4g} s .. {trips[1]:.4g} s",
        flows=f"{flows[0]} .. {flows[1]}",
        delay_at_most=f"{bound:.4g} s",
        device=device,
        seed=seed + number,
        quick=quick,
    )
    present = assumed(question)
    if device == "linux" and coin.random() < 0.5:  # noqa: PLR2004 - half of them
        buffer = round(even(20.0, 2000.0))
        fifo = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": float(buffer)})
        known = [each.defaults(question) for each in families(question, cake=False)]
        choices = [fifo, fifo, *(each for each in known if each is not None)]
        present = replace(present, queue=coin.choice(choices))
    return question, present


def judged(question: Question, present: Present, threads: int | None) -> dict[str, Any]:
    """The advice for a network and what fresh seeds say about it."""
    begin = time.process_time()
    advice = advise(question, present, threads=threads)
    spent = time.process_time() - begin
    laboratory = Laboratory(question, threads, None, PACKETS)
    buffer = buffer_bytes(present.queue, question.flows[1])
    conditions = with_ramp(grid(question, buffer), question, present.queue)
    first = FIRST_SEED + 1000 * question.seed
    seeds = range(first, first + SEEDS)
    defaults = [each.defaults(question) for each in candidate_families(question, present)]
    queues = [present.queue, advice.chosen, *(each for each in defaults if each is not None)]
    length = laboratory.length_for(conditions, len(queues), SEEDS, PACKETS)
    before, after, *others = laboratory.measure(queues, conditions, seeds, length)
    found = judge(question, before, after)
    nominal_harms = [each for each in found.harms if not each.condition.robustness]
    verdict = "no different"
    if found.by is not None:
        verdict = "better"
    if found.worse_by is not None:
        verdict = "worse"
    best = min([before, *others], key=lambda each: sparse(each)[0])
    lost = [
        new - old for old, new in zip(*(sparse(each)[1] for each in (best, after)), strict=True)
    ]
    worse = mean_interval(lost)
    return {
        "device": question.device,
        "rate_mbit_per_s": question.rate_bit_per_s / 1e6,
        "rtt_ms": [1e3 * end for end in question.round_trip_s],
        "flows": list(question.flows),
        "bound_ms": question.bound_ms,
        "now": present.queue.label,
        "answer": answer(advice),
        "advice": advice.verdict,
        "chosen": advice.chosen.label,
        "parameters": advice.chosen.readable(),
        "verdict": verdict,
        "by": found.by or found.worse_by,
        "difference": found.difference,
        "half_width": found.half_width,
        "harms": [
            f"{each.what} at {each.condition.name}: {each.before:.4g} -> {each.after:.4g}"
            for each in nominal_harms
        ],
        "points": [total_points(question, each) for each in (before, after)],
        "call_delay_p95_ms": [worst_sparse_ms(each) for each in (before, after)],
        "call_loss_rate": [largest(each, CALL_LOSS) for each in (before, after)],
        "goodput_of_possible": [goodput_share(question, each) for each in (before, after)],
        "p95_ms": [worst_p95_ms(each) for each in (before, after)],
        "kept": keeps(after, question.bound_ms),
        "best_default": best.queue.label,
        "sparse_beyond_best_default": worse.mean,
        "sparse_worse": worse.mean - (worse.half_width or 0.0) > 1.0,
        "harms_best_default": [
            f"{each.what} at {each.condition.name}: {each.before:.4g} -> {each.after:.4g}"
            for each in harms(question, best, after)
            if each.what == SPARSE
        ],
        "cpu_s": spent,
        "packets": advice.packets,
    }


def sparse(measured: Measured) -> tuple[float, list[float]]:
    """Points of a sparse flow in its worst condition: their mean, and those of each seed."""
    rows = zip(*(measured.runs[at] for at in nominal(measured.runs)), strict=True)
    worst = [max(run[SPARSE] for run in runs) for runs in rows]
    return math.fsum(worst) / len(worst), worst


def line(number: int, row: dict[str, Any]) -> str:
    """A network in a line."""
    trips = "..".join(f"{end:.3g}" for end in row["rtt_ms"])
    flows = "..".join(str(end) for end in row["flows"])
    waits = " -> ".join(f"{value:.1f}" for value in row["call_delay_p95_ms"])
    worse = f" | SPARSE WORSE than {row['best_default']}" if row["sparse_worse"] else ""
    harm = f" | HARM {row['harms']}" if row["harms"] else ""
    return (
        f"{number:3} {row['device']:5} {row['rate_mbit_per_s']:7.1f} Mbit/s {trips} ms, {flows} "
        f"flows, <= {row['bound_ms']:.1f} ms | {row['now']} | {row['answer']}: {row['chosen']} | "
        f"{row['verdict']} ({row['by']}) call {waits} ms{worse}{harm} | {row['cpu_s']:.1f} CPU s"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """All networks as tables for the documentation."""
    total = len(rows)

    def count(what: str, found: list[dict[str, Any]]) -> str:
        low, high = share_interval(len(found), total)
        share = 100.0 * len(found) / total
        return f"| {what} | {len(found)} | {share:.0f} % | {low:.0f} .. {high:.0f} % |"

    times = sorted(row["cpu_s"] for row in rows)
    lines = [
        _SHARES.format(total=total),
        "",
        "| | networks | share | interval |",
        "| --- | ---: | ---: | ---: |",
        count("better or no different", [row for row in rows if row["verdict"] != "worse"]),
        *(
            count(words, [row for row in rows if row["verdict"] == verdict])
            for words, verdict in (
                ("of these better than what stood there", "better"),
                ("of these no different", "no different"),
                ("worse", "worse"),
            )
        ),
        count("a margin broken on the other seeds", [row for row in rows if row["harms"]]),
        count("bound kept for a sparse flow", [row for row in rows if row["kept"]]),
        count(
            "a sparse flow significantly worse off than with the device's best default",
            [row for row in rows if row["sparse_worse"]],
        ),
        count("not judged", [row for row in rows if row["answer"] == "not judged"]),
        "",
        f"CPU seconds of an answer: median {times[total // 2]:.1f}, most {times[-1]:.1f}.",
        "",
        _HOW_MUCH,
        "",
        f"| | {' | '.join(_COLUMNS)} |",
        f"| ---: {'| --- ' * len(_COLUMNS)}|",
    ]
    for row in sorted(rows, key=lambda each: each["number"]):
        trips = " to ".join(f"{end:.3g}" for end in row["rtt_ms"])
        flows = " to ".join(str(end) for end in row["flows"])
        kept = row["advice"].startswith("keep")
        verdict = row["verdict"] + (f" ({_by_how_much(row)})" if row["by"] else "")
        verdict += ", beyond a margin" if row["harms"] else ""
        lines.append(
            f"| {row['number']} | {row['rate_mbit_per_s']:.3g} Mbit/s | {trips} ms | {flows} | "
            f"{row['bound_ms']:.3g} ms | {row['device']}: {row['now']} | "
            f"{row['answer'] if kept else row['chosen']} | {verdict} | "
            f"{row['sparse_beyond_best_default']:+.1f} | "
            f"{_change(row, 'call_delay_p95_ms', 1.0)} ms | "
            f"{_change(row, 'call_loss_rate', 100.0)} % | "
            f"{_change(row, 'goodput_of_possible', 100.0)} % | "
            f"{_change(row, 'p95_ms', 1.0)} ms | {row['cpu_s']:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def _change(row: dict[str, Any], name: str, factor: float) -> str:
    """From what to what: once where nothing changes."""
    values = dict.fromkeys(f"{factor * value:.3g}" for value in row[name])
    return " to ".join(values)


def share_interval(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a share, in percent."""
    found = binomtest(count, total).proportion_ci(0.95, method="exact")
    return 100.0 * found.low, 100.0 * found.high


def _by_how_much(row: dict[str, Any]) -> str:
    """On which part of the goal, and how much."""
    width = row["half_width"]
    spread = "" if width is None else f" ± {width:.2g}"
    return f"{row['by']}, {row['difference']:.3g}{spread}"


def summary(rows: list[dict[str, Any]]) -> str:
    """All networks in a few lines."""
    counts = {
        name: sum(row["verdict"] == name for row in rows)
        for name in ("better", "no different", "worse")
    }
    fine = counts["better"] + counts["no different"]
    harmed = sum(bool(row["harms"]) for row in rows)
    sparse_worse = [row["number"] for row in rows if row["sparse_worse"]]
    times = sorted(row["cpu_s"] for row in rows)
    return (
        f"{len(rows)} networks: {counts}; better or no different {100.0 * fine / len(rows):.1f} %; "
        f"beyond a margin: {harmed}\n"
        f"bound kept in {sum(row['kept'] for row in rows)}; sparse flow worse than with the best "
        f"default: {sparse_worse}\n"
        f"CPU seconds: median {times[len(times) // 2]:.1f}, most {times[-1]:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
