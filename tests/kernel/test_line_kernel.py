"""A shaper at the rate of its line, on a real kernel: netlink, CAKE, TCP, a modem with a trace."""

from __future__ import annotations

import json
import signal

import pytest

from line_home import BOTH, CAPACITY, CASE, DAEMON_SETTINGS, FOUND, built_daemon, show, words_of
from linux_guest import kernel_or_skip, run_in_guest
from vermilion_lab.kernel_plant.line import LineCase, outcome_of, run_guest, run_line

DEVICE = "dummy0"
STEADY = list(range(1, 50_001))
"""A millisecond and a packet of 1500 bytes: 12 Mbit/s."""

LINKED = [
    ["call", "ip", "link", "add", DEVICE, "type", "dummy"],
    ["call", "ip", "link", "set", DEVICE, "up"],
    ["call", "ip", "link", "set", "ifb0", "up"],
]


def tc(*words):
    return ["call", "tc", *words]


def test_the_rate_of_cake_is_what_tc_reads_and_the_undo_leads_back():
    steps = [
        *LINKED,
        tc("qdisc", "add", "dev", DEVICE, "root", "cake", "bandwidth", "10mbit", "overhead", "44"),
        ["set_rate", f"linux:{DEVICE}", [5e6, 40e9]],
    ]
    done = run_in_guest(steps)[-1]
    assert done["found"] == 10e6
    assert [(said, shown["rate"]) for said, shown in done["shown"]] == [
        (5e6, 625_000),
        (40e9, 5_000_000_000),
    ]
    assert "expected 8 kbit/s" in done["refused"]
    assert done["undo"] == done["again"]
    assert done["undone"][:2] == ["", 10e6]


def test_tbf_and_htb_keep_their_bursts_and_drop_nothing():
    steps = [
        *LINKED,
        tc(*f"qdisc add dev {DEVICE} root tbf rate 10mbit burst 20k limit 60k".split()),
        ["set_rate", f"linux:{DEVICE}", [5e6, 7e6]],
        tc("qdisc", "del", "dev", DEVICE, "root"),
        tc(*f"qdisc add dev {DEVICE} root handle 1: htb default 10".split()),
        tc(*f"class add dev {DEVICE} parent 1: classid 1:10 htb rate 3mbit ceil 10mbit".split()),
        ["set_rate", f"linux:{DEVICE}", [5e6, 4e6]],
    ]
    outcomes = run_in_guest(steps)
    tbf, htb = outcomes[4], outcomes[-1]
    assert [(said, shown["rate"], shown["burst"]) for said, shown in tbf["shown"]] == [
        (5e6, 625_000, "20Kb/1"),
        (7e6, 875_000, "20Kb/1"),
    ]
    assert tbf["undone"][2]["rate"] == 1_250_000
    assert "rate 1500Kbit ceil 5Mbit" in htb["shown"][0][1]["class"]
    assert "rate 3Mbit ceil 10Mbit" in htb["undone"][2]["class"]
    assert all(shown["drops"] == 0 for _, shown in tbf["shown"] + htb["shown"])


@pytest.mark.parametrize("kind", ["ingress", "clsact"])
def test_the_shaper_of_arrivals_is_found_on_its_ifb(kind):
    redirect = ["action", "mirred", "egress", "redirect", "dev", "ifb0"]
    at = (["parent", "ffff:"], ["protocol", "all", "u32", "match", "u32", "0", "0"])
    if kind == "clsact":
        at = (["ingress"], ["matchall"])
    handle = ["handle", "ffff:"] if kind == "ingress" else []
    steps = [
        *LINKED,
        ["set_rate", DEVICE, [5e6], "arrivals"],
        tc("qdisc", "add", "dev", DEVICE, *handle, kind),
        tc("filter", "add", "dev", DEVICE, *at[0], *at[1], *redirect),
        tc("qdisc", "add", "dev", "ifb0", "root", "cake", "bandwidth", "10mbit", "ingress"),
        ["set_rate", DEVICE, [5e6], "arrivals"],
    ]
    outcomes = run_in_guest(steps)
    assert "tc qdisc replace dev ifb4dummy0 root cake" in outcomes[3]["refused"]
    assert outcomes[-1]["address"] == "linux:ifb0"
    assert outcomes[-1]["shown"][0][1]["rate"] == 625_000


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_steady_line_is_used_and_its_queue_stays_short(direction):
    kernel_or_skip()
    outcome = run_line(LineCase(STEADY, direction, duration_s=30.0, start_bit_per_s=20e6))
    run = outcome.raw["kept"]["run"]["directions"][0]
    assert outcome.share > 0.85
    assert outcome.excess_p95_s < 0.020
    assert run["capacity_bit_per_s"] == pytest.approx(12e6, rel=0.1)
    assert run["found"]["bandwidth"] == 20e6
    assert outcome.raw["kept"]["run"]["probes"]["reflectors"]


def test_a_rate_above_the_line_is_said_to_be_behind():
    kernel_or_skip()
    case = LineCase(STEADY, duration_s=12.0, start_bit_per_s=14e6, more={"mode": "observe"})
    raw = run_guest(case)
    [first] = [
        each
        for each in raw["kept"]["run"]["directions"][0]["decisions"]
        if each["kind"] == "behind"
    ][:1]
    assert first["details"]["place"] == "behind"
    assert first["time_s"] < 5.0
    assert raw["kept"]["rates"] == []


