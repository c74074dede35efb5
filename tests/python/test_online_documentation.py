"""The page about on-line control says of states and decisions what the code does."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def page_maker():
    path = ROOT / "docs" / "figures" / "online_states.py"
    spec = importlib.util.spec_from_file_location("online_states", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_states_and_decisions_are_those_of_the_code():
    page = (ROOT / "docs" / "online.md").read_text()
    assert page_maker().refreshed(page) == page, "run docs/figures/online_states.py"


def test_every_kind_of_decision_has_a_meaning():
    from vermilion.online.entries import DecisionKind

    table = page_maker().kinds_table()
    assert all(f"| `{kind}` | " in table for kind in DecisionKind)
    assert len(table.splitlines()) == len(DecisionKind) + 2
