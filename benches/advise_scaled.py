"""How well a slower line with less of everything stands for a fast one, as advice simulates it.

    python benches/advise_scaled.py [--table FILE]

Lines of 1 Gbit/s, which can be simulated whole, beside models of 1/4 to 1/16: what 95 % of a
call's and of all packets wait, the goodput, Jain's index, and the points. `--table` writes what
docs/advise.md includes (docs/figures/advise_scaled.txt).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from provenance import made_by

from vermilion.advise import read_question
from vermilion.advise.conditions import condition
from vermilion.advise.judgement import total_points
from vermilion.advise.measuring import Laboratory
from vermilion.advise.metrics import CALL_DELAY
from vermilion.advise.question import QueueSetting

SCALES = (1, 4, 8, 16)
SEEDS = range(1, 5)
NETWORKS = ((1, "40 ms"), (4, "40 ms"), (16, "40 ms"), (100, "20 ms"))
QUEUES = (
    QueueSetting("fq_codel", "fq_codel", "fq-codel", {"dialect": "linux"}),
    QueueSetting("codel", "codel", "codel", {"dialect": "linux"}),
    QueueSetting("pie, 5 ms", "pie", "pie", {"target": 0.005}),
    QueueSetting("tail drop, 800", "pfifo", "drop-tail", {"limit": 800.0}),
    QueueSetting(
        "wred",
        "wred",
        "wred",
        {"green_min_threshold": 330.0, "green_max_threshold": 900.0, "green_max_probability": 0.1,
         "weight": 0.01, "limit": 4000.0},
    ),
)  # fmt: skip


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", type=str, default=None)
    given = parser.parse_args()
    lines = [
        "1 Gbit/s, a bound of 10 ms, 4 seeds; the model's figures in those of the line.",
        "",
        "| queue | flows | model | call, ms | p95 of all, ms | goodput | drops | Jain | points |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for queue in QUEUES:
        for flows, trip in NETWORKS:
            for scale in SCALES:
                asked = read_question(
                    rate="1 Gbit/s", rtt=trip, flows=str(flows), delay_at_most="10 ms"
                )
                question = replace(asked, scale=scale)
                at = condition(question, flows, question.round_trip_s[0], "bulk", 0.0)
                [row] = Laboratory(question, None, None, 1e9).measure([queue], [at], SEEDS, 0.5)
                figures = [
                    f"{row.mean(at, CALL_DELAY) or 0.0:.2f}",
                    f"{row.p95_ms(at):.2f}",
                    f"{100.0 * row.goodput(at) / 1e9:.1f} %",
                    f"{100.0 * (row.mean(at, 'drop_rate') or 0.0):.4f} %",
                    f"{row.mean(at, 'jain_index') or 0.0:.3f}",
                    f"{total_points(question, row):.1f}",
                ]
                lines.append(f"| {queue.label} | {flows} | 1/{scale} | {' | '.join(figures)} |")
                print(lines[-1], flush=True)
    if given.table:
        made = made_by("benches/advise_scaled.py")
        Path(given.table).write_text("\n".join([*lines, "", made]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
