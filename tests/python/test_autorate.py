"""A better configuration for cake-autorate, from its log."""

import gzip
import io
import json
import random
from pathlib import Path

import numpy as np
import pytest

from test_cli import refused, vermilion
from vermilion.autorate import (
    DEFAULTS,
    AutorateLogError,
    advise_autorate,
    read_configuration,
    read_log,
)
from vermilion.autorate.configuration import with_changes
from vermilion.autorate.line import SETTLE, STEP_S, Line, line_of, replay
from vermilion.autorate.rules import Rules, Shapers

__all__ = ["vermilion"]

DECISIONS = Path(__file__).parents[1] / "reference" / "cake_autorate_decisions.json"
NARROW = DEFAULTS | {
    "min_ul_shaper_rate_kbps": 2000,
    "base_ul_shaper_rate_kbps": 8000,
    "max_ul_shaper_rate_kbps": 30000,
}


def row(time_s, *, achieved=9000, owd_us=10_000, delta_us=0, shaper=10_000, reflector="1.1.1.1"):
    """A row of data in which the upload does something, and round trips are halved."""
    stamp = f"{1.76e9 + time_s:.6f}"
    cells = ["DATA", "2026-01-01-00:00:00", stamp, stamp, 200, achieved, 1, 90, stamp, reflector]
    cells += [1, 9_000, owd_us, 0, delta_us, 30_000, 9_000, owd_us, 0, delta_us, 30_000]
    cells += [0] * 8 + ["dl_idle", "ul_high", 20_000, shaper]
    return "; ".join(map(str, cells))


def parsed(*lines):
    return read_log(io.BytesIO("\n".join(lines).encode()))


