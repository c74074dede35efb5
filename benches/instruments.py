"""What instruments cost: CPU time of a run with each, as a multiple of the same run without any.

Runs `varying-load` (98,000 packets) with every instrument in turn, again and again, so that what
else the machine does falls on all alike, and prints medians. Files go to a folder that is removed:

    .venv/bin/python benches/instruments.py
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from vermilion import FlowSeries, PacketTrace, RawDistributions, load_scenario, run

ROUNDS = 7
SCENARIO = load_scenario("varying-load")
LINKS, GROUPS = list(SCENARIO.links), list(SCENARIO.flows)


def cases(folder: Path) -> dict[str, list[object]]:
    """Instruments by name."""
    most = 10_000_000
    return {
        "none": [],
        "windows of all flows every 0.1 s": [FlowSeries()],
        "windows of every 10th flow, each change": [FlowSeries("every 10", None)],
        "windows of all flows, each change": [FlowSeries(interval_s=None)],
        "raw distributions of everything": [RawDistributions(LINKS, GROUPS)],
        "packets of one flow, as a capture": [
            PacketTrace(folder / "one.pcapng", "early:0", most=most)
        ],
        "all packets at the senders, as a capture": [
            PacketTrace(folder / "senders.pcapng", most=most)
        ],
        "all packets everywhere, in memory": [PacketTrace(most=most)],
        "all packets everywhere, CSV": [PacketTrace(folder / "all.csv", most=most)],
        "all packets everywhere, Parquet": [PacketTrace(folder / "all.parquet", most=most)],
        "all packets everywhere, as a capture": [
            PacketTrace(folder / "all.pcapng", at="all", most=most)
        ],
    }


def main() -> None:
    """Measures and prints."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        taken: dict[str, list[float]] = {}
        records = {}
        for _ in range(ROUNDS):
            for label, instruments in cases(folder).items():
                begun = time.process_time()
                result = run(SCENARIO, instruments=instruments)
                taken.setdefault(label, []).append(time.process_time() - begun)
                if result.packets is not None:
                    records[label] = result.packets.records
        files = {
            label: (folder / str(trace.file)).stat().st_size
            for label, instruments in cases(folder).items()
            for trace in instruments
            if isinstance(trace, PacketTrace) and trace.file is not None
        }
    bare = median(taken["none"])
    print("| written down | CPU time, times that of none | records | size of the file |")
    print("| --- | --- | --- | --- |")
    for label, times in taken.items():
        size = f"{files[label] / 1e6:.1f} MB" if label in files else ""
        count = f"{records[label]:,}" if label in records else ""
        print(f"| {label} | {median(times) / bare:.1f} | {count} | {size} |")
    print(f"\nwithout any: {bare * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
