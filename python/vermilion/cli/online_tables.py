"""The table of ``vermilion online``: the network kept tuned beside the one left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.cli.compare_tables import print_comparison
from vermilion.simulate.comparison import Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.online.record import OnlineRun


def print_outcome(runs: Sequence[OnlineRun]) -> None:
    """Prints what both networks measured, phase by phase, over the seeds."""
    from vermilion.objectives.queue_deviation import QueueDeviation

    first = runs[0]
    objective = QueueDeviation(first.link, first.target_packets)
    print_comparison(
        Comparison(
            names=("left alone", "kept tuned"),
            seeds=tuple(run.seed for run in runs),
            results=(
                tuple(run.reference for run in runs),
                tuple(run.tuned for run in runs),
            ),
            measures={objective.name: objective.value},
            scenarios=(first.scenario, first.scenario),
            measure_units={objective.name: objective.unit},
        )
    )
