"""How long short transfers take over a wire that loses packets, and what is sent in vain.

Transfers of one size begin at random moments and do not disturb each other: the link is fast, and
each packet is lost on its own with the same probability. What differs from one line to another is
the size, the round trip, the loss, and the recovery. Everything else is the option set ``linux``.

    .venv/bin/python benches/short_transfers.py [--transfers 4000]

Completion times are in milliseconds from the first SYN on. *Needless* is the share of
retransmissions beyond the packets that were lost. The table stands in `docs/senders.md`.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from vermilion.scenario import parse_scenario
from vermilion.simulate import run

if TYPE_CHECKING:
    from collections.abc import Iterator

SEGMENT_BYTES = 1460
RECOVERIES = ("rack", "sack")
SIZES = (2, 10, 30, 100)
ROUND_TRIPS_MS = (20, 100)
LOSSES = (0.01, 0.05)
SEED = 1


def network(recovery: str, segments: int, round_trip_ms: int, loss: float, transfers: int) -> str:
    """A scenario of so many transfers of so many segments."""
    return f"""
duration = "150 s"
[links.wire]
rate = "10 Gbit/s"
delay = "{round_trip_ms / 2} ms"
loss = {{ model = "bernoulli", probability = {loss} }}
queue = {{ discipline = "drop-tail", limit = "100000 packets" }}
[flows.transfers]
count = {transfers}
path = ["wire"]
rtt = "{round_trip_ms} ms"
start = "0 s .. 20 s"
packet_size = "1500 bytes"
header_size = "40 bytes"
sender = {{ congestion_control = "cubic", option_set = "linux", recovery = "{recovery}" }}
traffic = {{ kind = "transfer", size = "{segments * SEGMENT_BYTES} bytes" }}
"""


def rows(transfers: int) -> Iterator[list[str]]:
    """The lines of the table."""
    for recovery in RECOVERIES:
        for round_trip in ROUND_TRIPS_MS:
            for loss in LOSSES:
                for segments in SIZES:
                    yield row(recovery, segments, round_trip, loss, transfers)


def row(recovery: str, segments: int, round_trip: int, loss: float, transfers: int) -> list[str]:
    """One line: what was measured of these transfers."""
    scenario = parse_scenario(network(recovery, segments, round_trip, loss, transfers))
    data: dict[str, Any] = run(scenario, seed=SEED).data
    group = data["flows"]["transfers"]["total"]
    lost = data["links"]["wire"]["total"]["losses"]
    again = group["retransmissions"]
    times = sorted(1e3 * flow["completion_time_s"] for flow in group["each"])
    assert len(times) == transfers, "the run is too short for some transfer"
    return [
        recovery, str(segments), f"{round_trip} ms", f"{loss:.0%}",
        f"{sum(times) / transfers:.1f}", f"{times[transfers // 2]:.1f}",
        f"{times[transfers * 95 // 100]:.1f}", f"{times[transfers * 99 // 100]:.1f}",
        f"{100 * group['timeouts'] / transfers:.1f}", f"{max(again - lost, 0) / again:.1%}",
    ]  # fmt: skip


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--transfers", type=int, default=4000, help="of each kind")
    options = parser.parse_args()
    heads = ["recovery", "segments", "round trip", "loss", "mean ms", "median ms", "95 % ms",
             "99 % ms", "timeouts per 100", "needless"]  # fmt: skip
    print("| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for cells in rows(options.transfers):
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