def test_reflectors_that_die_are_replaced_and_lost_probes_do_not_starve_the_line():
    kernel_or_skip()
    deaf = {"10.9.1.11": 8.0, "10.9.1.12": 8.0}
    case = LineCase(STEADY, duration_s=30.0, more={"deaf": deaf, "lost_probes": 0.2})
    outcome = outcome_of(case, run_guest(case))
    assert outcome.share > 0.8
    asked = outcome.raw["kept"]["run"]["probes"]["reflectors"]
    assert not set(asked) & set(deaf)


def test_after_an_outage_the_line_is_used_again():
    kernel_or_skip()
    trace = [each for each in STEADY if not 15_000 < each <= 20_000]
    case = LineCase(trace, duration_s=35.0)
    outcome = run_line(case)
    late = 8 * sum(outcome.raw["tcp"][250:340]) / 9
    assert late > 0.7 * 12e6
    kinds = [each["kind"] for each in outcome.raw["kept"]["run"]["directions"][0]["decisions"]]
    assert kinds.count("blind") == kinds.count("sighted") == 1


def test_a_kill_leaves_a_safe_rate_and_undo_knows_the_first():
    kernel_or_skip()
    words = [
        *("online", "--router", "linux:wan", "--line", "auto", "--mode", "control"),
        *("--journal", "/mnt/journal.sqlite"),
        *(word for n in range(11, 17) for word in ("--reflector", f"10.9.1.{n}")),
    ]
    show = {"words": ["tc", "-j", "qdisc", "show", "dev", "wan"], "vermilion": False}
    undo = {"words": ["undo", "/mnt/journal.sqlite"]}
    again = {"words": [*words, "--for", "5 s", "--at-exit", "restore"]}
    program = [
        {"words": words, "kill_after_s": 15.0, "then_wait_s": 7.0},
        show,
        undo,
        again,
        show,
    ]
    case = LineCase(STEADY, law="none", duration_s=60.0, start_bit_per_s=5e6)
    raw = run_guest(LineCase(**{**case.__dict__, "more": {"program": program}}))
    killed, after, undone, second, restored = raw["program"]
    assert killed["code"] == -9
    assert '"bandwidth":' in after["said"]
    rate = 8 * int(after["said"].partition('"bandwidth":')[2].partition(",")[0])
    assert 6e6 < rate < 12.5e6
    assert "cake bandwidth 5000000bit" in undone["said"]
    assert "did not end in order" in second["said"]
    assert '"bandwidth":625000' in restored["said"]


def bandwidth(shown):
    """The rate of a ``cake`` in words of ``tc -j``, bits a second; ``None``: it has none."""
    rate = json.loads(shown["said"])[0]["options"]["bandwidth"]
    return None if rate == "unlimited" else 8 * rate


def test_the_daemon_keeps_both_directions_of_cake_and_puts_them_back():
    """As they were found, the one included that shaped nothing; but not what somebody has set."""
    kernel_or_skip()
    daemon = built_daemon()
    write = f"cat > /mnt/line.conf <<END\n{DAEMON_SETTINGS}down = ifb4wan\nEND"
    cake = "tc qdisc change dev {} root cake {}"
    by_hand = cake.format("ifb4wan", "bandwidth 4mbit").split()
    both = [show(), show("ifb4wan")]
    order = words_of(daemon, "/mnt/line.conf", signal=signal.SIGTERM)
    program = [
        words_of("sh", "-c", write),
        order | {"kill_after_s": 18.0, "meanwhile": [[13.3, *by_hand]]},
        *both,
        words_of(daemon, "/mnt/line.conf", kill_after_s=14.0, then_wait_s=1.0),
        *both,
        words_of(daemon, "--undo", "/mnt/line.conf"),
        *both,
        words_of(*cake.format("wan", "unlimited").split()),
        order | {"kill_after_s": 8.0},
        *both,
    ]
    more = {**BOTH, "program": program}
    shared = {
        key: value for key, value in CASE.items() if key not in {"kind", "congestion_control"}
    }
    raw = run_guest(LineCase(**shared, duration_s=45.0, more=more))
    _, ended, up, down, _, safe_up, safe_down, _, *undone, _, free, free_up, free_down = raw[
        "program"
    ]
    assert "down: somebody else has set 4.00 Mbit/s" in ended["said"]
    assert "up: somebody else" not in ended["said"]
    assert (bandwidth(up), bandwidth(down)) == (FOUND, 4e6)
    assert 0.8 * CAPACITY < bandwidth(safe_up) < 1.1 * CAPACITY
    assert 0.5 * CAPACITY < bandwidth(safe_down) < 1.1 * CAPACITY
    assert [bandwidth(each) for each in undone] == [FOUND, 4e6]
    assert "up: little is let out for a moment" in free["said"]
    assert (bandwidth(free_up), bandwidth(free_down)) == (None, 4e6), free["said"]


def test_a_cake_that_shapes_nothing_is_kept_and_put_back():
    kernel_or_skip()
    trace = list(range(2, 10_001, 2))
    case = LineCase(trace, duration_s=20.0, start_bit_per_s=0.0, more={"at_exit": "restore"})
    run = run_guest(case)["kept"]["run"]["directions"][0]
    assert run["found"]["bandwidth"] == 0
    assert run["capacity_bit_per_s"] == pytest.approx(CAPACITY, rel=0.15)
    assert run["decisions"][-1]["details"] == {"restored": True}
