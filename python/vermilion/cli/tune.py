"""``vermilion tune``: searches the best setting of a queue, and says whether to use it."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vermilion.cli import options
from vermilion.cli.entry import UserError
from vermilion.cli.output import STANDARD_OUTPUT
from vermilion.cli.tune_front import tune_front
from vermilion.cli.tune_robust import tune_robust
from vermilion.cli.tune_session import Session, exit_code
from vermilion.cli.tune_study import check_study_options, go_on, is_said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.tuning import AnswerFile, Recommendation
    from vermilion.tuning.fidelity import Fidelity


def tune(
    context: typer.Context,
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO...",
            help="A scenario file (TOML) or the name of a shipped one; several with --robust; none "
            "to go on with a --study.",
            show_default=False,
        ),
    ] = None,
    *,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            min=1,
            help="How many settings the search may simulate (default: 400, or what the study has).",
            show_default=False,
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(metavar="TIME", help='Stop in time, like "30 s".', show_default=False),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How to search; automatic: localised-recursive-random-search, with more than six "
            "parameters cma-es.",
        ),
    ] = "automatic",
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            metavar="PATH",
            help="What to tune, instead of the scenario's own list. May be repeated.",
            show_default=False,
        ),
    ] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            metavar="TEXT",
            help="What to minimise or maximise, instead of the scenario's own objective, like "
            "'minimise links.bottleneck.sojourn_ms.p99' or a table like "
            "'{ name = \"jain-index\" }'. Twice with --pareto.",
            show_default=False,
        ),
    ] = None,
    constraints: Annotated[
        list[str] | None,
        typer.Option(
            "--constraint",
            metavar="TEXT",
            help="What must hold, instead of the scenario's own list, like "
            "'links.bottleneck.utilization >= 0.95'. May be repeated.",
            show_default=False,
        ),
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option(
            "--pareto",
            help="Search the front of two objectives instead of one setting: what each costs in "
            "the other. By default waiting time against utilisation.",
        ),
    ] = False,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the front: .svg, .png, or a page, .html. Needs --pareto.",
            show_default=False,
        ),
    ] = None,
    robust: Annotated[
        str | None,
        typer.Option(
            metavar="worst|mean",
            help="Search one setting for several scenarios: for the worst of them, or their mean, "
            "each measured by what it has now.",
            show_default=False,
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help='Of the scenarios in the mean, like "2,1" (default: equal).',
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Propose only what such a device can be set to, and print the command for it: "
            "linux-red, sonic, cisco, linux-codel, linux-pie, linux-fq-codel or linux-fq-pie.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The interface, or the WRED profile, that the command is to name.",
            show_default=False,
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help='Where the queue stands below the interface, like "1:10" (Linux).',
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep all of it in this file (SQLite) while it goes, or go on with what is in it.",
            show_default=False,
        ),
    ] = None,
    study_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which study of the file, if it holds several (default: its only one).",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Go on with the search of an earlier tuning: what its --json wrote.",
            show_default=False,
        ),
    ] = None,
    warm_start: Annotated[
        Path | None,
        typer.Option(
            "--warm-start",
            metavar="FILE",
            help="Begin with the answers of this file to similar conditions, and add what is "
            "recommended to it. Created if there is none.",
            show_default=False,
        ),
    ] = None,
    fidelity: Annotated[
        str,
        typer.Option(
            metavar="auto|full",
            help="Whether the search may simulate less than the duration where that ranks "
            "settings alike.",
        ),
    ] = "auto",
    seed: options.Seed = 1,
    overrides: options.Overrides = None,
    plugins: options.Plugins = None,
    threads: options.Threads = None,
    dask: options.Dask = None,
    target: options.Json = None,
) -> int:
    """Search the best setting of a queue.

    What to tune, for which objective and under which constraints is in the scenario's [tuning]
    table. The best setting found meets the present one on fresh seeds; it is recommended only
    if it is significantly better and keeps every constraint.
    """
    from vermilion import tuning
    from vermilion.profiles import Place
    from vermilion.scenario import load_scenario

    check_study_options(context, scenarios or (), study, study_name, resume)
    _check_options(scenarios or [""], robust, pareto, objectives or (), figure, weights)
    _check_engine_options(
        fidelity,
        plain=not pareto and robust is None,
        given={"--resume": resume is not None, "--warm-start": warm_start is not None},
    )
    if pareto and fidelity == "auto" and is_said(context, "fidelity"):
        message = "--fidelity auto is of a tuning without --pareto, which simulates all of it"
        raise UserError(message)
    if profile is None and (device is not None or parent is not None):
        message = "--device and --parent are of a device's command; expected --profile with them"
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
    )
    if not scenarios:
        return go_on(session)
    read = [load_scenario(scenario, overrides or ()) for scenario in scenarios]
    scenario, loaded = scenarios[0], read[0]
    searched: dict[str, Any] = {
        "parameters": parameters,
        "profile": profile,
        "place": Place(device, parent),
        "search": search,
        "seed": seed,
    }
    objective = objectives[0] if objectives else None
    length: Fidelity = "full" if fidelity == "full" else "auto"
    if robust is not None:
        return tune_robust(
            read,
            session,
            searched,
            robust=robust,
            weights=weights,
            objective=objective,
            constraints=constraints,
            fidelity=length,
        )
    if pareto:
        return tune_front(
            loaded,
            session,
            searched,
            figure=figure,
            objectives=objectives,
            constraints=constraints or (),
        )
    answers = None if warm_start is None else _answers(warm_start)
    state = None if resume is None else _search_state(resume)

    def tuned(**of_the_session: Any) -> "Recommendation":  # noqa: ANN401 - passed on
        with _mistakes_in_files(warm_start, resume):
            return tuning.tune(
                loaded,
                objective=objective,
                constraints=constraints,
                resume=state,
                answers=answers,
                fidelity=length,
                **searched,
                **of_the_session,
            )

    outcome = session.perform(tuned)
    if target != STANDARD_OUTPUT and outcome.accepted:
        typer.echo(f"\nto see it: {_command(scenario, loaded, outcome)}")
    return exit_code(outcome)


@contextmanager
def _mistakes_in_files(warm_start: Path | None, resume: Path | None) -> "Iterator[None]":
    """Says in the user's words what is wrong with the files of earlier tunings."""
    from vermilion.scenario import ScenarioError

    try:
        yield
    except (ScenarioError, UserError):
        raise
    except OSError as error:  # the answer could not be added to the file
        message = f'--warm-start: "{warm_start}" cannot be written ({error.strerror})'
        raise UserError(message) from None
    except (ValueError, KeyError, TypeError) as error:
        if resume is None:
            raise
        # The state is the user's: whatever cannot be done with it is their mistake.
        message = f'--resume: "{resume}" does not fit this tuning ({error})'
        raise UserError(message) from None


