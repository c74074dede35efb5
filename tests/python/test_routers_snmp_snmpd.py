"""Both sides of SNMP around a real snmpd (net-snmp), with a registry of queues that is made up.

net-snmp's own tools are the judge of what the agent serves, and snmpd of what both sides say.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fake_queues import RED, FakeQueues, fact, random_drop, red_queue, setting
from snmpd_process import COMMUNITY, PARTIAL, READER, USER, Snmpd, wait_until
from vermilion.agentx.driver import SubagentDriver
from vermilion.agentx.protocol import Binding, ValueType, dotted
from vermilion.agentx.subagent import Region, Snapshot, Subagent
from vermilion.routers import RouterError
from vermilion.routers.base import RouterSilent
from vermilion.routers.conformance import RouterConformance
from vermilion.routers.snmp.credentials import UserCredentials
from vermilion.routers.snmp.mib import DIFFSERV, TOP
from vermilion.routers.snmp.queue_objects import queue_subagent
from vermilion.routers.snmp.router import SnmpRouter
from vermilion.routers.snmp.session import SnmpSession

_FASTER = 4.0
"""The driver's clock; nothing here is measured by it."""

PLACE = red_queue().place
DIFFSERV_NUMBER = 3 << 16 | 0x10


class Agent:
    """A subagent in a thread, over queues of the test's."""

    def __init__(self, path, make):
        self.said = []
        self.wanted = True
        driver = SubagentDriver(
            path,
            make,
            say=self.said.append,
            is_wanted=lambda: self.wanted,
            clock=lambda: _FASTER * time.monotonic(),
            sleep=lambda seconds: time.sleep(seconds / _FASTER),
        )
        self.thread = threading.Thread(target=driver.run, daemon=True)
        self.thread.start()

    def connected(self, times=1):
        wait_until(lambda: self.times() >= times, f"the subagent is connected; {self.said}")

    def times(self):
        return sum("passes questions on" in each for each in self.said)

    def end(self):
        self.wanted = False
        self.thread.join(20)


@pytest.fixture(scope="module")
def shared_snmpd(tmp_path_factory):
    made = Snmpd(tmp_path_factory.mktemp("snmpd"))
    yield made
    made.end()


@pytest.fixture
def own_snmpd(tmp_path):
    """One that the test may kill."""
    made = Snmpd(tmp_path)
    yield made
    made.end()


@pytest.fixture
def queues():
    return FakeQueues()


@pytest.fixture
def agent(shared_snmpd, queues):
    made = Agent(shared_snmpd.socket, lambda: queue_subagent(queues, time.monotonic))
    made.connected()
    yield made
    made.end()


def make_router(snmpd, credentials=USER, queue="wan0/1:10", **patience):
    agent = SnmpSession("127.0.0.1", snmpd.port, credentials, **patience)
    return SnmpRouter(f"snmp:127.0.0.1:{snmpd.port}/{queue}", agent=agent)


@pytest.fixture
def router(shared_snmpd, agent):  # noqa: ARG001 - has to be there
    made = make_router(shared_snmpd)
    yield made
    made.close()


# --- the agent, seen by net-snmp's tools --------------------------------------------------


@pytest.mark.usefixtures("agent")
def test_net_snmp_walks_every_object_in_order(shared_snmpd):
    for top in (TOP, DIFFSERV):
        code, by_next = shared_snmpd.tool("snmpwalk", dotted(top))
        assert code == 0
        assert shared_snmpd.tool("snmpbulkwalk", dotted(top)) == (0, by_next)
        assert by_next.count("\n") > 20
    assert f".{dotted(random_drop(7, DIFFSERV_NUMBER))} = Gauge32: 2048\n" in by_next
    pointer = f".{dotted((*DIFFSERV, 1, 6, 2, 1, 6, DIFFSERV_NUMBER))} = OID: "
    assert f"{pointer}.{dotted(random_drop(2, DIFFSERV_NUMBER))}\n" in by_next


