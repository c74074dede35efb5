"""The engine: common seeds, the likely best, fresh seeds, deadlines, Ctrl-C, going on.

The simulator is replaced by formulas, so that what is best, and by how much luck, is known.
"""

import json
import math
from itertools import pairwise

import numpy as np
import pytest

from simulated_clock import SimulatedClock
from vermilion.objectives import Constraint
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.scenario import CoreScenario, ScenarioError
from vermilion.scenario.core_network import CoreLink, CoreQueue
from vermilion.search import Dimension, Space
from vermilion.simulate import Result
from vermilion.tuning import Seeds, TuningProgress, search_best
from vermilion.tuning.evaluation import Evaluation
from vermilion.tuning.simulations import Batches, Condition, Simulations

LEVEL = "links.bottleneck.queue.level"
OTHER = "links.bottleneck.queue.other"
SPACE = Space([Dimension(LEVEL, 0.0, 100.0), Dimension(OTHER, 0.0, 1.0)])
STANDARD = {LEVEL: 50.0, OTHER: 0.5}
OBJECTIVE = QueueDeviation("bottleneck", 30.0)
SEEDS = Seeds.counted(1, search=2, re_evaluation=6, comparison=8)
QUEUE = CoreQueue("x", {"level": 50.0, "other": 0.5})
MODEL = CoreScenario(
    duration_ns=80_000_000_000,
    warm_up_ns=0,
    settle_ns=0,
    probe_interval_ns=None,
    links=(CoreLink("bottleneck", rate_bit_per_s=10_000_000, delay_ns=0, queue=QUEUE),),
    flows=(),
    changes=(),
).to_json()


class Core:
    """A simulator whose queue stands at the parameter ``level``, and whose log is kept."""

    def __init__(self, metrics):
        self.metrics = metrics
        self.calls = []

    def __call__(self, texts, seeds, *, progress=None, **_):
        settings = [json.loads(text)["links"][0]["queue"]["parameters"] for text in texts]
        self.calls.append((settings, list(seeds)))
        rows = []
        for setting in settings:
            rows.append([self.result(setting, seed) for seed in seeds])
            if progress is not None:
                progress(len(rows) * len(seeds))
        return rows

    def result(self, setting, seed):
        mean, sd, utilization = self.metrics(setting, seed)
        total = {
            "start_s": 0.0,
            "end_s": 1.0,
            "queue_packets": {"mean": mean, "sd": sd},
            "utilization": utilization,
        }
        links = {"bottleneck": {"total": total, "phases": [], "ledger": {}}}
        return Result({"seed": seed, "links": links, "flows": {}})

    def simulated(self):
        return {(setting["level"], seed) for settings, seeds in self.calls
                for setting in settings for seed in seeds}  # fmt: skip


def exact(setting, _):
    return setting["level"], 1.0, 1.0


def tune(monkeypatch, metrics=exact, **options):
    core = metrics if isinstance(metrics, Core) else Core(metrics)
    monkeypatch.setattr("vermilion.tuning.simulations.run_many", core)
    defaults = {"incumbent": STANDARD, "seeds": SEEDS, "budget": 150}
    options = defaults | {"search": "recursive-random-search"} | options
    constraints = [Constraint.parse(text) for text in options.pop("constraints", ())]
    return search_best(MODEL, SPACE, OBJECTIVE, constraints, **options), core


def test_it_finds_the_level_that_is_asked_for(monkeypatch):
    outcome, _ = tune(monkeypatch)
    assert outcome.best[LEVEL] == pytest.approx(30.0, abs=1.0)
    assert outcome.accepted
    assert outcome.comparison.incumbent.mean == 20.0**2 + 1.0
    assert outcome.comparison.best.mean < 3.0
    assert outcome.end == "budget"
    assert outcome.evaluations == 150


def noisy(setting, seed):
    """The level, and noise that depends on setting and seed."""
    random = np.random.default_rng([seed, int(1e6 * setting["other"])])
    return setting["level"], 1.0 + random.random(), 1.0


