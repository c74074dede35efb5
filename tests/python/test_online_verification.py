"""What is kept and what is rolled back, from samples."""

import random
from dataclasses import replace

import numpy as np
import pytest

from vermilion.objectives import Constraint
from vermilion.objectives.mean_sojourn import MeanSojourn
from vermilion.objectives.queue_deviation import QueueDeviation
from vermilion.objectives.utilization import Utilization
from vermilion.online.decide.verification import Expectation, clearly_worse, first_broken, verify
from vermilion.online.policy import Policy
from vermilion.online.sense.sampler import Sample
from vermilion.online.sense.stretch import Stretch, batches_of

EXPECTED = Expectation(cost_before=120.0, cost_after=20.0, mean_after=30.0)
HOLD = QueueDeviation("bottleneck", 30.0)
NO_MORE_DROPS = replace(
    Constraint.parse("links.bottleneck.drop_rate <= reference + 0.02"), of_harm=True
)
POLICY = Policy(link="bottleneck", objective=HOLD, parameters=("weight",))


def samples(mean, sd, seconds=5.0, packets=125, seed=1, drops=2):
    coins = random.Random(seed)
    backlogs = [max(0, round(coins.gauss(mean, sd))) for _ in range(round(seconds / 0.1))]
    return [
        Sample(
            time_s=0.1 * n,
            interval_s=0.1,
            backlog_before_packets=30 if packets >= 125 else 0,  # else the link would be slower
            backlog_packets=backlog,
            backlog_bytes=1000 * backlog,
            packets=packets,
            bytes=1000 * packets,
            drops=drops,
            marks=0,
            active_flows=16,
            heard_flows=16,
            rtt_samples=0,
            mean_rtt_s=None,
        )
        for n, backlog in enumerate(backlogs, start=1)
    ]


def measured(*args, **kwargs):
    return Stretch.of(samples(*args, **kwargs), 10e6)


def test_less_than_three_seconds_are_no_measurement():
    assert measured(30, 5, seconds=2.9) is None


def test_a_measurement_has_the_figures_of_its_samples():
    found = measured(33, 4, seconds=60)
    assert found.queue.mean == pytest.approx(33, abs=0.5)
    assert found.objective(HOLD).mean == pytest.approx(16 + 9, rel=0.15)
    assert found.utilization.mean == pytest.approx(1.0)
    assert found.signal_rate == pytest.approx(2 / 127)


def test_a_setting_that_does_what_the_model_said_is_kept():
    outcome = verify(measured(30, 4.5), measured(38, 9), EXPECTED, POLICY)
    assert outcome.verdict == "better"
    assert "mean queue" in outcome.reason


def test_a_setting_worse_than_before_is_rolled_back():
    outcome = verify(measured(60, 10), measured(38, 9), EXPECTED, POLICY)
    assert outcome.verdict == "worse"
    assert outcome.reason.startswith("worse than before")


def test_a_setting_is_taken_back_for_a_loss_of_more_than_a_tenth():
    waits = Policy(link="bottleneck", objective=MeanSojourn("bottleneck"), parameters=("weight",))
    before = measured(30, 0.1)
    a_little = verify(measured(32.5, 0.1), before, EXPECTED, waits)
    assert a_little.verdict == "unproven"
    assert a_little.reason.startswith("it is worse than before, but too little")
    by_chance = verify(measured(32.5, 8), measured(30, 8), EXPECTED, waits)
    assert by_chance.verdict == "unproven"
    assert "may be chance" in by_chance.reason
    assert verify(measured(33.5, 0.1), before, EXPECTED, waits).verdict == "worse"


def test_a_setting_that_empties_the_link_is_rolled_back():
    outcome = verify(measured(30, 3, packets=100), measured(38, 9), EXPECTED, POLICY)
    assert outcome.verdict == "worse"
    assert "used less" in outcome.reason


def test_a_queue_that_hardly_anything_got_through_is_no_measure_of_delays():
    """As RED of Linux did: 12 % of the link in use, and nearly none waits. Then all is in use."""
    delay = Policy(link="bottleneck", objective=MeanSojourn("bottleneck"), parameters=("weight",))
    harm = replace(delay, bounds=(NO_MORE_DROPS,))
    after, before = measured(10, 2, drops=20), measured(0.3, 0.2, packets=15, drops=0)
    for policy in (delay, harm):
        outcome = verify(after, before, EXPECTED, policy)
        assert outcome.verdict == "unproven"
        assert outcome.reason.startswith("the link carries far more than before")
    moments = Stretch(tuple(batches_of(samples(10, 2, seconds=2), 10e6, 0.25)))
    assert clearly_worse(moments, before, EXPECTED, delay.objective) is None
    stated = Constraint.parse("links.bottleneck.drop_rate <= 10 %")
    asked = verify(after, before, EXPECTED, replace(delay, bounds=(stated,)))
    assert asked.verdict == "worse"
    assert "drop_rate <= 10 %" in asked.reason


