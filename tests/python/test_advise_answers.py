"""Answers that an engineer would give without a simulator, and advice has to find."""

import pytest

from vermilion.advise import advise, assumed, read_question
from vermilion.advise.commands import commands
from vermilion.advise.judgement import worst_sparse_ms
from vermilion.advise.metrics import CALL_LOSS
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import answer, largest

FQ_CODEL = (
    "limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn "
    "drop_batch 64"
)
MQ = "\n".join(
    ["qdisc mq 0: dev eth0 root", *(f"qdisc fq_codel 0: parent :{n} {FQ_CODEL}" for n in (1, 2))]
)
FAIR = f"qdisc fq_codel 8001: dev eth0 root refcnt 2 {FQ_CODEL}"
PFIFO_FAST = "qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1"
TBF = "qdisc tbf 8001: dev eth0 root refcnt 2 rate 20Mbit burst 32Kb lat 400ms"
HOME = {"rate": "20 Mbit/s", "rtt": "10 ms .. 100 ms", "flows": "1 .. 20", "delay_at_most": "20 ms"}


def asked(now=None, *, quick=True, **changes):
    question = read_question(**{**HOME, "quick": quick, **changes})
    text = None if now is None else read_tc_text(now)
    return advise(
        question, assumed(question) if text is None else present_of(question, text, "--now")
    )


def is_default(found):
    return found.chosen.kind == "fq_codel" and not found.chosen.tuned


def test_behind_a_modem_packets_wait_in_the_wrong_place():
    found = asked(MQ)
    assert answer(found) == "wrong place"
    assert is_default(found)


def test_a_game_gains_nothing_by_what_a_download_waits():
    found = asked(FAIR, rate="50 Mbit/s", interface_rate="50 Mbit/s", delay_at_most="5 ms")
    assert answer(found) == "keep"
    assert found.bound_kept


def test_one_queue_for_all_becomes_one_for_each_flow_at_its_defaults():
    found = asked(PFIFO_FAST, rate="50 Mbit/s")
    assert answer(found) == "set"
    assert is_default(found)


@pytest.mark.evidence
def test_a_bloated_shaper_gets_defaults():
    assert is_default(asked(TBF))


@pytest.mark.evidence
def test_a_router_that_starves_its_line_is_not_kept():
    found = asked(device="cisco", rate="1 Gbit/s", flows="1 .. 40", quick=False)
    assert answer(found) in {"set", "not judged"}


@pytest.mark.evidence
def test_a_fibre_is_judged():
    found = asked(FAIR, rate="940 Mbit/s", rtt="5 ms .. 60 ms", quick=False)
    assert answer(found) == "keep"


def test_wireless_is_left_to_its_driver():
    found = asked("qdisc noqueue 0: dev wlan0 root refcnt 2")
    assert answer(found) == "keep"
    assert not found.tried


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("rate", "flows", "now"),
    [
        ("8 Mbit/s", "20", None),
        ("8 Mbit/s", "20", "qdisc pfifo 8001: dev eth0 root refcnt 2 limit 67p"),
        ("50 Mbit/s", "100", "qdisc pie 8001: dev eth0 root refcnt 2 limit 1000p target 2.31ms"),
    ],
)
def test_no_call_loses_more_than_with_a_queue_for_each_flow(rate, flows, now):
    found = asked(now, rate=rate, flows=flows, interface_rate=rate)
    fair = asked(FAIR, rate=rate, flows=flows, interface_rate=rate).before
    assert found.chosen.keeps_apart
    assert largest(found.after, CALL_LOSS) <= largest(fair, CALL_LOSS) + 0.003
    assert worst_sparse_ms(found.after) <= 1.1 * worst_sparse_ms(fair) + 1.0


@pytest.mark.evidence
def test_a_bound_that_bulk_packets_break_is_answered():
    found = asked(FAIR, rate="4 Mbit/s", flows="1 .. 30", delay_at_most="25 ms",
                  interface_rate="4 Mbit/s")  # fmt: skip
    assert answer(found) in {"set", "keep"}
    assert worst_sparse_ms(found.after) <= worst_sparse_ms(found.before)


def test_bands_without_queues_of_their_own_get_theirs_back():
    question = read_question(**{**HOME, "interface_rate": "20 Mbit/s"})
    found = present_of(question, read_tc_text("qdisc ets 1: dev eth0 root bands 3"), "--now")
    own = commands(question, found, assumed(question).queue, keep=False)
    assert own.apply.startswith("tc qdisc replace dev eth0 parent 1:1 fq_codel ")
    assert own.undo == "tc qdisc del dev eth0 parent 1:1"


DUALPI2 = (
    "qdisc dualpi2 8001: dev eth0 root refcnt 2 limit 10000p target 15ms tupdate 16ms "
    "alpha 0.156250 beta 3.195312 l4s_ect coupling_factor 2 step_thresh 1ms drop_dequeue"
)
ETS = (
    "qdisc ets 1: dev eth0 root refcnt 2 bands 3 strict 1 quanta 1514 1514\n"
    "qdisc pfifo 10: dev eth0 parent 1:1 limit 1000p\n Sent 100 bytes 1 pkt (dropped 0, \n"
    f"qdisc fq_codel 11: dev eth0 parent 1:2 {FQ_CODEL}\n"
    " Sent 9999999 bytes 9999 pkt (dropped 0, "
)


@pytest.mark.parametrize(
    ("text", "discipline"),
    [
        (DUALPI2, "dualpi2"),
        ("qdisc netem 8001: dev eth0 root refcnt 2 limit 1000 delay 20ms", "drop-tail"),
        (ETS, "fq-codel"),
        (
            "qdisc ets 1: dev eth0 root refcnt 2 bands 3",
            "drop-tail",
        ),
        (f"{MQ}\nqdisc pfifo 0: parent :3 limit 1000p", "fq-codel"),
    ],
)
def test_whatever_stands_there_is_read(text, discipline):
    found = present_of(read_question(**HOME), read_tc_text(text), "--now")
    assert found.queue.discipline == discipline
