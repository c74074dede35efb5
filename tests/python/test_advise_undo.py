"""What undo brings back: what is known to have stood there, and nothing that was only assumed."""

import copy
import json
import math

import pytest

from vermilion.advise import assumed, read_question
from vermilion.advise.caveats import undo_caveats
from vermilion.advise.commands import commands
from vermilion.advise.conditions import PACKET_BYTES
from vermilion.advise.families import families
from vermilion.advise.sonic import sonic_present
from vermilion.advise.tc_present import present_of
from vermilion.advise.tc_queue import bandwidth_for
from vermilion.advise.tc_text import read_tc_text
from vermilion.scenario import ScenarioError

ASKED = {"rate": "10 Mbit/s", "rtt": "10 ms .. 40 ms", "flows": "2 .. 8", "delay_at_most": "25 ms"}
OWN = "VERMILION_Ethernet4_1"

LOSSLESS = {
    "ecn": "ecn_all",
    "wred_green_enable": "true",
    "green_min_threshold": "1048576",
    "green_max_threshold": "2097152",
    "green_drop_probability": "5",
}
CONFIG = {
    "PORT_QOS_MAP": {"Ethernet4": {"pfc_enable": "3,4", "pfc_to_queue_map": "AZURE"}},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {str(each): str(each) for each in range(8)}},
    "WRED_PROFILE": {"AZURE_LOSSLESS": LOSSLESS},
    "QUEUE": {
        "Ethernet4|1": {"scheduler": "scheduler.0"},
        "Ethernet4|2": {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"},
        "Ethernet4|3": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
    },
}
"""As SONiC's own template has it (qos_config.j2), but for queue 2."""


def question(**changes):
    return read_question(**{**ASKED, "quick": True, **changes})


def sonic(**changes):
    return question(device="sonic", **changes)


def wred(asked):
    [family] = families(asked)
    values = {
        "green_min_threshold": 10.0, "green_max_threshold": 30.0, "green_max_probability": 0.1,
    }  # fmt: skip
    return family.setting(asked, values)


def pie():
    [family] = families(question(discipline="pie"))
    values = {"target": 0.01, "interval": 0.015, "alpha": 0.125, "beta": 1.25}
    return family.setting(question(), values)


def patch_in(lines):
    assert lines.splitlines()[-1].startswith("sudo config apply-patch ")
    return json.loads(lines.partition("\n")[2].partition("\nEND")[0])


def patched(config, patch):
    """A configuration after RFC 6902, as far as the commands use it; an error as SONiC's."""
    config = copy.deepcopy(config)
    for each in patch:
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in each["path"].split("/")[1:]
        )
        place = config
        for part in parents:
            place = place[part]
        if each["op"] == "test":
            if place[last] != each["value"]:
                raise ValueError(each["path"])
        elif each["op"] == "remove":
            del place[last]
        else:
            assert each["op"] == "add" or last in place
            place[last] = each["value"]
    assert all(config.values())  # SONiC refuses empty tables
    return config


def known(config, **changes):
    asked = sonic(**{"interface": "Ethernet4|1", **changes})
    present = sonic_present(asked, json.dumps(config), "--now-json")
    return present, commands(asked, present, wred(asked), keep=False)


