"""How flows share a queue, as the controller senses it and the journal keeps it."""

import sqlite3

import numpy as np
import pytest

from journal_of_looks import book, look
from vermilion.online.record.journal import SCHEMA_VERSION
from vermilion.online.sense.flow_activity import FlowActivity, flow_shares
from vermilion.online.sense.sampler import FlowShares, is_due
from vermilion.routers.base import FlowTraffic


def seen(activity, tenths, bytes_of, *, open_flows=None, responsive=None):
    """After so many tenths of a second in each of which every flow sent so many bytes."""
    flows = np.array(sorted(bytes_of), dtype=np.int64)
    sent = np.array([bytes_of[flow] for flow in sorted(bytes_of)], dtype=np.int64)
    slows = np.array([(responsive or {}).get(int(flow), True) for flow in flows], dtype=np.bool_)
    traffic = FlowTraffic(flows, np.minimum(sent, 1), sent, slows)
    begun = round(10 * activity.now_s)
    for tenth in range(begun + 1, begun + tenths + 1):
        activity = activity.updated(tenth / 10, 0.1, traffic, open_flows, None)
    return activity


def test_flows_that_get_alike_share_fairly():
    shares = flow_shares(seen(FlowActivity(), 60, {1: 500, 2: 500, 3: 500, 4: 500}))
    assert shares.jain_index == pytest.approx(1.0)
    assert (shares.flows, shares.compared_flows) == (4, 4)
    assert shares.largest_share == shares.smallest_share == pytest.approx(0.25)
    assert shares.seconds == pytest.approx(6.0)


def test_the_index_is_that_of_what_each_got():
    shares = flow_shares(seen(FlowActivity(), 60, {1: 900, 2: 100}))
    assert shares.jain_index == pytest.approx(1000**2 / (2 * (900**2 + 100**2)))
    assert (shares.largest_share, shares.smallest_share) == pytest.approx((0.9, 0.1))


def test_nothing_is_said_too_early_or_where_nobody_looks():
    assert flow_shares(FlowActivity()) is None
    assert flow_shares(seen(FlowActivity(), 29, {1: 1, 2: 1})) is None
    assert flow_shares(seen(FlowActivity(), 30, {1: 1, 2: 1})) is not None


def test_one_flow_shares_with_nobody():
    shares = flow_shares(seen(FlowActivity(), 60, {1: 900}))
    assert (shares.flows, shares.compared_flows, shares.jain_index) == (1, 1, None)


def test_acknowledgements_and_senders_that_do_not_slow_down_are_not_compared():
    sent = {-1: 7, 1: 500, 2: 500, 3: 9000}
    shares = flow_shares(seen(FlowActivity(), 60, sent, responsive={3: False}))
    assert (shares.flows, shares.compared_flows) == (3, 2)
    assert shares.jain_index == pytest.approx(1.0)


def test_a_flow_that_has_just_come_or_has_gone_is_not_called_unfairly_treated():
    activity = seen(FlowActivity(), 200, {1: 500, 2: 500, 3: 500})
    activity = seen(activity, 40, {1: 500, 2: 500, 4: 500})  # 3 has gone, 4 has come
    shares = flow_shares(activity)
    assert (shares.flows, shares.compared_flows) == (3, 2)
    assert shares.jain_index == pytest.approx(1.0)
    later = flow_shares(seen(activity, 100, {1: 500, 2: 500, 4: 500}))
    assert later.compared_flows == 3
    assert later.jain_index == pytest.approx(1.0, abs=1e-3)


def test_open_flows_that_are_silent_are_counted_where_somebody_counts():
    activity = seen(FlowActivity(), 60, {1: 500, 2: 500}, open_flows=5)
    assert flow_shares(activity).silent_flows == 3
    # Of several queues each is told what is open anywhere.
    assert flow_shares(activity, "wan").silent_flows is None
    assert flow_shares(seen(FlowActivity(), 60, {1: 1, 2: 1})).silent_flows is None


def test_it_is_told_once_a_second_whatever_the_interval():
    for interval_s in (0.1, 0.25, 1.0):
        times = [interval_s * number for number in range(1, round(10 / interval_s) + 1)]
        due = [time for time in times if is_due(look(time, interval_s=interval_s))]
        assert len(due) == 10
    assert is_due(look(7.3, interval_s=3.0))


def test_a_journal_of_version_4_is_brought_up_and_keeps_what_it_has(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        journal.keep(look(0.1))
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE wall_clock")
        database.execute("DROP TABLE flow_shares")
        database.execute("ALTER TABLE queue_sample DROP COLUMN rtt_samples")
        database.execute("ALTER TABLE queue_sample DROP COLUMN mean_rtt_s")
        database.execute(
            "INSERT INTO queue_sample VALUES (1, 0.1, 'wan', 0.1, 10, 15000, 10, 15000, 0, 0)"
        )
        database.execute("PRAGMA user_version = 4")
    database.close()
    with book(path) as journal:
        journal.keep(FlowShares(3.0, "", 3.0, 4, 1, 4, 0.9, 0.4, 0.1))
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert database.execute("SELECT count(*) FROM sample").fetchone() == (1,)
        [old] = database.execute("SELECT link, rtt_samples, mean_rtt_s FROM queue_sample")
        [told] = database.execute("SELECT * FROM flow_shares")
    database.close()
    assert old == ("wan", None, None)
    assert told == (2, 3.0, "", 3.0, 4, 1, 4, 0.9, 0.4, 0.1)
