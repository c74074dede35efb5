"""The linter for prose finds what its rules are about, and nothing in plain sentences."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPECIFICATION = importlib.util.spec_from_file_location("prose_lint", ROOT / "docs/prose_lint.py")
prose_lint = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(prose_lint)


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        ("--fidelity auto is of a tuning without --pareto.", "puzzle"),
        ("The same, to be the measure of others than this one is.", "puzzle"),
        ("Where less of all scenarios ranks alike, less of them is simulated.", "puzzle"),
        ("Simulate what is worth the way.", "puzzle"),
        ("It lies as much beyond the tolerance as a few hundredths of it.", "puzzle"),
        ("It is fast. Note that it is slow.", "weasel"),
        ("In order to run it, run it.", "weasel"),
        ("Whoever has a router can look.", "nobody"),
        ("Nothing has to be said here.", "nobody"),
        ("It begins anew.", "unidiomatic"),
        (" ".join(["word"] * 33) + ".", "long"),
    ],
)
def test_a_fault_is_found(sentence, rule):
    assert [each.rule for each in prose_lint.faults("page", sentence)] == [rule]


@pytest.mark.parametrize(
    "sentence",
    [
        "The controller watches the queue. It says why it changes a setting.",
        "If a shorter simulation ranks settings alike, the search uses it.",
        "```\n" + " ".join(["code"] * 50) + " anew\n```",
        "See `anew` and [the page](anew.md).",
        "| one | two |\n| --- | --- |\n| " + " | ".join(["three words each"] * 12) + " |",
        " ".join(["word"] * 32) + ".",
    ],
)
def test_plain_sentences_code_and_tables_pass(sentence):
    assert list(prose_lint.faults("page", sentence)) == []


def test_a_page_may_not_get_worse(monkeypatch, tmp_path, capsys):
    debt = tmp_path / "debt.json"
    monkeypatch.setattr(prose_lint, "DEBT", debt)
    monkeypatch.setattr(prose_lint, "texts", lambda: [("page.md", "It begins anew.")])
    debt.write_text("{}", encoding="utf-8")
    assert prose_lint.main([]) == 1
    assert "page.md: unidiomatic: It begins anew." in capsys.readouterr().out
    assert prose_lint.main(["--write"]) == 0
    assert json.loads(debt.read_text(encoding="utf-8")) == {"page.md": {"unidiomatic": 1}}
    assert prose_lint.main([]) == 0
