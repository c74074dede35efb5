"""Answers on the live page: who may give them, about what, and how often they count."""

import errno
import http.client
import json
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from journal_of_looks import book, look, looks
from test_cli import SHORT, refused, vermilion
from test_live_page import ask
from vermilion.monitor import privileges
from vermilion.monitor.privileges import CAP_DAC_READ_SEARCH
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.events import Command
from vermilion.status.listener import Listener
from vermilion.status.live_page import beside
from vermilion.status.live_page.beside import PageBeside, Started, command_message, command_of
from vermilion.status.live_page.journal_reader import JournalReader

__all__ = ["vermilion"]

TOKEN = "sixteen-characters-at-least"  # noqa: S105 - nobody's
ALL = ("accept", "decline", "undo", "pause", "resume")


class Asking:
    """A page beside a journal in which a proposal is open."""

    def __init__(self, path, verbs=ALL):
        self.heard = SimpleQueue()
        self.journal = book(path)
        looks(self.journal, 1, 50)
        self.journal.keep(SettingInForce(0.1, {"min_threshold": 5.0, "weight": 0.002}))
        self.propose(7)
        self.page = PageBeside(
            path, Listener("127.0.0.1", 0, TOKEN), verbs=verbs, on_command=self.heard.put
        )
        self.port = int(re.search(r":(\d+)/", self.page.address)[1])

    def propose(self, number):
        details = {"number": number, "setting": {"min_threshold": 12.5}}
        self.decide(DecisionKind.PROPOSED, f"proposal {number}: less waiting", details)

    def decide(self, kind, reason="why", details=None):
        self.journal.keep(Decision(1.0, kind, reason, details or {}))

    def word(self):
        told = json.loads(ask(self.port, "/api/runs", token=TOKEN)[2])
        return told["answers"]["word"]

    def answer(self, verb, number=0, run=1, body=None, **changed):
        """Says something as the page's own script would; the status and the words."""
        headers = {
            "Authorization": f"Bearer {TOKEN}",
            "Origin": f"http://127.0.0.1:{self.port}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
            "X-Vermilion-Answer": changed.pop("word", None) or self.word(),
        }
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        body = json.dumps({"verb": verb, "number": number}) if body is None else body
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            connection.request(
                "POST",
                f"/api/runs/{run}/answer",
                body,
                {name: value for name, value in headers.items() if value},
            )
            answer = connection.getresponse()
            return answer.status, answer.read().decode().strip()

    def said(self):
        """Everything that has reached the controller."""
        found = []
        try:
            while True:
                found.append(self.heard.get(timeout=0.3))
        except Empty:
            return found

    def close(self):
        self.page.close()
        self.journal.close()


@pytest.fixture
def asking(tmp_path):
    there = Asking(tmp_path / "j.sqlite")
    yield there
    there.close()


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A page that nobody's answer may get through."""
    there = Asking(tmp_path_factory.mktemp("refusing") / "j.sqlite")
    yield there
    assert there.said() == []
    there.close()


def test_an_answer_reaches_the_controller_once(asking):
    assert asking.answer("accept", 7)[0] == 202
    assert asking.answer("accept", 7) == (409, "that has been answered already")
    assert asking.answer("decline", 7) == (409, "that has been answered already")
    assert asking.said() == [Command("accept", 7)]


def test_only_what_is_open_can_be_answered(asking):
    assert asking.answer("accept", 6) == (409, "proposal 6 is not open any more")
    assert asking.answer("undo", 1) == (409, "that change cannot be taken back any more")
    asking.decide(DecisionKind.CHANGE_DETECTED)
    asking.decide(DecisionKind.DECLINED)
    assert asking.answer("accept", 7) == (409, "proposal 7 is not open any more")
    assert asking.answer("accept", 7, run=2) == (409, "that run has ended")
    assert asking.said() == []


def test_the_last_change_can_be_taken_back_once(asking):
    asking.decide(DecisionKind.APPLIED, "it is better")
    number = last_change(asking)
    assert asking.answer("undo", number)[0] == 202
    assert asking.answer("undo", number) == (409, "that has been answered already")
    assert asking.said() == [Command("undo")]
    asking.decide(DecisionKind.ROLLED_BACK)
    assert asking.answer("undo", number) == (409, "that change cannot be taken back any more")


