"""A controller that was killed: what the next one goes on with, and what can be undone."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from online_world import CONFIGURATION, FIRST, LINK, POLICY, TARGET
from vermilion.cli.application import application
from vermilion.online.decide.controller import Controller
from vermilion.online.decide.states import Applying, HandsOff, Waiting
from vermilion.online.decide.step import step
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.events import Apply, Began, Done, Lost, Refused
from vermilion.online.record.journal import Journal

SECOND = {**FIRST, "level": 30.0, "weight": 0.4}
THIRD = {**FIRST, "level": 25.0, "weight": 0.3}


def journal_at(path, *, network=None, discipline="fake", title="a queue"):
    return Journal(
        path,
        version="test",
        title=title,
        router="kernel" if network is None else "simulated",
        link=LINK,
        discipline=discipline,
        target_packets=TARGET,
        network=network,
    )


def killed(path, *entries, network=None, discipline="fake"):
    """A run that leaves these entries and is killed; (number, parameters, answer) is a change."""
    journal = journal_at(path, network=network, discipline=discipline)
    for time_s, entry in enumerate(entries):
        match entry:
            case (number, parameters, answer):
                journal.intend(time_s, Apply(number, parameters))
                if answer is not None:
                    journal.answered(time_s, answer)
            case (kind, reason):
                details = {"by": "a person"} if "person" in reason else {}
                journal.keep(Decision(time_s, kind, reason, details))
            case _:
                journal.keep(SettingInForce(time_s, entry))
    journal._database.close()


def remembered(path, **more):
    with journal_at(path, **more) as journal:
        return journal.remembered()


def goes_on(path, in_force, policy=POLICY, **more):
    """The controller that goes on, and what it does first, where this is in force."""
    with journal_at(path, **more) as journal:
        controller = Controller.of(policy, CONFIGURATION, remembered=journal.remembered())
    return step(controller, Began(in_force), 5.0)


def reasons(effects):
    return [
        each.entry.reason
        for each in effects
        if hasattr(each, "entry") and isinstance(each.entry, Decision)
    ]


def test_a_run_that_ended_in_order_leaves_nothing_to_go_on_with(tmp_path):
    path = tmp_path / "journal.sqlite"
    with journal_at(path) as journal:
        journal.keep(SettingInForce(0.0, FIRST))
    assert remembered(path) is None


def test_a_killed_run_is_gone_on_with(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND, ("unproven", "it does no harm"))
    controller, effects = goes_on(path, SECOND)
    assert reasons(effects)[0].startswith(
        "an earlier run did not end in order; this one continues it"
    )
    assert isinstance(controller.state, Waiting)
    assert controller.original == FIRST
    assert controller.in_force == SECOND
    assert controller.proven == SECOND


def test_what_stood_before_the_first_change_survives_any_number_of_kills(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND)
    killed(path, SECOND, (1, THIRD, Done(1, THIRD)), THIRD)
    killed(path)
    assert remembered(path).original == FIRST


@pytest.mark.parametrize(
    ("answer", "in_force", "state"),
    [
        (None, SECOND, Applying),
        (Lost(1, "no answer"), SECOND, Applying),
        (Done(1, SECOND), SECOND, Applying),
        (None, FIRST, Waiting),
        (None, {**FIRST, "level": 30.0}, Applying),
        (None, {**FIRST, "level": 60.0}, HandsOff),
    ],
)
def test_what_was_asked_for_without_an_answer_is_nobody_elses(tmp_path, answer, in_force, state):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, {"level": 30.0, "weight": 0.4}, answer))
    controller, effects = goes_on(path, in_force)
    assert isinstance(controller.state, state)
    assert controller.original == FIRST
    asked = [each.parameters for each in effects if isinstance(each, Apply)]
    assert asked == ([FIRST] if state is Applying else [])


def test_a_setting_that_no_run_has_judged_is_taken_back(tmp_path):
    path = tmp_path / "journal.sqlite"
    verdict = ("verified", "it does better")
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND, verdict)
    killed(path, SECOND, (1, THIRD, Done(1, THIRD)), THIRD)
    controller, effects = goes_on(path, THIRD)
    assert isinstance(controller.state, Applying)
    assert [each.parameters for each in effects if isinstance(each, Apply)] == [SECOND]
    assert reasons(effects)[0].startswith("an earlier run did not end in order")
    assert controller.state.change.reason == (
        "the earlier run had not judged its last change; the last setting judged is restored"
    )
    assert controller.original == FIRST
    # Whoever only looks changes nothing. What somebody else has set is left alone, and so is what
    # stood in the beginning, where the router has restarted.
    nothing = ((THIRD, "observe"), ({**THIRD, "level": 60.0}, "control"), (FIRST, "control"))
    for number, (in_force, mode) in enumerate(nothing):
        other = tmp_path / f"{number}.sqlite"
        shutil.copy(path, other)
        _, effects = goes_on(other, in_force, policy=replace(POLICY, mode=mode))
        assert [each for each in effects if isinstance(each, Apply)] == []


@pytest.mark.parametrize("why", ["worse than before", "a person has taken the last change back"])
def test_a_setting_that_was_condemned_after_it_had_passed_does_not_come_back(tmp_path, why):
    path = tmp_path / "journal.sqlite"
    paused = [(DecisionKind.PAUSED, why)] if "person" in why else []
    killed(
        path,
        FIRST,
        (1, SECOND, Done(1, SECOND)),
        SECOND,
        (DecisionKind.VERIFIED, "better"),
        (2, THIRD, Done(2, THIRD)),
        THIRD,
        (DecisionKind.UNPROVEN, "no harm at first"),
        *paused,
        (3, SECOND, Done(3, SECOND)),
        SECOND,
        (DecisionKind.ROLLED_BACK, why),
    )
    left = remembered(path)
    assert left.proven == SECOND
    assert not left.is_unjudged
    controller = Controller.of(POLICY, CONFIGURATION, remembered=left)
    _, effects = step(controller, Began(SECOND), 0.0)
    assert not [each for each in effects if isinstance(each, Apply)]


def test_what_was_left_is_gone_on_with_though_somebody_looked_meanwhile(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND)
    killed(path, SECOND)
    for mode, original in (("observe", FIRST), ("control", None)):
        with journal_at(path) as journal:
            journal.keep(Decision(0.0, DecisionKind.START, "watching", {"mode": mode}))
            journal.keep(SettingInForce(0.0, SECOND))
        # Who was free to change it, and has left it so in order, has made it the operator's.
        left = remembered(path)
        assert (left and left.original) == original


@pytest.mark.parametrize("answer", [Refused(1, "busy"), "never asked"])
def test_a_run_that_changed_nothing_leaves_nothing_to_go_on_with(tmp_path, answer):
    """What stands there later is its operator's choice, whoever was killed before that."""
    path = tmp_path / "journal.sqlite"
    change = () if answer == "never asked" else ((1, THIRD, answer),)
    killed(path, FIRST, *change)
    controller, effects = goes_on(path, SECOND)
    assert controller.original == SECOND
    assert reasons(effects)[0].startswith("watching link")
    killed(path, SECOND)
    [entry] = json.loads(undone(path, "--json", "-"))
    assert entry["original"] == SECOND


