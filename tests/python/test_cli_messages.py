"""What a command says of a mistake, and that it says it before anything is lost."""

import re
from pathlib import Path

import pytest

from test_cli import refused, vermilion
from vermilion.online.router_policy import ManagedLink, policy_for
from vermilion.profiles import PROFILES
from vermilion.scenario import TIME, ScenarioError, load_scenario
from vermilion.scenario.quantities import Quantity

__all__ = ["vermilion"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["status", "undo", "watch"])
def test_a_folder_is_no_journal_and_is_there(vermilion, here, command):
    (here / "kept").mkdir()
    assert '"kept" is a folder; expected the file' in refused(vermilion(command, "kept"))
    assert '"nix" does not exist' in refused(vermilion(command, "nix"))


@pytest.mark.parametrize(
    ("command", "field"),
    [
        (["run", ""], "SCENARIO"),
        (["tune", ""], "SCENARIO"),
        (["run", "varying-load", "--json", ""], "--json"),
        (["run", "varying-load", "--plugin", ""], "--plugin"),
    ],
)
def test_an_empty_name_is_refused_with_what_it_is_of(vermilion, command, field):
    assert refused(vermilion(*command)).startswith(f'vermilion: {field}: "" is not accepted')


def test_so_it_is_from_python():
    with pytest.raises(ScenarioError, match=r'scenario: "" is not accepted'):
        load_scenario("")


@pytest.mark.usefixtures("here")
def test_a_folder_has_no_report(vermilion):
    assert "is a directory" in refused(vermilion("report", "."))


def test_the_help_of_tune_names_every_profile(vermilion):
    _, out, _ = vermilion("tune", "--help-all")
    words = (
        re.sub(r"-\n\s+", "-", out).replace(",", " ").replace(". ", " ").replace(".\n", " ").split()
    )
    assert set(PROFILES) <= set(words)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class X(:\n    pass\n", "SyntaxError: invalid syntax (line 1)"),
        ("x = 1\n\ny = 1 / 0\n", "ZeroDivisionError: division by zero (line 3)"),
    ],
)
def test_a_plugin_that_does_not_run_is_one_line_with_the_place(vermilion, text, words):
    Path("mine.py").write_text(text)
    line = refused(vermilion("run", "varying-load", "--plugin", "mine.py"))
    assert '"mine.py" is not accepted' in line
    assert words in line
    assert "?" not in line


@pytest.mark.parametrize("size", ["10", "67", "65536"])
def test_the_largest_packet_has_bounds(vermilion, size):
    line = refused(vermilion("link", "--rate", "1 Mbit/s", "--mtu", size, "--", "true"))
    assert "--mtu" in line
    assert "68" in line
    assert "65535" in line


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", [["run"], ["atlas"], ["online", "--router=linux:lo"]])
def test_a_key_that_is_there_twice_is_called_so(vermilion, command):
    Path("twice.toml").write_text('title = "a"\ntitle = "b"\n')
    file = ["--policy=twice.toml"] if command[0] == "online" else ["twice.toml"]
    assert "a key is there twice (at line 2" in refused(vermilion(*command, *file))


@pytest.mark.parametrize("command", [["run", "varying-load"], ["tune", "varying-load"]])
def test_of_two_disciplines_none_is_lost(vermilion, command):
    line = refused(vermilion(*command, "--discipline", "red", "--discipline=pie"))
    assert "--discipline: given 2 times" in line


def test_what_a_command_of_a_link_says_is_its_own(vermilion):
    words = ["--isolated", "--", "true", "--discipline", "red", "--discipline", "pie"]
    _, _, err = vermilion("link", "--mtu", "10", *words)
    assert "given 2 times" not in err


@pytest.mark.parametrize("name", ["x.txt", "x.json", "x.PY"])
def test_a_scenario_is_not_begun_in_a_file_of_another_kind(vermilion, here, name):
    assert "expected a name that ends in .toml" in refused(vermilion("new", name))
    assert not list(here.iterdir())


def test_names_of_scenarios_may_have_dots(vermilion, here):
    assert vermilion("new", "line-1.5")[0] == 0
    assert vermilion("new", "OTHER.TOML")[0] == 0
    assert {path.name for path in here.iterdir()} == {"line-1.5.toml", "OTHER.TOML"}


def test_microseconds_have_either_letter():
    micro, greek = "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"
    assert Quantity(TIME).parse(f"20 {micro}") == Quantity(TIME).parse(f"20 {greek}") == 20e-6
    assert Quantity(TIME).parse_range(f"20 {greek} .. 30 {micro}") == (20e-6, 30e-6)


def test_a_queue_of_which_nothing_is_searched_needs_a_policy():
    link = ManagedLink("eth0", "drop-tail", {"limit": 1000}, ["limit"])
    with pytest.raises(ScenarioError, match=r"only if a policy asks for it \(--policy FILE\)"):
        policy_for(link)
