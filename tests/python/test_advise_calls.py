"""What a call beside long transfers may lose for a shorter wait, and what the answer says of it."""

import pytest

from test_advise_price import FQ_CODEL, rows
from vermilion.advise import Advice, assumed, read_question
from vermilion.advise.advice import Compared, _recommended
from vermilion.advise.harms import cost_of_loss, cost_of_wait, harms
from vermilion.advise.judgement import judge
from vermilion.advise.measuring import Measured
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import warnings


def question(**more):
    """Linux, where a queue for each flow may be recommended; a path of 30 ms and a bound of 20."""
    return read_question(
        rate="6 Mbit/s", rtt="60 ms", flows="12", delay_at_most="20 ms", quick=True, **more
    )


def with_call(wait_ms, lost, asked, **metrics):
    return rows(asked, call_delay_p95_ms=wait_ms, call_loss_rate=lost, **metrics)


@pytest.mark.parametrize(
    ("one_way_ms", "points"),
    [
        (20.0, 0.0),
        (100.0, 0.0),
        # By hand from equation 7-28 of G.107 with X = 1 and 3:
        (200.0, 3.04),  # 25 (2^(1/6) - 3 (730/729)^(1/6) + 2)
        (800.0, 40.83),  # 25 (730^(1/6) - 3 * 2^(1/6) + 2)
    ],
)
def test_a_wait_costs_what_the_e_model_says(one_way_ms, points):
    assert cost_of_wait(one_way_ms) == pytest.approx(points, abs=0.01)


@pytest.mark.parametrize(("lost", "points"), [(0.0, 0.0), (0.02, 7.01), (0.251, 47.5)])
def test_a_loss_costs_what_the_e_model_says(lost, points):
    """95 P / (P + 25.1): a half of 95 where P is 25.1."""
    assert cost_of_loss(lost) == pytest.approx(points, abs=0.01)


@pytest.mark.parametrize(
    ("before", "after", "harmful"),
    [
        # From 60 to 25 ms behind a path of 30: nobody hears that. Two percent in all are not heard.
        ((60.0, 0.0), (25.0, 0.019), False),
        ((60.0, 0.0), (25.0, 0.021), True),
        # Where it is heard already, half a percent more is little.
        ((60.0, 0.12), (25.0, 0.124), False),
        ((60.0, 0.12), (25.0, 0.126), True),
        # 24.1 points of wait at 400 ms for 95 * 4.9 / 30 = 15.5 of losses. Beyond 5 % a queue for
        # each flow is looked for all the same.
        ((370.0, 0.0), (25.0, 0.049), False),
        ((370.0, 0.0), (25.0, 0.051), True),
        # From 200 to 130 ms there are 3.04 - 0.02 points to be had: 0.8 %, by 95 P / (P + 25.1).
        # That is below what is heard, which may be lost anyway; beside 5 % now it is 1.1 % more.
        ((170.0, 0.05), (100.0, 0.060), False),
        ((170.0, 0.05), (100.0, 0.063), True),
    ],
)
def test_a_call_that_waits_too_long_may_lose_what_a_shorter_wait_is_worth(before, after, harmful):
    asked = question()
    found = harms(asked, with_call(*before, asked), with_call(*after, asked))
    assert {each.what for each in found} == ({"call_loss_rate"} if harmful else set())


def compared(asked, before, *others):
    """Others that keep the bound."""
    return [Compared(each, judge(asked, before, each), keeps_bound=True) for each in others]


def test_a_bound_is_not_kept_by_what_a_call_pays_for_with_losses_that_are_heard():
    """60 ms or 17: a call hears no difference. But it hears 19 % instead of 13."""
    asked = question()
    codel = QueueSetting("", "codel", "codel")
    before = with_call(60.0, 0.13, asked, delay_p95_ms=43.0, queue=codel)
    dear = with_call(17.0, 0.19, asked, delay_p95_ms=18.0, queue=codel)
    free = with_call(17.0, 0.13, asked, delay_p95_ms=18.0, queue=codel)
    assert _recommended(asked, compared(asked, before, dear)) is None
    assert _recommended(asked, compared(asked, before, dear, free)).measured is free


