"""Networks written in Python say what TOML says, in the same words."""

from __future__ import annotations

import sys
import tomllib
from itertools import pairwise

import pytest

import vermilion
import vermilion.simulate
from vermilion.networks import (
    Network,
    access_network,
    dumbbell,
    fat_tree,
    parking_lot,
    star,
)
from vermilion.scenario import scenario_from_document, scenario_names
from vermilion.scenario.toml_text import toml_text


def two_queues() -> Network:
    """Something of everything."""
    net = Network("Two queues", duration="20 s", warm_up="5 s", settle="2 s")
    net.link(
        "first",
        rate="10 Mbit/s",
        delay="10 ms",
        queue={"discipline": "red", "limit": "100 packets", "weight": 0.002},
        loss={"model": "bernoulli", "probability": 0.001},
    )
    net.link("second", rate="20 Mbit/s", delay="5 ms", queue="codel")
    net.flows("all", count=4, path=["first", "second"], rtt="60 ms", sender="cubic")
    net.flows(
        "web",
        path="second",
        return_path="first",
        rtt=["40 ms", "80 ms"],
        count=2,
        sender={"congestion_control": "reno", "ecn": True},
        start="1 s .. 2 s",
        stop=None,
    )
    net.change(at="10 s", link="first", rate="8 Mbit/s", queue={"weight": 0.01})
    return net.tuning(
        parameters=["links.first.queue.weight"],
        objective={"name": "queue-deviation", "link": "first", "target": "30 packets"},
        space={"links.first.queue.weight": [0.001, 0.1]},
    )


def builders() -> dict[str, Network]:
    """One of each, with traffic."""
    common = {"duration": "3 s", "warm_up": "1 s"}
    tree = fat_tree(4, queue={"discipline": "step", "threshold": "20 packets"}, **common)
    for number in range(1, 9):
        tree.connect(
            f"pair{number}", f"host{number}", f"host{number + 8}", choice=number, sender="dctcp"
        )
    round_star = star(4, queue="fq-codel", **common)
    for number in (2, 3, 4):
        round_star.connect(
            f"to1from{number}", f"host{number}", "host1", sender="cubic", start="0 s .. 0.2 s"
        )
    homes = access_network(3, queue="fq-codel", shared_queue="red", **common)
    homes.connect("download", "server", "home1", sender="cubic", rtt="40 ms")
    homes.connect("upload", "home2", "server", sender="cubic")
    homes.connect("call", "home1", "home3", sender="reno")
    bell = dumbbell(queue="pie", **common)
    bell.flows("all", path="bottleneck", return_path="back", rtt="40 ms", sender="sack", count=3)
    return {
        "dumbbell": bell,
        "parking lot": parking_lot(3, queue="red", sender="newreno", **common),
        "star": round_star,
        "fat tree": tree,
        "access network": homes,
        "two queues": two_queues(),
    }


@pytest.mark.parametrize("name", builders())
def test_toml_reads_back_as_the_same_network(name):
    net = builders()[name]
    read = vermilion.parse_scenario(net.to_toml())
    assert read.core_json() == net.scenario().core_json()
    assert read.document == net.scenario().document == net.document
    assert read.to_toml() == net.to_toml()


@pytest.mark.parametrize("name", builders())
def test_builders_make_networks_that_run(name):
    result = vermilion.run(builders()[name].scenario())
    for group in result.groups:
        assert result.flows(group).total["goodput_bit_per_s"]["total"] > 0
    for link in result.links:
        assert 0 <= result.link(link).total["utilization"] <= 1.001


