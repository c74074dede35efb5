"""ABC, queue and sender, as a plug-in (P. Goyal et al., NSDI 2020, section 3)."""
# ruff: noqa: ARG002 - methods look at a part of what they are shown

from vermilion import CongestionControl, Discipline, Verdict, number
from vermilion._core import Acknowledgement, Coin, Packet, Queue, Reduction, Sent, Window

SPAN = 40_000_000  # nanoseconds over which departures are counted


class AbcQueue(Discipline):
    """Turns "accelerate" (1) into "brake" (0) so that the target rate follows in a round trip."""

    name, headers = "abc-queue", True
    parameters = (
        number("limit", "packets", 250, 1, 1e6, whole=True),
        number("utilization", "1", 0.98, 0.5, 1, search=(0.9, 1)),
        number("target", "seconds", 0.02, 0, 1, search=(0.001, 0.1), scale="log"),
        number("drain_time", "seconds", 0.133, 0.001, 10, search=(0.02, 1), scale="log"),
    )

    def __init__(self) -> None:
        self.tokens, self.left = 0.0, list[tuple[int, int]]()

    def on_arrival(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        """Drop what meets a full buffer."""
        return Verdict.ACCEPT if queue.packets < self.limit else Verdict.OVERFLOW

    def on_departure(self, packet: Packet, queue: Queue, coin: Coin) -> Verdict:
        """Spend a token on each "accelerate"; a share of one comes with each packet."""
        self.left = [each for each in self.left if each[0] > queue.now - SPAN]
        self.left.append((queue.now, packet.size))
        late = max(0.0, 8 * queue.bytes / self.link_rate - self.target)
        rate = self.link_rate * max(0.0, self.utilization - late / self.drain_time)
        leaving = 8e9 * sum(size for _, size in self.left) / SPAN
        self.tokens = min(10.0, self.tokens + min(1.0, rate / (2 * leaving)))
        if packet.header and packet.header[0]:
            packet.header = (float(self.tokens >= 1),)
            self.tokens -= packet.header[0]
        return Verdict.ACCEPT


class Abc(CongestionControl):
    """Two packets for "accelerate" and none for "brake"; one more in each round trip."""

    name, headers = "abc", True

    def on_sent(self, sent: Sent, window: Window) -> None:
        """Ask for as much as there is."""
        sent.header = (1.0,)

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        """Do as the packet was told."""
        if ack.header:
            window.size = max(2.0, window.size + 2 * ack.header[0] - 1 + 1 / window.size)

    def on_loss(self, loss: Reduction, window: Window) -> float:
        """Halve the window."""
        return loss.base / 2
