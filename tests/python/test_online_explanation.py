"""Whether a model explains what is seen, and what is said where it does not."""

from dataclasses import replace

import pytest

from test_online_model import CONFIGURATION, HORIZON, IN_FORCE, POLICY, picture, traffic
from test_online_plan import NEAR, settled, task
from vermilion.objectives.knee import Knee
from vermilion.online.model.explanation import Explanation, Figure, compare
from vermilion.online.model.network import build_model
from vermilion.online.model.senders import SENDER_MODELS, WIDER, SenderBelief, SenderModel
from vermilion.online.plan.examination import examine, watch
from vermilion.online.plan.problem import Problem
from vermilion.online.plan.solve import solve
from vermilion.online.sense.sampler import Sample

CUBIC = SenderModel("cubic", option_set="linux")


def seen_with(kind, in_force=IN_FORCE, seconds=4.0, seed=7, **known):
    """Settled samples of a network of such senders, and the task to explain them."""
    shown = {"base_rtts_s": NEAR, "marked_share": None} | known
    network = build_model(CONFIGURATION, in_force, traffic(**shown), kind, POLICY, HORIZON)
    network = network.with_values({"duration": f"{8.0 + seconds} s"})
    samples = watch(network, ["bottleneck"], seed, 8.0, 8.0 + seconds)["bottleneck"]
    return task(
        kind="refined",
        deadline_s=2.0,
        in_force=in_force,
        original=in_force,
        picture=picture(**shown),
        settled=tuple(samples),
    )


def explained(asked):
    return examine(Problem(asked), 0.6)


def sample(time_s, backlog, packets=100, drops=0):
    return Sample(
        time_s, 0.1, backlog, backlog, 0, packets, 1000 * packets, drops, 0, 16, 16, 9, 0.1
    )


def test_a_figure_is_said_in_numbers():
    figure = Figure("mean queue", "packets", 51.2, 22.4, 3.1)
    assert figure.describe() == "mean queue 51 packets seen, 22 +- 3 in the model"
    assert figure.deviations == pytest.approx((51.2 - 22.4) / 3.1)
    assert not figure.explained
    small = Figure("signals", "% of packets", 0.3156, 0.2, 0.051)
    assert small.describe() == "signals 0.32% of packets seen, 0.2 +- 0.051 in the model"
    assert small.explained


def test_what_is_not_explained_is_said_with_numbers():
    far = Figure("mean queue", "packets", 51.2, 22.4, 3.1)
    near = Figure("throughput", "Mbit/s", 10.0, 9.9, 0.2)
    told = Explanation(
        "newreno senders",
        told_apart=True,
        explained=False,
        figures=(far, near),
        predicted_mean=22.0,
        noise=2.0,
    )
    assert told.describe() == (
        "this network is not explained by newreno senders "
        "(mean queue 51 packets seen, 22 +- 3 in the model)"
    )
    assert replace(told, explained=True).describe() == (
        "what is seen is explained by newreno senders"
    )


def test_the_figures_are_those_of_the_samples():
    """Queues of 10 and 30 packets in turn, 5 drops to 95 packets sent, 100 packets a tenth."""
    observed = [sample(0.1 * tick, 10 + 20 * (tick % 2), 95, 5) for tick in range(20)]
    model = [sample(0.1 * tick, 20) for tick in range(40)]
    queue, deviation, signals, throughput = compare(observed, model, [model], 30.0)
    assert (queue.seen, queue.model) == (20.0, 20.0)
    assert (deviation.seen, deviation.model) == (10.0, 0.0)
    assert (signals.seen, signals.model) == (pytest.approx(5.0), 0.0)
    assert (throughput.seen, throughput.model) == (pytest.approx(7.6), pytest.approx(8.0))
    # A model that never strays still has its own error: 8 % of 30 packets.
    assert queue.noise == pytest.approx(2.4)


@pytest.mark.parametrize("kind", list(SENDER_MODELS)[:4])
def test_a_network_of_a_known_kind_is_explained(kind):
    explanation, _ = explained(seen_with(kind))
    assert explanation.explained
    assert {figure.name for figure in explanation.figures} == {
        "mean queue",
        "deviation",
        "signals",
        "throughput",
    }