@pytest.mark.parametrize("name", scenario_names())
def test_every_shipped_scenario_can_be_written_in_python(name):
    scenario = vermilion.load_scenario(name)
    document = dict(scenario.document)
    net = Network(
        document.pop("title", ""),
        **{key: value for key, value in document.items() if not isinstance(value, dict | list)},
    )
    for link, table in document.get("links", {}).items():
        net.link(link, **table)
    for group, table in document.get("flows", {}).items():
        net.flows(group, **table)
    for table in document.get("changes", ()):
        net.change(**table)
    if "tuning" in document:
        net.tuning(**document["tuning"])
    assert net.scenario().core_json() == scenario.core_json()
    assert tomllib.loads(net.to_toml()) == tomllib.loads(toml_text(scenario.document))


BAD = {
    "a rate without a unit": lambda net: net.link("third", rate=10, delay="1 ms"),
    "no delay": lambda net: net.link("third", rate="1 Mbit/s"),
    "a misspelt key": lambda net: net.link("third", rate="1 Mbit/s", dealy="1 ms"),
    "an unknown discipline": lambda net: net.link(
        "third", rate="1 Mbit/s", delay="1 ms", queue="rde"
    ),
    "a parameter out of range": lambda net: net.link(
        "third", rate="1 Mbit/s", delay="1 ms", queue={"discipline": "red", "weight": 2}
    ),
    "a name with a dot": lambda net: net.link("a.b", rate="1 Mbit/s", delay="1 ms"),
    "an unknown sender": lambda net: net.flows("more", path="first", rtt="1 s", sender="cubik"),
    "no path": lambda net: net.flows("more", rtt="1 s", sender="cubic"),
    "an unknown link": lambda net: net.flows("more", path="thrid", rtt="1 s", sender="cubic"),
    "too short a round trip": lambda net: net.flows(
        "more", path="first", rtt="1 ms", sender="cubic"
    ),
    "a change of nothing": lambda net: net.change(at="10 s", link="first"),
    "a change too late": lambda net: net.change(at="100 s", link="first", rate="1 Mbit/s"),
    "a change of a parameter of another discipline": lambda net: net.change(
        at="1 s", link="second", queue={"weight": 0.1}
    ),
    "a misspelt change": lambda net: net.change(at="1 s", link="second", rat="1 Mbit/s"),
    "tuning of nothing": lambda net: net.tuning(parameters=[], objective="goodput"),
    "a misspelt key of its own": lambda _: Network("Two queues", duratoin="1 s"),
}


class Unchecked(Network):
    """Takes everything, so that the whole says what is wrong."""

    def _check(self, document):
        pass


@pytest.mark.parametrize("mistake", BAD)
def test_what_is_refused_is_refused_in_tomls_words(mistake):
    net = two_queues()
    before = net.to_toml()

    def make():
        BAD[mistake](net)
        net.scenario()

    with pytest.raises(vermilion.ScenarioError) as caught:
        make()
    loose = Unchecked("Two queues")
    loose._document = two_queues().document
    if mistake == "a misspelt key of its own":
        loose._document["duratoin"] = "1 s"
    else:
        BAD[mistake](loose)
    with pytest.raises(vermilion.ScenarioError) as told:
        scenario_from_document(tomllib.loads(loose.to_toml()), "Two queues")
    mine, theirs = str(caught.value), str(told.value)
    # Numbers of changes count those before.
    assert mine == theirs
    assert net.to_toml() in {before, loose.to_toml()}


def test_a_name_cannot_be_given_twice():
    net = two_queues()
    with pytest.raises(vermilion.ScenarioError, match=r'links: "first".*each name once'):
        net.link("first", rate="1 Mbit/s", delay="1 ms")
    with pytest.raises(vermilion.ScenarioError, match=r"the method Network\.link"):
        Network("x", links={})