def test_hands_off_survives_a_kill(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, SECOND, ("hands-off", "somebody else has set level to 30.0; it is left"))
    controller, _ = goes_on(path, SECOND)
    assert isinstance(controller.state, HandsOff)
    killed(path, SECOND, ("resumed", "a person has given the queue back after 5 s"))
    controller, _ = goes_on(path, SECOND)
    assert isinstance(controller.state, Waiting)


def test_what_somebody_else_has_set_survives_a_kill_in_numbers(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, THIRD, Done(1, THIRD)), THIRD)
    journal = journal_at(path)
    journal.keep(SettingInForce(0.0, SECOND))
    why = "somebody else has set level to 30.0; it is left"
    journal.keep(Decision(3.0, "hands-off", why, {"changed": {"level": 30.0}}))
    journal._database.close()
    _, effects = goes_on(path, SECOND)
    told = [each.entry for each in effects if isinstance(getattr(each, "entry", None), Decision)]
    assert [each.details["changed"] for each in told if each.kind == "hands-off"] == [
        {"level": 30.0}
    ]


def test_a_person_who_wanted_nothing_changed_still_wants_so(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, ("paused", "a person has asked that nothing be changed"))
    controller, _ = goes_on(path, FIRST)
    assert controller.paused_by_person


def test_simulated_networks_are_queues_of_their_own(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND, network="seed 1")
    assert remembered(path, network="seed 2") is None
    assert remembered(path, network="seed 1").in_force == SECOND


