"""Commands for Linux: what the line counts, whose handle is whose, several transmit queues.

``tests/kernel/test_advise_kernel.py`` pastes them into a shell of a real kernel.
"""

import json

import pytest

from vermilion.advise import advice as engine
from vermilion.advise import advise, assumed, read_question
from vermilion.advise.caveats import shaper_caveats
from vermilion.advise.commands import commands
from vermilion.advise.families import families
from vermilion.advise.tc_cake import LineFraming
from vermilion.advise.tc_json import read_tc_json
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_text import read_tc_text
from vermilion.advise.wording import warnings
from vermilion.cli.advise_tables import print_advice
from vermilion.scenario import ScenarioError

ASKED = {"rate": "9 Mbit/s", "rtt": "15 ms .. 60 ms", "flows": "2", "delay_at_most": "20 ms"}
CAKE = (
    "qdisc cake 8001: root refcnt 2 bandwidth 9Mbit diffserv3 triple-isolate nonat nowash "
    "no-ack-filter split-gso rtt 100ms {} \n"
)
ATM = CAKE.format("atm overhead 44")
MQ = (
    "qdisc mq 0: dev eth0 root \n"
    "qdisc fq_codel 0: dev eth0 parent :a limit 10240p flows 1024 target 5ms interval 100ms ecn\n"
    "qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 target 5ms interval 100ms ecn\n"
    "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 target 5ms interval 100ms ecn\n"
)


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def shown(text, **changes):
    asked = question(**changes)
    return asked, present_of(asked, read_tc_text(text), "--now")


def set_pie(text, **changes):
    asked, present = shown(text, **changes)
    [family] = families(question(discipline="pie"))
    values = {"target": 0.01, "interval": 0.015, "alpha": 0.125, "beta": 1.25}
    return commands(asked, present, family.setting(asked, values), keep=False)


def htb_class(text):
    [line] = [each for each in set_pie(text).apply.splitlines() if " class " in each]
    return line.removesuffix(" &&").partition(" quantum 1514")[2].strip()


class TestLine:
    @pytest.mark.parametrize(
        ("framing", "packet", "expected"),
        [
            # 1500 + 44 bytes are 33 cells of 48, of 53 on the line; an acknowledgement is 2 cells.
            (LineFraming("atm", 44), 1514, 33 * 53),
            (LineFraming("atm", 44), 66, 2 * 53),
            # 64 bytes are sent as 65: 1500 + 30 and 24 more.
            (LineFraming("ptm", 30), 1514, 1554),
            # Ethernet's own preamble, gap and checksum, and no frame below 84 bytes.
            (LineFraming(None, 38, 84), 1514, 1538),
            (LineFraming(None, 38, 84), 54, 84),
            # What the kernel counts, in cells: 1514 are 32.
            (LineFraming("atm", None), 1514, 32 * 53),
        ],
    )
    def test_a_packet_takes_what_cake_counts(self, framing, packet, expected):
        assert framing.bytes_of(packet) == expected

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("atm overhead 44", "overhead 44 linklayer atm"),
            ("atm overhead 44 mpu 96", "overhead 44 mpu 96 linklayer atm"),
            ("noatm overhead 38 mpu 84", "overhead 38 mpu 84"),
            ("ptm overhead 30", "overhead 30"),
            ("raw overhead 0", ""),
            ("raw atm overhead 0", "linklayer atm"),
        ],
    )
    def test_the_shaper_counts_as_cake_did(self, line, expected):
        assert htb_class(CAKE.format(line)) == expected

    def test_htb_is_told_less_by_the_header_that_it_counts_already(self):
        statistics = " average network hdr offset:           14\n"
        assert htb_class(f"{ATM}{statistics}") == "overhead 30 linklayer atm"

    def test_tcs_json_says_the_same(self):
        options = {
            "bandwidth": 1_125_000, "diffserv": "diffserv3", "flowmode": "triple-isolate",
            "nat": False, "wash": False, "ingress": False, "ack-filter": "enabled",
            "split_gso": False, "rtt": 100_000, "raw": False, "atm": "atm", "overhead": 44,
            "fwmark": "0",
        }  # fmt: skip
        entry = {"kind": "cake", "handle": "8001:", "root": True, "options": options}
        asked = question()
        read = read_tc_json(json.dumps([{**entry, "avg_hdr_offset": 14}]))
        present = present_of(asked, read, "--now-json")
        assert present.framing == LineFraming("atm", 44, 0, 14)
        assert present.restore == (
            "cake bandwidth 9000000bit diffserv3 triple-isolate ack-filter no-split-gso "
            "rtt 100000us atm overhead 44"
        )
        assert present.missing == ()

    def test_what_is_simulated_is_what_the_cells_leave(self, monkeypatch, capsys):
        monkeypatch.setattr(engine, "QUICK_PACKETS", 2e6)
        asked, present = shown(ATM)
        found = advise(asked, present)
        # 9 Mbit/s x 1514 / 1749
        assert found.question.simulated_rate_bit_per_s == pytest.approx(7.7907e6, rel=1e-4)
        assert all(found.before.goodput(at) < 7.8e6 for at in found.conditions)
        assert found.question.rate_bit_per_s == 9e6
        assert any("1749 bytes" in each and "7.79 Mbit/s" in each for each in warnings(found))
        print_advice(found)
        assert "7.79 Mbit/s" in " ".join(capsys.readouterr().out.split())

    def test_what_htb_cannot_count_is_said(self):
        asked, present = shown(CAKE.format("ptm overhead 30"))
        joined, ptm = shaper_caveats(asked, present, "eth0")
        assert "ethtool -K eth0 gso off" in joined
        # 9 Mbit/s x 64 / 65
        assert "8.862 Mbit/s" in ptm
        asked, present = shown(CAKE.format("raw overhead 0"))
        assert shaper_caveats(asked, present, "eth0") == []


