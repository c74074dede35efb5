"""Gain of a tuned RED over what an engineer would set, and over laws that adapt by themselves.

    python benches/baselines.py [--budget 80] [--table FILE]

`vermilion.tune` searches RED's four parameters in three changing networks. The published setting
and all baselines (:mod:`vermilion.tuning.baselines`) stand beside on the same fresh seeds.
`--table` writes what docs/laboratory/tuning.md has (docs/figures/tuning_baselines.txt).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from provenance import made_by

import vermilion


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--budget", type=int, default=80)
    parser.add_argument("--table", type=str, default=None)
    given = parser.parse_args()
    rows: dict[str, dict[str, str]] = {}
    for name in ("varying-load", "oscillating-red", "varying-round-trip-time"):
        found = vermilion.tune(vermilion.load_scenario(name), budget=given.budget, exactly=True)
        if found.comparison is None:
            continue
        column = {
            "as published": _text(found.comparison.incumbent),
            "tuned": _text(found.comparison.best),
        }
        column |= {each.label.partition(",")[0]: _text(each.objective) for each in found.rivals}
        for label, text in column.items():
            rows.setdefault(label, {})[name] = text
        print(name, column, flush=True)
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    lines = [
        f"| | {' | '.join(names)} |",
        f"| --- |{' ---: |' * len(names)}",
        *(
            f"| {label} | {' | '.join(row.get(n, '') for n in names)} |"
            for label, row in rows.items()
        ),
    ]
    print("\n".join(lines))
    if given.table:
        text = "\n".join([*lines, "", made_by("benches/baselines.py")])
        Path(given.table).write_text(text + "\n", encoding="utf-8")


def _text(interval: vermilion.simulate.statistics.Interval) -> str:
    spread = "" if interval.half_width is None else f" ± {interval.half_width:.2g}"
    return f"{interval.mean:.3g}{spread}"


if __name__ == "__main__":
    main()
