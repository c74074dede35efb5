"""Shows how well a part of a fast link's flows, on a part of its rate, stands for the whole.

- *agreement*: networks of 1 Gbit/s that can still be simulated whole, beside models with shares of
  1/2 to 1/16 of their flows and rate (:mod:`vermilion.online.model.scaling`); and networks of few
  flows, up to 10 Gbit/s, beside models with a share of each flow's window. Those are simulated for
  longer, because large windows take long to grow back.
- *speed*: what a run of a controller's model costs at 0.1 to 100 Gbit/s, and so how many settings
  two idle cores would try per second of search. CPU time counts, so that it does not matter what
  else the machine does.

    .venv/bin/python benches/scaled_models.py

The table goes to `docs/figures/scaled_models.txt`.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provenance import made_by

from vermilion.objectives.knee import Knee
from vermilion.objectives.windows import flow_windows
from vermilion.online.model.network import build_model
from vermilion.online.model.scaling import Scaling, scaling_for
from vermilion.online.model.senders import SenderModel
from vermilion.online.model.traffic import Horizon, Traffic, horizon_for
from vermilion.online.policy import Policy
from vermilion.routers.base import LinkConfiguration
from vermilion.scenario import disciplines
from vermilion.simulate import run_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.routers.base import ParameterValue
    from vermilion.simulate import Result

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "scaled_models.txt"
SEEDS = range(1, 5)
HORIZON = Horizon(warm_up_s=5.0, measured_s=15.0)
HALVINGS = (0, 1, 2, 3, 4)
FEW_HORIZON = Horizon(warm_up_s=60.0, measured_s=60.0)
WINDOWS = (0, 2, 3, 4, 5)
WINDOWS_AT_10_GBIT = (0, 4, 6, 7)
# In the whole network as in the small one no receiver is to be the bottleneck.
UNCAPPED = (("window_cap", 1e6),)
CUBIC = SenderModel("cubic", option_set="linux")
NEWRENO = SenderModel("newreno")
PACKET_BYTES = 1500.0
CORES = 2

RED: Mapping[str, ParameterValue] = {
    "limit": 2000, "min_threshold": 150.0, "max_threshold": 600.0, "max_probability": 0.05,
    "weight": 0.0005,
}  # fmt: skip


@dataclass(frozen=True)
class Network:
    """A network to be shrunk."""

    title: str
    discipline: str
    changed: Mapping[str, ParameterValue]
    kind: SenderModel
    classes: tuple[tuple[int, float], ...]
    rate_bit_per_s: float = 1e9
    marked: float = 0.0
    windows: tuple[int, ...] = WINDOWS
    in_force: Mapping[str, ParameterValue] = field(init=False)

    def __post_init__(self) -> None:
        table = disciplines()[self.discipline].parameters
        defaults = {name: row.default for name, row in table.items()}
        object.__setattr__(self, "in_force", {**defaults, **self.changed})

    @property
    def traffic(self) -> Traffic:
        """What a monitor would have seen of it."""
        return Traffic(
            flows=sum(count for count, _ in self.classes),
            classes=self.classes,
            rate_bit_per_s=self.rate_bit_per_s,
            packet_bytes=PACKET_BYTES,
            queueing_s=0.010,
            ecn_share=self.marked,
        )

    def policy(self) -> Policy:
        """The knee, by what the table says is worth a search, or the limit."""
        rows = disciplines()[self.discipline].parameters.items()
        searched = tuple(name for name, row in rows if row.search is not None)
        return Policy("bottleneck", Knee("bottleneck"), searched or ("limit",))


NETWORKS = (
    Network("RED, 200 CUBIC, 20 ms", "red", RED, CUBIC, ((200, 0.020),)),
    Network("RED, 200 NewReno, 20 and 80 ms", "red", RED, NEWRENO, ((100, 0.02), (100, 0.08))),
    Network("RED with marks, 400 CUBIC, 40 ms", "red", RED, CUBIC, ((400, 0.04),), marked=1.0),
    Network(
        "RED of Linux, 200 CUBIC, 20 ms",
        "linux-red",
        {
            "limit": 3e6, "min_threshold": 225e3, "max_threshold": 9e5, "max_probability": 0.05,
            "weight_log": 11, "mean_packet_size": 1500, "burst": 300,
        },
        CUBIC,
        ((200, 0.020),),
    ),
    Network("PIE, 200 CUBIC, 20 ms", "pie", {"limit": 5000, "target": 5e-3}, CUBIC, ((200, 0.02),)),
    Network("drop-tail, 400 CUBIC, 40 ms", "drop-tail", {"limit": 800}, CUBIC, ((400, 0.04),)),
)  # fmt: skip


def red_for(rate_bit_per_s: float) -> Mapping[str, ParameterValue]:
    """RED with thresholds of 4 and 20 ms."""
    packets_per_s = rate_bit_per_s / (8.0 * PACKET_BYTES)
    return {
        **RED,
        "limit": round(0.1 * packets_per_s),
        "min_threshold": 0.004 * packets_per_s,
        "max_threshold": 0.020 * packets_per_s,
    }


FEW = (
    Network("RED, 2 CUBIC", "red", red_for(1e9), CUBIC, ((1, 0.02), (1, 0.06))),
    Network("RED, 4 CUBIC", "red", red_for(1e9), CUBIC, ((2, 0.02), (2, 0.06))),
    Network("RED, 16 CUBIC", "red", red_for(1e9), CUBIC, ((8, 0.02), (8, 0.06))),
    Network("RED with marks, 8 CUBIC", "red", red_for(1e9), CUBIC, ((8, 0.04),), marked=1.0),
    Network("RED, 4 NewReno", "red", red_for(1e9), NEWRENO, ((2, 0.02), (2, 0.06))),
    Network("RED, 16 NewReno", "red", red_for(1e9), NEWRENO, ((8, 0.02), (8, 0.06))),
    Network(
        "RED of Linux, 8 CUBIC",
        "linux-red",
        {
            "limit": 8e6, "min_threshold": 5e5, "max_threshold": 2.5e6, "max_probability": 0.02,
            "weight_log": 9, "mean_packet_size": 1500, "burst": 500,
        },
        CUBIC,
        ((8, 0.04),),
    ),
    Network("PI, 8 CUBIC", "pi", {"limit": 2000, "target_queue": 400}, CUBIC, ((8, 0.04),)),
    Network("drop-tail, 8 CUBIC", "drop-tail", {"limit": 1600}, CUBIC, ((8, 0.04),)),
    Network(
        "10 Gbit/s, RED, 4 CUBIC", "red", red_for(1e10), CUBIC, ((2, 0.02), (2, 0.06)), 1e10,
        windows=WINDOWS_AT_10_GBIT,
    ),
    Network(
        "10 Gbit/s, RED, 16 CUBIC", "red", red_for(1e10), CUBIC, ((8, 0.02), (8, 0.06)), 1e10,
        windows=WINDOWS_AT_10_GBIT,
    ),
)  # fmt: skip

FAST = tuple(
    Network(
        f"{rate / 1e9:g} Gbit/s, {flows} flows",
        "red",
        red_for(rate),
        CUBIC,
        ((flows // 2, 0.02), (flows - flows // 2, 0.06)),
        rate,
    )
    for rate, flows in (
        (1e8, 100),
        (1e9, 4),
        (1e9, 200),
        (1e10, 2),
        (1e10, 4),
        (1e10, 8),
        (1e10, 16),
        (1e10, 200),
        (1e10, 1000),
        (1e10, 2000),
        (1e11, 2),
        (1e11, 4),
        (1e11, 8),
        (1e11, 16),
        (1e11, 200),
        (1e11, 2000),
        (1e11, 10000),
    )
)


def simulated(
    network: Network,
    scaling: Scaling,
    horizon: Horizon,
    seeds: Sequence[int],
    kind: SenderModel | None = None,
) -> tuple[list[Result], float]:
    """Runs in the network's numbers, and the CPU seconds of each."""
    model = build_model(
        LinkConfiguration("bottleneck", network.discipline, 0.005),
        {name: scaling.into(name, value) for name, value in network.in_force.items()},
        scaling.traffic(network.traffic),
        scaling.senders(kind or network.kind),
        network.policy(),
        horizon,
    )
    begun = time.process_time()
    [results] = run_many([model], seeds)
    took_s = (time.process_time() - begun) / len(seeds)
    return [scaling.result(result) for result in results if result is not None], took_s


