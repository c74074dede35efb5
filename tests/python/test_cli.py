"""The command line: what it prints, what it writes, and what it says when that is impossible."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vermilion.cli import main

SHORT = (
    "--set=duration=8 s",
    "--set=warm_up=2 s",
    "--set=settle=2 s",
    "--set=flows.late.start=4 s .. 4.5 s",
)
PROGRAM = [sys.executable, "-c", "import sys; from vermilion.cli import main; sys.exit(main())"]


@pytest.fixture
def vermilion(capsys):
    """Runs a command within this process: exit code, standard output, standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def strict(text):
    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def refused(outcome):
    """The one line with which a mistake is refused."""
    code, out, err = outcome
    assert code == 2
    assert out == ""
    assert err.startswith("vermilion: ")
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err
    return err


def test_run_prints_links_flows_and_phases(vermilion):
    code, out, err = vermilion("run", "varying-load", *SHORT)
    assert (code, err) == (0, "")
    for word in (
        "bottleneck (red)",
        "early",
        "late",
        "2 .. 4 s",
        "6 .. 8 s",
        "whole run",
        "seed 1",
    ):
        assert word in out


def test_run_prints_one_json_object_for_a_machine(vermilion):
    code, out, err = vermilion("run", "varying-load", "--seed", "7", "--json", "-", *SHORT)
    assert (code, err) == (0, "")
    document = strict(out)
    assert document["seed"] == 7
    assert {"version", "wall_s", "cpu_s", "packets_forwarded", "links", "flows"} <= set(document)
    link = document["links"]["bottleneck"]
    assert {"total", "phases"} <= set(link)
    assert {"mean", "sd", "p5", "p50", "p95", "p99", "max"} == set(link["total"]["sojourn_ms"])
    assert len(document["flows"]["early"]["total"]["each"]) == 16


def test_json_goes_to_a_file_while_the_table_is_shown(vermilion, tmp_path):
    path = tmp_path / "result.json"
    code, out, _ = vermilion("run", "varying-load", "--json", path, *SHORT)
    assert code == 0
    assert "whole run" in out
    assert strict(path.read_text())["seed"] == 1
    assert list(tmp_path.iterdir()) == [path]


def test_series_are_csv_with_documented_columns(vermilion, tmp_path):
    path = tmp_path / "series.csv"
    arguments = ("run", "varying-load", "--series", path, "--probe", "0.5s", *SHORT)
    assert vermilion(*arguments)[0] == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "link",
        "time_s",
        "queue_packets",
        "queue_bytes",
        "average_queue_packets",
        "drop_probability",
        "throughput_bit_per_s",
        "rate_bit_per_s",
        "arrivals",
        "drops",
        "marks",
    ]
    assert len(rows) == 17
    assert float(rows[-1]["time_s"]) == 8.0
    arguments = ("run", "varying-load", "--series", "-", *SHORT)
    _, out, err = vermilion(*arguments, "--discipline=drop-tail")
    assert "takes over from red: limit" in err
    last = list(csv.DictReader(out.splitlines()))[-1]
    assert last["average_queue_packets"] == ""


def test_compare_shows_intervals_and_what_was_carried_over(vermilion):
    code, out, err = vermilion(
        "compare",
        "varying-load",
        "--discipline",
        "red",
        "--discipline",
        "drop-tail",
        "--seeds",
        3,
        "--all",
        *SHORT,
    )
    assert code == 0
    assert "drop-tail on bottleneck takes over from red: limit; not known to it:" in err
    assert "±" in out
    assert "Means over 3 seeds with 95 % t intervals" in out


def test_compare_makes_a_variant_of_each_value_of_a_path(vermilion):
    weight = "links.bottleneck.queue.weight"
    settings = (f"--set={weight}=0.01", f"--set={weight}=0.02")
    code, out, _ = vermilion("compare", "varying-load", *settings, "--seeds=2", "--json=-", *SHORT)
    assert code == 0
    document = strict(out)
    assert [variant["name"] for variant in document["variants"]] == [
        f"{weight}=0.01",
        f"{weight}=0.02",
    ]
    assert document["seeds"] == [1, 2]


