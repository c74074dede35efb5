"""``vermilion tune``: a recommendation for people and for machines, and never a traceback."""

import inspect
import json
import math
import re
import shlex
import signal
import subprocess

import pytest

from test_cli import PROGRAM, SHORT, refused, strict, vermilion
from test_tuning_study import wait_for_settings
from vermilion.cli import main
from vermilion.scenario import load_scenario
from vermilion.simulate import run
from vermilion.tuning.earlier_answers import conditions_of

__all__ = ["vermilion"]

# A transfer every eight seconds on average: with some seeds there is none.
RARE = """
duration = "10 s"
warm_up = "2 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "codel" }
[flows.web]
path = ["bottleneck"]
rtt = "40 ms"
sender = "cubic"
traffic = { kind = "web", mean_gap = "8 s", size = "20 kB" }
"""

LEAN = ("--no-baselines", "--no-robustness", *SHORT)
QUICK = ("tune", "varying-load", "--budget=12", *LEAN)


def test_a_recommendation_is_shown_with_the_command_that_repeats_it(vermilion, capsys):
    code, out, err = vermilion("tune", "varying-load", "--budget=60", *SHORT)
    assert (code, err) == (0, "")
    assert "queue-deviation" in out
    assert "fresh seeds" in out
    assert max(map(len, out.splitlines())) <= 100
    command = out.partition("to see it:")[2].replace("\\\n", "")
    ours, *arguments = shlex.split(command)
    assert ours == "vermilion"
    assert main([*arguments, "--json=-", *SHORT]) == 0
    assert strict(capsys.readouterr().out)["seed"] == 1


def test_a_machine_gets_numbers_that_make_a_scenario(vermilion):
    code, out, _ = vermilion(*QUICK, "--json=-")
    assert code == 0
    document = strict(out)
    tuned = load_scenario("varying-load").with_values(document["parameters"])
    for path, value in document["parameters"].items():
        assert tuned.get(path) == value
    assert document["evaluations"] == 12
    assert math.isfinite(document["objective"]["best"]["mean"])


def test_the_same_seed_finds_the_same_setting(vermilion):
    first, second = (strict(vermilion(*QUICK, "--json=-", "--seed=4")[1]) for _ in range(2))
    assert first["parameters"] == second["parameters"]
    assert first["objective"] == second["objective"]


def test_a_search_goes_on_where_it_stopped(vermilion, tmp_path):
    path = tmp_path / "tuned.json"
    assert vermilion(*QUICK, f"--json={path}")[0] == 0
    code, out, _ = vermilion(*QUICK, f"--resume={path}", "--json=-")
    assert code == 0
    assert strict(out)["search"]["state"] != strict(path.read_text())["search"]["state"]


def test_a_tuning_begins_with_earlier_answers_and_adds_its_own(vermilion, tmp_path):
    path = tmp_path / "answers.json"
    arguments = ("tune", "varying-load", "--budget=60", *LEAN, f"--warm-start={path}", "--json=-")
    first = strict(vermilion(*arguments)[1])
    assert first["accepted"]
    assert first["warm_starts"] == []
    again = strict(vermilion(*arguments)[1])
    assert again["warm_starts"] == [{"scenario": "varying-load", "distance": 0.0}]


def test_a_file_of_answers_that_becomes_something_else_meanwhile_is_one_line(
    vermilion, tmp_path, monkeypatch
):
    path = tmp_path / "answers.json"

    def overwrite(*arguments):
        path.write_text("a diary")
        return conditions_of(*arguments)

    monkeypatch.setattr("vermilion.tuning.best_setting.conditions_of", overwrite)
    arguments = ("tune", "varying-load", "--budget=60", *LEAN, f"--warm-start={path}")
    assert f'--warm-start: "{path}" is not accepted' in refused(vermilion(*arguments))
    assert path.read_text() == "a diary"


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"search": {"state": 3}}', '{"search": {"state": {"x": 1}}}']
)
def test_a_state_that_is_none_is_refused(vermilion, tmp_path, content):
    path = tmp_path / "tuned.json"
    path.write_text(content)
    assert "--resume" in refused(vermilion(*QUICK, f"--resume={path}"))