@pytest.mark.parametrize(
    ("wait_ms", "lost", "worth"),
    [
        # At 200 ms 3.04 points, and at 400 ms 24.07, by equation 7-28. Losses of 8 % cost 22.96,
        # and losses of 9 % 25.07.
        (170.0, 0.08, False),
        (370.0, 0.08, True),
        (370.0, 0.09, False),
        # Beyond 400 ms (G.114) it is no call.
        (380.0, 0.3, True),
        (4000.0, 0.3, True),
    ],
)
def test_where_nothing_else_is_better_a_call_may_lose_what_its_shorter_wait_is_worth(
    wait_ms, lost, worth
):
    asked = question()
    before = with_call(wait_ms, 0.0, asked, delay_p95_ms=900.0)
    pie = QueueSetting("", "pie", "pie")
    after = with_call(17.0, lost, asked, delay_p95_ms=18.0, queue=pie)
    [found] = compared(asked, before, after)
    assert not found.accepted
    assert (_recommended(asked, [found]) is found) == worth


def test_a_margin_of_its_own_for_a_call_holds_where_nothing_else_is_better():
    asked = question(harm=("call_loss=0.01",))
    before = with_call(370.0, 0.0, asked, delay_p95_ms=900.0)
    after = with_call(17.0, 0.02, asked, delay_p95_ms=18.0)
    assert _recommended(asked, compared(asked, before, after)) is None


def test_the_answer_says_what_a_call_loses_now_beside_what_it_will_lose():
    asked = question()
    before = with_call(41.0, 0.05, asked, delay_p95_ms=29.0)
    after = with_call(32.0, 0.054, asked, delay_p95_ms=18.0)
    found = judge(asked, before, after)
    for chosen, verdict, words in (
        (after, "set: bound", "5.4 % of a call's packets are lost (5 % now): it costs"),
        (before, "keep: harm", "5 % of a call's packets are lost: it costs"),
    ):
        answer = Advice(asked, assumed(asked), verdict, before, chosen, found, [],
                        Measured(FQ_CODEL), Measured(FQ_CODEL))  # fmt: skip
        [said] = [each for each in warnings(answer) if "G.107" in each]
        assert words in said


@pytest.mark.parametrize(("wait_ms", "lost", "told"), [(60.0, 0.13, 1), (18.0, 0.015, 0)])
def test_where_a_queue_for_all_stays_the_answer_says_what_one_for_each_flow_would_do(
    wait_ms, lost, told
):
    """If a call is not well: it waits longer than the bound, or its losses are heard."""
    asked = question()
    codel = QueueSetting("", "codel", "codel")
    before = with_call(wait_ms, lost, asked, delay_p95_ms=43.0, queue=codel)
    own = QueueSetting("fq_codel, tuned", "fq_codel", "fq-codel",
                       {"target": 0.00197, "interval": 0.0516}, ("target", "interval"))  # fmt: skip
    fair = with_call(8.0, 0.0, asked, delay_p95_ms=32.0, short_transfer_s=0.13, queue=own)
    found = Compared(fair, judge(asked, before, fair), keeps_bound=False)
    assert not found.accepted
    answer = Advice(asked, assumed(asked), "keep: harm", before, before, found.judgement, [found],
                    Measured(FQ_CODEL), Measured(FQ_CODEL))  # fmt: skip
    said = [each for each in warnings(answer) if "keeps the flows apart" in each]
    assert len(said) == told
    for each in said:
        assert "8.0 ms, instead of 60.0 ms" in each
        assert "0 % would be lost, not 13 %" in each
        assert "95 % wait up to 32.0 ms there; your bound is 20 ms" in each
        assert "Short transfers would take 130 ms on average, instead of 100 ms." in each
        # Not --discipline fq_codel, with which nothing would be set either.
        assert each.endswith("than that, set fq_codel (target 1.97 ms, interval 51.6 ms) instead.")