def test_all_candidates_meet_the_same_seeds_and_the_hopeless_only_the_first(monkeypatch):
    _, core = tune(monkeypatch, noisy)
    met = {seed: [] for seed in SEEDS.search}
    for settings, seeds in core.calls:
        for seed in set(seeds) & met.keys():
            met[seed] += [setting["level"] for setting in settings]
    assert len(met[1]) >= 150
    assert set(met[2]) < set(met[1])
    # Without noise in the level, the squared distance from 30 orders the settings.
    stopped = [abs(level - 30.0) for level in set(met[1]) - set(met[2])]
    went_on = [abs(level - 30.0) for level in met[2]]
    assert len(stopped) > 50
    assert min(went_on) < min(stopped)
    assert len(went_on) > 10


def test_the_comparison_is_on_seeds_that_the_search_has_not_seen(monkeypatch):
    outcome, core = tune(monkeypatch)
    compared = [settings for settings, seeds in core.calls if seeds == list(SEEDS.comparison)]
    winner, incumbent = (setting["level"] for setting in compared[0])
    assert incumbent == 50.0
    assert outcome.best[LEVEL] in {winner, *(float(f"{winner:.{digits}g}") for digits in (2, 3))}
    others = {seed for _, seeds in core.calls if seeds != list(SEEDS.comparison) for seed in seeds}
    assert not others & set(SEEDS.comparison)


def test_the_incumbent_is_simulated_only_once_with_each_seed(monkeypatch):
    _, core = tune(monkeypatch)
    simulated = [seed for settings, seeds in core.calls
                 for setting in settings if setting["level"] == 50.0 for seed in seeds]  # fmt: skip
    assert len(set(simulated)) == len(simulated)
    assert set(simulated) >= {*SEEDS.search, *SEEDS.comparison}
    assert set(simulated) & set(SEEDS.re_evaluation)


def test_the_likely_best_wins_and_not_the_luckiest(monkeypatch):
    """One seed in four is lucky for levels above 60; below, all seeds are equal."""

    def partly_lucky(setting, seed):
        if setting["level"] < 60.0:
            return 35.0, 1.0, 1.0
        return (30.0 if seed in SEEDS.search else 90.0), 1.0, 1.0

    outcome, _ = tune(monkeypatch, partly_lucky, incumbent={LEVEL: 95.0, OTHER: 0.5}, shortlist=150)
    assert outcome.best[LEVEL] < 60.0
    assert outcome.accepted


def test_luck_that_survives_re_evaluation_is_found_out_by_fresh_seeds(monkeypatch):
    def only_lucky(setting, seed):
        lucky = setting["level"] != 50.0 and seed not in SEEDS.comparison
        return (30.0 if lucky else 40.0), 1.0, 1.0

    outcome, _ = tune(monkeypatch, only_lucky)
    assert not outcome.accepted
    assert outcome.comparison.difference.mean == 0.0
    assert "may be chance" in outcome.reason


def test_the_incumbent_wins_a_tie(monkeypatch):
    def noise(setting, seed):
        random = np.random.default_rng([seed, int(1e6 * setting["other"])])
        return 30.0 + random.normal(0.0, 5.0), 1.0, 1.0

    refused = [
        tune(monkeypatch, noise, seeds=Seeds.counted(100 * k), search_seed=k, budget=50)[0]
        for k in range(1, 21)
    ]
    assert sum(outcome.accepted for outcome in refused) <= 2
    assert all(outcome.best != STANDARD for outcome in refused)


def test_a_small_gain_is_not_worth_a_change_if_more_is_required(monkeypatch):
    def slightly_better(setting, seed):
        return 30.0, (10.0 if setting["level"] == 50.0 else 9.9) + 0.001 * seed, 1.0

    assert tune(monkeypatch, slightly_better)[0].accepted
    outcome, _ = tune(monkeypatch, slightly_better, required_improvement=0.1)
    assert not outcome.accepted
    assert "not surely by the" in outcome.reason


