"""A queue of Linux on line: the kernel is a stand-in, the clock is the test's, all else is real."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest

import codel_oracle
from netlink_reference import FakeKernel, answered
from vermilion.online.drive.real_router import OperatedQueue, run_on_router
from vermilion.online.events import Command
from vermilion.online.record.journal import JournalError
from vermilion.online.router_policy import Freedom, ManagedLink, policy_for, read_policy
from vermilion.routers import RouterError
from vermilion.routers.base import PushPrice
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.linux.change import nearest_settable
from vermilion.routers.linux.message import Refusal
from vermilion.routers.linux.route_socket import KernelError
from vermilion.routers.linux.router import may_change_queues

POLICY = """
[tuning]
objective = { name = "queue-deviation", target = "30 packets" }
parameters = ["target"]
"""
LONGEST_S = 600.0
"""Of the test's clock; nothing here takes so long."""


class BusyKernel(FakeKernel):
    """A queue whose length is what CoDel's target makes of it, and which sends all the time."""

    def __init__(self, queue="codel", **more):
        super().__init__(answered(queue), **more)
        self.now_s = 0.0

    def queue(self, interface, parent):
        target_us = getattr(self.state.options, "target_us", 0)
        waiting = int(codel_oracle.packets(1e-6 * target_us)) + round(10 * self.now_s) % 3 - 1
        ticks = round(10 * self.now_s)
        told = replace(
            self.state.statistics,
            backlog_packets=waiting,
            backlog_bytes=1000 * waiting,
            packets=125 * ticks,
            sent_bytes=125_000 * ticks,
            drops=2 * ticks,
        )
        return replace(super().queue(interface, parent), statistics=told)


class Online:
    """A run on a stand-in, and what it left behind."""

    def __init__(self, kernel, tmp_path, freedom, until=("end",), text=POLICY, answer=None):
        self.kernel = kernel
        self.journal = tmp_path / "journal.sqlite"
        self.driver = None
        self.told_before = []
        router = LinuxRouter(
            "linux:dummy0", kernel=kernel, clock=lambda: kernel.now_s, sleep=self._sleep
        )
        link = ManagedLink("dummy0", "codel", router.parameters(), router.settable)
        # Long deadlines: the test's clock runs much faster than the process that searches.
        policy = policy_for(link, read_policy(text), freedom, deadline_s=LONGEST_S)
        self._until = until
        self._answer = answer
        self.run = run_on_router(
            router,
            policy,
            journal_path=self.journal,
            on_event=self._hear,
            on_proposal=self._propose,
            attended=self._attend,
            for_s=LONGEST_S,
            solve=codel_oracle.solve,
        )

    def _sleep(self, seconds):
        self.kernel.now_s += seconds
        time.sleep(0.005)  # lets the process that searches get on

    def _attend(self, driver):
        self.driver = driver
        return nullcontext()

    def _hear(self, decision):
        self.told_before.append((decision.kind, len(self.kernel.told)))
        if decision.kind in self._until:
            self.driver.commands.put(Command("stop"))

    def _propose(self, proposal):
        self.driver.commands.put(Command(self._answer, proposal.number))

    @property
    def kinds(self):
        return [each.kind for each in self.run.decisions]

    def rows(self, query):
        database = sqlite3.connect(self.journal)
        with database:
            found = database.execute(query).fetchall()
        database.close()
        return found


def test_observing_says_what_it_would_do_and_sends_nothing(tmp_path):
    kernel = BusyKernel()
    online = Online(kernel, tmp_path, Freedom(), until=("proposed",))
    assert "proposed" in online.kinds
    assert kernel.told == []
    assert online.kinds[:2] == ["found", "start"]
    assert online.rows("SELECT count(*) FROM effect") == [(0,)]


def test_a_setting_is_applied_read_back_and_at_the_end_what_stood_before_is_there(tmp_path):
    kernel = BusyKernel()
    online = Online(
        kernel, tmp_path, Freedom(mode="control", at_exit="restore"), until=("verified", "unproven")
    )
    assert "applied" in online.kinds
    assert online.kinds[-2:] == ["restored", "end"]
    targets = [each.parameters["target"] for each in online.run.settings]
    assert targets == [0.005, 0.008, 0.005]
    assert len(kernel.told) == 2
    assert kernel.state.options == answered("codel").options
    assert online.rows("SELECT answer FROM effect ORDER BY number") == [("done",), ("done",)]


