"""The front of two objectives: found where it is known, confirmed on fresh seeds, drawn.

Most tests replace the simulator by a formula, so that the true front is known.
"""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest

from html_page import Page
from simulated_clock import Interrupting, SimulatedClock
from vermilion import load_scenario
from vermilion.objectives import objective_from_text
from vermilion.report.front import front_figure, front_parameters_figure, rendered
from vermilion.scenario import ScenarioError
from vermilion.simulate import Interval, Result, run_many
from vermilion.tuning import Front, Seeds, simulations, tune_front
from vermilion.tuning.alternatives import non_dominated, thinned
from vermilion.tuning.front import FrontPoint

WEIGHT = "links.bottleneck.queue.weight"
PROBABILITY = "links.bottleneck.queue.max_probability"
SEEDS = Seeds.counted(1, search=2, re_evaluation=0, comparison=6)
BOXES = {WEIGHT: (0.001, 1.0), PROBABILITY: (0.0001, 1.0)}


def formulas(monkeypatch, measure):
    """Replaces the simulator: ``measure`` gives waiting time and utilisation of a setting."""
    met = []

    def run_many(texts, seeds, **_):
        rows = []
        for text in texts:
            queue = json.loads(text)["links"][0]["queue"]["parameters"]
            met.extend((queue["weight"], queue["max_probability"], seed) for seed in seeds)
            rows.append([result(*measure(queue["weight"], queue["max_probability"], seed), seed)
                         for seed in seeds])  # fmt: skip
        return rows

    monkeypatch.setattr("vermilion.tuning.simulations.run_many", run_many)
    return met


def result(delay, used, seed):
    window = {"start_s": 0.0, "end_s": 1.0, "utilization": used, "sojourn_ms": {"mean": delay}}
    links = {"bottleneck": {"total": window, "phases": [], "ledger": {}}}
    return Result({"seed": seed, "links": links, "flows": {}})


def circle(weight, probability, _):
    """The front is a quarter of a circle, not convex; a probability above its least is waste."""
    angle = -math.log10(weight) / 3 * math.pi / 2
    return 1 - math.sin(angle) + probability, math.cos(angle)


def front(monkeypatch, measure=circle, **options):
    met = formulas(monkeypatch, measure)
    options = {"parameters": [WEIGHT, PROBABILITY], "boxes": BOXES, "seeds": SEEDS, **options}
    return tune_front(load_scenario("varying-load"), **options), met


def judged(*means):
    return [SimpleNamespace(means=pair) for pair in means]


def test_what_another_beats_in_both_is_not_on_the_front():
    entries = judged((1, 5), (2, 2), (3, 3), (4, 1), (2, 4), (5, 1))
    assert [entry.means for entry in non_dominated(entries)] == [(1, 5), (2, 2), (4, 1)]


def test_a_front_is_thinned_where_it_is_dense_and_keeps_its_ends():
    entries = judged((0, 10), (1, 9), (1.1, 8.9), (5, 5), (10, 0))
    assert [entry.means for entry in thinned(entries, 4)] == [(0, 10), (1.1, 8.9), (5, 5), (10, 0)]
    assert len(thinned(entries, 9)) == 5


@pytest.mark.evidence
def test_a_front_that_is_not_convex_is_found_all_along(monkeypatch):
    found, _ = front(monkeypatch, budget=400)
    angles = []
    for point in found.points:
        delay, used = (value.mean for value in point.values)
        # On the circle up to the waste, which the log scale lets be small.
        assert math.hypot(1 - delay, used) == pytest.approx(1.0, abs=0.03)
        angles.append(math.atan2(1 - delay, used))
    assert len(angles) >= 8
    assert max(angles) - min(angles) > 0.85 * math.pi / 2
    gaps = [abs(one - other) for one, other in pairwise(angles)]
    assert max(gaps) < 0.25 * math.pi / 2


