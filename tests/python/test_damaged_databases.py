"""Journals and studies that anybody may have written: one message, and none colours a terminal."""

import sqlite3
from contextlib import closing

import pytest

from test_cli import refused, vermilion
from vermilion.online.entries import SettingInForce
from vermilion.online.record.journal import Journal

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


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    from vermilion.cli import main

    path = tmp_path_factory.mktemp("study") / "kept.study"
    options = ["--budget=2", "--no-rivals", "--no-robustness", f"--study={path}"]
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