def test_compare_takes_ten_seeds_unless_told_otherwise(vermilion):
    _, out, _ = vermilion("compare", "varying-load", "--json=-", "--seed=5", *SHORT)
    document = strict(out)
    assert document["seeds"] == list(range(5, 15))
    assert [variant["name"] for variant in document["variants"]] == ["as written"]


def test_a_comparison_has_a_line_for_each_variant_and_stars_what_differs(vermilion):
    options = ("--discipline=red", "--discipline=drop-tail", "--seeds=3", *SHORT)
    _, out, _ = vermilion("compare", "varying-load", *options)
    red, tail = (
        next(line for line in out.splitlines() if line.startswith(name))
        for name in ("red ", "drop-tail ")
    )
    document = strict(vermilion("compare", "varying-load", *options, "--json=-")[1])
    assert len(document["variants"]) == 2
    assert "*" in tail
    assert "*" not in red
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("kind", ["disciplines", "senders"])
def test_algorithms_are_listed_and_shown_with_their_tables(vermilion, kind):
    code, out, _ = vermilion(kind)
    assert code == 0
    rows = strict(vermilion(kind, "--json", "-")[1])
    for row in rows:
        assert row["name"] in out
        code, page, _ = vermilion(kind, row["name"], "--all")
        assert code == 0
        for parameter in row["parameters"]:
            assert parameter["name"] in page
        assert strict(vermilion(kind, row["name"], "--json=-")[1]) == row


def test_the_shipped_scenarios_are_listed(vermilion):
    code, out, _ = vermilion("scenarios")
    assert code == 0
    rows = strict(vermilion("scenarios", "--json=-")[1])
    assert {"varying-load", "rfc7928-unresponsive", "tcpeval-access-link"} <= {
        row["name"] for row in rows
    }
    shown = " ".join(out.split())
    for row in rows:
        assert f"{row['name']} {row['description']}"[:40] in shown


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "vermilion", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("vermilion 0.")


def test_help_and_version_are_there(vermilion):
    code, out, _ = vermilion("--help")
    assert code == 0
    for command in ("run", "compare", "tune", "online", "disciplines", "senders", "scenarios"):
        assert f"\n  {command} " in out
    assert vermilion()[1] == out
    code, out, _ = vermilion("--version")
    assert code == 0
    assert out.startswith("vermilion 0.")


def test_help_loads_nothing_heavy():
    heavy = subprocess.run(
        [sys.executable, "-X", "importtime", *PROGRAM[1:], "--help"],
        check=True,
        capture_output=True,
        text=True,
    ).stderr
    for module in ("numpy", "scipy", "pydantic", "pint", "matplotlib", "rich"):
        assert f" {module}\n" not in heavy


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "SCENARIO"),
        (["run", "nowhere.toml"], "no such file"),
        (["run", "/"], "is a directory"),
        (["run", "varying-load", "--fast"], "--fast"),
        (["run", "varying-load", "--seed", "x"], "--seed"),
        (["run", "varying-load", "--seed", "-1"], "seed"),
        (["run", "varying-load", "--set", "duration"], "path=value"),
        (["run", "varying-load", "--set", "flows.early.count=1000000000000"], "1000000"),
        (["run", "varying-load", "--set", "links.bottleneck.rate=-3 Mbit/s"], "from 1 bit/s"),
        (["run", "varying-load", "--json", "/nowhere/x.json"], "cannot be written"),
        (["run", "varying-load", "--json", "/"], "is a directory"),
        (["run", "varying-load", "--json", "\0"], "cannot be written"),
        (["run", "varying-load", "--json", "-", "--series", "-"], "cannot both"),
        (["run", "varying-load", "--probe", "0.1s"], "--series"),
        (["run", "varying-load", "--series", "-", "--probe", "often"], "a time"),
        (["run", "varying-load", "--series", "-", "--probe", "0s"], "an interval"),
        (["compare", "varying-load", "--discipline", "redd"], 'did you mean "red"'),
        (["compare", "varying-load", "--seeds", "0"], "--seeds"),
        (["compare", "varying-load", "--threads", "0"], "--threads"),
        (["disciplines", "redd"], 'did you mean "red"'),
        (["senders", "westwood"], '"reno"'),
        (["dance"], "dance"),
        (["--dance"], "--dance"),
    ],
)
def test_a_mistake_gets_one_line_and_exit_code_2(vermilion, arguments, words):
    assert words in refused(vermilion(*arguments))