def test_a_damaged_state_is_refused(vermilion, tmp_path):
    path = tmp_path / "tuned.json"
    assert vermilion(*QUICK, f"--json={path}")[0] == 0
    document = json.loads(path.read_text())
    for key in document["search"]["state"]:
        damaged = json.loads(path.read_text())
        damaged["search"]["state"][key] = "damaged"
        other = tmp_path / "damaged.json"
        other.write_text(json.dumps(damaged))
        assert "--resume" in refused(vermilion(*QUICK, f"--resume={other}"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget=0"], "--budget"),
        (["--search=guessing"], "recursive-random-search"),
        (["--deadline=soon"], "a time"),
        (["--deadline=-3 s"], "a time"),
        (["--parameter=links.bottleneck.queue.waight"], 'did you mean "weight"'),
        (["--parameter=flows.early.sender.loss_window"], "loss_window"),
        (["--constraint=be good"], "links.NAME.METRIC"),
        (["--resume=/nowhere.json"], "cannot be read"),
        (["--warm-start=/nowhere/answers.json"], "no such directory"),
        (["--warm-start=/"], "cannot be read"),
        (["--fidelity=some"], "auto, full"),
        (["--json=/nowhere/x.json"], "cannot be written"),
        (["--set=tuning.objective.name=beauty"], "queue-deviation"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(vermilion, arguments, words):
    assert words in refused(vermilion(*QUICK, *arguments))


def test_the_default_search_is_that_of_the_library():
    from vermilion.cli.tune import tune
    from vermilion.search import AUTOMATIC

    assert inspect.signature(tune).parameters["search"].default == AUTOMATIC


def test_ctrl_c_shows_the_best_so_far_and_ends_with_130(tmp_path):
    study = tmp_path / "x.study"
    command = [*PROGRAM, "tune", "varying-load", "--budget=100000", f"--study={study}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_settings(study, 2, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert "ended by Ctrl-C" in out
    assert "Traceback" not in err


def test_an_objective_and_its_constraints_can_be_stated_in_words(vermilion):
    text = "minimise links.bottleneck.sojourn_ms.p99 subject to flows.*.jain_index >= 0.5"
    code, out, _ = vermilion(*QUICK, f"--objective={text}", "--json=-")
    assert code == 0
    document = strict(out)
    assert document["objective"]["name"] == "links.bottleneck.sojourn_ms.p99"
    [verdict] = document["constraints"]["best"]
    assert verdict["constraint"] == "flows.*.jain_index >= 0.5"


def test_a_constraint_needs_no_blanks(vermilion):
    text = "flows.*.jain_index>=0.99"
    code, out, err = vermilion(*QUICK, f"--constraint={text}")
    assert (code, "Traceback" in err) == (0, False)
    assert f"{text} is " in out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ name = "jain-indx" }', 'did you mean "jain-index"?'),
        ("{ name = ", "a table in TOML"),
        ('{}, x = { name = "jain-index" }', "a table in TOML"),
        ("make it good", "minimise METRIC"),
    ],
)
def test_a_wrong_objective_is_one_line(vermilion, text, expected):
    assert expected in refused(vermilion(*QUICK, f"--objective={text}"))


def test_the_objectives_are_listed_with_their_fields(vermilion):
    code, out, _ = vermilion("objectives", "--json=-")
    assert code == 0
    listed = {row["name"]: row for row in strict(out)}
    assert listed["power"]["required"] == ["link", "base_delay"]
    assert listed["goodput"]["goal"] == "maximise"
    code, out, _ = vermilion("objectives")
    assert code == 0
    assert all(name in out for name in listed)


@pytest.mark.evidence
def test_a_front_is_shown_drawn_and_written(vermilion, tmp_path):
    page, numbers = tmp_path / "front.html", tmp_path / "front.json"
    code, out, err = vermilion(*QUICK, "--pareto", f"--figure={page}", f"--json={numbers}")
    assert (code, err) == (0, "")
    assert "the front of less mean queueing delay against more utilisation" in out
    assert page.read_text().startswith("<!DOCTYPE html>")
    document = strict(numbers.read_text())
    assert [entry["goal"] for entry in document["objectives"]] == ["minimise", "maximise"]
    assert document["points"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--objective=links.bottleneck.drop_rate"] * 2, "two with --pareto"),
        (["--pareto", "--deadline=soon"], "--deadline"),
        (["--pareto", "--resume=x.json"], "--resume cannot be used with --pareto or --robust"),
        (
            ["--pareto", "--warm-start=x.json"],
            "--warm-start cannot be used with --pareto or --robust",
        ),
        (["--pareto", "--fidelity=auto"], "--fidelity auto cannot be used with --pareto"),
        (["--pareto", "--device=eth0"], "expected --profile"),
        (["--parent=1:10"], "expected --profile"),
        (["--pareto", "--figure=x.eps"], ".svg"),
        (["--pareto", "--objective=links.bottleneck.drop_rate"], "expected two"),
    ],
)
def test_options_of_a_front_that_do_not_fit_are_one_line(vermilion, options, expected):
    assert expected in refused(vermilion(*QUICK, *options))


