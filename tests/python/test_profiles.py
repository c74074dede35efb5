"""Device profiles: only what a device has is proposed, and its own syntax says it.

Expected numbers are tc's (captured netlink messages of iproute2 6.1, tc/tc_red.c), the SONiC
YANG model's and Cisco's command references'.
"""

import itertools
import json
import math
import re

import numpy as np
import pytest

import vermilion
from vermilion import load_scenario
from vermilion.profiles import PROFILES, Device, Place
from vermilion.profiles.linux_red import smallest_bursts
from vermilion.profiles.red_setting import weight_log_of_burst
from vermilion.scenario import ScenarioError, parse_scenario
from vermilion.search import SettableSpace, Space
from vermilion.tuning import Seeds

LINUX = """
duration = "25 s"
warm_up = "5 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
[links.bottleneck.queue]
discipline = "linux-red"
limit = "150 kB"
min_threshold = "15 kB"
max_threshold = "45 kB"
max_probability = 0.1
weight_log = 5
[flows.all]
count = 16
path = ["bottleneck"]
rtt = "28 ms"
sender = "reno"
start = "0 s .. 1 s"
[tuning]
parameters = ["links.bottleneck.queue.min_threshold", "links.bottleneck.queue.max_threshold",
              "links.bottleneck.queue.max_probability", "links.bottleneck.queue.weight_log"]
objective = { name = "queue-deviation", link = "bottleneck", target = "30 packets" }
"""
QUEUE = "links.bottleneck.queue."
SEEDS = Seeds.counted(1, search=1, re_evaluation=1, comparison=4)


def linux(**values):
    """A Linux RED queue as written above, with other values of its parameters."""
    text = LINUX
    for name, value in values.items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {json.dumps(value)}", text)
    return parse_scenario(text)


def device(profile, scenario, *names):
    names = names or ("min_threshold", "max_threshold", "max_probability", "weight_log")
    return Device(profile, scenario, [QUEUE + name for name in names])


def setting(low, high, probability, **weight):
    values = {"min_threshold": low, "max_threshold": high, "max_probability": probability}
    return {QUEUE + name: value for name, value in {**values, **weight}.items()}


def words(command):
    """What follows each of tc's words."""
    return dict(itertools.pairwise(command.split()))


class TestWlogOfBurst:
    @pytest.mark.parametrize(
        ("low", "size", "burst", "expected"),
        [
            # Captured from tc.
            (30_000, 1000, 55, 5),
            (15_000, 1000, 25, 4),
            (20_000, 1000, 41, 5),
            (20_000, 1500, 30, 5),
            (30_000, 1500, 20, 1),
            # From tc as well, at min 15000 and avpkt 1000.
            *[
                (15_000, 1000, burst, log)
                for burst, log in {
                    16: 2, 20: 3, 25: 4, 30: 5, 40: 6, 50: 7, 75: 8, 100: 9, 150: 10, 200: 11,
                    60: 7, 400: 13, 800: 15, 26: 4,
                }.items()
            ],
            (10_000, 1000, 25, 5),
        ],
    )  # fmt: skip
    def test_it_is_that_of_tc(self, low, size, burst, expected):
        assert weight_log_of_burst(low, burst, size) == expected

    def test_a_burst_that_tc_finds_too_small_has_none(self):
        assert weight_log_of_burst(15_000, 10, 1000) is None  # "burst 10 is too small ?"
        assert weight_log_of_burst(500, 2, 1000) is None  # "failed to calculate EWMA constant"

    @pytest.mark.parametrize(("low", "size"), [(15_000, 1000), (1500, 1500), (6040, 1000)])
    def test_the_smallest_burst_is_found_for_every_weight_that_has_one(self, low, size):
        by_trying = {}
        for burst in range(1, 3000):
            weight_log = weight_log_of_burst(low, burst, size)
            if weight_log is not None:
                by_trying.setdefault(weight_log, burst)
        found = smallest_bursts(low, size)
        assert {log: burst for log, burst in found.items() if burst < 3000} == by_trying


