"""Scenarios on a real Linux kernel: that it is stepped exactly, set up as told, measured rightly.

What is expected comes from the scenario's own numbers, or from a run of the same kernel that other
programs have made and measured (``tests/reference/linux.json``).
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from linux_guest import kernel_or_skip
from reference_comparison import reference
from snmpd_process import program_or_skip
from vermilion import parse_scenario, run
from vermilion.online import run_online
from vermilion.routers import RouterError
from vermilion.scenario import load_scenario
from vermilion.scenario.errors import ScenarioError
from vermilion_lab.kernel_plant import KernelPlant, run_on_kernel

SHUT_RED = Path(__file__).parents[2] / "benches" / "kernel_networks" / "shut-red.toml"
SMALL = """
duration = "3 s"
warm_up = "1 s"
settle = "0 s"
[links.b]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "pie" }
[flows.a]
count = 4
path = ["b"]
rtt = "28 ms"
sender = "reno"
start = "0 s .. 500 ms"
"""


@pytest.fixture(scope="module", autouse=True)
def _kernel():
    kernel_or_skip()


WRITES_TO_NULL = """
import os
with open(os.devnull, "r+b", buffering=0) as null:
    written = null.write(b"anything"), null.read(1)
with open("/mnt/outcome", "w") as outcome:
    print(*written, file=outcome)
"""
RUNS_IT = """
import sys
from pathlib import Path
from vermilion_lab.kernel_plant.guest import Guest
with Guest(program=Path(sys.argv[1]), stepped=False) as guest:
    guest.wait(30.0)
    print((guest.job / "outcome").read_text(), end="")
