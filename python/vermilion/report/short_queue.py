"""The simplest thing that keeps a queue near a target: cut it off there, and drop what comes after.

A drop-tail queue with the target as its limit moves as little as the best tuned one. What it
costs, to flows that are locked out above all, is seen only when it stands beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vermilion.scenario.errors import ScenarioError
from vermilion.simulate.runs import run_many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.entries import OnlineRun
    from vermilion.simulate import Result


@dataclass(frozen=True, slots=True)
class OtherQueue:
    """Another way of managing the queue of an on-line run, for comparison.

    Attributes:
        name: what it is: "drop-tail, limit 30".
        results: the outcome for each seed of the runs, in their order.
    """

    name: str
    results: tuple[Result, ...]


def short_queue(runs: Sequence[OnlineRun]) -> OtherQueue | None:
    """The network of an on-line run with a drop-tail queue of the target's length.

    Args:
        runs: one scenario under different seeds; at least one.

    Returns:
        ``None`` where the goal is not to hold the queue, or the scenario cannot have such a queue:
        a change in it sets a parameter that drop-tail does not have, for example.
    """
    first = runs[0]
    if first.target_packets is None:
        return None
    limit = max(1, round(first.target_packets))
    queue = f"links.{first.link}.queue"
    try:
        scenario = first.scenario.with_values(
            {f"{queue}.discipline": "drop-tail", f"{queue}.limit": limit}
        )
    except ScenarioError:
        return None
    [results] = run_many([scenario], seeds=[run.seed for run in runs])
    return OtherQueue(
        f"drop-tail, limit {limit}", tuple(each for each in results if each is not None)
    )
