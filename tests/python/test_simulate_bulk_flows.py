"""Bulk flows of several groups together: the numbers of all their flows."""

import statistics

import pytest

from vermilion.simulate.metric import bulk_flows, slowest_share


def group(goodputs, starved):
    return {
        "flows": len(goodputs),
        "goodput_bit_per_s": {
            "total": sum(goodputs),
            "mean": statistics.fmean(goodputs),
            "sd": statistics.pstdev(goodputs),
            "min": min(goodputs),
            "max": max(goodputs),
        },
        "starved": starved,
    }


def test_the_index_of_all_flows_is_that_of_the_flows_themselves():
    # (1 + 3 + 0 + 4 + 12)^2 / (5 (1 + 9 + 0 + 16 + 144)) = 400 / 850
    together = bulk_flows([group([1.0, 3.0], 0), group([0.0, 4.0, 12.0], 1)])
    assert together["jain_index"] == pytest.approx(400 / 850)
    assert together["flows"] == 5
    assert together["starved"] == 1
    assert together["goodput_bit_per_s"] == {"total": 20.0, "mean": 4.0, "min": 0.0}
    assert slowest_share(together) == 0.0


def test_the_share_of_the_slowest_is_of_the_mean():
    assert slowest_share(group([1.0, 3.0], 0)) == 0.5


def test_only_groups_with_bulk_flows_take_part():
    call = {key: value for key, value in group([7.0], 0).items() if key != "starved"}
    absent = {"flows": 0, "timeouts": 0}
    assert bulk_flows([call, group([2.0, 2.0], 0), absent])["goodput_bit_per_s"]["total"] == 4.0
    assert bulk_flows([call, absent]) == {}


def test_what_cannot_be_computed_is_absent():
    together = bulk_flows([group([0.0, 0.0], 0)])
    assert "jain_index" not in together
    assert slowest_share(together) is None
    assert slowest_share({"flows": 9, "goodput_bit_per_s": {"total": 5.0}}) is None