def test_a_little_more_traffic_does_not_excuse_a_longer_queue():
    delay = Policy(link="bottleneck", objective=MeanSojourn("bottleneck"), parameters=("weight",))
    after, before = measured(10, 2), measured(1, 0.5, packets=117)
    assert verify(after, before, EXPECTED, delay).verdict == "worse"
    moments = Stretch(tuple(batches_of(samples(10, 2, seconds=2), 10e6, 0.25)))
    assert clearly_worse(moments, before, EXPECTED, delay.objective) is not None


def test_without_time_to_measure_before_the_model_stands_in():
    assert verify(measured(35, 6), None, EXPECTED, POLICY).verdict == "unproven"
    assert verify(measured(60, 10), None, EXPECTED, POLICY).verdict == "worse"


def steady(packets_waiting, packets=125, seconds=5.0):
    """Always so many packets of 1000 bytes wait: 0.8 ms each at 10 Mbit/s, and 125 fill 0.1 s."""
    return measured(packets_waiting, 0.0, seconds=seconds, packets=packets)


WAITS = Policy(link="bottleneck", objective=MeanSojourn("bottleneck"), parameters=("weight",))


@pytest.mark.parametrize(("packets", "verdict"), [(37, "unproven"), (38, "worse")])
def test_half_as_bad_again_as_the_model_of_the_old_setting_is_taken_back(packets, verdict):
    """20 ms and a half of it are 30 ms: 37 packets wait 29.6 ms, and 38 wait 30.4 ms."""
    expected = replace(EXPECTED, cost_before=20.0)
    assert verify(steady(packets), None, expected, WAITS).verdict == verdict


@pytest.mark.parametrize(("packets", "verdict"), [(57, "unproven"), (56, "worse")])
def test_half_of_what_the_model_of_the_old_setting_carries_is_taken_back(packets, verdict):
    """Of 90 % of the link half is 45 %: 57 packets of 125 are 45.6 %, and 56 are 44.8 %."""
    expected = replace(EXPECTED, cost_before=0.9)
    carries = replace(WAITS, objective=Utilization("bottleneck"))
    assert verify(steady(10, packets), None, expected, carries).verdict == verdict


@pytest.mark.parametrize(("packets", "verdict"), [(112, "unproven"), (113, "worse")])
def test_a_tenth_of_the_rate_more_excuses_a_longer_queue(packets, verdict):
    """The link is full afterwards: 112 packets of 125 before are 10.4 % less, and 113 are 9.6 %."""
    outcome = verify(steady(10), steady(1, packets), EXPECTED, WAITS)
    assert outcome.verdict == verdict
    assert outcome.reason.startswith("the link carries far more") == (verdict == "unproven")
    moments = Stretch(tuple(batches_of(samples(10, 0.0, seconds=2), 10e6, 0.25)))
    early = clearly_worse(moments, steady(1, packets), EXPECTED, WAITS.objective)
    assert (early is None) == (verdict == "unproven")


@pytest.mark.parametrize(("packets", "verdict"), [(123, "unproven"), (122, "worse")])
def test_two_hundredths_of_the_rate_less_are_taken_back(packets, verdict):
    """123 packets of 125 are 1.6 % less than all, and 122 are 2.4 % less."""
    assert verify(steady(10, packets), steady(10), EXPECTED, WAITS).verdict == verdict


@pytest.mark.parametrize(
    ("seconds", "packets", "is_known"),
    [
        (1.2, 41, True),
        (1.2, 39, False),  # less than twice the 20 packets of before
        (0.9, 41, False),  # three moments
    ],
)
def test_four_moments_must_be_twice_as_bad_for_an_early_verdict(seconds, packets, is_known):
    moments = Stretch(tuple(batches_of(samples(packets, 0.0, seconds), 10e6, 0.25)))
    found = clearly_worse(moments, steady(20), EXPECTED, WAITS.objective)
    assert (found is not None) == is_known


def test_an_early_verdict_needs_every_moment_to_be_worse_than_the_worst_second():
    """The seconds before are of 10 and 40 packets: 20 on average, and moments of 41 are worse."""
    before = Stretch(
        tuple(each for length in (10, 10, 40) for each in steady(length, seconds=3.0).batches[:1])
    )
    for packets, is_known in ((41, True), (40, False)):
        moments = Stretch(tuple(batches_of(samples(packets, 0.0, 1.2), 10e6, 0.25)))
        found = clearly_worse(moments, before, EXPECTED, WAITS.objective)
        assert (found is not None) == is_known