def _check_options(
    scenarios: "Sequence[str]",
    robust: str | None,
    pareto: bool,  # noqa: FBT001 - one of the command's options among others
    objectives: "Sequence[str]",
    figure: str | None,
    weights: str | None,
) -> None:
    """Refuses options that do not go together."""
    wrong = {
        "--robust and --pareto: expected only one of them": pareto and robust is not None,
        "several scenarios: expected --robust worst or --robust mean with them": len(scenarios) > 1
        and robust is None,
        "--robust: expected at least two scenarios": len(scenarios) == 1 and robust is not None,
        "--weights: expected --robust mean with it": weights is not None and robust != "mean",
        "--figure draws a front; expected --pareto with it": figure is not None and not pareto,
        "--objective is given more than once; expected one, or two with --pareto": len(objectives)
        > 1
        and not pareto,
    }
    for message, applies in wrong.items():
        if applies:
            raise UserError(message)


def _check_engine_options(fidelity: str, *, plain: bool, given: "Mapping[str, bool]") -> None:
    """Refuses what a search for a front, or for several scenarios, does not have."""
    if fidelity not in ("auto", "full"):
        message = f'--fidelity: "{fidelity}" is not accepted; expected one of: auto, full'
        raise UserError(message)
    for name, is_given in given.items():
        if is_given and not plain:
            message = f"{name} is of a tuning without --pareto and --robust"
            raise UserError(message)


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

    expected = "a file that tune --json has written"
    try:
        state: object = json.loads(path.read_text(encoding="utf-8"))["search"]["state"]
    except OSError as error:
        message = f'--resume: "{path}" cannot be read ({error.strerror}); expected {expected}'
        raise UserError(message) from None
    except (ValueError, KeyError, TypeError):
        message = f'--resume: "{path}" is not accepted; expected {expected}'
        raise UserError(message) from None
    if not isinstance(state, dict):
        message = f'--resume: "{path}" is not accepted; expected {expected}'
        raise UserError(message)
    return state


def _command(name: str, scenario: "Scenario", outcome: "Recommendation") -> str:
    """The command that simulates the recommended setting."""
    import shlex

    settings = [
        f"--set={path}={scenario.parameter(path).exact_text(value)}"
        for path, value in outcome.parameters.items()
    ]
    return shlex.join(["vermilion", "run", name, *settings])