class TestHandles:
    def test_a_handle_is_chosen_that_nobody_has(self):
        for shown_first in ("", "qdisc pfifo 1: dev eth0 root limit 9p\n"):
            text = shown_first or "qdisc noqueue 0: dev eth0 root\n"
            assert "root handle 7e51: htb" in set_pie(text).apply
        own = set_pie("qdisc pfifo 7E51: dev eth0 root limit 9p\n".replace("E", "e"))
        assert "root handle 7e52: htb" in own.apply
        assert "parent 7e52:1 pie" in own.apply

    def test_no_command_is_run_after_one_that_fails(self):
        own = set_pie("qdisc noqueue 0: dev eth0 root\n")
        *first, last = own.apply.splitlines()
        assert len(first) == 2
        assert all(each.endswith(" &&") for each in first)
        assert not last.endswith("&&")


class TestTransmitQueues:
    def test_each_of_them_is_set_where_no_shaper_is_needed(self):
        own = set_pie(MQ, interface_rate="9 Mbit/s")
        lines = own.apply.replace(" &&", "").splitlines()
        assert lines[0] == "tc qdisc replace dev eth0 root handle 7e51: mq"
        places = [each.partition(" parent ")[2].partition(" pie ")[0] for each in lines[1:]]
        assert places == ["7e51:1", "7e51:2", "7e51:a"]  # hexadecimal, as in tc
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"

    @pytest.mark.parametrize("kind", ["mq", "mqprio"])
    def test_what_somebody_has_made_is_set_where_it_stands(self, kind):
        text = MQ.replace("mq 0:", f"{kind} 1:").replace("parent :", "parent 1:")
        own = set_pie(text, interface_rate="9 Mbit/s")
        lines = own.apply.replace(" &&", "").splitlines()
        assert [each.split()[6] for each in lines] == ["1:1", "1:2", "1:a"]
        assert own.undo.count("parent 1:") == 3
        assert own.undo.count("fq_codel limit 10240 flows 1024 target 5000us") == 3

    def test_a_shaper_in_their_place_is_said_to_cost_a_lock(self):
        asked, present = shown(MQ)
        [said] = shaper_caveats(asked, present, "eth0")
        assert "eth0 has several transmit queues (mq)" in said
        assert "one lock" in said
        asked = question()
        assert shaper_caveats(asked, assumed(asked), "eth0") == []

    def test_a_map_of_priorities_is_said_to_be_gone(self):
        text = MQ.replace("mq 0:", "mqprio 1:").replace("parent :", "parent 1:")
        own = set_pie(text)
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
        assert own.save.startswith("tc -s -d qdisc show dev eth0 > ")

    def test_classes_below_mq_have_to_be_named(self):
        text = (
            "qdisc mq 1: dev eth0 root \n"
            "qdisc htb 10: dev eth0 parent 1:1 r2q 10 default 0x2\n"
            "qdisc fq_codel 20: dev eth0 parent 10:2 limit 10240p\n"
        )
        with pytest.raises(ScenarioError, match=r"htb at 1:1.*--parent"):
            shown(text)
        _, present = shown(text, parent="10:2")
        assert present.transmit_queues is None


