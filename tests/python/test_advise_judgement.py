"""The judge of advice: points, margins, and which of several queues is taken."""

import math
from dataclasses import replace

import pytest

from vermilion.advise import advice as engine
from vermilion.advise import read_question
from vermilion.advise.advice import Compared
from vermilion.advise.conditions import grid, most_goodput
from vermilion.advise.families import families
from vermilion.advise.harms import harms
from vermilion.advise.judgement import judge, points, score, total_points
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.metrics import cost_of_loss, cost_of_wait, sparse_points
from vermilion.advise.question import QueueSetting

FIFO = QueueSetting("pfifo", "pfifo", "drop-tail", {"limit": 1000.0})
PIE = QueueSetting("pie, defaults", "pie", "pie")
FAIR = QueueSetting("fq_codel, defaults", "fq_codel", "fq-codel")


def question(**changes):
    asked = {"rate": "10 Mbit/s", "rtt": "10 ms .. 40 ms", "flows": "2 .. 8",
             "delay_at_most": "25 ms", "quick": True}  # fmt: skip
    return read_question(**{**asked, **changes})


def measured(asked, queue=FIFO, *, seeds=5, where=None, wait=2.0, loss=0.0, **metrics):
    """Hand-made figures of a queue; ``where``: in these conditions alone, else the usual ones."""
    usual = {
        "delay_p95_ms": 10.0, "goodput_bit_per_s": 9e6, "jain_index": 0.99, "starved_flows": 0.0,
        "drop_rate": 0.01,
    }  # fmt: skip

    def row(at, seed):
        own = where is None or where(at)
        found = {**usual, **metrics} if own else dict(usual)
        waits, lost = (wait, loss) if own else (2.0, 0.0)
        found |= {
            "call_delay_p95_ms": waits,
            "call_loss_rate": lost,
            "sparse_points": sparse_points(waits, lost, asked.bound_ms),
        }
        return {name: value * (1.0 + 1e-7 * seed) for name, value in found.items()}

    return Measured(
        queue, {at: [row(at, seed) for seed in range(seeds)] for at in grid(asked, 0.0)}
    )


# ITU-T G.107: 95 P / (P + 25.1) of P % lost
@pytest.mark.parametrize(
    ("lost", "expected"), [(0.0, 0.0), (0.005, 1.86), (0.025, 8.6), (0.05, 15.8)]
)
def test_a_loss_costs_what_the_e_model_says(lost, expected):
    assert cost_of_loss(lost) == pytest.approx(expected, abs=0.05)


def test_a_wait_is_measured_by_the_bound():
    assert [cost_of_wait(each, 20.0) for each in (0.0, 2.0, 20.0, 40.0, 160.0)] == [
        0,
        1,
        10,
        20,
        40,
    ]
    assert math.isfinite(sparse_points(None, None, 20.0))
    assert sparse_points(None, None, 20.0) > sparse_points(1000.0, 0.5, 20.0)


def test_bulk_that_waits_ten_times_as_long_is_harm_even_where_no_bound_can_be_kept():
    asked = question(rate="33 kbit/s", rtt="700 ms .. 700 ms", flows="1 .. 3", delay_at_most="3 ms")
    now = measured(asked, wait=1000.0, loss=0.4, delay_p95_ms=2800.0)
    gross = measured(asked, PIE, wait=600.0, delay_p95_ms=34000.0)
    assert "delay_p95_ms" in {each.what for each in harms(asked, now, gross)}
    assert not Compared(gross, judge(asked, now, gross)).accepted
    usual = measured(asked, PIE, wait=600.0, delay_p95_ms=4000.0)
    assert Compared(usual, judge(asked, now, usual)).accepted


