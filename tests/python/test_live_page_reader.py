"""What the live page reads of a journal: all of it once, and then what is new."""

from contextlib import contextmanager

import pytest

from test_cli import vermilion
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.status.live_page import journal_reader as journal_reader_module
from vermilion.status.live_page.journal_reader import (
    LIVE_WINDOW_S,
    MOST_POINTS,
    SERIES,
    Cursor,
    JournalReader,
    bands,
)

__all__ = ["vermilion"]

from journal_of_looks import book, looks


class TestReader:
    def test_what_is_drawn_is_what_the_samples_say(self, tmp_path):
        path = tmp_path / "j.sqlite"
        with book(path) as journal:
            looks(journal, 1, 5, drops=1)
            looks(journal, 6, 10, backlog_packets=20, backlog_bytes=30_000, marks=2)
        _, told = JournalReader(path).snapshot(1)
        series = told["series"]
        assert tuple(series) == SERIES
        assert series["time_s"] == [0.5, 1.0]
        assert series["queue_packets"] == [10, 20]
        # Little: 15,000 bytes wait and 150,000 leave in a second, so each waits 100 ms.
        assert series["waiting_ms"] == [100, 200]
        assert series["throughput_mbit_per_s"] == [1.2, 1.2]
        assert series["drops_percent"] == [pytest.approx(100 / 11, rel=1e-5), 0]
        assert series["marks_percent"] == [0, 20]
        assert (series["flows"], series["round_trip_ms"]) == ([4, 4], [50, 50])

    def test_what_nobody_measures_is_nothing_and_not_zero(self, tmp_path):
        path = tmp_path / "j.sqlite"
        with book(path) as journal:
            silent = {"active_flows": None, "rtt_samples": None, "mean_rtt_s": None}
            looks(journal, 1, 5, packets=0, bytes=0, **silent)
        series = JournalReader(path).snapshot(1)[1]["series"]
        for name in ("waiting_ms", "drops_percent", "marks_percent", "flows", "round_trip_ms"):
            assert series[name] == [None]
        assert series["throughput_mbit_per_s"] == [0]

    def test_a_bucket_is_told_when_it_is_full_and_once(self, tmp_path):
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        with book(path) as journal:
            looks(journal, 1, 7)
            cursor, told = reader.snapshot(1)
            assert told["series"]["time_s"] == [0.5]
            assert reader.news(1, cursor) == (cursor, {})
            looks(journal, 8, 12)
            cursor, news = reader.news(1, cursor)
            assert news["series"]["time_s"] == [1.0]
            journal.keep(Decision(1.2, DecisionKind.KEPT, "why", {}))
            journal.keep(SettingInForce(1.2, {"limit": 7}))
            cursor, news = reader.news(1, cursor)
            assert [each["reason"] for each in news["decisions"]] == ["why"]
            assert [each["parameters"] for each in news["settings"]] == [{"limit": 7}]
        cursor, news = reader.news(1, cursor)
        assert news["ended"] is True
        assert news["series"]["time_s"] == [1.5]  # of what was left, when no more can come
        assert reader.news(1, cursor) == (cursor, {})

    def test_a_decision_after_the_last_full_bucket_is_told_with_the_first_word(self, tmp_path):
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        with book(path) as journal:
            journal.keep(Decision(0.0, DecisionKind.START, "start", {}))
            looks(journal, 1, 104)
            journal.keep(Decision(10.3, DecisionKind.APPLIED, "the change", {}))
            journal.keep(SettingInForce(10.3, {"limit": 7}))
            cursor, told = reader.snapshot(1)
            assert told["end_s"] == 10.0
            assert [each["reason"] for each in told["decisions"]] == ["start", "the change"]
            assert [each["parameters"] for each in told["settings"]] == [{"limit": 7}]
            assert reader.news(1, cursor) == (cursor, {})

    def test_what_is_decided_about_a_silent_queue_is_told(self, tmp_path):
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        with book(path) as journal:
            looks(journal, 1, 100)
            journal.keep(Decision(15.0, DecisionKind.BLIND, "it does not answer", {}))
            cursor, told = reader.snapshot(1)
            assert [each["kind"] for each in told["decisions"]] == ["blind"]
            journal.keep(Decision(20.0, DecisionKind.END, "the end", {}))
            _, news = reader.news(1, cursor)
            assert [each["kind"] for each in news["decisions"]] == ["end"]
        _, told = reader.snapshot(1)
        assert [each["kind"] for each in told["decisions"]] == ["blind", "end"]

    def test_what_is_written_while_a_snapshot_is_read_comes_with_the_news(
        self, tmp_path, monkeypatch
    ):
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        read = journal_reader_module._settings
        with book(path) as journal:
            looks(journal, 1, 10)

            def interrupted(*arguments, **named):
                journal.keep(Decision(1.0, DecisionKind.APPLIED, "in between", {}))
                journal.keep(SettingInForce(1.0, {"limit": 7}))
                return read(*arguments, **named)

            with monkeypatch.context() as patched:
                patched.setattr(journal_reader_module, "_settings", interrupted)
                cursor, told = reader.snapshot(1)
            assert (told["decisions"], told["settings"]) == ([], [])
            _, news = reader.news(1, cursor)
            assert [each["reason"] for each in news["decisions"]] == ["in between"]
            assert [each["parameters"] for each in news["settings"]] == [{"limit": 7}]

    def test_a_promise_made_between_two_buckets_is_drawn_with_the_next(self, tmp_path):
        path = tmp_path / "j.sqlite"
        reader = JournalReader(path)
        with book(path) as journal:
            looks(journal, 1, 10)
            cursor, _ = reader.snapshot(1)
            promise = {"predicted_mean": 30.0, "predicted_sd": 5.0}
            journal.keep(Decision(1.2, DecisionKind.TUNED, "found", promise))
            journal.keep(Decision(1.3, DecisionKind.APPLIED, "the change", {}))
            cursor, news = reader.news(1, cursor)
            assert news["bands"] == []
            for first, end_s in ((11, 1.5), (16, 2.0)):
                looks(journal, first, first + 4)
                cursor, news = reader.news(1, cursor)
                assert [(each["start_s"], each["end_s"]) for each in news["bands"]] == [
                    (1.3, end_s)
                ]

    def test_news_of_a_long_run_cost_no_more_than_those_of_a_short_one(self, tmp_path, monkeypatch):
        assert self.work_of_news(tmp_path, monkeypatch, 40_000) < 2 * self.work_of_news(
            tmp_path, monkeypatch, 400
        )

    def work_of_news(self, folder, monkeypatch, tenths):
        """What SQLite does, in hundreds of its instructions, where there are no news."""
        path = folder / f"{tenths}.sqlite"
        with book(path) as journal:
            journal._database.execute("BEGIN")
            looks(journal, 1, tenths)
            journal._database.execute("COMMIT")
            reader = JournalReader(path)
            cursor, _ = reader.snapshot(1)
            work = []
            opened = JournalReader._open

            @contextmanager
            def watched(reader):
                with opened(reader) as database:
                    database.set_progress_handler(lambda: work.append(1), 100)
                    yield database

            with monkeypatch.context() as patched:
                patched.setattr(JournalReader, "_open", watched)
                assert reader.news(1, cursor) == (cursor, {})
        return len(work) + 1

    def test_a_long_run_is_bounded(self, tmp_path):
        path = tmp_path / "j.sqlite"
        with book(path) as journal:
            journal._database.execute("BEGIN")
            looks(journal, 1, 40_000)
            journal._database.execute("COMMIT")
        reader = JournalReader(path)
        _, told = reader.snapshot(1)
        assert told["start_s"] == 4000.0 - LIVE_WINDOW_S
        assert len(told["series"]["time_s"]) == LIVE_WINDOW_S / 0.5
        whole = reader.history(1, 0.0, 4000.0)
        assert len(whole["series"]["time_s"]) == MOST_POINTS
        assert whole["series"]["time_s"][-1] == 4000.0
        with pytest.raises(KeyError):
            reader.news(1, Cursor(10.0))

    def test_a_cursor_is_read_back_or_refused(self):
        cursor = Cursor(1.5, 3, 4, ended=True)
        assert Cursor.of(cursor.text()) == cursor
        most = Cursor(1.5, 2**63 - 1, 2**63 - 1)
        assert Cursor.of(most.text()) == most
        shapes = ("", "1:2", "a:1:2:0", "nan:1:2:0", "inf:1:1:0", "-1:1:1:0")
        numbers = (f"0:{2**63}:0:0", f"0:0:{2**63}:0", "0:-1:0:0", "0:0:-1:0")
        for nonsense in shapes + numbers:
            with pytest.raises(ValueError, match=r"."):
                Cursor.of(nonsense)