def test_datacentre_senders_are_found_among_the_wider_kinds():
    """The usual kinds alone have a queue that is shorter and swings otherwise."""
    asked = seen_with(SenderModel("dctcp", option_set="linux"), marked_share=1.0)
    explanation, _ = explained(asked)
    assert explanation.explained
    assert "dctcp" in explanation.senders
    usual, _ = explained(replace(asked, belief=NARROW))
    assert not usual.explained


@pytest.mark.parametrize(
    ("kind", "word", "max_probability"),
    [
        # Where RED is steeper, CUBIC explains BBR's queue within three standard deviations.
        (SenderModel("bbr", option_set="linux"), "bbr", 0.05),
        (SenderModel("bbr1", option_set="linux"), "bbr1", 0.05),
        (
            SenderModel("newreno", unresponsive_share=0.6),
            "beside 60 % that no loss slows down",
            0.1,
        ),
        (SenderModel("newreno", two_sizes=True), "newreno", 0.1),
    ],
)
def test_further_kinds_explain_what_the_usual_ones_do_not(kind, word, max_probability):
    seen = seen_with(kind, IN_FORCE | {"max_probability": max_probability})
    explanation, _ = explained(seen)
    assert explanation.explained
    assert word in explanation.senders


def test_kinds_that_need_marks_are_not_thought_of_where_nothing_is_marked():
    _, belief = explained(seen_with(SenderModel("bbr", option_set="linux")))
    assert any(kind.congestion_control == "bbr" for kind in belief.priors)
    assert not any(kind.needs_marks for kind in belief.priors)


def test_without_an_explanation_there_is_no_answer():
    """Four times as many flows as the monitor has counted."""
    asked = seen_with(SenderModel("newreno"), flows=64, base_rtts_s=(0.028,) * 64)
    asked = replace(asked, picture=picture(base_rtts_s=NEAR))
    found = solve(asked)
    assert found.answer is None
    assert not found.explanation.explained
    assert found.obstacle == found.explanation.describe()
    signals = next(each for each in found.explanation.figures if each.name == "signals")
    assert f"signals {signals.seen:.0f}% of packets seen" in found.obstacle
    # What was learned of the senders is not lost; of a model's bias nothing was learned.
    assert found.belief != asked.belief
    assert found.correction == asked.correction


def test_too_few_samples_explain_nothing_and_forbid_nothing():
    asked = task(kind="refined", settled=settled(CUBIC)[:10])
    explanation, belief = explained(asked)
    assert explanation.figures == ()
    assert explanation.explained
    assert belief == asked.belief


def test_what_is_doubted_explains_more():
    """The same network, but the monitor says that it may be four times as many flows."""
    asked = seen_with(SenderModel("newreno"), flows=40, base_rtts_s=(0.028,) * 40)
    sure = picture(base_rtts_s=NEAR)
    unsure = replace(sure, flows_doubt=0.8)
    asked = replace(asked, belief=NARROW)  # with more kinds there is always one that might do
    figures = [explained(replace(asked, picture=shown))[0].figures for shown in (sure, unsure)]
    assert max(each.deviations for each in figures[0]) > 3.0
    assert max(each.deviations for each in figures[1]) < 3.0


def test_a_short_queue_is_explained_to_its_own_measure():
    """A goal without a length at 1 Gbit/s has 833 packets for its scale; the queue is short."""
    knee = replace(POLICY, objective=Knee("bottleneck"))
    low = IN_FORCE | {"limit": 1000, "min_threshold": 20.0, "max_threshold": 60.0, "weight": 0.01}
    shown = {"flows": 200, "base_rtts_s": (0.02,) * 200, "rate_bit_per_s": 4e8}
    asked = seen_with(CUBIC, low, seconds=2.0, **shown)
    explanation, _ = explained(replace(asked, policy=knee))
    queue = explanation.figures[0]
    assert explanation.explained
    assert queue.noise < 0.5 * queue.seen


NARROW = SenderBelief({**SENDER_MODELS, **dict.fromkeys(WIDER, -1000.0)})
"""A belief that nothing further can be thought of."""