def test_the_front_begins_with_the_best_in_the_first_objective(monkeypatch):
    found, _ = front(monkeypatch, budget=100)
    assert found.maximised == (False, True)
    assert found.units == ("ms", "")
    firsts, seconds = ([point.values[axis].mean for point in found.points] for axis in (0, 1))
    assert firsts == sorted(firsts)
    assert seconds == sorted(seconds)


def test_what_is_reported_is_of_seeds_that_nothing_was_chosen_by(monkeypatch):
    found, met = front(monkeypatch, budget=60)
    reported = {(p.parameters[WEIGHT], p.parameters[PROBABILITY]) for p in found.points}
    for weight, probability in reported:
        seeds = [seed for w, p, seed in met if (w, p) == (weight, probability)]
        assert sorted(seeds) == sorted([*SEEDS.search, *SEEDS.comparison])
    assert all(value.count == 6 for point in found.points for value in point.values)


def test_luck_in_the_search_is_not_reported(monkeypatch):
    """With the seeds of the search, high weights look wonderful; with others they are bad."""

    def lucky(weight, probability, seed):
        delay, used = circle(weight, probability, seed)
        luck = 0.5 if weight > 0.5 else 0.0
        return (delay - luck, used) if seed in SEEDS.search else (delay + luck, used - luck)

    found, _ = front(monkeypatch, lucky, budget=150)
    assert found.dropped > 0
    assert all(point.parameters[WEIGHT] <= 0.5 for point in found.points)


def test_what_the_setting_in_force_beats_is_left_out_and_counted(monkeypatch):
    """The setting in force is best in both wherever the weight is above 0.01."""

    def measure(weight, probability, seed):
        if (round(weight, 6), round(probability, 6)) == (0.002, 0.1):
            return 0.2, 0.9
        delay, used = circle(weight, probability, seed)
        return delay + 0.2, used - 0.1

    found, _ = front(monkeypatch, measure, budget=80)
    [delay, used] = (value.mean for value in found.incumbent.values)
    assert found.beaten > 0
    assert not [
        point
        for point in found.points
        if point.values[0].mean >= delay and point.values[1].mean <= used
    ]
    assert json.loads(found.to_json())["beaten_by_incumbent"] == found.beaten
    assert Front.from_data(json.loads(found.to_json())) == found


def test_the_setting_in_force_is_not_on_its_own_front(monkeypatch):
    found, met = front(monkeypatch, lambda *_: (1.0, 0.5), budget=1)
    assert found.points == ()
    assert (found.evaluations, found.beaten) == (1, 1)
    assert len({(weight, probability) for weight, probability, _ in met}) == 2
    assert "no setting that was tried beats the one in force" in str(found)
    assert not found.nothing_keeps_constraints


def test_a_setting_in_force_that_breaks_a_constraint_beats_nothing(monkeypatch):
    def measure(weight, probability, _):
        if (round(weight, 6), round(probability, 6)) == (0.002, 0.1):
            return 0.0, 0.4
        return 1.0 + weight, 0.6

    text = "links.bottleneck.utilization >= 0.5"
    found, _ = front(monkeypatch, measure, budget=20, constraints=[text])
    assert len(found.points) == 1
    assert found.beaten == 0


def test_the_budget_is_what_is_simulated(monkeypatch):
    found, met = front(monkeypatch, budget=70)
    simulated = {(weight, probability) for weight, probability, seed in met if seed == 1}
    assert len(simulated) == found.evaluations + 1 <= 71  # and the incumbent
    assert found.simulations == len(met)


def test_the_same_seed_finds_the_same_front(monkeypatch):
    one, other = (front(monkeypatch, budget=60)[0].to_json() for _ in range(2))
    assert one == other


def test_a_constraint_cuts_the_front_off(monkeypatch):
    text = "links.bottleneck.utilization >= 0.5"
    found, _ = front(monkeypatch, budget=150, constraints=[text])
    assert found.constraints == (text,)
    assert min(point.values[1].mean for point in found.points) >= 0.5


