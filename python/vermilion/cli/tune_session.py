"""Session of every kind of ``vermilion tune``: how long, with whom, kept where, shown how."""

from __future__ import annotations

import shlex
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from vermilion.cli import options
from vermilion.cli.endings import EXIT_INTERRUPTED, UserError
from vermilion.cli.output import (
    STANDARD_OUTPUT,
    FigureFile,
    binary_output_file,
    check_outputs,
    figure_format,
    output_file,
    say,
)
from vermilion.cli.progress import ProgressBar
from vermilion.scenario.quantities import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import typer

    from vermilion.tuning import (
        ProgressReport,
        Recommendation,
        Study,
        TuningPlan,
        TuningProgress,
        TuningSession,
    )
    from vermilion.tuning.plan import Kind
    from vermilion.tuning.robust_recommendation import Conclusion

EXIT_CODES: Final[Mapping[Conclusion, int]] = {"recommended": 0, "kept": 10, "refused": 11}
"""What ``--exit-code`` makes of a recommendation."""


_IN_WORDS: Final[Mapping[str, str]] = {
    "rivals": "measuring the baselines",
    "neighbourhood": "checking the neighbourhood",
}
"""What a bar calls the stages whose names do not speak for themselves."""


class Tuned(Protocol):
    """Outcome of a tuning."""

    @property
    def end(self) -> str:
        """Reason for the end."""

    @property
    def summary(self) -> str:
        """A screen of text."""

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
        everything: whether all of the outcome is shown.
    """

    target: str | None
    budget: int | None
    deadline_s: float | None
    threads: int | None
    dask: str | None
    study: str | None
    study_name: str | None
    tells_conclusion: bool = False
    everything: bool = False

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
            say(str(outcome) if self.everything else outcome.summary)
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


NO_SCENARIO: Final = (
    "SCENARIO is missing; expected one (see vermilion scenarios) or an existing --study "
    "FILE; see vermilion tune --help"
)

_OF_A_SESSION: Final = frozenset(
    {
        "scenarios",
        "study",
        "study_name",
        "budget",
        "deadline",
        "threads",
        "dask",
        "target",
        "tells_conclusion",
        "everything",
    }
)
"""Options that may be given when a study is resumed; all else is in the study."""


def check_study_options(
    context: typer.Context,
    scenarios: Sequence[str],
    study: str | None,
    study_name: str | None,
    resume: Path | None,
) -> None:
    """Refuses options that do not go with a study, or without one.

    Raises:
        UserError: saying which.
    """
    wrong = {
        NO_SCENARIO: not scenarios and study is None,
        "--study-name: expected --study FILE with it": study_name is not None and study is None,
        "--resume and --study: expected one of them": study is not None and resume is not None,
    }
    for message, applies in wrong.items():
        if applies:
            raise UserError(message)
    for name in () if scenarios else context.params:
        if name not in _OF_A_SESSION and is_explicit(context, name):
            message = (
                f"the study sets {name.replace('_', ' ')} already; expected only "
                "--budget, --deadline, --threads, --dask, --json, --all and --exit-code without "
                "a scenario"
            )
            raise UserError(message)


def is_explicit(context: typer.Context, option: str) -> bool:
    """True if an option is on the command line, and not just at its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def go_on(session: Session) -> int:
    """Goes on with a study from its file alone.

    Raises:
        UserError: there is none, or it cannot be used.
        ScenarioError: its scenario names files that are not there any more.
    """
    from vermilion.tuning import execute
    from vermilion.tuning.execution import plan_of

    def resumed(of_session: TuningSession) -> Tuned:
        study = of_session.study
        if study is None:
            raise UserError(NO_SCENARIO)
        plan = plan_of(study)
        check_exit_code(plan.kind, asked=session.tells_conclusion)
        return execute(session.planned(plan, study), of_session)

    return exit_code(session.perform(resumed), tells_conclusion=session.tells_conclusion)


def check_exit_code(kind: Kind, *, asked: bool) -> None:
    """Refuses to tell what a front recommends.

    Raises:
        UserError: it recommends nothing.
    """
    if asked and kind == "front":
        message = "--exit-code needs a recommendation; a front (--pareto) has none"
        raise UserError(message)


class TuneFigure(FigureFile):
    """Figure of a tuning, opened before the work begins. A context manager.

    Raises:
        UserError: a name of no known format, or two outputs that would mix.
    """

    def __init__(self, figure: str | None, target: str | None, *, plot: bool) -> None:
        """Args: the file of the figure, that of the JSON, and whether to draw in the terminal."""
        check_outputs(json=target, figure=figure)
        if plot and STANDARD_OUTPUT in {figure, target}:
            message = "--plot goes to standard output; expected a file name"
            raise UserError(message)
        super().__init__(figure)
        self._plot = plot

    def draw(self, plan: TuningPlan, outcome: Recommendation) -> None:
        """Simulates both settings once more, and draws them."""
        if self.file is None and not self._plot:
            return
        from vermilion.report.tuned_figure import tuned_figure
        from vermilion.tuning.preparation import tuned_scenarios

        [tuned] = tuned_scenarios(plan)
        drawn = tuned_figure(
            tuned.scenario,
            outcome.parameters,
            recommended=outcome.accepted,
            reason=outcome.reason,
            seed=outcome.seeds.comparison[0],
        )
        if self.file is not None:
            self.file.write(drawn.rendered(self.kind, outcome._repr_html_()))
        if self._plot:
            from vermilion.cli.output import show_panels

            show_panels(drawn.panels())


def tune_front(plan: TuningPlan, session: Session, figure: str | None) -> int:
    """Searches a front, shows it, and writes what was asked for.

    Args:
        plan: of the front.
        session: how long, with whom, kept where.
        figure: a file for it; ``None`` for none.

    Raises:
        UserError: a file that cannot be written, or a figure of no known format.
        ScenarioError: what is asked for does not fit the scenario.
    """
    from vermilion.tuning.execution import execute_by
    from vermilion.tuning.pareto import front_of

    kind = "" if figure is None else figure_format(figure)
    with ExitStack() as outputs:
        drawing = figure and outputs.enter_context(binary_output_file("--figure", figure))
        front = session.perform(
            lambda of: execute_by(front_of, session.planned(plan, of.study), of)
        )
        if drawing:
            from vermilion.report.front import rendered

            drawing.write(rendered(front, kind))
    return exit_code(front)