def log_of(capacity_kbps, configuration, seed=1):
    """A log of an upload through CAKE and a modem, in steps of 2 ms; capacity by steps of 50 ms."""
    coins = random.Random(seed)
    shapers = Shapers(Rules.of([configuration], "ul"))
    rows, probes, queue, out, served, achieved, passed = [], [], 0.0, 0.0, 0.0, 0, 0.0
    baseline = 100_000.0
    for step in range(25 * len(capacity_kbps)):
        now = 0.002 * step
        let_out = int(shapers.rate[0]) * 0.002
        sent = min(queue + let_out, capacity_kbps[step // 25] * 0.002)
        queue += let_out - sent
        out += let_out
        served += sent
        passed += let_out
        if step % 25 == 0:
            probes.append((now, out))
        while probes and probes[0][1] <= served + 1e-6:
            wait = now - probes.pop(0)[0]
            owd = int(1e6 * (wait + 0.02 + abs(coins.gauss(0, 0.002)))) // 2
            weight = 0.001 if owd >= baseline else 0.9
            baseline += weight * (owd - baseline)
            delta = int(owd - baseline)
            shapers.on_answer(round(1e6 * (now + 0.02)), np.array([delta]))
            text = row(
                now + 0.02,
                achieved=achieved,
                owd_us=owd,
                delta_us=delta,
                shaper=int(shapers.rate[0]),
            )
            rows.append(text)
        if step % 100 == 99:
            achieved, passed = int(passed / 0.2), 0.0
            shapers.on_achieved(np.array([achieved]))
    return parsed(*rows)


def varying(seconds, seed=1):
    """5 to 15 Mbit/s in steps of four seconds."""
    coins = random.Random(seed)
    return [rate for _ in range(seconds // 4) for rate in [coins.uniform(5e3, 15e3)] * 80]


@pytest.fixture(scope="module")
def varying_log():
    return log_of(varying(160), NARROW)


def test_decisions_are_those_of_the_script():
    given = json.loads(DECISIONS.read_text())
    shapers = [Shapers(Rules.of([given["configuration"]], name)) for name in ("dl", "ul")]
    rates = []
    for kind, *numbers in given["events"]:
        if kind == "achieved":
            for each, rate in zip(shapers, numbers, strict=True):
                each.on_achieved(np.array([rate]))
        else:
            for each, delta in zip(shapers, numbers[1:], strict=True):
                each.on_answer(numbers[0], np.array([delta]))
            rates.append([int(each.rate[0]) for each in shapers])
    assert rates == given["rates_kbps"]
    assert len({tuple(each) for each in rates}) > 50


def test_configurations_take_steps_independently():
    given = json.loads(DECISIONS.read_text())
    both = Shapers(Rules.of([given["configuration"], DEFAULTS], "ul"))
    alone = Shapers(Rules.of([DEFAULTS], "ul"))
    for kind, *numbers in given["events"]:
        for each in (both, alone):
            if kind == "achieved":
                each.on_achieved(np.array([numbers[1]]))
            else:
                each.on_answer(numbers[0], np.array([numbers[2]]))
        assert both.rate[1] == alone.rate[0]


def test_rows_are_read_with_and_without_a_header():
    log = parsed(row(0), row(0.05, delta_us=-20), row(0.1, achieved=500), "DATA; cut")
    assert log.time_s == pytest.approx([0, 0.05, 0.1])
    assert list(log.directions["ul"].achieved_kbps) == [9000, 9000, 500]
    assert log.halves
    assert log.left_out == 1


@pytest.mark.parametrize(
    "lines",
    [
        ["root:x:0:0"],
        ["DEBUG; 2026; 1; Starting"],
        [row(0)],
        [row(0, shaper=0), row(1, achieved="nan"), row(2, achieved=-1)],
        ["DATA" + ";" * 5000, "DATA; " * 40],
    ],
)
def test_a_log_without_data_is_refused(lines):
    with pytest.raises(AutorateLogError, match="DATA"):
        parsed(*lines)


def test_gzip_is_read_and_a_damaged_one_refused():
    content = gzip.compress("\n".join([row(0), row(1)]).encode())
    assert read_log(io.BytesIO(content)).seconds == pytest.approx(1)
    with pytest.raises(AutorateLogError, match="damaged"):
        read_log(io.BytesIO(content[:-20]))


def test_the_lines_capacity_comes_back_where_the_queue_was_full(varying_log):
    line = line_of(varying_log, "ul")
    truth = np.array(varying(160))[: len(line.seen)]
    truth = truth[: len(line.seen)]
    seen = line.seen[: len(truth)]
    assert seen.mean() > 0.3
    # Over two seconds: what the log says of bytes is a mean over 0.2 s.
    found, right = (
        np.convolve(each, np.ones(40) / 40, "same")
        for each in (line.capacity_kbps[: len(truth)], truth)
    )
    assert np.median(np.abs(found[seen] / right[seen] - 1)) < 0.1


def test_a_queue_behind_cake_is_what_it_lets_out_beyond_the_capacity():
    steps = SETTLE + 200
    steady = Line(
        np.full(steps, 10_000.0),
        np.ones(steps, dtype=bool),
        np.full(steps, np.inf),
        np.zeros(steps),
        1.0,
        1e9,
    )
    fixed = {f"{kind}_ul_shaper_rate_kbps": 12_000 for kind in ("min", "base", "max")}
    below = {f"{kind}_ul_shaper_rate_kbps": 9_000 for kind in ("min", "base", "max")}
    outcome = replay(Rules.of([DEFAULTS | fixed, DEFAULTS | below], "ul"), steady)
    # A fifth more than the line carries: the wait grows by a fifth of the time.
    assert outcome.excess_s[0, -1] == pytest.approx(0.2 * steps * STEP_S, rel=0.01)
    assert outcome.excess_s[1].max() == 0
    assert outcome.goodput_share(steady.settled) == pytest.approx([1.0, 0.9])


def test_an_outage_is_not_held_against_an_empty_queue():
    capacity = np.full(SETTLE + 400, 10_000.0)
    capacity[SETTLE + 100 : SETTLE + 130] = 0.0
    steps = len(capacity)
    line = Line(capacity, np.ones(steps, dtype=bool), np.zeros(steps), np.zeros(steps), 1.0, 1e9)
    outcome = replay(Rules.of([DEFAULTS], "ul"), line)
    assert outcome.excess_s.max() == 0


def test_a_threshold_too_high_for_the_line_is_advised_down(varying_log):
    advice = advise_autorate(varying_log, NARROW, generations=2)
    assert advice.answer == "set"
    upload = advice.upload
    assert upload.advised.excess_p95_s < 0.8 * upload.present.excess_p95_s
    assert upload.advised.goodput_share > 0.9 * upload.present.goodput_share
    assert advice.download.advised is None
    changed = NARROW | advice.changes
    assert (
        changed["ul_avg_owd_delta_max_adjust_up_thr_ms"]
        <= changed["ul_owd_delta_delay_thr_ms"]
        <= changed["ul_avg_owd_delta_max_adjust_down_thr_ms"]
    )
    assert (
        changed["min_ul_shaper_rate_kbps"]
        <= changed["base_ul_shaper_rate_kbps"]
        <= changed["max_ul_shaper_rate_kbps"]
    )


def test_a_line_that_was_never_full_is_not_judged():
    advice = advise_autorate(parsed(*(row(0.05 * n, achieved=900) for n in range(2000))))
    assert advice.answer == "not judged"
    assert not advice.changes


def test_a_configuration_keeps_what_is_not_set():
    text = 'dl_if=ifb-wan # download\nmin_ul_shaper_rate_kbps=5000  # least\nx="$(rm -rf /)"\n'
    assert read_configuration(text)["min_ul_shaper_rate_kbps"] == 5000
    changed = with_changes(text, {"min_ul_shaper_rate_kbps": 900.0, "high_load_thr": 0.8}, "why")
    assert changed.splitlines() == [
        "dl_if=ifb-wan # download",
        "min_ul_shaper_rate_kbps=900  # least",
        'x="$(rm -rf /)"',
        "",
        "# why",
        "high_load_thr=0.8",
    ]
    assert with_changes("", {}, "keep") == "# keep\n"


def test_mistakes_of_the_command_are_refused(vermilion, tmp_path):
    assert "LOG" in refused(vermilion("autorate", "missing.log"))
    (tmp_path / "x.log").write_text("nothing")
    assert "expected lines" in refused(vermilion("autorate", str(tmp_path / "x.log")))
    (tmp_path / "c.sh").write_text("min_dl_shaper_rate_kbps=many")
    (tmp_path / "x.log").write_text(row(0) + "\n" + row(1))
    arguments = [str(tmp_path / "x.log"), "--config", str(tmp_path / "c.sh")]
    assert "min_dl_shaper_rate_kbps" in refused(vermilion("autorate", *arguments))
    assert "--delay" in refused(vermilion("autorate", arguments[0], "--delay", "fast"))
