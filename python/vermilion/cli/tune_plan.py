"""Options of ``vermilion tune`` as parts of a plan, and a plan's outcome as a command."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from vermilion.cli.endings import UserError
from vermilion.scenario.errors import FieldError, describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.scenario import Scenario
    from vermilion.tuning import Recommendation, TuningPlan
    from vermilion.tuning.evaluation import Over
    from vermilion.tuning.fidelity import Fidelity
    from vermilion.tuning.plan import Kind


def kind_of(robust: str | None, *, pareto: bool) -> Kind:
    """Kind of tuning that the options ask for."""
    if pareto:
        return "front"
    return "setting" if robust is None else "robust"


def over_of(text: str | None) -> Over:
    """Value of ``--robust``.

    Raises:
        UserError: there is no such thing.
    """
    from vermilion.tuning.plan import OVERS

    for over in OVERS:
        if text in (over, None):
            return over
    raise UserError(describe("--robust", text, f"one of: {', '.join(OVERS)}"))


def weights_of(text: str | None) -> tuple[float, ...] | None:
    """The numbers that ``--weights`` lists.

    Raises:
        UserError: they are none.
    """
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UserError(describe("--weights", text, 'numbers like "2,1"')) from None


def fidelity_of(text: str) -> Fidelity:
    """Value of ``--fidelity``.

    Raises:
        UserError: there is no such thing.
    """
    if text == "auto":
        return "auto"
    if text == "full":
        return "full"
    raise UserError(describe("--fidelity", text, "one of: auto, full"))


def boxes_of(scenario: Scenario, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Boxes that ``--space`` gives, in the units of the parameters' tables.

    Raises:
        ScenarioError: a path that the scenario does not have.
        UserError: no lower and upper end.
    """
    boxes = {}
    for text in texts:
        path, _, ends = text.partition("=")
        low, _, high = ends.partition("..")
        parameter = scenario.parameter(path.strip())
        try:
            values = parameter.parse(low.strip()), parameter.parse(high.strip())
            boxes[path.strip()] = float(str(values[0])), float(str(values[1]))
        except (FieldError, ValueError):
            accepted = "PATH=LOW..HIGH, like links.bottleneck.queue.weight=0.001..0.5"
            raise UserError(describe("--space", text, accepted)) from None
    return boxes


def share_of(option: str, text: str | None) -> float | None:
    """The value of an option that is a fraction, like "5 %" or 0.05.

    Raises:
        UserError: it is none from 0 to 1.
    """
    from vermilion.scenario import RATIO, QuantityError
    from vermilion.scenario.quantities import Quantity

    if text is None:
        return None
    try:
        return float(Quantity(RATIO, minimum=0.0, maximum=1.0).parse(text))
    except QuantityError:
        accepted = 'a fraction from 0 to 1, like 0.05 or "5 %"'
        raise UserError(describe(option, text, accepted)) from None


def check_together(
    scenarios: Sequence[str],
    robust: str | None,
    objectives: Sequence[str],
    figure: str | None,
    weights: str | None,
    of_one: Mapping[str, bool],
    *,
    pareto: bool,
) -> None:
    """Refuses options that do not go together.

    Args:
        scenarios: as given.
        robust: likewise.
        objectives: likewise.
        figure: likewise.
        weights: likewise.
        of_one: options that only a tuning of one scenario's best setting has, and whether each of
            them is given.
        pareto: as given.

    Raises:
        UserError: saying which.
    """
    wrong = {
        "--robust and --pareto: expected one of them": pareto and robust is not None,
        "several scenarios need --robust worst or --robust mean": len(scenarios) > 1
        and robust is None,
        "--robust: expected at least two scenarios": len(scenarios) == 1 and robust is not None,
        "--weights needs --robust mean": weights is not None and robust != "mean",
        "--figure draws one scenario, or a front; expected no --robust": figure is not None
        and robust is not None,
        "--objective is repeated; expected one, or two with --pareto": len(objectives) > 1
        and not pareto,
    }
    wrong |= {
        f"{name} cannot be used with --pareto or --robust": given and (pareto or robust is not None)
        for name, given in of_one.items()
    }
    for message, applies in wrong.items():
        if applies:
            raise UserError(message)


def command_to_see(name: str, plan: TuningPlan, outcome: Recommendation) -> str:
    """The command that simulates the recommended setting, a line for each part.

    Args:
        name: of the scenario, as it was given.
        plan: by which it was tuned.
        outcome: with a setting.
    """
    from vermilion.tuning.preparation import tuned_scenarios

    [tuned] = tuned_scenarios(plan)
    scenario = tuned.scenario
    settings = [
        f"--set={path}={scenario.parameter(path).exact_text(value)}"
        for path, value in outcome.parameters.items()
    ]
    links = [report.link for report in tuned.carried_over]
    words = _conversion(plan.scenarios[0], scenario, links)
    parts = [shlex.join(["vermilion", "run", name, *words]), *map(shlex.quote, settings)]
    return " \\\n  ".join(parts)


def _conversion(before: Scenario, after: Scenario, links: list[str]) -> list[str]:
    """Options that give the links their new discipline."""
    words = [
        f"--set=links.{link}.queue={_inline(after.document['links'][link]['queue'])}"
        for link in links
    ]
    if links and before.tuning is not None and after.tuning is not None:
        # The list, and perhaps boxes, are of the old discipline's parameters.
        words.append(f"--set=tuning.parameters={json.dumps(list(after.tuning.parameters))}")
        if before.tuning.space:
            words.append(f"--set=tuning.space={_inline(after.tuning.space)}")
    return words


def _inline(table: Mapping[str, object]) -> str:
    """A table as TOML has it on one line; JSON's texts, numbers, switches and lists are TOML's."""
    entries = [
        f"{key if key.isidentifier() else json.dumps(key)} = {json.dumps(value)}"
        for key, value in table.items()
    ]
    return f"{{ {', '.join(entries)} }}" if entries else "{}"
