"""What a controller tells about itself: from its journal, as log lines, and to Prometheus."""

import contextlib
import json
import os
import re
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from test_cli import refused, vermilion
from test_cli_online_router import ROUTER, kernel
from vermilion.monitor import Listening
from vermilion.online.decide.states import Watching
from vermilion.online.entries import Decision, DecisionKind, SettingInForce
from vermilion.online.events import Apply, Done
from vermilion.online.record.journal import Journal
from vermilion.online.router_policy import read_policy
from vermilion.online.sense.sampler import Sample
from vermilion.routers.base import Observation, Reading, RttSamples
from vermilion.scenario import ScenarioError
from vermilion.status import log_line, read_status
from vermilion.status.decisions import DOING
from vermilion.status.listener import Listener, ListenerError, listener_of, read_token
from vermilion.status.live_page.beside import PageBeside
from vermilion.status.live_page.journal_reader import JournalReader
from vermilion.status.metrics import ControllerMetrics

__all__ = ["kernel", "vermilion"]

BEGUN = datetime(2026, 11, 23, 1, 23, 10, tzinfo=UTC)
SAMPLE = Sample(4.0, 0.1, 10, 12, 18_000, 80, 120_000, 1, 0, 16, 9, 30, 0.05)
FOUND = {"parameters": {"limit": 100}, "mode": "control", "changes_per_minute": 2}


@pytest.fixture
def journal(tmp_path):
    """Of a run that has changed a queue twice and goes on; and when it looked last."""
    path = tmp_path / "journal.sqlite"
    wall = [BEGUN]
    with running(path, wall) as book:
        book.keep(Decision(0.1, DecisionKind.FOUND, "stands", FOUND))
        for number, time_s in ((1, 2.0), (2, 3.0)):
            book.intend(time_s, Apply(number, {"limit": 50 + number}))
            book.answered(time_s, Done(number, {"limit": 50 + number}))
            book.keep(SettingInForce(time_s, {"limit": 50 + number}))
        book.keep(Decision(3.0, DecisionKind.APPLIED, "it is better", {}))
        wall[0] = looked = BEGUN + timedelta(seconds=4.0)
        book.keep(SAMPLE)
    return path, looked


@contextlib.contextmanager
def running(path, wall, network=None):
    """A journal of a run that goes on afterwards, with this for a wall clock."""
    yield (
        book := Journal(
            path,
            version="1.2.3",
            title="linux:eth0",
            router="linux",
            link="linux:eth0",
            discipline="red",
            target_packets=30.0,
            network=network,
            wall=lambda: wall[0],
        )
    )
    book._database.close()


def test_a_running_controller_says_what_it_does(journal):
    path, looked = journal
    [queue] = read_status(path, looked + timedelta(seconds=1))
    assert (queue.state, queue.mode) == ("running", "control")
    assert queue.doing == "verifying the new setting on the network"
    assert queue.setting == {"limit": 52}
    assert queue.setting_since == looked - timedelta(seconds=1)
    assert (queue.last_decision, queue.last_reason) == ("applied", "it is better")
    assert (queue.last_look, queue.changes_last_minute) == (looked, 2)
    # Two are allowed in a minute: the next one a minute after the first of them.
    assert queue.next_change == looked + timedelta(seconds=58)
    assert queue.next_look is not None


def test_one_that_has_not_looked_for_long_is_silent_and_not_running(journal):
    path, looked = journal
    [queue] = read_status(path, looked + timedelta(seconds=60))
    assert (queue.state, queue.next_look, queue.next_change) == ("silent", None, None)
    assert queue.doing.startswith("nothing that can be seen; before: verifying")


def test_a_persons_pause_is_not_a_queue_that_tells_nothing(journal):
    path, looked = journal
    database = sqlite3.connect(path)
    for details, words in (('{"by": "a person"}', "a person has asked"), ("{}", "tells nothing")):
        database.execute(
            "INSERT INTO decision (run, time_s, kind, reason, details) VALUES (1, 3.5, ?, '', ?)",
            (DecisionKind.PAUSED, details),
        )
        database.commit()
        [queue] = read_status(path, looked)
        assert words in queue.doing
    database.close()


BLIND = (DecisionKind.BLIND, {})
SIGHTED = (DecisionKind.SIGHTED, {})
REFUSED = (DecisionKind.REFUSED, {})
FELL_BACK = (DecisionKind.FELL_BACK, {})
HANDS_OFF = (DecisionKind.HANDS_OFF, {"changed": {"limit": 170}})
RESUMED = (DecisionKind.RESUMED, {"after_s": 8.0})
PERSON_PAUSED = (DecisionKind.PAUSED, {"by": "a person"})
PERSON_RESUMED = (DecisionKind.RESUMED, {"by": "a person"})
LINK_PAUSED = (DecisionKind.PAUSED, {})
LINK_RESUMED = (DecisionKind.RESUMED, {})
KEPT = (DecisionKind.KEPT, {})