def test_a_front_without_a_setting_says_why_and_what_came_nearest(monkeypatch):
    """The wait is never below 0.0001 on this formula's front, and the least is at weight 0.001."""
    text = "links.bottleneck.sojourn_ms.mean <= 0"
    found, _ = front(monkeypatch, budget=60, constraints=[text])
    assert (found.points, found.dropped) == ((), 0)
    assert found.nothing_keeps_constraints
    least = min(delay for delay, _ in found.tried)
    delay, _ = circle(*found.nearest.parameters.values(), 0)
    assert delay == least
    said = " ".join(str(found).split())
    assert f"no setting that was tried keeps: {text}" in said
    assert f"{text} is broken ({least:.4g}" in said
    assert "loosen" in said
    for false in ("every setting keeps", "were confirmed", "significantly better"):
        assert false not in said
    page = rendered(found, "html").decode()
    assert f"o setting that was tried keeps: {text.replace('<', '&lt;')}" in page
    assert "Blue:" not in page
    for false in ("Every setting of the front keeps", "were confirmed"):
        assert false not in page


def test_leaders_that_fresh_seeds_refuse_leave_a_front_without_a_setting(monkeypatch):
    def lucky(weight, probability, seed):
        delay, used = circle(weight, probability, seed)
        return (delay, used) if seed in SEEDS.search else (delay + 1.0, used)

    text = "links.bottleneck.sojourn_ms.mean <= 0.5"
    found, _ = front(monkeypatch, lucky, budget=60, constraints=[text])
    assert found.points == ()
    assert found.dropped > 0
    assert f"{found.dropped} settings led in the search, and none surely keeps" in str(found)
    delay, _ = circle(*found.nearest.parameters.values(), 0)
    assert found.nearest.missed == (f"{text} is broken ({delay + 1.0:.4g} +- 0 ms, bound 0.5 ms)",)


def test_any_two_objectives_may_be_named(monkeypatch):
    scenario = load_scenario("varying-load")
    first = objective_from_text("maximise links.bottleneck.utilization", scenario)[0]
    used = "links.bottleneck.utilization >= 0.2"
    second = f"minimise links.bottleneck.sojourn_ms.mean subject to {used}"
    found, _ = front(monkeypatch, objectives=[first, second], budget=60)
    assert found.objectives == ("links.bottleneck.utilization", "links.bottleneck.sojourn_ms.mean")
    assert found.constraints == (used,)
    assert found.points[0].values[0].mean == max(p.values[0].mean for p in found.points)


@pytest.mark.evidence
def test_settings_that_a_tuning_would_refuse_for_harm_are_named(monkeypatch):
    # Nothing is dropped in force, so 2 % are within the bound; below a weight of 0.1 it is 5 %.
    def run_many(texts, seeds, **_):
        return [[dropping(json.loads(text), seed) for seed in seeds] for text in texts]

    def dropping(document, seed):
        queue = document["links"][0]["queue"]["parameters"]
        weight = queue["weight"]
        in_force = weight == 0.002
        found = result(*circle(weight, queue["max_probability"], seed), seed)
        found.data["links"]["bottleneck"]["total"]["drop_rate"] = (
            0.0 if in_force else 0.05 if weight < 0.1 else 0.02
        )
        return found

    monkeypatch.setattr("vermilion.tuning.simulations.run_many", run_many)
    scenario = load_scenario("varying-load")
    options = {"parameters": [WEIGHT, PROBABILITY], "boxes": BOXES, "seeds": SEEDS, "budget": 60}
    found = tune_front(scenario, **options)
    heavy = [point.parameters[WEIGHT] < 0.1 for point in found.points]
    assert any(heavy)
    assert not all(heavy)
    bound = "links.bottleneck.drop_rate <= 1.25 of reference + 0.02"
    assert [point.harm for point in found.points] == [(bound,) if each else () for each in heavy]
    numbers = ", ".join(str(number) for number, each in enumerate(heavy, 1) if each)
    said = f"tune without --pareto would refuse settings {numbers}, for harm: {bound}"
    assert said in str(found).splitlines()
    assert said[1:] in re.sub(r"&lt;", "<", rendered(found, "html").decode())
    data = json.loads(found.to_json())
    assert [point.get("harm", []) for point in data["points"]] == [[bound] * each for each in heavy]
    assert [point.harm for point in Front.from_data(data).points] == [
        point.harm for point in found.points
    ]
    # What a user says of harm is what is meant.
    assert tune_front(scenario, harm=["none"], **options).harmful == []


