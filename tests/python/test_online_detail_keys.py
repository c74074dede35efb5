"""Every key of a decision's details is in the catalogue, and nothing else is; pages print it."""

import ast
import sys
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import test_online_scripts
import test_online_set_scripts
from vermilion.online import run_online
from vermilion.online.drive.real_router import _initial_decision
from vermilion.online.entries import Decision, format_setting
from vermilion.online.events import Record
from vermilion.routers.base import HeldValues, LinkConfiguration
from vermilion.scenario import load_scenario

ROOT = Path(__file__).parents[2]
ONLINE = ROOT / "python" / "vermilion" / "online"
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import detail_table  # noqa: E402 - of the documentation's own extensions

DETAIL_KEYS, OPEN_TABLES = detail_table.DETAIL_KEYS, detail_table.OPEN_TABLES


def keys_of(value, named):
    """All keys, those of tables within tables too; not those that are names of something."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in named:
                yield key
            if key not in OPEN_TABLES:
                yield from keys_of(inner, named)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from keys_of(inner, named)


@cache
def said():
    """(kind, sentence, details, configuration) of every script, and of two runs."""
    found = []
    for module, kind in (
        (test_online_scripts, test_online_scripts.Script),
        (test_online_set_scripts, test_online_set_scripts.SetScript),
    ):
        for path in sorted(module.SCRIPTS.glob("*.txt")):
            found += _of_script(path, kind())
    short = ["duration=12 s", "warm_up=4 s", "settle=4 s", "flows.late.start=6 s .. 7 s"]
    quickly = {"clock": "fixed", "re_evaluations": 1, "comparisons": 3}
    scenario = load_scenario("varying-load", short)
    run = run_online(scenario, seed=4, evaluations=6, **quickly)
    one = LinkConfiguration("bottleneck", "red", 0.01)
    found += [(each.kind, each.reason, each.details, one) for each in run.decisions]
    policy = SimpleNamespace(mode="observe", changes_per_minute=6, at_exit="keep")
    red = {"min_threshold": 12.5, "weight": 0.0021, "max_threshold": None}
    words = partial(format_setting, configuration=one)
    killed = SimpleNamespace(run=7, original={"weight": 0.5}, command=None)
    told = _initial_decision(0.0, "linux:eth0", red, words, None, killed, policy, HeldValues())
    found.append((told.kind, told.reason.partition("; it had found")[0], told.details, one))
    return found


def _of_script(path: Path, script):
    heard = []
    carry_out = script._carry_out

    def listen(effect):
        if isinstance(effect, Record) and isinstance(effect.entry, Decision):
            entry = effect.entry
            heard.append((entry.kind, entry.reason, entry.details, script.controller.configuration))
        carry_out(effect)

    script._carry_out = listen
    test_online_scripts.played(path.read_text(encoding="utf-8"), script)
    return heard


@pytest.mark.evidence
def test_what_scripts_and_runs_write_down_is_in_the_catalogue():
    met = set()
    for _, _, details, _ in said():
        # Where figures are compared, each also stands under its own name, as it always has.
        met |= set(keys_of(details, {each["name"] for each in details.get("figures", ())}))
    assert len(met) > 90
    assert met - set(DETAIL_KEYS) == set()


def _sources():
    for path in ONLINE.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def test_what_the_code_decides_with_is_in_the_catalogue():
    """Also what no script makes happen: the names that decisions are made with."""
    given = {
        keyword.arg
        for node in _sources()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute | ast.Name)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in {"decide", "_fail"}
        for keyword in node.keywords
        if keyword.arg is not None
    }
    of_the_comparison = {"least_gain", "unit"}  # another function of that name
    assert len(given) > 30
    assert given - of_the_comparison - set(DETAIL_KEYS) == set()


def test_the_catalogue_has_nothing_that_no_code_writes():
    written = set()
    for node in _sources():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            written.add(node.value)
        elif isinstance(node, ast.keyword):
            written.add(node.arg)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            written.add(node.target.id)
    assert set(DETAIL_KEYS) - written == set()


def test_the_catalogue_is_in_order_and_a_page_prints_it():
    assert list(DETAIL_KEYS) == sorted(DETAIL_KEYS)
    rows = list(detail_table.details_table())
    assert len(rows) == len(DETAIL_KEYS) + 2
    assert detail_table.PLACE in (ROOT / "docs" / "online.md").read_text(encoding="utf-8")
    for key, (unit, meaning) in DETAIL_KEYS.items():
        assert meaning
        assert f"| `{key}` | {unit} |" in "\n".join(rows)
        if key.endswith("_s") and not key.endswith(("bit_per_s", "share_per_s")):
            assert unit == "s"
