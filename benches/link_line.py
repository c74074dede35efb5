"""A shaper kept at the rate of a line that nobody knows, in real time, whatever happens.

    python benches/link_line.py [--case NAME ...] [--minutes 10] [--results FILE]
    python benches/link_line.py --table [FILE]

In network namespaces of this machine: two uploads and a call through a modem with a FIFO of 500 kB,
whose rate wanders between 3 and 10 Mbit/s, 40 ms without queues. A ``tbf`` stands before it, which
every kernel has, at 10 Mbit/s to begin with. The rate is kept by ``vermilion control --line auto``,
while probes are lost, late, or answered past the queue, reflectors die, the line fails, the
controller is killed, or somebody else sets the rate. The waits are those of all packets in the
modem's own queue, from the tenth second on. It has to be root. Results are added to a file as they
come; what is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from provenance import commit_of, made_by

from vermilion_lab.kernel_plant.line_guest import REFLECTORS

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT: Final = "benches/link_line.py"
RESULTS: Final = Path(__file__).parent / "results" / "link-line.jsonl"
PACKAGE: Final = Path(__file__).parents[1] / "python"
JOURNAL: Final = "/mnt/journal.sqlite"
FOUND: Final = 10e6
JUDGED_FROM_MS: Final = 10_000
LEAST, MOST = 3e6, 10e6
SHOW: Final = {"words": ["tc", "-j", "qdisc", "show", "dev", "wan"], "vermilion": False}
CONTROL: Final = [
    *("control", "linux:wan", "--line", "auto", "--mode", "control", "--journal", JOURNAL),
    *(word for each in REFLECTORS for word in ("--reflector", each)),
]
OTHERS: Final = "tc qdisc change dev wan root tbf rate 4mbit burst 5k limit 60k"
UNDO: Final = f"{sys.executable} -m vermilion undo {JOURNAL} | grep -o 'tc qdisc change.*' | sh -x"


def line(seconds: float, seed: int = 1, silent: tuple[float, float] = (0.0, 0.0)) -> list[int]:
    """Return a rate that wanders, as opportunities of 1500 bytes in milliseconds."""
    random, found, credit, level = Random(seed), [], 0.0, 0.5  # noqa: S311 - a line, no secret
    for at in range(round(1000 * seconds)):
        if at % 15_000 == 0:
            level = random.random()
        if at % 100 == 0:
            level = min(1.0, max(0.0, level + random.gauss(0.0, 0.03)))
        if not silent[0] <= at / 1000 < silent[1]:
            credit += LEAST * (MOST / LEAST) ** level / 12_000 / 1000
            found += [at + 1] * int(credit)
            credit %= 1.0
    return found


def cases(seconds: float) -> dict[str, dict[str, Any]]:
    """Return what a run has beside the line, by name."""
    half = dict.fromkeys(REFLECTORS[:3], seconds / 3)
    last = dict.fromkeys(REFLECTORS[3:5], 2 * seconds / 3)
    both = {"both": True, "back_trace_ms": line(seconds, seed=2), "back_flows": 2}
    killed = {"words": CONTROL, "kill_after_s": seconds / 2, "then_wait_s": 7.0}
    undo = {"words": ["sh", "-c", UNDO], "vermilion": False}
    others = {
        "words": [*CONTROL, "--for", f"{seconds - 8:.0f} s"],
        "meanwhile": [[seconds / 3, *OTHERS.split()]],
        "typed": [[2 * seconds / 3, "resume"]],
    }
    by_command = {"law": "none"}
    return {
        "left alone": {"law": "none"},
        "nothing happens": {},
        "5 % of the probes lost": {"lost_probes": 0.05},
        "30 % of the probes lost": {"lost_probes": 0.30},
        "answers 20 ms late on average": {"delayed_probes_s": 0.020},
        "answers go past the queue": {"prioritised_probes": True},
        "reflectors die: 3, then 2 of 6": {"deaf": half | last},
        "an outage of 10 s": {"trace_ms": line(seconds, silent=(seconds / 2, seconds / 2 + 10))},
        "both directions": both,
        "killed, then undone": by_command | {"program": [killed, SHOW, undo, SHOW]},
        "somebody sets 4 Mbit/s": by_command | {"program": [others, SHOW, undo, SHOW]},
    }


def measure(name: str, seconds: float) -> dict[str, Any]:
    """Run a case; its figures."""
    case = {
        "trace_ms": line(seconds),
        "direction": "up",
        "law": "service-curve",
        "kind": "tbf",
        "start_bit_per_s": FOUND,
        "rtt_s": 0.04,
        "buffer_bytes": 500_000,
        "flows": 2,
        "congestion_control": "reno",  # the only one that every namespace may have
        "duration_s": seconds,
        "excess_s": 0.01,
        "journal": True,
        **cases(seconds)[name],
    }
    with tempfile.TemporaryDirectory() as job:
        Path(job, "case.json").write_text(json.dumps(case), encoding="utf-8")
        script = (
            'mount --bind "$1" /mnt && mount -t tmpfs none /run && '
            f"exec {sys.executable} -m vermilion_lab.kernel_plant.line_guest"
        )
        words = ["unshare", "--net", "--mount", "sh", "-c", script, "sh", job]
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        subprocess.run(words, check=True, timeout=seconds + 60, env=environment)
        failure = Path(job, "failure")
        if failure.exists():
            raise RuntimeError(failure.read_text(encoding="utf-8"))
        raw = json.loads(Path(job, "outcome.json").read_text(encoding="utf-8"))
    return figures(case, raw)


def figures(case: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of what a run has left."""
    ways = [("up", "served", "trace_ms", "waits_ms")]
    if case.get("both"):
        ways.append(("down", "served_back", "back_trace_ms", "waits_back_ms"))
    row: dict[str, Any] = {
        "late_p99_ms": quantile(raw["late_ms"], 0.99),
        "load": round(os.getloadavg()[1], 1),
    }
    for direction, served, trace, waits in ways:
        could = 12_000 * sum(each > JUDGED_FROM_MS for each in case[trace])
        row[direction] = {
            "used": round(8 * sum(raw[served][100:]) / could, 3),
            "wait_ms": [quantile(raw[waits], share) for share in (0.5, 0.95, 0.99)],
        }
    if "kept" in raw:
        run, seconds = raw["kept"]["run"], raw["kept"]["run"]["for_s"]
        row["cpu"] = round(run["cpu_s"] / seconds, 4)
        row["law_cpu"] = round(raw["kept"]["law_cpu_s"] / seconds, 5)
        row["probes"] = {key: run["probes"][key] for key in ("sent", "answered", "said")}
        for side in run["directions"]:
            row[side["direction"]] |= {
                "rate_mbit_per_s": round(side["rate_bit_per_s"] / 1e6, 2),
                "changes": side["changes"],
                "log": log_of(side["decisions"]),
            }
    if "program" in raw:
        row["said"] = [each["said"] for each in raw["program"]]
    return row