class TestSonic:
    def test_nothing_is_set_on_a_queue_that_nobody_named(self):
        for changes in ({}, {"interface": "Ethernet4"}, {"parent": "1"}):
            asked = sonic(**changes)
            own = commands(asked, assumed(asked), wred(asked), keep=False)
            assert own.apply == own.undo == own.save == ""
            [said] = undo_caveats(asked, assumed(asked))
            assert "--interface 'Ethernet4|1'" in said

    @pytest.mark.parametrize("queue", ["3", "4", "2-5"])
    def test_nor_on_one_that_is_lossless_unless_told_otherwise(self, queue):
        asked = sonic(interface="Ethernet4", parent=queue)
        own = commands(asked, assumed(asked), wred(asked), keep=False)
        assert own.apply == ""
        [said] = undo_caveats(asked, assumed(asked))
        assert "lossless" in said

    def test_a_queue_is_named_as_its_table_has_it(self):
        asked = sonic(interface="Ethernet4|1")
        assert (asked.interface, asked.parent) == ("Ethernet4", "1")
        with pytest.raises(ScenarioError, match="--parent"):
            sonic(interface="Ethernet4|1", parent="2")
        with pytest.raises(ScenarioError, match="--interface"):
            question(interface="Ethernet4|1")

    def test_what_is_not_known_comes_back_from_a_checkpoint(self):
        asked = sonic(interface="Ethernet4", parent="1")
        own = commands(asked, assumed(asked), wred(asked), keep=False)
        assert own.save == f"sudo config checkpoint {OWN}-before"
        assert own.undo == f"sudo config rollback {OWN}-before"
        after = patched(CONFIG, patch_in(own.apply))
        assert after["QUEUE"]["Ethernet4|1"] == {"scheduler": "scheduler.0", "wred_profile": OWN}
        assert after["WRED_PROFILE"][OWN]["green_min_threshold"] == str(10 * PACKET_BYTES)
        assert any("checkpoint" in each for each in undo_caveats(asked, assumed(asked)))

    @pytest.mark.parametrize("queue", ["1", "2"])
    def test_apply_and_undo_leave_the_configuration_as_it_was(self, queue):
        _, own = known(CONFIG, interface=f"Ethernet4|{queue}")
        after = patched(CONFIG, patch_in(own.apply))
        assert (
            after["QUEUE"][f"Ethernet4|{queue}"]["wred_profile"] == f"VERMILION_Ethernet4_{queue}"
        )
        assert patched(after, patch_in(own.undo)) == CONFIG

    def test_also_where_there_is_no_table_no_entry_or_an_older_advice(self):
        advised = patched(CONFIG, patch_in(known(CONFIG)[1].apply))
        advised["WRED_PROFILE"][OWN]["green_min_threshold"] = "3000"
        without = {name: table for name, table in CONFIG.items() if name != "WRED_PROFILE"}
        without["QUEUE"] = {"Ethernet0|1": {"scheduler": "scheduler.0"}}
        for config in (advised, without, {"PORT": {"Ethernet4": {"lanes": "1"}}}):
            _, own = known(config)
            after = patched(config, patch_in(own.apply))
            assert after != config
            assert patched(after, patch_in(own.undo)) == config

    def test_a_patch_refuses_a_queue_that_has_changed_since(self):
        _, own = known(CONFIG)
        changed = copy.deepcopy(CONFIG)
        changed["QUEUE"]["Ethernet4|1"]["wred_profile"] = "AZURE_LOSSLESS"
        with pytest.raises(ValueError, match="QUEUE"):
            patched(changed, patch_in(own.apply))
        with pytest.raises(ValueError, match="QUEUE"):
            patched(changed, patch_in(own.undo))

    def test_wred_that_stands_is_simulated_as_wred(self):
        present, _ = known(CONFIG, interface="Ethernet4|2", ecn="on")
        assert present.stated
        assert present.queue.discipline == "wred"
        assert present.queue.parameters["green_min_threshold"] == pytest.approx(1048576 / 1514)
        assert present.queue.parameters["ecn"] is True
        assert "AZURE_LOSSLESS" in present.words
        present, _ = known(CONFIG)
        assert present.queue.discipline == "drop-tail"

    @pytest.mark.parametrize(
        ("config", "interface", "expected"),
        [
            (CONFIG, "Ethernet4|3", "lossless"),
            (CONFIG, "Ethernet4|2-5", "lossless"),
            (CONFIG, "Ethernet4", "one queue"),
            ({"QUEUE": {"Ethernet4|0-2": {"scheduler": "a"}}}, "Ethernet4|1", "Ethernet4|0-2"),
            ({"QUEUE": {"Ethernet4|1": {"wred_profile": "X"}}}, "Ethernet4|1", "WRED_PROFILE"),
            ({"QUEUE": []}, "Ethernet4|1", "CONFIG_DB"),
            ([], "Ethernet4|1", "CONFIG_DB"),
            (
                {
                    "QUEUE": {"Ethernet4|1": {"wred_profile": "X"}},
                    "WRED_PROFILE": {"X": {**LOSSLESS, "green_max_threshold": "much"}},
                },
                "Ethernet4|1",
                "green_max_threshold",
            ),
        ],
    )
    def test_what_cannot_be_advised_on_is_refused(self, config, interface, expected):
        asked = sonic(interface=interface)
        with pytest.raises(ScenarioError, match=expected.replace("|", r"\|")):
            sonic_present(asked, json.dumps(config), "--now-json")


