"""Numbers that a discipline of one's own tells of itself: its average, its drop probability."""

import math
import re

import pytest

import vermilion
from own_disciplines import ACCEPT, MARK
from test_own_discipline import Own, network, register

__all__ = ["register"]


@pytest.mark.parametrize("answer", [math.nan, math.inf, -1, 1e300, "12"])
def test_an_average_that_no_queue_can_have_is_refused(register, answer):
    register(Own, average_queue=lambda _: answer)
    given = re.escape(repr(answer))
    message = rf"average_queue.*{given} is not accepted; expected packets from 0 to 16777215, or N"
    with pytest.raises(vermilion.DisciplineError, match=message):
        vermilion.run(network("own"))


@pytest.mark.parametrize("answer", [math.nan, math.inf, -0.1, 1.1, 10**400])
def test_a_drop_probability_that_is_none_is_refused(register, answer):
    register(Own, drop_probability=lambda _: answer)
    message = r"drop_probability at \d.* is not accepted; expected a probability from 0 to 1, or N"
    with pytest.raises(vermilion.DisciplineError, match=message):
        vermilion.run(network("own"), probe_interval_s=0.1)


@pytest.mark.parametrize(("average", "probability"), [(0, 0), (16777215, 1), (2.5, 0.5)])
def test_a_number_of_its_own_is_reported_as_it_is(register, average, probability):
    register(Own, average_queue=lambda _: average, drop_probability=lambda _: probability)
    result = vermilion.run(network("own"), probe_interval_s=0.1)
    reported = result.link("bottleneck").total["average_queue_packets"]
    assert (reported["mean"], reported["max"]) == (average, average)
    assert set(result.series("bottleneck")["drop_probability"].tolist()) == {probability}


def test_a_number_of_its_own_may_be_absent(register):
    register(Own, average_queue=lambda _: None, drop_probability=lambda _: None)
    result = vermilion.run(network("own"), probe_interval_s=0.1)
    assert "average_queue_packets" not in result.link("bottleneck").total
    assert all(map(math.isnan, result.series("bottleneck")["drop_probability"]))


def test_a_packet_that_is_marked_on_arrival_and_again_as_it_leaves_is_counted_once(register):
    def decide(_, packet, *__):
        return MARK if packet.ecn_capable else ACCEPT

    totals = []
    for leaving in (decide, lambda *_: ACCEPT):
        register(Own, on_arrival=decide, on_departure=leaving)
        totals.append(vermilion.run(network("own")).link("bottleneck").total)
    assert totals[0]["marks"] == totals[1]["marks"] > 0
    assert totals[0]["mark_rate"] <= 1
