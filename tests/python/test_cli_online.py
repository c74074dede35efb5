"""``vermilion online``: every decision with its reason, a journal, a page, and JSON."""

import signal
import sqlite3
import subprocess

import pytest

from test_cli import PROGRAM, SHORT, refused, strict, vermilion
from vermilion.cli import main

__all__ = ["vermilion"]

pytestmark = pytest.mark.usefixtures("few_evaluations")

QUICK = ("online", "varying-load", "--clock=fixed", *SHORT)


def test_decisions_are_shown_with_their_reasons_and_then_the_outcome(vermilion, tmp_path):
    journal, page = tmp_path / "journal.sqlite", tmp_path / "report.html"
    code, out, err = vermilion(*QUICK, "--all", f"--journal={journal}", f"--report={page}")
    assert (code, err) == (0, "")
    for word in (
        "(seed 1)",
        "watching link bottleneck",
        "left alone",
        "kept tuned",
        "queue-deviation",
        "the price",
        "drop-tail, limit 30",
        "starved flows",
    ):
        assert word in out
    assert page.read_text().lstrip().lower().startswith("<!doctype html")
    with sqlite3.connect(journal) as database:
        (count,) = database.execute("SELECT count(*) FROM decision").fetchone()
    database.close()
    assert count > 0


def test_json_has_every_decision_and_both_networks(vermilion):
    code, out, err = vermilion(*QUICK, "--seeds=2", "--json=-")
    assert (code, err) == (0, "")
    document = strict(out)
    [price] = document["price"]
    settings = price["phases"][0]["settings"]
    assert [each["name"] for each in settings] == [
        "left alone",
        "kept tuned",
        "drop-tail, limit 30",
    ]
    for setting, outcome in zip(settings, ("untouched", "tuned"), strict=False):
        drops = [
            run[outcome]["links"]["bottleneck"]["phases"][0]["drop_rate"]
            for run in document["runs"]
        ]
        assert setting["metrics"]["drop_rate"]["mean"] == pytest.approx(sum(drops) / 2)
    assert "difference" not in settings[0]["metrics"]["drop_rate"]
    assert settings[1]["metrics"]["drop_rate"]["difference"]["replications"] == 2
    assert [run["seed"] for run in document["runs"]] == [1, 2]
    run = document["runs"][0]
    assert run["decisions"][0]["kind"] == "start"
    assert run["settings"][0]["time_s"] == 0
    assert run["tuned"]["links"]["bottleneck"]["phases"]
    assert run["untouched"]["links"]["bottleneck"]["phases"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.toml"], "no such file"),
        (["--deadline=soon"], "a time"),
        (["--clock=broken"], "--clock"),
        (["--seeds=0"], "--seeds"),
        (["--journal=/nowhere/x.sqlite"], "journal"),
        (["--journal=/"], "journal"),
        (["--report=/nowhere/x.html"], "cannot be written"),
        (["--report=-", "--json=-"], "cannot both"),
        (["--set=tuning.objective.name=beauty"], "queue-deviation"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(vermilion, arguments, words):
    assert words in refused(vermilion(*QUICK, *arguments))


def test_what_nobody_can_search_is_refused_before_a_journal_is_begun(vermilion, tmp_path):
    journal = tmp_path / "run.sqlite"
    wanted = 'tuning.parameters=["links.bottleneck.queue.mean_packet_size"]'
    asked = vermilion(*QUICK, f"--set={wanted}", f"--journal={journal}")
    assert "mean_packet_size" in refused(asked)
    assert not journal.exists()


def test_a_scenario_without_a_policy_gets_the_knee_and_the_disciplines_parameters(
    vermilion, tmp_path
):
    from vermilion.scenario.library import scenario_text

    text = scenario_text("varying-load")
    path = tmp_path / "bare.toml"
    path.write_text(text[: text.index("[tuning]")])
    code, out, err = vermilion("online", path, *QUICK[2:], "--mode=observe")
    assert (code, err) == (0, "")
    assert "minimise p95 delay (goodput at least 98 % of now) by" in " ".join(out.split())
    assert " applied " not in out


def test_ctrl_c_ends_it_with_130():
    command = [*PROGRAM, "online", "varying-load", "--seeds=50"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in err


@pytest.mark.parametrize("seed", ["-1", "12345678901234567890123"])
def test_a_seed_that_is_none_is_refused(seed, capsys):
    assert main(["online", "varying-load", "--seed", seed]) == 2
    assert f"seed: {seed} is not accepted" in capsys.readouterr().err
