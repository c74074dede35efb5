"""Values can be changed by path: in the shell with texts, in Python with SI numbers."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_scenario_errors import GOOD
from vermilion.scenario import ScenarioError, load_scenario, parse_scenario
from vermilion.scenario.other_values import with_discipline

WEIGHT = "links.bottleneck.queue.weight"
LIMIT = "links.bottleneck.queue.limit"


def overridden(*overrides):
    return load_scenario("varying-load", overrides)


def test_a_value_needs_no_quotes_within_the_shells():
    assert overridden("links.bottleneck.rate=8 Mbit/s").get("links.bottleneck.rate") == 8e6
    assert overridden('links.bottleneck.rate="8 Mbit/s"').get("links.bottleneck.rate") == 8e6
    assert overridden(f"{WEIGHT}=0.01").get(WEIGHT) == 0.01
    assert overridden("flows.late.start=30 s .. 31 s").get("flows.late.start") == (30.0, 31.0)


def test_what_the_file_leaves_out_can_be_set_too():
    assert overridden("links.bottleneck.queue.gentle=true").get("links.bottleneck.queue.gentle")
    assert overridden("settle=2 s").settle == 2.0
    assert overridden("flows.early.traffic.kind=bulk").get("flows.early.traffic.kind") == "bulk"
    assert overridden(f"tuning.space.{WEIGHT}=[0.001, 0.01]").tuning.space == {
        WEIGHT: [0.001, 0.01]
    }


def test_a_sender_written_as_one_word_takes_parameters():
    scenario = overridden("flows.early.sender.ecn=true")
    assert scenario.flows["early"].sender.congestion_control == "newreno"
    assert scenario.get("flows.early.sender.ecn") is True


def test_a_star_stands_for_any_letters_of_a_name():
    scenario = overridden("flows.*.rtt=50 ms", "flows.l*.count=8", "links.*.rate=5 Mbit/s")
    assert [group.count for group in scenario.flows.values()] == [16, 8]
    assert {group["rtt"] for group in scenario.document["flows"].values()} == {"50 ms"}
    assert scenario.links["bottleneck"].rate == 5e6
    with pytest.raises(ScenarioError, match='in flows: one of "early", "late"'):
        overridden("flows.x*.count=2")
    # Elsewhere, and below the name, it is a letter like any other.
    for path in ("flows.late.*=2", "*.late.count=2", "changes.*.rate=1 Mbit/s"):
        with pytest.raises(ScenarioError):
            overridden(path)


MIXED = """
duration = "10 s"
[links.a]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { discipline = "red", limit = "60 packets" }
[links.b]
rate = "8 Mbit/s"
delay = "5 ms"
queue = { discipline = "codel" }
[flows.bulk]
path = ["a", "b"]
rtt = "60 ms"
sender = "cubic"
[flows.web]
path = ["a"]
rtt = "60 ms"
sender = { congestion_control = "newreno", ecn = true }
traffic = { kind = "web", mean_gap = "8 s", size = "20 kB" }
[flows.on-off]
path = ["a"]
traffic = { kind = "on-off", rate = "1 Mbit/s", on = "1 s", off = "1 s" }
[flows.udp]
path = ["b"]
traffic = { kind = "poisson", rate = "1 Mbit/s" }
"""


@pytest.fixture
def mixed(tmp_path):
    path = tmp_path / "mixed.toml"
    path.write_text(MIXED)
    return lambda *overrides: load_scenario(path, overrides)


def changed(scenario):
    """The links and groups that are not as they are written."""
    written = parse_scenario(MIXED)
    return {
        name
        for table in ("links", "flows")
        for name, entry in getattr(scenario, table).items()
        if entry != getattr(written, table)[name]
    }


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("flows.*.traffic.mean_gap=100 ms", {"web"}),
        ("flows.*.traffic.off=2 s", {"on-off"}),
        ("flows.*.traffic.rate=2 Mbit/s", {"on-off", "udp"}),
        ("flows.*.traffic.packet_size=exponential", {"udp"}),
        ("flows.*.sender=bbr", {"bulk", "web"}),
        ("flows.*.sender.option_set=linux", {"bulk", "web"}),
        ("flows.*.sender.cubic_scaling=0.3", {"bulk"}),
        ("flows.*.rtt=80 ms", {"bulk", "web", "on-off", "udp"}),
        ("links.*.queue.interval=50 ms", {"b"}),
        ("links.*.queue.weight=0.01", {"a"}),
        ("links.*.queue.limit=50 packets", {"a", "b"}),
    ],
)
def test_a_star_sets_what_has_such_a_key_and_leaves_the_others(mixed, override, meant):
    assert changed(mixed(override)) == meant


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("flows.*.traffic.mean_gapp=100 ms", "in flows.bulk there is no mean_gapp"),
        ("flows.*.traffic.file=x.csv", "in flows.bulk there is no file"),
        ("flows.u*.sender=bbr", "in flows.udp there is no sender, for its traffic is like"),
        ("links.*.queue.waight=0.1", 'in links.a red has one of .* (did you mean "weight"'),
        ("flows.*.sender.cubic_sealing=0.3", 'did you mean "cubic_scaling"'),
    ],
)
def test_a_star_that_fits_none_is_refused_with_why_the_first_does_not(mixed, override, words):
    with pytest.raises(ScenarioError) as refused:
        mixed(override)
    first, _, last = words.partition(" .* ")
    assert first in str(refused.value)
    assert last in str(refused.value)


@pytest.mark.parametrize(
    "override",
    [
        "flows.*.traffic.mean_gap=soon",
        "flows.*.sender=cubik",
        "flows.*.sender.ecn=perhaps",
        "links.*.queue.interval=-1 s",
        "links.*.queue=redd",
        "flows.*.cuont=3",
    ],
)
def test_a_wrong_value_or_key_is_refused_with_a_star_too(mixed, override):
    with pytest.raises(ScenarioError):
        mixed(override)


def test_the_last_of_several_overrides_counts():
    assert overridden("duration=40 s", "duration=50 s").duration == 50.0


def test_a_text_with_a_line_break_adds_no_keys():
    assert overridden('title="x"\nduration="1 s"').duration == 80.0


@pytest.mark.parametrize(
    ("override", "accepted"),
    [
        ("links.botleneck.rate=8 Mbit/s", '"bottleneck"'),
        ("links.bottleneck.rat=8 Mbit/s", 'did you mean "rate"?'),
        ("links.bottleneck.queue.waight=0.1", 'did you mean "weight"?'),
        ("links.bottleneck.queue.weight.x=0.1", '"weight"'),
        ("links.other={}", '"bottleneck"'),
        ("flows.later.count=3", 'did you mean "late"?'),
        ("changes.0.rate=8 Mbit/s", '"links"'),
        ("nonsense=1", '"duration"'),
        ("no equals sign", "path=value"),
        ("=3", "path=value"),
        ("links.bottleneck.rate=8", '"10 Mbit/s"'),
        (f"{WEIGHT}=[", "above 0 up to 1"),
    ],
)
def test_an_override_that_leads_nowhere_is_refused_with_what_exists(override, accepted):
    with pytest.raises(ScenarioError) as caught:
        overridden(override)
    assert accepted in str(caught.value)
    assert str(caught.value).startswith("varying-load: ")


@given(st.text(), st.text())
def test_any_override_is_applied_or_refused(path, value):
    message = ""
    try:
        overridden(f"{path}={value}")
    except ScenarioError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1


def test_a_copy_has_other_values_and_the_original_its_own():
    scenario = parse_scenario(GOOD)
    changed = scenario.with_values(
        {
            WEIGHT: 0.01,
            "links.bottleneck.rate": 9e6,
            "flows.early.count": 3,
            "flows.early.start": (0.0, 2.0),
            "flows.late.sender.ecn": False,
            "changes.0.queue.limit": 50,
            "duration": 70.5,
        }
    )
    assert changed.get(WEIGHT) == 0.01
    assert changed.get("links.bottleneck.rate") == 9e6
    assert changed.get("flows.early.count") == 3
    assert changed.get("flows.early.start") == (0.0, 2.0)
    assert changed.get("flows.late.sender.ecn") is False
    assert json.loads(changed.core_json())["changes"][0]["queue"] == {"limit": 50}
    assert changed.duration == 70.5
    assert scenario.core_json() == parse_scenario(GOOD).core_json()


def test_none_is_automatic():
    scenario = parse_scenario(GOOD.replace('"red"', '"ns2-red"'))
    assert scenario.with_values({WEIGHT: None}).get(WEIGHT) is None


@given(st.floats(min_value=0, max_value=1, exclude_min=True))
def test_a_number_arrives_unchanged(weight):
    scenario = parse_scenario(GOOD).with_values({WEIGHT: weight})
    assert json.loads(scenario.core_json())["links"][0]["queue"]["parameters"]["weight"] == weight


@pytest.mark.parametrize("value", [0.0, -1.0, 2.0, math.nan, math.inf, "x", True])
def test_a_copy_is_checked_like_any_scenario(value):
    with pytest.raises(ScenarioError, match=r"queue\.weight"):
        parse_scenario(GOOD).with_values({WEIGHT: value})


DISCIPLINE = "links.bottleneck.queue.discipline"


def test_a_discipline_among_the_values_takes_over_what_it_knows():
    red = load_scenario("varying-load")
    codel = red.with_values({DISCIPLINE: "codel"})
    assert codel.document["links"]["bottleneck"]["queue"] == {
        "discipline": "codel",
        "limit": "100 packets",
    }
    assert codel.tuning is None
    assert red.links["bottleneck"].queue.discipline == "red"
    assert red.with_values({DISCIPLINE: "red"}).core_json() == red.core_json()


@pytest.mark.parametrize(
    "values",
    [
        {DISCIPLINE: "codel:target=10 ms, limit=50 packets"},
        {DISCIPLINE: "codel", "links.bottleneck.queue.target": 0.01, LIMIT: 50},
        # A parameter may stand before the discipline that it belongs to.
        {"links.bottleneck.queue.target": "10 ms", LIMIT: "50 packets", DISCIPLINE: "codel"},
    ],
)
def test_a_discipline_comes_with_parameters_of_its_own(values):
    codel = load_scenario("varying-load").with_values(values)
    assert codel.links["bottleneck"].queue.discipline == "codel"
    assert codel.get("links.bottleneck.queue.target") == 0.01
    assert codel.get(LIMIT) == 50


def test_only_the_link_that_is_named_gets_the_discipline():
    parking_lot = load_scenario("tcpeval-multiple-bottlenecks")
    first, *others = parking_lot.links
    changed = parking_lot.with_values({f"links.{first}.queue.discipline": "codel"})
    assert changed.links[first].queue.discipline == "codel"
    assert [changed.links[name] for name in others] == [parking_lot.links[name] for name in others]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({DISCIPLINE: "codl"}, rf'{DISCIPLINE}: "codl" .*did you mean "codel"'),
        ({DISCIPLINE: 5}, rf"{DISCIPLINE}: 5 is not accepted"),
        ({DISCIPLINE: "codel:taget=5 ms"}, r'queue\.taget: .*did you mean "target"'),
        ({DISCIPLINE: "codel:target"}, "path=value"),
        ({DISCIPLINE: "codel", WEIGHT: 0.01}, r"queue\.weight: 0.01 .* a parameter of codel"),
        ({"links.x.queue.discipline": "codel"}, 'in links: "bottleneck"'),
    ],
)
def test_a_discipline_that_cannot_be_is_refused_in_a_line(values, words):
    with pytest.raises(ScenarioError, match=words) as refusal:
        load_scenario("varying-load").with_values(values)
    assert "\n" not in str(refusal.value)


def test_another_discipline_takes_over_what_it_knows():
    scenario = load_scenario("varying-load")
    plain, [report] = with_discipline(scenario, "drop-tail")
    assert plain.get("links.bottleneck.queue.limit") == 100
    assert plain.tuning is None
    assert report.kept == ("limit",)
    assert "weight" in report.left
    same, reports = with_discipline(scenario, "red")
    assert same.core_json() == scenario.core_json()
    assert reports == []
    with pytest.raises(ScenarioError, match='did you mean "red"'):
        with_discipline(scenario, "redd")
