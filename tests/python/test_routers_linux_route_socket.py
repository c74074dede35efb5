"""The socket to the kernel, with a kernel that answers by script.

Its answers are laid out as ``netlink_dump_done`` and ``netlink_ack`` of net/netlink/af_netlink.c
write them.
"""

from __future__ import annotations

import errno
import socket
import struct

import pytest

from netlink_reference import ANSWERS
from vermilion.routers import RouterError
from vermilion.routers.base import RouterSilent
from vermilion.routers.linux import RouteSocket
from vermilion.routers.linux.message import ROOT
from vermilion.routers.linux.route_socket import KernelError

HEADER = struct.Struct("=IHHII")
ERROR, DONE, NEW_QUEUE = 2, 3, 36
MULTI, INTERRUPTED, HAS_ATTRIBUTES = 0x2, 0x10, 0x200
[CODEL] = [bytes.fromhex(each["payload"]) for each in ANSWERS if each["queue"] == "codel"]


def told(kind, payload=b"", flags=MULTI):
    return kind, flags, payload


def end(number=0, flags=MULTI, own=b""):
    return told(DONE, struct.pack("=i", number) + own, flags)


class ScriptedSocket:
    """Answers each request with the next list of messages, and is silent after the last."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.waiting = []

    def __call__(self, *_):
        return self

    def bind(self, address):
        pass

    def setsockopt(self, *option):
        pass

    def settimeout(self, seconds):
        pass

    def close(self):
        pass

    def send(self, request):
        _, kind, _, sequence, _ = HEADER.unpack_from(request)
        self.asked.append(kind)
        for number, flags, payload in self.answers.pop(0):
            length = HEADER.size + len(payload)
            head = HEADER.pack(length, number, flags, sequence, 0)
            self.waiting.append(head + payload + bytes(-length % 4))

    def recvmsg(self, _):
        if not self.waiting:
            raise TimeoutError
        return self.waiting.pop(0), [], 0, (0, 0)


@pytest.fixture
def kernel(monkeypatch):
    """Makes a socket to a kernel that gives these answers."""

    def make(*answers):
        own = ScriptedSocket(*answers)
        monkeypatch.setattr(socket, "socket", own)
        return RouteSocket(), own

    return make


def test_a_list_is_whole_when_its_end_says_so(kernel):
    own, _ = kernel([told(NEW_QUEUE, CODEL), end()])
    [found] = own.queues()
    assert found.kind == "codel"


def test_a_list_that_ends_with_an_error_is_not_taken_for_a_short_one(kernel):
    cut = [told(NEW_QUEUE, CODEL), end(-errno.EMSGSIZE)]
    own, _ = kernel(cut, cut, cut)
    for asking in (own.interfaces, own.queues, lambda: own.queue(2, ROOT)):
        with pytest.raises(KernelError, match="Message too long") as error:
            asking()
        assert error.value.refusal.number == errno.EMSGSIZE


def test_the_kernels_own_words_may_stand_at_the_end_of_a_list(kernel):
    text = b"no room\0"
    own_words = struct.pack("=HH", 4 + len(text), 1) + text
    own, _ = kernel([end(-errno.EMSGSIZE, MULTI | HAS_ATTRIBUTES, own_words)])
    with pytest.raises(KernelError, match=r"no room \(Message too long\)"):
        own.queues()


def test_an_end_without_its_number_is_no_end(kernel):
    own, _ = kernel([told(DONE)])
    with pytest.raises(RouterError, match="end of a list: it has 0 bytes"):
        own.queues()


@pytest.mark.parametrize(
    "interrupted",
    [
        [told(NEW_QUEUE, CODEL, MULTI | INTERRUPTED), end()],
        [told(NEW_QUEUE, CODEL), end(flags=MULTI | INTERRUPTED)],
    ],
)
def test_a_list_that_changed_while_it_was_read_is_asked_for_again(kernel, interrupted):
    own, scripted = kernel(interrupted, [told(NEW_QUEUE, CODEL), end()])
    assert len(own.queues()) == 1
    assert len(scripted.asked) == 2


def test_a_list_that_keeps_changing_is_asked_for_a_few_times_only(kernel):
    own, scripted = kernel(*[[end(flags=MULTI | INTERRUPTED)]] * 9)
    with pytest.raises(RouterError, match="the kernel's list keeps changing"):
        own.queues()
    assert len(scripted.asked) == 5


@pytest.mark.parametrize(
    "answer",
    [[], [told(ERROR, b"\0\0", 0)]],
    ids=["none", "one that is cut off"],
)
def test_a_change_without_a_readable_answer_may_be_made(kernel, answer):
    own, _ = kernel(answer)
    with pytest.raises(RouterSilent):
        own.tell(NEW_QUEUE, 0, CODEL)


def test_a_change_is_made_or_refused_by_the_number_of_its_acknowledgement(kernel):
    header = HEADER.pack(HEADER.size, NEW_QUEUE, 0, 1, 0)
    yes, no = ([told(ERROR, struct.pack("=i", number) + header, 0)] for number in (0, -errno.EBUSY))
    own, _ = kernel(yes, no)
    own.tell(NEW_QUEUE, 0, CODEL)
    with pytest.raises(KernelError, match="Device or resource busy"):
        own.tell(NEW_QUEUE, 0, CODEL)