def test_of_what_is_maximised_less_is_worse_at_every_moment():
    """A link of which less than half is carried of what was, and one that carries more."""
    carries = Utilization("bottleneck")
    for packets, is_known in ((0, True), (60, False), (125, False)):
        full = samples(10, 0.0, 1.2, packets=packets)
        moments = Stretch(tuple(batches_of(full, 10e6, 0.25)))
        found = clearly_worse(moments, steady(10, 100), EXPECTED, carries)
        assert (found is not None) == is_known


def test_chance_alone_rolls_back_less_than_once_in_a_hundred():
    rolled_back = sum(
        verify(
            measured(30, 9, seed=2 * n), measured(30, 9, seed=2 * n + 1), EXPECTED, POLICY
        ).verdict
        == "worse"
        for n in range(500)
    )
    assert rolled_back <= 5


def test_what_cannot_be_told_from_before_is_unproven():
    outcome = verify(measured(30, 9, seed=2), measured(30, 9, seed=3), EXPECTED, POLICY)
    assert outcome.verdict == "unproven"
    assert outcome.reason.startswith("it looks worse than before, but that may be chance")


def test_a_setting_that_breaks_a_constraint_which_the_one_before_kept_is_worse():
    asked = Policy(
        link="bottleneck",
        objective=HOLD,
        parameters=("weight",),
        bounds=(Constraint.parse("links.bottleneck.drop_rate <= 10 %"),),
    )
    after, before = measured(30, 3, drops=20), measured(38, 9, drops=5)
    outcome = verify(after, before, EXPECTED, asked)
    assert outcome.verdict == "worse"
    assert "links.bottleneck.drop_rate <= 10 % (measured 13.79 %)" in outcome.reason  # 20 / 145


def test_a_constraint_that_both_break_is_said_and_decides_nothing():
    asked = Policy(
        link="bottleneck",
        objective=HOLD,
        parameters=("weight",),
        bounds=(Constraint.parse("links.bottleneck.drop_rate <= 10 %"),),
    )
    after, before = measured(30, 4.5, drops=20), measured(38, 9, drops=20)
    outcome = verify(after, before, EXPECTED, asked)
    assert outcome.verdict == "better"
    assert outcome.broken


def test_what_keeps_a_constraint_that_was_broken_before_may_cost_the_objective():
    asked = Policy(
        link="bottleneck",
        objective=HOLD,
        parameters=("weight",),
        bounds=(Constraint.parse("links.bottleneck.drop_rate <= 10 %"),),
    )
    after, before = measured(60, 10, drops=5), measured(38, 9, drops=20)
    assert verify(after, before, EXPECTED, asked).verdict == "unproven"
    assert verify(after, measured(38, 9, drops=5), EXPECTED, asked).verdict == "worse"


BUSY = Constraint.parse("links.bottleneck.utilization >= 95 %")
DROPS = Constraint.parse("links.bottleneck.drop_rate <= 10 %")
SHORT = Constraint.parse("links.bottleneck.sojourn_ms.p95 <= 20 ms")


def both_break_one(*bounds):
    """A link that is used by 80 % before and after, so that both break what is asked of its use."""
    asked = replace(WAITS, bounds=(BUSY, *bounds))
    before = measured(10, 0.0, packets=100, drops=2)
    after = measured(5, 0.0, packets=100, drops=25)  # 20 % dropped, where 2 % were
    return verify(after, before, EXPECTED, asked), verify(steady(5, 100), before, EXPECTED, asked)


@pytest.mark.parametrize("harm", [DROPS, replace(NO_MORE_DROPS, of_harm=True)])
def test_a_bound_that_neither_keeps_hides_no_other_that_is_broken_now(harm):
    worse, better = both_break_one(harm)
    assert worse.verdict == "worse"
    assert worse.reason.startswith("it breaks a bound that the setting before kept, ")
    assert f"{harm.text} (measured 20 %)" in worse.reason
    assert better.verdict == "better"
    assert better.broken.constraint is BUSY


def test_of_two_broken_bounds_to_keep_one_may_cost_the_objective():
    """Before, 23 % are dropped and the link is used by 80 %; then 1.6 % at a use of 100 or 80 %."""
    asked = replace(WAITS, bounds=(DROPS, BUSY))
    before = measured(10, 0.0, packets=100, drops=30)
    for packets in (125, 100):
        after = measured(20, 0.0, packets=packets, drops=2)
        assert verify(after, before, EXPECTED, asked).verdict == "unproven"
    # What was broken before and is now is no reason either way: the queue is longer.
    after = measured(20, 0.0, packets=100, drops=30)
    assert verify(after, before, EXPECTED, asked).reason.startswith("worse than before")


