"""Objectives: from what a run has measured to the number that is minimised."""

import json
import math

import pytest

from vermilion import load_scenario, run
from vermilion.objectives import (
    OBJECTIVES,
    NotMeasuredError,
    constraints_of,
    feasible_first,
    objective_from_table,
    objective_from_text,
    objective_of,
)
from vermilion.scenario import ScenarioError
from vermilion.simulate import Result


def window(start, end, mean, sd, average=None, **more):
    measured = {"start_s": start, "end_s": end, "queue_packets": {"mean": mean, "sd": sd}, **more}
    if average is not None:
        measured["average_queue_packets"] = {"mean": average[0], "sd": average[1]}
    return measured


def result(total, *phases):
    entry = {"total": total, "phases": list(phases), "ledger": {}}
    return Result({"seed": 1, "links": {"bottleneck": entry}, "flows": {}})


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("varying-load")


def objective(name="queue-deviation", **table):
    known = load_scenario("varying-load")
    table = {"name": name, "link": "bottleneck", "target": 30, **table}
    return objective_from_table(table, known)


def test_the_deviation_of_a_standing_queue_is_its_distance_squared():
    assert objective().evaluate(result(window(0, 1, mean=27.0, sd=0.0))) == 9.0


def test_the_deviation_of_a_swinging_queue_at_the_target_is_its_variance():
    assert objective().evaluate(result(window(0, 1, mean=30.0, sd=4.0))) == 16.0


def test_level_and_swings_add_up():
    assert objective().evaluate(result(window(0, 1, mean=25.0, sd=3.0))) == 34.0


def test_phases_count_by_their_durations_and_the_transients_between_them_do_not():
    total = window(5, 45, mean=90.0, sd=9.0)
    phases = window(5, 15, mean=30.0, sd=1.0), window(15, 45, mean=30.0, sd=3.0)
    assert objective().evaluate(result(total, *phases)) == pytest.approx((1 * 10 + 9 * 30) / 40)


def test_the_whole_run_counts_where_it_is_asked_for_or_where_there_are_no_phases():
    total, phase = window(5, 45, mean=30.0, sd=2.0), window(5, 15, mean=30.0, sd=1.0)
    assert objective(over="total").evaluate(result(total, phase)) == 4.0
    assert objective().evaluate(result(total)) == 4.0


def test_the_published_variance_is_that_of_the_discipline_s_own_average():
    published = objective("published-queue-variance")
    full_but_unnoticed = window(0, 1, mean=95.0, sd=20.0, average=(29.0, 0.5))
    assert published.evaluate(result(full_but_unnoticed)) == 1.25
    assert objective().evaluate(result(full_but_unnoticed)) == 65.0**2 + 400.0


def test_without_an_average_the_published_variance_cannot_be_computed():
    with pytest.raises(NotMeasuredError, match="published-queue-variance needs average_queue"):
        objective("published-queue-variance").evaluate(result(window(0, 1, 30.0, 1.0)))


def test_the_deviation_agrees_with_the_time_series(scenario):
    """The exact moments of a real run against the mean over samples of its series."""
    measured = run(scenario, seed=3, probe_interval_s=0.01)
    series = measured.series("bottleneck")
    total = measured.link("bottleneck").total
    inside = (series["time_s"] >= total["start_s"]) & (series["time_s"] <= total["end_s"])
    for name, key in (
        ("queue-deviation", "queue_packets"),
        ("published-queue-variance", "average_queue_packets"),
    ):
        sampled = ((series[key][inside] - 30.0) ** 2).mean()
        assert objective(name, over="total").evaluate(measured) == pytest.approx(sampled, rel=0.03)


def test_a_scenario_names_its_objective_and_its_constraints(scenario):
    named = objective_of(scenario)
    assert (named.name, named.link, named.target) == ("queue-deviation", "bottleneck", 30.0)
    [constraint] = constraints_of(scenario, named)
    assert constraint.text == "links.bottleneck.utilization >= 0.95"


