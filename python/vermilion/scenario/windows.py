"""The stretches of time over which metrics are reported, as the simulator has them.

A phase begins where flows of a group begin to start or to stop, and at each change of a link. A
range of starts or stops that lasts longer than the settling time also ends a phase at its end.
Measured is a phase without its first settling time, the first one without the warm-up.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vermilion.scenario.core_scenario import CoreScenario

Window = tuple[int, int]
"""Beginning and end, ns."""


def windows(scenario: CoreScenario) -> tuple[Window, list[Window]]:
    """The whole measured time, and that of each phase of which something is left."""
    instants = {change.at_ns for change in scenario.changes}
    for group in scenario.flows:
        for begin, end in (group.start_ns, *([group.stop_ns] if group.stop_ns else [])):
            instants.add(begin)
            if end - begin > scenario.settle_ns:
                instants.add(end)
    inner = sorted(each for each in instants if 0 < each < scenario.duration_ns)
    phases = []
    for begin, end in pairwise([0, *inner, scenario.duration_ns]):
        settled = 0 if begin == 0 else begin + scenario.settle_ns
        measured = max(settled, scenario.warm_up_ns)
        if measured < end:
            phases.append((measured, end))
    return (scenario.warm_up_ns, scenario.duration_ns), phases