class TestLinuxRed:
    def test_a_setting_is_written_as_tc_takes_it(self):
        # By hand: (1 - (1 - 1/256)^91) * 256 = 76.7 < 91 + 1 - 15, and 76.0 is enough for 90.
        command = device("linux-red", linux()).command(
            setting(15_000.0, 45_000.0, 0.1, weight_log=9.0), Place("eth0")
        )
        probability = 429496730 / 2**32
        assert command == (
            "tc qdisc change dev eth0 root red limit 150000 min 15000 max 45000 avpkt 1000 "
            f"burst 91 bandwidth 10000000bit probability {probability!r} ecn"
        )

    def test_it_may_stand_below_a_shaper(self):
        command = device("linux-red", linux()).command(
            setting(15_000.0, 45_000.0, 0.1, weight_log=5.0), Place("eth0", "1:10")
        )
        assert command.startswith("tc qdisc change dev eth0 parent 1:10 red limit 150000 ")

    def test_what_tc_makes_of_the_command_is_the_setting_that_was_simulated(self):
        random = np.random.default_rng(1)
        profile = device("linux-red", linux())
        for _ in range(200):
            wanted = setting(
                random.uniform(0, 60_000), random.uniform(0, 200_000), random.uniform(1e-6, 1.0),
                weight_log=float(random.integers(1, 20)),
            )  # fmt: skip
            near = profile.nearest(wanted)
            said = words(profile.command(wanted, Place()))
            low, high, size = (int(said[name]) for name in ("min", "max", "avpkt"))
            weight_log = weight_log_of_burst(low, int(said["burst"]), size)
            assert (low, high) == (near[QUEUE + "min_threshold"], near[QUEUE + "max_threshold"])
            assert weight_log == near[QUEUE + "weight_log"]
            # q_red.c: max_P = probability * pow(2, 32), cut to 32 bits.
            steps = int(float(said["probability"]) * 2**32)
            assert 0 < steps < 2**32
            assert steps / 2**32 == near[QUEUE + "max_probability"]
            # red_check_params of the kernel, and tc_red_eval_P.
            assert low < high
            assert high.bit_length() + weight_log < 32
            assert float(said["probability"]) / (high - low) * 2**31 > 1.0

    def test_what_the_device_has_stays_as_it_is(self):
        random = np.random.default_rng(2)
        for profile in ("linux-red", "cisco"):
            queue = device(profile, linux())
            for _ in range(100):
                wanted = setting(
                    random.uniform(0, 60_000), random.uniform(0, 200_000), random.uniform(0, 1),
                    weight_log=random.uniform(1, 20),
                )  # fmt: skip
                near = queue.nearest(wanted)
                assert queue.nearest(near) == near

    def test_a_weight_that_no_burst_yields_gives_way_to_the_nearest_that_one_does(self):
        # At a minimum threshold of one packet, only a burst of 1 is accepted, with Wlog 1.
        near = device("linux-red", linux()).nearest(setting(0.0, 9000.0, 0.1, weight_log=9.0))
        assert near[QUEUE + "min_threshold"] == 1000.0
        assert near[QUEUE + "weight_log"] == 1.0

    def test_fine_weights_give_way_to_high_thresholds(self):
        near = device("linux-red", linux()).nearest(setting(3e5, 5e8, 0.5, weight_log=12.0))
        assert near[QUEUE + "weight_log"] == 31 - math.ceil(math.log2(5e8))

    def test_red_as_published_can_stand_for_it(self):
        scenario = load_scenario("varying-load")
        queue = device("linux-red", scenario, *("min_threshold", "max_threshold", "weight"))
        values = {
            QUEUE + "min_threshold": 9.87654,
            QUEUE + "max_threshold": 30.0,
            QUEUE + "weight": 0.002,
        }
        near = queue.nearest(values)
        assert near[QUEUE + "min_threshold"] == 9.877  # packets of 1000 bytes
        assert near[QUEUE + "weight"] == 2.0**-9
        assert "min 9877 max 30000 avpkt 1000" in queue.command(values)

    def test_fixed_values_that_the_device_does_not_have_are_pointed_out(self):
        queue = device("linux-red", load_scenario("varying-load"), "max_probability")
        [note] = queue.notes({QUEUE + "max_probability": 0.25})
        assert note.startswith("links.bottleneck.queue.weight is 0.002 in the scenario")
        assert "0.00195312" in note

    def test_the_flags_are_those_of_the_queue(self):
        text = LINUX.replace("weight_log = 5", "weight_log = 5\necn = true\nno_drop = true")
        known = setting(15e3, 45e3, 0.1, weight_log=5.0)
        assert device("linux-red", parse_scenario(text)).command(known).endswith(" ecn nodrop")
        text = text.replace("ecn = true", "ecn = false").replace("no_drop = true", "")
        assert "ecn" not in device("linux-red", parse_scenario(text)).command(known)