def test_without_constraints_the_utilisation_may_fall_by_a_twentieth():
    document = load_scenario("varying-load").document
    tuning = {key: value for key, value in document["tuning"].items() if key != "constraints"}
    from vermilion.scenario import scenario_from_document

    bare = scenario_from_document({**document, "tuning": tuning})
    for named in (objective(), objective_from_text("flows.*.jain_index", bare)[0]):
        [constraint] = constraints_of(bare, named)
        assert constraint.text == "links.bottleneck.utilization >= 0.95 of reference"
        assert constraint.of_reference
    assert constraints_of(bare, objective(), []) == ()


def test_an_objective_that_can_be_gamed_brings_its_guard_unless_none_is_wanted(scenario):
    published = objective("published-queue-variance")
    guard = "links.bottleneck.queue_packets.sd <= 1 of reference"
    assert [held.text for held in constraints_of(scenario, published)][1:] == [guard]
    assert [held.text for held in constraints_of(scenario, published, [guard])] == [guard]
    assert constraints_of(scenario, published, []) == ()


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("name", "queue-deviaton", '"queue-deviation"'),
        ("link", "botleneck", '"bottleneck"'),
        ("target", "thirty", '"thirty" is not accepted; expected a number of packets'),
        ("target", "30 hops", '"30 hops" is not accepted'),
        ("target", "30", 'or a time, like "20 ms"'),
        ("target", -1, "-1"),
        ("target", None, "expected a number of packets"),
        ("over", "weeks", '"phases", "total"'),
    ],
)
def test_a_wrong_objective_is_refused_with_its_field(scenario, field, value, expected):
    table = {"name": "queue-deviation", "link": "bottleneck", "target": 30, field: value}
    with pytest.raises(ScenarioError) as refused:
        objective_from_table(table, scenario)
    assert refused.value.field == f"tuning.objective.{field}"
    assert expected in str(refused.value)


def without_an_objective(how):
    from vermilion.scenario import scenario_from_document

    document = {**load_scenario("varying-load").document}
    tuning = document.pop("tuning")
    if how == "no table":
        return scenario_from_document(document)
    named = {"objective": {}} if how == "empty" else {}
    return scenario_from_document(
        {**document, "tuning": {"parameters": tuning["parameters"], **named}}
    )


@pytest.mark.parametrize("how", ["no table", "no objective", "empty"])
def test_a_scenario_without_an_objective_is_tuned_for_the_knee(how):
    scenario = without_an_objective(how)
    meant = objective_of(scenario)
    assert (meant.name, meant.link, meant.percentile) == ("knee", "bottleneck", "p95")
    assert [held.text for held in constraints_of(scenario, meant)] == [
        "flows.*.goodput_bit_per_s.total >= 0.98 of reference"
    ]


def test_the_knee_is_of_the_first_link_that_is_tuned_or_can_be():
    from vermilion import parse_scenario

    def three(tuning=""):
        queues = ("drop-tail", "red", "red")
        links = "".join(
            f"""
            [links.l{number}]
            rate = "10 Mbit/s"
            delay = "1 ms"
            queue = {{ discipline = "{queue}" }}
            """
            for number, queue in enumerate(queues)
        )
        return parse_scenario(f"""
            duration = "5 s"
            {links}
            [flows.all]
            path = ["l0", "l1", "l2"]
            rtt = "20 ms"
            sender = "sack"
            {tuning}
        """)

    assert objective_of(three()).link == "l1"
    assert objective_of(three(), links=["l2", "l1"]).link == "l2"
    assert objective_of(three('[tuning]\nparameters = ["links.l2.queue.weight"]')).link == "l2"
    only_share = objective_from_table({"goodput_share": 0.9}, three())
    assert (only_share.name, only_share.link, only_share.goodput_share) == ("knee", "l1", 0.9)


def test_a_table_without_a_name_means_the_queue_s_deviation_if_it_has_a_target(scenario):
    named = objective_from_table({"link": "bottleneck", "target": "30 packets"}, scenario)
    assert (named.name, named.target) == ("queue-deviation", 30.0)