@pytest.mark.usefixtures("agent")
def test_columns_of_both_mibs_that_net_snmp_sets_in_one_message_are_one_change(
    shared_snmpd, queues
):
    code, told = shared_snmpd.tool(
        "snmpset",
        *(dotted(random_drop(2, DIFFSERV_NUMBER)), "u", "12000"),
        *(dotted(random_drop(4, DIFFSERV_NUMBER)), "u", "36000"),
        *(dotted(random_drop(7, DIFFSERV_NUMBER)), "u", "128"),
        *(dotted(setting("red", 4, PLACE)), "u", str(2**32 // 20)),
    )
    assert code == 0, told
    [(place, wanted)] = queues.told
    assert place == PLACE
    assert wanted.pop("max_probability") == pytest.approx(0.05, abs=2**-32)
    assert wanted == {"min_threshold": 12_000, "max_threshold": 36_000, "weight_log": 9}


@pytest.mark.usefixtures("agent")
def test_what_does_not_fit_together_is_refused_and_nothing_changes(shared_snmpd, queues):
    code, told = shared_snmpd.tool(
        "snmpset",
        *(dotted(random_drop(6, DIFFSERV_NUMBER)), "u", "70"),
        *(dotted(random_drop(2, DIFFSERV_NUMBER)), "u", "99000"),
    )
    assert code != 0
    assert "inconsistentValue" in told
    assert queues.told == []
    _, why = shared_snmpd.tool("snmpget", dotted(fact(15, PLACE)))
    assert "min_threshold: 99000 is not accepted" in why


@pytest.mark.usefixtures("agent")
def test_nothing_changes_when_another_object_of_the_same_message_is_refused(shared_snmpd, queues):
    code, _ = shared_snmpd.tool(
        "snmpset",
        *(dotted(random_drop(6, DIFFSERV_NUMBER)), "u", "70"),
        *("1.3.6.1.2.1.1.7.0", "i", "9"),  # sysServices, which is only read
    )
    assert code != 0
    assert queues.told == []


class Stubborn:
    """Another subagent, whose one object can be tested and not be set."""

    top = (*TOP[:-1], 3003)

    def snapshot(self, *, walking):  # noqa: ARG002 - as of the others
        return Snapshot([Binding((*self.top, 0), ValueType.GAUGE32, 1)])

    def test(self, bindings):  # noqa: ARG002 - as of the others
        return self

    def commit(self):
        from vermilion.agentx.subagent import ChangeFailed

        message = "never"
        raise ChangeFailed(message)

    def undo(self):
        pass


@pytest.mark.parametrize("first", [False, True])
def test_what_is_committed_is_undone_when_another_subagent_cannot_commit(
    shared_snmpd, agent, queues, first
):
    other = Agent(
        shared_snmpd.socket,
        lambda: Subagent(
            Stubborn(), [Region(Stubborn.top, "other")], identity=Stubborn.top, description="x"
        ),
    )
    ours = (dotted(random_drop(2, DIFFSERV_NUMBER)), "u", "12000")
    theirs = (dotted((*Stubborn.top, 0)), "u", "7")
    both = (theirs, ours) if first else (ours, theirs)
    try:
        other.connected()
        code, told = shared_snmpd.tool("snmpset", *both[0], *both[1])
    finally:
        # Also where net-snmp's tools are missing: two of the same objects shut each other out.
        other.end()
    assert code != 0
    assert "commitFailed" in told
    assert queues.there[PLACE].parameters == RED
    # net-snmp commits region by region, in the order of their names: ours (mib-2) is before theirs.
    wanted = [(PLACE, {"min_threshold": 12_000}), (PLACE, {"min_threshold": 30_000})]
    assert queues.told == wanted
    assert agent.thread.is_alive()


def test_net_snmp_passes_on_that_what_was_there_could_not_be_put_back(
    shared_snmpd, agent, queues, router
):
    columns = [".".join(map(str, setting("red", number, PLACE))) for number in (2, 5)]
    queues.hides, queues.refuses = 1, 2
    code, told = shared_snmpd.tool("snmpset", columns[0], "u", "12000", columns[1], "u", "9")
    assert code != 0
    assert "undoFailed" in told
    assert queues.there[PLACE].parameters["min_threshold"] == 12_000
    # The manager looks, and finds the whole change in force.
    queues.hides, queues.refuses = 1, 2
    router.apply({"min_threshold": 13_000})
    assert router.parameters()["min_threshold"] == 13_000
    assert agent.thread.is_alive()


# --- the router kind ---------------------------------------------------------------------


class TestSnmpRouter(RouterConformance):
    """The interface's promises, through a real snmpd, at 20 readings a second."""

    step_s = 0.05

    @pytest.fixture(autouse=True)
    def _there(self, shared_snmpd, agent, queues):  # noqa: ARG002 - has to be there
        self.snmpd, self.queues, self.routers = shared_snmpd, queues, []
        self.traffic = queues.queues
        queues.queues = self._with_traffic
        yield
        for each in self.routers:
            each.close()

    def _with_traffic(self):
        """The same queues, a thousand packets a second later."""
        from dataclasses import replace

        now_s = time.monotonic()
        packets = round(1000 * now_s)
        moving = [
            replace(
                each.reading,
                time_s=now_s,
                forwarded_packets=packets,
                forwarded_bytes=1000 * packets,
            )
            for each in self.traffic()
        ]
        return [replace(q, reading=r) for q, r in zip(self.traffic(), moving, strict=True)]

    def make(self):
        self.routers.append(make_router(self.snmpd))
        return self.routers[-1]

    def acceptable(self):
        return {"min_threshold": 12_000, "max_probability": 0.05, "weight_log": 9}

    def unacceptable(self):
        return {"max_probability": 0.07, "min_threshold": 99_000}


def test_it_says_what_the_queue_is_and_what_puts_it_back(router, shared_snmpd, queues):
    assert router.configuration.discipline == "linux-red"
    assert router.push_price.flushes_queue
    assert router.parameters() == pytest.approx(RED)
    assert router.active_flows() is None
    command = router.undo_command().split()
    router.apply({"min_threshold": 12_000, "ecn": True})
    assert queues.there[PLACE].parameters != RED
    assert command[:6] == ["snmpset", "-v3", "-l", "authPriv", "-u", "USER"]
    code, told = shared_snmpd.tool("snmpset", *command[7:])
    assert code == 0, told
    assert router.parameters() == pytest.approx(RED)


@pytest.mark.usefixtures("agent")
def test_flows_are_told_where_a_monitor_counts_them(shared_snmpd):
    router = make_router(shared_snmpd, queue="lan0")
    seen = router.observe()
    assert (seen.active_flows, seen.reading.marks) == (12, 11)
    assert seen.reading.forwarded_packets == 5_000_000_000
    router.apply({"ce_threshold": 0.001})
    assert router.parameters()["ce_threshold"] == 0.001
    router.apply({"ce_threshold": None})
    assert router.parameters()["ce_threshold"] is None
    router.close()


@pytest.mark.usefixtures("agent")
def test_a_reader_may_read_and_the_refusal_to_write_says_what_is_missing(shared_snmpd, queues):
    router = make_router(shared_snmpd, READER)
    assert router.read().drops == 7
    with pytest.raises(RouterError, match=r"noAccess.*rwuser"):
        router.apply({"min_threshold": 12_000})
    assert queues.told == []
    router.close()


def test_a_queue_that_the_agent_must_not_change_is_not(shared_snmpd, agent, queues):
    queues.there[PLACE] = red_queue(may_change=False)
    router = make_router(shared_snmpd)
    assert not router.may_change
    with pytest.raises(RouterError, match=r"notWritable.*--allow"):
        router.apply({"min_threshold": 12_000})
    router.close()
    assert agent.thread.is_alive()


@pytest.mark.usefixtures("agent")
@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        (UserCredentials("writer", "wrong-auth-1", "right-priv-1"), "authentication password"),
        (UserCredentials("writer", "right-auth-1", "wrong-priv-1"), "or the privacy password"),
        (UserCredentials("nobody", "right-auth-1", "right-priv-1"), "does not know the user"),
        (PARTIAL, "does not show vermilionRedWeightLog; expected a view"),
    ],
)
def test_what_is_wrong_with_a_user_is_one_message_without_secrets(shared_snmpd, credentials, words):
    with pytest.raises(RouterError, match=words) as refusal:
        make_router(shared_snmpd, credentials, timeout_s=0.5, retries=0)
    for secret in ("right-auth-1", "right-priv-1", "wrong-auth-1", "wrong-priv-1"):
        assert secret not in str(refusal.value)
        assert secret not in repr(credentials)
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("agent")
def test_the_older_version_reads_when_it_is_asked_for(shared_snmpd):
    router = make_router(shared_snmpd, COMMUNITY)
    assert router.read().drops == 7
    router.close()


