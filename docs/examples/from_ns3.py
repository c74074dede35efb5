"""Five of ns-3's examples in ten lines each.

`python docs/examples/from_ns3.py` runs and times them.
"""
# ruff: noqa: T201 - it prints what it finds

from __future__ import annotations

import time

import vermilion
from vermilion.networks import dumbbell


def tcp_bulk_send() -> list[dict[str, object]]:
    """examples/tcp/tcp-bulk-send.cc: one flow, 500 kbit/s, 5 ms, 10 s."""
    network = vermilion.Network("Bulk send", duration="10 s")
    network.link("wire", rate="500 kbit/s", delay="5 ms")
    network.flows("n0", path="wire", rtt="10 ms", sender="cubic", packet_size="588 bytes")
    swept = vermilion.sweep(network.scenario(), {})
    return swept.rows(["links.wire.packets_forwarded", "flows.n0.goodput_bit_per_s.total"])


def tcp_variants_comparison() -> list[dict[str, object]]:
    """examples/tcp/tcp-variants-comparison.cc: senders over 2 Mbit/s with losses."""
    network = vermilion.Network("Variants", duration="100 s")
    lossy = {"model": "bernoulli", "probability": 0.001}
    network.link("bottleneck", rate="2 Mbit/s", delay="10 us", loss=lossy)
    network.flows(
        "one", path="bottleneck", rtt="90.02 ms", sender="newreno", packet_size="400 bytes"
    )
    senders = {"sender": ["newreno", "cubic", "bbr1", "ledbat", "dctcp"]}
    swept = vermilion.sweep(network.scenario(), senders, seeds=3)
    return swept.rows(["flows.one.goodput_bit_per_s.total", "links.bottleneck.sojourn_ms.mean"])


def queue_discs_benchmark() -> list[dict[str, object]]:
    """examples/traffic-control/queue-discs-benchmark.cc: two directions, several disciplines."""
    network = dumbbell(duration="60 s", rate="10 Mbit/s", delay="5 ms")
    common = {"rtt": "10.2 ms", "sender": "cubic", "access_rate": "100 Mbit/s"}
    network.flows("up", path="bottleneck", return_path="back", **common)
    network.flows("down", path="back", return_path="bottleneck", **common)
    limited = [
        f"{name}:limit=1000 packets" for name in ("drop-tail", "adaptive-red", "codel", "pie")
    ]
    swept = vermilion.sweep(network.scenario(), {"discipline": [*limited, "fq-codel"]})
    return swept.rows(["links.bottleneck.sojourn_ms.mean", "flows.up.goodput_bit_per_s.total"])


def dctcp_example() -> list[dict[str, object]]:
    """examples/tcp/dctcp-example.cc: figure 17 of the DCTCP paper, two bottlenecks."""
    red = {"discipline": "red", "weight": 1, "limit": "2666 packets", "max_probability": 0.02}
    network = vermilion.Network("DCTCP", duration="5 s", warm_up="4 s")
    for name, rate, low in (("t1-t2", "10 Gbit/s", 50), ("t2-r1", "1 Gbit/s", 20)):
        thresholds = {"min_threshold": f"{low} packets", "max_threshold": f"{3 * low} packets"}
        network.link(name, rate=rate, delay="10 us", queue=red | thresholds)
    ways = (("s1", 10, ["t1-t2", "t2-r1"]), ("s2", 20, ["t1-t2"]), ("s3", 10, ["t2-r1"]))
    own = {"sender": "dctcp", "access_rate": "1 Gbit/s", "packet_size": "1500 bytes"}
    for name, count, path in ways:
        network.flows(name, count=count, path=path, rtt="60 us", start="0 s .. 1 s", **own)
    metrics = [f"flows.{name}.goodput_bit_per_s.mean" for name, _, _ in ways]
    return vermilion.sweep(network.scenario(), {}).rows(metrics)


def tcp_bbr_example() -> list[dict[str, object]]:
    """examples/tcp/tcp-bbr-example.cc: one BBR flow, 10 Mbit/s, 100 packets of buffer."""
    network = vermilion.Network("BBR", duration="100 s")
    network.link("r1-r2", rate="10 Mbit/s", delay="10 ms")
    bbr = {"congestion_control": "bbr1", "initial_window": "10 packets"}
    bbr["delayed_acknowledgements"] = True
    size = {"packet_size": "1500 bytes", "access_rate": "1 Gbit/s"}
    network.flows("one", path="r1-r2", rtt="40 ms", sender=bbr, **size)
    swept = vermilion.sweep(network.scenario(), {})
    return swept.rows(["links.r1-r2.utilization", "links.r1-r2.queue_packets.mean"])


EXAMPLES = (
    tcp_bulk_send,
    tcp_variants_comparison,
    queue_discs_benchmark,
    dctcp_example,
    tcp_bbr_example,
)


def main() -> None:
    """Runs each example three times, and prints the quickest and what it found."""
    for example in EXAMPLES:
        best = float("inf")
        for _ in range(3):
            begun = time.process_time()
            rows = example()
            best = min(best, time.process_time() - begun)
        print(f"{example.__name__}: {best:.3f} s of CPU time")
        for row in rows:
            print("   ", ", ".join(f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