class TestPoints:
    def test_a_percent_of_the_line_is_a_point(self):
        asked = question()
        most = most_goodput(asked)
        found = [
            total_points(asked, measured(asked, goodput_bit_per_s=part * most))
            for part in (1.0, 0.99)
        ]
        assert found[1] - found[0] == pytest.approx(1.0, rel=1e-3)

    def test_a_sparse_flow_counts_where_it_is_worst_off(self):
        asked = question()
        one = measured(asked, wait=50.0, where=lambda at: at.flows == 8 and not at.robustness)
        assert points(asked, one)[0]["bound"] == pytest.approx(20.0)
        # what nobody asked for does not count, but it may harm
        beside = measured(asked, wait=50.0, where=lambda at: at.robustness)
        assert points(asked, beside)[0]["bound"] == pytest.approx(0.8)
        assert {each.what for each in harms(asked, measured(asked), beside)} == {"sparse_points"}

    def test_bulk_packets_count_by_doublings(self):
        asked = question()
        found = [
            points(asked, measured(asked, delay_p95_ms=each))[0]["delay"] for each in (25.0, 75.0)
        ]
        assert found == pytest.approx([2.0, 4.0], rel=1e-4)


class TestJudge:
    @pytest.mark.parametrize(
        ("before", "after", "by"),
        [
            ({"wait": 60.0}, {"wait": 20.0}, "bound"),
            ({"loss": 0.02}, {"loss": 0.0}, "bound"),
            ({"goodput_bit_per_s": 9e6}, {"goodput_bit_per_s": 9.3e6}, "goodput"),
            ({"delay_p95_ms": 400.0}, {"delay_p95_ms": 25.0}, "delay"),
            ({"wait": 3.0}, {"wait": 2.0}, None),  # 0.4 points
            ({"goodput_bit_per_s": 9e6}, {"goodput_bit_per_s": 9.05e6}, None),
        ],
    )
    def test_what_is_noticeable_is_better_by_its_part_of_the_goal(self, before, after, by):
        asked = question()
        rows = measured(asked, **before), measured(asked, **after)
        assert judge(asked, *rows).by == by
        assert judge(asked, *reversed(rows)).worse_by == by

    def test_what_one_seed_shows_is_nothing(self):
        asked = question()
        few = [measured(asked, wait=each, seeds=1) for each in (60.0, 20.0)]
        assert judge(asked, *few).by is None

    def test_what_differs_by_chance_is_nothing(self):
        asked = question()
        before, after = measured(asked, wait=20.0), measured(asked, wait=18.0)
        for rows in after.runs.values():
            for seed, row in enumerate(rows):
                row["sparse_points"] += 8.0 * (seed % 2) - 3.0
        assert judge(asked, before, after).by is None


class TestHarm:
    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"goodput_bit_per_s": 9e6 * 0.985}, None),
            ({"goodput_bit_per_s": 9e6 * 0.975}, "goodput_bit_per_s"),
            ({"jain_index": 0.945}, None),
            ({"jain_index": 0.93}, "jain_index"),
            ({"starved_flows": 0.9}, None),
            ({"starved_flows": 1.1}, "starved_flows"),
            ({"drop_rate": 0.032}, None),
            ({"drop_rate": 0.034}, "drop_rate"),  # a quarter more and two points
            ({"wait": 24.0}, None),  # as long as was asked for
            ({"wait": 27.5}, "sparse_points"),
            ({"loss": 0.002}, None),
            ({"loss": 0.004}, "sparse_points"),
        ],
    )
    def test_the_margins_are_those_of_every_command(self, change, what):
        asked = question()
        found = harms(asked, measured(asked), measured(asked, **change))
        assert {each.what for each in found if not each.condition.robustness} == ({what} - {None})

    @pytest.mark.parametrize(("flows", "most"), [("8", 1.0), ("100", 1.0), ("1000", 10.0)])
    def test_of_very_many_flows_one_of_a_hundred_more_may_starve(self, flows, most):
        asked = question(flows=flows)
        before = measured(asked, starved_flows=5.0)
        assert not harms(asked, before, measured(asked, starved_flows=5.0 + 0.99 * most))
        found = harms(asked, before, measured(asked, starved_flows=5.0 + 1.01 * most))
        assert {each.what for each in found} == {"starved_flows"}

    def test_a_queue_that_is_too_long_is_no_measure(self):
        asked = question()
        long = measured(asked, wait=300.0, goodput_bit_per_s=9.5e6, drop_rate=0.0)
        assert not harms(asked, long, measured(asked, goodput_bit_per_s=8.5e6, drop_rate=0.09))
        # but whom it lets starve, it does
        assert harms(asked, long, measured(asked, jain_index=0.6))

    def test_nor_is_one_that_lets_everybody_have_less(self):
        asked = question()
        throttled = measured(asked, goodput_bit_per_s=4.5e6)
        assert not harms(asked, throttled, measured(asked, goodput_bit_per_s=9e6, jain_index=0.6))

    def test_in_the_conditions_for_robustness_twice_as_much_is_allowed(self):
        asked = question()
        for goodput, harmful in ((0.965, False), (0.955, True)):
            beside = measured(
                asked, goodput_bit_per_s=9e6 * goodput, where=lambda at: at.robustness
            )
            found = harms(asked, measured(asked), beside)
            assert bool(found) is harmful
            assert all(each.excusable for each in found)

    def test_short_transfers_that_may_be_longer_by_chance_are_no_harm(self):
        asked = question()
        before, after = measured(asked, short_transfer_s=1.0), measured(asked, short_transfer_s=1.2)
        assert {each.what for each in harms(asked, before, after)} == {"short_transfer_s"}
        for rows in after.runs.values():
            for seed, row in enumerate(rows):
                row["short_transfer_s"] += 0.6 * (-1) ** seed
        assert not harms(asked, before, after)

    def test_harm_costs_a_search_more_than_it_gains(self):
        asked = question()
        now = measured(asked)
        wall = measured(asked, goodput_bit_per_s=9.3e6, jain_index=0.5)
        assert total_points(asked, wall) < total_points(asked, now)
        assert score(asked, wall, now) > score(asked, now, now)