def figures(results: Sequence[Result]) -> dict[str, float]:
    """What is compared, means over the seeds."""
    totals = [result.link("bottleneck").total for result in results]
    flows: list[Any] = [flow_windows(result, over="total")[0] for result in results]

    def mean(values: Sequence[float]) -> float:
        return statistics.fmean(values)

    return {
        "mean": mean([each["queue_packets"]["mean"] for each in totals]),
        "sd": mean([each["queue_packets"]["sd"] for each in totals]),
        "p95": mean([each["sojourn_ms"]["p95"] for each in totals]),
        "signals": mean([each["drop_rate"] + each["mark_rate"] for each in totals]),
        "utilization": mean([each["utilization"] for each in totals]),
        "jain": mean([each["jain_index"] for each in flows]),
    }


def heading(columns: Sequence[str]) -> tuple[str, str]:
    """The first two lines of a table."""
    return f"| {' | '.join(columns)} |", f"| --- |{' ---: |' * (len(columns) - 1)}"


def agreement() -> list[str]:
    """The table of networks that can be simulated whole."""
    head = (
        f"1 Gbit/s, packets of {PACKET_BYTES:.0f} bytes, {len(SEEDS)} seeds of "
        f"{HORIZON.measured_s:.0f} s after {HORIZON.warm_up_s:.0f} s. All in the whole network's "
        "numbers."
    )
    columns = (
        "network", "share", "flows", "mean queue", "deviation", "95 % wait, ms", "signals",
        "utilisation", "Jain's index", "CPU s a run",
    )  # fmt: skip
    lines = [head, "", *heading(columns)]
    for network in NETWORKS:
        for halvings in HALVINGS:
            scaling = Scaling(network.discipline, halvings)
            results, took_s = simulated(network, scaling, HORIZON, SEEDS)
            found = figures(results)
            lines.append(
                f"| {network.title} | 1/{2**halvings} | {scaling.traffic(network.traffic).flows} | "
                f"{found['mean']:.0f} | {found['sd']:.0f} | {found['p95']:.2f} | "
                f"{100 * found['signals']:.2f} % | {100 * found['utilization']:.2f} % | "
                f"{found['jain']:.3f} | {took_s:.3f} |"
            )
    return lines


