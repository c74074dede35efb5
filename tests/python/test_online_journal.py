"""The journal: complete, readable by anybody, and safe from crashes."""

import contextlib
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.record.journal import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    Journal,
    JournalError,
)
from vermilion.online.sense.sampler import Sample
from vermilion.online.sense.traffic_estimate import TrafficEstimate

ABOUT = {
    "version": "0.1.0",
    "title": "Varying load",
    "router": "simulated",
    "link": "bottleneck",
    "discipline": "red",
    "target_packets": 30.0,
}

SAMPLE = Sample(
    time_s=0.1,
    interval_s=0.1,
    backlog_before_packets=30,
    backlog_packets=31,
    backlog_bytes=31_000,
    packets=125,
    bytes=125_000,
    drops=2,
    marks=1,
    active_flows=16,
    heard_flows=0,
    rtt_samples=0,
    mean_rtt_s=None,
)


def rows(path, query):
    with sqlite3.connect(path) as database:
        return database.execute(query).fetchall()


def test_everything_written_can_be_read_with_any_sqlite_client(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(path, **ABOUT) as journal:
        journal.keep(SAMPLE)
        journal.keep(Decision(0.1, "kept", "nothing is better", {"advantage": 0.5}))
        journal.keep(SettingInForce(0.0, {"weight": 0.002, "gentle": False}))
    assert rows(path, "SELECT time_s, backlog_packets, drops, mean_rtt_s FROM sample") == [
        (0.1, 31, 2, None)
    ]
    [(kind, reason, details)] = rows(path, "SELECT kind, reason, details FROM decision")
    assert (kind, reason, json.loads(details)) == ("kept", "nothing is better", {"advantage": 0.5})
    [(parameters,)] = rows(path, "SELECT parameters FROM setting")
    assert json.loads(parameters) == {"weight": 0.002, "gentle": False}
    assert rows(path, "SELECT link, target_packets, ended FROM run") == [("bottleneck", 30.0, 1)]


def test_a_journal_holds_several_runs(tmp_path):
    path = tmp_path / "journal.sqlite"
    for _ in range(2):
        with Journal(path, **ABOUT) as journal:
            journal.keep(SAMPLE)
    assert rows(path, "SELECT run FROM sample ORDER BY run") == [(1,), (2,)]


def test_a_killed_controller_leaves_a_whole_journal_that_says_it_did_not_end(tmp_path):
    path = tmp_path / "journal.sqlite"
    program = textwrap.dedent(
        f"""
        import os, signal
        from dataclasses import replace
        from pathlib import Path
        from vermilion.online.record.journal import Journal
        from vermilion.online.sense.sampler import Sample
        journal = Journal(Path({str(path)!r}), **{ABOUT!r})
        sample = {SAMPLE!r}
        for number in range(50):
            journal.keep(replace(sample, time_s=0.1 * number))
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    killed = subprocess.run(
        [sys.executable, "-c", program], check=False, env=os.environ, capture_output=True
    )
    assert killed.returncode < 0
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "SELECT count(*) FROM sample") == [(50,)]
    assert rows(path, "SELECT ended FROM run") == [(0,)]


def test_an_error_during_the_run_is_not_recorded_as_an_orderly_end(tmp_path):
    path = tmp_path / "journal.sqlite"
    with pytest.raises(RuntimeError), Journal(path, **ABOUT):
        raise RuntimeError
    assert rows(path, "SELECT ended FROM run") == [(0,)]


def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, " * 100)
    with pytest.raises(JournalError, match=r"notes\.txt is not accepted"):
        Journal(path, **ABOUT)
    assert path.read_text().startswith("these are my notes")


def test_another_programs_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE precious (x)")
    with pytest.raises(JournalError, match="schema version 0"):
        Journal(path, **ABOUT)
    assert rows(path, "SELECT name FROM sqlite_master") == [("precious",)]


@pytest.mark.parametrize(
    "marks",
    [
        ("CREATE TABLE precious (x)",),
        ("CREATE TABLE precious (x)", "PRAGMA user_version = 2"),
        ("CREATE TABLE precious (x)", f"PRAGMA user_version = {SCHEMA_VERSION}"),
        ("PRAGMA application_id = 7",),
        ("PRAGMA user_version = 3",),
    ],
)
def test_what_is_refused_stays_byte_for_byte_and_is_not_kept_open(tmp_path, marks):
    path = tmp_path / "other.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        for mark in marks:
            database.execute(mark)
        database.commit()
    before = path.read_bytes()
    kept = []  # the errors, with all that hangs on them
    for _ in range(3):
        with pytest.raises(JournalError, match="of another program") as refusal:
            Journal(path, **ABOUT)
        kept.append(refusal)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    opened = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
    assert str(path) not in opened


def test_a_journal_says_whose_it_is_and_one_of_before_that_does_not_is_taken(tmp_path):
    path = tmp_path / "journal.sqlite"
    Journal(path, **ABOUT).close()
    assert rows(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    rows(path, "PRAGMA application_id = 0")
    Journal(path, **ABOUT).close()
    assert rows(path, "SELECT count(*) FROM run") == [(2,)]


def _begin(path, title, together, told):
    together.wait()
    try:
        Journal(path, **{**ABOUT, "title": title}).close()
        told.put("")
    except JournalError as error:
        told.put(str(error))


def test_controllers_that_begin_at_once_in_one_new_file_all_have_it(tmp_path):
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    for number in range(3):
        path = tmp_path / f"{number}.sqlite"
        together = context.Barrier(4)
        begun = [
            context.Process(target=_begin, args=(path, title, together, told)) for title in "abcd"
        ]
        for each in begun:
            each.start()
        for each in begun:
            each.join()
        assert [told.get(timeout=60) for _ in begun] == [""] * 4
        assert rows(path, "SELECT count(*) FROM run WHERE ended") == [(4,)]


def test_a_directory_is_refused_with_its_name(tmp_path):
    with pytest.raises(JournalError, match="expected a writable SQLite file"):
        Journal(tmp_path, **ABOUT)


PICTURE = TrafficEstimate(
    time_s=20.0,
    flows=16,
    base_rtts_s=(0.028,) * 16,
    rate_bit_per_s=10e6,
    packet_bytes=1000.0,
    marked_share=0.0,
)


def damaged(path, statement, *values):
    """A journal after somebody has been at it."""
    with Journal(path, **ABOUT):
        pass
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(statement, values)
        database.commit()


DECIDED = (
    "INSERT INTO decision (run, time_s, kind, reason, details) VALUES (1, 1, 'hands-off', '', ?)"
)


@pytest.mark.parametrize("details", ["{", "5", '{"changed": 5}'])
def test_a_run_that_cannot_be_gone_on_with_is_one_line(tmp_path, details):
    path = tmp_path / "journal.sqlite"
    damaged(path, DECIDED, details)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE run SET ended = 0")
        database.execute("INSERT INTO setting (run, time_s, parameters) VALUES (1, 0, '{}')")
        database.commit()
    with Journal(path, **ABOUT) as journal:  # noqa: SIM117 - what is refused is one call
        with pytest.raises(JournalError, match="makes no sense"):
            journal.remembered()
