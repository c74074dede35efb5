"""Several queues of Linux on line together: the kernels are stand-ins, the clock is the test's."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest
from typer.testing import CliRunner

import set_oracle
from netlink_reference import DUMMY, FakeKernel, answered
from vermilion.cli.application import application
from vermilion.online.drive.real_router import OperatedSet, link_names, run_on_router
from vermilion.online.events import Command
from vermilion.online.router_policy import Freedom, ManagedLink, policy_for, read_policy
from vermilion.routers import RouterError
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.linux.change import LinuxValues
from vermilion.routers.linux.discovery import parse_address
from vermilion.routers.linux.message import ERROR, Refusal
from vermilion.routers.queue_set import SetValues
from vermilion.scenario import ScenarioError

LONGEST_S = 600.0
"""Of the test's clock; nothing here takes so long."""
NAMES = ("wan0", "wan1")
POLICY = """
[tuning]
objective = { name = "weighted-sum", parts = [
  { name = "queue-deviation", link = "wan0", target = "30 packets", weight = 1, scale = 100 },
  { name = "queue-deviation", link = "wan1", target = "30 packets", weight = 1, scale = 100 },
] }
parameters = ["wan0.target", "links.wan1.queue.target"]
"""


class BusyKernel(FakeKernel):
    """A queue whose length is what CoDel's target makes of it, and which sends all the time."""

    def __init__(self, name, **more):
        super().__init__(answered("codel"), **more)
        self.name = name
        self.now_s = 0.0
        self.times_told = 0

    def interfaces(self):
        return [replace(DUMMY, name=self.name)]

    def tell(self, kind, flags, body):
        self.times_told += 1
        self.told.clear()  # each change stands for itself
        super().tell(kind, flags, body)

    def queue(self, interface, parent):
        packets = set_oracle.packets(1e-6 * self.state.options.target_us)
        ticks = round(10 * self.now_s)
        waiting = int(packets) + ticks % 3 - 1
        told = replace(
            self.state.statistics,
            backlog_packets=waiting,
            backlog_bytes=1000 * waiting,
            packets=125 * ticks,
            sent_bytes=125_000 * ticks,
            drops=2 * ticks,
        )
        return replace(super().queue(interface, parent), statistics=told)


class Machines:
    """Two of them, on one clock that the test moves."""

    def __init__(self, **more):
        self.now_s = 0.0
        self.kernels = {name: BusyKernel(name, **more.get(name, {})) for name in NAMES}
        self.routers = [
            LinuxRouter(f"linux:{name}", kernel=kernel, clock=lambda: self.now_s, sleep=self.sleep)
            for name, kernel in self.kernels.items()
        ]
        self.set = OperatedSet(self.routers)

    def sleep(self, seconds):
        self.now_s += seconds
        for kernel in self.kernels.values():
            kernel.now_s = self.now_s
        time.sleep(0.005)  # lets the process that searches get on

    def links(self):
        return [
            ManagedLink(link, "codel", each.parameters(), each.settable)
            for link, each in self.set.routers.items()
        ]

    def run(self, policy, until, journal=None):
        heard = []

        def hear(decision):
            heard.append(decision)
            if decision.kind in until:
                self.driver.commands.put(Command("stop"))

        def attend(driver):
            self.driver = driver
            return nullcontext()

        return run_on_router(
            self.set,
            policy,
            journal_path=journal,
            on_event=hear,
            attended=attend,
            for_s=LONGEST_S,
            solve=set_oracle.solve,
        )

    def targets_us(self):
        return [each.state.options.target_us for each in self.kernels.values()]


def wanted(machines, text=POLICY, paths=(), **freedom):
    return policy_for(machines.links(), read_policy(text), Freedom(**freedom), paths=paths)


# --- the set and its policy -----------------------------------------------------------------------


def test_links_are_called_after_their_interfaces_where_those_differ():
    addresses = [parse_address(each) for each in ("linux:eth0", "linux:eth1.7", "linux:eth0/1:10")]
    assert link_names(addresses) == ["linux-eth0", "eth1-7", "linux-eth0-1-10"]


def test_one_queue_twice_is_no_set():
    kernel = BusyKernel("wan0")
    twice = [LinuxRouter("linux:wan0", kernel=kernel) for _ in range(2)]
    with pytest.raises(RouterError, match="linux:wan0, linux:wan0: expected different ones"):
        OperatedSet(twice)


def test_each_queue_is_set_to_the_nearest_that_its_own_kind_has():
    kinds = {"a": LinuxValues(discipline="pie"), "b": LinuxValues(discipline="drop-tail")}
    found = SetValues(queues=kinds).nearest({"a.alpha": 0.13, "b.limit": 12.4})
    assert found == {"a.alpha": 2 / 16, "b.limit": 12}


