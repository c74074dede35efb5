"""A registry of queues for machines that have none, and a master that needs no snmpd."""

from __future__ import annotations

from dataclasses import replace

from vermilion.agentx.codec import MessageStream, encode
from vermilion.agentx.protocol import Header, Message, Response
from vermilion.routers.base import Reading, RouterError, RouterSilent
from vermilion.routers.snmp.linux_queues import QueuePlace, ServedQueue, TrafficSeen
from vermilion.routers.snmp.mib import OBJECTS, RANDOM_DROP, TABLE_OF

ROOT = 2**32 - 1
CLASS = 0x0001_0010
RED = {
    "limit": 400_000,
    "min_threshold": 30_000,
    "max_threshold": 90_000,
    "max_probability": 0.02,
    "weight_log": 5,
    "ecn": False,
    "drop_above_maximum": False,
    "no_drop": False,
    "adaptive": False,
    "burst": None,
    "shaped": True,
}
RED_SETTABLE = tuple(name for name in RED if name not in {"burst", "shaped"})
FQ_CODEL = {
    "dialect": "linux",
    "limit": 10_240,
    "target": 0.005,
    "interval": 0.1,
    "ce_threshold": None,
    "ecn": True,
    "quantum": 1514,
    "memory_limit": 2**25,
    "drop_batch": 64,
    "flows": 1024,
    "maximum_packet_size": 1514,
}
FQ_CODEL_SETTABLE = tuple(
    name for name in FQ_CODEL if name not in {"dialect", "flows", "maximum_packet_size"}
)


def red_queue(**more):
    return ServedQueue(
        **{
            "place": QueuePlace(3, CLASS),
            "interface": "wan0",
            "kind": "red",
            "discipline": "linux-red",
            "parameters": dict(RED),
            "settable": RED_SETTABLE,
            "reading": Reading(12.5, 38, 38_000, 1000, 1_000_000, 7, 0),
            "may_change": True,
            "early_drops": 5,
            "full_drops": 2,
            **more,
        }
    )


def fq_codel_queue(**more):
    return ServedQueue(
        **{
            "place": QueuePlace(2, ROOT),
            "interface": "lan0",
            "kind": "fq_codel",
            "discipline": "fq-codel",
            "parameters": dict(FQ_CODEL),
            "settable": FQ_CODEL_SETTABLE,
            "reading": Reading(12.5, 0, 0, 5_000_000_000, 7_000_000_000_000, 3, 11),
            "may_change": True,
            "traffic": TrafficSeen(12, 0.0421, 0.028),
            **more,
        }
    )


class FakeQueues:
    """Queues that remember what they were told; the rules are those of Linux's RED.

    Attributes:
        told: every change that was made.
        refuses: so many of the next changes fail.
        hides: so many of the next changes are made, and nobody hears of it; before those that fail.
    """

    def __init__(self, *queues):
        self.there = {each.place: each for each in queues or (red_queue(), fq_codel_queue())}
        self.told = []
        self.refuses = 0
        self.hides = 0

    def queues(self):
        return list(self.there.values())

    def check(self, place, parameters):
        both = {**self.there[place].parameters, **parameters}
        if "min_threshold" in both and both["min_threshold"] > both["max_threshold"]:
            message = f"min_threshold: {both['min_threshold']} is not accepted"
            queue = self.there[place]
            self.there[place] = replace(queue, last_refusal=message)
            raise RouterError(message)

    def apply(self, place, parameters):
        self.check(place, parameters)
        if self.hides:
            self.hides -= 1
            self._change(place, parameters)
            message = "the kernel has not answered; the change was sent, and may be in force"
            raise RouterSilent(message)
        if self.refuses:
            self.refuses -= 1
            message = "the kernel refused: Invalid argument"
            raise RouterError(message)
        self._change(place, parameters)

    def _change(self, place, parameters):
        queue = self.there[place]
        if all(queue.parameters[name] == value for name, value in parameters.items()):
            return
        self.told.append((place, dict(parameters)))
        self.there[place] = replace(
            queue, parameters={**queue.parameters, **parameters}, changes=queue.changes + 1
        )


class FakeMaster:
    """The other end of a subagent, by hand."""

    def __init__(self, subagent, session=77):
        self.subagent = subagent
        self.session = session
        self.now_s = 0.0
        self.packet = 0
        self.heard = MessageStream()
        self.registered = []

    def open(self, refuse=()):
        """Agrees to everything but some of the registrations; the subagent's last outcome."""
        outcome = self.subagent.begin(self.now_s)
        while outcome.send and outcome.ended is None:
            [asked] = self.heard.feed(outcome.send)
            status = 0
            if hasattr(asked.body, "subtree"):
                status = 263 if asked.body.subtree in refuse else 0
                self.registered.append(asked.body.subtree)
            answer = Header(0, self.session, 0, asked.header.packet)
            outcome = self.feed(Message(answer, Response(100, status, 0)))
        return outcome

    def feed(self, message):
        return self.subagent.received(encode(message), self.now_s)

    def ask(self, body, transaction=1, session=None, **header):
        """What the subagent answers; ``None`` for nothing."""
        self.packet += 1
        own = self.session if session is None else session
        outcome = self.feed(Message(Header(0, own, transaction, self.packet, **header), body))
        answers = self.heard.feed(outcome.send)
        if not answers:
            return None
        [answer] = answers
        assert answer.header.packet == self.packet
        assert answer.header.transaction == transaction
        return answer.body


def setting(kind, number, place):
    """The name of a column of VERMILION-QUEUE-MIB."""
    return (*TABLE_OF[kind].entry, number, place.interface, place.parent)


def random_drop(column, number):
    """The name of a column of DIFFSERV-MIB's random droppers."""
    return (*RANDOM_DROP, column, number)


def fact(number, place):
    """The name of a column of the table of all queues."""
    return (*OBJECTS, 1, 1, number, place.interface, place.parent)