def test_a_journal_of_version_2_is_brought_up(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, (1, SECOND, Done(1, SECOND)), SECOND)
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE run DROP COLUMN goes_on_from")
        database.execute("ALTER TABLE run DROP COLUMN network")
        database.execute("DROP TABLE queue_sample")
        database.execute("DROP TABLE wall_clock")
        database.execute("DROP TABLE flow_shares")
        database.execute("PRAGMA user_version = 2")
    database.close()
    assert remembered(path).original == FIRST


def undone(path, *options):
    result = CliRunner().invoke(application(), ["undo", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


def test_undo_shows_what_stood_before_the_first_change(tmp_path):
    path = tmp_path / "journal.sqlite"
    killed(path, FIRST, SECOND)
    killed(path, SECOND, THIRD)
    [entry] = json.loads(undone(path, "--json", "-"))
    assert entry["original"] == FIRST
    assert entry["in_force"] == THIRD
    assert entry["changed"] is True
    assert entry["command"] == ""
    assert "level: was 45, is 25" in undone(path)


def test_what_was_undone_or_set_by_somebody_else_begins_anew(tmp_path):
    path = tmp_path / "journal.sqlite"
    for settings in ((FIRST, SECOND, FIRST), (SECOND, THIRD)):
        with journal_at(path) as journal:
            for setting in settings:
                journal.keep(SettingInForce(0.0, setting))
    [entry] = json.loads(undone(path, "--json", "-"))
    assert entry["original"] == SECOND


def by_hand(journal, time_s, parameters, changed):
    """Somebody else sets the queue, and the controller takes its hands off."""
    journal.keep(SettingInForce(time_s, parameters))
    why = "somebody else has set something; the queue is left alone"
    journal.keep(Decision(time_s, DecisionKind.HANDS_OFF, why, {"changed": changed}))


def given_back(journal, time_s):
    why = "a person has given the queue back after 6 s"
    journal.keep(Decision(time_s, DecisionKind.RESUMED, why, {"after_s": 6.0}))


def limits(path, *limits):
    """A journal of a queue with these limits, with the command of the first; it goes on."""
    journal = journal_at(path, discipline="drop-tail")
    command = f"tc qdisc change dev r1 root pfifo limit {limits[0]}"
    journal.keep(Decision(0.0, DecisionKind.FOUND, "it stands", {"command": command}))
    for time_s, limit in enumerate(limits):
        journal.keep(SettingInForce(time_s, {"limit": limit}))
    return journal


def test_undo_does_not_take_a_persons_setting_for_its_own(tmp_path):
    path = tmp_path / "journal.sqlite"
    with limits(path, 200) as journal:
        by_hand(journal, 3.5, {"limit": 170}, {"limit": 170})
        journal.keep(SettingInForce(6.0, {"limit": 160}))  # hands are off, and it is still read
    [entry] = json.loads(undone(path, "--json", "-"))
    assert (entry["changed"], entry["command"]) == (False, "")
    assert entry["set_by_others"] == {"limit": 160}
    told = undone(path)
    assert "somebody else has set limit to 160 packets since" in told
    assert "tc qdisc" not in told


def test_undo_does_not_print_a_command_that_destroys_what_a_person_has_set(tmp_path):
    path = tmp_path / "journal.sqlite"
    with limits(path, 200) as journal:
        by_hand(journal, 3.0, {"limit": 170}, {"limit": 170})
        given_back(journal, 9.0)
        journal.keep(SettingInForce(12.0, {"limit": 60}))
    told = undone(path)
    assert "limit: was 170 packets, is 60 packets" in told
    assert "tc qdisc" not in told
    [entry] = json.loads(undone(path, "--json", "-", "--interface", "eth0"))
    assert "limit 170" in entry["command"]


def test_what_vermilion_has_changed_beside_a_persons_setting_is_still_its_own(tmp_path):
    path = tmp_path / "journal.sqlite"
    with journal_at(path) as journal:
        journal.keep(SettingInForce(0.0, FIRST))
        journal.keep(SettingInForce(1.0, SECOND))
        by_hand(journal, 2.0, {**SECOND, "level": 60.0}, {"level": 60.0})
    [entry] = json.loads(undone(path, "--json", "-"))
    assert entry["original"] == {**FIRST, "level": 60.0}
    assert "weight: was 0.5, is 0.4" in undone(path)


def test_a_setting_by_hand_after_a_kill_is_where_the_next_run_begins(tmp_path):
    """Run 1 is killed at 76, a person sets 220, run 2 leaves it alone, run 3 goes back to it."""
    path = tmp_path / "journal.sqlite"
    limits(path, 100, 76)._database.close()
    with journal_at(path, discipline="drop-tail") as journal:
        by_hand(journal, 0.0, {"limit": 220}, {"limit": 220})
    with limits(path, 220, 76, 220):
        pass
    [entry] = json.loads(undone(path, "--json", "-"))
    assert (entry["original"], entry["changed"]) == ({"limit": 220}, False)
    assert entry["set_by_others"] == {}


def test_what_a_person_has_given_back_is_what_a_killed_run_leaves_to_restore(tmp_path):
    path = tmp_path / "journal.sqlite"
    journal = journal_at(path)
    journal.keep(SettingInForce(0.0, FIRST))
    by_hand(journal, 1.0, {**FIRST, "level": 60.0}, {"level": 60.0})
    given_back(journal, 2.0)
    journal.intend(3.0, Apply(1, {"level": 30.0}))
    journal.answered(3.0, Done(1, {**FIRST, "level": 30.0}))
    journal.keep(SettingInForce(3.0, {**FIRST, "level": 30.0}))
    journal._database.close()
    assert remembered(path).original == {**FIRST, "level": 60.0}


def test_what_a_queue_moves_by_itself_is_nobody_elses_setting(tmp_path):
    """Linux' RED moves its probability while `adaptive` is on, also between two runs."""
    path = tmp_path / "journal.sqlite"
    moved = {**SECOND, "weight": 0.41}
    for moving, original in ((["weight"], FIRST), ([], moved)):
        path.unlink(missing_ok=True)
        for settings in ((FIRST, SECOND), (moved, THIRD)):
            with journal_at(path) as journal:
                details = {"moved_by_queue": moving} if moving else {}
                journal.keep(Decision(0.0, DecisionKind.FOUND, "stands", details))
                for setting in settings:
                    journal.keep(SettingInForce(0.0, setting))
        [entry] = json.loads(undone(path, "--json", "-"))
        assert entry["original"] == original


@pytest.mark.parametrize(
    ("discipline", "before", "after", "told"),
    [
        ("codel", {"target": 0.005}, {"target": 0.0123456}, "target: was 5 ms, is 12.35 ms"),
        ("codel", {"ecn": True}, {"ecn": False}, "ecn: was true, is false"),
        (
            "codel",
            {"ce_threshold": None},
            {"ce_threshold": 0.001},
            "ce_threshold: was automatic, is 1 ms",
        ),
        (
            "codel",
            {"target": 0.005},
            {"target": 0.0050000001},
            "target: was 0.005 s, is 0.0050000001 s",
        ),
        (
            "red",
            {"min_threshold": 15.0, "weight": 0.002},
            {"min_threshold": 12.5, "weight": 0.004},
            "min_threshold: was 15 packets, is 12.5 packets\n    weight: was 0.002, is 0.004",
        ),
    ],
)
def test_undo_shows_values_with_their_units(tmp_path, discipline, before, after, told):
    path = tmp_path / "journal.sqlite"
    killed(path, before, after, discipline=discipline)
    assert f"    {told}\n" in undone(path)


def test_undo_writes_what_linux_has_as_tc_does(tmp_path):
    path = tmp_path / "journal.sqlite"
    before = {"target": 0.005, "interval": 0.1, "limit": 1000}
    killed(path, before, {**before, "target": 0.02}, discipline="codel")
    [entry] = json.loads(undone(path, "--json", "-", "--interface", "eth0"))
    command = entry["command"]
    assert command.startswith("tc qdisc change dev eth0 root codel")
    assert "target 5ms" in command or "target 5000us" in command


def test_undo_makes_the_command_of_a_run_on_a_real_router_again(tmp_path, monkeypatch):
    """It names the interface and the class; nobody has to know them."""
    command = "tc qdisc change dev r1 parent 1:10 handle a: pfifo limit 100"
    path = tmp_path / "vermilion" / "journal.sqlite"
    path.parent.mkdir()
    for limits, found in (((100, 76), command), ((76, 70), command.replace("100", "76"))):
        with journal_at(path, discipline="drop-tail", title="linux:r1/1:10") as journal:
            journal.keep(Decision(0.0, DecisionKind.FOUND, "it stands", {"command": found}))
            for limit in limits:
                journal.keep(SettingInForce(0.0, {"limit": limit}))
    [entry] = json.loads(undone(path, "--json", "-"))
    assert entry["command"] == command
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    told = CliRunner().invoke(application(), ["undo"])
    assert (told.exit_code, command in told.output) == (0, True)
    [entry] = json.loads(undone(path, "--json", "-", "--interface", "eth0"))
    assert "dev eth0 root" in entry["command"]


def test_undo_refuses_what_is_no_journal(tmp_path):
    for name, content in (("notes.txt", "these are my notes" * 100), ("other.sqlite", None)):
        path = tmp_path / name
        if content is None:
            with sqlite3.connect(path) as database:
                database.execute("CREATE TABLE precious (x)")
            database.close()
        else:
            path.write_text(content)
        result = CliRunner().invoke(application(), ["undo", str(path)])
        assert result.exit_code != 0
        assert "expected the file of online --journal" in str(result.exception)


PROGRAM = """
import os, signal, sys
from pathlib import Path
from vermilion.online import run_online
from vermilion.scenario import load_scenario

def on_event(decision):
    print(decision.kind, decision.reason, flush=True)
    if decision.kind == "applied" and sys.argv[2] == "to be killed":
        os.kill(os.getpid(), signal.SIGKILL)

short = ["duration=5 s", "warm_up=1 s", "settle=1 s", "flows.late.start=2 s .. 3 s"]
scenario = load_scenario("varying-load", short)
run_online(scenario, journal_path=Path(sys.argv[1]), clock="fixed", evaluations=60,
           re_evaluations=0, comparisons=3, on_event=on_event)
"""


@pytest.mark.evidence
def test_a_process_killed_in_the_middle_of_a_simulated_run_is_gone_on_with(tmp_path):
    path = tmp_path / "journal.sqlite"
    told = []
    for how in ("to be killed", "to the end"):
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path), how],
            check=False,
            capture_output=True,
            text=True,
        )
        told.append(process.stdout.splitlines())
        assert process.returncode == (-signal.SIGKILL if how == "to be killed" else 0), (
            process.stderr
        )
    assert told[0][0].startswith("start watching")
    assert told[1][0].startswith("start an earlier run did not end in order; this one continues it")
    assert not any(line.startswith("hands-off") for line in told[1])
    [entry] = json.loads(undone(path, "--json", "-"))
    with sqlite3.connect(path) as database:
        first = database.execute("SELECT parameters FROM setting ORDER BY id").fetchone()[0]
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT ended, goes_on_from FROM run").fetchall() == [
            (0, None),
            (1, 1),
        ]
    database.close()
    assert entry["original"] == json.loads(first)