class TestSonic:
    NAMES = ("min_threshold", "max_threshold", "max_probability")

    def test_a_setting_is_a_json_patch_of_strings(self):
        scenario = load_scenario("varying-load")
        queue = device("sonic", scenario, *self.NAMES)
        patch = json.loads(queue.command(setting(15.0, 45.0, 0.1), Place("AZURE_LOSSLESS")))
        written = {entry["path"]: entry["value"] for entry in patch}
        place = "/WRED_PROFILE/AZURE_LOSSLESS/"
        assert written[place + "green_min_threshold"] == "15000"
        assert written[place + "red_max_threshold"] == "45000"
        assert written[place + "yellow_drop_probability"] == "10"
        assert written[place + "wred_green_enable"] == "true"
        assert written[place + "ecn"] == "ecn_all"
        assert {entry["op"] for entry in patch} == {"add"}

    @pytest.mark.parametrize(
        ("probability", "percent"), [(0.004, 1), (0.014, 1), (0.016, 2), (0.5, 50), (1.0, 100)]
    )
    def test_probabilities_are_whole_percents(self, probability, percent):
        queue = device("sonic", load_scenario("varying-load"), *self.NAMES)
        near = queue.nearest(setting(15.0, 45.0, probability))
        assert near[QUEUE + "max_probability"] == percent / 100

    def test_the_weight_is_the_switch_s_own(self):
        with pytest.raises(ScenarioError, match="which the profile sonic can set") as refused:
            device("sonic", load_scenario("varying-load"), "weight")
        assert refused.value.field == "tuning.parameters"


WRED = load_scenario("varying-load").with_values({f"{QUEUE}discipline": "wred"})
COLOURS = ("green", "yellow", "red")
OF_COLOURS = [
    f"{QUEUE}{colour}_{name}"
    for colour in COLOURS
    for name in ("min_threshold", "max_threshold", "max_probability")
]
STAGES = dict(zip(OF_COLOURS, (32.0, 40.0, 0.1, 28.0, 40.0, 0.2, 24.0, 40.0, 0.5), strict=True))


