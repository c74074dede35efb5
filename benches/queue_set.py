"""Four queues in a row, set at random: left alone, tuned together, and tuned one by one.

    .venv/bin/python benches/queue_set.py [--seeds 5] [--results FILE]
    .venv/bin/python benches/queue_set.py --table [--results FILE]

The network is `four-red-queues` (after figure 8 of T. Ye and S. Kalyanaraman, "Adaptive Tuning of
RED Using On-line Simulation", IEEE GLOBECOM 2002), the aim the coefficient of variation of all
flows' goodputs. Each seed begins with sixteen parameters drawn at random from their boxes. Then the
same network

- is *left alone*;
- is tuned *together*: one controller, one joint setting, one model of all queues;
- is tuned *one by one*: four controllers that do not know of each other, each with its own queue,
  its own counters and monitor, and the same aim for the flows that it sees. That is what there is
  without sets of queues.

The margin of harm that lets all flows together lose no more than 2 % of their goodput is lifted
(`harm = ["goodput=none"]`): what a flow through four links gains, four other flows lose. Each link
has to stay as busy as it was; that is a constraint of the scenario.

All numbers are of the network. Its first 40 s are left out: they are for tuning. Searches try a
fixed number of settings, as many as in the reproduction of the figure (`vermilion papers`), fewer
than the controller's own default. A seed takes about half a minute of CPU time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from provenance import commit_of, made_by

import vermilion
from vermilion import _core
from vermilion.objectives import flow_windows, objective_of
from vermilion.online import run_online
from vermilion.online.decide.controller import Controller
from vermilion.online.drive.driver import NetworkTimeDriver, fixed_pace
from vermilion.online.policy import stated_policy, tuned_links
from vermilion.online.record.journal import Journal, Log
from vermilion.routers.simulated import SimulatedNetwork
from vermilion.search import CountedFromBelow
from vermilion.simulate.result import result_of
from vermilion.simulate.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.scenario import Scenario
    from vermilion.simulate import Result

NETWORK: Final = "four-red-queues"
DURATION_S: Final = 90
JUDGED_FROM_S: Final = 40
EVALUATIONS: Final = 60
RE_EVALUATIONS: Final = 1
COMPARISONS: Final = 6
WAYS: Final = ("left alone", "together", "one by one")
RESULTS: Final = Path(__file__).parent / "results" / "queue-set.jsonl"
TABLE: Final = Path(__file__).parents[1] / "docs" / "figures" / "online_queue_set.txt"
TICKS_PER_S: Final = 10


def main() -> None:
    """Runs what is missing, or writes the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--table", action="store_true", help="write the table and print it")
    given = parser.parse_args()
    rows = load(given.results)
    if given.table:
        text = f"{table(rows)}\n{made_by('benches/queue_set.py', rows)}\n"
        TABLE.write_text(text, encoding="utf-8")
        sys.stdout.write(text)
        return
    known = {row["seed"] for row in rows}
    given.results.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(1, given.seeds + 1):
        if seed in known:
            continue
        row = measure(seed) | {"commit": commit_of("benches/queue_set.py")}
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
        said = ", ".join(f"{way} {row[way]['variation']:.3f}" for way in WAYS)
        sys.stderr.write(f"seed {seed}: {said}, {row['cpu_s']:.0f} CPU s\n")


