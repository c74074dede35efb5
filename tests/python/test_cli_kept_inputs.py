"""A command never replaces what it reads, nor one of its results with another."""

import shutil
from pathlib import Path

import pytest
import typer

from test_cli import SHORT, refused, vermilion
from vermilion.cli.application import application
from vermilion.cli.careful_command import RESULTS

__all__ = ["vermilion"]

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "tests" / "reference" / "captures" / "bulk.pcap"

# Files that a command reads or adds to.
KEPT = {
    "--atlas",
    "--config",
    "--credentials",
    "--journal",
    "--listen-token",
    "--metrics-token",
    "--now-json",
    "--plugin",
    "--policy",
    "--resume",
    "--study",
    "--trace",
    "--warm-start",
}


def options_with_a_file():
    found = set()
    group = typer.main.get_command(application())
    for name in group.list_commands(None):
        for parameter in group.get_command(None, name).params:
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


@pytest.mark.parametrize("named", ['trace = "cell.mahimahi"', 'rate = "1 Mbit/s"'])
def test_nor_what_a_scenario_names(vermilion, mine, named):
    folder = mine / "cell"
    folder.mkdir()
    trace = folder / "cell.mahimahi"
    trace.write_text("1\n2\n3\n", encoding="utf-8")
    (folder / "net.toml").write_text(
        f"""
        duration = "1 s"
        warm_up = "0.1 s"
        [links.cell]
        {named}
        delay = "0 ms"
        queue = {{ discipline = "drop-tail", limit = "20 packets" }}
        [flows.all]
        path = ["cell"]
        rtt = "20 ms"
        sender = {{ congestion_control = "reno" }}
        """,
        encoding="utf-8",
    )
    command = ["run", "cell/net.toml", "--json", "cell/cell.mahimahi"]
    if named.startswith("trace"):
        assert "is read as well" in refused(vermilion(*command))
        assert trace.read_text(encoding="utf-8") == "1\n2\n3\n"
    else:  # a file like any other
        assert vermilion(*command)[0] == 0


def test_a_twin_that_cannot_be_written_is_refused_before_the_capture_is_read(vermilion, mine):
    (mine / "seen.pcap").write_bytes(b"no capture at all")
    for option in ("--json", "--output"):
        line = refused(vermilion("twin", "seen.pcap", f"{option}=/nowhere/x"))
        assert "cannot be written" in line
    assert "expected a capture file" in refused(vermilion("twin", "seen.pcap", "--output=new.toml"))
    assert not Path("new.toml").exists()


def test_two_results_may_go_to_a_device(vermilion):
    nowhere = ["--json=/dev/null", "--distributions=/dev/null"]
    code, _, err = vermilion("run", "varying-load", *SHORT, *nowhere)
    assert (code, err) == (0, "")