@pytest.mark.usefixtures("agent")
def test_a_queue_that_there_is_not_is_refused_with_those_that_are(shared_snmpd):
    with pytest.raises(RouterError, match=r'no such queue; expected one of .*/lan0", .*/wan0/1:10'):
        make_router(shared_snmpd, queue="wan0")


def test_without_an_agent_the_message_says_which_program_is_missing(shared_snmpd):
    with pytest.raises(RouterError, match="expected vermilion snmp-agent beside"):
        make_router(shared_snmpd)


# --- faults ------------------------------------------------------------------------------


def test_both_sides_go_on_after_snmpd_has_been_killed_and_started_anew(own_snmpd, queues):
    agent = Agent(own_snmpd.socket, lambda: queue_subagent(queues, time.monotonic))
    agent.connected()
    router = make_router(own_snmpd, timeout_s=0.5, retries=1)
    own_snmpd.end(hard=True)
    assert any("has gone" in each or "lost" in each for each in _until_said(agent, 2))
    own_snmpd.start()
    agent.connected(times=2)
    # Its engine has begun anew: what was known of its clock is of no use any more.
    router.apply({"min_threshold": 12_000})
    assert router.parameters()["min_threshold"] == 12_000
    assert len(queues.told) == 1
    router.close()
    agent.end()