def test_feasible_settings_come_first(monkeypatch):
    """Utilisation falls where the queue is best; the best feasible level is 40."""

    def starving(setting, _):
        return setting["level"], 1.0, min(1.0, setting["level"] / 40.0 * 0.95)

    outcome, _ = tune(
        monkeypatch, starving, budget=300, constraints=["links.bottleneck.utilization >= 0.95"]
    )
    assert outcome.accepted
    assert outcome.best[LEVEL] == pytest.approx(40.0, abs=1.5)
    assert outcome.best[LEVEL] >= 40.0
    [verdict] = outcome.comparison.best_verdicts
    assert verdict.holds == "met"


def test_among_good_settings_one_that_surely_keeps_the_constraints_is_chosen(monkeypatch):
    """Half of the settings are better by the objective and keep the bound only on average."""

    def risky_or_safe(setting, seed):
        if setting["other"] < 0.5:
            return 31.0, 1.0, 0.951
        return 30.0, 1.0, 0.96 + (0.03 if seed % 2 else -0.03)

    outcome, _ = tune(
        monkeypatch,
        risky_or_safe,
        incumbent={LEVEL: 50.0, OTHER: 0.1},
        constraints=["links.bottleneck.utilization >= 0.95"],
        shortlist=100,
    )
    assert outcome.best[OTHER] < 0.5


def test_a_recommendation_that_breaks_a_constraint_is_refused_with_the_reason(monkeypatch):
    def never(setting, seed):
        return setting["level"], 1.0, 0.5 + 0.001 * seed

    outcome, _ = tune(monkeypatch, never, constraints=["links.bottleneck.utilization >= 0.95"])
    assert not outcome.accepted
    assert outcome.reason.startswith(
        "refused, because it would break links.bottleneck.utilization >= 0.95 (51.25 +- 0.2"
    )
    assert "bound 95 %)" in outcome.reason


def test_a_constraint_may_refer_to_the_incumbent(monkeypatch):
    def lower_is_emptier(setting, _):
        return setting["level"], 1.0, 0.5 + setting["level"] / 500.0

    outcome, _ = tune(
        monkeypatch,
        lower_is_emptier,
        constraints=["links.bottleneck.utilization >= 0.95 of reference"],
    )
    # The incumbent at level 50 reaches 0.6; 0.95 of it is reached at level 35.
    assert outcome.accepted
    assert 35.0 <= outcome.best[LEVEL] < 37.0


def test_warm_starts_are_simulated_first(monkeypatch):
    warm = [{LEVEL: 31.0, OTHER: 0.1}, {LEVEL: 77.0, OTHER: 0.2}]
    outcome, core = tune(monkeypatch, warm_starts=warm, budget=3)
    searched = [
        setting["level"] for settings, seeds in core.calls if seeds[0] == 1 for setting in settings
    ]
    assert searched == [50.0, pytest.approx(31.0), pytest.approx(77.0)]
    assert outcome.best[LEVEL] == pytest.approx(31.0)


def test_an_incumbent_outside_the_box_is_compared_as_it_is(monkeypatch):
    outcome, core = tune(monkeypatch, incumbent={LEVEL: 150.0, OTHER: 0.5})
    assert (150.0, SEEDS.comparison[0]) in core.simulated()
    assert (100.0, SEEDS.search[0]) in core.simulated()  # the start point nearest to it
    assert outcome.comparison.incumbent.mean == 120.0**2 + 1.0


def test_an_automatic_incumbent_is_compared_as_it_is(monkeypatch):
    def automatic(setting, _):
        return (30.0 if setting["level"] is None else setting["level"]), 1.0, 1.0

    outcome, _ = tune(monkeypatch, automatic, incumbent={LEVEL: None, OTHER: 0.5})
    assert outcome.comparison.incumbent.mean == 1.0
    assert not outcome.accepted