def log_of(decisions: Sequence[dict[str, Any]]) -> list[str]:
    """Return what the log said but the rates that were set."""
    return [
        f"{each['time_s']:.1f} {each['kind']}: {each['reason']}"
        for each in decisions
        if each["kind"] not in {"applied", "found", "start"}
    ]


def quantile(counts: Sequence[int], share: float) -> int:
    """Return the place below which a share of what is counted lies."""
    left = share * sum(counts)
    for place, count in enumerate(counts):
        left -= count
        if left <= 0:
            return place
    return 0


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return a line for each direction of each case whose rate was kept all the time."""
    lines = [
        "| what happens | minutes | used | wait, p50 | p95 | p99 | processor | law alone |",
        "|" + " --- |" * 8,
    ]
    for row in rows:
        share = [f"{100 * row[key]:.1f} %" if key in row else "" for key in ("cpu", "law_cpu")]
        if "said" in row:
            continue  # what it says counts: for a part of the time the rate was somebody else's
        for direction in [each for each in ("up", "down") if each in row]:
            name = row["case"] + (f", {direction}" if "down" in row else "")
            waits = " | ".join(f"{each} ms" for each in row[direction]["wait_ms"])
            used = f"{100 * row[direction]['used']:.0f} %"
            lines.append(
                f"| {name} | {row['minutes']:g} | {used} | {waits} | {' | '.join(share)} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=cases(60.0))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", nargs="?", const="-")
    given = parser.parse_args()
    rows = []
    if given.results.exists():
        text = given.results.read_text(encoding="utf-8")
        rows = [json.loads(each) for each in text.splitlines()]
    known = {row["case"] for row in rows}
    for name in () if given.table else given.case or cases(60.0):
        if name in known:
            continue
        row = {"case": name, "minutes": given.minutes, **measure(name, 60 * given.minutes)}
        row |= {"kernel": os.uname().release, "commit": commit_of(SCRIPT)}
        print(json.dumps(row), flush=True)
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        rows.append(row)
    order = list(cases(60.0))
    rows.sort(key=lambda row: order.index(row["case"]))
    text = table(rows)
    print(text)
    if given.table and given.table != "-":
        made = f"{text}\n\n{made_by(SCRIPT, rows)}\n"
        Path(given.table).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
