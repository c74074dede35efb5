"""``vermilion control``: mistakes, the terminal, signals, and where the journal is kept."""

from __future__ import annotations

import json
import os
import queue
import signal
import sqlite3
from dataclasses import replace

import pytest

from codel_oracle import RIGHT_S
from netlink_reference import FakeKernel, answered
from test_cli import refused, strict, vermilion
from vermilion.cli.online_terminal import Terminal
from vermilion.online.events import Command, Propose
from vermilion.routers.linux import router

__all__ = ["vermilion"]

ROUTER = ("online", "--router=linux:dummy0")
WAIT_S = 30.0
"""Longest wait for a thread that is about to do something; a failure, not a measurement."""


@pytest.fixture
def kernel(monkeypatch, tmp_path):
    """A stand-in for the kernel of this machine, and a home of its own."""
    stand_in = FakeKernel(answered("codel"))
    monkeypatch.setattr(router, "RouteSocket", lambda: stand_in)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    return stand_in


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["online"], "of a router: vermilion control"),
        (["online", "--router=linux:eth7"], 'no interface "eth7"; expected "dummy0"'),
        (["online", "--router=snmp:x"], 'expected "snmp:HOST/INTERFACE"'),
        (["online", "--router=cisco:x"], 'expected "linux:INTERFACE"'),
        ([*ROUTER, "--credentials=/nowhere.toml"], "--credentials needs a router of the kind"),
        (
            ["online", "--router=snmp:192.0.2.1/eth0", "--credentials=/nowhere.toml"],
            "credentials: /nowhere.toml cannot be read",
        ),
        (["online", "varying-load", "--credentials=x"], "--credentials needs a real router"),
        ([*ROUTER, "varying-load"], "SCENARIO needs a simulation"),
        ([*ROUTER, "--seeds=2"], "--seeds needs a simulation"),
        ([*ROUTER, "--knowledge=full"], "--knowledge needs a simulation"),
        ([*ROUTER, "--report=x.html"], "--report needs a simulation"),
        ([*ROUTER, "--path=a,b"], "--path needs several queues; expected --router more than once"),
        ([*ROUTER, *ROUTER[1:]], "linux:dummy0, linux:dummy0: expected different ones"),
        ([*ROUTER, "--router=linux:eth7"], 'no interface "eth7"; expected "dummy0"'),
        ([*ROUTER, "--router=snmp:192.0.2.1/eth0", "--monitor"], "--monitor listens to one"),
        ([*ROUTER, "--entrance=eth1"], "--entrance needs --monitor; expected --monitor beside it"),
        (
            [*ROUTER, "--router=linux:eth1", "--credentials=/nowhere.toml"],
            "--credentials needs a router of the kind",
        ),
        (["online", "varying-load", "--for=3 s"], "--for needs a real router"),
        (["online", "varying-load", "--policy=x.toml"], "--policy needs a real router"),
        ([*ROUTER, "--for=soon"], '--for: "soon" is not accepted; expected a time'),
        ([*ROUTER, "--policy=/nowhere.toml"], "--policy: cannot be read (No such file"),
        ([*ROUTER, "--policy=/"], "--policy: cannot be read (Is a directory"),
        ([*ROUTER, "--journal=/nowhere/x.sqlite"], "journal: /nowhere/x.sqlite is not accepted"),
        ([*ROUTER, "--json=/nowhere/x.json"], "cannot be written"),
    ],
)
@pytest.mark.usefixtures("kernel")
def test_a_mistake_gets_one_line_and_exit_code_2(vermilion, arguments, words):
    assert words in refused(vermilion(*arguments))


@pytest.mark.usefixtures("kernel")
def test_a_mistake_in_the_policy_names_the_file_and_what_is_accepted(vermilion, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[tuning]\ngoal = 3\n")
    message = refused(vermilion(*ROUTER, f"--policy={path}"))
    assert "mine.toml: tuning.goal: 3 is not accepted" in message
    assert '"objective"' in message


@pytest.mark.parametrize("mode", ["control", "propose"])
def test_without_the_capability_nothing_begins_and_the_message_says_how(
    vermilion, monkeypatch, kernel, mode, tmp_path
):
    monkeypatch.setattr(router, "may_change_queues", lambda _: False)
    message = refused(vermilion(*ROUTER, f"--mode={mode}"))
    for word in (f'"{mode}"', "CAP_NET_ADMIN", "setpriv", "AmbientCapabilities", "observe"):
        assert word in message
    assert kernel.told == []
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("service", [False, True])
def test_it_observes_for_a_time_and_keeps_a_journal(
    vermilion, monkeypatch, kernel, tmp_path, service
):
    path = tmp_path / "state" / "vermilion" / "linux-dummy0.sqlite"
    if service:  # systemd.exec(5): names are separated by colons
        monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}:/elsewhere")
        path = tmp_path / "journal.sqlite"
    code, out, err = vermilion(*ROUTER, "--for=0.1 s")
    assert (code, err) == (0, "")
    for word in ("mode observe: nothing is changed", str(path), "tc qdisc change dev dummy0 root"):
        assert word in out
    assert kernel.told == []
    database = sqlite3.connect(path)
    with database:
        assert database.execute("SELECT router, ended FROM run").fetchall() == [("linux", 1)]
    database.close()