def test_several_scenarios_are_tuned_together(vermilion):
    options = ("varying-load", "--robust=mean", "--weights=2,1", "--json=-")
    code, out, _ = vermilion(*QUICK, *options)
    assert code == 0
    document = strict(out)
    assert document["robust"] == "mean"
    assert [case["weight"] for case in document["scenarios"]] == pytest.approx([2 / 3, 1 / 3])
    assert [case["scenario"] for case in document["scenarios"]] == [
        "varying-load #1",
        "varying-load #2",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["varying-load"], "--robust worst"),
        (["--robust=worst"], "at least two scenarios"),
        (["varying-load", "--robust=best"], "worst, mean"),
        (["varying-load", "--robust=mean", "--weights=a,b"], '"2,1"'),
        (["varying-load", "--robust=mean", "--weights=1"], "one number above 0 for each"),
        (["varying-load", "--robust=worst", "--weights=1,2"], "--robust mean"),
        (["varying-load", "--robust=worst", "--pareto"], "expected one of them"),
        (["varying-load", "--robust=worst", "--deadline=soon"], "--deadline"),
        (
            ["varying-load", "--robust=worst", "--resume=x.json"],
            "--resume cannot be used with --pareto or --robust",
        ),
        (
            ["varying-load", "--robust=worst", "--warm-start=x.json"],
            "--warm-start cannot be used with --pareto or --robust",
        ),
        (["varying-load", "--robust=worst", "--fidelity=some"], "auto, full"),
    ],
)
def test_options_of_several_scenarios_that_do_not_fit_are_one_line(vermilion, options, expected):
    assert expected in refused(vermilion(*QUICK, *options))


@pytest.mark.parametrize("kind", [["--pareto"], ["varying-load", "--robust=worst"]])
def test_a_deadline_ends_every_kind_of_tuning(vermilion, kind):
    """One that has passed before anything was simulated; what it leaves is shown nevertheless."""
    code, out, err = vermilion(*QUICK, *kind, "--deadline=1 us", "--json=-")
    assert (code, err) == (0, "")
    assert strict(out)["end"] == "deadline"


@pytest.mark.parametrize("kind", [["--pareto"], ["varying-load", "--robust=worst"]])
def test_ctrl_c_shows_what_every_kind_has_found_and_ends_with_130(tmp_path, kind):
    study = tmp_path / "x.study"
    command = [*PROGRAM, "tune", "varying-load", *kind, "--budget=100000", f"--study={study}"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for_settings(study, 4, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert "ended by Ctrl-C" in out
    assert f"kept in {study}" in out
    assert "Traceback" not in err


def test_a_seed_without_the_objective_is_named(vermilion, tmp_path):
    rare = tmp_path / "rare.toml"
    rare.write_text(RARE, encoding="utf-8")
    line = refused(
        vermilion("tune", rare, "--objective", "minimise flows.web.completion_time_s.mean",
                  "--budget=4")
    )  # fmt: skip
    named = re.search(r"with seed (\d+), .*no flow is ever active in a measured phase", line)
    assert named
    scenario = load_scenario(str(rare))
    assert run(scenario, int(named[1])).flows("web").total["flows"] == 0
    assert run(scenario, 1).flows("web").total["flows"] > 0


@pytest.mark.parametrize("option", ["--device", "--parent"])
def test_nothing_but_a_name_gets_into_a_command_to_paste(option, capsys):
    arguments = ["tune", "varying-load", "--budget=3", "--profile=linux-red"]
    assert main([*arguments, option, "eth0; reboot"]) == 2
    assert f'{option}: "eth0; reboot" is not accepted' in capsys.readouterr().err