def test_without_a_file_it_is_the_knee_of_every_link_by_what_is_worth_a_search():
    machines = Machines()
    policy = policy_for(machines.links(), paths=[["wan0", "wan1"]])
    assert policy.links == NAMES
    assert policy.parameters == ("wan0.target", "wan0.interval", "wan1.target", "wan1.interval")
    assert [each.objective.link for each in policy.objective.parts] == list(NAMES)
    assert (policy.mode, policy.at_exit, policy.watch_first_s) == ("observe", "keep", 10.0)
    assert policy.paths == (("wan0", "wan1"),)


def test_parameters_are_named_with_their_links():
    policy = wanted(Machines(), POLICY + '[freedom]\nfall_back = { "wan1.target" = "20 ms" }\n')
    assert policy.parameters == ("wan0.target", "wan1.target")
    assert policy.fall_back == {"wan1.target": 0.02}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('rate = "1 Mbit/s"', "no rate where several queues are set together"),
        ('delay = "1 ms"', "no delay where several queues are set together"),
        ('[tuning]\nparameters = ["wan0.target"]', "none is of wan1"),
        ('[tuning]\nparameters = ["target"]', '"wan0.target"'),
        ("[tuning]\nparameters = []", '"wan0.target"'),
        ('[freedom]\nfall_back = { target = "1 ms" }', "can be changed: one of"),
        ('[freedom]\nfall_back = { "wan0.target" = "x" }', "freedom.fall_back.wan0.target"),
        (
            '[tuning]\nobjective = { name = "queue-deviation", link = "wan0", target = "5 ms" }',
            "a target in packets",
        ),
    ],
)
def test_what_cannot_be_is_refused(text, words):
    with pytest.raises(ScenarioError, match=words):
        wanted(Machines(), text)


# --- on line --------------------------------------------------------------------------------------


def test_one_joint_change_is_measured_and_stays(tmp_path):
    journal = tmp_path / "journal.sqlite"
    machines = Machines()
    run = machines.run(
        wanted(machines, mode="control"), ("verified", "unproven", "rolled-back"), journal
    )
    kinds = [each.kind for each in run.decisions]
    assert "verified" in kinds, [each.reason for each in run.decisions]
    assert machines.targets_us() == pytest.approx([8000, 8000], abs=1)
    assert [each.times_told for each in machines.kernels.values()] == [1, 1]
    assert run.router == "linux:wan0+linux:wan1"
    found = run.decisions[0]
    assert found.kind == "found"
    assert found.details["commands"]["wan1"].startswith("tc qdisc change dev wan1")
    assert " && " in run.undo
    built = next(each for each in run.decisions if each.kind == "model-built")
    assert "own" in built.reason  # what the flows of queues without monitors are taken for


def test_the_journal_of_a_set_can_be_asked_and_undone(tmp_path):
    journal = tmp_path / "journal.sqlite"
    machines = Machines()
    machines.run(wanted(machines, mode="control"), ("verified", "unproven"), journal)

    def asked(command):
        told = CliRunner().invoke(application(), [command, str(journal), "--json", "-"])
        assert told.exit_code == 0, told.output
        return json.loads(told.stdout)

    [status] = asked("status")
    assert (status["router"], status["state"]) == ("linux:wan0+linux:wan1", "ended")
    assert status["setting"]["wan1.target"] == pytest.approx(0.008)
    [undo] = asked("undo")
    assert undo["changed"]
    assert set(undo["commands"]) == set(NAMES)
    for name in NAMES:
        assert f"dev {name} " in undo["commands"][name]
        assert "target 5" in undo["commands"][name]  # CoDel's own, 5 ms
    assert undo["command"] == "\n".join(undo["commands"].values())
    shown = CliRunner().invoke(application(), ["undo", str(journal)])
    assert "wan1.target: was 5 ms, is 8 ms" in shown.stdout
    assert shown.stdout.count("tc qdisc") == 2
    with sqlite3.connect(journal) as database:
        queues = database.execute("SELECT DISTINCT link FROM queue_sample").fetchall()
    assert sorted(queues) == [("wan0",), ("wan1",)]


def test_where_one_kernel_refuses_the_other_queue_gets_back_what_it_had():
    machines = Machines(wan1={"refusal": Refusal(ERROR, "no", None)})
    run = machines.run(wanted(machines, mode="control"), ("refused",))
    refused = next(each for each in run.decisions if each.kind == "refused")
    assert "wan1" in refused.reason
    assert machines.targets_us() == pytest.approx([5000, 5000], abs=1)
    assert machines.kernels["wan0"].times_told == 2  # changed, and put back


def test_who_only_observes_changes_neither():
    machines = Machines()
    machines.run(wanted(machines, mode="observe"), ("proposed",))
    assert [each.times_told for each in machines.kernels.values()] == [0, 0]
