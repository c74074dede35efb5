"""What tables say of a group's packets and of a wire's losses, to those who have no JSON."""

import re

import pytest

import vermilion
from html_page import Page
from test_flow_delays import APART
from vermilion.cli import main
from vermilion.scenario import parse_scenario

LOSING = """
duration = "10 s"
[links.only]
rate = "8 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail" }
%s
[flows.call]
path = ["only"]
rtt = "20 ms"
packet_size = "1000 bytes"
traffic = { kind = "constant-rate", rate = "800 kbit/s" }
"""
TOTAL_LOSS = 'loss = { model = "bernoulli", probability = 1 }'
BULK = """
[flows.bulk]
path = ["only"]
rtt = "20 ms"
sender = "reno"
"""


@pytest.fixture
def tables(tmp_path, capsys):
    """What a command says of a scenario: its lines, by their labels, in order."""

    def said(command, text, *options):
        path = tmp_path / "scenario.toml"
        path.write_text(text)
        everything = ["--all"] if command == "run" else []
        assert main([command, str(path), *everything, *options]) == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    return said


def test_run_says_how_long_a_calls_packets_take_and_how_many_are_lost(tables):
    text, _ = tables("run", APART)
    # One way: 10 ms on the link, 1 ms to send it, and half of what the round trip has beyond.
    near, far = text[text.index("flows near") :], text[text.index("flows far") :]
    for shown, delay in ((near, "16.0"), (far, "46.0")):
        assert re.search(rf"one-way delay p50 \(ms\) +{delay}$", shown, re.MULTILINE)
        assert re.search(rf"one-way delay p95 \(ms\) +{delay}$", shown, re.MULTILINE)
        assert re.search(r"packets lost +0\.00 %$", shown, re.MULTILINE)
        assert re.search(r"jitter \(ms\) +0\.0$", shown, re.MULTILINE)


def test_run_gives_a_call_no_rows_of_a_sender_and_a_lone_flow_none_of_fairness(tables):
    alone, _ = tables("run", LOSING % "")
    for label in ("timeouts", "retransmissions", "  sd (Mbit/s)", "Jain's", "slowest"):
        assert label not in alone
    both, _ = tables("run", LOSING % "" + BULK)
    bulk = both[both.index("flows bulk") : both.index("flows call")]
    assert "timeouts" in bulk
    assert "retransmissions" in bulk
    assert "jitter" not in bulk


def test_what_a_wire_loses_is_shown_of_a_wire_that_loses(tables):
    assert "lost on the wire" not in tables("run", LOSING % "")[0]
    text, _ = tables("run", LOSING % TOTAL_LOSS)
    # 100 packets a second for 10 s, from the warm-up's end at 0 s on; one may still wait at 10 s.
    found = re.search(r"lost on the wire +(\d[\d,]*)$", text, re.MULTILINE)
    assert int(found[1].replace(",", "")) == pytest.approx(1000, abs=1)
    assert re.search(r"per packet forwarded +100\.00 %$", text, re.MULTILINE)
    assert (
        "lost on the wire (%)" in tables("compare", LOSING % TOTAL_LOSS, "--seeds", "2", "--all")[0]
    )
    assert "lost on the wire (%)" not in tables("compare", LOSING % "", "--seeds", "2", "--all")[0]


def test_compare_shows_the_delays_of_a_call_when_asked_and_says_so_when_not(tables):
    plain, remark = tables("compare", APART, "--seeds", "2")
    assert "one-way delay" not in plain
    assert "note: --flow-delays adds delay, jitter and losses of near, far" in remark
    asked, remark = tables("compare", APART, "--seeds", "2", "--flow-delays")
    assert "--flow-delays" not in remark
    assert re.search(r"one-way delay p95 \(ms\) +16\.0 ± 0\.0", asked)
    assert re.search(r"one-way delay p95 \(ms\) +46\.0 ± 0\.0", asked)
    assert re.search(r"packets lost \(%\) +0\.00 ± 0\.00", asked)


def test_a_scenario_of_senders_alone_gets_no_remark_on_calls(tables):
    _, remark = tables("compare", LOSING.partition("[flows")[0] % "" + BULK, "--seeds", "2")
    assert "--flow-delays" not in remark


def test_a_comparison_in_python_has_delays_in_its_document_and_its_command():
    comparison = vermilion.compare(parse_scenario(APART), seeds=2, flow_delays=True)
    [variant] = comparison.to_dict()["variants"]
    delay = variant["flows"]["far"]["total"]["delay_ms"]["p95"]["mean"]
    assert delay == pytest.approx(46.0)
    assert comparison.command.endswith("--flow-delays")


def test_the_page_of_a_run_shows_them_too():
    result = vermilion.run(parse_scenario(LOSING % TOTAL_LOSS), flow_delays=True)
    texts = Page(result._repr_html_()).texts
    assert "lost on the wire (%)" in texts
    assert "packets lost (%)" in texts
    assert "timeouts" not in texts