@pytest.mark.parametrize(
    ("decided", "words"),
    [
        ([BLIND, REFUSED], "waiting for the router to answer"),
        ([BLIND, FELL_BACK], "waiting for the router to answer, under the setting for blind"),
        ([BLIND, REFUSED, PERSON_PAUSED], "waiting for the router to answer"),
        ([BLIND, REFUSED, SIGHTED], "waiting for a steady traffic estimate"),
        ([BLIND, HANDS_OFF], "hands off"),
        ([HANDS_OFF, PERSON_PAUSED], "hands off"),
        ([HANDS_OFF, PERSON_PAUSED, PERSON_RESUMED, RESUMED], "watching"),
        ([PERSON_PAUSED, KEPT], "paused; a person has asked"),
        ([PERSON_PAUSED, LINK_PAUSED, LINK_RESUMED], "paused; a person has asked"),
        ([PERSON_PAUSED, LINK_PAUSED, PERSON_RESUMED], "watching"),
        ([LINK_PAUSED], "paused; the queue tells nothing"),
    ],
)
def test_what_lasts_is_not_forgotten_for_what_was_decided_since(journal, decided, words):
    path, looked = journal
    with sqlite3.connect(path) as database:
        for kind, details in decided:
            database.execute(
                "INSERT INTO decision (run, time_s, kind, reason, details)"
                " VALUES (1, 3.5, ?, 'why', ?)",
                (kind, json.dumps(details)),
            )
    database.close()
    [queue] = read_status(path, looked)
    assert queue.doing.startswith(words)


def test_a_decision_is_no_look(journal):
    path, looked = journal
    with sqlite3.connect(path) as database:
        database.execute(
            "INSERT INTO decision (run, time_s, kind, reason, details)"
            " VALUES (1, 10.0, 'blind', 'why', '{}')"
        )
    database.close()
    [queue] = read_status(path, looked + timedelta(seconds=7.2))
    assert (queue.state, queue.next_look) == ("silent", None)


def test_a_run_that_has_decided_and_not_looked_yet_is_running(tmp_path):
    path = tmp_path / "journal.sqlite"
    with running(path, [BEGUN]) as book:
        book.keep(Decision(2.0, DecisionKind.FOUND, "stands", FOUND))
    [queue] = read_status(path, BEGUN + timedelta(seconds=3.0))
    assert (queue.state, queue.last_look) == ("running", None)


def looking(path, steps, seconds=40, **changed):
    """A run that looks every tenth of a second; the wall clock at its last look.

    Args:
        path: of its journal.
        steps: by how much somebody sets the wall clock, and when.
        seconds: how long.
        changed: of every sample.
    """
    wall = [BEGUN]
    with running(path, wall) as book:
        book.keep(Decision(0.0, DecisionKind.FOUND, "stands", FOUND))
        for tenth in range(1, seconds * 10 + 1):
            wall[0] += timedelta(seconds=0.1 + steps.get(tenth / 10, 0.0))
            if tenth == 300:
                book.intend(30.0, Apply(1, {"limit": 51}))
                book.answered(30.0, Done(1, {"limit": 51}))
                book.keep(SettingInForce(30.0, {"limit": 51}))
            book.keep(replace(SAMPLE, time_s=tenth / 10, **changed))
    return wall[0]


@pytest.mark.parametrize("step_s", [30.0, -3600.0, 1e9])
def test_a_clock_that_is_set_after_the_start_confuses_nobody(tmp_path, step_s):
    now = looking(tmp_path / "j.sqlite", {10.0: step_s})
    [queue] = read_status(tmp_path / "j.sqlite", now)
    assert (queue.state, queue.last_look, queue.changes_last_minute) == ("running", now, 1)
    # By the clock of now: a moment of a day that nobody knew yet helps nobody.
    assert queue.since == now - timedelta(seconds=40)
    assert queue.setting_since == now - timedelta(seconds=10)
    assert queue.next_change == now
    # The page shows times of now, too.
    about = JournalReader(tmp_path / "j.sqlite").snapshot(1)[1]["run"]
    assert datetime.fromisoformat(about["zero_utc"]) == now - timedelta(seconds=40)
    [later] = read_status(tmp_path / "j.sqlite", now + timedelta(seconds=6))
    assert (later.state, later.last_look) == ("silent", now)


