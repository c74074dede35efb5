"""Session of every kind of ``vermilion tune``: how long, with whom, kept where, shown how."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from vermilion.cli import options
from vermilion.cli.exit_codes import EXIT_INTERRUPTED
from vermilion.cli.output import STANDARD_OUTPUT, output_file, say
from vermilion.cli.progress import ProgressBar
from vermilion.cli.user_error import UserError
from vermilion.scenario.how_many import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from vermilion.tuning import ProgressReport, Study, TuningPlan, TuningProgress, TuningSession
    from vermilion.tuning.robust_recommendation import Conclusion

EXIT_CODES: Final[Mapping[Conclusion, int]] = {"recommended": 0, "kept": 10, "refused": 11}
"""What ``--exit-code`` makes of a recommendation."""


_IN_WORDS: Final[Mapping[str, str]] = {
    "refinement": "refining along the edge",
    "rivals": "measuring the rivals",
    "neighbourhood": "checking the neighbourhood",
    "alternatives": "looking for a sturdier one",
}
"""What a bar calls the stages whose names do not speak for themselves."""


class Tuned(Protocol):
    """Outcome of a tuning."""

    @property
    def end(self) -> str:
        """Reason for the end."""

    def to_json(self) -> str:
        """All of it."""


AnyTuned = TypeVar("AnyTuned", bound=Tuned)


@dataclass(frozen=True, slots=True)
class Session:
    """Options of any tuning that may also change when a study is gone on with.

    Attributes:
        target: of the JSON; ``None`` for none.
        budget: settings; ``None`` for what is usual, or what the study has.
        deadline_s: wall seconds; ``None`` for as long as it takes.
        threads: simulations at a time.
        dask: the address of a scheduler, if there is one.
        study: the file in which it is kept, if it is.
        study_name: which study of the file.
        tells_conclusion: whether the exit code is to tell what the tuning has come to.
    """

    target: str | None
    budget: int | None
    deadline_s: float | None
    threads: int | None
    dask: str | None
    study: str | None
    study_name: str | None
    tells_conclusion: bool = False

    @property
    def usual_budget(self) -> int:
        """The budget that is said, or what is usual."""
        from vermilion.tuning import DEFAULT_BUDGET

        return self.budget or DEFAULT_BUDGET

    def planned(self, plan: TuningPlan, study: Study | None) -> TuningPlan:
        """A plan with the budget that is said, or else with what its study has."""
        begun = None if study is None else study.budget
        return replace(plan, budget=self.budget or begun or plan.budget)

    def perform(self, tuning: Callable[[TuningSession], AnyTuned]) -> AnyTuned:
        """Tunes, and shows and writes what it has come to.

        Args:
            tuning: does it in a session.

        Raises:
            UserError: a file that cannot be written, or workers that cannot be used.
        """
        from vermilion.tuning import TuningSession

        with output_file("--json", self.target or STANDARD_OUTPUT) as file:
            with (
                options.dask(self.dask) as workers,
                self._opened() as study,
                ProgressBar("search", self.usual_budget) as bar,
            ):
                session = TuningSession(
                    deadline_s=self.deadline_s,
                    threads=self.threads,
                    workers=workers,
                    progress=report_to(bar),
                    study=study,
                )
                outcome = tuning(session)
            if self.target is not None:
                file.write(f"{outcome.to_json()}\n")
        if self.target != STANDARD_OUTPUT:
            say(str(outcome))
            if self.study is not None:
                say(self._words_about_the_study())
        return outcome

    @contextmanager
    def _opened(self) -> Iterator[Study | None]:
        """The study that is asked for, if one is.

        Raises:
            UserError: the file cannot be used, or its study is of another tuning.
        """
        if self.study is None:
            yield None
            return
        from vermilion.tuning import Study, StudyError

        try:
            with Study(self.study, self.study_name) as study:
                yield study
        except StudyError as error:
            message = f"--study: {error}"
            raise UserError(message) from None

    def _words_about_the_study(self) -> str:
        named = [] if self.study_name is None else ["--study-name", self.study_name]
        page = shlex.join(["vermilion", "report", str(self.study), *named])
        return f"\nkept in {self.study}; for a page about it: {page}"


def exit_code(outcome: Tuned, *, tells_conclusion: bool = False) -> int:
    """130 after Ctrl-C, though there is an outcome; else 0, or what the conclusion stands for."""
    from vermilion.tuning import Recommendation, RobustRecommendation
    from vermilion.tuning.robust_recommendation import conclusion_of

    if outcome.end == "interrupted":
        return EXIT_INTERRUPTED
    if tells_conclusion and isinstance(outcome, Recommendation | RobustRecommendation):
        return EXIT_CODES[conclusion_of(outcome)]
    return 0


def report_to(bar: ProgressBar) -> ProgressReport | None:
    """Return a callback that shows progress on a bar; ``None`` where there is none."""
    update: Callable[[float], object] | None = bar.callback
    if update is None:
        return None

    def report(progress: TuningProgress) -> None:
        stage = _IN_WORDS.get(progress.stage, progress.stage)
        bar.describe(f"{stage}{_best_so_far(progress)}", progress.total)
        update(progress.done)

    return report


def _best_so_far(progress: TuningProgress) -> str:
    """The best value with its interval, and the incumbent's; "" where nothing is told of them."""
    if progress.incumbent is None:
        return ""
    now = f", now {progress.incumbent:.4g}"
    if not progress.feasible:
        return f": nothing keeps the constraints yet{now}"
    best = f"{progress.best:.4g}"
    if progress.interval is not None and progress.interval.half_width is not None:
        best += (
            f" +- {progress.interval.half_width:.2g} ({how_many(progress.interval.count, 'seed')})"
        )
    return f": best {best}{now}"