"""


def without_timing(result):
    return {key: value for key, value in result.data.items() if key not in {"wall_s", "cpu_s"}}


def test_one_seed_gives_one_run_and_another_seed_another():
    scenario = parse_scenario(SMALL)
    first, again, other = (without_timing(run_on_kernel(scenario, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first["links"] != other["links"]


def test_a_guest_has_devices_of_its_own(tmp_path):
    """In some containers ``/dev/null`` is a plain file, and the guest sees files read-only."""
    program = tmp_path / "program.py"
    program.write_text(WRITES_TO_NULL, encoding="utf-8")
    plain = tmp_path / "plain"
    plain.touch()
    as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        [
            *[
                "unshare",
                *as_root,
                "--mount",
                "sh",
                "-c",
                'mount --bind "$0" /dev/null && exec "$@"',
            ],
            *[str(plain), sys.executable, "-c", RUNS_IT, str(program)],
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "8 b''\n"), done.stderr


def test_a_kernel_that_others_have_measured_is_measured_alike():
    """Case L10: 16 flows of Reno over PIE, from 10 to 60 s.

    Over that window the mean queue of single seeds has a standard deviation of 0.7 %, over 20 s of
    it one of 4 %.
    """
    [case] = [each for each in reference("linux")["cases"] if each["case"] == "L10"]
    [found] = case["mean_sd"].values()
    [known], goodput = found["queues"], found["goodput"]["all"]
    text = f"""
        duration = "60 s"
        warm_up = "10 s"
        [links.r0]
        rate = "10 Mbit/s"
        delay = "0 ms"
        queue = {{ discipline = "pie", target = "15 ms" }}
        [flows.all]
        count = 16
        path = ["r0"]
        # There it is all of it; htb takes no time for a transmission, which is added here.
        rtt = "{case["settings"]["rtt"] - 1514 * 8 / 1e4} ms"
        sender = "reno"
        packet_size = "1514 bytes"
        header_size = "66 bytes"
        start = "0 s .. 1 s"
    """
    result = run_on_kernel(parse_scenario(text), 1)
    link, flows = result.link("r0").total, result.flows("all").total
    assert link["queue_bytes"]["mean"] == pytest.approx(known["bytes_mean"][0], rel=0.03)
    assert link["drop_rate"] == pytest.approx(known["drop_rate"][0], rel=0.04)
    assert link["utilization"] == pytest.approx(1.0, abs=0.005)
    assert flows["goodput_bit_per_s"]["total"] == pytest.approx(goodput["sum"][0], rel=0.01)
    assert flows["jain_index"] == pytest.approx(goodput["jain"][0], abs=0.02)
    # Every packet that was dropped was sent again, but for the last few; some needlessly.
    assert 0.98 * link["drops"] < flows["retransmissions"] < 1.2 * link["drops"]


def test_the_metrics_are_those_of_the_simulator():
    scenario = parse_scenario(SMALL)
    ours, theirs = run(scenario).data, run_on_kernel(scenario).data

    def keys(data, where=""):
        for name, value in data.items():
            yield f"{where}{name}"
            if isinstance(value, dict):
                yield from keys(value, f"{where}{name}.")

    absent = set(keys(ours)) - set(keys(theirs))
    assert set(keys(theirs)) <= set(keys(ours))
    # What a kernel does not tell.
    assert {name.rpartition(".")[2] for name in absent} == {
        "events",
        "forced_drops",
        "overflow_drops",
        "sojourn_packet_s",
    }


def test_a_link_sends_one_packet_after_another_also_when_it_was_idle():
    """Eight datagrams at once wait for none to seven others, each for 8 ms, every 104 ms."""
    text = """
        duration = "21 s"
        warm_up = "1 s"
        settle = "0 s"
        [links.b]
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = { discipline = "drop-tail", limit = "100 packets" }
        [flows.datagrams]
        count = 8
        path = ["b"]
        rtt = "28 ms"
        traffic = { kind = "constant-rate", rate = "77 kbit/s" }
    """
    link = run_on_kernel(parse_scenario(text)).link("b").total
    waiting = link["queue_packets"]
    assert waiting["max"] == 7
    assert waiting["mean"] == pytest.approx(sum(range(8)) * 8e-3 / (8000 / 77e3), rel=0.02)
    assert link["utilization"] == pytest.approx(8 * 0.077, rel=0.01)


def test_a_fast_link_loses_nothing_of_its_rate():
    """A timer that is late by a microsecond would cost 0.3 % of a link on which 80 are a packet."""
    text = """
        duration = "3 s"
        warm_up = "1 s"
        [links.b]
        rate = "100 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "drop-tail", limit = "60 packets" }
        [flows.cubic]
        count = 20
        path = ["b"]
        rtt = "28 ms"
        sender = { congestion_control = "cubic", option_set = "linux" }
        [flows.datagrams]
        path = ["b"]
        rtt = "28 ms"
        traffic = { kind = "constant-rate", rate = "60 Mbit/s" }
    """
    link = run_on_kernel(parse_scenario(text)).link("b").total
    # 2 s of 1000 bytes; two packets at the ends of the window, and some are handshakes.
    assert link["packets_forwarded"] == pytest.approx(2 * 100e6 / 8000, abs=5)


def test_what_changes_at_a_moment_changes_then():
    changes = """
        [[changes]]
        at = "2 s"
        link = "b"
        rate = "1 Mbit/s"
        queue = { target = "20 ms" }
    """
    scenario = parse_scenario(SMALL.replace('"pie"', '"codel"') + changes)
    result = run_on_kernel(scenario, 1)
    before, after = result.link("b").phases
    assert before["packets_forwarded"] == pytest.approx(500, rel=0.02)
    assert after["packets_forwarded"] == pytest.approx(125, rel=0.03)
    assert after["utilization"] == pytest.approx(1.0, abs=0.02)


def test_data_crosses_every_link_of_its_path_and_acknowledgements_theirs():
    text = """
        duration = "4 s"
        warm_up = "1 s"
        [links.first]
        rate = "4 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "drop-tail", limit = "50 packets" }
        [links.second]
        rate = "2 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "linux-red", limit = "60000 bytes", max_threshold = "30000 bytes" }
        [links.back]
        rate = "1 Mbit/s"
        delay = "5 ms"
        queue = { discipline = "fq-codel" }
        [flows.through]
        count = 2
        path = ["first", "second"]
        return_path = ["back"]
        rtt = "40 ms"
        sender = { congestion_control = "cubic", ecn = true }
        [flows.calls]
        path = ["second"]
        rtt = "20 ms"
        packet_size = "500 bytes"
        traffic = { kind = "constant-rate", rate = "400 kbit/s" }
        [flows.pages]
        path = ["first"]
        rtt = "20 ms"
        sender = "reno"
        traffic = { kind = "transfer", size = "500 bytes" }
        start = "2 s"
    """
    result = run_on_kernel(parse_scenario(text), 1)
    through, calls = result.flows("through").total, result.flows("calls").total
    assert result.link("second").total["utilization"] == pytest.approx(1.0, abs=0.02)
    # Of 300 packets as many arrive as are not dropped (the others are marked), but for those that
    # wait at one end of the window and not at the other: six, or 2 %.
    arrived = calls["goodput_bit_per_s"]["total"] * 3.0 / (8 * 500)
    assert 300 - 6 - result.link("second").total["drops"] <= arrived <= 300 + 6
    assert through["goodput_bit_per_s"]["total"] == pytest.approx(1.6e6, rel=0.05)
    assert result.link("second").total["marks"] > 0
    # One acknowledgement for every second packet, about: those of the calls have none.
    data = result.link("first").total["packets_forwarded"]
    acknowledged = result.link("back").total["packets_forwarded"]
    assert 0.4 < acknowledged / data < 1.1
    # A handshake and a packet, 20 ms and 10 ms, and 2 ms to send them. Each waits for those that it
    # finds at the first link (few: the second is the narrower) and the one on its way, 2 ms each.
    assert result.flows("pages").total["completed"] == 1
    took = result.flows("pages").total["completion_time_s"]["mean"]
    found = result.link("first").total["queue_packets"]["max"]
    assert found <= 3
    assert 0.030 <= took <= 0.032 + 2 * (found + 1) * 2e-3


@pytest.mark.parametrize(("least", "most"), [(6200, 6800), (800, 1600)])
def test_a_red_queue_for_which_tc_finds_no_weight_is_made_all_the_same(least, most):
    """Thresholds close together, and a minimum below a packet; what stands is what was meant."""
    queue = (
        f'{{ discipline = "linux-red", min_threshold = "{least} bytes", '
        f'max_threshold = "{most} bytes", weight_log = 2 }}'
    )
    scenario = parse_scenario(SMALL.replace('{ discipline = "pie" }', queue))
    with KernelPlant().under_control(scenario, ["b"], 1, "full") as network:
        in_force = network.router.parameters()
        network.router.wait(3.0)
        assert network.router.observe().reading.backlog_packets < 20
    wanted = {"min_threshold": least, "max_threshold": most, "weight_log": 2}
    assert {name: in_force[name] for name in wanted} == wanted


def test_a_setting_that_the_kernel_does_not_have_is_refused():
    scenario = parse_scenario(SMALL).with_values({"links.b.queue.burst_allowance": "1 s"})
    with pytest.raises(ScenarioError, match=r"burst_allowance.*1"):
        run_on_kernel(scenario, 1)


CONTROLLED = """
duration = "14 s"
warm_up = "1 s"
settle = "2 s"
[links.b]
rate = "4 Mbit/s"
delay = "10 ms"
[links.b.queue]
discipline = "linux-red"
limit = "60000 bytes"
min_threshold = "30000 bytes"
max_threshold = "50000 bytes"
max_probability = 0.02
weight_log = 4
[flows.a]
count = 4
path = ["b"]
rtt = "28 ms"
sender = "reno"
[flows.b]
count = 8
path = ["b"]
rtt = "28 ms"
sender = "reno"
start = "7 s"
[tuning]
parameters = ["links.b.queue.max_threshold", "links.b.queue.max_probability"]
objective = { name = "queue-deviation", link = "b", target = "10 packets" }
"""


def controlled(seed, folder):
    """A network of the kernel kept tuned, and the readings of its controller."""
    path = folder / f"{seed}.sqlite"
    found = run_online(
        parse_scenario(CONTROLLED),
        seed=seed,
        clock="fixed",
        evaluations=16,
        re_evaluations=4,
        comparisons=4,
        journal_path=path,
        plant=KernelPlant(),
    )
    return found, readings(path)


@pytest.fixture(scope="module")
def first_seed(tmp_path_factory):
    return controlled(3, tmp_path_factory.mktemp("first"))


def test_one_seed_gives_the_same_readings_and_decisions(first_seed, tmp_path):
    first, first_readings = first_seed
    again, again_readings = controlled(3, tmp_path)
    assert len(first_readings) >= 130
    assert first_readings == again_readings
    assert first.decisions == again.decisions
    assert without_timing(first.tuned) == without_timing(again.tuned)
    assert "applied" in {each.kind for each in first.decisions}
    assert len(first.settings) >= 2


def test_the_queue_is_nearer_to_its_target_than_left_alone(first_seed, tmp_path):
    """Both phases of two seeds: what sixteen settings gain in one differs with a kernel's draws."""
    runs = [first_seed[0], controlled(4, tmp_path)[0]]
    alone, tuned = (
        sum(
            window["queue_packets"]["sd"] ** 2 + (window["queue_packets"]["mean"] - 10) ** 2
            for result in results
            for window in result.link("b").phases
        )
        for results in ([each.reference for each in runs], [each.tuned for each in runs])
    )
    assert tuned < alone