class TestWred:
    """The discipline ``wred`` stands for the WRED of devices."""

    def test_each_colour_of_a_switch_has_its_own_numbers(self):
        colours = WRED.with_values({"flows.late.colour": "yellow"})
        patch = json.loads(Device("sonic", colours, OF_COLOURS).command(STAGES))
        written = {entry["path"].rpartition("/")[2]: entry["value"] for entry in patch}
        for colour, low, percent in (
            ("green", "32000", "10"),
            ("yellow", "28000", "20"),
            ("red", "24000", "50"),
        ):
            assert written[f"{colour}_min_threshold"] == low
            assert written[f"{colour}_max_threshold"] == "40000"
            assert written[f"{colour}_drop_probability"] == percent

    def test_colours_that_no_packet_has_are_treated_like_the_one_that_all_have(self):
        patch = json.loads(Device("sonic", WRED, OF_COLOURS).command(STAGES))
        written = {entry["path"].rpartition("/")[2]: entry["value"] for entry in patch}
        assert {written[f"{colour}_min_threshold"] for colour in COLOURS} == {"32000"}
        assert {written[f"{colour}_drop_probability"] for colour in COLOURS} == {"10"}
        lines = Device("cisco", WRED, OF_COLOURS).command(STAGES).splitlines()
        assert lines[3:11] == [f"random-detect precedence {n} 32 40 10" for n in range(8)]

    def test_in_byte_mode_a_packet_is_of_the_mean_size(self):
        scenario = WRED.with_values({f"{QUEUE}byte_mode": True, f"{QUEUE}mean_packet_size": 500})
        patch = json.loads(Device("sonic", scenario, OF_COLOURS).command(STAGES))
        written = {entry["path"].rpartition("/")[2]: entry["value"] for entry in patch}
        assert written["green_min_threshold"] == "16000"

    def test_the_switch_has_whole_bytes_and_percents_and_no_weight(self):
        wanted = {**STAGES, OF_COLOURS[0]: 31.4163, OF_COLOURS[5]: 0.2049}
        near = Device("sonic", WRED, OF_COLOURS).nearest(wanted)
        assert near == {**STAGES, OF_COLOURS[0]: 31.416, OF_COLOURS[5]: 0.2}
        with pytest.raises(ScenarioError, match="which the profile sonic can set"):
            Device("sonic", WRED, [f"{QUEUE}weight"])

    def test_a_router_has_whole_packets_inverses_and_powers_of_two(self):
        paths = [*OF_COLOURS, f"{QUEUE}weight"]
        wanted = {**STAGES, OF_COLOURS[3]: 27.6, OF_COLOURS[8]: 0.3, f"{QUEUE}weight": 0.002}
        near = Device("cisco", WRED, paths).nearest(wanted)
        assert near == pytest.approx(
            {**STAGES, OF_COLOURS[8]: 1 / 3, f"{QUEUE}weight": 1 / 512}, rel=1e-12
        )

    def test_a_router_tells_colours_by_their_code_points(self):
        colours = WRED.with_values({"flows.late.colour": "red"})
        lines = Device("cisco", colours, OF_COLOURS).command(STAGES).splitlines()
        assert lines[:4] == [
            "random-detect dscp-based",
            "random-detect ecn",
            "random-detect exponential-weighting-constant 9",
            "random-detect dscp 0 32 40 10",
        ]
        assert lines[4:16] == [
            f"random-detect dscp af{number}{drop} {low} 40 {denominator}"
            for number in range(1, 5)
            for drop, low, denominator in ((1, 32, 10), (2, 28, 5), (3, 24, 2))
        ]
        assert lines[16] == "queue-limit 100 packets"

    @pytest.mark.parametrize("profile", ["sonic", "cisco"])
    def test_some_colours_may_be_tuned_and_the_rest_stays(self, profile):
        green = OF_COLOURS[:3]
        near = Device(profile, WRED, green).nearest({path: STAGES[path] for path in green})
        assert near == pytest.approx({path: STAGES[path] for path in green})