def test_what_stood_before_is_in_the_journal_before_anything_is_sent(tmp_path):
    online = Online(BusyKernel(), tmp_path, Freedom(mode="control"), until=("applied",))
    assert online.told_before[0] == ("found", 0)
    [(details, reason)] = online.rows("SELECT details, reason FROM decision WHERE kind = 'found'")
    found = json.loads(details)
    assert found["parameters"]["target"] == 0.005
    assert found["command"].startswith(
        "tc qdisc change dev dummy0 root handle 1: codel limit 1000 target"
    )
    assert found["command"] in reason
    assert online.rows("SELECT link, discipline, ended FROM run") == [("linux:dummy0", "codel", 1)]


def test_without_a_restore_the_setting_stays(tmp_path):
    kernel = BusyKernel()
    Online(kernel, tmp_path, Freedom(mode="control"), until=("applied",))
    assert kernel.state.options.target_us != answered("codel").options.target_us


@pytest.mark.parametrize(("answer", "sent"), [("accept", 1), ("decline", 0)])
def test_a_proposal_is_made_only_when_a_person_says_yes(tmp_path, answer, sent):
    kernel = BusyKernel()
    until = ("applied", "declined")
    online = Online(kernel, tmp_path, Freedom(mode="propose"), until=until, answer=answer)
    assert "proposed" in online.kinds
    assert len(kernel.told) == sent


def test_a_kernel_that_refuses_is_named_and_asked_no_more(tmp_path):
    kernel = BusyKernel(refusal=Refusal(1, None, None))
    online = Online(kernel, tmp_path, Freedom(mode="control"), until=("refused",))
    [refused] = [each for each in online.run.decisions if each.kind == "refused"]
    assert "CAP_NET_ADMIN" in refused.reason
    assert len(kernel.told) == 1


class HalfBusyKernel(BusyKernel):
    """Takes 77 us whatever it is told, and then is busy for a while: a put-back is refused.

    Args:
        busy: how many messages are refused after the first.
    """

    def __init__(self, busy):
        super().__init__()
        self.busy = busy
        self.refused_s = []

    def tell(self, kind, flags, body):
        if self.told and self.busy:
            self.busy -= 1
            self.refused_s.append(self.now_s)
            raise KernelError(Refusal(16, None, None))
        is_first = not self.told
        super().tell(kind, flags, body)
        if is_first:
            options = replace(self.state.options, target_us=77)
            self.state = replace(self.state, options=options)


def test_a_half_made_change_is_looked_into_and_taken_back_and_nobody_is_blamed(tmp_path):
    kernel = HalfBusyKernel(busy=1)
    online = Online(
        kernel, tmp_path, Freedom(mode="control"), until=("rolled-back", "hands-off", "refused")
    )
    assert online.kinds[-3:] == ["lost", "rolled-back", "end"]
    lost, rolled_back = online.run.decisions[-3:-1]
    assert "Restoring the old setting failed too" in lost.reason
    assert rolled_back.reason.startswith("what is in force is neither the change nor the setting")
    answers = online.rows("SELECT answer FROM effect ORDER BY number")
    assert answers == [("lost",), ("done",)]
    assert kernel.state.options == answered("codel").options


def test_a_half_made_change_that_stays_is_restored_when_the_run_ends(tmp_path):
    """The kernel refuses the put-back, and the roll-back after it: the end tries once more."""
    kernel = HalfBusyKernel(busy=2)
    online = Online(
        kernel,
        tmp_path,
        Freedom(mode="control", at_exit="restore"),
        until=("refused", "hands-off"),
    )
    assert len(kernel.refused_s) == 2
    assert online.kinds[-4:] == ["lost", "refused", "restored", "end"]
    assert kernel.state.options == answered("codel").options


class FullDisk(Online):
    """A run whose journal cannot be written any more after a kind of decision."""

    def __init__(self, monkeypatch, full_after, *arguments, **more):
        self._monkeypatch = monkeypatch
        self._full_after = full_after
        super().__init__(*arguments, **more)

    def _hear(self, decision):
        from vermilion.online.record.journal import Journal

        def full(*_):
            message = "the journal cannot be written: database or disk is full"
            raise JournalError(message)

        if decision.kind == self._full_after:
            self._monkeypatch.setattr(Journal, "_write", full)
        super()._hear(decision)


