"""Whatever is wrong with a scenario ends in one message: field, value, what is accepted."""

import copy
import os
import pickle
from pathlib import Path

import pytest

from vermilion.scenario import ScenarioError, load_scenario, parse_scenario

GOOD = """
title = "a good one"
duration = "80 s"
warm_up = "5 s"

[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
discipline = "red"
limit = "100 packets"
min_threshold = "15 packets"
max_threshold = "45 packets"
max_probability = 0.1
weight = 0.002

[flows.early]
count = 16
path = ["bottleneck"]
rtt = "28 ms"
sender = "reno"
start = "0 s .. 1 s"

[flows.late]
count = 48
path = ["bottleneck"]
rtt = "28 ms"
sender = { congestion_control = "newreno", ecn = true }
start = "20 s .. 21 s"

[[changes]]
at = "60 s"
link = "bottleneck"
rate = "8 Mbit/s"
queue = { limit = "60 packets" }

[tuning]
parameters = ["links.bottleneck.queue.weight", "links.bottleneck.queue.min_threshold"]
objective = { name = "queue-deviation", link = "bottleneck", target = "30 packets" }
constraints = ["links.bottleneck.utilization >= 0.95"]
[tuning.space]
"links.bottleneck.queue.weight" = [1e-4, 1e-1]
"""

