"""The types of a result's data have the keys that the core writes, no fewer and no more."""

from __future__ import annotations

from typing import Any, NotRequired, get_args, get_origin, get_type_hints

import pytest
from typing_extensions import is_typeddict

from vermilion import parse_scenario, run, run_many
from vermilion.simulate.result_data import ResultData

NETWORK = """
duration = "20 s"
warm_up = "1 s"
[links.bottleneck]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", ecn = true, limit = "40 packets", weight = 0.01 }
loss = { model = "bernoulli", probability = 0.01 }
[links.side]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail" }
[links.idle]
rate = "2 Mbit/s"
delay = "10 ms"
queue = { discipline = "drop-tail" }
[flows.bulk]
count = 3
path = ["bottleneck"]
rtt = "40 ms"
sender = { congestion_control = "newreno", ecn = true }
[flows.late]
path = ["side"]
rtt = "40 ms"
sender = "newreno"
traffic = { kind = "transfer", size = "20 kB" }
start = "10 s"
[flows.web]
count = 20
path = ["bottleneck"]
rtt = "40 ms"
sender = "newreno"
traffic = { kind = "web", mean_gap = "1 s", size = "30 kB" }
[flows.video]
path = ["bottleneck"]
rtt = "40 ms"
sender = "newreno"
traffic = { kind = "video", rates = ["50 kbit/s"], segment = "200 ms", buffer = "1 s" }
"""

NOT_SHOWN = {"transfers_refused", "interrupted_at_s"}
"""The one takes a million transfers at once; the other Ctrl-C, which `test_interrupted.py` has."""


def keys_seen(hint: Any, values: list[Any], where: str, seen: dict[str, tuple[set, set, Any]]):
    """Collects, for each type and place, the keys of all values and those of every value."""
    if get_origin(hint) is NotRequired:
        hint = get_args(hint)[0]
    if is_typeddict(hint):
        if not values:
            return
        for value in values:
            assert isinstance(value, dict), where
        every = set.intersection(*(set(value) for value in values))
        some = set.union(*(set(value) for value in values))
        old_every, old_some, _ = seen.get(where, (every, set(), hint))
        seen[where] = (every & old_every, some | old_some, hint)
        for key, inner in get_type_hints(hint, include_extras=True).items():
            known = [value[key] for value in values if key in value]
            keys_seen(inner, known, f"{where}.{key}", seen)
    elif get_origin(hint) is dict:
        inner = get_args(hint)[1]
        keys_seen(inner, [each for value in values for each in value.values()], where, seen)
    elif get_origin(hint) is list:
        inner = get_args(hint)[0]
        keys_seen(inner, [each for value in values for each in value], where, seen)
    else:
        accepted = (int, float) if hint is float else hint
        assert all(isinstance(value, accepted) for value in values), where


@pytest.fixture(scope="module")
def seen() -> dict[str, tuple[set, set, Any]]:
    scenario = parse_scenario(NETWORK)
    single = run(scenario, distributions=True, flow_delays=True)
    plain = run(scenario)
    [[one, other]] = run_many([scenario], [1, 2])
    found: dict[str, tuple[set, set, Any]] = {}
    values = [result.data for result in (single, plain, one, other) if result is not None]
    keys_seen(ResultData, values, "result", found)
    return found


def test_every_key_of_a_run_is_in_the_types(seen):
    for where, (_, some, hint) in seen.items():
        assert some <= hint.__required_keys__ | hint.__optional_keys__, where


def test_every_key_of_the_types_comes_out_of_a_run(seen):
    written: dict[Any, set] = {}
    for _, some, hint in seen.values():
        written.setdefault(hint, set()).update(some)
    for hint, keys in written.items():
        known = hint.__required_keys__ | hint.__optional_keys__
        assert known - NOT_SHOWN == keys, hint.__name__


def test_what_is_required_is_always_there(seen):
    for where, (every, _, hint) in seen.items():
        assert hint.__required_keys__ <= every, where


def test_the_runs_show_every_type(seen):
    names = {hint.__name__ for _, _, hint in seen.values()}
    assert names == {
        "CompletionTimes",
        "FlowMetrics",
        "Goodput",
        "GroupData",
        "GroupMetrics",
        "Ledger",
        "LinkData",
        "LinkMetrics",
        "LossRuns",
        "PacketDelay",
        "Quantiles",
        "ResultData",
        "Summary",
        "VideoMetrics",
    }
