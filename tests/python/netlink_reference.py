"""What tc has sent and what a kernel has answered, as captured (``tests/reference/netlink``)."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

from vermilion.routers.linux.message import ERROR, Refusal, parse_queue
from vermilion.routers.linux.route_socket import KernelError
from vermilion.routers.linux.state import Interface, QueueState, queue_state

FOLDER = Path(__file__).parents[1] / "reference" / "netlink"
REQUESTS = json.loads((FOLDER / "requests.json").read_text(encoding="utf-8"))["requests"]
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))["answers"]
TIMER_HZ = 100
"""Of the kernel that gave the answers."""

DUMMY = Interface(2, "dummy0", up=True, mtu=1500, maximum_packet_bytes=1514)


def answered(queue):
    """The state of the queue that was made with these words of tc."""
    [found] = [each for each in ANSWERS if each["queue"] == queue]
    return queue_state(parse_queue(bytes.fromhex(found["payload"])))


class FakeKernel:
    """A kernel with one queue, which can be made to misbehave.

    Args:
        state: of the queue.
        refusal: of every change, if there is to be one.
        takes: what becomes of the options that a change should lead to.
    """

    def __init__(self, state: QueueState, refusal=None, takes=None):
        self.state = replace(state, interface=DUMMY.index)
        self.refusal = refusal
        self.takes = takes or (lambda options: options)
        self.told = []
        self.is_closed = False

    def interfaces(self):
        return [DUMMY]

    def interface(self, name):
        for each in self.interfaces():
            if each.name == name:
                return each
        raise KernelError(Refusal(errno.ENODEV, None, None))

    def queues(self):
        return [self.state]

    def queue(self, interface, parent):
        if (interface, parent) != (self.state.interface, self.state.parent):
            raise KernelError(Refusal(ERROR, "there is no queue at this place", None))
        return self.state

    def close(self):
        self.is_closed = True

    def tell(self, kind, flags, body):
        self.told.append((kind, flags, body))
        if len(self.told) == 1 and self.refusal is not None:
            raise KernelError(self.refusal)
        told = parse_queue(body)
        request = type(self.state.options).decode(told.attributes[2])
        options = self.state.options.after(request, TIMER_HZ)
        if len(self.told) == 1:
            options = self.takes(options)
        self.state = replace(self.state, options=options)
