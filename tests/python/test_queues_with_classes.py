"""A queue with classes is described, searched, changed and refused like any other."""

import pytest

import vermilion
from vermilion.scenario.codepoints import codepoint
from vermilion.scenario.core_scenario import CoreScenario

TEXT = """
title = "Two classes"
duration = "4 s"
warm_up = "1 s"
[links.l]
rate = "10 Mbit/s"
delay = "1 ms"
[links.l.queue]
discipline = "drr"
quantum = "1000 bytes"
classes = [
    { match = ["ef", 48], weight = 3, queue = { discipline = "codel", target = "3 ms" } },
    { queue = { discipline = "strict", classes = [
        { match = ["cs1"], queue = { discipline = "drop-tail", limit = "50 packets" } },
        { queue = { discipline = "drop-tail", limit = "20 packets" } },
    ] } },
]
[flows.expedited]
path = ["l"]
dscp = "ef"
traffic = { kind = "constant-rate", rate = "20 Mbit/s" }
[flows.others]
path = ["l"]
traffic = { kind = "constant-rate", rate = "20 Mbit/s" }
"""


def goodput(result, name):
    return result.flows(name).total["goodput_bit_per_s"]["total"] / 1e6


def test_classes_have_their_parts_of_the_link():
    result = vermilion.run(vermilion.parse_scenario(TEXT))
    assert goodput(result, "expedited") == pytest.approx(7.5, rel=0.02)
    assert goodput(result, "others") == pytest.approx(2.5, rel=0.02)


def test_a_parameter_of_a_class_has_a_path_and_a_weight_is_one():
    scenario = vermilion.parse_scenario(TEXT)
    table = scenario.links["l"].queue.algorithm.parameters
    assert table["classes.0.queue.target"].unit == "seconds"
    assert scenario.links["l"].queue.parameters["classes.1.queue.classes.1.queue.limit"] == 20
    changed = scenario.with_values({"links.l.queue.classes.0.weight": 1.0})
    assert goodput(vermilion.run(changed), "expedited") == pytest.approx(5.0, rel=0.02)


def test_a_change_reaches_a_class():
    change = """
[[changes]]
at = "2 s"
link = "l"
queue = { "classes.0.weight" = 1 }
"""
    result = vermilion.run(vermilion.parse_scenario(TEXT + change))
    first, second = result.flows("expedited").phases
    rates = [each["goodput_bit_per_s"]["total"] / 1e6 for each in (first, second)]
    assert rates == pytest.approx([7.5, 5.0], rel=0.02)


def test_a_space_can_name_a_parameter_of_a_class():
    table = """
[tuning]
parameters = ["links.l.queue.classes.0.queue.target"]
objective = { name = "queue-deviation", link = "l", target = "10 packets" }
"""
    scenario = vermilion.parse_scenario(TEXT + table)
    assert scenario.tuning.parameters == ("links.l.queue.classes.0.queue.target",)


def test_what_the_core_reads_is_read_again():
    core = vermilion.parse_scenario(TEXT).core_json()
    assert CoreScenario.from_json(core).to_json() == core


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('match = ["ef", 48]', 'match = ["eff"]', "links.l.queue.classes.0.match"),
        ('match = ["ef", 48]', 'match = ["ef", 46]', "links.l.queue.classes.0.match"),
        ('match = ["ef", 48], ', "", "links.l.queue.classes"),
        ("weight = 3", "weight = 0", "links.l.queue.classes.0.weight"),
        ("weight = 3", "wait = 3", "links.l.queue.classes.0.wait"),
        ('"codel"', '"codle"', "links.l.queue.classes.0.queue.discipline"),
        ('target = "3 ms"', 'target = "3 m"', "links.l.queue.classes.0.queue.target"),
        ('"drr"', '"codel"', "links.l.queue.discipline"),
        ('dscp = "ef"', 'dscp = "af99"', "flows.expedited.dscp"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(old, new, field):
    with pytest.raises(vermilion.ScenarioError) as error:
        vermilion.parse_scenario(TEXT.replace(old, new))
    assert error.value.field == field


def test_codepoints_have_names():
    assert [codepoint(name) for name in ("EF", "af41", "CS1", "le", 63)] == [46, 34, 8, 1, 63]
