"""fq and sfq hold so many packets of each flow, and are judged with that."""

from dataclasses import replace

import pytest

from vermilion.advise import Advice, assumed, read_question
from vermilion.advise.conditions import condition, grid, network
from vermilion.advise.families import buffer_bytes
from vermilion.advise.judgement import Judgement
from vermilion.advise.measuring import Laboratory, Measured
from vermilion.advise.question import QueueSetting
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import warnings
from vermilion.scenario import ScenarioError

FQ = (
    "qdisc fq 8001: dev eth0 root refcnt 2 limit 10000p flow_limit 20p buckets 1024 quantum 3028b "
    "initial_quantum 15140b"
)
SFQ = "qdisc sfq 8002: dev eth0 root refcnt 2 limit 300p quantum 1514b depth 20 divisor 1024"


def question(**changes):
    return read_question(**{"rate": "90 Mbit/s", "rtt": "15 ms", "flows": "2 .. 10",
                            "delay_at_most": "40 ms", "quick": True, **changes})  # fmt: skip


def shown(text):
    return present_of(question(), read_tc_text(text), "--now")


@pytest.mark.parametrize(
    ("text", "flows", "packets"),
    [
        (FQ, 1, 20),
        (FQ, 10, 200),
        (FQ, 1000, 10_000),  # limit
        (FQ.replace(" flow_limit 20p", ""), 3, 300),  # net/sched/sch_fq.c: 100
        (SFQ, 10, 200),
        (SFQ, 20, 300),
        (SFQ.replace(" depth 20", ""), 1, 127),  # net/sched/sch_sfq.c: 127
    ],
)
def test_what_waits_is_what_each_flow_may_have(text, flows, packets):
    queue = shown(text).queue
    asked = question(flows=str(flows))
    at = condition(asked, flows, 0.015, "bulk", 0.0)
    own = network(asked, at, queue).links["bottleneck"].queue.parameters
    assert min(own["limit"], own.get("flow_limit", 1e9) * flows) == packets
    assert buffer_bytes(queue, flows) == packets * 1514


@pytest.mark.parametrize("text", [FQ, SFQ])
@pytest.mark.parametrize("flows", [2, 10])
def test_packets_wait_for_those_of_their_own_flow_and_as_many_of_each_other(text, flows):
    # Ten flows of 20 packets of 1514 bytes are 26.9 ms at 90 Mbit/s. With fq's limit of 10,000
    # packets alone it had been a second and more.
    asked = question()
    at = condition(asked, flows, 0.015, "bulk", 0.0)
    [found] = Laboratory(asked, None, None, 1e9).measure([shown(text).queue], [at], [1, 2], 0.0)
    full_ms = 1e3 * flows * 20 * 8 * 1514 / 90e6
    assert 0.5 * full_ms < found.p95_ms(at) < 1.5 * full_ms


def test_two_limits_of_a_flow_are_two_queues():
    one, other = (shown(FQ.replace("20p", each)).queue for each in ("20p", "40p"))
    assert one.same_as != other.same_as
    assert one.same_as == replace(one, label="another name").same_as


@pytest.mark.parametrize("word", ["flow_limit", "depth"])
def test_a_limit_that_is_no_number_is_refused(word):
    with pytest.raises(ScenarioError, match="a number as tc prints it"):
        shown(f"qdisc fq 8001: root limit 10000p {word} many")


def test_the_note_says_where_it_drops():
    [fq], [sfq] = (shown(each).notes for each in (FQ, SFQ))
    assert "Pacing of this machine's own packets" in fq
    assert "as one buffer of its limit" in sfq
    assert "pace" not in sfq


def test_a_rate_that_fq_holds_flows_to_is_said_not_to_be_simulated():
    notes = shown(f"{FQ} maxrate 10Mbit").notes
    assert any("holds each flow to its maxrate, which is not simulated" in each for each in notes)


@pytest.mark.parametrize(("text", "said"), [(FQ, True), (SFQ, False), (None, False)])
def test_what_takes_the_place_of_fq_is_said_not_to_pace(text, said):
    asked = question()
    present = assumed(asked) if text is None else shown(text)
    run = {"delay_p95_ms": 9.0, "goodput_bit_per_s": 80e6, "drop_rate": 0.01, "sparse_points": 0.0}
    chosen = QueueSetting("fq_codel, defaults", "fq_codel", "fq-codel")
    before, after = (
        Measured(queue, {at: [run, run] for at in grid(asked, 0.0)})
        for queue in (present.queue, chosen)
    )
    around = Measured(chosen)
    answer = Advice(asked, present, "set: goodput", before, after, Judgement("goodput"), (), around,
                    around)  # fmt: skip
    found = [each for each in warnings(answer) if "fq also paces" in each]
    assert bool(found) == said
    assert all("fq_codel does not" in each for each in found)
    kept = replace(answer, verdict="keep: nothing better", after=before)
    assert not any("also paces" in each for each in warnings(kept))
