"""A command never replaces what it reads, nor one of its results with another."""

import shutil
from pathlib import Path

import pytest
import typer

from test_cli import SHORT, refused, vermilion
from vermilion.cli.application import application
from vermilion.cli.kept_inputs import RESULTS

__all__ = ["vermilion"]

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "tests" / "reference" / "captures" / "bulk.pcap"

# Files that a command reads or adds to.
KEPT = {
    "--atlas",
    "--credentials",
    "--journal",
    "--listen-token",
    "--metrics-token",
    "--now-json",
    "--page-token",
    "--plugin",
    "--policy",
    "--resume",
    "--study",
    "--trace",
    "--warm-start",
}


def options_with_a_file():
    found = set()
    for command in typer.main.get_command(application()).commands.values():
        for parameter in command.params:
            if "FILE" in str(parameter.metavar or "") and parameter.param_type_name == "option":
                found.add(parameter.opts[0])
    return found


def test_every_option_with_a_file_is_known_to_replace_it_or_to_keep_it():
    assert options_with_a_file() == RESULTS | KEPT
    assert not RESULTS & KEPT


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario = ROOT / "python" / "vermilion" / "scenario" / "starter.toml"
    shutil.copy(scenario, "mine.toml")
    shutil.copy(CAPTURE, "seen.pcap")
    Path("mine.study").write_bytes(b"a study")
    Path("also.toml").symlink_to("mine.toml")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["run", "mine.toml", "--json", "mine.toml"],
        ["run", "mine.toml", "--json", "./also.toml"],
        ["compare", "mine.toml", "--figure", "mine.toml"],
        ["tune", "mine.toml", "--study", "mine.study", "--json", "mine.study"],
        ["tune", "--study", "new.study", "--json", "new.study"],
        ["report", "mine.study", "--output", "mine.study"],
        ["studies", "mine.study", "--json", "mine.study"],
        ["monitor", "seen.pcap", "--json", "seen.pcap"],
        ["twin", "seen.pcap", "--output", "seen.pcap"],
        ["link", "mine.toml", "--json", "mine.toml", "--", "true"],
        ["run", "mine.toml", "--json", "out.svg", "--figure", "out.svg"],
    ],
)
def test_a_result_never_replaces_what_a_command_reads(vermilion, mine, command):
    before = {path: path.read_bytes() for path in mine.iterdir()}
    line = refused(vermilion(*command))
    assert "expected another file for the results" in line
    assert {path: path.read_bytes() for path in mine.iterdir()} == before


def test_two_results_may_go_to_a_device(vermilion):
    nowhere = ["--json=/dev/null", "--distributions=/dev/null"]
    code, _, err = vermilion("run", "varying-load", *SHORT, *nowhere)
    assert (code, err) == (0, "")
