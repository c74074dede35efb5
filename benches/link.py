"""Emulated links with real packets: TCP beside the simulator's, packets per second, timing error.

    python benches/link.py plants [--seeds 5] [--discipline NAME ...]
    python benches/link.py flows [--seeds 5] [--discipline NAME ...]
    python benches/link.py speed [--seconds 10]
    python benches/link.py timing [--seconds 10] [--busy]

``plants``: one scenario in the simulator, through an emulated link and on the kernel of ``make
kernel``, each of so many seeds. ``flows``: 8 flows of this machine's TCP (Reno), through RED, PIE
and FQ-CoDel at 10 Mbit/s with a round trip of 60 ms, for 60 s of which the first 10 are not
judged; and the same scenario in the simulator, with senders that do as Linux does, over so many
seeds. ``speed``: 8 flows over a link that is too fast to be full. ``timing``: 8 flows over 100
Mbit/s. All run in namespaces of their own.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from vermilion import parse_scenario, run, run_many
from vermilion.link.emulation import Surroundings, emulate
from vermilion.link.plan import Options, plan_of_options, plan_of_scenario
from vermilion.simulate.statistics import mean_interval
from vermilion_lab.emulator_plant import run_on_emulator
from vermilion_lab.kernel_plant import run_on_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

ROOT: Final = Path(__file__).parents[1]
PROGRAMS: Final = str(ROOT / "tests" / "link" / "programs.py")
FLOWS: Final = 8
SECONDS: Final = 60

QUEUES: Final = {
    "red": """discipline = "red"
limit = "100 packets"
min_threshold = "10 packets"
max_threshold = "40 packets"
max_probability = 0.1
weight = 0.002""",
    "pie": 'discipline = "pie"\nlimit = "200 packets"\necn = false',
    "fq-codel": 'discipline = "fq-codel"\ndialect = "linux"\necn = false',
}

NETWORK: Final = """
duration = "{seconds} s"
warm_up = "10 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
[links.bottleneck.queue]
{queue}
[flows.all]
count = {flows}
path = ["bottleneck"]
rtt = "60 ms"
sender = {{ congestion_control = "sack", option_set = "linux", timer_tick = "{tick}" }}
packet_size = "1500 bytes"
header_size = "52 bytes"
start = "0 s .. 1 s"
"""

ON_PLANTS: Final = {
    "linux-red": """discipline = "linux-red"
limit = "150000 bytes"
min_threshold = "15000 bytes"
max_threshold = "60000 bytes"
max_probability = 0.1""",
    "pie": QUEUES["pie"],
    "codel": 'discipline = "codel"\nlimit = "200 packets"\necn = false',
    "fq-codel": QUEUES["fq-codel"],
}
"""Queues that all three plants have."""

METRICS: Final = ("queue_packets.mean", "sojourn_ms.p99", "drops", "utilization")


def scenario(queue: str, tick: str) -> Scenario:
    """The network of ``flows`` and ``plants`` with one of the queues."""
    queues = QUEUES | ON_PLANTS
    text = NETWORK.format(queue=queues[queue], seconds=SECONDS, flows=FLOWS, tick=tick)
    return parse_scenario(text, f"benches/link.py, {queue}")


def through(plan: Scenario, seconds: float, *, busy: bool, offload: bool) -> dict[str, Any]:
    """Real flows through the uplink of a plan: what was measured."""
    python = sys.executable
    command = [python, PROGRAMS, "flows", str(FLOWS), str(seconds), "reno", "0.125"]
    surroundings = Surroundings(
        isolated=True, peer=[python, PROGRAMS, "sink"], busy=busy, offload=offload
    )
    return emulate(plan, command, surroundings).data


def metric(window: Any, path: str) -> float:  # noqa: ANN401 - keys of a result
    """A number of a link's metrics."""
    for part in path.split("."):
        window = window[part]
    return float(window)


