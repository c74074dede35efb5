"""Telling kinds of senders apart by what they do to a queue."""

import math
from dataclasses import replace

import pytest

from test_online_model import CONFIGURATION, HORIZON, IN_FORCE, POLICY, traffic
from vermilion.online.model.explanation import are_enough, features, log_likelihoods
from vermilion.online.model.network import build_model
from vermilion.online.model.senders import SENDER_MODELS, WIDER, SenderBelief, SenderModel
from vermilion.online.plan.examination import watch

TODAY = SenderModel("cubic", option_set="linux")
NEWRENO = SenderModel("newreno")
RENO = SenderModel("reno")
SACK = SenderModel("sack", option_set="linux")
DELAYED = SenderModel("newreno", (("delayed_acknowledgements", True),))


def samples(kind, seed, seconds=20.0):
    seen = traffic(base_rtts_s=(0.028,) * 16)
    scenario = build_model(CONFIGURATION, IN_FORCE, seen, kind, POLICY, HORIZON)
    longer = scenario.with_values({"duration": f"{5 + seconds} s"})
    return watch(longer, ["bottleneck"], seed, 5.0, 5.0 + seconds)["bottleneck"]


@pytest.mark.parametrize("truth", [NEWRENO, RENO, DELAYED])
def test_three_seconds_tell_reno_newreno_and_delayed_acknowledgements_apart(truth):
    simulated = {kind: samples(kind, seed=100) for kind in (NEWRENO, RENO, DELAYED)}
    right = 0
    observed = samples(truth, seed=7)
    windows = [observed[first : first + 30] for first in range(0, 180, 30)]
    for window in windows:
        found = log_likelihoods(window, simulated, POLICY.target_packets)
        right += max(found, key=found.get) == truth
    assert right >= len(windows) - 1


def test_without_evidence_senders_are_those_of_today():
    assert SenderBelief().best == TODAY
    assert TODAY.describe() == "cubic (as in linux) senders"


def test_weak_evidence_does_not_overturn_what_is_likelier_beforehand():
    belief = SenderBelief()
    belief = belief.learned({TODAY: -1.0, NEWRENO: 0.0})
    assert belief.best == TODAY


def test_strong_evidence_does():
    belief = SenderBelief()
    belief = belief.learned({NEWRENO: -30.0, RENO: 0.0})
    assert belief.best == RENO


@pytest.mark.parametrize(
    ("evidence", "sure"),
    [
        ({NEWRENO: 0.0, RENO: 0.0}, False),  # log odds 1.5: four to one
        ({NEWRENO: 0.0, RENO: -2.8}, False),  # log odds 2.9; 19 to 1 is 2.944
        ({NEWRENO: 0.0, RENO: -3.0}, True),
        ({NEWRENO: -30.0, RENO: 0.0}, True),
    ],
)
def test_senders_are_told_apart_from_95_percent_on(evidence, sure):
    """A comparison counts for half."""
    assert SenderBelief({NEWRENO: 0.0, RENO: -1.5}).learned(evidence).tells_apart is sure


def test_a_plain_name_is_that_of_all_dialects_and_a_special_one_only_of_itself():
    belief = SenderBelief({NEWRENO: 0.0, DELAYED: -0.5})
    assert belief.best == NEWRENO
    assert belief.tells_apart
    belief = SenderBelief({NEWRENO: -0.5, DELAYED: 0.0})
    assert belief.best == DELAYED
    assert not belief.tells_apart
    mixed = SenderBelief({NEWRENO: 0.0, replace(NEWRENO, beside=RENO): -0.5})
    assert not mixed.tells_apart


def test_a_kind_ruled_out_is_no_longer_simulated_and_can_come_back():
    belief = SenderBelief({NEWRENO: 0.0, RENO: -1.5})
    belief = belief.learned({NEWRENO: 0.0, RENO: -60.0})
    assert belief.plausible == [NEWRENO]
    for _ in range(20):  # nothing speaks against it any more
        belief = belief.learned({NEWRENO: 0.0, RENO: 0.0})
    assert RENO in belief.plausible


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (SenderModel("newreno", (("window_cap", 20),)), "newreno (window_cap 20) senders"),
        (DELAYED, "newreno (delayed_acknowledgements) senders"),
        (replace(TODAY, beside=RENO), "cubic (as in linux) and reno senders, half of each"),
        (replace(RENO, two_sizes=True), "reno senders, with packets of two sizes"),
        (
            replace(RENO, unresponsive_share=0.3),
            "reno senders, beside 30 % that no loss slows down",
        ),
    ],
)
def test_kinds_are_said_in_words(kind, words):
    assert kind.describe() == words


