"""The daemon for routers without Python, in real time behind a modem: ``crates/line-daemon``."""

from __future__ import annotations

import signal
import subprocess

import pytest

from line_home import (
    BOTH,
    CAPACITY,
    COMES_BACK,
    DAEMON_SETTINGS,
    FOUND,
    built_daemon,
    by_hand,
    rate_of,
    run,
    show,
    words_of,
)


@pytest.fixture(scope="module")
def daemon():
    return built_daemon()


def test_the_rate_is_kept_below_the_line_and_put_back_at_the_end_and_after_a_kill(tmp_path, daemon):
    (tmp_path / "line.conf").write_text(DAEMON_SETTINGS)
    ended, restored, killed, safe, undone, again = run(
        tmp_path,
        45.0,
        words_of(daemon, "/mnt/line.conf", kill_after_s=18.0, signal=signal.SIGTERM),
        show(),
        words_of(daemon, "/mnt/line.conf", kill_after_s=14.0, then_wait_s=1.0),
        show(),
        words_of(daemon, "--undo", "/mnt/line.conf"),
        show(),
    )[0]
    assert ended["code"] == 0, ended["said"]
    reports = [each for each in ended["said"].splitlines() if "the line about" in each]
    assert reports
    assert "behind the shaper" in ended["said"]
    assert rate_of(restored) == FOUND
    assert killed["code"] == -signal.SIGKILL
    assert 0.4 * CAPACITY < rate_of(safe) < 1.3 * CAPACITY, killed["said"]
    assert undone["code"] == 0, undone["said"]
    assert "10.0 Mbit/s" in undone["said"]
    assert rate_of(again) == FOUND
    assert not (tmp_path / "undo").exists()


def test_both_directions_are_kept_and_one_is_left_alone_that_somebody_else_sets(tmp_path, daemon):
    (tmp_path / "line.conf").write_text(f"{DAEMON_SETTINGS}down = ifb4wan\n")
    shown = [show(), show("ifb4wan")]
    found = run(
        tmp_path,
        52.0,
        words_of(
            *(daemon, "/mnt/line.conf"),
            kill_after_s=18.0,
            signal=signal.SIGTERM,
            meanwhile=[[12.3, *by_hand("4mbit", "ifb4wan")]],
        ),
        *shown,
        words_of(*by_hand("10mbit", "ifb4wan")),
        words_of(daemon, "/mnt/line.conf", kill_after_s=16.0, then_wait_s=1.0),
        *shown,
        words_of(daemon, "--undo", "/mnt/line.conf"),
        *shown,
        **BOTH,
    )[0]
    ended, up, down, _, killed, safe_up, safe_down, undone, up_again, down_again = found
    assert "down: somebody else has set 4.00 Mbit/s" in ended["said"]
    assert "up: somebody else" not in ended["said"]
    assert (ended["code"], rate_of(up), rate_of(down)) == (0, FOUND, 4e6), ended["said"]
    for safe in (safe_up, safe_down):
        assert 0.4 * CAPACITY < rate_of(safe) < 1.3 * CAPACITY, killed["said"]
    assert undone["code"] == 0, undone["said"]
    assert (rate_of(up_again), rate_of(down_again)) == (FOUND, FOUND)


def test_a_daemon_that_hung_goes_on_after_its_guardian(tmp_path, daemon):
    (tmp_path / "line.conf").write_text(DAEMON_SETTINGS)
    stop, go = ([at, "kill", f"-{name}", "{pid}"] for at, name in ((10.0, "STOP"), (17.5, "CONT")))
    order = words_of(daemon, "/mnt/line.conf", kill_after_s=24.0, meanwhile=[stop, go])
    hung, after = run(tmp_path, 28.0, order | {"signal": signal.SIGTERM}, show())[0]
    assert (hung["code"], rate_of(after)) == (0, FOUND), hung["said"]
    assert "somebody else" not in hung["said"]


def test_a_shaper_that_is_made_anew_while_its_interface_is_down_is_kept(tmp_path, daemon):
    (tmp_path / "line.conf").write_text(DAEMON_SETTINGS)
    kept = words_of(daemon, "/mnt/line.conf", kill_after_s=26.0, meanwhile=COMES_BACK)
    ended, after = run(tmp_path, 30.0, kept | {"signal": signal.SIGTERM}, show())[0]
    assert (ended["code"], rate_of(after)) == (0, FOUND), ended["said"]
    assert "somebody else" not in ended["said"]
    last = [line for line in ended["said"].splitlines() if "up: " in line][-2]
    assert 0.6 * CAPACITY < 1e6 * float(last.split()[3]) < 1.2 * CAPACITY, ended["said"]


def test_what_is_missing_ends_in_one_line(tmp_path, daemon):
    file = tmp_path / "line.conf"
    file.write_text("interface = lo\n")
    may_nothing = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for words, said in (
        ([*may_nothing, daemon, file], "CAP_NET_RAW"),
        ([daemon, file], "there is no shaper here"),
        ([daemon, tmp_path / "none"], "--example"),
        ([daemon, "--undo", file], "nothing to undo"),
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1
        assert said in done.stderr
