"""Constraints: what they say, what they accept, and what they measure."""

import pytest

from vermilion import load_scenario
from vermilion.objectives import METRICS, Constraint
from vermilion.objectives.constraint import relative_violation
from vermilion.scenario import ScenarioError
from vermilion.simulate import Result


def result(*phases, **total):
    def windows(entries):
        return [{"start_s": float(i), "end_s": i + 1.0, **entry} for i, entry in enumerate(entries)]

    entry = {"total": windows([total])[0], "phases": windows(phases), "ledger": {}}
    return Result({"seed": 1, "links": {"bottleneck": entry}, "flows": {}})


@pytest.mark.parametrize(
    ("text", "metric", "at_least", "bound", "of_reference"),
    [
        ("links.bottleneck.utilization >= 0.95", "utilization", True, 0.95, False),
        ("links.bottleneck.utilization>=95%", "utilization", True, 0.95, False),
        ("links.bottleneck.drop_rate <= 2 %", "drop_rate", False, 0.02, False),
        ("links.bottleneck.queue_packets.p95 <= 60", "queue_packets.p95", False, 60.0, False),
        (
            "  links.bottleneck.queue_packets.mean >= 25 packets ",
            "queue_packets.mean", True, 25.0, False,
        ),
        ("links.bottleneck.sojourn_ms.p99 <= 80", "sojourn_ms.p99", False, 80.0, False),
        ("links.bottleneck.sojourn_ms.p99 <= 0.08 s", "sojourn_ms.p99", False, 80.0, False),
        ("links.bottleneck.queue_bytes.max <= 50 kB", "queue_bytes.max", False, 5e4, False),
        (
            "links.bottleneck.utilization >= 0.95 of reference",
            "utilization", True, 0.95, True,
        ),
        (
            "links.bottleneck.sojourn_ms.p99 <= 120 % of reference",
            "sojourn_ms.p99", False, 1.2, True,
        ),
    ],
)  # fmt: skip
def test_what_a_constraint_says(text, metric, at_least, bound, of_reference):
    constraint = Constraint.parse(text, scenario=load_scenario("varying-load"))
    assert constraint.text == text.strip()
    assert str(constraint.path) == f"links.bottleneck.{metric}"
    assert constraint.at_least == at_least
    assert constraint.bound == pytest.approx(bound)
    assert constraint.of_reference == of_reference


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "links.NAME.METRIC >= NUMBER"),
        ("utilization >= 0.95", "links.NAME.METRIC >= NUMBER"),
        ("links.bottleneck.utilization = 0.95", "links.NAME.METRIC >= NUMBER"),
        ("links.bottleneck.utilization > 0.95", "links.NAME.METRIC >= NUMBER"),
        ("links.bottleneck.utilisation >= 0.95", '"utilization"'),
        ("links.bottleneck.queue_packets >= 3", "queue_packets.mean"),
        ("links.botleneck.utilization >= 0.95", '"bottleneck"'),
        ("links.bottleneck.utilization >= much", "a number"),
        ("links.bottleneck.utilization >= nan", "a number"),
        ("links.bottleneck.utilization >= 0.95 ms", "a number"),
        ("links.bottleneck.utilization >=", "a number"),
        ("links.bottleneck.utilization >= 1 >= 2", "a number"),
        ("links.bottleneck.queue_packets.p95 <= 20 %", "a number of packets"),
        ("links.bottleneck.sojourn_ms.p99 <= 20 packets", "a time"),
        ("links.bottleneck.sojourn_ms.p99 <= 20 ms of reference", "a number"),
    ],
)
def test_a_wrong_constraint_is_refused_with_what_is_accepted(text, expected):
    with pytest.raises(ScenarioError) as refused:
        Constraint.parse(text, field="tuning.constraints.0", scenario=load_scenario("varying-load"))
    assert refused.value.field == "tuning.constraints.0"
    assert refused.value.value == text
    assert expected in refused.value.accepted


def test_the_worst_phase_counts_and_not_the_average():
    constraint = Constraint.parse("links.bottleneck.utilization >= 0.95")
    measured = result({"utilization": 1.0}, {"utilization": 0.9}, utilization=0.99)
    assert constraint.values(measured) == [1.0, 0.9]
    assert constraint.margin(measured) == pytest.approx(-0.05)


def test_without_phases_the_whole_run_counts():
    constraint = Constraint.parse("links.bottleneck.drop_rate <= 0.1")
    assert constraint.margin(result(drop_rate=0.04)) == pytest.approx(0.06)


def test_a_relative_bound_follows_the_reference_phase_by_phase():
    constraint = Constraint.parse("links.bottleneck.utilization >= 0.95 of reference")
    measured = result({"utilization": 0.8}, {"utilization": 0.8})
    reference = result({"utilization": 0.8}, {"utilization": 0.9})
    assert constraint.margin(measured, reference) == pytest.approx(0.8 - 0.95 * 0.9)
    with pytest.raises(ValueError, match="reference"):
        constraint.margin(measured)


def test_what_was_not_measured_has_no_margin():
    constraint = Constraint.parse("links.bottleneck.average_queue_packets.mean <= 40")
    assert constraint.values(result({"utilization": 1.0})) == [None]
    assert constraint.margin(result({"utilization": 1.0})) is None


def test_violations_are_relative_to_the_bound():
    assert relative_violation(margin=-0.19, bound=0.95) == pytest.approx(0.2)
    assert relative_violation(margin=0.01, bound=0.95) == 0.0
    assert relative_violation(margin=-3.0, bound=0.0) == 3.0


def test_every_metric_of_a_run_can_be_constrained():
    from vermilion import run

    measured = run(load_scenario("varying-load"), seed=1)
    for metric in METRICS:
        constraint = Constraint.parse(f"links.bottleneck.{metric} >= 0")
        assert all(value is not None for value in constraint.values(measured)), metric


@pytest.mark.parametrize(
    ("text", "at_least", "bound", "offset"),
    [
        ("flows.*.starved <= reference + 1", False, 1.0, 1.0),
        ("flows.*.jain_index >= reference - 0.05", True, 1.0, -0.05),
        ("links.bottleneck.drop_rate <= 1.25 of reference + 2 %", False, 1.25, 0.02),
        ("links.bottleneck.sojourn_ms.p95 <= reference + 3 ms", False, 1.0, 3.0),
        ("links.bottleneck.utilization >= reference", True, 1.0, 0.0),
    ],
)
def test_a_bound_may_lie_beside_what_the_reference_reaches(text, at_least, bound, offset):
    constraint = Constraint.parse(text, scenario=load_scenario("varying-load"))
    assert constraint.of_reference
    assert (constraint.at_least, constraint.bound) == (at_least, bound)
    assert constraint.offset == pytest.approx(offset)


def test_the_offset_of_a_bound_is_added_to_its_share_of_the_reference():
    constraint = Constraint.parse("links.bottleneck.drop_rate <= 1.25 of reference + 2 %")
    # 1.25 * 0.08 + 0.02 = 0.12, of which 0.11 leaves 0.01.
    assert constraint.bounds([0.11], [0.08]) == [pytest.approx(0.12)]
    assert constraint.margins([0.11], [0.08]) == [pytest.approx(0.01)]