class TestCisco:
    def test_a_setting_is_written_for_every_precedence(self):
        queue = device("cisco", linux())
        lines = queue.command(setting(15_400.0, 45_000.0, 0.1, weight_log=9.0)).splitlines()
        assert lines[:3] == [
            "random-detect",
            "random-detect ecn",
            "random-detect exponential-weighting-constant 9",
        ]
        assert lines[3:11] == [f"random-detect precedence {n} 15 45 10" for n in range(8)]
        assert lines[11] == "queue-limit 150 packets"

    def test_an_interface_comes_first(self):
        command = device("cisco", linux()).command(
            setting(15e3, 45e3, 0.1, weight_log=9.0), Place("GigabitEthernet0/1")
        )
        assert command.splitlines()[0] == "interface GigabitEthernet0/1"

    @pytest.mark.parametrize(
        ("wanted", "near"), [(0.09, 1 / 11), (0.4, 1 / 2), (0.9, 1.0), (1e-9, 1 / 65535)]
    )
    def test_probabilities_are_inverses_of_whole_numbers(self, wanted, near):
        moved = device("cisco", linux()).nearest(setting(15e3, 45e3, wanted, weight_log=9.0))
        assert moved[QUEUE + "max_probability"] == pytest.approx(near)

    def test_thresholds_are_whole_packets_up_to_4096(self):
        moved = device("cisco", linux()).nearest(setting(200.0, 9e6, 0.1, weight_log=20.0))
        assert moved[QUEUE + "min_threshold"] == 1000.0
        assert moved[QUEUE + "max_threshold"] == 4_096_000.0
        assert moved[QUEUE + "weight_log"] == 16.0


@pytest.mark.parametrize(
    ("discipline", "profile", "values", "near", "command"),
    [
        (
            "codel",
            "linux-codel",
            {"target": 0.0051234567, "interval": 0.1},
            {"target": 0.005123, "interval": 0.1},
            "codel limit 1000 target 5123us interval 100000us ecn",
        ),
        (
            "pie",
            "linux-pie",
            {"target": 0.015, "alpha": 0.13, "beta": 1.27},
            # RFC 8033's gains are tc's 2 and 20.
            {"target": 0.015, "alpha": 0.125, "beta": 1.25},
            "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 ecn",
        ),
        (
            "pie",
            "linux-pie",
            # tc does not send a zero, so the least gain is a sixteenth.
            {"target": 0.0, "alpha": 0.0, "beta": 32.0},
            {"target": 1e-6, "alpha": 0.0625, "beta": 2.0},
            "pie limit 1000 target 1us tupdate 15000us alpha 1 beta 32 ecn",
        ),
        (
            "fq-codel",
            "linux-fq-codel",
            {"target": 0.0051234567, "interval": 0.1, "quantum": 300.4},
            {"target": 0.005123, "interval": 0.1, "quantum": 300.0},
            (
                "fq_codel limit 10240 quantum 300 memory_limit 33554432 drop_batch 64 "
                "target 5123us interval 100000us ecn"
            ),
        ),
        (
            "fq-codel",
            "linux-fq-codel",
            # The ends of what sch_fq_codel.c accepts: 256 to 2^20, up to 2^31, from 1.
            {"quantum": 1.0, "memory_limit": 2.0**40, "drop_batch": 0.2, "ce_threshold": 0.001},
            {"quantum": 256.0, "memory_limit": 2.0**31, "drop_batch": 1.0, "ce_threshold": 0.001},
            (
                "fq_codel limit 10240 quantum 256 memory_limit 2147483648 drop_batch 1 "
                "target 5000us interval 100000us ce_threshold 1000us ecn"
            ),
        ),
        (
            "cake",
            "linux-cake",
            {"bandwidth": 20e6 + 3, "rtt": 0.0300004, "overhead": 44.2},
            {"bandwidth": 20e6, "rtt": 0.03, "overhead": 44.0},
            (
                "cake bandwidth 20000000bit diffserv3 triple-isolate rtt 30000us noatm overhead 44 "
                "mpu 0 egress no-ack-filter"
            ),
        ),
        (
            "cake",
            "linux-cake",
            {"memory_limit": 2.0**22 + 0.4},
            {"memory_limit": 2.0**22},
            (
                "cake unlimited diffserv3 triple-isolate rtt 100000us raw memlimit 4194304 "
                "egress no-ack-filter"
            ),
        ),
        (
            "fq-pie",
            "linux-fq-pie",
            {"target": 0.0201, "alpha": 0.13, "beta": 1.27, "mark_probability": 0.123},
            {"target": 0.0201, "alpha": 0.125, "beta": 1.25, "mark_probability": 0.12},
            (
                "fq_pie limit 10240 quantum 1514 target 20100us tupdate 15000us alpha 2 beta 20 "
                "ecn_prob 12 nobytemode no_dq_rate_estimator ecn"
            ),
        ),
        (
            "fq-pie",
            "linux-fq-pie",
            # tc refuses 100 %, and a quantum may not exceed 2^20.
            {"mark_probability": 1.0, "quantum": 1e9, "limit": 0.0},
            {"mark_probability": 0.99, "quantum": 2.0**20, "limit": 1.0},
            (
                "fq_pie limit 1 quantum 1048576 target 15000us tupdate 15000us alpha 2 beta 20 "
                "ecn_prob 99 nobytemode no_dq_rate_estimator ecn"
            ),
        ),
    ],
)
def test_queues_by_delay_are_written_in_microseconds(discipline, profile, values, near, command):
    text = LINUX[: LINUX.index("[tuning]")]
    text = re.sub(r"(?s)discipline = .*?\[flows", f'discipline = "{discipline}"\n[flows', text)
    queue = device(profile, parse_scenario(text), *values)
    paths = {QUEUE + name: value for name, value in values.items()}
    assert queue.nearest(paths) == pytest.approx({QUEUE + name: near[name] for name in near})
    assert queue.command(paths, Place("eth0")) == f"tc qdisc change dev eth0 root {command}"


