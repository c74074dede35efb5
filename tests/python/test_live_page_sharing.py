"""Fairness and several queues on the live page, as they are read from a journal."""

import json
import sqlite3

import pytest

from journal_of_looks import book, looks
from test_live_page_answers import set_sample
from vermilion.online.entries import Decision, DecisionKind
from vermilion.online.sense.sampler import FlowShares
from vermilion.status.live_page.journal_queries import SHARING_SERIES, concerning
from vermilion.status.live_page.journal_reader import JournalReader

QUEUES = ("wan", "lan")


def share(time_s, jain_index, link=""):
    return FlowShares(time_s, link, 18.0, 4, 1, 3, jain_index, 0.5, 0.2)


def of_two_queues(path):
    """A journal of a second of two queues, whose flows share one better than the other."""
    journal = book(path)
    for tenth in range(1, 11):
        journal.keep(set_sample(tenth / 10))
    journal.keep(share(1.0, 0.9, "wan"))
    journal.keep(share(1.0, 0.7, "lan"))
    return journal


def test_fairness_is_what_was_told_last_while_it_holds(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        looks(journal, 1, 50)
        journal.keep(share(2.0, 0.8))
        journal.keep(share(3.0, 0.9))
    series = JournalReader(path).snapshot(1)[1]["series"]
    #                              0.5   1.0   1.5   2.0  2.5  3.0  3.5  4.0  4.5  5.0
    assert series["fairness"] == [None, None, None, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9, None]
    assert series["largest_share_percent"][3] == 50
    assert series["smallest_share_percent"][3] == 20
    assert (series["compared_flows"][3], series["silent_flows"][3]) == (3, 1)


def test_news_know_what_was_told_before_they_begin(tmp_path):
    path = tmp_path / "j.sqlite"
    reader = JournalReader(path)
    with book(path) as journal:
        looks(journal, 1, 10)
        journal.keep(share(1.0, 0.8))
        cursor, _ = reader.snapshot(1)
        looks(journal, 11, 15)
        _, news = reader.news(1, cursor)
    assert news["series"]["time_s"] == [1.5]
    assert news["series"]["fairness"] == [0.8]


def test_of_a_long_stretch_a_point_has_the_least(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        looks(journal, 1, 100)
        for second, index in ((3, 0.9), (4, 0.4), (5, 0.8), (9, 0.7)):
            journal.keep(share(float(second), index))
    whole = JournalReader(path).history(1, 0.0, 5000.0)
    assert whole["series"]["fairness"][:3] == [0.4, 0.8, 0.7]


def test_what_no_monitor_sees_is_nothing(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        looks(journal, 1, 10)
    _, told = JournalReader(path).snapshot(1)
    assert all(told["series"][name] == [None, None] for name in SHARING_SERIES)


def test_a_journal_of_version_4_is_shown_without_being_changed(tmp_path):
    path = tmp_path / "j.sqlite"
    of_two_queues(path).close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE flow_shares")
        database.execute("ALTER TABLE queue_sample DROP COLUMN rtt_samples")
        database.execute("ALTER TABLE queue_sample DROP COLUMN mean_rtt_s")
        database.execute("PRAGMA user_version = 4")
    database.close()
    reader = JournalReader(path)
    _, together = reader.snapshot(1)
    assert together["series"]["fairness"] == [None, None]
    assert [each["fairness"] for each in together["each"]] == [None, None]
    _, one = reader.snapshot(1, "wan")
    assert one["series"]["queue_packets"] == [10, 10]
    assert one["series"]["round_trip_ms"] == [None, None]
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (4,)
    database.close()


def test_each_queue_has_its_own_numbers_and_the_whole_has_the_least_fair(tmp_path):
    path = tmp_path / "j.sqlite"
    of_two_queues(path).close()
    reader = JournalReader(path)
    _, together = reader.snapshot(1)
    assert together["series"]["fairness"] == [None, 0.7]
    assert together["each"] == [
        {
            "queue": name,
            "waiting_ms": pytest.approx(waiting),
            "queue_packets": packets,
            "throughput_mbit_per_s": pytest.approx(1.2),
            "drops_percent": 0,
            "flows": 4,
            "fairness": index,
        }
        for name, waiting, packets, index in (("lan", 200, 20, 0.7), ("wan", 100, 10, 0.9))
    ]
    _, one = reader.snapshot(1, "wan")
    assert one["series"]["fairness"] == [None, 0.9]
    assert one["series"]["flows"] == [None, 4]
    assert one["series"]["round_trip_ms"] == [50, 50]


def test_queues_stand_in_the_order_of_the_run(tmp_path):
    path = tmp_path / "j.sqlite"
    of_two_queues(path).close()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE run SET link = 'wan+lan'")
    database.close()
    assert JournalReader(path).snapshot(1)[1]["run"]["queues"] == ["wan", "lan"]


JOINT = {"wan.limit": 100.0, "wan.target": 5.0, "lan.limit": 20.0, "lan.target": 3.0}
SET = "wan.limit 100 packets, wan.target 5 ms, lan.limit 20 packets, lan.target 3 ms"


def decision(reason, **details):
    return {"id": 1, "reason": reason, "details": json.dumps(details)}


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        ("wan", "limit 100 packets, target 5 ms: better by 0.1, really"),
        ("lan", "limit 20 packets, target 3 ms: better by 0.1, really"),
        ("", f"{SET}: better by 0.1, really"),
    ],
)
def test_a_queue_is_told_its_own_part_of_a_joint_setting(queue, reason):
    [told] = concerning([decision(f"{SET}: better by 0.1, really", setting=JOINT)], queue, QUEUES)
    assert told == {"id": 1, "reason": reason}


def test_a_setting_in_the_middle_or_at_the_end_of_a_sentence_is_narrowed_too():
    told = concerning([decision(f"250 tried: {SET}, at most 9", setting=JOINT)], "wan", QUEUES)
    assert told[0]["reason"] == "250 tried: limit 100 packets, target 5 ms, at most 9"
    told = concerning([decision(f"250 tried: {SET}", setting=JOINT)], "wan", QUEUES)
    assert told[0]["reason"] == "250 tried: limit 100 packets, target 5 ms"


def test_what_is_about_another_queue_alone_is_not_told_of_this_one():
    told = [decision("wan: 3 flows have become 9"), decision("nothing more is tried")]
    assert len(concerning(told, "wan", QUEUES)) == 2
    assert [each["reason"] for each in concerning(told, "lan", QUEUES)] == ["nothing more is tried"]
    assert len(concerning(told, "", QUEUES)) == 2


def test_news_go_on_behind_decisions_that_concern_another_queue(tmp_path):
    path = tmp_path / "j.sqlite"
    reader = JournalReader(path)
    with of_two_queues(path) as journal:
        cursor, _ = reader.snapshot(1, "lan")
        journal.keep(Decision(1.0, DecisionKind.CHANGE_DETECTED, "wan: 3 flows more", {}))
        cursor, news = reader.news(1, cursor, "lan")
        assert news["decisions"] == []
        assert reader.news(1, cursor, "lan") == (cursor, {})
