"""A queue of Linux under control: a change is checked, read back and undone, or it is not made."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from netlink_reference import DUMMY, FakeKernel, answered
from vermilion.routers import ROUTER_KINDS, RouterError, router_class
from vermilion.routers.base import RouterSilent
from vermilion.routers.linux import LinuxRouter
from vermilion.routers.linux.discovery import parse_address
from vermilion.routers.linux.fifo import PacketFifoOptions
from vermilion.routers.linux.message import NEW_QUEUE, ROOT, Refusal, parse_queue
from vermilion.routers.linux.red import RedOptions
from vermilion.routers.linux.red_family import HARD_DROP, RedBlock
from vermilion.routers.linux.route_socket import KernelError
from vermilion.routers.linux.state import Interface, QueueStatistics, Unwrapped

EINVAL = 22
EPERM = 1
EBUSY = 16
SILENCE = "the kernel has not answered within 5 s"


def router(kernel, **more):
    return LinuxRouter("linux:dummy0", kernel=kernel, **more)


def test_the_registry_has_it():
    assert ROUTER_KINDS["linux"]
    assert router_class("linux") is LinuxRouter


def test_a_change_is_one_message_that_changes_and_never_replaces():
    kernel = FakeKernel(answered("codel"))
    own = router(kernel)
    own.apply({"target": 0.02})
    [(kind, flags, _)] = kernel.told
    assert (kind, flags) == (NEW_QUEUE, 0)
    assert own.parameters()["target"] == 0.02
    assert own.configuration.discipline == "codel"


def test_the_socket_is_closed_with_the_router():
    kernel = FakeKernel(answered("codel"))
    router(kernel).close()
    assert kernel.is_closed


def test_what_is_in_force_already_is_not_sent():
    kernel = FakeKernel(answered("codel"))
    own = router(kernel)
    own.apply(own.parameters())
    assert own.price({"target": 0.005}) is None
    assert not kernel.told


def test_the_kernels_own_words_are_shown():
    kernel = FakeKernel(answered("codel"), refusal=Refusal(EINVAL, "Invalid quantum", 52))
    with pytest.raises(RouterError) as error:
        router(kernel).apply({"target": 0.02})
    assert str(error.value) == (
        "linux:dummy0: the kernel refused: Invalid quantum (Invalid argument), at byte 52 of the "
        "request"
    )
    assert router(kernel).parameters()["target"] == 0.005


def test_without_the_capability_the_message_says_how_to_give_it():
    kernel = FakeKernel(answered("codel"), refusal=Refusal(EPERM, None, None))
    with pytest.raises(RouterError) as error:
        router(kernel).apply({"target": 0.02})
    assert "CAP_NET_ADMIN" in str(error.value)
    assert "setpriv" in str(error.value)


def test_a_kernel_that_takes_something_else_is_set_back():
    kernel = FakeKernel(answered("codel"), takes=lambda options: replace(options, target_us=1))
    own = router(kernel)
    with pytest.raises(RouterError) as error:
        own.apply({"target": 0.02})
    assert str(error.value) == (
        "linux:dummy0: the kernel took other values: target_us is 1, expected 19999. What was "
        "there is in force again"
    )
    assert own.parameters()["target"] == 0.005
    assert len(kernel.told) == 2


def test_a_refusal_that_has_changed_a_part_is_set_back():
    class Halfway(FakeKernel):
        def tell(self, kind, flags, body):
            if not self.told:  # as fq_pie does: the limit first, then the refusal
                options = replace(self.state.options, limit=7)
                self.state = replace(self.state, options=options)
            super().tell(kind, flags, body)

    kernel = Halfway(answered("fq_pie"), refusal=Refusal(EINVAL, "no", None))
    own = router(kernel)
    with pytest.raises(RouterError, match="refused: no"):
        own.apply({"limit": 7, "target": 0.02})
    assert own.parameters()["limit"] == 10_240


def test_a_change_after_which_the_kernel_is_silent_may_be_in_force_and_is_no_refusal():
    class Silenced(FakeKernel):
        def queue(self, interface, parent):
            if self.told:
                raise RouterSilent(SILENCE)
            return super().queue(interface, parent)

    with pytest.raises(RouterSilent, match="the change was sent, and may be in force"):
        router(Silenced(answered("codel"))).apply({"target": 0.02})


def test_what_cannot_be_set_back_is_said():
    class Stubborn(FakeKernel):
        def tell(self, kind, flags, body):
            super().tell(kind, flags, body)
            options = replace(self.state.options, target_us=1)
            self.state = replace(self.state, options=options)

    own = router(Stubborn(answered("codel")))
    lost = "Some of the old setting could not be restored: target_us"
    with pytest.raises(RouterSilent, match=lost):
        own.apply({"target": 0.02})


class HalfBusy(FakeKernel):
    """A kernel that changes a part of what it is told, and then lets nothing be put back."""

    def tell(self, kind, flags, body):
        if self.told:
            self.told.append((kind, flags, body))
            raise KernelError(Refusal(EBUSY, None, None))
        try:
            super().tell(kind, flags, body)
        finally:
            options = replace(self.state.options, target_us=77)
            self.state = replace(self.state, options=options)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (None, "the kernel took other values: target_us is 77, expected 19999"),
        (Refusal(EINVAL, "no", None), "the kernel refused: no (Invalid argument)"),
    ],
)
def test_a_change_that_is_half_made_and_not_put_back_is_no_refusal(refusal, reason):
    own = router(HalfBusy(answered("codel"), refusal=refusal))
    with pytest.raises(RouterSilent) as error:
        own.apply({"target": 0.02})
    assert str(error.value) == (
        f"linux:dummy0: {reason}. Restoring the old setting failed too: the kernel refused: "
        "Device or resource busy"
    )


def test_a_refusal_after_which_the_queue_cannot_be_read_keeps_the_kernels_reason():
    class Unreadable(FakeKernel):
        def queue(self, interface, parent):
            if self.told:
                raise RouterSilent(SILENCE)
            return super().queue(interface, parent)

    own = router(Unreadable(answered("codel"), refusal=Refusal(EINVAL, "no", None)))
    with pytest.raises(RouterSilent) as error:
        own.apply({"target": 0.02})
    assert "the kernel refused: no" in str(error.value)
    assert SILENCE in str(error.value)


def test_values_that_the_kernel_ignores_need_no_putting_back():
    kernel = FakeKernel(answered("codel"), takes=lambda _: answered("codel").options)
    with pytest.raises(RouterError, match="the kernel took other values") as error:
        router(kernel).apply({"target": 0.02})
    assert not isinstance(error.value, RouterSilent)
    assert len(kernel.told) == 1


def test_a_kernel_that_is_silent_is_silent_for_whoever_reads():
    class Silenced(FakeKernel):
        is_silent = False

        def queue(self, interface, parent):
            if self.is_silent:
                raise RouterSilent(SILENCE)
            return super().queue(interface, parent)

    kernel = Silenced(answered("codel"))
    own = router(kernel)
    kernel.is_silent = True
    for asking in (own.read, own.parameters, lambda: own.apply({"target": 0.02})):
        with pytest.raises(RouterSilent, match=f"linux:dummy0: {SILENCE}"):
            asking()
    assert not kernel.told


def test_the_undo_is_known_before_anything_is_sent():
    kernel = FakeKernel(answered("codel"))
    seen = []
    own = router(kernel, before_change=lambda plan: seen.append((plan, list(kernel.told))))
    own.apply({"target": 0.02})
    [(plan, told_before)] = seen
    assert told_before == []
    assert plan.undo.target_us == 5000


def test_a_refused_change_is_not_announced():
    seen = []
    own = router(FakeKernel(answered("codel")), before_change=seen.append)
    with pytest.raises(RouterError):
        own.apply({"target": 100.0})
    assert not seen


def test_a_queue_that_has_been_replaced_is_noticed():
    kernel = FakeKernel(answered("codel"))
    own = router(kernel)
    kernel.state = replace(answered("pie"), interface=DUMMY.index)
    with pytest.raises(RouterError, match="the codel that was here is gone; now it is pie"):
        own.read()


@pytest.mark.parametrize(
    ("queue", "command"),
    [
        (
            "pie limit 1234 target 15001us tupdate 31ms alpha 3 beta 21 ecn bytemode",
            (
                "tc qdisc change dev dummy0 root handle 1: pie limit 1234 target 15000us tupdate "
                "40000us alpha 3 beta 21 ecn bytemode no_dq_rate_estimator"
            ),
        ),
        (
            "codel",
            (
                "tc qdisc change dev dummy0 root handle 1: codel limit 1000 target 5000us "
                "interval 100000us noecn ce_threshold 2199023255us"
            ),
        ),
        ("pfifo limit 321", "tc qdisc change dev dummy0 root handle 1: pfifo limit 321"),
        ("bfifo limit 65432", "tc qdisc change dev dummy0 root handle 1: bfifo limit 65432"),
        (
            "pfifo_head_drop limit 77",
            "tc qdisc change dev dummy0 root handle 1: pfifo_head_drop limit 77",
        ),
    ],
)
def test_the_present_setting_is_also_told_in_tcs_words(queue, command):
    assert router(FakeKernel(answered(queue))).undo_command() == command


def test_the_name_of_an_interface_is_quoted_where_it_is_printed_for_a_shell():
    class Named(FakeKernel):
        def interfaces(self):
            return [Interface(DUMMY.index, "a;b$(c)", up=True, mtu=1500, maximum_packet_bytes=1514)]

    own = LinuxRouter("linux:a;b$(c)", kernel=Named(answered("pfifo limit 321")))
    assert own.undo_command() == "tc qdisc change dev 'a;b$(c)' root handle 1: pfifo limit 321"


def red(low, high, weight_log, *, flags=0):
    """A RED that a kernel has, which gives 2 % at the maximum threshold."""
    two_percent = 85_899_345  # 0.02 * 2^32
    block = RedBlock(400_000, low, high, weight_log, 22, 15, flags)
    return replace(
        answered("pfifo limit 321"), kind="red", options=RedOptions(block=block, max_p=two_percent)
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        # tc 6.1 has made ewma 4 of just these words: avpkt 250 burst 5.
        (red(500, 1500, 4), "min 500 max 1500 avpkt 250 burst 5 "),
        (red(30_000, 30_000, 5), "min 30000 max 30000 avpkt 1000 "),
        (red(30_000, 90_000, 5, flags=HARD_DROP), "harddrop"),
    ],
    ids=["a threshold below the usual packet", "equal thresholds", "harddrop without ecn"],
)
def test_an_undo_of_red_says_what_the_kernel_has(state, words):
    command = router(FakeKernel(state)).undo_command()
    assert command.startswith("tc qdisc change dev dummy0 root handle 1: red limit 400000 min ")
    assert words in command
    assert float(command.partition(" probability ")[2].split()[0]) == pytest.approx(0.02)


def test_an_undo_of_a_queue_that_takes_no_packet_says_so():
    state = replace(answered("pfifo limit 321"), options=PacketFifoOptions(limit=0))
    command = router(FakeKernel(state)).undo_command()
    assert command == "tc qdisc change dev dummy0 root handle 1: pfifo limit 0"


def counted(kernel, **numbers):
    kernel.state = replace(kernel.state, statistics=replace(kernel.state.statistics, **numbers))


def test_counters_of_32_bits_go_on_where_they_begin_again():
    kernel = FakeKernel(answered("codel"))
    counted(kernel, drops=2**32 - 3, packets=2**32 - 1, sent_bytes=10**12)
    own = router(kernel)
    first = own.read()
    counted(kernel, drops=4, packets=10, sent_bytes=10**12 + 50)
    second = own.read()
    assert second.drops - first.drops == 7
    assert second.forwarded_packets - first.forwarded_packets == 11
    counted(kernel, drops=5, packets=12, sent_bytes=10**12 + 90)
    assert own.read().drops - first.drops == 8


def test_counters_that_were_set_back_begin_anew():
    kernel = FakeKernel(answered("codel"))
    counted(kernel, drops=100, sent_bytes=10**12)
    own = router(kernel)
    own.read()
    counted(kernel, drops=4, sent_bytes=10)
    assert own.read().drops == 4


def test_a_queue_with_another_handle_counts_anew():
    unwrapped = Unwrapped()
    assert unwrapped.take({"drops": 9}, 100, life=1) == {"drops": 9}
    assert unwrapped.take({"drops": 3}, 200, life=2) == {"drops": 3}


def test_the_time_of_a_reading_begins_with_the_router():
    now = [100.0]
    slept = []
    own = router(FakeKernel(answered("codel")), clock=lambda: now[0], sleep=slept.append)
    now[0] = 102.5
    assert own.read().time_s == 2.5
    own.wait(4.0)
    own.wait(1.0)
    assert slept == [1.5]


def test_without_a_monitor_flows_are_unknown_and_not_none():
    own = router(FakeKernel(answered("codel")))
    assert own.active_flows() is None
    assert own.rtt_samples() is None
    seen = own.observe()
    assert (seen.active_flows, seen.round_trips, seen.traffic) == (None, None, None)


def test_the_monitor_beside_the_queue_is_asked():
    class Monitor:
        def active_flows(self):
            return 16

        def rtt_samples(self):
            return "samples"

    own = router(FakeKernel(answered("codel")), monitor=Monitor())
    assert own.active_flows() == 16
    assert own.rtt_samples() == "samples"


@pytest.mark.parametrize(
    ("text", "interface", "parent"),
    [
        ("linux:eth0", "eth0", ROOT),
        ("linux:eth0/1:10", "eth0", 0x10010),
        ("linux:br-lan.7/8001:1", "br-lan.7", 0x80010001),
    ],
)
def test_an_address_is_read_and_written(text, interface, parent):
    found = parse_address(text)
    assert (found.interface, found.parent) == (interface, parent)
    assert str(found) == text


@pytest.mark.parametrize(
    "text",
    [
        "eth0",
        "linux:",
        "linux:eth0/",
        "linux:eth0/1",
        "linux:eth0/1:10:2",
        "linux:eth0/12345:1",
        "linux:a name",
        "linux:sixteen-letters0",
        "linux:\n",
        "linux:\x1b[31m",
        "snmp:router",
    ],
)
def test_what_is_no_address_is_refused_in_one_line(text):
    with pytest.raises(RouterError) as error:
        parse_address(text)
    assert str(error.value).isprintable()
    assert "linux:INTERFACE" in str(error.value)


def test_an_interface_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(RouterError, match=r'no interface "eth7"; expected "dummy0"'):
        LinuxRouter("linux:eth7", kernel=FakeKernel(answered("codel")))


def test_a_place_without_a_queue_is_named_with_those_that_have_one():
    with pytest.raises(RouterError, match=r'no queue at this place; expected "linux:dummy0"'):
        LinuxRouter("linux:dummy0/1:10", kernel=FakeKernel(answered("codel")))


@pytest.mark.parametrize(
    ("queue", "part"),
    [("htb default 1", "htb holds other queues"), ("sfq", "of the kind sfq")],
)
def test_what_cannot_be_controlled_says_why(queue, part):
    with pytest.raises(RouterError, match=part):
        router(FakeKernel(answered(queue)))


def test_a_queue_that_the_kernel_has_put_there_is_not_changed():
    state = replace(answered("pfifo limit 321"), handle=0)
    with pytest.raises(RouterError, match="tc qdisc replace dev dummy0 root fq_codel"):
        router(FakeKernel(state))


def test_counters_that_are_not_told_are_absent_for_a_machine():
    assert QueueStatistics(packets=3).numbers() == {"packets": 3}
    assert json.loads(json.dumps(QueueStatistics().numbers())) == {}


class Renumbered(FakeKernel):
    """A kernel whose interface can go and come back under another number."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.there = [DUMMY]

    def interfaces(self):
        return self.there

    def come_back(self, number, **interface):
        self.there = [replace(DUMMY, index=number, **interface)]
        self.state = replace(self.state, interface=number)