class TestConstraintsOfItsOwn:
    BOUND = "links.bottleneck.sojourn_ms.p99 <= 20 ms"

    def bounded(self, scenario):
        table = {"name": "delay-bound", "link": "bottleneck", "at_most": "20 ms", "percentile": 99}
        return objective_from_table(table, scenario)

    def test_they_stand_in_for_the_usual_one(self, scenario):
        [held] = constraints_of(without_an_objective("no table"), self.bounded(scenario))
        assert (held.text, held.bound, held.at_least) == (self.BOUND, 20.0, False)

    def test_an_empty_list_does_not_remove_them(self, scenario):
        [held] = constraints_of(scenario, self.bounded(scenario), [])
        assert held.text == self.BOUND

    def test_they_come_after_those_that_are_listed_and_only_once(self, scenario):
        listed = ["flows.*.jain_index >= 0.8"]
        held = constraints_of(scenario, self.bounded(scenario), listed)
        assert [each.text for each in held] == [*listed, self.BOUND]
        [held] = constraints_of(scenario, self.bounded(scenario), [self.BOUND])
        assert held.text == self.BOUND

    def test_a_sum_has_those_of_its_parts(self, scenario):
        parts = [
            {"weight": 1, "name": "knee", "link": "bottleneck", "flows": "late"},
            {"weight": 1, "name": "jain-index"},
        ]
        summed = objective_from_table({"name": "weighted-sum", "parts": parts}, scenario)
        assert summed.own_constraints == (
            "flows.late.goodput_bit_per_s.total >= 0.98 of reference",
        )


class TestTheDisciplinesOwnAverage:
    GUARD = "links.bottleneck.queue_packets.sd <= 1 of reference"
    AVERAGE = "links.bottleneck.average_queue_packets"

    def held(self, scenario, text, constraints=None):
        chosen, stated = objective_from_text(text, scenario)
        listed = [*stated, *(constraints or [])] or None
        return [each.text for each in constraints_of(scenario, chosen, listed)]

    @pytest.mark.parametrize("statistic", ["sd", "mean", "p95"])
    def test_an_objective_by_its_path_brings_the_guard(self, scenario, statistic):
        assert self.GUARD in self.held(scenario, f"minimise {self.AVERAGE}.{statistic}")
        queue = f"minimise links.bottleneck.queue_packets.{statistic}"
        assert self.GUARD not in self.held(scenario, queue)

    def test_a_part_of_a_sum_brings_it_too(self, scenario):
        for part in (
            {"path": f"{self.AVERAGE}.sd"},
            {"name": "published-queue-variance", "link": "bottleneck", "target": 30},
        ):
            parts = [{"weight": 1, "name": "jain-index"}, {"weight": 1, **part}]
            summed = objective_from_table({"name": "weighted-sum", "parts": parts}, scenario)
            assert self.GUARD in [each.text for each in constraints_of(scenario, summed)]

    def test_a_constraint_brings_it_too_and_once(self, scenario):
        bound = f"{self.AVERAGE}.mean <= 20"
        goal = "minimise links.bottleneck.drop_rate"
        assert self.held(scenario, goal, [bound]) == [bound, self.GUARD]
        assert self.held(scenario, f"{goal} subject to {bound}") == [bound, self.GUARD]
        assert self.held(scenario, goal, [bound, self.GUARD]) == [bound, self.GUARD]
        assert self.held(scenario, f"minimise {self.AVERAGE}.sd", [bound]) == [bound, self.GUARD]

    def test_an_empty_list_of_constraints_means_none(self, scenario):
        chosen, _ = objective_from_text(f"minimise {self.AVERAGE}.sd", scenario)
        assert constraints_of(scenario, chosen, []) == ()