@pytest.mark.parametrize(
    ("queue", "command"),
    [
        ('limit = "77 packets"', "pfifo limit 77"),
        ('limit_bytes = "65432 bytes"', "bfifo limit 65432"),
        ('limit = "77 packets"\ndrop = "head"', "pfifo_head_drop limit 77"),
    ],
)
def test_a_drop_tail_queue_is_written_as_the_kind_that_drops_as_it_does(queue, command):
    profile = PROFILES["linux-fifo"](fifo(queue), "bottleneck")
    assert profile.command({}, Place("eth0")) == f"tc qdisc change dev eth0 root {command}"


@pytest.mark.parametrize(
    "queue", ['limit = "9 packets"\ndrop = "random"', 'limit_bytes = "9 bytes"\ndrop = "head"']
)
def test_a_drop_that_linux_does_not_have_is_not_written_as_another(queue):
    with pytest.raises(ScenarioError, match=r"links\.bottleneck\.queue\.drop: "):
        PROFILES["linux-fifo"](fifo(queue), "bottleneck")


def fifo(queue):
    """A scenario with a drop-tail queue."""
    text = LINUX[: LINUX.index("[tuning]")]
    words = f'discipline = "drop-tail"\n{queue}\n[flows'
    return parse_scenario(re.sub(r"(?s)discipline = .*?\[flows", words, text))


def by_flows(more):
    """A scenario with a queue by flows."""
    text = LINUX[: LINUX.index("[tuning]")]
    return parse_scenario(re.sub(r"(?s)discipline = .*?\[flows", f"{more}\n[flows", text))


def test_a_queue_by_flows_keeps_their_number_while_it_is_in_use():
    usual = by_flows('discipline = "fq-codel"')
    with pytest.raises(ScenarioError, match="which the profile linux-fq-codel can set"):
        device("linux-fq-codel", usual, "flows")
    values = {QUEUE + "target": 0.005}
    assert device("linux-fq-codel", usual, "target").notes(values) == []
    fewer = device("linux-fq-codel", by_flows('discipline = "fq-codel"\nflows = 64'), "target")
    assert "flows" not in fewer.command(values)
    [note] = fewer.notes(values)
    assert note.endswith("it has to be made with: fq_codel flows 64")


def test_the_switches_of_fq_pie_are_said_either_way():
    on = 'discipline = "fq-pie"\nbyte_mode = true\nestimate_rate = true\necn = false'
    command = device("linux-fq-pie", by_flows(on), "target").command({QUEUE + "target": 0.01})
    assert command.endswith("ecn_prob 10 bytemode dq_rate_estimator noecn")