@pytest.mark.usefixtures("kernel")
def test_json_says_what_was_found_and_what_was_decided(vermilion):
    code, out, err = vermilion(*ROUTER, "--for=0.1 s", "--json=-")
    assert (code, err) == (0, "")
    document = strict(out)
    assert document["router"] == "linux:dummy0"
    assert (document["mode"], document["at_exit"]) == ("observe", "keep")
    assert document["found"]["command"].startswith(
        "tc qdisc change dev dummy0 root handle 1: codel"
    )
    assert [each["kind"] for each in document["decisions"]] == ["found", "start", "end"]
    assert document["settings"][0]["parameters"] == document["found"]["parameters"]
    assert json.dumps(document)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(vermilion, kernel, monkeypatch, number):
    asked = []

    def queue_asked(interface, parent):
        asked.append(interface)
        if len(asked) == 12:
            os.kill(os.getpid(), number)
        return FakeKernel.queue(kernel, interface, parent)

    monkeypatch.setattr(kernel, "queue", queue_asked)
    before = signal.getsignal(number)
    code, out, err = vermilion(*ROUTER)
    assert (code, err) == (0, "")
    assert "the run has ended" in out
    assert signal.getsignal(number) is before


@pytest.mark.usefixtures("kernel")
def test_a_first_setting_that_does_not_come_back_is_an_exit_code_of_its_own(vermilion, monkeypatch):
    """By hand: somebody has put another kind there, and the controller has to restore."""
    from vermilion.online.drive import real_router
    from vermilion.online.entries import Decision, DecisionKind

    run_on_router = real_router.run_on_router

    def not_restored(*arguments, **more):
        run = run_on_router(*arguments, **more)
        end = Decision(1.0, DecisionKind.END, "the run has ended", {"restored": False})
        return replace(run, decisions=(*run.decisions[:-1], end))

    monkeypatch.setattr(real_router, "run_on_router", not_restored)
    code, _, err = vermilion(*ROUTER, "--for=1 s")
    assert code == 12
    assert err.startswith("the first setting could not be restored; vermilion")


class Talk:
    """A terminal at the end of a pipe."""

    def __init__(self):
        self.commands = queue.SimpleQueue()
        self.theirs, self.ours = os.pipe()
        self.terminal = Terminal(self.commands.put, self.theirs)

    def __enter__(self):
        self.terminal.__enter__()
        return self

    def __exit__(self, *_):
        self.terminal.__exit__()
        os.close(self.theirs)

    def say(self, text):
        os.write(self.ours, text.encode())

    def heard(self):
        return self.commands.get(timeout=WAIT_S)


PROPOSAL = Propose(7, {"target": RIGHT_S}, "it is better")


@pytest.mark.parametrize(
    ("answer", "verb"),
    [("y", "accept"), ("YES ", "accept"), ("n", "decline"), ("no", "decline"), ("", "decline")],
)
def test_a_person_answers_a_proposal(answer, verb):
    with Talk() as talk:
        talk.terminal.ask(PROPOSAL)
        talk.say(f"{answer}\n")
        assert talk.heard() == Command(verb, 7)


def test_words_count_at_any_time_and_others_are_not_taken_for_an_answer(capfd):
    with Talk() as talk:
        talk.say("y\n\x1b[31mperhaps\npause\n")
        assert talk.heard() == Command("pause")
        talk.terminal.ask(PROPOSAL)
        talk.say("res")
        talk.say("ume\nyeah\n")
        assert talk.heard() == Command("resume")
        talk.terminal.withdraw()
        talk.say("y\nstop\n")
        assert talk.heard() == Command("stop")
    _, err = capfd.readouterr()
    assert "apply proposal 7? [y/N]" in err
    assert '"?[31mperhaps" is not understood; expected pause, resume or stop' in err
    assert "\x1b" not in err


def test_when_nobody_can_answer_any_more_proposals_are_declined():
    with Talk() as talk:
        talk.terminal.ask(PROPOSAL)
        os.close(talk.ours)
        assert talk.heard() == Command("decline", 7)
        talk.terminal.ask(Propose(8, {}, ""))
        assert talk.heard() == Command("decline", 8)