def last_change(asking):
    """The number of the change that the page offers to take back."""
    _, _, told = next(news(asking))
    return told["asks"]["undo"]["number"]


def news(asking):
    """Snapshots of the page, as a browser gets them."""
    while True:
        with closing(http.client.HTTPConnection("127.0.0.1", asking.port, timeout=60)) as line:
            line.request("GET", "/api/runs/1/news", headers={"Authorization": f"Bearer {TOKEN}"})
            answer = line.getresponse()
            fields = dict(
                answer.readline().decode().rstrip("\n").partition(": ")[::2] for _ in range(3)
            )
            yield answer.status, fields["event"], json.loads(fields["data"])


def test_what_is_asked_says_what_stands_and_what_would(asking):
    _, _, told = next(news(asking))
    assert told["asks"]["proposal"] == {
        "number": 7,
        "time_s": 1.0,
        "reason": "proposal 7: less waiting",
        "setting": {"min_threshold": 12.5},
        "now": {"min_threshold": 5.0},
    }
    assert (told["asks"]["undo"], told["asks"]["paused"]) == (None, False)
    asking.decide(DecisionKind.PAUSED, details={"by": "a person"})
    assert next(news(asking))[2]["asks"]["paused"] is True
    asking.decide(DecisionKind.RESUMED, details={"by": "a person"})
    asking.decide(DecisionKind.PAUSED, "the queue is idle")
    assert next(news(asking))[2]["asks"]["paused"] is False


def test_a_moment_without_traffic_does_not_hide_that_a_person_has_paused(asking):
    asking.decide(DecisionKind.PAUSED, details={"by": "a person"})
    asking.decide(DecisionKind.PAUSED, "there is nothing to carry", {"link_state": "idle"})
    assert next(news(asking))[2]["asks"]["paused"] is True
    asking.decide(DecisionKind.RESUMED, "the link is busy again", {"after_s": 10.0})
    assert next(news(asking))[2]["asks"]["paused"] is True
    asking.decide(DecisionKind.RESUMED, details={"by": "a person"})
    assert next(news(asking))[2]["asks"]["paused"] is False


def test_what_waits_for_a_person_outlives_a_kill_of_the_controller(tmp_path):
    path = tmp_path / "j.sqlite"
    killed = book(path)
    killed.keep(SettingInForce(0.1, {"limit": 20}))
    killed.keep(Decision(1.0, DecisionKind.PAUSED, "why", {"by": "a person"}))
    killed._database.close()
    with book(path) as journal:
        looks(journal, 1, 5)
        assert JournalReader(path).snapshot(2)[1]["asks"]["paused"] is True


def test_hands_off_waits_for_a_person_to_give_the_queue_back(asking):
    assert next(news(asking))[2]["asks"]["hands_off"] is None
    words = "somebody else has set limit to 60; the queue is left alone until a person says so"
    asking.decide(DecisionKind.HANDS_OFF, words, {"changed": {"limit": 60}})
    told = next(news(asking))[2]["asks"]
    assert (told["hands_off"], told["paused"]) == ("somebody else has set limit to 60", False)
    assert asking.answer("resume")[0] == 202
    asking.decide(DecisionKind.RESUMED, "a person has given the queue back", {"after_s": 5.0})
    assert next(news(asking))[2]["asks"]["hands_off"] is None


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"word": "guessed"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Authorization": "Bearer guessed-guessed-guessed"}, 401),
        ({"Authorization": ""}, 401),
        ({"Host": "evil.example"}, 421),
        ({"body": "{"}, 400),
        ({"body": "[" * 900}, 400),
        ({"body": "[]"}, 400),
        ({"body": '{"verb": "stop"}'}, 400),
        ({"body": '{"verb": ["accept"], "number": 7}'}, 400),
        ({"body": '{"verb": "accept", "number": true}'}, 400),
        ({"body": '{"verb": "accept", "number": "7"}'}, 400),
        ({"body": " " * 2000}, 413),
    ],
)
def test_nobody_elses_request_is_taken_for_an_answer(refusing, changed, status):
    assert refusing.answer("accept", 7, **changed)[0] == status


def test_a_page_that_only_shows_takes_no_answer(tmp_path):
    there = Asking(tmp_path / "j.sqlite", verbs=())
    try:
        assert there.answer("accept", 7, word="any")[0] == 405
        assert "answers" not in json.loads(ask(there.port, "/api/runs", token=TOKEN)[2])
        assert there.said() == []
    finally:
        there.close()