def test_nothing_half_done_is_left_behind(vermilion, tmp_path):
    target = tmp_path / "result.json"
    target.write_text("before")
    refused(
        vermilion("run", "varying-load", "--json", target, "--series", "/nowhere/x.csv", *SHORT)
    )
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_a_mistake_and_not_a_crash():
    if not Path("/dev/full").is_char_device():
        pytest.skip("no full device here")
    with Path("/dev/full").open("w") as full:
        command = [*PROGRAM, "run", "varying-load", "--json", "-", *SHORT]
        shown = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert shown.returncode == 2
    assert shown.stderr.splitlines() == [
        "vermilion: cannot write the output: No space left on device"
    ]


def test_a_terminal_without_our_signs_is_no_reason_to_fail():
    command = [*PROGRAM, "compare", "varying-load", "--seeds=2", "--all", *SHORT]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "queue mean" in shown.stdout


@pytest.mark.parametrize("output", ["--json=-", "--series=-", "--seed=1"])
def test_a_reader_that_goes_away_hears_nothing(output):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        command = [*PROGRAM, "run", "varying-load", output]
        shown = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert shown.stderr == ""
    assert shown.returncode == 141


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (["run", "varying-load", *SHORT, "--json=a"], ["a"]),
        (["run", "varying-load", *SHORT, "--series=a.csv", "--json=-"], ["a.csv"]),
        (["compare", "varying-load", "--seeds=2", *SHORT, "--json=-", "--figure=a.svg"], ["a.svg"]),
        (["tune", "varying-load", "--budget=3", *SHORT, "--json=a", "--pareto"], ["a"]),
        (["disciplines", "--json=a"], ["a"]),
        pytest.param(
            ["online", "varying-load", "--clock=fixed", *SHORT, "--report=a.html", "--json=b"],
            ["a.html", "b"],
            marks=pytest.mark.evidence,
        ),
    ],
)
def test_files_are_written_although_the_reader_goes_away(command, files, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        gone = subprocess.run(
            [*PROGRAM, *command], stdout=pipe, stderr=subprocess.PIPE, check=False, cwd=tmp_path
        )
    found = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(found) == files  # and nothing half written beside them
    (tmp_path / "read").mkdir()
    read = subprocess.run(
        [*PROGRAM, *command], capture_output=True, check=False, cwd=tmp_path / "read"
    )
    assert gone.stderr == read.stderr
    assert gone.returncode == read.returncode != 141
    for name, content in found.items():
        whole = (tmp_path / "read" / name).read_bytes()
        assert without_times(content) == without_times(whole)


def without_times(content):
    return re.sub(rb'"(wall|cpu|took)_s": [-+.e0-9]+', b"", content)


@pytest.mark.parametrize(
    "command",
    [
        ["run", "varying-load", "--set=duration=1000000 s"],
        ["compare", "varying-load", "--set=duration=100000 s", "--seeds=50"],
    ],
)
def test_ctrl_c_stops_at_once_with_130(command):
    with subprocess.Popen(
        [*PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(1.5)
        assert process.poll() is None
        begin = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        taken = time.perf_counter() - begin
    assert process.returncode == 130
    assert "Traceback" not in err
    assert taken < 1.0  # 0.2 s on an idle machine, for the simulation and the interpreter
