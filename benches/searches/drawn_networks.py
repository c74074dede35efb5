"""Networks that nobody chose: a discipline is given, all else is drawn at random.

On them candidates for the automatic search are compared, and ways to count an ordered pair. A rule
that is fitted to a few known networks would show here. Rate, round trips, flows, senders, web
traffic, what is wanted and where are drawn from :data:`SEED` and the network's name; the seed was
drawn once, before anything was measured.

A search begins where a tuning does, at the discipline's own setting, and is told the mean over a
few seeds, other ones in each repetition and the same for all searches. What it recommends is judged
by the mean over :data:`TRUE_SEEDS`, the same for all.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from vermilion.objectives import objective_of
from vermilion.scenario import scenario_from_document
from vermilion.scenario.algorithms import disciplines
from vermilion.search import Space
from vermilion.simulate import run_many
from vermilion.tuning import Candidates
from vermilion.tuning.engine import complete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.search import Point

SEED: Final = 20261123
TOLD_SEEDS: Final = 3
TRUE_SEEDS: Final = range(2_000_000, 2_000_240)
BUDGETS: Final = (40, 80, 120, 240, 480)
REPETITIONS: Final = 8
PACKETS: Final = 9_000
"""That the bottleneck sends in the measured part of a simulation, about."""

_THRESHOLDS = ("min_threshold", "max_threshold")
_RED = (*_THRESHOLDS, "max_probability", "weight")


@dataclass(frozen=True)
class DrawnNetwork:
    """A network whose discipline and tuned parameters are given.

    Attributes:
        name: for tables, and what the rest is drawn from.
        queue: the discipline, and what of it is not as usual.
        parameters: of each queue, that are tuned.
        links: how many such queues in a row.
        wants: "target" for a queue that stands at a length, "power" for goodput per delay.
    """

    name: str
    queue: Mapping[str, Any]
    parameters: tuple[str, ...]
    links: int = 1
    wants: str = "target"

    @property
    def is_ordered(self) -> bool:
        """Whether two of the parameters must keep an order."""
        ordered = disciplines()[self.queue["discipline"]].ordered
        return any(set(pair) <= set(self.parameters) for pair in ordered)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The scenario."""
        draw = random.Random(f"{SEED} {self.name}")  # noqa: S311 - no secret
        rate = _between(draw, 3e6, 40e6)
        trip = _between(draw, 0.015, 0.12)
        size = draw.choice((1000, 1500))
        per_second = rate / (8 * size)
        target = draw.uniform(8.0, 45.0)
        window = _between(draw, 3.0, 25.0)
        count = max(3, round((per_second * trip + target) / window))
        senders = [draw.choice(("newreno", "sack", "cubic", "reno")) for _ in range(2)]
        links = [f"hop-{number + 1}" for number in range(self.links)]
        warm_up = max(2.0, 25.0 * trip)
        flows: dict[str, Any] = {
            "near": _flows(count - count // 2, 0.7 * trip, senders[0], size, links),
            "far": _flows(count // 2, 1.3 * trip, senders[1], size, links),
        }
        if self.links > 1:
            flows |= {
                f"only-{link}": _flows(max(2, count // 2), trip, senders[0], size, [link])
                for link in links
            }
        if draw.random() < 0.5:  # noqa: PLR2004 - every other network
            flows["voice"] = {
                "path": links,
                "count": 4,
                "packet_size": "200 bytes",
                "traffic": {"kind": "constant-rate", "rate": f"{0.02 * rate:.0f} bit/s"},
            }
        if self.wants == "power":
            objective = {"name": "power", "link": links[0], "base_delay": f"{1e3 * trip:.3f} ms"}
        else:
            objective = {
                "name": "queue-deviation",
                "link": links[0],
                "target": f"{target:.0f} packets",
            }
        return {
            "title": self.name,
            "duration": f"{warm_up + PACKETS / per_second:.2f} s",
            "warm_up": f"{warm_up:.2f} s",
            "links": {
                link: {
                    "rate": f"{rate * 1.1**place:.0f} bit/s",
                    "delay": f"{1e3 * trip / 8 / self.links:.3f} ms",
                    "queue": {"limit": "120 packets", **self.queue},
                }
                for place, link in enumerate(links)
            },
            "flows": flows,
            "tuning": {
                "parameters": [
                    f"links.{link}.queue.{name}" for link in links for name in self.parameters
                ],
                "objective": objective,
                "constraints": [],
            },
        }

    def surface(
        self, space_of: Callable[[Space], Space]
    ) -> tuple[Space, list[Point], Callable[[Mapping[str, float], Sequence[int]], float]]:
        """The box, where a tuning begins, and the value of a setting over some seeds.

        It begins nowhere in particular where the discipline sets some of the parameters itself. The
        value is to be minimised.

        Args:
            space_of: makes another box of the usual one.
        """
        scenario = scenario_from_document(self.document, self.name)
        space = space_of(Space.from_scenario(scenario))
        objective = objective_of(scenario)
        candidates = Candidates(scenario, space.names)
        starts = [space.point(each) for each in complete(_setting(scenario, space.names))]

        def mean(setting: Mapping[str, float], seeds: Sequence[int]) -> float:
            [results] = run_many([candidates.text(setting)], seeds, threads=1)
            return fmean(objective.evaluate(each) for each in results if each is not None)

        return space, starts, mean


def _setting(scenario: Scenario, names: Iterable[str]) -> dict[str, float | None]:
    return {name: scenario.get(name) for name in names}


def _between(draw: random.Random, low: float, high: float) -> float:
    """Between two ends, each octave with the same probability."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def _flows(count: int, trip: float, sender: str, size: int, path: Sequence[str]) -> dict[str, Any]:
    return {
        "path": list(path),
        "count": count,
        "rtt": f"{1e3 * trip:.3f} ms",
        "sender": sender,
        "packet_size": f"{size} bytes",
        "start": "0 s .. 1 s",
    }


def _plain(name: str, parameters: Sequence[str], **more: Any) -> DrawnNetwork:  # noqa: ANN401 - of any kind
    """A network with a discipline as usual."""
    fields = {key: more.pop(key) for key in ("links", "wants") if key in more}
    label = more.pop("label", f"{name}, {len(parameters)}")
    return DrawnNetwork(label, {"discipline": name, **more}, tuple(parameters), **fields)


DRAWN_NETWORKS: Final = (
    _plain("red", _THRESHOLDS),
    _plain("red", _RED[:3], gentle=True, label="gentle red, 3"),
    _plain("red", _RED, label="red for power, 4", wants="power"),
    _plain("ns2-red", _RED, gentle=False),
    _plain("linux-red", (*_RED[:3], "weight_log"), limit="180000 bytes"),
    _plain("adaptive-red", (*_THRESHOLDS, "weight")),
    _plain("nonlinear-red", _RED),
    _plain("vred", (*_RED, "growth_threshold", "observation_time")),
    _plain("red", _RED[:3], links=2, label="two reds, 6"),
    _plain("codel", ("target", "interval")),
    _plain("pie", ("target", "alpha", "beta")),
    _plain("rem", ("target_queue", "gain", "base", "queue_weight")),
)  # fmt: skip