class TestRestored:
    def test_fq_comes_back_as_newer_kernels_show_it(self):
        # As iproute2 7.1 prints it (tc/q_fq.c, fq_print_opt).
        text = (
            "qdisc fq 8001: root refcnt 2 limit 10000p flow_limit 100p buckets 1024 orphan_mask "
            "1023 bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536 "
            "quantum 3028b initial_quantum 15140b maxrate 10Mbit low_rate_threshold 550Kbit "
            "refill_delay 40ms timer_slack 10us horizon 2s horizon_drop offload_horizon 0us"
        )
        expected = (
            "fq limit 10000 flow_limit 100 buckets 1024 orphan_mask 1023 bands 3 priomap "
            "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1 weights 589824 196608 65536 quantum 3028 "
            "initial_quantum 15140 maxrate 10000000bit low_rate_threshold 550000bit "
            "refill_delay 40000us timer_slack 10000ns horizon 2000000us horizon_drop "
            "offload_horizon 0us"
        )
        _, present = shown(text)
        assert (present.restore, present.missing) == (expected, ())
        options = {
            "limit": 10_000, "flow_limit": 100, "buckets": 1024, "orphan_mask": 1023, "bands": 3,
            "priomap ": [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
            "weights ": [589_824, 196_608, 65_536], "quantum": 3028, "initial_quantum": 15_140,
            "maxrate": 1_250_000, "low_rate_threshold": 68_750, "refill_delay": 40_000,
            "timer_slack": 10_000, "horizon": 2_000_000, "horizon_drop": None,
            "offload_horizon": 0,
        }  # fmt: skip
        entry = {"kind": "fq", "handle": "8001:", "root": True, "options": options}
        present = present_of(question(), read_tc_json(json.dumps([entry])), "--now-json")
        assert (present.restore, present.missing) == (expected, ())

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (
                (
                    "sfq 1: root limit 300p quantum 1514b depth 40 headdrop flows 128 divisor 2048 "
                    "perturb 10sec"
                ),
                "sfq limit 300 quantum 1514 depth 40 headdrop flows 128 divisor 2048 perturb 10",
            ),
            (
                (
                    "cake 1: root bandwidth 9Mbit autorate-ingress diffserv4 flows nonat wash "
                    "ingress ack-filter-aggressive no-split-gso rtt 50ms raw overhead 0 "
                    "memlimit 2Mb fwmark 0xff"
                ),
                (
                    "cake bandwidth 9000000bit autorate-ingress diffserv4 flows wash "
                    "ack-filter-aggressive no-split-gso ingress rtt 50000us memlimit 2097152 "
                    "fwmark 0xff"
                ),
            ),
            (
                (
                    "fq_codel 1: root limit 999p flows 4096 quantum 300 target 3ms ce_threshold "
                    "999us interval 100ms memory_limit 32Mb drop_batch 64"
                ),
                (
                    "fq_codel limit 999 flows 4096 quantum 300 target 3000us ce_threshold 1000us "
                    "interval 100000us memory_limit 33554432 noecn drop_batch 64"
                ),
            ),
        ],
    )
    def test_all_that_tc_shows_comes_back(self, text, expected):
        _, present = shown(f"qdisc {text}")
        assert present.restore == expected
        assert present.missing == ()

    def test_a_word_that_nobody_knows_is_named(self):
        _, present = shown(f"{ATM.strip()} fastlane 3")
        assert present.missing == ("fastlane",)

    def test_no_option_is_named_that_could_be_anything_else(self):
        options = {"limit": 9, "$(reboot)": 1, "two words": 2, "\x1b[31m": 3, "other": 4}
        entry = {"kind": "pfifo", "handle": "8001:", "root": True, "options": options}
        present = present_of(question(), read_tc_json(json.dumps([entry])), "--now-json")
        assert present.missing == ("other",)
