"""CUBIC as Linux 6.12 computes it, in integers, after tcp_cubic.c and tcp_cong.c (their names).

The kernel's approximate cube root is replaced by an exact one.
"""

from decimal import Decimal
from typing import ClassVar

from events import Acknowledgement, Case, Parameters, Path, Sign, Step, Window, by_hand, recorded

MS = 1_000_000
BETA, SCALE = 717, 1024
CUBE_RTT_SCALE = 41 * 10
CUBE_FACTOR = 2**40 // CUBE_RTT_SCALE
BETA_SCALE = 8 * (SCALE + BETA) // 3 // (SCALE - BETA)
NS_PER_US = 1000


def cubic_root(a: int) -> int:
    """The integer cube root, by bisection."""
    low, high = 0, 1 << 22
    while high - low > 1:
        middle = (low + high) // 2
        if middle**3 <= a:
            low = middle
        else:
            high = middle
    return low


class LinuxCubic:
    """The reference; `timer_tick` is 1/HZ."""

    OWN: ClassVar[Parameters] = {"fast_convergence": True, "hystart": True, "timer_tick": 0.0}

    def __init__(self, parameters: Parameters) -> None:
        tick = Decimal(str(parameters["timer_tick"])) or Decimal("0.001")
        self.hz = int(1 / tick)
        self.jiffy_ns = 10**9 // self.hz
        self.fast_convergence = parameters["fast_convergence"]
        self.hystart = parameters["hystart"]
        self.snd_cwnd_cnt = 0
        self.found = False
        self.end_seq = 1
        self.round_start = self.last_ack = 0
        self.curr_rtt: int | None = None
        self.sample_cnt = 0
        self.bictcp_reset()

    def bictcp_reset(self) -> None:
        self.cnt = self.last_max_cwnd = self.last_cwnd = self.last_time = 0
        self.origin = self.k = self.ack_cnt = self.tcp_cwnd = 0
        self.delay_min: int | None = None
        self.epoch_start: int | None = None

    def acknowledge(self, event: Acknowledgement, window: Window) -> None:
        jiffies = event.now_ns // self.jiffy_ns
        self.cubictcp_acked(event, jiffies, window)
        cwnd, ssthresh = int(window.congestion), int(window.slow_start_threshold)
        acked = event.counted
        if cwnd < ssthresh:
            grown = min(cwnd + acked, ssthresh)
            acked -= grown - cwnd
            cwnd = min(grown, int(window.cap))
            window.congestion = Decimal(cwnd)
            if acked == 0:
                return
        self.bictcp_update(cwnd, acked, jiffies)
        if self.snd_cwnd_cnt >= self.cnt:
            self.snd_cwnd_cnt = 0
            cwnd += 1
        self.snd_cwnd_cnt += acked
        if self.snd_cwnd_cnt >= self.cnt:
            delta = self.snd_cwnd_cnt // self.cnt
            self.snd_cwnd_cnt -= delta * self.cnt
            cwnd += delta
        window.congestion = Decimal(min(cwnd, int(window.cap)))

    def cubictcp_acked(self, event: Acknowledgement, jiffies: int, window: Window) -> None:
        if event.round_trip_ns is None:
            return
        if self.epoch_start is not None and jiffies - self.epoch_start < self.hz:
            return
        delay = event.round_trip_ns
        if self.delay_min is None or delay < self.delay_min:
            self.delay_min = delay
        if self.found or not self.hystart or window.congestion >= window.slow_start_threshold:
            return
        self.hystart_update(event, delay, self.delay_min, window)

    def hystart_update(
        self, event: Acknowledgement, delay: int, delay_min: int, window: Window
    ) -> None:
        if event.unacknowledged > self.end_seq:
            self.round_start = self.last_ack = event.now_ns
            self.end_seq = event.highest
            self.curr_rtt, self.sample_cnt = None, 0
        if window.congestion < 16:
            return
        if event.now_ns - self.last_ack <= 2 * MS:
            self.last_ack = event.now_ns
            if event.now_ns - self.round_start > (delay_min + MS) // 2:
                self.found = True
        self.curr_rtt = delay if self.curr_rtt is None else min(self.curr_rtt, delay)
        if self.sample_cnt < 8:
            self.sample_cnt += 1
        elif self.curr_rtt > delay_min + min(max(delay_min // 8, 4 * MS), 16 * MS):
            self.found = True
        if self.found:
            window.slow_start_threshold = window.congestion

    def bictcp_update(self, cwnd: int, acked: int, jiffies: int) -> None:
        self.ack_cnt += acked
        if self.last_cwnd == cwnd and jiffies - self.last_time <= self.hz // 32:
            return
        if self.epoch_start is None or jiffies != self.last_time:
            self.last_cwnd, self.last_time = cwnd, jiffies
            self.new_count(cwnd, acked, jiffies)
        delta = (cwnd * BETA_SCALE) >> 3
        while delta > 0 and self.ack_cnt > delta:
            self.ack_cnt -= delta
            self.tcp_cwnd += 1
        if self.tcp_cwnd > cwnd:
            self.cnt = min(self.cnt, cwnd // (self.tcp_cwnd - cwnd))
        self.cnt = max(self.cnt, 2)

    def new_count(self, cwnd: int, acked: int, jiffies: int) -> None:
        if self.epoch_start is None:
            self.epoch_start, self.ack_cnt, self.tcp_cwnd = jiffies, acked, cwnd
            if self.last_max_cwnd <= cwnd:
                self.k, self.origin = 0, cwnd
            else:
                self.k = cubic_root(CUBE_FACTOR * (self.last_max_cwnd - cwnd))
                self.origin = self.last_max_cwnd
        t = jiffies - self.epoch_start + -(-(self.delay_min or 0) // self.jiffy_ns)
        t = (t << 10) // self.hz
        offs = abs(t - self.k)
        delta = (CUBE_RTT_SCALE * offs**3) >> 40
        target = self.origin - delta if t < self.k else self.origin + delta
        self.cnt = cwnd // (target - cwnd) if target > cwnd else 100 * cwnd
        if self.last_max_cwnd == 0:
            self.cnt = min(self.cnt, 20)

    def reduce(self, event: Sign, window: Window) -> Decimal:
        cwnd = int(min(window.congestion, window.cap))
        self.epoch_start = None
        if cwnd < self.last_max_cwnd and self.fast_convergence:
            self.last_max_cwnd = cwnd * (SCALE + BETA) // (2 * SCALE)
        else:
            self.last_max_cwnd = cwnd
        self.snd_cwnd_cnt = 0
        if event.sign == "timeout":
            self.bictcp_reset()
            self.found = False
            self.round_start = self.last_ack = event.now_ns
            self.end_seq = 0
        return Decimal(max(int(event.base) * BETA // SCALE, 2))


def answer(now_ns: int, counted: int = 1, unacknowledged: int = 100) -> Acknowledgement:
    """An acknowledgement after a round trip of 100 ms."""
    trip = 100 * MS
    return Acknowledgement(
        now_ns, counted, counted, 0, trip, trip, unacknowledged, unacknowledged + 100
    )


def cases() -> list[Case]:
    """Cases for the file of `cubic`: its parameter `dialect` is `linux`."""
    linux: Parameters = {
        "dialect": "linux",
        "byte_counting": True,
        "timer_tick": 0.01,
        "hystart": False,
    }
    hand = [
        Case(
            "Linux: a window grows by one after as many segments as its count says",
            "717/1024 of 100 are 70; K = cbrt(2681735677 x 30) = 4317 (1024ths of a second). A "
            "round trip of 10 ticks ahead, 102: 4215^3 x 410 / 2^40 = 27, so the target is 73, and "
            "the count 70 / 3 = 23; the Reno-friendly window needs 70 x 15 / 8 = 131",
            linux,
            (100.0, 2.0, 1e6),
            [
                Step(Sign(0, "loss", 100.0), 70.0, 70.0),
                *(Step(answer(0), 70.0, 70.0) for _ in range(22)),
                Step(answer(0), 71.0, 70.0),
            ],
            by_hand=True,
        ),
        Case(
            "Linux: a timeout forgets the plateau, and growth is 5 % in a round trip",
            "717/1024 of 40 are 28; slow start takes 27 segments to it; then the cubic function is "
            "flat, and the count the 20 of a window without a plateau",
            linux,
            (40.0, 2.0, 1e6),
            [
                Step(Sign(0, "timeout", 40.0), 1.0, 28.0),
                Step(answer(0, 27), 28.0, 28.0),
                *(Step(answer(0), 28.0, 28.0) for _ in range(19)),
                Step(answer(0), 29.0, 28.0),
            ],
            by_hand=True,
        ),
        Case(
            "Linux: a train of acknowledgements for more than half a round trip ends slow start",
            "one every 1.5 ms: the round begins at 1.5 ms; after 34 more it has lasted 51 ms, more "
            "than (100 + 1) / 2",
            {**linux, "hystart": True},
            (16.0, 1000.0, 1e6),
            [
                *(Step(answer(1_500_000 * k), 16.0 + k, 1000.0) for k in range(1, 35)),
                Step(answer(1_500_000 * 35), 50.0, 50.0),
            ],
            by_hand=True,
        ),
    ]
    few = Path(60_000, 8_000, segments=(1, 2), loss=0.02, timeout=0.01, byte_counting=True)
    many = Path(80_000, 3_000, segments=(1, 2), loss=0.004, queue_us=300.0, byte_counting=True)
    full = {**LinuxCubic.OWN, **linux}
    return [
        *(by_hand(LinuxCubic, case) for case in hand),
        recorded(LinuxCubic, "Linux: small windows", "HZ = 100", full, (10.0, 1e6, 1e4), few, 400),
        recorded(
            LinuxCubic,
            "Linux: windows in which the cubic function rules",
            "HZ = 1000, with its HyStart",
            {**full, "timer_tick": 0.001, "hystart": True},
            (10.0, 1e6, 1e4),
            many,
            900,
        ),
    ]