def test_only_what_fits_the_mode_can_be_said(tmp_path):
    there = Asking(tmp_path / "j.sqlite", verbs=("undo", "pause", "resume"))
    try:
        assert there.answer("accept", 7)[0] == 400
        assert there.answer("pause")[0] == 202
        assert there.answer("resume")[0] == 202
        assert there.said() == [Command("pause"), Command("resume")]
    finally:
        there.close()


def test_an_ended_run_takes_no_answer_and_the_page_ends_with_its_controller(tmp_path):
    there = Asking(tmp_path / "j.sqlite")
    there.journal.close()
    assert there.answer("accept", 7) == (409, "that run has ended")
    begun = time.monotonic()
    there.page.close()
    assert time.monotonic() - begun < 5
    with pytest.raises(ConnectionRefusedError):
        ask(there.port, "/", token=TOKEN)


@pytest.mark.parametrize(
    ("said", "verbs"),
    [
        (b"", ALL),
        (b"accept", ALL),
        (b"[]", ALL),
        (b"[" * 10_000, ALL),
        (b"\xff", ALL),
        (pickle.dumps(Command("accept", 7)), ALL),
        (b'{"verb": "accept"}', ALL),
        (b'{"verb": "accept", "number": 7, "more": 1}', ALL),
        (b'{"verb": "accept", "number": null}', ALL),
        (b'{"verb": "accept", "number": true}', ALL),
        (b'{"verb": "accept", "number": 7.5}', ALL),
        (b'{"verb": "accept", "number": -1}', ALL),
        (b'{"verb": "accept", "number": 9223372036854775808}', ALL),
        (b'{"verb": "undo", "number": 7}', ALL),
        (b'{"verb": ["undo"], "number": null}', ALL),
        (b'{"verb": "stop", "number": null}', ALL),
        (b'{"verb": "accept", "number": 7}', ("undo", "pause", "resume")),
        (b'{"verb": "undo", "number": null}', ()),
    ],
)
def test_the_controller_believes_nothing_that_its_page_does_not_say(said, verbs):
    with pytest.raises(ValueError, match=r"."):
        command_of(said, verbs)


@pytest.mark.parametrize("command", [Command("accept", 7), Command("decline", 0), Command("undo")])
def test_the_controller_hears_what_its_page_says(command):
    assert command_of(command_message(command), ALL) == command


class Trap:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def _taken_over(connection, path, *_):
    """What somebody might do who has got into the page's process."""
    connection.send_bytes(Started("http://127.0.0.1:1/?token=x").message())
    connection.send(Trap(f"{path}-trap"))
    connection.send_bytes(command_message(Command("accept", 7)))
    threading.Event().wait()


def test_a_page_that_was_taken_over_is_ended_and_gets_nothing_run(tmp_path, monkeypatch):
    monkeypatch.setattr(beside, "_serve", _taken_over)
    heard = SimpleQueue()
    path = tmp_path / "j.sqlite"
    with PageBeside(path, Listener("127.0.0.1", 0, TOKEN), verbs=ALL, on_command=heard.put) as page:
        page._process.join(60)
        assert page._process.exitcode == -signal.SIGKILL
    assert heard.empty()
    assert not path.with_name("j.sqlite-trap").exists()


def privileges_of(page):
    """The sets of every thread of the page's process, and whether it may gain privileges."""
    found = []
    for thread in Path(f"/proc/{page._process.pid}/task").iterdir():
        text = (thread / "status").read_text(encoding="ascii", errors="replace")
        found.append(dict(re.findall(r"^(Cap\w+|NoNewPrivs):\s*(\w+)$", text, re.MULTILINE)))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has capabilities")
def test_the_page_has_no_capability_and_can_gain_none(asking):
    assert ask(asking.port, "/api/runs", token=TOKEN)[0] == 200
    for thread in privileges_of(asking.page):
        assert thread["NoNewPrivs"] == "1"
        sets = ["CapInh", "CapPrm", "CapEff", "CapAmb"]
        if os.geteuid() == 0:
            sets.append("CapBnd")
        assert {int(thread[name], 16) for name in sets} == {0}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into another user's folder")