def flows(names: Sequence[str], seeds: int, tick: str) -> None:
    """Prints the simulator's figures beside those of real flows."""
    print("| queue | what | simulator | emulated | apart | timing error p99 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in names:
        network = scenario(name, tick)
        simulated = [each for each in run_many([network], range(1, seeds + 1))[0] if each]
        plan = plan_of_scenario(network, None, Options(), reverse=False)
        data = through(plan, SECONDS + 1, busy=False, offload=False)
        real = data["links"]["uplink"]
        late = real["emulator"]["timing_error_us"]["p99"]
        for path in METRICS:
            own = [metric(each.link("bottleneck").total, path) for each in simulated]
            interval = mean_interval(own)
            found = metric(real["total"], path)
            apart = found / fmean(own) - 1.0
            print(
                f"| `{name}` | {path} | {interval.mean:.4g} +- {interval.half_width or 0.0:.2g} "
                f"| {found:.4g} | {100 * apart:+.1f} % | {late:.0f} us |",
                flush=True,
            )


def plants(names: Sequence[str], seeds: int, tick: str) -> None:
    """Prints what one scenario gives in the simulator, through an emulated link and on a kernel."""
    runs: dict[str, Callable[[Scenario, int], Result]] = {
        "simulator": run,
        "emulator": run_on_emulator,
        "kernel": run_on_kernel,
    }
    print(f"| queue | what | {' | '.join(runs)} |")
    print("| --- | --- | --- | --- | --- |")
    for name in names:
        network = scenario(name, tick)
        results = {
            plant: [made(network, seed) for seed in range(1, seeds + 1)]
            for plant, made in runs.items()
        }
        for path in (*METRICS, "goodput", "jain_index"):
            cells = []
            for found in results.values():
                values = [_figure(each, path) for each in found]
                if any(map(math.isnan, values)):
                    cells.append("")
                    continue
                interval = mean_interval(values)
                cells.append(f"{interval.mean:.4g} +- {interval.half_width or 0.0:.2g}")
            print(f"| `{name}` | {path} | {' | '.join(cells)} |", flush=True)
        late = [metric(each.data, LATE) for each in results["emulator"]]
        print(f"{name}: timing error p99 at most {max(late):.0f} us", file=sys.stderr, flush=True)


LATE: Final = "links.bottleneck.emulator.timing_error_us.p99"


def _figure(result: Result, path: str) -> float:
    flows_total: Any = result.flows("all").total
    if path == "goodput":
        return float(flows_total["goodput_bit_per_s"]["total"]) / 1e6
    if path == "jain_index":
        return float(flows_total["jain_index"])
    total = result.link("bottleneck").total
    # The kernel does not tell how long packets of FQ-CoDel wait, but on average.
    if path.startswith("sojourn") and "p99" not in total.get("sojourn_ms", {}):
        return math.nan
    return metric(total, path)


def speed(seconds: float) -> None:
    """Prints packets per second and per CPU second."""
    print("| kernel hands over | queue | packets/s | Mbit/s | packets per CPU second |")
    print("| --- | --- | --- | --- | --- |")
    for offload in (False, True):
        for name in ("drop-tail", "fq-codel"):
            options = Options(
                rate="40Gbit/s", discipline=name, overrides=["queue.limit='10000 packets'"]
            )
            data = through(plan_of_options(options), seconds, busy=False, offload=offload)
            up, down = (data["links"][way] for way in ("uplink", "downlink"))
            packets = up["ledger"]["forwarded"] + down["ledger"]["forwarded"]
            how = "many in one piece" if offload else "single packets"
            print(
                f"| {how} | `{name}` | {packets / data['wall_s']:,.0f} "
                f"| {up['emulator']['throughput_bit_per_s'] / 1e6:,.0f} "
                f"| {packets / data['cpu_s']:,.0f} |",
                flush=True,
            )


def timing(seconds: float, *, busy: bool) -> None:
    """Prints how late packets were handed on at 100 Mbit/s."""
    plan = plan_of_options(Options(rate="100Mbit/s", delay="5ms", discipline="fq-codel"))
    data = through(plan, seconds, busy=busy, offload=True)
    error = data["links"]["uplink"]["emulator"]["timing_error_us"]
    share = data["cpu_s"] / data["wall_s"]
    print(", ".join(f"{key} {error[key]:.1f} us" for key in ("mean", "p50", "p95", "p99", "max")))
    print(f"{100 * share:.1f} % of a core, {'busy' if busy else 'asleep between packets'}")


def main() -> None:
    """Measures what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["plants", "flows", "speed", "timing"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--discipline", action="append", choices=list(QUEUES | ON_PLANTS))
    parser.add_argument("--tick", default="4 ms", help="of this machine's kernel: 1 / CONFIG_HZ")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--busy", action="store_true")
    given = parser.parse_args()
    if given.what == "plants":
        plants(given.discipline or list(ON_PLANTS), given.seeds, given.tick)
    elif given.what == "flows":
        flows(given.discipline or list(QUEUES), given.seeds, given.tick)
    elif given.what == "speed":
        speed(given.seconds)
    else:
        timing(given.seconds, busy=given.busy)


if __name__ == "__main__":
    main()