def test_a_dead_controller_does_not_run_because_the_clock_was_set_back(tmp_path):
    now = looking(tmp_path / "j.sqlite", {})
    [queue] = read_status(tmp_path / "j.sqlite", now - timedelta(hours=1))
    assert queue.state == "silent"


def test_the_clock_is_written_down_when_it_is_set_and_not_at_every_look(tmp_path):
    path = tmp_path / "j.sqlite"
    looking(path, {5.0: 0.2, 10.0: 30.0})  # the first one is no more than a clock that is late
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT run, time_s, utc FROM wall_clock").fetchall() == [
            (1, 10.0, "2026-11-23T01:23:50.200+00:00")
        ]


def test_a_router_that_is_asked_once_a_second_is_looked_at_once_a_second(tmp_path):
    now = looking(tmp_path / "j.sqlite", {}, interval_s=1.0)
    [queue] = read_status(tmp_path / "j.sqlite", now + timedelta(seconds=0.25))
    assert queue.next_look == now + timedelta(seconds=1)
    [late] = read_status(tmp_path / "j.sqlite", now + timedelta(seconds=1.5))
    assert late.next_look == now + timedelta(seconds=1.5)


def test_a_journal_of_version_5_says_what_it_said(journal):
    path, looked = journal
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE wall_clock")
        database.execute("PRAGMA user_version = 5")
        database.commit()
    [queue] = read_status(path, looked + timedelta(seconds=1))
    assert (queue.state, queue.since, queue.last_look) == ("running", BEGUN, looked)
    [queue] = read_status(path, looked + timedelta(seconds=60))
    assert queue.state == "silent"


def test_one_that_has_ended_says_so(journal):
    path, looked = journal
    with sqlite3.connect(path) as database:
        database.execute("UPDATE run SET ended = 1")
    [queue] = read_status(path, looked)
    assert (queue.state, queue.doing) == ("ended", "ended")


def test_looking_writes_nothing(journal):
    path, looked = journal
    before = path.read_bytes()
    read_status(path, looked)
    assert path.read_bytes() == before


def test_every_kind_of_decision_has_its_words():
    assert set(DOING) == set(DecisionKind)


class TestCommand:
    def test_it_shows_all_journals_of_a_folder(self, vermilion, journal):
        path, _ = journal
        code, out, err = vermilion("status", f"--state-dir={path.parent}")
        assert (code, err) == (0, "")
        assert out.startswith("linux:eth0 (red, mode control): ")
        assert "in force   limit 52 packets" in out
        code, out, _ = vermilion("status", path, "--json=-")
        [queue] = json.loads(out)
        assert code == 0
        assert (queue["journal"], queue["setting"]) == (str(path), {"limit": 52})
        assert datetime.fromisoformat(queue["since"]).tzinfo is not None

    @pytest.mark.parametrize("ended", [True, False])
    def test_of_a_simulated_run_it_tells_the_time_of_the_run(self, vermilion, tmp_path, ended):
        path = tmp_path / "practice.sqlite"
        # Of an hour that was simulated in no time at all, as a fast machine does.
        begun = datetime.now(UTC)
        with running(path, [begun], network="seed 1") as book:
            book.keep(SettingInForce(0.0, {"limit": 51}))
            book.keep(Decision(1234.56, DecisionKind.KEPT, "nothing better", {}))
            book.keep(replace(SAMPLE, time_s=3600.0))
        if ended:
            with sqlite3.connect(path) as database:
                database.execute("UPDATE run SET ended = 1")
        code, out, err = vermilion("status", path)
        assert (code, err) == (0, "")
        told = dict(re.findall(r"^  (.{10}) (.*)$", out, re.MULTILINE))
        assert told["last look".ljust(10)] == "at 3600.0 s of the run"
        assert told["set".ljust(10)] == "at 0.0 s of the run"
        assert told["".ljust(10)] == "at 1234.6 s of the run"
        assert "next look".ljust(10) not in told
        # The only time of day is that of the beginning, which is past.
        [day] = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", out)
        assert datetime.fromisoformat(f"{day}+00:00") <= begun
        [queue] = json.loads(vermilion("status", path, "--json=-")[1])
        assert queue["simulated"]
        last, since = (datetime.fromisoformat(queue[key]) for key in ("last_look", "since"))
        assert last - since == timedelta(hours=1)

    def test_of_a_router_it_tells_the_time_of_day(self, vermilion, tmp_path):
        path = tmp_path / "journal.sqlite"
        looking(path, {})
        out = vermilion("status", path)[1]
        assert re.search(r"last look  2026-11-23 01:23:50 UTC", out)
        assert "of the run" not in out
        assert not json.loads(vermilion("status", path, "--json=-")[1])[0]["simulated"]

    def test_what_is_no_journal_is_refused(self, vermilion, tmp_path):
        odd = tmp_path / "odd.sqlite"
        odd.write_bytes(b"no database at all, though it has the name of one" * 40)
        assert "expected the file of online --journal" in refused(vermilion("status", odd))
        assert "does not exist" in refused(vermilion("status", tmp_path / "nothing.sqlite"))
        assert "does not exist" in refused(vermilion("status", f"--state-dir={tmp_path / 'no'}"))
        both = vermilion("status", odd, f"--state-dir={tmp_path}")
        assert "--state-dir are both given" in refused(both)

    def test_a_journal_with_nonsense_in_it_is_refused(self, vermilion, journal):
        path, _ = journal
        with sqlite3.connect(path) as database:
            database.execute("UPDATE setting SET parameters = '{'")
        assert "is not accepted" in refused(vermilion("status", path))


