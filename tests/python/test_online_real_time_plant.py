"""Networks that go on by themselves: neither a search nor a person may stop the clock."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import slow_searches
import vermilion
from vermilion.cli.online_page import SimulatedPage
from vermilion.online.drive import run as online_run
from vermilion.online.drive.wall_clock import SearchWorker
from vermilion.online.events import Command
from vermilion.online.router_policy import Service
from vermilion.routers.base import LinkConfiguration, OperatedRouter
from vermilion.scenario import ScenarioError

NETWORK = """
duration = "3 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "red", limit = "100 packets" }
[flows.all]
path = ["bottleneck"]
rtt = "40 ms"
sender = "newreno"
[tuning]
parameters = ["links.bottleneck.queue.max_probability"]
objective = { name = "queue-deviation", link = "bottleneck", target = "20 packets" }
"""

PLUGIN = """
from vermilion import Discipline, Verdict, number

class OfAFile(Discipline):
    name = "of-a-file"
    parameters = (number("limit", "packets", 100, 1, 1e6, whole=True, meaning="its room"),)

    def on_arrival(self, packet, queue, coin):
        return Verdict.OVERFLOW if queue.packets >= self.limit else Verdict.ACCEPT
"""


class RealQueue(OperatedRouter):
    """A queue of a machine that is not there."""

    kind = "real"
    address = "real"
    settable = ("max_probability",)
    configuration = LinkConfiguration("bottleneck", "red", 0.01)

    def read(self):
        raise AssertionError

    def parameters(self):
        return {}

    def apply(self, _parameters):
        raise AssertionError

    def wait(self, _until_s):
        raise AssertionError

    def now_s(self):
        return 0.5

    def undo_command(self):
        return None

    def close(self):
        pass


class RealPlant:
    """Has one such queue."""

    @contextmanager
    def under_control(self, *_):
        yield SimpleNamespace(router=RealQueue(), result=lambda _: "tuned")

    def left_alone(self, *_):
        return "alone"


class Watched:
    """In the place of the wall clock's driver: keeps what it is given."""

    made: list = []  # noqa: RUF012 - emptied by the test

    def __init__(self, *_, clock, on_proposal, **_others):
        self.commands = SimpleNamespace(put=self.put)
        self.put_in, self.arrived = [], threading.Event()
        self.clock, self.on_proposal = clock, on_proposal
        Watched.made.append(self)

    def put(self, command):
        self.put_in.append(command)
        self.arrived.set()

    def run(self, for_s, _progress):
        assert self.clock() == 0.5
        self.for_s = for_s
        self.on_proposal("a proposal")
        assert self.arrived.wait(60.0)


def test_a_real_queue_is_driven_on_the_wall_clock_and_a_person_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(online_run, "WallClockDriver", Watched)
    monkeypatch.setattr(Watched, "made", [])
    asked = []

    def answer(proposal):
        asked.append((proposal, threading.current_thread()))
        return Command("stop")

    run = online_run.run_online(
        vermilion.parse_scenario(NETWORK), plant=RealPlant(), answer_proposal=answer
    )
    [driver] = Watched.made
    assert driver.for_s == 2.5
    assert driver.put_in == [Command("stop")]
    [(proposal, thread)] = asked
    assert proposal == "a proposal"
    assert thread is not threading.main_thread()
    assert (run.tuned, run.reference) == ("tuned", "alone")


def test_time_that_is_charged_is_refused_where_time_passes_by_itself():
    with pytest.raises(ScenarioError, match=r'clock: "?fixed"? .*"measured"'):
        online_run.run_online(vermilion.parse_scenario(NETWORK), plant=RealPlant(), clock="fixed")


def test_the_process_that_searches_knows_a_users_disciplines(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(PLUGIN)
    gone = tmp_path / "gone.py"
    gone.write_text(PLUGIN.replace("of-a-file", "of-a-file-that-goes"))
    assert vermilion.load_plugins([gone, file]) == ["of-a-file-that-goes", "of-a-file"]
    gone.unlink()
    with SearchWorker(slow_searches.simulates) as worker:
        worker.begin(1, SimpleNamespace(deadline_s=60.0, discipline="of-a-file"))
        found = None
        while found is None:
            found = worker.poll()
    assert getattr(found, "finding", found) > 100


def test_an_answer_to_a_newer_proposal_is_passed_on_by_who_waits_for_an_older_one():
    page = SimulatedPage(Service(), None, "propose")
    for number in (1, 3):
        page._said.put(Command("accept", number))
    assert page.ask(SimpleNamespace(number=2)) == Command("accept", 3)