def test_another_bound_that_is_broken_instead_is_worse():
    """Before, 16.7 % are dropped; afterwards 1.6 %, and 30 packets wait 24 ms."""
    asked = replace(WAITS, bounds=(DROPS, SHORT))
    outcome = verify(steady(30), measured(10, 0.0, drops=25), EXPECTED, asked)
    assert outcome.verdict == "worse"
    assert f"{SHORT.text} (measured 24 ms)" in outcome.reason


def test_of_what_is_maximised_any_noticeable_loss_is_taken_back():
    """1.6 % of the rate is less than 2 %, and more than the half per cent that is noticed."""
    carries = replace(WAITS, objective=Utilization("bottleneck"))
    outcome = verify(steady(10, 123), steady(10), EXPECTED, carries)
    assert outcome.verdict == "worse"
    assert outcome.reason.startswith("worse than before")


def drops_of(*rates):
    """Of successive seconds, each with 1000 packets that came."""
    batches = [
        replace(steady(5, seconds=3.0).batches[0], packets=1000 - drops, drops=drops)
        for drops in (round(1000 * rate) for rate in rates)
    ]
    return Stretch(tuple(batches))


def uses_of(*shares):
    """Of successive seconds of a link of 10 Mbit/s."""
    batch = steady(5, seconds=3.0).batches[0]
    return Stretch(tuple(replace(batch, bits=share * 10e6 * batch.seconds) for share in shares))


def test_a_bound_is_broken_where_the_whole_interval_is_beyond_it():
    """By hand: t(2) is 9.925 at 99 %. 12 % and 1 % are 6.3 to 17.7 %, and 0.1 % 11.4 to 12.6 %."""
    assert first_broken(drops_of(0.11, 0.12, 0.13), None, [DROPS]) is None
    assert first_broken(drops_of(0.119, 0.12, 0.121), None, [DROPS]).constraint is DROPS
    assert first_broken(uses_of(0.92, 0.93, 0.94), None, [BUSY]) is None
    assert first_broken(uses_of(0.929, 0.93, 0.931), None, [BUSY]).constraint is BUSY


def test_a_bound_on_what_was_before_is_of_the_end_that_is_easier_to_keep():
    """By hand: 5 and 1 % dropped before are up to 10.7 %; a use of 94 and 1 % begins at 88.3 %."""
    drops = Constraint.parse("links.bottleneck.drop_rate <= reference + 1 %")
    before = drops_of(0.04, 0.05, 0.06)
    assert first_broken(drops_of(0.116, 0.116, 0.116), before, [drops]) is None
    assert first_broken(drops_of(0.118, 0.118, 0.118), before, [drops]) is not None
    used = Constraint.parse("links.bottleneck.utilization >= reference - 0.01")
    before = uses_of(0.93, 0.94, 0.95)
    assert first_broken(uses_of(0.88, 0.88, 0.88), before, [used]) is None
    assert first_broken(uses_of(0.87, 0.87, 0.87), before, [used]) is not None


@pytest.mark.parametrize("more", [0.2, 0.0])
def test_a_bound_of_harm_is_never_harder_to_keep_than_what_was_before(more):
    """Under the first setting a fifth of the rate more would be carried than before, or as much."""
    used = replace(
        Constraint.parse("links.bottleneck.utilization >= reference - 0.05"), of_harm=True
    )
    first = {"links.bottleneck.utilization": more}
    before = uses_of(0.7, 0.7, 0.7)
    assert first_broken(before, before, [used], first) is None
    less = uses_of(0.66, 0.66, 0.66)  # from 70 % on with the first, and from 65 % on without it
    assert (first_broken(less, before, [used], first) is not None) == (more > 0.0)


def test_harm_is_bounded_by_what_was_measured_before():
    asked = Policy(
        link="bottleneck",
        objective=HOLD,
        parameters=("weight",),
        bounds=(Constraint.parse("links.bottleneck.drop_rate <= 1.25 of reference + 2 %"),),
    )
    worse = verify(measured(30, 4.5, drops=20), measured(38, 9, drops=2), EXPECTED, asked)
    assert worse.verdict == "worse"
    fine = verify(measured(30, 4.5, drops=4), measured(38, 9, drops=2), EXPECTED, asked)
    assert fine.verdict == "better"


