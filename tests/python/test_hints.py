"""What a message says beyond "no": the name, the quotes or the brackets that are meant."""

import json

import pytest

import vermilion as package
from test_cli import refused, vermilion
from vermilion.cli.tables import encodable
from vermilion.objectives import OBJECTIVES
from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.simulate.sweeps import make_variants
from vermilion.simulate.tables import Section

__all__ = ["vermilion"]

NETWORK = """
duration = "10 s"
[links.uplink]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail", limit = "100 packets" }
[flows.uploads]
path = ["uplink"]
rtt = "40 ms"
sender = "cubic"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def message(before, after):
    assert before in NETWORK
    with pytest.raises(ScenarioError) as error:
        parse_scenario(NETWORK.replace(before, after))
    return str(error.value)


@pytest.mark.parametrize("typed", ["my-network", "my-network.tml"])
def test_a_file_that_is_nearly_named_is_offered(here, typed):
    (here / "my-network.toml").write_text(NETWORK)
    with pytest.raises(ScenarioError, match=r'\(did you mean "my-network\.toml"\?\)'):
        load_scenario(typed)
    (here / "deep").mkdir()
    (here / "my-network.toml").rename(here / "deep" / "my-network.toml")
    with pytest.raises(ScenarioError, match=r'\(did you mean "deep/my-network\.toml"\?\)'):
        load_scenario(f"deep/{typed}")


@pytest.mark.parametrize(
    ("before", "after", "meant"),
    [
        ('rate = "10 Mbit/s"', "rate = 10 Mbit/s", 'rate = "10 Mbit/s"'),
        ('duration = "10 s"', "duration = 10s # long", 'duration = "10s"'),
        ('limit = "100 packets"', "limit = 100 packets", 'limit = "100 packets"'),
    ],
)
def test_a_number_with_a_unit_wants_quotes(before, after, meant):
    said = message(before, after)
    assert "is not valid TOML" in said
    assert f"a number with a unit is written in quotes: {meant}" in said


def test_other_mistakes_of_toml_get_no_such_hint():
    assert "in quotes" not in message('rate = "10 Mbit/s"', "rate = 10 20")


def test_one_link_still_wants_brackets():
    assert message('["uplink"]', '"uplink"').endswith('expected a list, like ["uplink"]')


def test_a_sender_under_a_wrong_key_is_recognised():
    said = message('sender = "cubic"', 'sender = { name = "prague" }')
    assert (
        'congestion_control is missing; expected the name of a sender (did you mean it by "name"?)'
        in said
    )
    assert "did you mean" not in message('sender = "cubic"', "sender = { name = [1] }")


def test_step_marking_is_step():
    assert message("drop-tail", "step-marking").endswith('(here it is called "step")')


def test_a_scenario_that_is_nearly_named_does_not_drown_in_a_list(vermilion):
    said = refused(vermilion("scenarios", "varying"))
    assert said.rstrip().endswith('(did you mean "varying-load"?)')


def test_an_atlas_without_a_rate_names_the_option(vermilion):
    assert '--rate "5 Mbit/s"' in refused(vermilion("atlas"))


def test_an_objective_is_shown_alone(vermilion):
    code, text, _ = vermilion("objectives", "knee")
    assert code == 0
    assert text.split()[0] == "knee"
    assert "goodput-variation" not in text
    assert json.loads(vermilion("objectives", "knee", "--json=-")[1])["name"] == "knee"
    assert '(did you mean "knee"?)' in refused(vermilion("objectives", "kne"))
    for name in OBJECTIVES:
        assert vermilion("objectives", name)[0] == 0


def test_a_comparison_says_that_the_queue_as_written_is_missing():
    remark = "the queue as written (drop-tail) is not among them"
    network = parse_scenario(NETWORK)
    assert any(remark in note for note in make_variants(network, ["pie"])[1])
    for named in (["pie", "drop-tail"], ["drop-tail:limit=5 packets"], ["all"], []):
        assert not any("as written" in note for note in make_variants(network, named)[1])
    assert any(remark in note for note in package.compare(network, ["pie"], seeds=2).notes)


@pytest.mark.parametrize("field", ["disciplines", "settings"])
def test_one_text_in_place_of_a_list_is_refused_as_a_whole(field):
    with pytest.raises(ScenarioError, match=rf'{field}: "red" .* like \["red"\]'):
        package.compare("varying-load", **{field: "red"})


def test_a_result_prints_as_tables():
    lines = str(package.run(parse_scenario(NETWORK))).splitlines()
    assert lines[0].endswith("seed 1")
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:2] == ["utilisation", "(%)"] for line in lines)


def test_signs_that_the_output_does_not_have_are_written_out():
    section = Section("whole run", [("drops", ["1.0 ± 0.2"])])
    assert encodable([section], "ascii")[0].rows == [("drops", ["1.0 +- 0.2"])]
    assert encodable([section], "utf-8") == [section]


@pytest.mark.parametrize("discipline", ["step", "wred"])
def test_a_queue_that_drops_what_it_cannot_mark_says_so_before_the_run(discipline):
    network = package.Network("Two ways", duration="1 s")
    for name in ("there", "back"):
        network.link(name, rate="10 Mbit/s", delay="1 ms", queue={"discipline": discipline})
    ways = {"path": ["there"], "return_path": ["back"], "rtt": "10 ms"}
    network.flows("one", sender="dctcp", **ways)
    assert network.scenario().notes == []
    network.flows("other", sender="dctcp", path=["back"], return_path=["there"], rtt="10 ms")
    notes = network.scenario().notes
    assert [note.partition(" ")[0] for note in notes] == ["links.there.queue", "links.back.queue"]
    assert "acknowledgements of flows.other" in notes[0]
    network.flows("plain", sender="reno", path=["there"], rtt="10 ms")
    assert "flows.plain (without ECN)" in network.scenario().notes[0]