def test_a_queue_that_red_has_shut_is_opened_again():
    """Floyd's and Jacobson's example of 1993 below htb: nothing passes after the first second."""
    found = run_online(
        load_scenario(SHUT_RED, ["duration=30 s"]),
        seed=1,
        clock="fixed",
        evaluations=20,
        re_evaluations=1,
        comparisons=3,
        plant=KernelPlant(),
    )
    [blackout] = [each for each in found.decisions if each.kind == "blackout"]
    assert 5.0 < blackout.time_s < 7.0
    assert found.tuned.link("bottleneck").phases[-1]["utilization"] > 0.7


def readings(path):
    with sqlite3.connect(path) as file:
        return file.execute("select * from sample").fetchall()


def test_the_command_gives_the_same_keys_and_one_line_for_a_mistake(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL, encoding="utf-8")

    def command(*words):
        return subprocess.run(
            [sys.executable, "-m", "vermilion", "run", str(file), "--plant", "kernel", *words],
            capture_output=True,
            text=True,
            check=False,
        )

    done = command("--json", "-")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["links"]["b"]["total"]["utilization"] > 0.9
    refused = command("--set", "links.b.queue.discipline=red")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert 'links.b.queue.discipline: "red" is not accepted' in refused.stderr


FOUR = """
duration = "16 s"
warm_up = "1 s"
[links.a]
rate = "4 Mbit/s"
delay = "5 ms"
queue = { discipline = "linux-red", limit = "60000 bytes", max_threshold = "30000 bytes" }
[links.b]
rate = "4 Mbit/s"
delay = "5 ms"
queue = { discipline = "linux-red", limit = "60000 bytes", max_threshold = "30000 bytes" }
[flows.both]
count = 3
path = ["a", "b"]
rtt = "40 ms"
sender = "reno"
[flows.first]
count = 3
path = ["a"]
rtt = "20 ms"
sender = "reno"
[flows.second]
count = 3
path = ["b"]
rtt = "20 ms"
sender = "reno"
[tuning]
parameters = ["links.a.queue.max_threshold", "links.b.queue.max_threshold"]
objective = { name = "goodput-variation" }
"""