# What is replaced, what takes its place, the field that the message must name, and a word of
# what it must say is accepted.
MISTAKES = {
    "a missing link": (
        'path = ["bottleneck"]',
        'path = ["botleneck"]',
        "flows.early.path",
        '"bottleneck"',
    ),
    "a negative rate": ('"10 Mbit/s"', '"-3 Mbit/s"', "links.bottleneck.rate", "from 1 bit/s"),
    "a rate of nothing": ('"10 Mbit/s"', '"0 Mbit/s"', "links.bottleneck.rate", "from 1 bit/s"),
    "an unknown unit": ('"10 Mbit/s"', '"10 Mfoo/s"', "links.bottleneck.rate", '"10 Mbit/s"'),
    "a missing unit": ('"10 Mbit/s"', "10", "links.bottleneck.rate", '"10 Mbit/s"'),
    "a rate that overflows": (
        '"10 Mbit/s"',
        '"1e30 Mbit/s"',
        "links.bottleneck.rate",
        "to 10 Tbit/s",
    ),
    "a rate that is NaN": ('"10 Mbit/s"', "nan", "links.bottleneck.rate", "a rate"),
    "no rate": ('rate = "10 Mbit/s"', "", "links.bottleneck.rate", "a rate"),
    "a queue's key beside it": (
        'rate = "10',
        'limit = "9 packets"\nrate = "10',
        "links.bottleneck.limit",
        '; "limit" goes into links.bottleneck.queue',
    ),
    "a sender's key beside it": (
        'sender = "reno"',
        'sender = "reno"\noption_set = "linux"',
        "flows.early.option_set",
        '; "option_set" goes into flows.early.sender',
    ),
    "a traffic's key beside it": (
        'sender = "reno"',
        'sender = "reno"\nmean_gap = "1 s"',
        "flows.early.mean_gap",
        '; "mean_gap" goes into flows.early.traffic',
    ),
    "a link's key beside all links": (
        'duration = "80',
        'rate = "1 Mbit/s"\nduration = "80',
        "rate",
        '; "rate" goes into links.NAME',
    ),
    "a misspelt key": ('rate = "10', 'rat = "10', "links.bottleneck.rat", 'did you mean "rate"?'),
    "thresholds the wrong way round": (
        'min_threshold = "15 packets"',
        'min_threshold = "50 packets"',
        "links.bottleneck.queue.max_threshold",
        "above min_threshold, which is 50 packets",
    ),
    "equal thresholds": (
        'min_threshold = "15 packets"',
        'min_threshold = "45 packets"',
        "links.bottleneck.queue.max_threshold",
        "above min_threshold",
    ),
    "a NaN": ("weight = 0.002", "weight = nan", "links.bottleneck.queue.weight", "above 0 up to 1"),
    "an infinity": (
        "weight = 0.002",
        "weight = inf",
        "links.bottleneck.queue.weight",
        "above 0 up to 1",
    ),
    "a weight of nothing": (
        "weight = 0.002",
        "weight = 0",
        "links.bottleneck.queue.weight",
        "above 0",
    ),
    "a switch as a weight": (
        "weight = 0.002",
        "weight = true",
        "links.bottleneck.queue.weight",
        "a number",
    ),
    "a number as a switch": (
        "weight = 0.002",
        "gentle = 1",
        "links.bottleneck.queue.gentle",
        "true or false",
    ),
    "no automatic weight": (
        "0.002",
        '"automatic"',
        "links.bottleneck.queue.weight",
        "a number above 0",
    ),
    "half a packet": ('"100 packets"', '"10.5 packets"', "links.bottleneck.queue.limit", "whole"),
    "packets in bytes": (
        '"100 packets"',
        '"100 kB"',
        "links.bottleneck.queue.limit",
        '"100 packets"',
    ),
    "an unknown parameter": (
        "weight =",
        "wait =",
        "links.bottleneck.queue.wait",
        'did you mean "weight"?',
    ),
    "an unknown discipline": (
        '"red"',
        '"redd"',
        "links.bottleneck.queue.discipline",
        'did you mean "red"?',
    ),
    "no discipline": ('discipline = "red"', "", "links.bottleneck.queue.discipline", "discipline"),
    "10^12 flows": ("count = 16", "count = 1000000000000", "flows.early.count", "to 1000000"),
    "too many flows together": ("count = 16", "count = 999_999", "flows", "1,000,000 flows in all"),
    "no flows": ("count = 16", "count = 0", "flows.early.count", "from 1"),
    "half a flow": ("count = 16", "count = 1.5", "flows.early.count", "a whole number"),
    "a digit too many": ("count = 16", f"count = {'9' * 5000}", "", "TOML"),
    "a path that is no list": (
        'path = ["bottleneck"]',
        'path = "bottleneck"',
        "flows.early.path",
        "a list",
    ),
    "an empty path": ('path = ["bottleneck"]', "path = []", "flows.early.path", "at least one"),
    "a circle": (
        'path = ["bottleneck"]',
        'path = ["bottleneck", "bottleneck"]',
        "flows.early.path",
        "once",
    ),
    "an unknown sender": ('"reno"', '"renoo"', "flows.early.sender", 'did you mean "reno"?'),
    "no sender": ('sender = "reno"', "", "flows.early.sender", '"newreno"'),
    "an unknown sender parameter": (
        "ecn = true",
        "enc = true",
        "flows.late.sender.enc",
        'mean "ecn"?',
    ),
    "a round trip too short": ('rtt = "28 ms"', 'rtt = "5 ms"', "flows.early.rtt", "at least"),
    "no round trip": ('rtt = "28 ms"', "", "flows.early.rtt", "a time"),
    "a start after its end": (
        '"0 s .. 1 s"',
        '"3 s .. 1 s"',
        "flows.early.start",
        "earlier end first",
    ),
    "a start after the end of all": (
        '"0 s .. 1 s"',
        '"90 s"',
        "flows.early.start",
        "within the duration",
    ),
    "a stop before the start": (
        '"0 s .. 1 s"',
        '"5 s"\nstop = "3 s"',
        "flows.early.stop",
        "last start",
    ),
    "unknown traffic": ('sender = "reno"', 'traffic = "wbe"', "flows.early.traffic", '"poisson"'),
    "traffic without a rate": (
        'sender = "reno"',
        'traffic = "poisson"',
        "flows.early.traffic",
        "rate =",
    ),
    "a sender of open-loop traffic": (
        'sender = "reno"',
        'sender = "reno"\ntraffic = { kind = "poisson", rate = "1 Mbit/s" }',
        "flows.early.sender",
        "no sender",
    ),
    "headers as large as packets": (
        'sender = "reno"',
        'sender = "reno"\nheader_size = "1000 bytes"',
        "flows.early.header_size",
        "below packet_size",
    ),
    "an endless duration": ('"80 s"', '"1e400 s"', "duration", "to 1000000 s"),
    "a date as a duration": ('"80 s"', "1979-05-27", "duration", "a time"),
    "a misspelt duration": ('duration = "80', 'durration = "80', "durration", 'mean "duration"?'),
    "a warm-up without end": ('"5 s"', '"80 s"', "warm_up", "below the duration"),
    "a change too late": ('at = "60 s"', 'at = "80 s"', "changes.0.at", "within the duration"),
    "a change on no link": (
        'link = "bottleneck"\nrate',
        'link = "x"\nrate',
        "changes.0.link",
        '"bottleneck"',
    ),
    "a change of no parameter": (
        '{ limit = "60',
        '{ lmit = "60',
        "changes.0.queue.lmit",
        'mean "limit"?',
    ),
    "a change that breaks an order": (
        '{ limit = "60 packets" }',
        '{ min_threshold = "45 packets" }',
        "changes.0.queue.max_threshold",
        "above min_threshold",
    ),
    "a change of discipline": (
        '{ limit = "60',
        '{ discipline = "red", limit = "60',
        "changes.0.queue.discipline",
        "stays",
    ),
    "a change of nothing": (
        'rate = "8 Mbit/s"\nqueue = { limit = "60 packets" }',
        "",
        "changes.0",
        "a rate, a delay, a loss or a queue",
    ),
    "tuning what does not exist": (
        'weight", "links',
        'weigth", "links',
        "tuning.parameters",
        'mean "weight"?',
    ),
    "tuning a choice of names": (
        '"links.bottleneck.queue.weight", "',
        '"flows.early.sender.loss_window", "',
        "tuning.parameters",
        "a number or a switch",
    ),
    "an objective on no link": (
        'link = "bottleneck", t',
        'link = "x", t',
        "tuning.objective.link",
        '"bottleneck"',
    ),
    "a target without unit": ('"30 packets"', "30", "tuning.objective.target", '"100 packets"'),
    "a box the wrong way round": (
        "[1e-4, 1e-1]",
        "[1e-1, 1e-4]",
        "tuning.space.links.bottleneck.queue.weight",
        "lower",
    ),
    "a box of one end": (
        "[1e-4, 1e-1]",
        "0.1",
        "tuning.space.links.bottleneck.queue.weight",
        "lower",
    ),
    "a name with a blank": ("[flows.late]", '[flows."l ate"]', "flows", "letters, digits"),
    "links that are no table": ("[links.bottleneck]", "[links]", "links.rate", "a table"),
    "broken TOML": ("[flows.early]", "[flows.early", "", "TOML"),
    "nesting without end": ("count = 16", f"count = {'[' * 5000}", "", "scenario in TOML"),
}


