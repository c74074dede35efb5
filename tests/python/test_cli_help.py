"""Help, completion, and what is said to somebody who has nearly got it right."""

import shlex

import pytest
import typer

from test_cli import refused, vermilion
from vermilion.cli import completion, laboratory, option_groups
from vermilion.cli.application import EXAMPLES, GROUPS, application

__all__ = ["vermilion"]


def commands():
    own = [
        each.name or each.callback.__name__.replace("_", "-")
        for each in application().registered_commands
    ]
    return [*own, *laboratory.COMMANDS]


def test_every_command_stands_in_one_group_and_has_examples():
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(commands())
    assert len(set(grouped)) == len(grouped)
    assert set(EXAMPLES) == set(grouped)


def test_help_shows_the_groups_and_cuts_nothing_off(vermilion):
    code, out, err = vermilion("--help")
    assert (code, err) == (0, "")
    places = [out.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)
    assert "..." not in out.replace("[ARGS]...", "")
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", sorted(EXAMPLES))
def test_an_example_has_only_options_that_there_are(vermilion, command):
    code, out, _ = vermilion(command, "--help")
    assert code == 0
    assert "Examples:" in out
    for example in EXAMPLES[command]:
        program, name, *words = shlex.split(example)
        assert (program, name) == ("vermilion", command)
        assert example in out
        for word in words:
            if word.startswith("--"):
                assert word.partition("=")[0] in out, word


@pytest.mark.parametrize("command", sorted(option_groups.GROUPS))
def test_a_command_shows_a_screen_of_options_and_has_the_others_elsewhere(vermilion, command):
    own = option_groups.options_by_name(typer.main.get_command(application()).commands[command])
    named = [name for names in option_groups.GROUPS[command].values() for name in names]
    assert set(named) <= set(own)
    assert len(set(named)) == len(named) <= 16
    everything = vermilion(command, "--help-all")[1]
    assert all(name in everything for name in own)


def test_control_has_no_option_of_simulations(vermilion):
    code, _, err = vermilion("control", "linux:eth0", "--seeds", "3")
    assert code == 2
    assert "--seeds" in err
    assert "ADDRESS" in refused(vermilion("control"))


NEARLY = [
    (["run", "varying-load", "--seeds", "3"], "vermilion compare SCENARIO --seeds 10"),
    (["run", "varying-load", "--dask", "x"], "vermilion tune and vermilion atlas have it"),
    (["watch", "--answers"], "vermilion control ... --listen ADDRESS:PORT --answers"),
    (["simulate", "x"], "try vermilion run"),
    (["Dashboard"], "try vermilion watch"),
    (["run", "varying-load", "--discipline", "pfifo_fast"], 'here it is called "drop-tail"'),
    (["run", "varying-load", "--discipline", "fq_codel"], 'here it is called "fq-codel"'),
    (
        ["tune", "varying-load", "--budget", "0"],
        "Invalid value for '--budget': expected at least 1;",
    ),
    (["tune", "varying-load", "--budget", "x"], "'--budget': expected a whole number;"),
    (["online", "varying-load", "--mode", "x"], "Invalid value for '--mode': 'x' is not one of"),
    (["tune", "varying-load", "--resume"], "see vermilion tune --help"),
    (["twin", "x", "--rate", "1"], "vermilion link, vermilion advise and vermilion atlas have it"),
    (
        ["compare", "varying-load", "--set", "flows.late.count=16,48"],
        "several values: --set flows.late.count=16 --set flows.late.count=48",
    ),
    (["run", "varying-load", "--plugin", "nowhere.py"], "a file that is there; this one is not"),
]


@pytest.mark.parametrize(("words", "answer"), NEARLY)
def test_a_near_miss_is_told_what_is_right(vermilion, words, answer):
    assert answer in refused(vermilion(*words))


def test_what_nobody_can_have_meant_gets_no_advice(vermilion):
    assert refused(vermilion("xyzzy")).endswith("see vermilion --help\n")
    assert "have it" not in refused(vermilion("run", "varying-load", "--xyzzy"))


class Typed:
    """What stands on the line before what is completed."""

    def __init__(self, **params):
        self.params = params


def test_a_shell_offers_what_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "varied.toml").touch()
    (tmp_path / "mine.py").touch()
    (tmp_path / "vast").mkdir()
    assert {"varying-load", "varied.toml"} <= set(completion.scenario_names("var"))
    assert "vast/" in completion.scenario_names("va")
    assert completion.plugin_files("m") == ["mine.py"]
    assert completion.discipline_names("fq") == ["fq", "fq-codel", "fq-pie"]
    assert "cubic" in completion.sender_names("c")
    assert "cisco" in completion.profile_names("c")
    assert "cma-es" in completion.search_names("")
    weight = "links.bottleneck.queue.weight"
    assert weight in completion.paths(Typed(scenarios=["varying-load"]), "links.b")
    assert completion.overrides(Typed(scenario="varying-load"), weight) == [f"{weight}="]


def test_a_mistake_on_the_line_offers_nothing():
    for typed in (Typed(), Typed(scenario="nowhere"), Typed(scenario=None), Typed(scenarios=[])):
        assert completion.paths(typed, "") == []
    assert completion.scenario_names("/nowhere/at/all") == []