def test_what_the_core_refuses_is_passed_over(monkeypatch):
    class Picky(Core):
        def __call__(self, texts, seeds, **options):
            for text in texts:
                if json.loads(text)["links"][0]["queue"]["parameters"]["level"] < 33.0:
                    raise ScenarioError("links.bottleneck.queue.level", "x", "at least 33")
            return super().__call__(texts, seeds, **options)

    outcome, _ = tune(monkeypatch, Picky(exact), budget=300)
    assert outcome.accepted
    assert 33.0 <= outcome.best[LEVEL] < 35.0


def test_an_incumbent_that_the_core_refuses_is_an_error(monkeypatch):
    class Refusing(Core):
        def __call__(self, *_, **__):
            raise ScenarioError("links.bottleneck.queue.level", "x", "something else")

    with pytest.raises(ScenarioError, match="something else"):
        tune(monkeypatch, Refusing(exact))


def test_ctrl_c_returns_the_best_so_far_unaccepted(monkeypatch):
    class Interrupted(Core):
        def __call__(self, *arguments, **options):
            if len(self.calls) == 20:
                raise KeyboardInterrupt
            return super().__call__(*arguments, **options)

    outcome, core = tune(monkeypatch, Interrupted(exact), threads=1)
    assert outcome.end == "interrupted"
    assert not outcome.accepted
    assert outcome.comparison is None
    assert "interrupted" in outcome.reason
    levels = {level for level, _ in core.simulated()} - {50.0}
    assert outcome.best[LEVEL] == min(levels, key=lambda level: abs(level - 30.0))


class Slow(Core):
    """A simulator that takes its time on a clock of its own: half a millisecond for each run.

    Args:
        clock: that only simulations move.
        first_s: how long each run of the first batch takes.
        each_s: how long each later one takes.
    """

    def __init__(self, clock, first_s=0.0005, each_s=0.0005):
        super().__init__(exact)
        self.clock = clock
        self.first_s = first_s
        self.each_s = each_s

    def __call__(self, texts, seeds, **options):
        each_s = self.each_s if self.calls else self.first_s
        return self.clock.slowed(super().__call__, each_s)(texts, seeds, **options)


@pytest.mark.parametrize("threads", [1, 4])
def test_a_deadline_leaves_time_for_the_comparison(monkeypatch, threads):
    clock = SimulatedClock(monkeypatch)
    begin = clock.now
    outcome, _ = tune(monkeypatch, Slow(clock), budget=10_000, deadline_s=0.4, threads=threads)
    assert 0.2 < clock.now - begin <= 0.4
    assert outcome.end == "deadline"
    assert outcome.evaluations > 20
    assert outcome.comparison.difference.count == len(SEEDS.comparison)


def test_a_slow_beginning_does_not_end_the_search(monkeypatch):
    # The machine was busy elsewhere: two simulations took more than half of the time.
    clock = SimulatedClock(monkeypatch)
    outcome, _ = tune(monkeypatch, Slow(clock, 0.12), budget=10_000, deadline_s=0.4, threads=1)
    assert outcome.evaluations > 5
    assert outcome.best is not None
    assert outcome.comparison.difference.count >= 2


def test_a_deadline_that_comes_first_is_said(monkeypatch):
    class Late(Core):
        def __call__(self, texts, seeds, **_):
            return [[None] * len(seeds) for _ in texts]

    outcome, _ = tune(monkeypatch, Late(exact), deadline_s=1.0)
    assert outcome.best is None
    assert not outcome.accepted
    assert outcome.end == "deadline"
    assert outcome.reason == "time was up before any other setting had been simulated"


def test_the_outcome_does_not_depend_on_the_number_of_processors(monkeypatch):
    outcomes = [tune(monkeypatch, noisy, threads=threads)[0] for threads in (1, 2, 7, 64)]
    for outcome in outcomes:
        assert outcome.best == outcomes[0].best
        assert outcome.comparison == outcomes[0].comparison
        assert outcome.evaluations == outcomes[0].evaluations


