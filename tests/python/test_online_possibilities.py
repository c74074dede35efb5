"""What the network may be, where what is known leaves a choice."""

import math
from dataclasses import replace

import pytest

from online_world import LINK, POLICY
from test_online_model import IN_FORCE, model, picture, traffic
from test_online_plan import NEAR, task
from vermilion.objectives.harm import harm_bounds
from vermilion.online.model.possibilities import MOST, applies_to, by_turns, possibilities
from vermilion.online.model.senders import SenderBelief, SenderModel
from vermilion.online.model.traffic import TooLittleIsKnown
from vermilion.online.plan.solve import solve

NEWRENO = SenderModel("newreno")
RENO = SenderModel("reno")
SACK = SenderModel("sack", option_set="linux")
SHOWN = picture(base_rtts_s=NEAR)
TRAFFIC = traffic(base_rtts_s=NEAR)


def split(apart):
    """A belief in which Reno is so many log odds behind NewReno, after evidence."""
    return SenderBelief({NEWRENO: 0.0, RENO: -apart}, {NEWRENO: 0.0, RENO: 0.0})


def test_without_doubt_there_is_one_model_and_a_crowd_that_counts_for_nothing():
    only, crowd = possibilities(TRAFFIC, SHOWN, split(5.0))
    assert (only.traffic, only.kind, only.share) == (TRAFFIC, NEWRENO, 1.0)
    assert (crowd.traffic.flows, crowd.kind, crowd.share) == (2 * TRAFFIC.flows, NEWRENO, 0.0)
    assert (only.joining, crowd.joining) == (0.0, 0.5)


def test_before_anything_was_seen_the_likeliest_kind_is_taken_and_the_next_is_not_harmed():
    """In a short queue today's senders live; flows of the next likely kind lock each other out."""
    only, crowd = possibilities(TRAFFIC, SHOWN, SenderBelief())
    assert only.kind == SenderModel("cubic", option_set="linux") == SenderBelief().best
    assert crowd.kind == NEWRENO


def test_of_those_who_may_join_nothing_was_seen_whatever_the_present_ones_have():
    """Selective acknowledgements of those who are there say nothing of others."""
    seen = SenderBelief().after_seeing(1.0)
    for belief in (seen, seen.learned({seen.best: -30.0, SACK: 0.0})):
        likeliest, *others, crowd = possibilities(TRAFFIC, SHOWN, belief)
        assert likeliest.kind == belief.best
        assert all(each.kind.selective for each in (likeliest, *others))
        assert crowd.kind == NEWRENO
        *_, crowd = by_turns(TRAFFIC, [TRAFFIC], belief)
        assert crowd.kind == NEWRENO


def test_a_first_answer_is_for_both_kinds_that_acknowledge_selectively():
    """What is best for CUBIC alone may be a slope under which Reno's queue swings."""
    seen = SenderBelief().after_seeing(1.0)
    *believed, crowd = possibilities(TRAFFIC, SHOWN, seen)
    assert [each.kind for each in believed] == [seen.best, SACK]
    assert believed[0].share > believed[1].share > crowd.share == 0.0
    assert all(each.traffic == TRAFFIC and each.joining == 0.0 for each in believed)


def test_a_model_asks_for_no_more_goodput_than_its_link_carries():
    """Where holes are filled that slow starts have left, more comes in order than the link has."""
    goodput, *_ = POLICY.harm_bounds(model(TRAFFIC), [LINK])
    assert goodput.bounds([9e6], [10.5e6]) == pytest.approx([0.98 * 10e6])
    assert goodput.bounds([9e6], [9.5e6]) == pytest.approx([0.98 * 9.5e6])


def test_what_the_queue_drops_is_not_asked_of_newcomers_of_a_kind_that_is_not_there():
    bounds = {bound.path.metric: bound for bound in harm_bounds(model(TRAFFIC), ["bottleneck"])}
    nobody = SenderBelief()
    seen = nobody.after_seeing(1.0)
    for metric in ("goodput_bit_per_s.total", "jain_index", "starved", "drop_rate"):
        assert applies_to(bounds[metric], SACK, seen)
        assert applies_to(bounds[metric], NEWRENO, nobody)
        assert applies_to(bounds[metric], NEWRENO, seen) == (metric != "drop_rate")


