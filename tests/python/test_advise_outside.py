"""What an answer says of half and twice of what was given: what was tried, and what was not."""

from dataclasses import replace

import pytest

from vermilion.advise import Advice, assumed, read_question
from vermilion.advise.conditions import grid, probes
from vermilion.advise.document import document
from vermilion.advise.judgement import Judgement
from vermilion.advise.measuring import Measured
from vermilion.advise.question import QueueSetting
from vermilion.advise.wording import limits, not_tried

FQ_CODEL = QueueSetting("fq_codel", "fq_codel", "fq-codel")


def question(**changes):
    return read_question(**{"rate": "900 Mbit/s", "rtt": "15 ms .. 60 ms", "flows": "1 .. 10",
                            "delay_at_most": "20 ms", **changes})  # fmt: skip


def measured(places, delays_ms):
    delays = [*delays_ms, *[9.0] * (len(places) - len(delays_ms))]
    return Measured(
        FQ_CODEL,
        {
            at: [{"delay_p95_ms": delay, "goodput_bit_per_s": 8e8}] * 3
            for at, delay in zip(places, delays, strict=True)
        },
    )


def answer(asked, tried, *delays_ms):
    """An answer with so many of what lies around the range."""
    own = measured(grid(asked, 0.0), [])
    around = measured(probes(asked, 0.0)[:tried], delays_ms)
    return Advice(asked, assumed(asked), "keep: nothing better", own, own, Judgement(None), (),
                  around, around)  # fmt: skip


def test_one_that_was_tried_is_named_once_and_the_others_as_not_tried():
    found = answer(question(), 1)
    assert limits(found) == [
        "It still holds with 20 flows, 30 ms.",
        (
            "Not tried, because that takes too long on this line: twice the round trip (3 flows, "
            "120 ms); half the round trip (3 flows, 7.5 ms)."
        ),
    ]
    hurried = replace(found, time_was_up=True)
    assert limits(hurried)[1].startswith("Not tried, because time was up: twice the round trip (")


def test_all_that_were_tried_are_named():
    asked = question(rtt="600 ms", flows="2 .. 10", rate="20 Mbit/s")
    assert limits(answer(asked, 4)) == [
        "It still holds with 20 flows, 600 ms; 4 flows, 1.2 s; 4 flows, 300 ms; 1 flow, 600 ms."
    ]


def test_where_it_does_not_hold_the_others_are_named_too():
    found = answer(question(), 2, 35.0)
    assert limits(found) == [
        "Outside your range, with 20 flows, 30 ms, it is 35.0 ms (p95).",
        "It still holds with 3 flows, 120 ms.",
        (
            "Not tried, because that takes too long on this line: half the round trip (3 flows, "
            "7.5 ms)."
        ),
    ]


def test_nothing_tried_is_one_sentence():
    assert limits(answer(question(), 0)) == [
        ("Half and twice of what you gave was not tried: that takes too long on this line.")
    ]


@pytest.mark.parametrize(("flows", "count"), [("1 .. 10", 3), ("2 .. 10", 4)])
def test_half_of_a_single_flow_is_nothing_that_could_be_tried(flows, count):
    found = answer(question(flows=flows), 0)
    assert len(not_tried(found)) == count
    assert any("half the flows" in each for each in not_tried(found)) == (count == 4)


def test_the_json_has_what_was_tried_and_what_was_not():
    found = document(answer(question(), 1))
    assert [each["name"] for each in found["outside"]] == ["20 flows, 30 ms"]
    assert found["outside_not_tried"] == [
        "twice the round trip (3 flows, 120 ms)",
        "half the round trip (3 flows, 7.5 ms)",
    ]
