"""A tuning as somebody asked for it: all that its outcome depends on, said once.

The one value behind every tuning. :func:`vermilion.tuning.tune` and its sisters make it from their
keywords, the command line from its options, and a study keeps it in its file
(:meth:`TuningPlan.to_data`) and makes it again from there. What it means in its scenarios is worked
out in :mod:`vermilion.tuning.preparation`; :func:`vermilion.tuning.execute` does
it. How long it may take, on how many cores, and where it is kept is no part of it
(:class:`vermilion.tuning.session.TuningSession`).
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from vermilion.profiles import Place
from vermilion.scenario.errors import ScenarioError, did_you_mean
from vermilion.scenario.load import scenario_from_document
from vermilion.scenario.quantities import whole_number
from vermilion.search import AUTOMATIC, SEARCHES
from vermilion.simulate.accepted import check_seed, given_in_order
from vermilion.tuning.evaluation import Seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vermilion.objectives import Objective
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result
    from vermilion.tuning.evaluation import Over
    from vermilion.tuning.fidelity import Fidelity

    Goal: TypeAlias = Objective | Callable[[Result], float | None] | str
    """What to minimise or maximise: an objective, a function to be minimised, or a text."""

Kind = Literal["setting", "robust", "front"]
"""What is searched: the best setting of one scenario, or one for several, or the front of two
objectives."""

KINDS: Final[tuple[Kind, ...]] = ("setting", "robust", "front")

OVERS: Final[tuple[Over, ...]] = ("worst", "mean")
"""How several scenarios make one number."""

DEFAULT_BUDGET: Final = 400
"""Settings that are simulated unless told otherwise."""

DEFAULT_SHORTLIST: Final = 6
"""The best settings of the search, which race on further seeds, unless told otherwise."""

MOST_POINTS: Final = 12
"""Settings of a front that meet fresh seeds, unless told otherwise."""

_A_GOAL: Final = (
    'a text, like "minimise links.bottleneck.sojourn_ms.p99" or a table in TOML, '
    """'{ name = "jain-index" }'; an Objective; or a function of a Result"""
)

_OF_KINDS: Final[Mapping[str, tuple[Kind, ...]]] = {
    "over": ("robust",),
    "weights": ("robust",),
    "points": ("front",),
    "warm_starts": ("setting", "robust"),
    "shortlist": ("setting", "robust"),
    "race_budget": ("setting", "robust"),
    "required_improvement": ("setting",),
}
"""What only some kinds of tunings look at."""

_WORDS: Final[Mapping[Kind, str]] = {
    "setting": "one scenario's best setting",
    "robust": "one setting for several scenarios",
    "front": "a front",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningPlan:
    """A tuning, as it was asked for.

    Attributes:
        scenarios: what is tuned: one, or several for one setting that is to do in all of them. Each
            gives, in its ``[tuning]``, whatever the plan does not say; parameters and box are those
            of the first. A name or a path is replaced by the scenario that is loaded from it.
        kind: what is searched: "setting", "robust" (for several scenarios) or "front".
        over: of several scenarios: "worst" or "mean".
        weights: of the scenarios in the mean; equal unless given.
        parameters: paths like ``links.bottleneck.queue.weight``; by default the scenario's own, or
            whatever has a box in its queue's parameter table.
        discipline: another one for the tuned queues: what both disciplines can be told is carried
            over, and unless ``parameters`` are given its own box is searched. The incumbent is then
            the queue as carried over.
        objectives: of a front two, else one at most; by default the scenario's own, of a front the
            mean queueing delay and the utilisation of the first link whose queue is tuned. Each is
            an objective; or a text like "minimise links.bottleneck.sojourn_ms.p99 subject to
            links.bottleneck.utilization >= 0.98"; or a function of a result, to be minimised.
        constraints: like "links.bottleneck.utilization >= 0.95"; an empty list means none. By
            default the scenario's own, or of a front none: the usual one would cut it off.
        harm: what a recommendation may not do, "PATH=MARGIN" or "none"; by default as the scenario
            says.
        minimum_improvement: the fraction of the incumbent's objective that somebody would notice;
            by default as the scenario says.
        required_improvement: the fraction of the incumbent's objective that must be gained, beyond
            doubt, for a setting to be recommended.
        exactly: whether only the conditions as given count. By default a setting has to do under
            those around them too (:mod:`vermilion.tuning.neighbourhood`); of one scenario only.
        rivals: whether baselines are shown beside it.
        boxes: lower and upper ends of some parameters, in the units of their tables.
        profile: the name of a device profile: only what the device can be set to is proposed, and
            the outcome has the device's own command. Packet sizes are the first scenario's.
        place: what that command is to name, such as the network interface.
        search: the name of the search; by default one is chosen by the number of parameters.
        search_settings: further arguments of the search, such as ``stop_side``.
        budget: settings that the search may use; each is simulated in every scenario.
        seeds: of the simulations; by default 3, 15 and 10 seeds, counted from ``seed`` on.
        seed: of the search's random points, and the first one of the simulations.
        warm_starts: settings to try first, after the scenarios' own.
        shortlist: how many of the best settings race on further seeds.
        race_budget: simulations of that race in each scenario; by default so many that each of them
            and the incumbent could meet six seeds.
        fidelity: "auto" lets the search simulate less than the scenarios' duration if that ranks
            settings alike; "full" does not, and nor does a front.
        points: of a front: how many settings meet fresh seeds.

    Raises:
        ScenarioError: something of it is not accepted, whatever the scenarios are.
    """

    scenarios: tuple[Scenario, ...]
    kind: Kind = "setting"
    over: Over = "worst"
    weights: tuple[float, ...] | None = None
    parameters: tuple[str, ...] | None = None
    discipline: str | None = None
    objectives: tuple[Goal, ...] = ()
    constraints: tuple[str, ...] | None = None
    harm: tuple[str, ...] | None = None
    minimum_improvement: float | None = None
    required_improvement: float = 0.0
    exactly: bool = False
    rivals: bool = True
    boxes: Mapping[str, tuple[float, float]] | None = None
    profile: str | None = None
    place: Place | None = None
    search: str = AUTOMATIC
    search_settings: Mapping[str, Any] | None = None
    budget: int = DEFAULT_BUDGET
    seeds: Seeds | None = None
    seed: int = 1
    warm_starts: tuple[Mapping[str, float], ...] = ()
    shortlist: int = DEFAULT_SHORTLIST
    race_budget: int | None = None
    fidelity: Fidelity = "auto"
    points: int = MOST_POINTS

    def __post_init__(self) -> None:
        # Lists of any kind are taken; what is kept can be neither changed nor used up.
        for name in ("scenarios", "objectives", "weights", "parameters", "constraints", "harm"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise ScenarioError(name, value, f'a list, like ["{value}"]')
            object.__setattr__(self, name, None if value is None else tuple(value))
        object.__setattr__(self, "scenarios", given_in_order(self.scenarios))
        object.__setattr__(self, "warm_starts", tuple(dict(each) for each in self.warm_starts))
        if self.boxes is not None:
            boxes = {path: (low, high) for path, (low, high) in self.boxes.items()}
            object.__setattr__(self, "boxes", boxes)
        if self.search_settings is not None:
            object.__setattr__(self, "search_settings", dict(self.search_settings))
        object.__setattr__(self, "required_improvement", float(self.required_improvement))
        object.__setattr__(self, "seed", check_seed(self.seed))
        self._check()

    @property
    def origin(self) -> str:
        """The scenario that messages name; "" where there are several."""
        return self.scenarios[0].origin if len(self.scenarios) == 1 else ""

    @property
    def shares(self) -> tuple[float, ...]:
        """The scenarios' weights, which add up to 1."""
        weights = self.weights or tuple(1.0 for _ in self.scenarios)
        return tuple(weight / math.fsum(weights) for weight in weights)

    def to_data(self) -> dict[str, Any]:
        """Return the JSON form; an objective that is no text is reduced to its name."""
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        data |= {
            "scenarios": [
                {"origin": each.origin, "document": dict(each.document)} for each in self.scenarios
            ],
            "objectives": [
                each if isinstance(each, str) else {"python": label_of(each)}
                for each in self.objectives
            ],
            "seeds": self.seeds and asdict(self.seeds),
            "place": self.place and asdict(self.place),
        }
        plain: dict[str, Any] = json.loads(json.dumps(data))
        return plain

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TuningPlan:
        """The plan whose :meth:`to_data` this was.

        Raises:
            ValueError: it is none, or an objective was no text; also KeyError or TypeError.
            ScenarioError: a scenario names files that are not there any more.
        """
        names = {each.name for each in fields(cls)}
        if set(data) != names:
            raise KeyError(*(names ^ set(data)))
        for each in fields(cls):
            known = None if each.default is MISSING else each.default
            if known is not None and known != () and type(data[each.name]) is not type(known):
                message = f"{each.name} is {data[each.name]!r}"
                raise TypeError(message)
        if not all(isinstance(each, str) for each in data["objectives"]):
            message = "an objective is a function in Python"
            raise ValueError(message)
        seeds, place = data["seeds"], data["place"]
        return cls(
            **{
                **data,
                "scenarios": [
                    scenario_from_document(each["document"], each["origin"])
                    for each in data["scenarios"]
                ],
                "seeds": seeds
                and Seeds(**{stage: tuple(numbers) for stage, numbers in seeds.items()}),
                "place": place and Place(**place),
            }
        )

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_data())

    @classmethod
    def from_json(cls, text: str) -> TuningPlan:
        """The plan whose :meth:`to_json` this was; see :meth:`from_data` for what it raises."""
        return cls.from_data(json.loads(text))

    def _check(self) -> None:
        """Refuses what no scenario could make sense of."""
        from vermilion.objectives.interface import Objective

        self._check_kind()
        self._check_scenarios()
        origin = self.origin
        if self.search not in (AUTOMATIC, *SEARCHES):
            accepted = f"{AUTOMATIC}, or one of: {', '.join(SEARCHES)}"
            raise ScenarioError("search", self.search, accepted, origin)
        budget = whole_number(self.budget)
        if budget is None or budget < 1:
            raise ScenarioError("budget", self.budget, "a whole number, at least 1 setting", origin)
        object.__setattr__(self, "budget", budget)
        for goal in self.objectives:
            if not (isinstance(goal, str | Objective) or callable(goal)):
                raise ScenarioError("objective", goal, _A_GOAL, origin)
        least = self.minimum_improvement
        if least is not None and not 0.0 <= least <= 1.0:
            accepted = "a fraction of the objective, from 0 to 1"
            raise ScenarioError("minimum_improvement", least, accepted, origin)

    def _check_kind(self) -> None:
        """Refuses a kind that there is not, and what is said of another kind."""
        if self.kind not in KINDS:
            raise ScenarioError("kind", self.kind, did_you_mean(self.kind, KINDS))
        defaults = {each.name: each.default for each in fields(self)}
        for name, kinds in _OF_KINDS.items():
            value = getattr(self, name)
            if self.kind not in kinds and value != defaults[name]:
                words = " and of ".join(_WORDS[kind] for kind in kinds)
                accepted = f"nothing, because it is of {words}"
                raise ScenarioError(name, value, accepted, self.origin)
        given = len(self.objectives)
        if self.kind == "front" and given not in (0, 2):
            raise ScenarioError("objectives", f"{given} of them", "two", self.origin)
        if self.kind != "front" and given > 1:
            raise ScenarioError("objectives", f"{given} of them", "one", self.origin)

    def _check_scenarios(self) -> None:
        """Refuses too few or too many scenarios, and ways to weigh them that make no sense."""
        count = len(self.scenarios)
        if self.kind == "robust" and count < 2:  # noqa: PLR2004 - one is not several
            raise ScenarioError("scenarios", f"{count} of them", "at least two")
        if self.kind != "robust" and count != 1:
            raise ScenarioError("scenarios", f"{count} of them", "one")
        if self.over not in OVERS:
            raise ScenarioError("robust", self.over, f"one of: {', '.join(OVERS)}")
        if self.weights is None:
            return
        right = len(self.weights) == count and all(
            math.isfinite(weight) and weight > 0.0 for weight in self.weights
        )
        if not right or self.over != "mean":
            accepted = 'one number above 0 for each scenario, with "mean"'
            raise ScenarioError("weights", ", ".join(map(str, self.weights)), accepted)


def label_of(goal: Goal) -> str:
    """Label of an objective: a text itself, a function its name."""
    if isinstance(goal, str):
        return goal
    return str(getattr(goal, "label", getattr(goal, "__name__", "function")))