def test_a_full_disk_does_not_keep_the_first_setting_from_coming_back(tmp_path, monkeypatch):
    kernel = BusyKernel()
    freedom = Freedom(mode="control", at_exit="restore")
    online = FullDisk(monkeypatch, "applied", kernel, tmp_path, freedom, until=("applied",))
    assert online.kinds[-2:] == ["restored", "end"]
    assert kernel.state.options == answered("codel").options
    assert online.run.decisions[-2].reason.endswith(
        "; the change is not in the journal, because "
        "the journal cannot be written: database or disk is full"
    )
    assert online.run.unwritten > 0
    assert not online.run.is_not_restored


def test_on_a_full_disk_no_new_setting_is_sent_and_the_router_is_not_blamed(tmp_path, monkeypatch):
    kernel = BusyKernel()
    freedom = Freedom(mode="control")
    online = FullDisk(monkeypatch, "tuned", kernel, tmp_path, freedom, until=("refused",))
    assert kernel.told == []
    [refused] = [each for each in online.run.decisions if each.kind == "refused"]
    assert refused.reason == (
        "the setting was not sent to the router, because "
        "the journal cannot be written: database or disk is full"
    )


def test_a_run_that_cannot_restore_the_first_setting_says_so(tmp_path):
    class Replaced(Online):
        def _hear(self, decision):
            super()._hear(decision)
            if decision.kind == "applied":  # tc qdisc replace ... bfifo
                self.kernel.state = replace(self.kernel.state, kind="bfifo")

    freedom = Freedom(mode="control", at_exit="restore")
    online = Replaced(BusyKernel(), tmp_path, freedom, until=("applied",))
    assert online.run.decisions[-1].reason.endswith("the first setting could not be restored")
    assert online.run.is_not_restored


@pytest.mark.parametrize(("after", "sent"), [("tuned", 0), ("applied", 1)])
def test_what_somebody_else_has_set_a_moment_ago_stays(tmp_path, after, sent):
    """Before the answer of the second search is sent, and before the first setting is put back."""

    class SetByHand(Online):
        def _hear(self, decision):
            super()._hear(decision)
            told = [kind for kind, _ in self.told_before]
            if decision.kind == after and told.count("tuned") == 2:
                by_hand = replace(self.kernel.state.options, target_us=77)
                self.kernel.state = replace(self.kernel.state, options=by_hand)

    kernel = BusyKernel()
    freedom = Freedom(mode="control", at_exit="restore")
    online = SetByHand(kernel, tmp_path, freedom, until=("applied", "hands-off"))
    assert kernel.state.options.target_us == 77
    assert len(kernel.told) == sent
    assert online.kinds[-2:] == ["hands-off", "end"]
    assert not online.run.is_not_restored
    answers = online.rows("SELECT answer FROM effect ORDER BY number")
    assert answers[-1] == ("refused",)


def test_nothing_begins_where_it_cannot_be_written_down(tmp_path, monkeypatch):
    from vermilion.online.record.journal import Journal

    def full(*_):
        message = "the journal cannot be written: database or disk is full"
        raise JournalError(message)

    monkeypatch.setattr(Journal, "keep", full)
    kernel = BusyKernel()
    with pytest.raises(JournalError, match="disk is full"):
        Online(kernel, tmp_path, Freedom(mode="control"))
    assert kernel.told == []