def test_a_search_can_be_gone_on_with(monkeypatch):
    whole, _ = tune(monkeypatch, budget=200)
    part, _ = tune(monkeypatch, budget=120)
    state = json.loads(json.dumps(part.search_state, allow_nan=False))
    rest, _ = tune(monkeypatch, budget=80, search_state=state)
    assert rest.search_state["uniform"] == whole.search_state["uniform"]
    assert rest.search_state["best"]["value"] == whole.search_state["best"]["value"]


def test_what_led_before_is_ranked_with_what_is_found_after(monkeypatch):
    """What has found the level of 30 finds nothing so near it in three more settings."""
    part, _ = tune(monkeypatch, budget=120)
    state = json.loads(json.dumps(part.search_state, allow_nan=False))
    assert state["leaders"][0] == part.best
    few, core = tune(monkeypatch, budget=3, search_state=state)
    assert few.comparison.best.mean <= part.comparison.best.mean
    assert few.evaluations == 3
    assert {each["level"] for settings, _ in core.calls for each in settings} >= {
        leader[LEVEL] for leader in state["leaders"]
    }
    # A state of an older version names none: the best that its search was told is tried again.
    del state["leaders"]
    older, _ = tune(monkeypatch, budget=3, search_state=state)
    assert older.comparison.best.mean <= part.comparison.best.mean + 1.0


def test_progress_goes_through_the_stages(monkeypatch):
    reports = []
    tune(monkeypatch, progress=reports.append)
    assert all(isinstance(report, TuningProgress) for report in reports)
    stages = list(dict.fromkeys(report.stage for report in reports))
    assert stages == ["search", "re-evaluation", "comparison"]
    assert all(0 < report.done <= report.total for report in reports)
    best = [report.best for report in reports]
    assert best[0] == math.inf
    assert best[-1] < 3.0


@pytest.mark.parametrize(
    ("threads", "seeds", "size"),
    [(2, 3, 2), (2, 1, 2), (1, 3, 1), (4, 5, 3), (64, 3, 20), (8, 8, 1)],
)
def test_batches_keep_the_processors_busy_and_no_more(threads, seeds, size):
    assert Batches(threads).batch_size(seeds) == size


def test_a_generation_is_simulated_together():
    batches = {}
    for search in ("cma-es", "localised-recursive-random-search"):
        with pytest.MonkeyPatch.context() as patch:
            outcome, core = tune(patch, search=search, threads=2, budget=60)
        batches[search] = [len(settings) for settings, seeds in core.calls if len(seeds) == 1]
        assert outcome.evaluations == 60
    # 16 of 20 spread points, then generations of 6. The other search goes on with what it has just
    # learned.
    assert max(batches["cma-es"]) == 16
    assert batches["cma-es"].count(6) >= 3
    assert max(batches["localised-recursive-random-search"]) == 2


def test_a_generation_tells_of_its_settings_on_the_way(monkeypatch):
    reports = []
    tune(monkeypatch, search="cma-es", threads=2, budget=60, progress=reports.append)
    done = [report.done for report in reports if report.stage == "search"]
    assert done == sorted(done)
    assert done[-1] == 60
    # Those that one seed shows to be hopeless are told of at the end, all at once.
    assert max(later - earlier for earlier, later in pairwise(done)) < 6


def test_a_generation_that_the_deadline_does_not_allow_is_begun_in_part(monkeypatch):
    class Sizes(Slow):
        def __call__(self, texts, seeds, **options):
            if tuple(seeds) == SEEDS.search[:1]:
                sizes.append(len(texts))
            return super().__call__(texts, seeds, **options)

    sizes = []
    clock = SimulatedClock(monkeypatch)
    core = Sizes(clock)
    outcome, _ = tune(monkeypatch, core, search="cma-es", budget=10_000, deadline_s=0.4, threads=1)
    assert outcome.end == "deadline"
    assert sizes.count(6) > 10
    assert sizes[-1] < 6