def _until_said(agent, lines):
    wait_until(lambda: len(agent.said) >= lines, f"the subagent says more; {agent.said}")
    return agent.said


def test_a_master_without_a_socket_is_said_once_and_waited_for(tmp_path):
    made = Agent(str(tmp_path / "agentx"), lambda: queue_subagent(FakeQueues(), time.monotonic))
    _until_said(made, 1)
    time.sleep(0.5)
    made.end()
    assert len(made.said) == 1
    assert 'expected "master agentx" in snmpd.conf' in made.said[0]


HALFWAY = """
import sys, time
sys.path[:0] = {path!r}
import os, signal
from fake_queues import FakeQueues
from vermilion.agentx.driver import SubagentDriver
from vermilion.routers.snmp.queue_objects import queue_subagent

class Mortal(FakeQueues):
    def check(self, place, parameters):
        super().check(place, parameters)
        if {when!r} == "test":
            os.kill(os.getpid(), signal.SIGKILL)

    def apply(self, place, parameters):
        super().apply(place, parameters)
        open({told!r}, "a").write("told\\n")
        os.kill(os.getpid(), signal.SIGKILL)

queues = Mortal()
SubagentDriver({socket!r}, lambda: queue_subagent(queues, time.monotonic), say=print,
               is_wanted=lambda: True).run()
"""


@pytest.mark.parametrize(("when", "changes"), [("test", 0), ("commit", 1)])
def test_a_subagent_killed_at_the_test_has_changed_nothing_and_at_the_commit_once(
    own_snmpd, tmp_path, when, changes
):
    told = tmp_path / "told"
    told.touch()
    program = HALFWAY.format(
        path=[str(Path(__file__).parent), *(each for each in sys.path if each)],
        when=when,
        told=str(told),
        socket=own_snmpd.socket,
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(
                lambda: "snmp-agent" not in str(_attempt(own_snmpd)), "the subagent is connected"
            )
            router = make_router(own_snmpd)
            with pytest.raises(RouterError) as failure:
                router.apply({"min_threshold": 12_000})
            assert process.wait(20) == -signal.SIGKILL
        finally:
            process.kill()
    assert "\n" not in str(failure.value)
    # At the test: nobody has been told. At the commit: nobody can say, and nobody claims to know.
    assert told.read_text().count("told") == changes
    assert isinstance(failure.value, RouterSilent) or when == "test"
    router.close()


def _attempt(snmpd):
    try:
        make_router(snmpd).close()
    except RouterError as error:
        return error
    return ""


def test_a_peer_that_never_answers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("vermilion.agentx.subagent.ANSWER_WITHIN_S", 0.2)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "agentx"))
        silent.listen()
        made = Agent(str(tmp_path / "agentx"), lambda: queue_subagent(FakeQueues(), time.monotonic))
        assert "has not answered" in _until_said(made, 1)[0]
        made.end()


@pytest.mark.parametrize("octets", [b"\0" * 40, os.urandom(400), b"\x01\x12\x10" + b"\xff" * 60])
def test_a_hostile_peer_is_left_and_tried_again(tmp_path, octets):
    with socket.socket(socket.AF_UNIX) as hostile:
        hostile.bind(str(tmp_path / "agentx"))
        hostile.listen()
        made = Agent(str(tmp_path / "agentx"), lambda: queue_subagent(FakeQueues(), time.monotonic))
        for _ in range(2):
            connection, _ = hostile.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(octets)
        made.end()
    assert not made.thread.is_alive()


@pytest.mark.usefixtures("agent")
def test_two_agents_at_once_are_refused_for_good(shared_snmpd, queues):
    from vermilion.agentx.driver import MasterRefused

    second = SubagentDriver(
        shared_snmpd.socket,
        lambda: queue_subagent(queues, time.monotonic),
        say=lambda _: None,
        is_wanted=lambda: True,
    )
    with pytest.raises(MasterRefused, match="none of the parts"):
        second.run()