def test_root_may_keep_its_journal_in_a_folder_of_another_user(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    there = Asking(folder / "j.sqlite")
    try:
        assert ask(there.port, "/api/runs", token=TOKEN)[0] == 200
        assert {int(each["CapEff"], 16) for each in privileges_of(there.page)} == {
            1 << CAP_DAC_READ_SEARCH
        }
    finally:
        there.close()


def test_a_page_that_keeps_its_privileges_is_not_served(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(privileges, "give_up_all", refuse)
    ours, theirs = multiprocessing.Pipe()
    handler = signal.getsignal(signal.SIGINT)
    try:
        beside._serve(theirs, str(tmp_path / "j.sqlite"), (Listener("127.0.0.1", 0, TOKEN),), ())
    finally:
        signal.signal(signal.SIGINT, handler)
    assert Started.of(ours.recv_bytes()) == Started(
        trouble="--listen: its process cannot drop its privileges (Operation not permitted)"
    )
    ours.close()
    theirs.close()


def test_several_queues_are_shown_one_by_one(tmp_path):
    path = tmp_path / "j.sqlite"
    with book(path) as journal:
        journal.keep(SettingInForce(0.1, {"wan.limit": 100.0, "lan.limit": 20.0}))
        for tenth in range(1, 11):
            journal.keep(set_sample(tenth / 10))
    reader = JournalReader(path)
    _, whole = reader.snapshot(1)
    assert whole["run"]["queues"] == ["lan", "wan"]
    assert whole["series"]["queue_packets"] == [30, 30]
    _, one = reader.snapshot(1, "wan")
    assert one["series"]["queue_packets"] == [10, 10]
    assert one["series"]["flows"] == [None, None]
    assert one["settings"][-1]["parameters"] == {"limit": 100.0}
    assert one["bands"] == []
    assert reader.history(1, 0.0, 1.0, "lan")["series"]["queue_packets"][-1] == 20
    with pytest.raises(KeyError):
        reader.snapshot(1, "nowhere")


def set_sample(time_s):
    """Of two queues, with 10 and 20 packets."""
    wan = look(time_s)
    lan = look(time_s, backlog_packets=20, backlog_bytes=30_000)
    both = look(time_s, backlog_packets=30, backlog_bytes=45_000)
    return replace(both, links=("wan", "lan"), queues=(wan, lan))


MISTAKES = [
    (["--answers"], "--answers: --listen is missing; expected --listen beside it"),
    (["--listen-token=x"], "--listen-token: --listen is missing"),
    (["--listen", "0.0.0.0:0"], "can be reached from other machines"),
    (["--listen", "0.0.0.0:0", "--listen-from-outside"], "expected --listen-token"),
    (["--listen", "nonsense"], "--listen: 'nonsense' is not accepted"),
    (["--page", "127.0.0.1:0", "--answers"], "expected --mode propose"),
]


@pytest.mark.parametrize(("options", "words"), MISTAKES)
def test_a_mistake_about_the_page_is_one_line(vermilion, options, words):
    assert words in refused(vermilion("online", "oscillating-red", *options))


@pytest.mark.evidence
def test_a_simulated_network_waits_for_the_page_to_answer(tmp_path):
    command = [sys.executable, "-m", "vermilion", "online", "varying-load", "--mode=propose"]
    command += ["--clock=fixed", "--page=127.0.0.1:0", "--answers", *SHORT]
    command += [f"--journal={tmp_path / 'j.sqlite'}"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    try:
        port, token = re.search(r":(\d+)/\?token=(\S+)", process.stderr.readline()).groups()
        answered = 0
        while "The runs have ended" not in (line := process.stderr.readline()):
            assert line, process.stdout.read()
            if found := re.search(r"proposal (\d+) waits", line):
                answered += accept(int(port), token, int(found[1]))
        assert answered > 0
    finally:
        process.send_signal(2)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.count("  applied  ") == answered


def accept(port, token, number):
    told = json.loads(ask(port, "/api/runs", token=token)[2])
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request(
            "POST",
            f"/api/runs/{told['runs'][0]['id']}/answer",
            json.dumps({"verb": "accept", "number": number}),
            {
                "Authorization": f"Bearer {token}",
                "Origin": f"http://127.0.0.1:{port}",
                "Content-Type": "application/json",
                "X-Vermilion-Answer": told["answers"]["word"],
            },
        )
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (202, b'{"taken":true}')
    return 1