def test_a_run_that_was_killed_is_gone_on_with_by_the_next(tmp_path):
    class Killed(BaseException):
        pass

    class Mortal(Online):
        def _hear(self, decision):
            super()._hear(decision)
            if decision.kind == "applied":
                raise Killed

    kernel = BusyKernel()
    freedom = Freedom(mode="control", at_exit="restore")
    with pytest.raises(Killed):
        Mortal(kernel, tmp_path, freedom)
    assert len(kernel.told) == 1
    # Whoever only looks is told, and has changed nothing of that.
    for _ in range(2):
        online = Online(kernel, tmp_path, Freedom(), until=("start",))
        found = online.run.decisions[0]
        assert found.details["left_behind_by_run"] == 1
        before = found.reason.split("it had found the queue at ")[1]
        assert "target 5 ms" in before
        assert (
            before.count("to put that back: tc qdisc change dev dummy0 root handle 1: codel") == 1
        )
    assert len(kernel.told) == 1
    # The next controller takes back what was not judged, and in the end restores the first.
    online = Online(kernel, tmp_path, freedom, until=("verified", "unproven"))
    start = online.run.decisions[online.kinds.index("start")]
    assert start.reason.startswith("an earlier run did not end in order; this one continues it")
    assert online.kinds[2] == "rolled-back"
    assert online.kinds[-2:] == ["restored", "end"]
    assert [each.parameters["target"] for each in online.run.settings] == [
        0.008,
        0.005,
        0.008,
        0.005,
    ]
    assert kernel.state.options == answered("codel").options
    # Once it has ended in order, there is nothing to tell.
    again = Online(kernel, tmp_path, Freedom(), until=("start",)).run.decisions[0]
    assert "left_behind_by_run" not in again.details


def test_the_second_lock_holds_where_the_controller_would_fail():
    kernel = BusyKernel()
    router = LinuxRouter("linux:dummy0", kernel=kernel)
    queue = OperatedQueue(router, router.configuration, may_change=False)
    with pytest.raises(RouterError, match="only observed"):
        queue.apply({"target": 0.02})
    assert kernel.told == []
    assert queue.parameters() == router.parameters()


RED = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 10Mbit probability 0.02"
CHOKE = "choke limit 1000 min 83 max 250 avpkt 1000 burst 139 bandwidth 10mbit probability 0.02 ecn"


@pytest.mark.parametrize(
    ("queue", "price"),
    [
        (RED, PushPrice(flushes_queue=True, forgets_average=True)),
        (CHOKE, PushPrice(flushes_queue=False, forgets_average=True)),
        ("pie", PushPrice()),
        ("codel", PushPrice()),
        ("fq_codel", PushPrice()),
        ("pfifo limit 321", PushPrice()),
    ],
)
def test_what_a_push_costs_is_as_measured_on_a_kernel(queue, price):
    """The table of docs/routers.md, which test_routers_linux_kernel.py measures."""
    assert LinuxRouter("linux:dummy0", kernel=FakeKernel(answered(queue))).push_price == price


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        (RED, {"min_threshold": 20_000.4, "max_threshold": 60_000.7, "max_probability": 1.0}),
        (CHOKE, {"weight": 0.0021, "min_threshold": 12.5, "max_threshold": 60.2}),
        ("pie", {"target": 0.0123456, "alpha": 0.13, "beta": 1.2345}),
        ("pie", {"alpha": 0.01}),
        ("fq_codel", {"target": 0.0054321, "interval": 0.0987654}),
        ("pfifo limit 321", {"limit": 12.4}),
    ],
)
def test_what_a_search_finds_between_the_kernels_steps_is_taken_at_the_nearest(queue, wanted):
    router = LinuxRouter("linux:dummy0", kernel=FakeKernel(answered(queue)))
    queue = OperatedQueue(router, router.configuration, may_change=True)
    queue.apply(queue.held.nearest(wanted))
    found = queue.parameters()
    largest_step = {"weight": 0.5, "alpha": 1 / 16, "beta": 1 / 32}
    for name, value in wanted.items():
        step = largest_step.get(name, 0.04 * value)
        assert found[name] == pytest.approx(value, abs=step), name


def test_gains_of_pie_beyond_what_the_kernel_takes_are_its_largest():
    """A search's box goes further, and a refused answer is no answer."""
    assert nearest_settable("pie", {"alpha": 9.0, "beta": 2.4375}) == {"alpha": 2.0, "beta": 2.0}


@pytest.mark.parametrize(
    ("status", "may"),
    [
        ("Name:\tx\nCapEff:\t0000000000001000\n", True),  # 1 << 12: capabilities(7)
        ("CapInh:\t0000000000001000\nCapEff:\t000001ffffffefff\n", False),
        ("CapEff:\t000001ffffffffff", True),
        ("Name:\tx\n", None),
        ("CapEff:\tnonsense\n", None),
    ],
)
def test_the_capability_is_known_before_anything_is_tried(status, may):
    assert may_change_queues(status) is may