@pytest.mark.evidence
def test_the_page_counts_the_setting_in_force_apart_from_those_tried(monkeypatch):
    found, _ = front(monkeypatch, budget=20)
    text = re.sub(r"\s+", " ", rendered(found, "html").decode())
    others = len(found.tried) - 1
    assert f"Grey: the setting in force and the {others} other settings that the search" in text
    assert f"{others} settings tried by" in text


def test_better_than_now_is_said_where_it_is_sure(monkeypatch):
    found, _ = front(monkeypatch, budget=60)
    now = found.incumbent
    assert now.better == (False, False)
    for point in found.points:
        for axis, sign in ((0, 1), (1, -1)):
            # Without noise any difference is significant.
            less = sign * point.values[axis].mean < sign * now.values[axis].mean
            assert point.better[axis] == less


def limited(monkeypatch, seconds, **options):
    """A front within so many seconds, each simulation taking one; how long it took."""
    formulas(monkeypatch, circle)
    clock = SimulatedClock(monkeypatch)
    monkeypatch.setattr(simulations, "run_many", clock.slowed(simulations.run_many, 1.0))
    start = clock.now
    options = {"parameters": [WEIGHT, PROBABILITY], "boxes": BOXES, "seeds": SEEDS, **options}
    found = tune_front(
        load_scenario("varying-load"), budget=10_000, deadline_s=seconds, threads=1, **options
    )
    return found, clock.now - start


@pytest.mark.evidence
def test_a_deadline_leaves_time_for_fresh_seeds(monkeypatch):
    found, took = limited(monkeypatch, 400.0)
    assert found.end == "deadline"
    assert 200.0 < took <= 400.0
    assert found.fresh
    assert len(found.points) > 2
    assert all(point.values[0].count == 6 for point in found.points)
    assert ", ended by its deadline" in str(found)


@pytest.mark.parametrize(("seconds", "met"), [(1.0, 0), (2.0, 2)])
def test_a_front_without_time_for_fresh_seeds_says_so(monkeypatch, seconds, met):
    """The setting in force alone needs two seconds for the seeds of the search."""
    found, took = limited(monkeypatch, seconds)
    assert took == seconds
    assert (found.end, found.fresh, found.points) == ("deadline", False, ())
    assert found.seed_count == met
    assert (found.incumbent is None) == (met == 0)
    assert "not confirmed on fresh seeds" in str(found)
    for kind in ("svg", "html"):
        assert rendered(found, kind)


@pytest.mark.parametrize(
    ("moments", "fresh", "count"),
    [([1], False, 0), ([3], True, 6), ([9], True, 6), ([9, 10], False, 2), ([9, 11], True, 2)],
)
def test_ctrl_c_leaves_the_front_so_far_and_another_ends_its_comparison(
    monkeypatch, moments, fresh, count
):
    formulas(monkeypatch, circle)
    monkeypatch.setattr(simulations, "run_many", Interrupting(simulations.run_many, *moments))
    found = tune_front(
        load_scenario("varying-load"),
        parameters=[WEIGHT, PROBABILITY],
        boxes=BOXES,
        seeds=SEEDS,
        threads=1,
    )
    assert found.end == "interrupted"
    assert found.fresh == fresh
    assert found.seed_count == count
    assert bool(found.points) == (moments != [1])
    assert ", ended by Ctrl-C" in str(found)


