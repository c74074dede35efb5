"""Whether what the log says is so, by the numbers of the very network it speaks of.

A push is judged by running the same network, same seed, with every push before it and without it;
up to the next push the two differ by that push alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

import vermilion
from online_networks.network import LINK
from vermilion.objectives import objective_of
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario import disciplines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from online_networks.network import Network
    from vermilion.online import Decision, OnlineRun
    from vermilion.simulate import Result

PROBE_INTERVAL_S = 0.05
LONGEST_JUDGED_S = 5.0
"""How long after a push its consequences are compared."""
SHORTEST_JUDGED_S = 1.0
SILENCE_S = 1.0
SILENT_SHARE = 0.01
"""Of the link's usual rate: what is sent in a second of silence at most."""
NOTICED = 0.05
"""By which share a deviation must be larger to count as worse."""
NEARER = "nearer to them than the setting in force"
ACTING = ("model-built", "tuned", "applied")


def says_not_explained(decision: Decision) -> bool:
    """Whether a decision says that the model does not explain the network."""
    text = f"{decision.kind} {decision.reason}".replace("-", " ").lower()
    found = re.search(r"not explain|unexplain|does not explain|no model explains", text)
    return found is not None


def has_predecessor(verified: Decision) -> bool:
    """Whether a verification compares with what was measured under the setting before it."""
    if any("before" in key and value is not None for key, value in verified.details.items()):
        return True
    return re.search(r"\bbefore:? [\d.]", verified.reason) is not None


def named_sender(reason: str) -> str | None:
    """The congestion control that a sentence names as the best explanation."""
    found = re.search(r"explained best by (\w+)", reason)
    return None if found is None else found[1]


def silence(run: OnlineRun) -> dict[str, Any]:
    """What was modelled, found or applied after a second in which the link sent nothing."""
    series = run.tuned.series(LINK)
    times, sent = series["time_s"], series["throughput_bit_per_s"]
    least = SILENT_SHARE * float(np.median(sent[sent > 0.0])) if (sent > 0.0).any() else 0.0
    silent = 0
    for each in run.decisions:
        if each.kind in ACTING and each.time_s > SILENCE_S:
            lately = (times > each.time_s - SILENCE_S) & (times <= each.time_s)
            silent += bool(lately.any() and sent[lately].mean() <= least)
    return {"decided_in_silence": silent}


def replayed(network: Network, run: OnlineRun) -> dict[str, Any]:
    """How many pushes made it worse, and how often the answer was nearer as the log says."""
    objective = objective_of(run.scenario)
    if not isinstance(objective, QueueDeviation):
        return {}
    # One in the last moment has no consequences, and no scenario may have it.
    settings = [each for each in run.settings if each[0] < run.scenario.duration]
    pushes = _pushes(network, settings)
    if not pushes:
        return {"replay_exact": True, "judged": 0, "made_worse": 0, "nearer_said": 0}
    same = _again(network, pushes, run.seed)
    if not _same(same, run.tuned):
        return {"replay_exact": False}
    ends = [time_s for time_s, _ in pushes[1:]] + [run.scenario.duration]
    nearer = {each.time_s for each in run.decisions if NEARER in each.reason}
    ratios, said, false = [], 0, 0
    for number, ((time_s, _), end_s) in enumerate(zip(pushes, ends, strict=True)):
        until_s = min(end_s, time_s + LONGEST_JUDGED_S)
        if until_s - time_s < SHORTEST_JUDGED_S:
            continue
        without = _again(network, pushes[:number], run.seed)
        with_it = _deviation(run.tuned, time_s, until_s, objective.target)
        without_it = _deviation(without, time_s, until_s, objective.target)
        ratios.append((with_it + 1.0) / (without_it + 1.0))
        if time_s in nearer:
            said += 1
            false += ratios[-1] >= 1.0
    return {
        "replay_exact": True,
        "judged": len(ratios),
        "made_worse": sum(ratio > 1.0 + NOTICED for ratio in ratios),
        "nearer_said": said,
        "nearer_false": false,
    }


def _pushes(
    network: Network, settings: Sequence[tuple[float, Mapping[str, float]]]
) -> list[tuple[float, dict[str, Any]]]:
    """Each push as a change of a scenario: its time and what it changed."""
    discipline = network.document["links"][LINK]["queue"]["discipline"]
    table = disciplines()[discipline].parameters
    tuned = [path.rpartition(".")[2] for path in network.document["tuning"]["parameters"]]
    return [
        (time_s, {name: table[name].exact_text(_whole(values[name])) for name in tuned})
        for time_s, values in settings[1:]
    ]


def _whole(value: float) -> float:
    """A whole number as one: some parameters take no other."""
    return int(value) if value == int(value) else value


def _again(
    network: Network, pushes: Sequence[tuple[float, Mapping[str, Any]]], seed: int
) -> Result:
    changes = [{"at": f"{time_s!r} s", "link": LINK, "queue": dict(q)} for time_s, q in pushes]
    return vermilion.run(network.scenario(changes), seed=seed, probe_interval_s=PROBE_INTERVAL_S)


def _queue(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    series = result.series(LINK)
    return series["time_s"], series["queue_packets"]


def _same(one: Result, other: Result) -> bool:
    """Whether two runs are the same one."""
    return bool(np.array_equal(_queue(one)[1], _queue(other)[1]))


def _deviation(result: Result, begin_s: float, end_s: float, target: float) -> float:
    """The mean squared deviation of the instantaneous queue from the target over a while."""
    times, queue = _queue(result)
    meant = (times > begin_s) & (times <= end_s)
    return float(np.square(queue[meant] - target).mean())