def test_an_interface_that_comes_back_under_another_number_has_the_queue_again():
    kernel = Renumbered(answered("codel"))
    counted(kernel, drops=2**32 - 10, packets=2**32 - 1, sent_bytes=10**12)
    own = router(kernel)
    own.read()
    kernel.there = []
    with pytest.raises(RouterError) as error:
        own.read()
    assert str(error.value) == (
        'linux:dummy0: the interface "dummy0" is gone; expected it with a codel'
    )
    kernel.come_back(7)
    counted(kernel, drops=3, packets=20, sent_bytes=2 * 10**12)
    assert (own.read().drops, own.read().forwarded_packets) == (3, 20)  # no wrap of 32 bits
    own.apply({"target": 0.02})
    assert own.parameters()["target"] == 0.02
    assert [parse_queue(body).interface for *_, body in kernel.told] == [7]


def test_what_comes_back_has_another_place():
    kernel = Renumbered(answered("fq_codel"))
    own = router(kernel)
    assert own.parameters()["maximum_packet_size"] == 1514
    kernel.come_back(7, mtu=1492, maximum_packet_bytes=1506)
    own.read()
    assert own.parameters()["maximum_packet_size"] == 1506


def test_until_the_queue_is_put_there_again_it_is_another_one():
    """The kernel puts one of its own below an interface that comes up."""
    kernel = Renumbered(answered("codel"))
    own = router(kernel)
    kernel.come_back(7)
    mine, kernel.state = kernel.state, replace(kernel.state, handle=0)
    with pytest.raises(RouterError, match="the codel that was here is gone"):
        own.read()
    with pytest.raises(RouterError, match="the codel that was here is gone"):
        own.apply({"target": 0.02})
    assert not kernel.told
    kernel.state = mine
    assert own.parameters()["target"] == 0.005


def test_a_change_follows_the_name_and_not_the_number():
    """Somebody has given the names of two interfaces to each other."""
    kernel = Renumbered(answered("codel"))
    own = router(kernel)
    kernel.there = [replace(DUMMY, name="lan0"), replace(DUMMY, index=9)]
    with pytest.raises(RouterError, match="no queue at this place"):
        own.apply({"target": 0.02})
    assert not kernel.told