def test_a_search_keeps_what_newcomers_drop_out_of_its_bounds_where_nobody_is_like_them(
    monkeypatch,
):
    """Their crowd stalls under the first setting: by chance a step would drop too much for it."""
    asked = []

    def first(cases, **_):
        asked.extend(cases)
        raise TooLittleIsKnown

    monkeypatch.setattr("vermilion.online.plan.solve.best_of", first)
    for share in (0.0, 1.0):
        solve(task(picture=replace(SHOWN, selective_share=share)))
    drops = [
        [bound.path.metric == "drop_rate" for bound in case.constraints if bound.of_harm]
        for case in asked
    ]
    assert [any(each) for each in drops] == [True, True, True, True, False]
    assert all(len(each) - sum(each) == 3 for each in drops)


def test_candidates_meet_the_newcomers_and_leavers_of_the_last_minute(monkeypatch):
    """Where the network is believed to be so; of a crowd half comes anyway."""
    asked = []

    def first(cases, **_):
        asked.extend(cases)
        raise TooLittleIsKnown

    monkeypatch.setattr("vermilion.online.plan.solve.best_of", first)
    solve(task(turnover=(0.02, 0.01)))
    believed, crowd = ({name.rpartition("-")[2] for name in each.model.flows} for each in asked)
    assert {"coming", "going"} <= believed
    assert "joining" in crowd
    assert not {"coming", "going"} & crowd


def test_flows_with_large_windows_are_not_locked_out_of_anything():
    """100 Mbit/s and 4 flows: each has some 130 packets under way."""
    few = {"flows": 4, "rate_bit_per_s": 1e8, "base_rtts_s": NEAR[:4]}
    assert len(possibilities(traffic(**few), picture(**few), split(5.0))) == 1


def test_where_there_is_a_crowd_already_a_part_of_it_joins_the_others():
    """10 Mbit/s and 64 flows: with the wanted queue each has one packet under way."""
    many = {"flows": 64, "base_rtts_s": 4 * NEAR}
    for belief, kind in ((split(5.0), NEWRENO), (SenderBelief(), NEWRENO)):
        only, other = possibilities(traffic(**many), picture(**many), belief)
        assert (other.traffic, other.kind, other.share) == (only.traffic, kind, 0.0)
        assert (only.joining, other.joining) == (0.0, 0.5)
        assert other.words == "with half of the flows joining the others"


def test_by_turns_those_who_come_are_a_crowd_of_the_next_likely_kind():
    """Loads that change every few seconds are never compared with a model: kinds stay a guess."""
    few = traffic(flows=4, base_rtts_s=NEAR[:4])
    *believed, crowd = by_turns(TRAFFIC, [few, TRAFFIC], SenderBelief())
    assert [each.traffic for each in believed] == [TRAFFIC, few]
    assert sum(each.share for each in believed) == pytest.approx(1.0)
    assert (crowd.traffic.flows, crowd.kind, crowd.share) == (2 * TRAFFIC.flows, NEWRENO, 0.0)


def test_by_turns_a_crowd_that_was_met_is_not_doubled():
    many = traffic(flows=64, base_rtts_s=4 * NEAR)
    *_, crowd = by_turns(TRAFFIC, [many], split(1.0))
    assert (crowd.traffic, crowd.kind, crowd.share) == (many, RENO, 0.0)
    assert crowd.joining == 0.5


def test_a_split_belief_is_weighed_by_its_odds():
    first, second, _ = possibilities(TRAFFIC, SHOWN, split(1.0))
    assert (first.kind, second.kind) == (NEWRENO, RENO)
    assert second.share / first.share == pytest.approx(math.exp(-1.0))
    assert first.share + second.share == pytest.approx(1.0)


def spread(values):
    """Mean and standard deviation of the logarithms of three equally likely values."""
    logarithms = [math.log(value) for value in values]
    mean = math.fsum(logarithms) / MOST
    return math.exp(mean), math.sqrt(math.fsum((each - mean) ** 2 for each in logarithms) / MOST)