class TestLinux:
    def test_a_deleted_queue_is_said_to_be_all_that_undo_does(self):
        asked = question()
        own = commands(asked, assumed(asked), pie(), keep=False)
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
        assert own.save.startswith("tc -s -d qdisc show dev eth0 > ")
        [said] = undo_caveats(asked, assumed(asked))
        assert "default_qdisc" in said
        assert "--now" in said

    def test_nothing_is_said_where_tc_has_shown_what_stands(self):
        asked = question()
        present = present_of(asked, read_tc_text("qdisc pfifo 8001: dev eth0 root limit 9p"), "")
        assert undo_caveats(asked, present) == []
        assert commands(asked, present, pie(), keep=False).save == ""

    def test_what_the_kernel_puts_below_a_card_with_several_queues_is_read(self):
        asked = question()
        text = (
            "qdisc mq 0: dev eth0 root\n"
            "qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 1024 target 5ms ecn\n"
            "qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 1024 target 5ms ecn\n"
        )
        present = present_of(asked, read_tc_text(text), "")
        own = commands(asked, present, pie(), keep=False)
        # The kernel puts the same there again.
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
        assert undo_caveats(asked, present) == []

    def test_queues_below_mq_are_not_put_back_as_one(self):
        asked = question()
        text = (
            "qdisc mq 1: dev eth0 root\n"
            "qdisc codel 8001: dev eth0 parent 1:1 limit 1000p target 5ms interval 100ms\n"
            "qdisc codel 8002: dev eth0 parent 1:2 limit 1000p target 5ms interval 100ms\n"
        )
        present = present_of(asked, read_tc_text(text), "")
        own = commands(asked, present, pie(), keep=False)
        assert own.undo == (
            "tc qdisc replace dev eth0 root handle 1: mq &&\n"
            "tc qdisc replace dev eth0 parent 1:1 codel limit 1000 target 5000us interval 100000us "
            "noecn &&\n"
            "tc qdisc replace dev eth0 parent 1:2 codel limit 1000 target 5000us interval 100000us "
            "noecn"
        )
        assert own.save == ""
        assert undo_caveats(asked, present) == []

    def test_a_queue_of_the_same_kind_below_mq_is_not_told_again_what_cannot_change(self):
        """fq_codel_change refuses "flows" of a queue that is there (net/sched/sch_fq_codel.c)."""
        asked = question(interface_rate="10 Mbit/s")
        text = (
            "qdisc mq 1: dev eth0 root\n"
            "qdisc fq_codel 8001: dev eth0 parent 1:1 limit 10240p flows 1024 target 5ms ecn\n"
        )
        present = present_of(asked, read_tc_text(text), "")
        head = "tc qdisc replace dev eth0 parent 1:1 fq_codel limit 10240 "
        same = commands(asked, present, present.queue, keep=False)
        assert same.undo == f"{head}target 5000us ecn"
        other = commands(asked, present, pie(), keep=False)
        assert other.undo == f"{head}flows 1024 target 5000us ecn"

    @pytest.mark.parametrize(
        ("shown", "told"), [("999us", 1000), ("997us", 997), ("950us", 950), ("5ms", 5000)]
    )
    def test_a_time_that_misses_a_millisecond_by_the_kernels_unit_is_that_millisecond(
        self, shown, told
    ):
        """CoDel's unit is 1024 ns: of 1 ms it keeps 976, or 999.4 us, and tc shows whole ones."""
        asked = question(interface_rate="10 Mbit/s")
        text = f"qdisc codel 8001: dev eth0 root limit 1000p target {shown} interval 100ms"
        own = commands(asked, present_of(asked, read_tc_text(text), ""), pie(), keep=False)
        assert f" target {told}us " in own.undo

    def test_classes_that_a_shaper_does_away_with_are_not_put_below_it(self):
        text = (
            "qdisc prio 1: dev eth0 root bands 3\n"
            "qdisc codel 8001: dev eth0 parent 1:1 limit 1000p target 5ms interval 100ms\n"
        )
        asked = question()
        present = present_of(asked, read_tc_text(text), "")
        own = commands(asked, present, pie(), keep=False)
        assert own.shaper
        assert own.undo == "tc qdisc del dev eth0 root handle 7e51:"
        assert own.save.startswith("tc -s -d qdisc show dev eth0 > ")
        assert any("prio with codel" in each for each in undo_caveats(asked, present))
        asked = question(interface_rate="10 Mbit/s")
        own = commands(asked, present, pie(), keep=False)
        assert own.undo.startswith("tc qdisc replace dev eth0 parent 1:1 codel ")
        assert undo_caveats(asked, present) == []

    @pytest.mark.parametrize(
        ("default", "parent"),
        [
            ("default 0x20", "1:20"),
            ("default 0x1a", "1:1a"),
            ("default 20", "1:20"),  # as tc printed it before 5.0, hexadecimal too
            ("", "1:1"),
        ],
    )
    def test_a_class_of_htb_that_is_not_shown_is_the_one_that_htb_names(self, default, parent):
        asked = question()
        text = f"qdisc htb 1: dev eth0 root refcnt 2 r2q 10 {default} direct_packets_stat 0"
        present = present_of(asked, read_tc_text(text), "")
        assert present.parent == parent
        assert any(f"{parent}. " in each and "--parent" in each for each in present.notes)
        own = commands(asked, present, pie(), keep=False)
        assert own.apply.startswith(f"tc qdisc replace dev eth0 parent {parent} pie ")

    @pytest.mark.parametrize(
        ("root", "limit"),
        [
            # sch_htb.c tells the interface's txqueuelen; sch_fifo.c gives a class's queue as much.
            ("htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_qlen 3", 3),
            ("htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_qlen 1000", 1000),
            ("hfsc 1: dev eth0 root refcnt 2 default 10", 1000),
        ],
    )
    def test_what_a_class_has_by_itself_comes_back_by_itself(self, root, limit):
        asked = question()
        present = present_of(asked, read_tc_text(f"qdisc {root}"), "--now")
        assert present.queue.discipline == "drop-tail"
        assert present.queue.parameters["limit"] == limit
        own = commands(asked, present, pie(), keep=False)
        assert own.apply.startswith("tc qdisc replace dev eth0 parent 1:10 pie ")
        assert own.undo == "tc qdisc del dev eth0 parent 1:10"
        # Below tbf nothing does: there it would leave a queue that drops everything.
        tbf = "qdisc tbf 1: dev eth0 root refcnt 2 rate 10Mbit burst 5Kb lat 40ms"
        present = present_of(asked, read_tc_text(tbf), "--now")
        assert "parent 1:1 bfifo limit " in commands(asked, present, pie(), keep=False).undo

    @pytest.mark.parametrize(
        ("ewma", "scell_log", "bandwidth"),
        [
            # 1000 bytes in these ticks of 64 ns, from tc_red_eval_idle_damping by hand: with 2^-9
            # 15864 ticks of the table's end for each; 2^15 cells of 512 at most, and more than half
            # of that. A line of 100 Mbit/s has 1250 ticks and so 16.
            (9, 15, (99e6, 240e6)),
            (9, 16, (50e6, 121e6)),
            (5, 13, (29e6, 59e6)),
        ],
    )
    def test_a_red_gets_the_idle_table_back_that_it_had(self, ewma, scell_log, bandwidth):
        text = (
            "qdisc red 8001: dev eth0 root refcnt 2 limit 60000b min 15000b max 45000b "
            f"ewma {ewma} probability 0.1 Scell_log {scell_log}"
        )
        asked = question()
        present = present_of(asked, read_tc_text(text), "--now")
        assert present.missing == ()
        assert present.restore is not None
        rate = float(present.restore.partition("bandwidth ")[2].partition("bit")[0])
        assert bandwidth[0] < rate < bandwidth[1]

    @pytest.mark.parametrize("weight_log", [2, 4, 5, 9, 10, 17])
    @pytest.mark.parametrize("packet", [64, 500, 1000, 1500])
    def test_a_bandwidth_makes_the_table_with_older_and_newer_tc(self, packet, weight_log):
        """By tc_red_eval_idle_damping and tc_calc_xmittime, which rounds up since d947f365."""
        found = {}
        for wanted in range(28):
            bit_per_s = bandwidth_for(wanted, weight_log, packet)
            if bit_per_s is None:
                continue
            us = 1e6 * (packet / (bit_per_s // 8))
            before, since = int(int(us) * 15.625), math.ceil(us * 15.625)
            decay = -math.log(1.0 - 1.0 / 2**weight_log)
            made = [
                next(log for log in range(32) if 31.0 * each / decay / 2**log < 512.0)
                for each in (before, since)
            ]
            assert made[1] == wanted
            assert made[0] == wanted or us < 1.0  # which the older has none for
            found[wanted] = us
        assert sum(us >= 1.0 for us in found.values()) >= 4

    def test_a_table_that_two_ticks_alone_make_has_a_bandwidth(self):
        """31 / -ln(1 - 2^-4) is 480: less than 512 of cells of 2 ticks are 2 of them, not 1 or 3.

        64 bytes take more than one tick of 64 ns, and at most two, from 4 to below 8 Gbit/s.
        """
        assert 4e9 <= bandwidth_for(1, 4, 64) < 8e9

    def test_what_tc_cannot_be_brought_to_is_named(self):
        # With 2^-9 one tick for a packet makes 5; 3 would need a part of a tick.
        text = (
            "qdisc red 8001: dev eth0 root refcnt 2 limit 60000b min 15000b max 45000b ewma 9 "
            "probability 0.1 Scell_log 3"
        )
        asked = question()
        present = present_of(asked, read_tc_text(text), "--now")
        assert present.missing == ("Scell_log",)
        assert commands(asked, present, pie(), keep=False).save

    @pytest.mark.parametrize("root", ["htb 1: root refcnt 2 r2q 10 default 0", "hfsc 1: root"])
    def test_without_a_default_class_the_class_has_to_be_named(self, root):
        # htb lets what is in no class pass at once, hfsc drops it.
        shown = read_tc_text(f"qdisc {root}")
        with pytest.raises(ScenarioError, match=r"without a default class.*--parent"):
            present_of(question(), shown, "--now")
        asked = question(parent="1:10")
        own = commands(asked, present_of(asked, shown, "--now"), pie(), keep=False)
        assert own.apply.startswith("tc qdisc replace dev eth0 parent 1:10 pie ")
        assert own.undo == "tc qdisc del dev eth0 parent 1:10"

    def test_options_that_do_not_come_back_are_named_and_kept_in_a_file(self):
        text = (
            "qdisc sfq 8001: dev eth0 root limit 127p quantum 1514b divisor 1024 ewma 6 min 3000b "
            "max 9000b probability 0.1 ecn"
        )
        asked = question()
        present = present_of(asked, read_tc_text(text), "")
        own = commands(asked, present, pie(), keep=False)
        assert own.undo.endswith("root sfq limit 127 quantum 1514 divisor 1024")
        assert own.save.startswith("tc -s -d qdisc show dev eth0 > ")
        [said] = undo_caveats(asked, present)
        assert "sfq back without ewma, min, max, probability, ecn." in said


@pytest.mark.parametrize("rate", [None, "10 Mbit/s"])
def test_of_the_policies_that_a_cisco_router_gets_none_is_left(rate):
    """What one names goes after it: a policy map that is in use stays (no policy-map, IOS)."""
    asked = question(device="cisco", interface="Gi0/1", interface_rate=rate)
    own = commands(asked, assumed(asked), assumed(asked).queue, keep=False)
    made = [each for each in own.apply.splitlines() if each.startswith("policy-map ")]
    assert len(made) == (1 if rate else 2)
    assert own.undo.splitlines() == [
        "interface Gi0/1",
        f" no service-policy output {made[-1].split()[1]}",
        *(f"no {each}" for each in reversed(made)),
    ]


def test_a_cisco_router_is_said_to_refuse_a_second_policy():
    asked = question(device="cisco")
    [said] = undo_caveats(asked, assumed(asked))
    assert "service-policy output" in said


def test_who_has_a_priority_queue_on_a_cisco_router_is_told_how_to_keep_it():
    """Random-detect cannot be configured with a priority service, nor priority in class-default.

    Source: Cisco 10000 Series Router Quality of Service Configuration Guide, OL-7433-09, chapter 8.
    """
    asked = question(device="cisco")
    [said] = undo_caveats(asked, assumed(asked))
    assert "priority class (LLQ)" in said
    assert "leave it on" in said
    assert "into its class-default" in said