def load(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of results; none if there is no such file."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def drawn(seed: int) -> Scenario:
    """The network with sixteen parameters at random."""
    scenario = vermilion.load_scenario(NETWORK).with_values(
        {
            "duration": f"{DURATION_S} s",
            "warm_up": f"{JUDGED_FROM_S} s",
            "tuning.harm": ["goodput=none"],
        }
    )
    space = CountedFromBelow.from_scenario(scenario)
    random = Random(f"vermilion.benches.queue-set.1/{seed}")  # noqa: S311 - no secret
    return scenario.with_values(space.values(tuple(random.random() for _ in range(len(space)))))


def measure(seed: int) -> dict[str, Any]:
    """The three ways of one random start."""
    begun = time.process_time()
    scenario = drawn(seed)
    run = run_online(
        scenario,
        seed=seed,
        clock="fixed",
        evaluations=EVALUATIONS,
        re_evaluations=RE_EVALUATIONS,
        comparisons=COMPARISONS,
    )
    alone, pushes = one_by_one(scenario, seed)
    return {
        "seed": seed,
        "left alone": reached(scenario, run.reference),
        "together": reached(scenario, run.tuned) | {"pushes": len(run.settings) - 1},
        "one by one": reached(scenario, alone) | {"pushes": pushes},
        "said": [[each.time_s, each.kind, each.reason] for each in run.decisions],
        "cpu_s": round(time.process_time() - begun, 1),
    }


def reached(scenario: Scenario, result: Result) -> dict[str, Any]:
    """What the network measured."""
    [window] = flow_windows(result, over="total")
    links = tuned_links(scenario)
    through = result.flows("through").total["goodput_bit_per_s"]["mean"]
    return {
        "variation": objective_of(scenario).measure(result),
        "utilization": fmean(result.link(link).total["utilization"] for link in links),
        "queue": fmean(result.link(link).total["queue_packets"]["mean"] for link in links),
        "goodput": window["goodput_bit_per_s"]["total"],
        "through": through,
        "starved": window.get("starved"),
    }


class Stepped(NetworkTimeDriver):
    """A driver whose network is moved by somebody else, because others share it."""

    def tick(self, now_s: float) -> None:
        """Look at the queue now; at the first time take charge of it."""
        from vermilion.online.events import Began

        first = self._now_s == 0.0
        self._now_s = now_s
        if first:
            self.give(Began(self._router.parameters()))
        self.give(self._observe())
        self._give_findings()


def one_by_one(scenario: Scenario, seed: int) -> tuple[Result, int]:
    """What the network measures with four controllers, and how often they changed a queue."""
    links = tuned_links(scenario)
    network = SimulatedNetwork(scenario.core(), links, seed)
    drivers: list[tuple[Stepped, Log]] = []
    for link, queue in network.queues.items():
        mine = [path for path in scenario.tuning.parameters if f".{link}." in path]
        policy = stated_policy(
            scenario.with_values(
                {
                    "tuning.parameters": mine,
                    "tuning.constraints": [f"links.{link}.utilization >= 0.95 of reference"],
                }
            )
        )
        controller = Controller.of(
            policy,
            queue.configuration,
            evaluations=EVALUATIONS,
            re_evaluations=RE_EVALUATIONS,
            comparisons=COMPARISONS,
        )
        journal = Journal(
            None,
            version=_core.VERSION,
            title=scenario.title,
            router=queue.kind,
            link=link,
            discipline=queue.configuration.discipline,
            target_packets=None,
        )
        log = Log(journal)
        drivers.append((Stepped(queue, controller, log, fixed_pace), log))
    for tick in range(1, DURATION_S * TICKS_PER_S + 1):
        network.wait(tick / TICKS_PER_S)
        for driver, _ in drivers:
            driver.tick(tick / TICKS_PER_S)
    text, series = network.result()
    result = result_of(text, seed=seed, version=_core.VERSION, timing={}, series=series)
    return result, sum(len(log.settings) - 1 for _, log in drivers)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """What was measured: means over the random starts, and differences from left alone."""
    headings = (
        "",
        "variation of goodputs",
        "less than left alone",
        "a flow through all four (Mbit/s)",
        "utilisation",
        "mean queue (packets)",
        "all goodput (Mbit/s)",
        "pushes",
    )
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for way in WAYS:
        mine = [row[way] for row in rows]
        less = [row["left alone"]["variation"] - row[way]["variation"] for row in rows]
        pushes = "" if way == "left alone" else f"{fmean(each['pushes'] for each in mine):.1f}"
        cells = [
            way,
            interval([each["variation"] for each in mine]),
            "" if way == "left alone" else interval(less),
            interval([each["through"] / 1e6 for each in mine]),
            interval([each["utilization"] for each in mine]),
            f"{fmean(each['queue'] for each in mine):.1f}",
            f"{fmean(each['goodput'] for each in mine) / 1e6:.2f}",
            pushes,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    together = [row["one by one"]["variation"] - row["together"]["variation"] for row in rows]
    said = (
        f"{len(rows)} random starts; means with 95 % intervals, paired where differences are "
        f"shown; {EVALUATIONS} settings tried per search; measured from {JUDGED_FROM_S} to "
        f"{DURATION_S} s. Together against one by one: {interval(together)} less variation."
    )
    return "\n".join([*lines, "", said]) + "\n"


def interval(values: Sequence[float]) -> str:
    """A mean with its half width."""
    found = mean_interval(list(values))
    width = "" if found.half_width is None else f" +- {found.half_width:.3f}"
    return f"{found.mean:.3f}{width}"


if __name__ == "__main__":
    main()