def test_harm_counts_from_the_first_setting_and_not_from_one_that_harmed_less():
    harm = Constraint.parse("links.bottleneck.drop_rate <= 1.25 of reference + 2 %")
    asked = Policy("bottleneck", HOLD, ("weight",), bounds=(replace(harm, of_harm=True),))
    before = measured(60, 9, drops=5)  # 3.8 %: at most 6.8 %
    after = measured(30, 4.5, drops=20)  # 13.8 %
    assert verify(after, before, EXPECTED, asked).verdict == "worse"
    # The first setting would drop 8 points more, 11.8 %: at most 16.8 %.
    first = replace(EXPECTED, first_beside_previous={"links.bottleneck.drop_rate": 0.08})
    assert verify(after, before, first, asked).verdict == "better"
    # Two points more: at most 9.3 %.
    near = replace(EXPECTED, first_beside_previous={"links.bottleneck.drop_rate": 0.02})
    assert verify(after, before, near, asked).verdict == "worse"


def test_nothing_is_taken_back_to_a_setting_that_does_as_much_harm():
    harm = Constraint.parse("links.bottleneck.drop_rate <= 1.25 of reference + 2 %")
    asked = Policy("bottleneck", HOLD, ("weight",), bounds=(replace(harm, of_harm=True),))
    # The first setting would drop 10 points less: at most 6.8 %, and the one before breaks it.
    first = replace(EXPECTED, first_beside_previous={"links.bottleneck.drop_rate": -0.1})
    before = measured(60, 9, drops=20)
    assert verify(measured(30, 4.5, drops=20), before, first, asked).verdict == "better"
    assert verify(measured(30, 4.5, drops=25), before, first, asked).verdict == "worse"


def moments(mean, sd, seed=1):
    """A second and a bit, in batches of a quarter of a second."""
    return Stretch(tuple(batches_of(samples(mean, sd, 1.2, seed=seed), 10e6, 0.25)))


def test_a_setting_that_is_worse_at_every_moment_is_known_to_be_after_a_second():
    found = clearly_worse(moments(60, 10), measured(38, 9), EXPECTED, HOLD)
    assert found.verdict == "worse"
    assert found.reason.startswith("every moment of 1.2 s is worse than the worst second before")
    assert clearly_worse(moments(60, 10), None, EXPECTED, HOLD) is None
    assert clearly_worse(moments(30, 5), measured(38, 9), EXPECTED, HOLD) is None


def test_chance_alone_looks_clearly_worse_less_than_once_in_a_hundred():
    taken_back = sum(
        clearly_worse(moments(30, 9, seed=2 * n), measured(30, 9, seed=2 * n + 1), EXPECTED, HOLD)
        is not None
        for n in range(500)
    )
    assert taken_back <= 5


def fair(share, seconds=5):
    """16 flows of which one gets a share of what the others get."""
    coins = np.random.default_rng(7)
    rows = coins.normal(6e5, 6e4, (seconds, 16)) * np.array([1.0] * 15 + [share])
    return Stretch.of(samples(30, 3), 10e6, rows)


def test_a_setting_that_locks_a_flow_out_is_taken_back_where_flows_are_seen():
    harm = Constraint.parse("flows.*.jain_index >= reference - 0.05")
    asked = Policy("bottleneck", HOLD, ("weight",), bounds=(replace(harm, of_harm=True),))
    before = fair(1.0)
    assert before.bounded(harm).mean == pytest.approx(1.0, abs=0.01)
    assert fair(0.0).bounded(harm).mean == pytest.approx(15 / 16, abs=0.01)
    found = verify(fair(0.0), before, EXPECTED, asked)
    assert found.verdict == "worse"
    assert "flows.*.jain_index >= reference - 0.05 (measured 0.93" in found.reason
    assert verify(fair(0.7), before, EXPECTED, asked).verdict != "worse"
    assert verify(measured(30, 3), measured(30, 3), EXPECTED, asked).verdict != "worse"


@pytest.mark.parametrize(
    ("after", "before", "words"),
    [
        ((30, 6), (30, 9), "it looks better than before, but that may be chance; "),
        ((30, 10.5), (30, 9), "it looks worse than before, but that may be chance; "),
        ((30, 9), (30, 9), "no noticeable difference was measured; "),
    ],
)
def test_what_is_unproven_says_which_way_it_looks(after, before, words):
    # In 4 s, with intervals that overlap: the squared deviation is 36, 110 or 81 against 81.
    outcome = verify(
        measured(*after, seconds=4.0, seed=1),
        measured(*before, seconds=4.0, seed=1),
        EXPECTED,
        POLICY,
    )
    assert outcome.verdict == "unproven"
    assert outcome.reason.startswith(words)
