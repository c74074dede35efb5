"""What to say where no fresh seed changes a run: intervals of no width are not certainty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.scenario.how_many import how_many
from vermilion.simulate.same_runs import are_nearly_the_same_run, are_the_same_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion.simulate import Result

    Runs = Sequence[Result]

_IN_FORCE = "the setting in force"


def chance_warnings(best: Runs, incumbent: Runs) -> tuple[str, ...]:
    """That seeds change next to nothing with one of two settings, or with both; else nothing.

    Args:
        best: the runs of the best setting found, one for each fresh seed.
        incumbent: those of the setting in force.
    """
    named = (("the best setting found", best), (_IN_FORCE, incumbent))
    unmoved = [(name, runs) for name, runs in named if are_nearly_the_same_run(runs)]
    of = "" if len(unmoved) == len(named) else " and ".join(name for name, _ in unmoved)
    return _warnings([runs for _, runs in unmoved], of)


def chance_warnings_of_front(points: Sequence[Runs], incumbent: Runs) -> tuple[str, ...]:
    """The same of a front.

    Args:
        points: the runs of each of its settings, one for each fresh seed.
        incumbent: those of the setting in force.
    """
    unmoved = [runs for runs in points if are_nearly_the_same_run(runs)]
    in_force = [incumbent] if are_nearly_the_same_run(incumbent) else []
    if in_force and len(unmoved) == len(points):
        return _warnings([*in_force, *unmoved], "")
    some = f"{len(unmoved)} of {how_many(len(points), 'setting')}" if unmoved else ""
    of = " and ".join(name for name in (_IN_FORCE if in_force else "", some) if name)
    return _warnings([*in_force, *unmoved], of)


def _warnings(unmoved: Sequence[Runs], of: str) -> tuple[str, ...]:
    if not unmoved:
        return ()
    nearly = "" if all(map(are_the_same_run, unmoved)) else "nearly "
    run = f"{nearly}the same run{f' of {of}' if of else ''}"
    return (f"every fresh seed gave {run}, so its intervals say nothing about chance",)