@pytest.mark.parametrize("seconds", [1.0, 10.0, 400.0])
def test_a_front_can_be_read_again(monkeypatch, seconds):
    found, _ = limited(monkeypatch, seconds)
    again = Front.from_data(json.loads(found.to_json()))
    assert replace(again, points=found.points, incumbent=found.incumbent) == found
    assert (
        again.nothing_keeps_constraints is json.loads(found.to_json())["nothing_keeps_constraints"]
    )
    for one, other in zip(again.points, found.points, strict=True):
        assert (one.parameters, one.better) == (other.parameters, other.better)
        for mine, its in zip(one.values, other.values, strict=True):
            assert (mine.mean, mine.count) == (its.mean, its.count)
            assert mine.half_width == pytest.approx(its.half_width, abs=1e-12)


def test_a_front_where_no_seed_changes_anything_warns_of_it(monkeypatch):
    """The formula knows no chance, and a hundred-thousandth of it is next to none."""

    def with_part(part):
        def measure(weight, probability, seed):
            delay, used = circle(weight, probability, seed)
            return delay * (1 + part * (seed % 3)), used * (1 + part * (seed % 3))

        return front(monkeypatch, measure, budget=20)[0]

    none, least, some = map(with_part, (0.0, 1e-5, 0.01))
    words = "every fresh seed gave {}the same run, so its intervals say nothing about chance"
    assert none.warnings == (words.format(""),)
    assert least.warnings == (words.format("nearly "),)
    assert some.warnings == ()
    assert f"warning: {words.format('')}" in str(none)
    assert words.format("") in rendered(none, "html").decode()
    assert json.loads(none.to_json())["warnings"] == list(none.warnings)


def test_a_front_without_a_setting_can_be_read_again(monkeypatch):
    found, _ = front(monkeypatch, budget=20, constraints=["links.bottleneck.sojourn_ms.mean <= 0"])
    again = Front.from_data(json.loads(found.to_json()))
    assert again.why_empty == found.why_empty
    assert again.nearest == found.nearest


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"objectives": ["links.bottleneck.utilization"]}, "objectives"),
        ({"objectives": ["links.bottleneck.utilization", "nothing"]}, "tuning.objective"),
        ({"search": "luck"}, "search"),
        ({"budget": 0}, "budget"),
        ({"deadline_s": -1.0}, "deadline_s"),
        ({"deadline_s": math.nan}, "deadline_s"),
        ({"profile": "toaster"}, "profile"),
        ({"constraints": ["be good"]}, "tuning.constraints.0"),
    ],
)
def test_what_does_not_fit_is_refused(monkeypatch, options, field):
    with pytest.raises(ScenarioError) as refused:
        front(monkeypatch, **options)
    assert refused.value.field == field


def test_a_front_of_a_real_queue_trades_delay_for_use():
    scenario = load_scenario("varying-load", ["duration=20 s", "flows.late.start=9 s .. 10 s"])
    found = tune_front(scenario, seeds=SEEDS, budget=60, profile="linux-red")
    assert len(found.points) >= 2
    best, last = found.points[0], found.points[-1]
    assert best.values[0].high < last.values[0].low
    assert best.values[1].mean < last.values[1].mean
    assert best.command.startswith("tc qdisc change dev DEV root red limit ")
    assert 2.0 ** round(math.log2(best.parameters[WEIGHT])) == best.parameters[WEIGHT]


SHORT = ("duration=8 s", "warm_up=2 s", "settle=2 s", "flows.late.start=4 s .. 4.5 s")


def test_what_is_a_part_of_an_objective_holds_on_a_front_too():
    bound = '{ name = "delay-bound", link = "bottleneck", at_most = "25 ms" }'
    found = tune_front(
        load_scenario("varying-load", SHORT), [bound, "flows.*.jain_index"], seeds=SEEDS, budget=24
    )
    assert found.constraints == ("links.bottleneck.sojourn_ms.p95 <= 25 ms",)
    assert found.points
    # Untuned, packets wait longer; on the front none does.
    assert found.incumbent.metrics["sojourn_ms.p95"].mean > 25.0
    assert all(point.metrics["sojourn_ms.p95"].mean <= 25.0 for point in found.points)