def test_several_routers_are_controlled_together_over_snmp_and_twice_alike(tmp_path):
    program_or_skip("snmpd", "snmpd")

    def controlled(name):
        path = tmp_path / f"{name}.sqlite"
        found = run_online(
            parse_scenario(FOUR),
            seed=2,
            clock="fixed",
            evaluations=8,
            re_evaluations=1,
            comparisons=4,
            journal_path=path,
            plant=KernelPlant("snmp"),
        )
        return found, readings(path)

    first, first_readings = controlled("first")
    again, again_readings = controlled("again")
    assert first_readings == again_readings
    assert len(first_readings) >= 14
    assert first.decisions == again.decisions
    [model] = [each.reason for each in first.decisions if each.kind == "model-built"][:1]
    assert "9 flows" in model
    assert without_timing(first.tuned) == without_timing(again.tuned)


def test_choke_is_read_and_set_over_snmp_and_refuses_as_on_a_router():
    program_or_skip("snmpd", "snmpd")
    queue = 'discipline = "choke", limit = "60 packets", weight = 0.015625'
    scenario = parse_scenario(SMALL.replace('discipline = "pie"', queue))
    with KernelPlant("snmp").under_control(scenario, ("b",), 1, "counters") as network:
        router = network.router
        router.wait(2.0)
        seen = router.observe()
        before = router.parameters()
        assert (before["limit"], before["weight"], before["candidates"]) == (60, 1 / 64, 1)
        router.apply({"min_threshold": 10, "max_threshold": 40, "weight": 1 / 16})
        after = router.parameters()
        assert (after["min_threshold"], after["max_threshold"], after["weight"]) == (10, 40, 1 / 16)
        with pytest.raises(RouterError, match="max_threshold"):
            router.apply({"min_threshold": 50})
        assert router.parameters() == after
        drops = network.result(1.0).data["links"]["b"]["ledger"]["drops"]
    assert seen.active_flows is None  # no monitor, and the agent says so
    assert seen.reading.forwarded_packets == pytest.approx(1000, rel=0.05)
    assert drops >= seen.reading.drops > 0