def test_a_promise_holds_until_the_setting_or_the_conditions_change():
    told = [
        (1.0, "tuned", {"predicted_mean": 30.0, "predicted_sd": 2.0}),
        (1.0, "applied", {}),
        (5.0, "kept", {}),
        (9.0, "change-detected", {}),
        (10.0, "tuned", {"predicted_mean": 20.0, "predicted_sd": 1.0}),
        (10.0, "kept", {}),
        (11.0, "tuned", {"predicted_mean": None}),
        (11.0, "applied", {}),
        (12.0, "tuned", {"predicted_mean": 40, "predicted_sd": 4}),
        (12.0, "applied", {}),
    ]
    assert bands(told, 20.0) == [
        {"start_s": 1.0, "end_s": 9.0, "mean_packets": 30.0, "sd_packets": 2.0},
        {"start_s": 12.0, "end_s": 20.0, "mean_packets": 40.0, "sd_packets": 4.0},
    ]


def test_the_journal_is_asked_for_all_decisions_that_a_promise_hangs_on(tmp_path):
    # Each kind, in a run of its own: what bands() says of all decisions, the page says too.
    promise = {"predicted_mean": 30.0, "predicted_sd": 5.0}
    for number, kind in enumerate(DecisionKind):
        path = tmp_path / f"{number}.sqlite"
        kept = [
            Decision(1.0, DecisionKind.TUNED, "", promise),
            Decision(2.0, DecisionKind.APPLIED, "", {}),
            Decision(3.0, kind, "", {}),
        ]
        with book(path) as journal:
            looks(journal, 1, 50)
            for each in kept:
                journal.keep(each)
        told = [(each.time_s, each.kind, each.details) for each in kept]
        assert JournalReader(path).snapshot(1)[1]["bands"] == bands(told, 5.0), kind
