"""What an optimised core is trained on: one short network of every kind that people simulate.

`make wheel PGO=1` builds the core with counters, has this program run, and builds it again with
what the counters say of which branches are taken and what is called often. No result depends on it.

    .venv/bin/python benches/training.py --times

runs the same networks and prints what each took: packets that links sent and CPU seconds, for who
wants to compare an optimised core with a plain one.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from vermilion.scenario import parse_scenario
from vermilion.simulate import run

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most networks have this many flows, rate and buffer.
FLOWS, MEGABITS, LIMIT = 120, 300, 1500


def flows(
    sender: str,
    options: str = "",
    count: int = FLOWS,
    rtt: str = "40 ms",
    *,
    name: str = "bulk",
    path: str = '"bottleneck"',
) -> str:
    """A group of flows with endless data."""
    more = f", {options}" if options else ""
    return f"""
[flows.{name}]
count = {count}
path = [{path}]
rtt = "{rtt}"
start = "0 s .. 0.5 s"
sender = {{ congestion_control = "{sender}"{more} }}
"""


def web(sender: str, options: str, gap: str) -> str:
    """Sources of short transfers."""
    return f"""
[flows.web]
count = 100
path = ["bottleneck"]
rtt = "10 ms .. 100 ms"
start = "0 s"
sender = {{ congestion_control = "{sender}"{options} }}
[flows.web.traffic]
kind = "web"
mean_gap = "{gap}"
size = {{ distribution = "bounded-pareto", shape = 1.2, minimum = "4 kB", maximum = "10 MB" }}
"""


def constant(count: int, rate: str) -> str:
    """Packets that come whatever happens."""
    return f"""
[flows.constant]
count = {count}
path = ["bottleneck"]
rtt = "30 ms"
start = "0 s .. 0.5 s"
traffic = {{ kind = "constant-rate", rate = "{rate}" }}
"""


def link(name: str, queue: str, limit: int | None) -> str:
    """A link and its queue."""
    bound = f', limit = "{limit} packets"' if limit else ""
    return f"""
[links.{name}]
rate = "{MEGABITS} Mbit/s"
delay = "2 ms"
queue = {{ discipline = "{queue}"{bound} }}
"""


def network(queue: str, *groups: str, seconds: float = 4, limit: int | None = LIMIT) -> str:
    """A scenario of one bottleneck."""
    head = f"""
duration = "{seconds} s"
warm_up = "0.5 s"
"""
    return head + link("bottleneck", queue, limit) + "".join(groups)


def links_in_a_row() -> str:
    """Half of the flows cross three links, the others one each."""
    names = ("bottleneck", "second", "third")
    path = ", ".join(f'"{name}"' for name in names)
    crossing = [
        flows("sack", count=FLOWS // 4, name=f"over_{name}", path=f'"{name}"') for name in names
    ]
    more = [link(name, "red", LIMIT) for name in names[1:]]
    return network("red", *more, flows("sack", path=path), *crossing, seconds=2)


def networks() -> Iterator[tuple[str, str]]:
    """Every kind of network with its name."""
    linux = 'option_set = "linux"'
    for sender in ("newreno", "sack", "cubic", "reno", "dctcp", "bbr"):
        yield sender, network("red", flows(sender))
    for sender in ("newreno", "sack", "cubic"):
        yield f"{sender}, linux", network("drop-tail", flows(sender, linux))
    yield "cubic, linux, losses by time", network("codel", flows("cubic", linux))
    yield "delayed", network("drop-tail", flows("newreno", "delayed_acknowledgements = true"))
    yield "paced", network("drop-tail", flows("newreno", "pacing = true"))
    yield "prague", network("dualpi2", flows("prague"))
    yield "rem", network("rem", flows("rem"))
    for queue in ("drop-tail", "pi", "pie", "codel", "fq-codel", "fq-pie", "adaptive-red"):
        yield queue, network(queue, flows("sack"))
    yield "few", network("red", flows("newreno", count=10), seconds=6)
    yield "differing", network("drop-tail", flows("newreno", rtt="30 ms .. 50 ms"))
    many = flows("newreno", count=1500, rtt="30 ms .. 50 ms")
    yield "many, differing", network("drop-tail", many)
    yield "links in a row", links_in_a_row()
    yield "transfers", network("drop-tail", web("sack", "", "60 ms"))
    yield "half unresponsive", network("drop-tail", flows("newreno"), constant(100, "1.5 Mbit/s"))
    mix = (
        flows("cubic", linux, rtt="10 ms .. 200 ms"),
        web("cubic", f", {linux}", "500 ms"),
        constant(30, "100 kbit/s"),
    )
    yield "mix", network("pie", *mix)


def main() -> None:
    """Runs each network once."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", action="store_true", help="print what each run took")
    asked = parser.parse_args()
    for name, text in networks():
        data = run(parse_scenario(text), seed=1).data
        if asked.times:
            print(f"{name}\t{data['packets_forwarded']}\t{data['cpu_s']:.4f}", flush=True)


if __name__ == "__main__":
    main()
