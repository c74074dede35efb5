"""The programs in examples/ run, and say what they are for."""

import importlib.util
from pathlib import Path

import pytest

from vermilion import load_scenario

pytestmark = pytest.mark.evidence
FOLDER = Path(__file__).parents[2] / "examples"
SHORTENED = {"duration": 30.0, "flows.late.count": 16}


def example(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_program_is_listed_and_tested():
    programs = {each.stem for each in FOLDER.glob("*.py")}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {name for name in programs if f"({name}.py)" in page} == programs
    assert programs == {
        "red_oscillates",
        "fair_comparison",
        "tuned_queue",
        "kept_tuned",
        "race_by_forks",
        "fabric_thresholds",
        "learned_shaper",
    }


def test_red_oscillates_and_stops(capsys, tmp_path):
    example("red_oscillates").main(tmp_path)
    out = capsys.readouterr().out
    swinging, steady = (int(line.split("+- ")[1].split(";")[0]) for line in out.splitlines())
    assert swinging > 3 * steady
    assert {each.name for each in tmp_path.iterdir()} == {"swinging.svg", "steady.svg"}


def test_a_comparison_says_what_is_chance(capsys):
    example("fair_comparison").main(seeds=3)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["pie", "codel"]


@pytest.mark.timeout(600)
def test_a_queue_is_tuned(capsys):
    example("tuned_queue").main(budget=12)
    out = capsys.readouterr().out
    assert "links.bottleneck.queue.weight = " in out
    assert " against " in out


def test_a_network_is_kept_tuned(capsys):
    example("kept_tuned").main(load_scenario("varying-load").with_values(SHORTENED))
    out = capsys.readouterr().out
    assert " applied " in out
    assert "kept tuned: 95 %" in out


def test_a_race_by_forks_has_a_winner_near_the_target(capsys):
    example("race_by_forks").main()
    *_, last = capsys.readouterr().out.splitlines()
    assert " 1 left; {'min_threshold':" in last
    assert abs(float(last.split()[-1]) - 30.0) < 15.0


def test_thresholds_trade_mice_for_elephants(capsys):
    example("fabric_thresholds").main(stop="1 ms", seeds=1)
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["alibaba", "conweave", "arista", "nvidia", "sonic"]
    assert {row.split()[-1] for row in rows} == {"0"}


def test_a_policy_is_learned_that_beats_the_baselines(capsys):
    pytest.importorskip("gymnasium")
    example("learned_shaper").main()
    means = {}
    for line in capsys.readouterr().out.splitlines():
        name, mean, _, _ = line.split()
        means[name] = float(mean)
    assert means["learned:"] > max(means["keep:"], means["hold-delay:"])
