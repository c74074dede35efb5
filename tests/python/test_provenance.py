"""The line that scripts write below their tables is the one that pages are held to."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

import provenance

SCRIPT = "benches/made.py"
RESULTS = "benches/results/made.jsonl"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of a script and its results, and how to tell git something in it."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    for name in (SCRIPT, RESULTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n", encoding="utf-8")

    def git(*words):
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *who, *words],  # noqa: S607 - wherever the machine has it
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    try:
        git("init", "--quiet")
    except OSError:
        pytest.skip("git is not installed")
    git("add", ".")
    git("commit", "--quiet", "--message", "all")
    return git


def test_what_ran_is_the_commit_and_what_was_changed_since(repository, tmp_path):
    commit = repository("rev-parse", "--short=8", "HEAD")
    assert provenance.made_by(SCRIPT) == f"*Made by `{SCRIPT}`, measured at {commit}.*"
    (tmp_path / "page.md").write_text("a table\n", encoding="utf-8")
    assert provenance.made_by(SCRIPT).endswith(f"measured at {commit}.*")
    (tmp_path / SCRIPT).write_text("2\n", encoding="utf-8")
    assert provenance.made_by(SCRIPT).endswith("with changes that were not committed.*")


def test_results_that_are_kept_are_of_the_newest_commit_with_some(repository, tmp_path):
    commit = repository("rev-parse", "--short=8", "HEAD")
    (tmp_path / SCRIPT).write_text("2\n", encoding="utf-8")
    repository("commit", "--quiet", "--all", "--message", "the script alone")
    results = tmp_path / RESULTS
    drawn = provenance.drawn_by(SCRIPT, results)
    assert drawn == f"*Made by `{SCRIPT}` from `{RESULTS}`, recorded in {commit}.*"
    results.write_text("1\n2\n", encoding="utf-8")
    assert provenance.drawn_by(SCRIPT, results).endswith("recorded in no commit yet.*")
    elsewhere = tmp_path.parent / "elsewhere.jsonl"
    drawn = provenance.drawn_by(SCRIPT, elsewhere)
    assert drawn == f"*Made by `{SCRIPT}` from `{elsewhere}`, recorded in no commit yet.*"
    repository("commit", "--quiet", "--all", "--message", "a second result")
    drawn = provenance.drawn_by(SCRIPT, results, results)
    later = repository("rev-parse", "--short=8", "HEAD")
    of_both = f"from `{RESULTS}` and `{RESULTS}`, recorded in {later}.*"
    assert drawn == f"*Made by `{SCRIPT}` {of_both}"


def test_rows_that_are_kept_say_when_they_were_measured():
    rows = [{"commit": "0123abcd"}, {"commit": "0123abcd"}, {"commit": "4567cdef"}]
    made = provenance.made_by(SCRIPT, rows)
    assert made == f"*Made by `{SCRIPT}`, measured at 0123abcd and 4567cdef.*"
    made = provenance.made_by(SCRIPT, [*rows, {}])  # from before rows said so
    assert made == f"*Made by `{SCRIPT}`, measured at 0123abcd, 4567cdef and no known commit.*"


def test_without_a_history_no_commit_is_made_up(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert provenance.made_by(SCRIPT).endswith("measured at no known commit.*")