@pytest.mark.parametrize(("knowledge", "together"), [("full", False), ("counters", True)])
def test_doubtful_flows_and_round_trips_have_the_spread_that_is_believed(knowledge, together):
    known = {"flows": 400, "base_rtts_s": (0.1,) * 400}
    doubtful = picture(**known, flows_doubt=0.3, rtts_doubt=0.4, knowledge=knowledge)
    found = possibilities(traffic(**known), doubtful, split(5.0))
    flows = [each.traffic.flows for each in found]
    trips = [each.traffic.classes[0][1] for each in found]
    assert spread(flows) == (pytest.approx(400, rel=0.01), pytest.approx(0.3, rel=0.01))
    assert spread(trips) == (pytest.approx(0.1), pytest.approx(0.4))
    # Counted flows: the two doubts do not cancel. By the square root law they go together.
    assert (flows.index(max(flows)) == trips.index(max(trips))) is together
    assert math.fsum(each.share for each in found) == pytest.approx(1.0)


def test_a_hopeless_doubt_goes_no_further_than_a_factor_of_four():
    doubtful = picture(base_rtts_s=NEAR, flows_doubt=3.0, rtts_doubt=3.0)
    found = possibilities(TRAFFIC, doubtful, split(5.0))
    assert sorted(each.traffic.flows for each in found) == [4, 16, 64]
    trips = sorted(each.traffic.classes[0][1] for each in found)
    assert trips == pytest.approx([0.007, 0.028, 0.112])


def test_small_doubts_are_no_reason_for_three_models():
    calm = picture(base_rtts_s=NEAR, flows_doubt=0.05, rtts_doubt=0.1)
    assert [each.share for each in possibilities(TRAFFIC, calm, split(5.0))] == [1.0, 0.0]


@pytest.mark.evidence
def test_an_uncertain_network_is_tuned_for_what_it_may_be():
    doubtful = replace(SHOWN, flows_doubt=0.5)
    sure, unsure = solve(task(evaluations=40)), solve(task(picture=doubtful, evaluations=40))
    assert (sure.answer.models, unsure.answer.models) == (1, 3)
    # 16 flows, or 30 or 9: exp(sqrt(1.5) / 2) is 1.84. What is said is the mean of all three.
    of_one = [
        solve(task(picture=picture(flows=each, base_rtts_s=(0.028,) * each), evaluations=2))
        for each in (16, 30, 9)
    ]
    means = [found.answer.incumbent.mean.mean for found in of_one]
    assert unsure.answer.incumbent.mean.mean == pytest.approx(sum(means) / 3, rel=0.02)


def test_what_must_hold_must_hold_in_each():
    """16 flows lose 4 % at 50 packets, 30 flows 10 %: on average the bound of 5 % is kept."""
    doubtful = replace(SHOWN, flows_doubt=0.5)
    policy = replace(
        task().policy,
        constraints=("links.bottleneck.drop_rate <= 5 %",),
        space={
            "links.bottleneck.queue.min_threshold": ["20 packets", "21 packets"],
            "links.bottleneck.queue.max_threshold": ["60 packets", "62 packets"],
        },
        harm=("none",),
    )
    asked = task(policy=policy, evaluations=20)
    sure = solve(asked).answer
    unsure = solve(replace(asked, picture=doubtful)).answer
    path = "links.bottleneck.drop_rate"
    assert sure.candidate.metric(path).mean < 0.05
    assert unsure.candidate.metric(path).mean < 0.05
    assert not sure.verdict.reason.startswith("links.bottleneck.drop_rate")
    assert not unsure.verdict.apply
    assert unsure.verdict.reason.startswith("it would break links.bottleneck.drop_rate <= 5 % (")


def test_the_setting_in_force_is_that_of_all_models():
    doubtful = replace(SHOWN, flows_doubt=0.5)
    answer = solve(task(picture=doubtful)).answer
    assert answer.incumbent.setting == {name: IN_FORCE[name] for name in task().policy.parameters}