def test_a_wider_belief_keeps_what_was_learned():
    belief = SenderBelief({NEWRENO: 0.0, RENO: -1.5}).learned({NEWRENO: -30.0, RENO: 0.0})
    wider = belief.widened({DELAYED: -3.0, RENO: -9.0})
    assert wider.best == RENO
    assert wider.log_odds(RENO) == belief.log_odds(RENO)
    assert wider.log_odds(DELAYED) == -3.0


def test_how_many_flows_are_heard_says_something_only_where_senders_time_round_trips():
    """A monitor on the way times what its clock lets it, whatever kind the senders are."""
    by_senders = samples(NEWRENO, seed=7, seconds=3.0)
    by_monitor = [replace(sample, timed_by_senders=False) for sample in by_senders]
    told, untold = features(by_senders, 30.0), features(by_monitor, 30.0)
    assert 0.0 < told[3] < 1.0
    assert math.isnan(untold[3])
    assert [untold[place] for place in (0, 1, 2, 4)] == [told[place] for place in (0, 1, 2, 4)]


def test_what_a_monitor_hears_does_not_rule_a_kind_out():
    """Half of the flows heard, where every model hears nearly all: that is the monitor's doing."""
    simulated = {kind: samples(kind, seed=100) for kind in (TODAY, NEWRENO)}
    deaf = [
        replace(sample, heard_flows=3, timed_by_senders=False)
        for sample in samples(TODAY, seed=7, seconds=3.0)
    ]
    found = log_likelihoods(deaf, simulated, 30.0)
    assert max(found, key=found.get) == TODAY


def test_a_model_is_watched_as_often_as_the_network():
    seen = traffic(base_rtts_s=(0.028,) * 16)
    model = build_model(CONFIGURATION, IN_FORCE, seen, NEWRENO, POLICY, HORIZON)
    longer = model.with_values({"duration": "25 s"})
    often = watch(longer, ["bottleneck"], 7, 5.0, 25.0)["bottleneck"]
    rarely = watch(longer, ["bottleneck"], 7, 5.0, 25.0, 1.0)["bottleneck"]
    assert len(often) == 200
    assert [sample.interval_s for sample in rarely] == pytest.approx([1.0] * 20)
    assert sum(sample.packets for sample in rarely) == sum(sample.packets for sample in often)
    # What moves within a second is seen only by who looks more often.
    assert features(rarely, 30.0)[4] > 1.2 * features(often, 30.0)[4]


def test_few_samples_that_are_far_apart_are_enough():
    sample = samples(NEWRENO, seed=7, seconds=0.1)[0]
    assert not are_enough([sample] * 14)
    assert are_enough([sample] * 15)
    second = replace(sample, interval_s=1.0)
    assert not are_enough([second] * 4)
    assert are_enough([second] * 5)


def test_where_selective_acknowledgements_were_seen_no_kind_without_them_is_thought_of():
    """Evidence of counters for NewReno does not outweigh what the packets say."""
    before = SenderBelief().learned({NEWRENO: 0.0, TODAY: -30.0, SACK: -40.0})
    assert before.best == NEWRENO
    seen = before.after_seeing(0.9)
    assert seen.best in {TODAY, SACK}
    assert all(kind.selective for kind in seen.widened(WIDER).priors)
    mixed = replace(TODAY, beside=SenderModel("newreno", option_set="linux"))
    assert mixed in WIDER
    assert not mixed.selective
    learned = seen.learned({TODAY: -10.0, SACK: 0.0})
    assert learned.best == SACK
    assert learned.after_seeing(1.0) is learned


def test_where_they_were_seen_of_some_flows_or_of_none_everything_may_be():
    belief = SenderBelief()
    assert belief.after_seeing(0.0) is belief
    assert belief.after_seeing(0.89) is belief
    back = belief.after_seeing(1.0).after_seeing(0.5)
    assert set(SENDER_MODELS) <= set(back.priors)
    assert back.best == TODAY
