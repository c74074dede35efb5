"""A controller that changes nothing that matters: what chance alone does to the bounds of harm.

Flows that share a queue are chaotic. From the first packet that is dropped a moment earlier or
later, which flow waits for a timeout and which is the slowest is drawn anew, so that any change of
a setting makes some bound of harm look broken now and then. How often, this says: at the moment at
which a controller makes its first change, one parameter is raised by one per cent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.online.drive.run import PROBE_INTERVAL_S, SimulatedPlant
from vermilion.online.entries import OnlineRun
from vermilion.online.policy import stated_policy

if TYPE_CHECKING:
    from vermilion.scenario import Scenario

CHANGED_AT_S: Final = 2.8
CHANGE: Final = 1.01


def placebo(scenario: Scenario, seed: int) -> OnlineRun:
    """The network with such a change, beside the same network left alone."""
    policy = stated_policy(scenario)
    plant = SimulatedPlant(PROBE_INTERVAL_S)
    with plant.under_control(scenario, (policy.link,), seed, "full") as network:
        router = network.router
        router.wait(CHANGED_AT_S)
        before = router.parameters()
        name = next(name for name in policy.parameters if isinstance(before[name], float))
        router.apply({name: CHANGE * float(before[name] or 0.0)})
        router.wait(scenario.duration)
        touched = network.result(PROBE_INTERVAL_S)
    return OnlineRun(
        scenario=scenario,
        seed=seed,
        link=policy.link,
        objective=policy.objective,
        parameters=policy.parameters,
        decisions=(),
        settings=(),
        tuned=touched,
        reference=plant.left_alone(scenario, seed, PROBE_INTERVAL_S),
        links=(),
    )
