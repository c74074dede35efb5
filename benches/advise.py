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
grid, after transfers have settled, by the same judgement as in the product (docs/advise.md):
better, no different or worse on the user's own goal, and whether a margin is broken. Whether the
bound could have been kept is asked of every default and every rule of thumb of the device, and of
what the advice itself compared, on three of these seeds.
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
from vermilion.advise.conditions import grid, nominal, with_ramp
from vermilion.advise.families import buffer_bytes, families
from vermilion.advise.judgement import judge, keeps, worst_p95_ms
from vermilion.advise.margins import CALL_DELAY, CALL_LOSS, SHORT_TRANSFER
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.question import QueueSetting

if TYPE_CHECKING:
    from vermilion.advise import Advice, Present, Question

FIRST_SEED = 900_000_007
SEEDS = 10
SEEDS_OF_OTHERS = 3
PACKETS = 60e6
"""Simulated at most for a comparison, about."""

_SHARES = (
    "Of {total} networks, on the user's own goal, with the 95 % interval of each share (C. J. "
    "Clopper and E. S. Pearson, 1934):"
)
_COLUMNS = (
    *("rate", "trips", "flows", "bound", "device: now", "then", "on seeds"),
    *("p95", "drops", "short", "call", "CPU"),
)
_HOW_MUCH = (
    "How much is told with its 95 % interval over the seeds: how much nearer the worst delay comes "
    "to the bound, how much more of the rate is carried, or how much the worst delay falls. "
    "Drops are those of the condition with most; short is how long a short transfer takes on "
    "average, and call what 95 % of a call's packets wait at most."
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
        known = [each.defaults(question) for each in families(question)]
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
    places = with_ramp(grid(question, buffer), question, present.queue)
    conditions = [each.settled() for each in places]
    first = FIRST_SEED + 1000 * question.seed
    seeds = range(first, first + SEEDS)
    length = laboratory.length_for(conditions, 2, SEEDS, PACKETS)
    before, after = laboratory.measure([present.queue, advice.chosen], conditions, seeds, length)
    found = judge(question, before, after)
    nominal_harms = [each for each in found.harms if not each.condition.robustness]
    verdict = "no different"
    if found.by is not None:
        verdict = "better"
    if found.worse_by is not None:
        verdict = "worse"
    kept = keeps(after, question.bound_ms)
    return {
        "device": question.device,
        "rate_mbit_per_s": question.rate_bit_per_s / 1e6,
        "rtt_ms": [1e3 * end for end in question.round_trip_s],
        "flows": list(question.flows),
        "bound_ms": question.bound_ms,
        "now": present.queue.label,
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
        "p95_ms": [worst_p95_ms(before), worst_p95_ms(after)],
        "drop_rate": [most_dropped(each) for each in (before, after)],
        "short_transfer_s": [beside(each, SHORT_TRANSFER) for each in (before, after)],
        "call_delay_p95_ms": [beside(each, CALL_DELAY) for each in (before, after)],
        "call_loss_rate": [beside(each, CALL_LOSS) for each in (before, after)],
        "kept": kept,
        "another_keeps": None if kept else _another(question, advice, laboratory, seeds),
        "cpu_s": spent,
        "packets": advice.packets,
    }


def most_dropped(measured: Measured) -> float:
    """The part of the packets that is dropped in the nominal condition in which it is most."""
    return max(measured.mean(at, "drop_rate") or 0.0 for at in nominal(measured.runs))


def beside(measured: Measured, name: str) -> float | None:
    """A metric of the traffic beside the long transfers; ``None`` where there was none."""
    values = [measured.mean(at, name) for at in measured.runs]
    return next((value for value in values if value is not None), None)


def _another(
    question: Question, advice: Advice, laboratory: Laboratory, seeds: range
) -> str | None:
    """A queue of the device that would have kept the bound, where the advice does not."""
    queues = [each for family in families(question) for each in family.candidates(question)]
    queues += [each.measured.queue for each in advice.compared]
    some = seeds[:SEEDS_OF_OTHERS]
    conditions = advice.conditions
    length = laboratory.length_for(conditions, len(queues) + 1, SEEDS_OF_OTHERS, PACKETS)
    rows = laboratory.measure([advice.before.queue, *queues], conditions, some, length)
    keeping = [row for row in rows[1:] if keeps(row, question.bound_ms)]
    if not keeping:
        return None
    harmless = [
        row
        for row in keeping
        if all(each.excusable for each in judge(question, rows[0], row).harms)
    ]
    return f"{(harmless or keeping)[0].queue.label}{'' if harmless else ', with harm'}"


def line(number: int, row: dict[str, Any]) -> str:
    """A network in a line."""
    trips = "..".join(f"{end:.3g}" for end in row["rtt_ms"])
    flows = "..".join(str(end) for end in row["flows"])
    worst = " -> ".join(f"{value:.1f}" for value in row["p95_ms"])
    another = "" if row["kept"] else f" | bound not kept; could: {row['another_keeps']}"
    harms = f" | HARM {row['harms']}" if row["harms"] else ""
    return (
        f"{number:3} {row['device']:5} {row['rate_mbit_per_s']:7.1f} Mbit/s {trips} ms, {flows} "
        "flows, "
        f"<= {row['bound_ms']:.1f} ms | {row['now']} | {row['advice']}: {row['chosen']} | "
        f"{row['verdict']} ({row['by']}) p95 {worst}{another}{harms} | {row['cpu_s']:.1f} CPU s"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """All networks as tables for the documentation."""
    total = len(rows)

    def count(what: str, found: list[dict[str, Any]]) -> str:
        low, high = share_interval(len(found), total)
        share = 100.0 * len(found) / total
        return f"| {what} | {len(found)} | {share:.0f} % | {low:.0f} .. {high:.0f} % |"

    missed = [row for row in rows if not row["kept"]]
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
        count("bound kept", [row for row in rows if row["kept"]]),
        count(
            "bound not kept, and nothing that the device has keeps it, of what was tried",
            [row for row in missed if row["another_keeps"] is None],
        ),
        count(
            "bound not kept, and what keeps it does harm",
            [row for row in missed if "with harm" in (row["another_keeps"] or "")],
        ),
        count(
            "bound not kept, though something keeps it without harm",
            [
                row
                for row in missed
                if row["another_keeps"] and "with harm" not in row["another_keeps"]
            ],
        ),
        "",
        f"CPU seconds of an answer: median {times[total // 2]:.1f}, most {times[-1]:.1f}.",
        "",
        _HOW_MUCH,
        "",
        f"| | {' | '.join(_COLUMNS)} |",
        "| ---: | ---: | --- | --- | ---: | --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
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
            f"{'keep' if kept else row['chosen']} | {verdict} | "
            f"{_change(row, 'p95_ms', 1.0)} ms | {_change(row, 'drop_rate', 100.0)} % | "
            f"{_beside(row, 'short_transfer_s', 1e3)} | {_beside(row, 'call_delay_p95_ms', 1.0)} | "
            f"{row['cpu_s']:.1f} s |"
        )
    return "\n".join(lines) + "\n"


def _change(row: dict[str, Any], name: str, factor: float) -> str:
    """From what to what: once where nothing changes."""
    values = dict.fromkeys(f"{factor * value:.3g}" for value in row[name])
    return " to ".join(values)


def _beside(row: dict[str, Any], name: str, factor: float) -> str:
    return "" if None in row[name] else f"{_change(row, name, factor)} ms"


def share_interval(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of a share, in percent."""
    found = binomtest(count, total).proportion_ci(0.95, method="exact")
    return 100.0 * found.low, 100.0 * found.high


def _by_how_much(row: dict[str, Any]) -> str:
    """On which part of the goal, and how much."""
    factor, unit = (100.0, " %") if row["by"] == "goodput" else (1.0, " ms")
    width = row["half_width"]
    spread = "" if width is None else f" ± {factor * width:.2g}"
    return f"{row['by']}, {factor * row['difference']:.3g}{spread}{unit}"


def summary(rows: list[dict[str, Any]]) -> str:
    """All networks in a few lines."""
    counts = {
        name: sum(row["verdict"] == name for row in rows)
        for name in ("better", "no different", "worse")
    }
    fine = counts["better"] + counts["no different"]
    harmed = sum(bool(row["harms"]) for row in rows)
    missed = sum(not row["kept"] and row["another_keeps"] is not None for row in rows)
    without = sum(
        not row["kept"] and row["another_keeps"] is not None and "harm" not in row["another_keeps"]
        for row in rows
    )
    times = sorted(row["cpu_s"] for row in rows)
    return (
        f"{len(rows)} networks: {counts}; better or no different {100.0 * fine / len(rows):.1f} %; "
        f"beyond a margin: {harmed}\n"
        f"bound kept in {sum(row['kept'] for row in rows)}; not kept though a default or a rule "
        "of thumb "
        f"keeps it: {missed}, of which without harm: {without}\n"
        f"CPU seconds: median {times[len(times) // 2]:.1f}, most {times[-1]:.1f}"
    )


if __name__ == "__main__":
    sys.exit(main())