def agreement_of_few() -> list[str]:
    """The table of few flows, whose windows shrink."""
    head = (
        "Few flows, whose windows shrink: 1 Gbit/s unless it says otherwise, "
        f"{len(SEEDS)} seeds of {FEW_HORIZON.measured_s:.0f} s after "
        f"{FEW_HORIZON.warm_up_s:.0f} s; flows of 20 and of 60 ms, or all of 40 ms. The window is "
        "a flow's mean in the model. Signals are packets lost or marked of a million."
    )
    columns = (
        "network", "share", "window", "mean queue", "deviation", "95 % wait, ms", "signals",
        "utilisation", "Jain's index", "CPU s a run",
    )  # fmt: skip
    lines = [head, "", *heading(columns)]
    for network in FEW:
        kind = replace(network.kind, parameters=UNCAPPED)
        for windows in network.windows:
            scaling = Scaling(network.discipline, windows=windows)
            results, took_s = simulated(network, scaling, FEW_HORIZON, SEEDS, kind)
            found = figures(results)
            small = scaling.traffic(network.traffic)
            trips = statistics.fmean(base_s for _, base_s in small.classes) + 0.01
            lines.append(
                f"| {network.title} | 1/{2**windows} | "
                f"{small.packets_per_s * trips / small.flows:.0f} | "
                f"{found['mean']:.0f} | {found['sd']:.0f} | {found['p95']:.2f} | "
                f"{1e6 * found['signals']:.1f} | {100 * found['utilization']:.2f} % | "
                f"{found['jain']:.3f} | {took_s:.3f} |"
            )
    return lines


def speed() -> list[str]:
    """The table of what a search costs."""
    head = (
        "A quick search for the knee by RED, deadline 1 s. Settings per second are of one run "
        f"each, on {CORES} idle cores, from CPU time. The share is of the rate; where few "
        "flows share a fast link it is their windows that shrink."
    )
    columns = (
        "network", "share", "flows", "simulated, s", "CPU ms a setting", "settings per second",
    )  # fmt: skip
    lines = [head, "", *heading(columns)]
    for network in FAST:
        policy, traffic = network.policy(), network.traffic
        wanted = policy.scale_packets(traffic.packets_per_s)
        scaling = scaling_for(traffic, network.discipline, wanted, [network.kind])
        small = scaling.traffic(traffic)
        horizon = horizon_for(small, policy.deadline_s, None, scaling.epoch_s(traffic))
        _, took_s = simulated(network, scaling, horizon, SEEDS)
        lines.append(
            f"| {network.title} | 1/{round(1.0 / scaling.share)} | {small.flows} | "
            f"{horizon.warm_up_s + horizon.measured_s:.1f} | {1e3 * took_s:.1f} | "
            f"{CORES / took_s:.0f} |"
        )
    return lines


def main() -> None:
    """Writes the table."""
    parts = [*agreement(), "", *agreement_of_few(), "", *speed()]
    text = "\n".join([*parts, "", made_by("benches/scaled_models.py")]) + "\n"
    FIGURE.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