def test_the_price_of_every_setting_stands_beside_its_objectives():
    scenario = load_scenario("varying-load", SHORT)
    goals = ['{ name = "queue-deviation", link = "bottleneck", target = "30 packets" }',
             "flows.*.jain_index"]  # fmt: skip
    found = tune_front(scenario, goals, seeds=SEEDS, budget=16)
    now = []
    for result in run_many([scenario], SEEDS.comparison)[0]:
        phases = result.link("bottleneck").phases
        lengths = [phase["end_s"] - phase["start_s"] for phase in phases]
        rates = [phase["drop_rate"] for phase in phases]
        now.append(sum(a * b for a, b in zip(lengths, rates, strict=True)) / sum(lengths))
    assert found.incumbent.metrics["drop_rate"].mean == pytest.approx(sum(now) / len(now))
    # Jain's index is an objective already.
    headings = [heading for heading, _ in found.beside]
    assert headings == ["goodput (Mbit/s)", "p95 queueing delay (ms)", "dropped (%)"]
    line = next(line for line in str(found).splitlines() if line.startswith("now"))
    assert f"{100 * sum(now) / len(now):.2f}" in line.split()
    again = Front.from_data(json.loads(found.to_json()))
    assert [*map(again.beside_cells, again.points)] == [*map(found.beside_cells, found.points)]
    kept = again.incumbent.metrics["drop_rate"]
    assert kept.half_width == pytest.approx(found.incumbent.metrics["drop_rate"].half_width)


def test_a_front_of_before_prices_were_kept_is_shown_without(monkeypatch):
    found, _ = front(monkeypatch, budget=40)
    data = json.loads(found.to_json())
    for point in (*data["points"], data["incumbent"]):
        point.pop("metrics", None)
    old = Front.from_data(data)
    assert old.beside == []
    assert "p95 queueing delay" not in str(old)
    assert Page(rendered(old, "html").decode()).row("now")


@pytest.mark.evidence
def test_a_reader_is_shown_words_and_their_units(monkeypatch):
    found, _ = front(monkeypatch, budget=40)
    shown = found.shown()
    assert shown.objectives == ("mean queueing delay", "utilisation")
    assert shown.units == ("ms", "%")
    for point, in_words in zip(found.points, shown.points, strict=True):
        assert in_words.values[0] == point.values[0]
        own, per_cent = point.values[1], in_words.values[1]
        assert (per_cent.mean, per_cent.count) == (pytest.approx(100 * own.mean), own.count)
        assert per_cent.half_width == pytest.approx(100 * own.half_width)
    assert shown.tried[0] == pytest.approx((found.tried[0][0], 100 * found.tried[0][1]))
    assert shown.shown() == shown
    # The paths, which an order is given in, stand below; whoever reads JSON sees nothing else.
    path = "links.bottleneck.sojourn_ms.mean"
    assert [path in line for line in str(found).splitlines()].count(True) == 1
    assert json.loads(found.to_json())["objectives"][0] == {
        "name": path, "unit": "ms", "goal": "minimise"
    }  # fmt: skip
    page = rendered(found, "html").decode()
    assert "What less mean queueing delay costs in utilisation." in page
    assert "utilisation (%)" in page


def test_an_axis_over_orders_of_magnitude_is_logarithmic():
    values = (0.01, 0.3, 50.0)
    points = tuple(
        FrontPoint({WEIGHT: 0.1}, (Interval(each, 0.001, 6), Interval(0.9 + each / 1e3, 0.001, 6)),
                   (False, False))
        for each in values
    )  # fmt: skip
    found = of_pie(points=points, incumbent=points[1], tried=tuple((v, 0.9) for v in values),
                   parameters=(WEIGHT,), parameter_units=("",))  # fmt: skip
    [axes] = front_figure(found).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    left, right = axes.get_xlim()
    assert 0.0 < left < 0.009
    assert right > 50.0


