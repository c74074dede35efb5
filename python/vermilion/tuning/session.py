"""Session of a tuning: how long, with whom, kept where. Its outcome is the plan's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.scenario.errors import ScenarioError
from vermilion.tuning.memory import RememberedRuns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.simulate.batches import BatchRunner
    from vermilion.tuning.earlier_answers import AnswerFile
    from vermilion.tuning.memory import Runner
    from vermilion.tuning.plan import TuningPlan
    from vermilion.tuning.state import ProgressReport
    from vermilion.tuning.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningSession:
    """Settings that may differ whenever the same tuning is done, or gone on with.

    A deadline cuts a tuning short; earlier answers and an earlier search are where it begins. But
    for these the outcome does not depend on any of it.

    Attributes:
        deadline_s: wall seconds for everything.
        threads: simulations at a time; ``None`` for one on each core.
        workers: of a cluster (:func:`vermilion.simulate.batches.dask_workers`), which do
            the longer simulations; the outcome is the same.
        progress: called now and then.
        study: keeps all of it in a file while it goes. If this tuning is the one that the study
            was begun with, it goes on where that stopped, with the outcome of a tuning that never
            stopped; the budget and the session may be others. With another budget a front is that
            of a search with this budget from the beginning.
        answers: earlier answers, of one scenario's best setting only; those to the most similar
            conditions are tried after the plan's warm starts, and an accepted recommendation is
            added.
        resume: the ``search_state`` of an earlier recommendation, to go on with it; of one
            scenario's best setting only.
    """

    deadline_s: float | None = None
    threads: int | None = None
    workers: BatchRunner | None = None
    progress: ProgressReport | None = None
    study: Study | None = None
    answers: AnswerFile | None = None
    resume: Mapping[str, Any] | None = None

    @property
    def runner(self) -> Runner | None:
        """Whatever simulates what is no setting of the tuning; a study remembers it."""
        if self.study is None:
            return self.workers
        return RememberedRuns(self.study, self.workers, self.threads)

    def check(self, plan: TuningPlan) -> None:
        """Refuses what does not go with a plan, or with each other.

        Raises:
            ValueError: saying what.
        """
        if self.deadline_s is not None and not 0.0 <= self.deadline_s < math.inf:
            accepted = "seconds from 0 on, or None for no deadline"
            raise ScenarioError("deadline_s", self.deadline_s, accepted)
        if self.study is not None and self.resume is not None:
            message = "a study has its own search; expected resume or a study"
            raise ValueError(message)
        for name, given in (("answers", self.answers), ("resume", self.resume)):
            if given is not None and plan.kind != "setting":
                message = f"{name} is of one scenario's best setting; expected none for this tuning"
                raise ValueError(message)
