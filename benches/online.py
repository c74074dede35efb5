"""The on-line controller on networks that nobody made for it.

    python benches/online.py [--label fresh] [--networks PATTERN] [--seeds N] [--results FILE]
    python benches/online.py --label placebo --placebo [--networks PATTERN] [--seeds N]
    python benches/online.py --table [--results BEFORE [AFTER]]
    python benches/online.py --findings --results BEFORE AFTER

Runs `vermilion.online.run_online` on each network of `online_networks/` with N seeds, those that
nobody had used or from another one on (`--first-seed`), all networks with the first seed before any
with another, and adds a line to the results for each run. What the results hold already is not run
again, so an interrupted benchmark goes on where it stood. With `--table` it prints what one or two
files of results say, beside each other, of two files only the runs that both have; with
`--findings` only the part on nine faults.

With `--placebo` there is no controller, but a change that does not matter: how often bounds of harm
are broken by chance (`online_networks/placebo.py`).

Whatever is judged is measured on the network: the operator's objective over the phases after
settling, against the same network and seed left alone. Searches try a fixed number of settings
(`--evaluations`), fewer than the controller's own default, so that a run takes seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from online_networks import NETWORKS
from online_networks.measure import measure
from online_networks.table import summary_of_findings, table
from provenance import drawn_by

RESULTS = Path(__file__).parent / "results"
EVALUATIONS = 100
LONGEST_CPU_S = 600.0


def main() -> None:
    """Runs what is missing, or prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--label", default="fresh", help="of the controller and its seeds")
    parser.add_argument(
        "--results", type=Path, nargs="*", help="default: results/online-LABEL.jsonl"
    )
    parser.add_argument("--networks", default="*", help="a pattern of names")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=9001, help="nobody had used these")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--longest-cpu-s", type=float, default=LONGEST_CPU_S)
    parser.add_argument("--placebo", action="store_true", help="a change that does not matter")
    parser.add_argument("--table", action="store_true", help="print the results")
    parser.add_argument("--findings", action="store_true", help="print that part of the table")
    given = parser.parse_args()
    if given.table or given.findings:
        files = given.results or [
            file for label in ("placebo", "fresh") if (file := default_file(label)).exists()
        ]
        shared = common({file.stem.rpartition("-")[2]: load(file) for file in files})
        print(summary_of_findings(shared) if given.findings else table(shared))
        print(f"\n{drawn_by('benches/online.py', *files)}")
        return
    [file] = given.results or [default_file(given.label)]
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = load(file)
    known = {(row["network"], row["seed"]) for row in rows}
    took = {row["network"]: float(row["cpu_s"]) for row in rows}
    missing = [
        (seed, network)
        for seed in range(given.first_seed, given.first_seed + given.seeds)
        for network in NETWORKS
        if fnmatchcase(network.name, given.networks) and (network.name, seed) not in known
    ]
    while missing:
        # Every network once; then whatever costs least, for the most verdicts in the time there is.
        seed, network = min(
            missing,
            key=lambda each: (
                each[0] > given.first_seed,
                (each[0] - given.first_seed) * took.get(each[1].name, 0.0),
            ),
        )
        missing.remove((seed, network))
        row = measure(
            network, seed, given.evaluations, given.longest_cpu_s, by_placebo=given.placebo
        )
        took[network.name] = float(row["cpu_s"])
        with file.open("a", encoding="utf-8") as results:
            results.write(json.dumps({"label": given.label, **row}, separators=(",", ":")) + "\n")
        said = f"{row['outcome']} {row.get('alone')} -> {row.get('tuned')}, {row['cpu_s']} CPU s"
        now = time.strftime("%H:%M:%S")
        print(now, network.name, seed, said, file=sys.stderr, flush=True)


def common(results: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Of each file the runs that all of them have: only those can be compared."""

    def keys(rows: list[dict[str, Any]]) -> set[tuple[str, int]]:
        return {(row["network"], row["seed"]) for row in rows}

    shared = set.intersection(*(keys(rows) for rows in results.values()))
    return {
        label: [row for row in rows if (row["network"], row["seed"]) in shared]
        for label, rows in results.items()
    }


def default_file(label: str) -> Path:
    """Where the results of a label are kept."""
    return RESULTS / f"online-{label}.jsonl"


def load(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of results; none if there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