def test_a_log_line_is_one_object_on_one_line():
    decision = Decision(3.5, DecisionKind.ROLLED_BACK, "two\nlines", {"to": {"limit": 3}})
    line = log_line(decision, "linux:eth0", 1_700_000_000.25)
    assert "\n" not in line
    told = json.loads(line)
    assert told["time"] == "2023-11-14T22:13:20.250+00:00"
    assert (told["level"], told["event"], told["reason"]) == (
        "warning",
        "rolled-back",
        "two\nlines",
    )
    assert told["details"] == {"to": {"limit": 3}}
    assert json.loads(log_line(Decision(0, DecisionKind.KEPT, "", {}), "r", 0))["level"] == "info"


@pytest.mark.usefixtures("kernel")
def test_a_run_logs_objects_where_it_is_asked_to(vermilion, tmp_path):
    book = f"--journal={tmp_path / 'j.sqlite'}"
    code, out, err = vermilion(*ROUTER, "--for=0.3 s", "--log-format=json", book)
    assert (code, err) == (0, "")
    told = [json.loads(line) for line in out.splitlines()]
    assert [each["event"] for each in told[:1]] == ["found"]
    assert told[-1]["event"] == "end"
    assert {each["router"] for each in told} == {"linux:dummy0"}


def metrics_of(**more):
    metrics = ControllerMetrics("linux:eth0", "red", "control", "1.2.3", wall=lambda: 9.0, **more)
    reading = Reading(1.0, 12, 18_000, 800, 1_200_000, 5, 3)
    trips = RttSamples(np.array([1, 2]), np.array([0.02, 0.04]))
    metrics.observed(Observation(reading, active_flows=16, round_trips=trips))
    metrics.decided(Decision(1.0, DecisionKind.APPLIED, "", {}))
    state = Watching.__new__(Watching)
    controller = SimpleNamespace(
        state=state, in_force={"limit": 60, "ecn": True}, budget=SimpleNamespace(per_minute=6)
    )
    metrics.driven_by(SimpleNamespace(controller=controller, missed=2))
    return metrics


def test_prometheus_reads_the_numbers():
    listening = Listening(1000, 7, 4, 8, 0, 0.5)
    text = metrics_of(listening=lambda: listening).text().decode()
    families = {each.name: each for each in text_string_to_metric_families(text)}
    value = {name: each.samples[0].value for name, each in families.items()}
    assert value["vermilion_queue_backlog_packets"] == 12
    assert value["vermilion_queue_forwarded_bytes"] == 1_200_000
    assert families["vermilion_queue_forwarded_bytes"].type == "counter"
    assert (value["vermilion_queue_dropped_packets"], value["vermilion_active_flows"]) == (5, 16)
    trips = {each.name: each.value for each in families["vermilion_round_trip_seconds"].samples}
    assert trips["vermilion_round_trip_seconds_count"] == 2
    assert trips["vermilion_round_trip_seconds_sum"] == pytest.approx(0.06)
    states = families["vermilion_controller_state"].samples
    assert [each.labels["vermilion_controller_state"] for each in states if each.value] == [
        "watching"
    ]
    settings = families["vermilion_setting"].samples
    assert {each.labels["parameter"]: each.value for each in settings} == {"limit": 60, "ecn": 1}
    assert value["vermilion_monitor_lost_packets"] == 7
    assert value["vermilion_monitor_sampled_flows_ratio"] == 0.25
    for family in families.values():
        assert re.fullmatch(r"vermilion_[a-z_]+", family.name)
        assert family.documentation
        assert all(each.labels["router"] == "linux:eth0" for each in family.samples)


