"""What tc shows is read, and what cannot be read is refused in one line.

Samples: iproute2 6.1 on a Linux 6.12 kernel (tests/reference/tc/qdisc_show.json); each is named
after the words with which the queue was made, so that the expected numbers are those words'.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.advise import read_question
from vermilion.advise.tc_json import read_tc_json
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.scenario import ScenarioError

SHOWN = json.loads(
    (Path(__file__).parents[1] / "reference" / "tc" / "qdisc_show.json").read_text(encoding="utf-8")
)["shown"]
NOECN = next(each for each in SHOWN if each.startswith("fq_codel noecn limit 500 target 8ms"))
QUESTION = read_question(rate="20 Mbit/s", rtt="20 ms", flows="4", delay_at_most="20 ms")


def from_text(name, question=QUESTION):
    return present_of(question, read_tc_text(SHOWN[name]["text"]), "--now")


def from_json(name, question=QUESTION):
    return present_of(question, read_tc_json(json.dumps(SHOWN[name]["json"])), "--now-json")


@pytest.mark.parametrize("read", [from_text, from_json])
@pytest.mark.parametrize(
    ("name", "discipline", "expected"),
    [
        ("pfifo limit 500", "drop-tail", {"limit": 500}),
        ("bfifo limit 150000", "drop-tail", {"limit_bytes": 150_000}),
        ("pfifo_fast", "drop-tail", {"limit": 1000}),
        (
            "fq_codel",
            "fq-codel",
            {
                "limit": 10_240, "flows": 1024, "quantum": 1514, "target": 0.005, "interval": 0.1,
                "memory_limit": 32 * 2**20, "ecn": True, "drop_batch": 64,
            },
        ),
        (
            NOECN,
            "fq-codel",
            {
                "limit": 500, "quantum": 300, "target": 0.008, "memory_limit": 4 * 2**20,
                "ce_threshold": 0.002, "ecn": False, "drop_batch": 32,
            },
        ),
        (
            "codel ecn target 3ms limit 200 ce_threshold 1ms",
            "codel",
            {"limit": 200, "target": 0.003, "interval": 0.1, "ecn": True},
        ),
        (
            "pie limit 500 target 20ms ecn tupdate 20ms alpha 4 beta 12",
            "pie",
            {
                "limit": 500, "target": 0.02, "interval": 0.02, "alpha": 0.25, "beta": 0.75,
                "ecn": True,
            },
        ),
        ("fq_pie", "fq-pie", {"limit": 10_240, "target": 0.015, "mark_probability": 0.1}),
        (
            "red, with -d",
            "linux-red",
            {
                "limit": 60_000, "min_threshold": 15_000, "max_threshold": 45_000,
                "max_probability": 0.1, "weight_log": 4, "ecn": True,
            },
        ),
        ("sfq perturb 10", "fq-codel", {"limit": 127, "target": 10}),
        ("fq", "fq", {"limit": 10_000, "flow_limit": 100, "quantum": 3028}),
        ("cake bandwidth 20Mbit", "cake", {"rtt": 0.1}),
        ("mq", "drop-tail", {"limit": 1000}),
    ],
)  # fmt: skip
def test_every_kind_is_read(read, name, discipline, expected):
    queue = read(name).queue
    assert queue.discipline == discipline
    found = {key: queue.parameters[key] for key in expected}
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("read", [from_text, from_json])
def test_a_queue_below_a_shaper_is_replaced_where_it_is(read):
    present = read("htb+fq_codel")
    assert (present.shaper, present.parent) == ("htb", "1:1")
    assert present.queue.discipline == "fq-codel"
    assert present.restore is not None
    assert present.restore.startswith("fq_codel limit 10240")


@pytest.mark.parametrize("read", [from_text, from_json])
def test_the_buffer_of_tbf_is_its_latency_and_a_burst(read):
    present = read("tbf rate 20Mbit burst 32k latency 50ms")
    # 20 Mbit/s x 50 ms / 8 = 125000 bytes, and 32 KiB
    assert present.queue.parameters["limit_bytes"] == pytest.approx(157_768, abs=2)
    assert present.shaper_rate_bit_per_s == 20e6
    assert present.parent == "800c:1"


def test_red_without_its_probability_is_said_to_be_guessed():
    [name] = [each for each in SHOWN if each.startswith("red limit")]
    notes = " ".join(from_text(name).notes)
    assert "tc -d" in notes


def test_statistics_are_told_where_they_tell_something():
    text = (
        SHOWN["fq_codel"]["text"]
        .replace("Sent 0 bytes 0 pkt (dropped 0,", "Sent 148500000 bytes 98800 pkt (dropped 1200,")
        .replace("ecn_mark 0", "ecn_mark 988")
    )
    present = present_of(QUESTION, read_tc_text(text), "--now")
    notes = " ".join(present.notes)
    assert "98,800 packets" in notes
    assert "1.2 %" in notes  # 1200 of 100000 that came
    assert "1 %" in notes  # 988 of 98800


@pytest.mark.parametrize(
    ("backlog", "waits"),
    [("backlog 63Kb 42p", "26 ms"), ("backlog 3028b 2p", None), ("backlog 0b 0p", None)],
)
def test_a_backlog_says_that_packets_wait_here_and_its_absence_nothing_of_the_line(backlog, waits):
    text = SHOWN["fq_codel"]["text"].replace("backlog 0b 0p", backlog)
    assert backlog in text
    notes = " ".join(present_of(QUESTION, read_tc_text(text), "--now").notes)
    # 63 KiB at 20 Mbit/s.
    assert (waits or "tc cannot tell") in notes
    assert ("packets wait here" in notes) == (waits is not None)


def test_the_interface_is_chosen_or_asked_for():
    both = "".join(
        SHOWN[name]["text"].replace(" root", f" dev {device} root")
        for name, device in (("fq_codel", "eth0"), ("pie", "eth1"))
    )
    with pytest.raises(ScenarioError, match="--interface"):
        present_of(QUESTION, read_tc_text(both), "--now")
    question = read_question(
        rate="20 Mbit/s", rtt="20 ms", flows="4", delay_at_most="20 ms", interface="eth1"
    )
    assert present_of(question, read_tc_text(both), "--now").queue.discipline == "pie"


def test_several_classes_have_to_be_named():
    two = SHOWN["htb+fq_codel"]["text"] + SHOWN["pie"]["text"].replace("root", "parent 1:2")
    with pytest.raises(ScenarioError, match="--parent: 1:1, 1:2"):
        present_of(QUESTION, read_tc_text(two), "--now")


def test_what_cannot_be_judged_is_refused():
    text = "qdisc hhf 8001: root refcnt 2 limit 1000p"
    with pytest.raises(ScenarioError, match="a queue that can be judged"):
        present_of(QUESTION, read_tc_text(text), "--now")


HEADS = st.sampled_from([shown["text"] for shown in SHOWN.values()])
WORDS = st.sampled_from(
    [
        "qdisc", "root", "parent", "dev", "limit", "target", "5ms", "1e999", "99999999999999p",
        "0b", "1:", "ffff:", "::", "\0", "é", "rate", "1Gbit", "min", "max", "ewma", "probability",
        "2.0", "pie", "red", "htb", "mq", "10:", "1:1",
    ]
)  # fmt: skip


@given(HEADS, st.lists(st.tuples(st.integers(0, 400), WORDS), max_size=6), st.integers(0, 600))
def test_garbled_text_is_read_or_refused(text, insertions, length):
    for place, word in insertions:
        text = f"{text[:place]}{word}{text[place + 1 :]}"
    read_or_refused(lambda: read_tc_text(text[:length]))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    read_or_refused(lambda: read_tc_text(text))
    read_or_refused(lambda: read_tc_json(text))


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "options", "limit", "handle", "parent"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.sampled_from([shown["json"] for shown in SHOWN.values()]),
    st.sampled_from(["kind", "handle", "parent", "options", "root", "bytes", "packets", "dev"]),
    st.sampled_from(["limit", "target", "min", "max", "rate", "quantum", "probability", "ewma"]),
    JSON,
)
def test_garbled_json_is_read_or_refused(entries, key, option, value):
    top = [{**entries[0], key: value}, *entries[1:]]
    own = [{**entries[0], "options": {**(entries[0].get("options") or {}), option: value}}]
    for each in (top, own, value):
        read_or_refused(lambda each=each: read_tc_json(json.dumps(each)))


def read_or_refused(read):
    """Nothing but a refusal in one line may come of it, and what is read can be simulated."""
    from vermilion.advise.conditions import grid, network

    try:
        present = present_of(QUESTION, read(), "--now")
    except ScenarioError as refusal:
        message = str(refusal)
    else:
        message = ""
        network(QUESTION, grid(QUESTION, 0.0)[0], present.queue).core_json()
    assert "\n" not in message


@pytest.mark.parametrize("name", ["eth0;reboot", "eth0|reboot", "$(reboot)", "`reboot`", "-eth0"])
def test_a_name_that_a_shell_would_run_comes_into_no_command(name):
    text = SHOWN["fq_codel"]["text"].replace(" root", f" dev {name} root")
    with pytest.raises(ScenarioError, match="a name of letters"):
        present_of(QUESTION, read_tc_text(text), "--now")
    entry = {"kind": "fq_codel", "handle": "1:", "dev": name, "root": True, "options": {}}
    with pytest.raises(ScenarioError, match="a name of letters"):
        present_of(QUESTION, read_tc_json(json.dumps([entry])), "--now-json")
    below = {**entry, "dev": "eth0", "parent": name}
    with pytest.raises(ScenarioError, match="a name of letters"):
        present_of(QUESTION, read_tc_json(json.dumps([below])), "--now-json")


def test_words_of_cake_that_it_does_not_have_are_not_repeated():
    options = {"bandwidth": 2_500_000, "diffserv": "diffserv4; reboot", "flowmode": "flowblind"}
    entry = {"kind": "cake", "handle": "1:", "dev": "eth0", "root": True, "options": options}
    present = present_of(QUESTION, read_tc_json(json.dumps([entry])), "--now-json")
    assert present.restore == "cake bandwidth 20000000bit flowblind"


def test_the_rate_of_a_shaper_that_does_not_show_it_is_not_known():
    # tc qdisc show has htb's rates nowhere: they are its classes'.
    assert from_text("htb+fq_codel").shaper_rate_bit_per_s is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("qdisc fq_codel 1: root limit -5p target 5ms", "limit -5p"),
        ("qdisc fq_codel 1: root limit 10p target 5fs", "target 5fs"),
        ("qdisc pie 1: root limit many", "limit many"),
        ("qdisc codel 1: root interval 100ms limit", "limit"),
    ],
)
def test_no_default_stands_in_for_a_number_that_is_none(text, shown):
    with pytest.raises(ScenarioError) as refused:
        present_of(QUESTION, read_tc_text(text), "--now")
    assert (refused.value.field, refused.value.value) == ("--now", shown)


def test_what_cake_knows_of_the_line_is_put_back():
    # As iproute2 6.1 prints it (tc/q_cake.c, cake_print_opt).
    text = (
        "qdisc cake 8004: dev eth1 root refcnt 2 bandwidth 18Mbit diffserv4 dual-srchost nat "
        "nowash ack-filter split-gso rtt 50ms noatm overhead 38 mpu 84 memlimit 8Mb"
    )
    words = present_of(QUESTION, read_tc_text(text), "--now").restore
    assert words == (
        "cake bandwidth 18000000bit diffserv4 dual-srchost nat ack-filter rtt 50000us "
        "overhead 38 mpu 84 memlimit 8388608"
    )
    raw = "qdisc cake 1: root bandwidth 18Mbit diffserv3 rtt 100ms raw overhead 0"
    assert "overhead" not in present_of(QUESTION, read_tc_text(raw), "--now").restore


def test_a_word_of_cake_that_tc_does_not_print_swallows_no_other():
    # tc takes "pppoe-vcmux" and prints "atm overhead 32"; somebody may type what they gave it.
    [queue] = read_tc_text("qdisc cake 1: root bandwidth 18Mbit pppoe-vcmux atm overhead 32")
    assert queue.options["atm"] is True
    assert "atm overhead 32" in present_of(QUESTION, [queue], "--now").restore
