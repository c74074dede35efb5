"""``vermilion tune``: searches the best setting of a queue, and says whether to use it."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vermilion.cli import completion, options
from vermilion.cli.endings import UserError
from vermilion.cli.options import Plot
from vermilion.cli.output import STANDARD_OUTPUT, note, say
from vermilion.cli.tune_plan import (
    boxes_of,
    check_together,
    command_to_see,
    fidelity_of,
    kind_of,
    over_of,
    share_of,
    weights_of,
)
from vermilion.cli.tune_session import (
    Session,
    TuneFigure,
    check_exit_code,
    check_study_options,
    exit_code,
    go_on,
    is_explicit,
    tune_front,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vermilion.tuning import AnswerFile, Recommendation, TuningPlan, TuningSession


def tune(
    context: typer.Context,
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO...",
            help="Scenario file (TOML) or shipped name; several with --robust; none with "
            "an existing --study.",
            show_default=False,
            autocompletion=completion.scenario_names,
        ),
    ] = None,
    *,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            min=1,
            help="Maximum of settings to simulate (default: 400, or the study's).",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Time limit, like "30 s".', show_default=False),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Search algorithm (default: localised-recursive-random-search, cma-es "
            "above three parameters; fronts: gaussian-process, cma-es above six).",
            autocompletion=completion.search_names,
        ),
    ] = "automatic",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PATH",
            help="Parameter to tune instead of the scenario's. Repeatable.",
            show_default=False,
            autocompletion=completion.paths,
        ),
    ] = None,
    boxes: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="PATH=LOW..HIGH",
            help="Box of a parameter instead of the scenario's, like "
            "links.bottleneck.queue.weight=0.001..0.5. Repeatable.",
            show_default=False,
            autocompletion=completion.paths,
        ),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="TEXT",
            help="Objective instead of the scenario's, like 'minimise "
            "links.bottleneck.sojourn_ms.p99' or '{ name = \"jain-index\" }'. Twice "
            "with --pareto.",
            show_default=False,
        ),
    ] = None,
    discipline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Replace the tuned queues' discipline first.",
            show_default=False,
            autocompletion=completion.discipline_names,
        ),
    ] = None,
    constraints: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            metavar="TEXT",
            help="Constraint instead of the scenario's, like "
            "'links.bottleneck.utilization >= 0.95'. Repeatable.",
            show_default=False,
        ),
    ] = None,
    harm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH=MARGIN",
            help="Margin of harm, or none. Repeatable.",
            show_default=False,
        ),
    ] = None,
    minimum_improvement: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help='Least gain worth a change, like "5 %" or 0.05.',
            show_default=False,
        ),
    ] = None,
    exactly: Annotated[
        bool,
        typer.Option(
            "--exactly",
            "--no-robustness",
            help="Only the conditions as given: no other numbers of flows or round trips, no "
            "newcomers.",
        ),
    ] = False,
    no_rivals: Annotated[
        bool,
        typer.Option(
            "--no-baselines",
            "--no-rivals",
            help="Skip the baselines (what an engineer would set).",
        ),
    ] = False,
    pareto: Annotated[
        bool,
        typer.Option(
            "--pareto",
            help="Search the Pareto front of two objectives (default: queueing delay and "
            "utilisation).",
        ),
    ] = False,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the queue now and tuned, or the front: .svg, .png, .pdf or .html.",
            show_default=False,
        ),
    ] = None,
    plot: Plot = False,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="worst|mean",
            help="Search one setting for several scenarios, by the worst or the mean.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help='Weights of the scenarios, like "2,1" (default: equal).',
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device whose values to propose, with its command: linux-red, sonic, "
            "cisco, linux-codel, linux-pie, linux-fifo, linux-fq, linux-fq-codel, "
            "linux-fq-pie or linux-cake.",
            show_default=False,
            autocompletion=completion.profile_names,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Interface or WRED profile in the command.",
            show_default=False,
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help='Parent class, like "1:10" (Linux).',
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Study file (SQLite) to write or continue.",
            show_default=False,
        ),
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Study of the file (default: its only one).",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON of an earlier tuning to continue.",
            show_default=False,
        ),
    ] = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(
            "--warm-start",
            metavar="FILE",
            help="File of earlier answers to start from and add to.",
            show_default=False,
        ),
    ] = None,
    fidelity: Annotated[
        str,
        typer.Option(
            metavar="auto|full",
            help="Shorter simulations where they rank settings alike.",
        ),
    ] = "auto",
    seed: options.Seed = 1,
    overrides: options.Overrides = None,
    plugins: options.Plugins = None,
    threads: options.Threads = None,
    dask: options.Dask = None,
    target: options.Json = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every figure, condition and seed.")
    ] = False,
    tells_conclusion: Annotated[
        bool,
        typer.Option(
            "--exit-code",
            help="Exit 0 if a setting is recommended, 10 if the present one is kept, 11 "
            "if the best is refused.",
        ),
    ] = False,
) -> int:
    """Search the best setting of a queue.

    What to tune, for which objective and under which constraints is in the scenario's [tuning]
    table. The best setting found meets the present one on fresh seeds; it is recommended only
    if it is significantly better and keeps every constraint.
    """
    from dataclasses import replace

    from vermilion.advise.options import check_word
    from vermilion.profiles import Place
    from vermilion.scenario import load_scenario
    from vermilion.tuning import TuningPlan, execute
    from vermilion.tuning.preparation import tuned_scenarios

    check_study_options(context, scenarios or (), study, study_name, resume)
    check_together(
        scenarios or [""],
        robust,
        objectives or (),
        figure,
        weights,
        {
            "--resume": resume is not None,
            "--warm-start": warm_start is not None,
            "--plot": plot,
        },
        pareto=pareto,
    )
    kind, length = kind_of(robust, pareto=pareto), fidelity_of(fidelity)
    check_exit_code(kind, asked=tells_conclusion)
    if pareto and fidelity == "auto" and is_explicit(context, "fidelity"):
        message = "--fidelity auto cannot be used with --pareto; expected full"
        raise UserError(message)
    if profile is None and (device is not None or parent is not None):
        message = "--device and --parent: expected --profile with them"
        raise UserError(message)
    options.load_plugins(plugins)
    session = Session(
        target,
        budget,
        None if deadline is None else options.seconds("--deadline", deadline),
        threads,
        dask,
        study,
        study_name,
        tells_conclusion,
        everything,
    )
    if not scenarios:
        return go_on(session)
    drawn = TuneFigure(figure, target, plot=plot)
    plan = TuningPlan(
        scenarios=tuple(load_scenario(scenario, overrides or ()) for scenario in scenarios),
        kind=kind,
        over=over_of(robust),
        weights=weights_of(weights),
        parameters=None if parameters is None else tuple(parameters),
        discipline=discipline,
        objectives=tuple(objectives or ()),
        constraints=None if constraints is None else tuple(constraints),
        harm=None if harm is None else tuple(harm),
        minimum_improvement=share_of("--minimum-improvement", minimum_improvement),
        exactly=exactly,
        rivals=not no_rivals,
        profile=profile,
        place=Place(check_word("--device", device), check_word("--parent", parent)),
        search=search,
        budget=session.usual_budget,
        seed=seed,
        fidelity="auto" if pareto else length,
    )
    if boxes:
        plan = replace(plan, boxes=boxes_of(tuned_scenarios(plan)[0].scenario, boxes))
    for remark in dict.fromkeys(
        str(report) for tuned in tuned_scenarios(plan) for report in tuned.carried_over
    ):
        note(remark)
    if kind == "front":
        return tune_front(plan, session, figure)
    if kind == "robust":
        outcome = session.perform(lambda of: execute(session.planned(plan, of.study), of))
        return exit_code(outcome, tells_conclusion=tells_conclusion)
    with drawn:
        return _tune_one(plan, session, scenarios[0], warm_start, resume, drawn)


def _tune_one(
    plan: "TuningPlan",
    session: Session,
    name: str,
    warm_start: Path | None,
    resume: Path | None,
    drawn: TuneFigure,
) -> int:
    """Tunes one scenario, shows the outcome, and says how to see the best setting."""
    from dataclasses import replace

    from vermilion.tuning.best_setting import best_setting
    from vermilion.tuning.execution import execute_by

    answers = None if warm_start is None else _answers(warm_start)
    state = None if resume is None else _search_state(resume)

    def tuned(of_session: "TuningSession") -> "Recommendation":
        with _mistakes_in_files(warm_start, resume):
            meant = session.planned(plan, of_session.study)
            return execute_by(
                best_setting, meant, replace(of_session, answers=answers, resume=state)
            )

    outcome = session.perform(tuned)
    if session.target != STANDARD_OUTPUT and outcome.accepted:
        say(f"\nto see it:\n{command_to_see(name, plan, outcome)}")
    drawn.draw(plan, outcome)
    return exit_code(outcome, tells_conclusion=session.tells_conclusion)


@contextmanager
def _mistakes_in_files(warm_start: Path | None, resume: Path | None) -> "Iterator[None]":
    """Says in the user's words what is wrong with the files of earlier tunings."""
    from vermilion.scenario import ScenarioError
    from vermilion.tuning import AnswerFileError

    try:
        yield
    except (ScenarioError, UserError):
        raise
    except AnswerFileError as error:  # the file became something else while the tuning ran
        message = f"--warm-start: {error}"
        raise UserError(message) from None
    except OSError as error:  # the answer could not be added to the file
        message = f'--warm-start: "{warm_start}" cannot be written ({error.strerror})'
        raise UserError(message) from None
    except (ValueError, KeyError, TypeError) as error:
        if resume is None:
            raise
        # The state is the user's: whatever cannot be done with it is their mistake.
        message = f'--resume: "{resume}" does not fit this tuning ({error})'
        raise UserError(message) from None


def _answers(path: Path) -> "AnswerFile":
    from vermilion.tuning import AnswerFile, AnswerFileError

    try:
        return AnswerFile(path)
    except AnswerFileError as error:
        message = f"--warm-start: {error}"
        raise UserError(message) from None


def _search_state(path: Path) -> dict[str, Any]:
    """The state that an earlier tuning's JSON holds."""
    import json

    expected = "a file of tune --json"
    try:
        state: object = json.loads(path.read_text(encoding="utf-8"))["search"]["state"]
    except OSError as error:
        message = f'--resume: "{path}" cannot be read ({error.strerror}); expected {expected}'
        raise UserError(message) from None
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f'--resume: "{path}" is not accepted; expected {expected}'
        raise UserError(message) from None
    if not isinstance(state, dict):
        message = f'--resume: "{path}" is not accepted; expected {expected}'
        raise UserError(message)
    return state