def test_the_figure_shows_the_front_and_what_is_in_force(monkeypatch):
    found, _ = front(monkeypatch, budget=60)
    [axes] = front_figure(found).axes
    assert axes.get_xlabel() == "links.bottleneck.sojourn_ms.mean, ms  (better: left)"
    assert axes.get_ylabel() == "links.bottleneck.utilization  (better: up)"
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["tried in the search", "front, on fresh seeds", "now, on the same seeds"]
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for point in (*found.points, found.incumbent):
        assert left < point.values[0].mean < right
        assert bottom < point.values[1].mean < top
    assert rendered(found, "svg") == rendered(found, "svg")
    assert rendered(found, "png")[:4] == b"\x89PNG"


def test_the_page_has_every_number(monkeypatch):
    found, _ = front(monkeypatch, budget=60)
    page = Page(rendered(found, "html").decode())
    for number, point in enumerate(found.points, 1):
        assert page.row(str(number))[0].startswith(f"{point.values[0].mean:.4g}")


def of_pie(**changes):
    """A front whose parameters are delays, ratios, and one that is left to PIE's own rule."""
    path = "links.bottleneck.queue."
    point = FrontPoint(
        {f"{path}target": 0.0151874, f"{path}alpha": 0.125, f"{path}limit": None},
        (Interval(8.5, 0.25, 10), Interval(0.99, 0.01, 10)),
        (True, False),
    )
    fields = {
        "scenario": "test",
        "objectives": ("delay", "utilization"),
        "units": ("ms", ""),
        "maximised": (False, True),
        "constraints": (),
        "points": (point, point),
        "incumbent": FrontPoint(
            {**point.parameters, f"{path}target": 0.1}, point.values, (False, False)
        ),
        "dropped": 0,
        "tried": ((8.5, 0.99),),
        "evaluations": 1,
        "simulations": 10,
        "seeds": Seeds.counted(1),
        "search": "test",
        "end": "budget",
        "version": "0",
        "parameters": tuple(point.parameters),
        "parameter_units": ("seconds", "1", "packets"),
    }
    return Front(**{**fields, **changes})


@pytest.mark.evidence
def test_every_parameter_of_a_front_has_its_unit_and_delays_are_in_ms():
    lines = str(of_pie()).splitlines()
    [headings] = [line for line in lines if "utilization" in line and "target" in line]
    assert headings.split()[-5:] == ["target", "(ms)", "alpha", "limit", "(packets)"]
    [now] = [line for line in lines if line.lstrip().startswith("now")]
    assert now.split()[-3:] == ["100", "0.125", "automatic"]
    page = Page(rendered(of_pie(), "html").decode())
    assert page.row("1")[-3:] == ["15.19", "0.125", "automatic"]
    html = rendered(of_pie(), "html").decode()
    for heading in ("target (ms)", "alpha", "limit (packets)"):
        assert f'<th scope="col">{heading}</th>' in html


def test_the_picture_of_the_parameters_has_the_same_units():
    target, alpha, _, _ = front_parameters_figure(of_pie()).axes
    assert target.get_ylabel() == "target (ms)"
    assert alpha.get_ylabel() == "alpha"
    assert list(target.lines[0].get_ydata()) == pytest.approx([15.1874] * 2)
    assert list(target.lines[1].get_ydata()) == pytest.approx([100.0] * 2)


def test_without_a_gap_the_budget_goes_on_to_the_ends(monkeypatch):
    """One setting is best in both: the largest weight. Two of eight searches alone would try 16."""
    found, _ = front(monkeypatch, lambda weight, *_: (1.0 / weight, weight), budget=64)
    assert found.evaluations > 40  # and not all: what is in the archive is asked for again
    [only] = found.points
    assert only.parameters[WEIGHT] > 0.5