def test_long_batches_are_kept_in_portions(monkeypatch):
    class Kept:
        def __init__(self):
            self.counts = []

        def recall(self, *_):
            return {}

        def keep(self, _length, _made_for, outcomes, _scenario):
            self.counts.append(len(outcomes))

    clock = SimulatedClock(monkeypatch)
    core = Slow(clock, 2.0, 2.0)  # seconds for a simulation: five in ten seconds
    monkeypatch.setattr("vermilion.tuning.simulations.run_many", core)
    kept, told = Kept(), []
    simulations = Simulations(
        [Condition.of(MODEL, dict.fromkeys(SPACE.names), OBJECTIVE, [])], 1, memory=kept
    )
    simulations.run([Evaluation(STANDARD)], [1])
    others = [Evaluation({LEVEL: float(level), OTHER: 0.5}) for level in range(12)]
    simulations.run(others, [1], progress=told.append)
    assert kept.counts == [1, 5, 5, 2]
    assert told == [1] * 5 + [6] * 5 + [11] * 2  # by this core, each run is a first
    assert all(each.seeds == [1] for each in others)


def test_a_seed_serves_one_purpose():
    assert Seeds.counted(7, search=2, re_evaluation=1, comparison=3) == Seeds(
        (7, 8), (9,), (10, 11, 12)
    )
    with pytest.raises(ValueError, match="no seed twice"):
        Seeds((1, 2), (2,), (3, 4))
    with pytest.raises(ValueError, match="at least 1 and 2"):
        Seeds((1,), (), (2,))


class Timed(Core):
    """A core whose outcome may depend on how long is simulated."""

    def __call__(self, texts, seeds, **options):
        self.durations = getattr(self, "durations", [])
        self.durations += [json.loads(text)["duration_ns"] for text in texts for _ in seeds]
        self.duration = json.loads(texts[0])["duration_ns"]
        return super().__call__(texts, seeds, **options)

    def result(self, setting, seed):
        self.short = self.duration < 100e9
        return super().result(setting, seed)


def tune_timed(monkeypatch, metrics):
    model = {**json.loads(MODEL), "duration_ns": 100_000_000_000}
    core = Timed(None)
    core.metrics = lambda setting, seed: metrics(setting, seed, short=core.short)
    monkeypatch.setattr("vermilion.tuning.simulations.run_many", core)
    outcome = search_best(
        json.dumps(model), SPACE, OBJECTIVE, incumbent=STANDARD, seeds=SEEDS, budget=150,
        fidelity="auto",
    )  # fmt: skip
    return outcome, core


def test_where_short_runs_rank_alike_most_runs_are_short(monkeypatch):
    def alike(setting, _, short):
        return setting["level"], (2.0 if short else 1.0), 1.0

    outcome, core = tune_timed(monkeypatch, alike)
    assert outcome.fidelity.used
    assert outcome.best[LEVEL] == pytest.approx(30.0, abs=1.5)
    long = [duration for duration in core.durations if duration == 100_000_000_000]
    assert len(long) < len(core.durations) / 2
    assert outcome.simulations == len(core.durations)


def test_where_short_runs_favour_others_they_are_not_used(monkeypatch):
    """Short runs reach the target at level 80, long ones at 30."""

    def misled(setting, _, short):
        return (setting["level"] - 50.0 if short else setting["level"]), 1.0, 1.0

    outcome, _ = tune_timed(monkeypatch, misled)
    assert not outcome.fidelity.used
    assert outcome.fidelity.agreement.correlation < 0.5
    assert outcome.best[LEVEL] == pytest.approx(30.0, abs=1.5)


def test_the_leaders_of_short_runs_meet_the_whole_time_before_one_is_chosen(monkeypatch):
    """Short runs rank nearly alike, but their best setting, at level 32, is not the best."""

    def nearly(setting, _, short):
        return setting["level"] - (2.0 if short else 0.0), 1.0, 1.0

    outcome, _ = tune_timed(monkeypatch, nearly)
    assert outcome.fidelity.used
    assert outcome.comparison.best.mean < 1.0 + 2.0**2