def test_classes_stand_for_their_names():
    class Patient(vermilion.CongestionControl):
        """Adds half a packet in each round trip."""

        name = "patient"

        def on_ack(self, _ack, window):
            window.size += 1 if window.in_slow_start else 0.5 / window.size

        def on_loss(self, loss, _window):
            return loss.base / 2

    class Short(vermilion.Discipline):
        """Keeps at most thirty packets."""

        name = "short"

        def on_arrival(self, _packet, queue, _coin):
            verdicts = vermilion.Verdict
            return verdicts.ACCEPT if queue.packets < 30 else verdicts.OVERFLOW

    try:
        net = Network(duration="5 s").link("l", rate="5 Mbit/s", delay="5 ms", queue=Short)
        net.flows("all", path="l", rtt="30 ms", sender={"congestion_control": Patient}, count=4)
        first = vermilion.run(net.scenario())
        assert first.link("l").total["queue_packets"]["max"] == 30
        grid = vermilion.grid(
            net.scenario(), {"discipline": [Short, "red"], "sender": [Patient, "reno"]}
        )
        assert [*grid] == [
            "discipline=short, sender=patient",
            "discipline=short, sender=reno",
            "discipline=red, sender=patient",
            "discipline=red, sender=reno",
        ]
        factors = {"discipline": [Short, "red"], "sender": [Patient, "reno"]}
        swept = vermilion.sweep(net.scenario(), factors, seeds=2)
    finally:
        vermilion.unregister_congestion_control("patient")
        vermilion.unregister_discipline("short")
    rows = swept.rows()
    drops = {
        (row["discipline"], row["sender"], row["seed"]): row["value"]
        for row in rows
        if (row["kind"], row["metric"], row["phase"]) == ("link", "drops", 0)
    }
    assert len(drops) == 8
    assert drops["short", "patient", 1] == first.link("l").total["drops"]
    frame = swept.to_frame()
    assert frame.to_dict("records") == rows
    wide = swept.to_frame(["links.l.drops", "flows.all.jain_index"])
    assert [*wide.columns] == [
        "discipline",
        "sender",
        "seed",
        "links.l.drops",
        "flows.all.jain_index",
    ]
    assert len(wide) == 8
    assert wide["links.l.drops"].tolist() == [*drops.values()]
    with pytest.raises(vermilion.ScenarioError, match=r"derived from vermilion\.Discipline"):
        Network().link("l", rate="5 Mbit/s", delay="5 ms", queue=int)