def taken(asked, before, *rows):
    """The queue that is taken of those compared."""
    case = engine._Case(asked, Laboratory(asked, 1, None, 1e9), families(asked), [], before.queue)
    case.compared = [Compared(row, judge(asked, before, row)) for row in rows]
    found = case.recommended()
    return None if found is None else found.measured.queue


class TestChoice:
    def test_a_wall_that_starves_flows_is_not_taken(self):
        asked = question()
        before = measured(asked, wait=60.0, jain_index=0.945, starved_flows=0.2)
        wall = measured(asked, jain_index=0.65, starved_flows=16.0)
        assert taken(asked, before, wall) is None

    def test_a_queue_for_each_flow_is_taken_where_it_is_as_good(self):
        asked = question()
        before = measured(asked, wait=300.0)
        pie = measured(
            asked, replace(FIFO, label="pie, tuned", kind="pie", discipline="pie"), wait=8.0
        )
        assert taken(asked, before, pie, measured(asked, FAIR, wait=3.0)) == FAIR
        assert taken(asked, before, pie) == pie.queue

    def test_and_is_not_given_up_for_one_that_lets_a_call_lose(self):
        asked = question()
        before = measured(asked, FAIR, goodput_bit_per_s=8.8e6)
        pie = QueueSetting("pie, defaults", "pie", "pie")
        assert (
            taken(asked, before, measured(asked, pie, loss=0.02, goodput_bit_per_s=9.4e6)) is None
        )

    def test_of_two_alike_the_plainer_is_taken(self):
        asked = question()
        before = measured(asked, wait=300.0)
        tuned = replace(
            FAIR, label="fq_codel, tuned", parameters={"target": 0.004}, tuned=("target",)
        )
        rows = [measured(asked, tuned, wait=2.0), measured(asked, FAIR, wait=3.0)]
        assert taken(asked, before, *rows) == FAIR
        rows[0] = measured(asked, tuned, wait=2.0, goodput_bit_per_s=9.4e6)
        assert taken(asked, before, *rows) == tuned

    def test_cake_makes_room_only_for_a_sparse_flow(self):
        asked = question()
        cake = replace(FAIR, kind="cake")
        for gain, accepted in (({"goodput_bit_per_s": 9.5e6}, False), ({"wait": 0.5}, True)):
            before = measured(asked, cake, wait=30.0 if accepted else 0.5)
            row = measured(asked, FAIR, **{"wait": 0.5, **gain})
            found = Compared(row, judge(asked, before, row), does_less=True)
            assert found.accepted is accepted