def refusal(text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "mine.toml")
    return caught.value


def test_the_scenario_that_the_mistakes_are_made_in_is_good():
    assert parse_scenario(GOOD).title == "a good one"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_what_would_be_accepted(mistake):
    before, after, field, accepted = MISTAKES[mistake]
    assert before in GOOD
    error = refusal(GOOD.replace(before, after, 1))
    message = str(error)
    assert error.field == field
    assert accepted in error.accepted
    assert message.startswith("mine.toml: ")
    assert field in message
    assert "expected" in message
    assert len(message.splitlines()) == 1


def test_a_key_that_no_table_has_is_sent_nowhere():
    error = refusal(GOOD.replace('sender = "reno"', 'sender = "reno"\nparameters = 3', 1))
    assert error.field == "flows.early.parameters"
    assert error.accepted.endswith('"start", "stop"')


def test_the_message_reads_as_promised():
    error = refusal(GOOD.replace('"10 Mbit/s"', '"-3 Mbit/s"', 1))
    assert str(error) == (
        'mine.toml: links.bottleneck.rate: "-3 Mbit/s" is not accepted; '
        'expected a rate from 1 bit/s to 10 Tbit/s, like "10 Mbit/s"'
    )


def test_a_value_from_the_dark_is_shown_harmless():
    error = refusal(GOOD.replace('"10 Mbit/s"', '"\\u001b[31m\\n\\u202e' + "x" * 500 + '"', 1))
    message = str(error)
    assert message.isprintable()
    assert len(message) < 300


def test_an_error_survives_being_copied_to_another_process():
    error = refusal(GOOD.replace("count = 16", "count = 0"))
    for copied in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):  # noqa: S301 - ours
        assert str(copied) == str(error)
        assert copied.field == error.field


def test_a_directory_is_not_a_scenario(tmp_path):
    with pytest.raises(ScenarioError, match="is a directory"):
        load_scenario(tmp_path)


def test_a_missing_file_tells_where_the_shipped_scenarios_are_listed():
    with pytest.raises(ScenarioError, match="vermilion scenarios lists them"):
        load_scenario("nowhere.toml")
    with pytest.raises(ScenarioError, match=r'no such file.*did you mean "varying-load"\?'):
        load_scenario("varying-lode")


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ScenarioError):
        load_scenario(name)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\x7fELF\x00\xff\xfe")
    with pytest.raises(ScenarioError, match="byte 0xff at position 5 is not UTF-8"):
        load_scenario(path)
    path.write_bytes(b"\xef\xbb\xbfab\xff")
    with pytest.raises(ScenarioError, match="byte 0xff at position 5 "):
        load_scenario(path)


def test_a_file_without_end_is_refused():
    if not Path("/dev/zero").is_char_device():
        pytest.skip("no endless device here")
    with pytest.raises(ScenarioError, match="larger than 16 MiB"):
        load_scenario("/dev/zero")


def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    path = tmp_path / "secret.toml"
    path.write_text(GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(ScenarioError, match="cannot be read"):
        load_scenario(path)


def test_what_an_editor_puts_before_a_file_does_no_harm(tmp_path):
    path = tmp_path / "marked.toml"
    path.write_text(f"\ufeff{GOOD}", encoding="utf-8")
    assert load_scenario(path).title == "a good one"
