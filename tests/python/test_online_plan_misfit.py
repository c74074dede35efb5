"""Whether the model of a first answer shows what is seen under the setting in force."""

from dataclasses import replace

import pytest

from online_world import FIRST, RATE_BIT_PER_S, finding
from test_online_explanation import sample
from test_online_plan import task
from vermilion.online.plan.examination import FEWEST_COMPARED, before_silence, misfits

SCALE = 30.0


def answer(mean, signals=0.02, noise=1.0):
    """A first answer whose model has the queue at ``mean`` packets under the setting in force."""
    asked = task(in_force=FIRST, original=FIRST)
    asked = replace(asked, policy=replace(asked.policy, parameters=("level", "weight")))
    found = finding(asked, {"level": 30.0, "weight": 0.5}, offset=mean - FIRST["level"]).answer
    outcomes = tuple(
        replace(each, signal_rate=signals + shift)
        for each, shift in zip(found.incumbent.outcomes, (-0.001, 0.0, 0.001), strict=True)
    )
    return replace(
        found,
        incumbent=replace(found.incumbent, outcomes=outcomes),
        incumbent_noise=noise,
        starved_over_s=10.0,
    )


def seen(backlog, drops=2, samples=10):
    packets = round(RATE_BIT_PER_S / 8e4) - drops
    return [sample(0.1 * n, backlog, packets, drops) for n in range(1, samples + 1)]


def test_what_the_model_has_is_no_misfit():
    assert misfits(answer(25.0), seen(27), SCALE, 0.0) == ()


def test_a_queue_far_from_the_models_is_one():
    [figure] = misfits(answer(15.0), seen(48), SCALE, 0.0)
    assert (figure.name, figure.seen) == ("mean queue", 48.0)
    assert figure.model == pytest.approx(15.0)
    # A second's mean strays by one packet, and the model's own error is 8 % of the scale.
    assert figure.noise == pytest.approx((1.0 + 2.4**2) ** 0.5)


def test_the_known_bias_is_no_misfit():
    assert misfits(answer(20.0), seen(35), SCALE, 0.0) != ()
    assert misfits(answer(20.0), seen(35), SCALE, 10.0) == ()


def test_a_shorter_look_needs_a_larger_difference():
    model = answer(25.0, noise=3.0)
    assert misfits(model, seen(40), SCALE, 0.0) != ()
    assert misfits(model, seen(40, samples=FEWEST_COMPARED), SCALE, 0.0) == ()


def test_other_signals_are_a_misfit_at_the_same_queue():
    [figure] = misfits(answer(25.0, signals=0.003), seen(25, drops=12), SCALE, 0.0)
    assert figure.name == "signals"
    assert figure.seen == pytest.approx(100.0 * 12 / 125)
    assert figure.model == pytest.approx(0.3)


def test_fewer_samples_tell_nothing():
    assert misfits(answer(15.0), seen(48, samples=FEWEST_COMPARED - 1), SCALE, 0.0) == ()


def test_the_beginning_of_an_outage_tells_nothing_of_senders():
    before, silent = seen(27), [sample(0.1 * n, 38, 0, 9) for n in range(11, 17)]
    assert misfits(answer(25.0), before + silent, SCALE, 0.0) != ()
    assert before_silence(before + silent) == before
    assert before_silence(silent) == []
    # An empty queue is no outage, and silence in the middle is over.
    idle = [sample(1.7, 0, 0, 0)]
    assert before_silence(before + idle) == before + idle
    assert before_silence(silent + before) == silent + before