class TestTargetInMilliseconds:
    """10 Mbit/s send 1250 packets of 1000 bytes a second: 25 in 20 ms."""

    @pytest.mark.parametrize("name", ["queue-deviation", "published-queue-variance"])
    def test_a_target_may_be_the_time_to_send_it(self, name):
        held = objective(name, target="20 ms")
        assert held.target == pytest.approx(25.0)
        assert held.target_delay_s == pytest.approx(0.02)
        assert held.target_text == "20 ms, about 25 packets"
        assert held.label == f"{name} from 20 ms"
        assert objective(name).label == name
        assert objective(name).target_text == "30 packets"

    def test_a_scenario_keeps_its_words(self):
        scenario = load_scenario("varying-load", ['tuning.objective.target="20 ms"'])
        assert scenario.tuning.objective.target == pytest.approx(25.0)
        assert scenario.document["tuning"]["objective"]["target"] == "20 ms"
        assert objective_of(scenario).label == "queue-deviation from 20 ms"
        faster = scenario.with_values({"links.bottleneck.rate": 20e6})
        assert objective_of(faster).target == pytest.approx(50.0)
        again = scenario.with_values({"tuning.objective.target": 12.0})
        assert objective_of(again).label == "queue-deviation"

    def test_packets_of_several_sizes_count_by_flows(self):
        """16 flows with 1500 bytes and 48 with 500: 750 bytes on average, 33.3 in 20 ms."""
        sizes = ['flows.early.packet_size="1500 bytes"', 'flows.late.packet_size="500 bytes"']
        scenario = load_scenario("varying-load", [*sizes, 'tuning.objective.target="20 ms"'])
        assert objective_of(scenario).target == pytest.approx(0.02 * 1e7 / 8 / 750)

    def test_a_rate_that_varies_counts_with_its_mean(self):
        """A third of the time 4 Mbit/s, the rest 10: 8 Mbit/s on average, 20 packets in 20 ms."""
        document = {**load_scenario("varying-load").document}
        link = {**document["links"]["bottleneck"]}
        del link["rate"]
        link |= {"rate_schedule": [["0 s", "4 Mbit/s"], ["1 s", "10 Mbit/s"]], "repeat": "3 s"}
        from vermilion.scenario import scenario_from_document

        varying = scenario_from_document({**document, "links": {"bottleneck": link}, "changes": []})
        table = {"name": "queue-deviation", "link": "bottleneck", "target": "20 ms"}
        assert objective_from_table(table, varying).target == pytest.approx(20.0)

    def test_a_link_that_only_acknowledgements_cross_has_no_such_packets(self):
        overrides = ['flows.early.return_path=["back"]', 'tuning.objective.link="back"']
        document = {**load_scenario("varying-load").document}
        document["links"] = {**document["links"], "back": document["links"]["bottleneck"]}
        from vermilion.scenario import scenario_from_document
        from vermilion.scenario.overrides import apply_overrides

        apply_overrides(document, [*overrides, 'tuning.objective.target="20 ms"'])
        document["flows"]["early"]["rtt"] = "100 ms"
        with pytest.raises(ScenarioError, match=r"target: .*20 ms.* no flow's data crosses"):
            scenario_from_document(document)

    def test_a_time_needs_a_link(self):
        overrides = ['tuning.objective={ name = "queue-deviation", target = "20 ms" }']
        with pytest.raises(ScenarioError, match=r"tuning.objective.link is missing"):
            load_scenario("varying-load", overrides)


def test_every_objective_has_a_name_and_a_line():
    for name, kind in OBJECTIVES.items():
        assert kind.name == name
        assert 0 < len(kind.summary) < 80
    assert json.dumps(list(OBJECTIVES)).startswith('["queue-deviation"')


def test_every_feasible_setting_comes_before_every_infeasible_one():
    worst_feasible = feasible_first(1e12, 0.0, scale=100.0)
    best_infeasible = feasible_first(0.0, 1e-9, scale=100.0)
    assert worst_feasible < best_infeasible < feasible_first(0.0, 0.5, scale=100.0)
    assert feasible_first(0.0, math.inf, scale=100.0) == math.inf


def test_feasible_settings_are_ordered_by_the_objective():
    values = [feasible_first(x, 0.0, scale=100.0) for x in (-500.0, -1.0, 0.0, 1.0, 1.1, 1e4, 1e8)]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    assert all(0.0 < value < 1.0 for value in values)


def test_well_below_the_scale_the_order_is_nearly_proportional():
    base = feasible_first(0.0, 0.0, scale=1000.0)
    one, two = (feasible_first(x, 0.0, scale=1000.0) - base for x in (1.0, 2.0))
    assert two / one == pytest.approx(2.0, rel=0.002)