def test_a_sweep_needs_no_pandas_for_its_rows(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    net = dumbbell(duration="2 s")
    net.flows("all", path="bottleneck", rtt="40 ms", sender="reno", count=2)
    factors = {"sender": ["reno", "cubic:hystart=false"], "flows.all.count": [1, 3]}
    swept = vermilion.sweep(net.scenario(), factors, seeds=[7])
    rows = swept.rows(["links.bottleneck.utilization"])
    assert [(row["sender"], row["flows.all.count"], row["seed"]) for row in rows] == [
        ("reno", 1, 7),
        ("reno", 3, 7),
        ("cubic:hystart=false", 1, 7),
        ("cubic:hystart=false", 3, 7),
    ]
    assert all(0 < row["links.bottleneck.utilization"] <= 1 for row in rows)
    with pytest.raises(vermilion.simulate.MissingPackageError):
        swept.to_frame()
    for metric in ("links.bottleneck.use", "links.nolink.utilization", "utilization"):
        with pytest.raises(vermilion.ScenarioError, match=f'metrics: "{metric}"'):
            swept.rows([metric])
    for values, words in (
        ({"sender": ["cubik"]}, 'sender: "cubik"'),
        ({"sender": ["cubic:hystart"]}, "path=value"),
        ({"sender": "reno"}, "a list of values"),
        ({"links.nolink.rate": ["1 Mbit/s"]}, "nolink"),
        ({"seed": [1]}, "the argument seeds"),
    ):
        with pytest.raises(vermilion.ScenarioError, match=words):
            vermilion.sweep(net.scenario(), values)


def test_a_value_that_is_there_twice_is_run_once():
    net = dumbbell(duration="2 s")
    net.flows("all", path="bottleneck", rtt="40 ms", sender="reno", count=2)
    limits = {"flows.all.start": [[0.0, 1.0], [0.0, 1.0]], "flows.all.count": [1, 3, 1]}
    swept = vermilion.sweep(net.scenario(), limits)
    assert [row["flows.all.count"] for row in swept.rows(["flows.all.jain_index"])] == [1, 3]
    assert len(vermilion.grid(net.scenario(), limits)) == 2
    ecn = {"flows.all.sender.ecn": [True, False, True]}
    assert [
        row["flows.all.sender.ecn"]
        for row in vermilion.sweep(net.scenario(), ecn).rows(["flows.all.jain_index"])
    ] == [True, False]


def test_what_two_senders_have_in_common_is_kept():
    net = dumbbell(duration="2 s")
    sender = {"congestion_control": "cubic", "ecn": True, "cubic_scaling": 0.3}
    net.flows("all", path="bottleneck", rtt="40 ms", sender=sender)
    net.flows("noise", path="bottleneck", traffic={"kind": "poisson", "rate": "1 Mbit/s"})
    (variant,) = vermilion.grid(net.scenario(), {"sender": ["reno"]}).values()
    assert variant.document["flows"]["all"]["sender"] == {"congestion_control": "reno", "ecn": True}
    assert "sender" not in variant.document["flows"]["noise"]


def test_a_fat_tree_has_its_switches_and_its_paths():
    for ports in (2, 4, 6):
        tree = fat_tree(ports)
        assert len(tree.hosts) == ports**3 // 4
        # Each of three layers has as many cables as there are hosts, each of two directions.
        assert len(tree.document["links"]) == 6 * len(tree.hosts)
        last = tree.hosts[-1]
        paths = {tuple(tree.path("host1", last, choice)) for choice in range(ports**2)}
        assert len(paths) == (ports // 2) ** 2
        for path in paths:
            ends = [link.split("-") for link in path]
            assert ends[0][0] == "host1"
            assert ends[-1][1] == last
            assert all(first[1] == second[0] for first, second in pairwise(ends))
            assert set(path) <= set(tree.document["links"])
            back = tree.path(last, "host1")
            assert len(back) == len(path) == 6
    tree = fat_tree(4)
    assert tree.path("host1", "host2") == ["host1-edge1", "edge1-host2"]
    assert tree.path("host1", "host4", 1) == [
        "host1-edge1",
        "edge1-aggregation2",
        "aggregation2-edge2",
        "edge2-host4",
    ]


def test_a_round_trip_is_that_of_the_links_unless_it_is_given():
    homes = access_network(2)
    homes.connect("a", "server", "home1", sender="reno")
    homes.connect("b", "home1", "home2", sender="reno")
    homes.connect("c", "home1", "home2", sender="reno", rtt="50 ms")
    document = homes.document["flows"]
    assert document["a"]["rtt"] == "0.02 s"
    assert document["b"]["rtt"] == "0.016 s"
    assert document["c"]["rtt"] == "50 ms"
    assert document["a"]["path"] == ["shared-down", "down-1"]
    assert document["a"]["return_path"] == ["up-1", "shared-up"]
    assert document["b"]["path"] == ["up-1", "down-2"]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: parking_lot(0), "hops: 0 is not accepted; expected a whole number from 1"),
        (lambda: star(1), "hosts: 1 is not accepted"),
        (lambda: fat_tree(3), "ports: 3 is not accepted; expected an even number"),
        (lambda: fat_tree(32), "ports: 32 is not accepted"),
        (lambda: access_network(2.5), "homes: 2.5 is not accepted"),
        (lambda: star(4).path("host1", "host9"), 'target: "host9" is not accepted.*did you mean'),
        (lambda: star(4).path("host1", "host1"), "another host than the source"),
        (lambda: parking_lot(2, delay="1 packet"), r"links\.hop1\.delay"),
    ],
)
def test_builders_refuse_nonsense(build, words):
    with pytest.raises(vermilion.ScenarioError, match=words):
        build()