@pytest.mark.parametrize("discipline", ["fq-codel", "fq-pie"])
def test_a_queue_by_flows_is_tuned_to_what_the_device_has(discipline):
    scenario = by_flows(f'discipline = "{discipline}"')
    found = vermilion.tune(
        scenario, parameters=[QUEUE + "target", QUEUE + "quantum"],
        boxes={QUEUE + "quantum": (256.0, 9000.0)}, profile=f"linux-{discipline}",
        objective="links.bottleneck.sojourn_ms.mean", constraints=[], seeds=SEEDS, budget=20,
        fidelity="full",
    )  # fmt: skip
    queue = device(f"linux-{discipline}", scenario, "target", "quantum")
    assert queue.nearest(found.parameters) == found.parameters
    assert found.parameters[QUEUE + "quantum"].is_integer()
    assert discipline.replace("-", "_") in found.device.command


def test_a_search_only_proposes_what_the_device_has():
    scenario = linux()
    space = Space.from_scenario(scenario)
    queue = Device("cisco", scenario, space.names)
    settable = SettableSpace(space, queue)
    random = np.random.default_rng(3)
    for point in random.random((300, 4)):
        values = settable.values(tuple(point))
        assert queue.nearest(values) == values
        # Going back and forth ends where it began: points of one setting are one candidate.
        assert settable.values(settable.point(values)) == values


def test_points_that_mean_one_setting_are_simulated_once():
    scenario = linux()
    only = [QUEUE + "weight_log"]
    found = vermilion.tune(
        scenario, parameters=only, profile="cisco", seeds=SEEDS, budget=60,
        search="random-search", boxes={only[0]: (4.0, 6.0)}, fidelity="full", exactly=True,
    )  # fmt: skip
    assert found.evaluations == 60
    # Three weights, one of them the incumbent's: each once in the search.
    assert found.race.leaders == 2
    assert found.simulations == 3 + found.race.simulations + 2 * 4


def test_a_recommendation_has_the_device_s_own_words():
    found = vermilion.tune(
        linux(), profile="linux-red", place=Place("eth0"), seeds=SEEDS, budget=40
    )
    document = json.loads(found.to_json())
    assert document["device"]["profile"] == "linux-red"
    said = words(document["device"]["command"])
    assert float(said["min"]) == found.chosen[QUEUE + "min_threshold"]
    assert document["device"]["command"] in str(found)


@pytest.mark.parametrize(
    ("profile", "field", "expected"),
    [
        ("linux", "profile", '"linux-red"'),
        ("linux-pie", "links.bottleneck.queue.discipline", '"pie"'),
    ],
)
def test_a_profile_that_does_not_fit_is_refused(profile, field, expected):
    with pytest.raises(ScenarioError) as refused:
        vermilion.tune(linux(), profile=profile)
    assert refused.value.field == field
    assert expected in str(refused.value)


def test_only_queues_are_devices():
    scenario = load_scenario("varying-load")
    with pytest.raises(ScenarioError, match="parameters of queues"):
        Device("linux-red", scenario, ["flows.early.sender.ecn"])


def test_every_profile_has_a_name_and_a_line():
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert 0 < len(profile.summary) < 80


@pytest.mark.parametrize(
    ("ecn", "hard", "said"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_what_tc_calls_harddrop_is_set_where_marks_are(ecn, hard, said):
    scenario = linux().with_values({f"{QUEUE}ecn": ecn})
    wanted = setting(15_000.0, 45_000.0, 0.1, weight_log=5, drop_above_maximum=hard)
    queue = device("linux-red", scenario, *(path.removeprefix(QUEUE) for path in wanted))
    assert queue.nearest(wanted)[f"{QUEUE}drop_above_maximum"] is hard
    assert (" harddrop" in queue.command(wanted)) is said