@pytest.mark.parametrize(
    ("text", "outside", "token", "words"),
    [
        ("9464", False, None, "expected an address and a port"),
        ("127.0.0.1:99999", False, None, "expected an address and a port"),
        ("localhost:9464", False, None, "expected an address and a port"),
        ("0.0.0.0:9464", False, None, "--listen-from-outside"),
        ("[::]:9464", False, None, "--listen-from-outside"),
        ("192.0.2.1:9464", True, None, "--listen-token"),
    ],
)
def test_nothing_listens_beyond_the_loopback_unless_told_twice(text, outside, token, words):
    with pytest.raises(ListenerError, match=re.escape(words)):
        listener_of(text, from_outside=outside, token=token)


def test_what_may_be_listened_on():
    assert listener_of("[::1]:1", from_outside=False, token=None) == Listener("::1", 1)
    outside = listener_of("0.0.0.0:9464", from_outside=True, token="t")  # noqa: S106 - no password: any word does
    assert outside == Listener("0.0.0.0", 9464, "t")  # noqa: S104 - nothing listens here


def test_a_token_is_its_owners_alone(tmp_path):
    path = tmp_path / "token"
    path.write_text("sixteen characters\nmore\n", encoding="ascii")
    path.chmod(0o600)
    assert read_token(path) == "sixteen characters"
    path.chmod(0o644)
    with pytest.raises(ListenerError, match="can be read by others"):
        read_token(path)
    path.chmod(0o600)
    path.write_text("short", encoding="ascii")
    with pytest.raises(ListenerError, match="too short") as refusal:
        read_token(path)
    assert "short\n" not in str(refusal.value)


def test_a_token_that_comes_from_no_file_is_refused_and_not_waited_for(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o600)
    with pytest.raises(ListenerError, match="cannot be read") as refusal:
        read_token(path)
    assert "it is no file" in str(refusal.value)
    with pytest.raises(ListenerError, match="cannot be read"):
        read_token(Path("a\0b"))


@pytest.mark.usefixtures("kernel")
class TestOnlineOptions:
    def test_a_run_serves_nothing_unless_told(self, vermilion, monkeypatch, tmp_path):
        monkeypatch.setattr(PageBeside, "__init__", lambda *_, **__: pytest.fail("it listens"))
        code, _, err = vermilion(*ROUTER, "--for=0.2 s", f"--journal={tmp_path / 'j.sqlite'}")
        assert (code, err) == (0, "")

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (["--metrics=0.0.0.0:9464"], "--metrics-from-outside beside it"),
            (["--metrics-from-outside"], "expected --metrics beside it"),
            (["--metrics=127.0.0.1:1", "--metrics-token=/nowhere"], "--metrics-token"),
            (["--listen=0.0.0.0:9464"], "--listen-from-outside beside it"),
            (["--listen-token=/nowhere"], "expected --listen beside it"),
        ],
    )
    def test_a_mistake_is_one_line(self, vermilion, options, words):
        assert words in refused(vermilion(*ROUTER, *options))

    def test_the_policy_file_says_what_options_say(self, vermilion, tmp_path):
        policy = tmp_path / "policy.toml"
        journal = tmp_path / "from-the-policy.sqlite"
        policy.write_text(
            f'router = "linux:dummy0"\njournal = "{journal}"\nlog_format = "json"\n',
            encoding="utf-8",
        )
        code, out, err = vermilion("online", f"--policy={policy}", "--for=0.2 s")
        assert (code, err, journal.exists()) == (0, "", True)
        assert json.loads(out.splitlines()[0])["event"] == "found"
        code, out, _ = vermilion("online", f"--policy={policy}", "--for=0.2 s", "--log-format=text")
        assert code == 0
        assert "journal: " in out

    def test_without_a_router_anywhere_it_says_so(self, vermilion, tmp_path):
        policy = tmp_path / "policy.toml"
        policy.write_text("[freedom]\n", encoding="utf-8")
        assert "--router is missing" in refused(vermilion("online", f"--policy={policy}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("monitor = 1", "true or false"),
        ("entrances = 'eth1'", 'a list of interfaces, like ["eth1"]'),
        ("entrances = [1]", 'a list of interfaces, like ["eth1"]'),
        ("listen = 9464", "a text"),
        ('log_format = "xml"', '"text"'),
        ("router = []", "a text"),
        ("listen_form_outside = true", '"listen_from_outside"'),
        ("page_from_outside = 1", "true or false"),
    ],
)
def test_a_wrong_key_of_the_service_is_told(text, words):
    with pytest.raises(ScenarioError, match=re.escape(words)):
        read_policy(text)
