"""BBR version 3 as draft-ietf-ccwg-bbr (August 2026) words it, with its delivery rate sampling.

Written from the pseudo-code of the draft, with its names and order; it shares no code with the Rust
rule. Where the draft leaves room, or presumes what a simulator of whole segments has not, this
follows what the head of `crates/tcp/src/rules/bbr/mod.rs` lists: slips are caught by comparing the
two, a misreading of the draft that both share is not.
"""

from dataclasses import dataclass, field
from math import inf

SECOND = 10**9
PROBE_BW = ("DOWN", "CRUISE", "REFILL", "UP")
PACING_GAIN = {
    "STARTUP": 2.77,
    "DRAIN": 0.5,
    "DOWN": 0.9,
    "CRUISE": 1.0,
    "REFILL": 1.0,
    "UP": 1.25,
    "PROBE_RTT": 1.0,
}
CWND_GAIN = dict.fromkeys(PACING_GAIN, 2.0) | {"UP": 2.25, "PROBE_RTT": 0.5}
LOSS_THRESH, BETA, HEADROOM, MIN_PIPE_CWND = 0.02, 0.7, 0.15, 4.0


@dataclass
class Packet:
    send_time: int
    first_send_time: int
    delivered_time: int
    delivered: int
    is_app_limited: bool
    tx_in_flight: int
    lost: int


@dataclass
class RateSample:
    newly_acked: int = 0
    delivered: int = 0
    prior_delivered: int = 0
    delivery_rate: float = 0.0
    lost: float = 0
    tx_in_flight: float = 0
    is_app_limited: bool = False
    rtt: int | None = None


@dataclass
class Connection:
    """Delivery rate sampling: the draft's section 4.1."""

    delivered: int = 0
    delivered_time: int = 0
    first_send_time: int = 0
    lost: int = 0
    app_limited: int = 0
    min_rtt: float = inf
    in_flight: dict[int, Packet] = field(default_factory=dict)

    def on_sent(self, number: int, now: int) -> None:
        if not self.in_flight:
            self.first_send_time = self.delivered_time = now
        self.in_flight[number] = Packet(
            now,
            self.first_send_time,
            self.delivered_time,
            self.delivered,
            self.app_limited != 0,
            len(self.in_flight) + 1,
            self.lost,
        )

    def on_ack(self, numbers: list[int], now: int, rtt: int) -> RateSample:
        sample = RateSample(newly_acked=len(numbers), rtt=rtt)
        self.min_rtt = min(self.min_rtt, rtt)
        newest = None
        for number in numbers:
            packet = self.in_flight.pop(number)
            self.delivered += 1
            self.delivered_time = now
            if newest is None or packet.send_time >= newest.send_time:
                newest = packet
                self.first_send_time = packet.send_time
        assert newest is not None
        if self.app_limited and self.delivered > self.app_limited:
            self.app_limited = 0
        sample.prior_delivered = newest.delivered
        sample.is_app_limited = newest.is_app_limited
        sample.tx_in_flight = newest.tx_in_flight
        sample.lost = self.lost - newest.lost
        sample.delivered = self.delivered - newest.delivered
        interval = max(newest.send_time - newest.first_send_time, now - newest.delivered_time)
        if interval >= self.min_rtt and interval > 0:
            sample.delivery_rate = sample.delivered * 1e9 / interval
        return sample

    def mark_app_limited(self) -> None:
        self.app_limited = max(self.delivered + len(self.in_flight), 1)


def mixed(first: int, second: int) -> int:
    """The finisher of SplitMix64 over both numbers, the second one's halves exchanged."""
    mask = 2**64 - 1
    swapped = ((second << 32) | (second >> 32)) & mask
    bits = (first ^ ((swapped + 0x9E3779B97F4A7C15) & mask)) & mask
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & mask
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
    return bits ^ (bits >> 31)


class Bbr:
    """The draft's section 5."""

    def __init__(self, c: Connection, cwnd: float) -> None:
        self.c = c
        self.cwnd = self.initial_cwnd = cwnd
        self.pacing_rate = 0.0
        self.begun = False
        self.state = "STARTUP"
        self.bw_slots = [0.0, 0.0]
        self.bw = 0.0
        self.min_rtt: float = inf
        self.min_rtt_stamp = self.probe_rtt_min_stamp = 0
        self.probe_rtt_min_delay: float = inf
        self.probe_rtt_done_stamp = 0
        self.probe_rtt_round_done = False
        self.prior_cwnd = 0.0
        self.extra_acked_interval_start = 0
        self.extra_acked_delivered = 0.0
        self.extra_acked_samples: list[tuple[int, float]] = []
        self.extra_acked = 0.0
        self.full_bw_reached = self.full_bw_now = False
        self.full_bw, self.full_bw_count = 0.0, 0
        self.bw_shortterm = self.inflight_shortterm = self.inflight_longterm = inf
        self.probe_up_acked_per_inc, self.bw_probe_up_acked = inf, 0.0
        self.bw_probe_up_rounds = self.rounds_since_probe_up = 0
        self.is_bw_probe_sample = False
        self.prev_probe_too_high = self.prev_probe_precautionary = False
        self.ack_phase = "INIT"
        self.cycle_stamp = self.bw_probe_wait = 0
        self.is_loss_in_round = False
        self.bw_latest, self.inflight_latest = 0.0, 0.0
        self.loss_round_delivered = 0
        self.loss_round_start = False
        self.next_round_delivered = self.round_count = 0
        self.round_start = False
        self.drain_start_round = 0
        self.loss_events = 0
        self.in_recovery = False
        self.cwnd_limited_at = -1
        self.probe_rtt_sent = (inf, -1)
        self.now = 0
        self.states: list[str] = []

    # What the network says.

    def on_enter_recovery(self) -> None:
        if self.in_recovery or self.state == "PROBE_RTT":
            self.prior_cwnd = max(self.prior_cwnd, self.cwnd)
        else:
            self.prior_cwnd = self.cwnd

    def on_ack(
        self, now: int, rs: RateSample, lost: list[tuple[int, int, bool]], *, in_recovery: bool
    ) -> None:
        """`lost`: of each lost packet what was in flight, what was lost since, app-limited."""
        self.now, c = now, self.c
        if not self.begun:
            self.begun = True
            self.min_rtt = rs.rtt if rs.rtt is not None else inf
            self.min_rtt_stamp = self.probe_rtt_min_stamp = now
            self.extra_acked_interval_start = now
            self.pacing_rate = 2.77 * self.cwnd * 1e9 / self.min_rtt
        before = len(c.in_flight) + rs.newly_acked + len(lost)
        if before >= int(self.cwnd):
            self.cwnd_limited_at = c.delivered
        self.is_cwnd_limited = rs.prior_delivered <= self.cwnd_limited_at
        self.prior_in_flight, self.cwnd_before = before, self.cwnd
        low, high = self.probe_rtt_sent
        idle_restart = rs.is_app_limited and rs.tx_in_flight == 1
        rs.is_app_limited |= low <= rs.prior_delivered <= high
        self.rs = rs
        if self.in_recovery and not in_recovery:
            self.cwnd = max(self.cwnd, self.prior_cwnd)
        self.in_recovery = in_recovery
        self.handle_lost(lost)
        self.update_model_and_state(losses=bool(lost), idle_restart=idle_restart)
        self.set_pacing_rate()
        self.set_cwnd()
        if not self.states or self.states[-1] != self.state:
            self.states.append(self.state)

    # Losses.

    def too_high(self) -> bool:
        return self.rs.lost > self.rs.tx_in_flight * LOSS_THRESH

    def handle_lost(self, lost: list[tuple[int, int, bool]]) -> None:
        if not lost:
            return
        if not self.is_loss_in_round:
            self.loss_round_delivered = self.c.delivered
        self.is_loss_in_round = True
        if not self.is_bw_probe_sample:
            return
        beyond = [each for each in lost if each[1] > each[0] * LOSS_THRESH]
        self.rs.tx_in_flight, self.rs.lost, app_limited = (beyond or lost[-1:])[0]
        if self.too_high():
            prev, lost_prev = self.rs.tx_in_flight - 1, self.rs.lost - 1
            self.rs.tx_in_flight = prev + (LOSS_THRESH * prev - lost_prev) / (1 - LOSS_THRESH)
            self.prev_probe_too_high = True
            self.is_bw_probe_sample = False
            if not app_limited:
                target = min(self.bdp(self.bw, 1.0), self.cwnd_before)
                self.inflight_longterm = max(self.rs.tx_in_flight, target * BETA)
            if self.state == "UP":
                self.start_down()

    # The model.

    def max_bw(self) -> float:
        return max(self.bw_slots)

    def update_model_and_state(self, *, losses: bool, idle_restart: bool) -> None:
        rs, c = self.rs, self.c
        # UpdateLatestDeliverySignals
        self.loss_round_start = False
        self.bw_latest = max(self.bw_latest, rs.delivery_rate)
        self.inflight_latest = max(self.inflight_latest, rs.delivered)
        if rs.prior_delivered >= self.loss_round_delivered:
            self.loss_round_delivered = c.delivered
            self.loss_round_start = True
        # UpdateRound, UpdateMaxBw
        self.round_start = rs.prior_delivered >= self.next_round_delivered
        if self.round_start:
            self.next_round_delivered = c.delivered
            self.round_count += 1
            self.rounds_since_probe_up += 1
        if rs.delivery_rate > 0 and (rs.delivery_rate >= self.max_bw() or not rs.is_app_limited):
            self.bw_slots[1] = max(self.bw_slots[1], rs.delivery_rate)
        # UpdateCongestionSignals
        if self.loss_round_start:
            if self.is_loss_in_round and self.state not in ("STARTUP", "REFILL", "UP"):
                if self.bw_shortterm == inf:
                    self.bw_shortterm = self.max_bw()
                if self.inflight_shortterm == inf:
                    self.inflight_shortterm = self.cwnd_before
                self.bw_shortterm = max(self.bw_latest, BETA * self.bw_shortterm)
                self.inflight_shortterm = max(self.inflight_latest, BETA * self.inflight_shortterm)
            self.is_loss_in_round = False
        self.update_ack_aggregation()
        self.check_full_bw_reached()
        self.check_startup_done(losses=losses)
        if self.state == "DRAIN" and (
            len(c.in_flight) <= max(self.bdp(self.bw, 1.0), MIN_PIPE_CWND)
            or self.round_count > self.drain_start_round + 3
        ):
            self.start_down()
        self.update_probe_bw_cycle_phase()
        expired = self.update_min_rtt()
        self.check_probe_rtt(expired=expired, idle_restart=idle_restart)
        if self.loss_round_start:
            self.bw_latest, self.inflight_latest = rs.delivery_rate, rs.delivered
        self.bw = min(self.max_bw(), self.bw_shortterm)

    def bdp(self, bw: float, gain: float) -> float:
        if self.min_rtt == inf:
            return self.initial_cwnd
        return gain * bw * self.min_rtt / 1e9

    def update_ack_aggregation(self) -> None:
        interval = self.now - self.extra_acked_interval_start
        expected = self.bw * interval / 1e9
        if self.extra_acked_delivered <= expected:
            self.extra_acked_delivered = 0.0
            self.extra_acked_interval_start = self.now
            expected = 0.0
        self.extra_acked_delivered += self.rs.newly_acked
        extra = min(self.extra_acked_delivered - expected, self.cwnd_before)
        self.extra_acked_samples.append((self.round_count, extra))
        oldest = self.round_count - (10 if self.full_bw_reached else 1)
        self.extra_acked_samples = [each for each in self.extra_acked_samples if each[0] > oldest]
        self.extra_acked = max(value for _, value in self.extra_acked_samples)

    def reset_full_bw(self, baseline: float) -> None:
        self.full_bw, self.full_bw_count, self.full_bw_now = baseline, 0, False

    def check_full_bw_reached(self) -> None:
        rs = self.rs
        if self.full_bw_now or not self.round_start or rs.is_app_limited:
            return
        if rs.delivery_rate >= self.full_bw * 1.25:
            self.reset_full_bw(rs.delivery_rate)
            return
        self.full_bw_count += 1
        self.full_bw_now = self.full_bw_count >= 3
        self.full_bw_reached |= self.full_bw_now

    def check_startup_done(self, *, losses: bool) -> None:
        if self.state != "STARTUP":
            return
        self.loss_events += losses
        if self.loss_round_start:
            if self.in_recovery and self.loss_events >= 6 and self.too_high():
                self.full_bw_reached = self.full_bw_now = True
                self.inflight_longterm = max(self.bdp(self.max_bw(), 1.0), self.inflight_latest)
            self.loss_events = 0
        if self.full_bw_reached:
            self.state = "DRAIN"
            self.drain_start_round = self.round_count

    # ProbeBW.

    def start_round(self) -> None:
        self.next_round_delivered = self.c.delivered

    def start_down(self) -> None:
        self.is_loss_in_round = False
        self.bw_latest, self.inflight_latest = 0.0, 0.0
        self.probe_up_acked_per_inc = inf
        bits = mixed(self.now, self.c.delivered)
        self.rounds_since_probe_up = bits % 2
        self.bw_probe_wait = 2 * SECOND + (bits // 2) % SECOND
        self.cycle_stamp = self.now
        self.ack_phase = "STOPPING"
        self.start_round()
        self.state = "DOWN"

    def start_refill(self) -> None:
        self.bw_shortterm = self.inflight_shortterm = inf
        self.bw_probe_up_rounds, self.bw_probe_up_acked = 0, 0.0
        self.prev_probe_precautionary = False
        self.ack_phase = "REFILLING"
        self.start_round()
        self.state = "REFILL"

    def start_up(self) -> None:
        self.is_bw_probe_sample = True
        self.ack_phase = "PROBE_STARTING"
        self.start_round()
        self.reset_full_bw(self.rs.delivery_rate)
        self.state = "UP"
        self.raise_slope()

    def raise_slope(self) -> None:
        growth = 1 << self.bw_probe_up_rounds
        self.bw_probe_up_rounds = min(self.bw_probe_up_rounds + 1, 30)
        self.probe_up_acked_per_inc = max(self.cwnd_before / growth, 1.0)

    def update_probe_bw_cycle_phase(self) -> None:
        if not self.full_bw_reached or self.adapt_long_term_model():
            return
        if self.state in ("DOWN", "CRUISE") and self.is_time_to_probe():
            self.start_refill()
        elif self.state == "DOWN":
            in_flight = len(self.c.in_flight)
            if in_flight <= self.with_headroom() and in_flight <= max(
                self.bdp(self.max_bw(), 1.0), MIN_PIPE_CWND
            ):
                self.state = "CRUISE"
        elif self.state == "REFILL":
            if self.round_start:
                self.start_up()
        elif self.state == "UP" and self.is_time_to_go_down():
            self.prev_probe_too_high = False
            self.start_down()

    def is_time_to_probe(self) -> bool:
        target = min(self.bdp(self.bw, 1.0), self.cwnd_before)
        return (
            self.now > self.cycle_stamp + self.bw_probe_wait
            or self.rounds_since_probe_up >= min(target, 63)
        )

    def at_longterm(self, volume: float) -> bool:
        return self.inflight_longterm != inf and volume >= int(self.inflight_longterm)

    def is_time_to_go_down(self) -> bool:
        if self.prev_probe_too_high and self.at_longterm(self.prior_in_flight):
            self.prev_probe_precautionary = True
            return True
        if self.is_cwnd_limited and self.at_longterm(self.cwnd_before):
            self.reset_full_bw(self.rs.delivery_rate)
            return False
        return self.full_bw_now

    def with_headroom(self) -> float:
        if self.inflight_longterm == inf:
            return inf
        headroom = max(1.0, HEADROOM * self.inflight_longterm)
        return max(self.inflight_longterm - headroom, MIN_PIPE_CWND)

    def adapt_long_term_model(self) -> bool:
        rs = self.rs
        if self.ack_phase == "PROBE_STARTING" and self.round_start:
            self.ack_phase = "PROBE_FEEDBACK"
        if self.ack_phase == "STOPPING" and self.round_start:
            self.is_bw_probe_sample = False
            self.ack_phase = "INIT"
            if self.state in PROBE_BW and not rs.is_app_limited and self.bw_slots[1] > 0:
                self.bw_slots = [self.bw_slots[1], 0.0]
            if (
                self.state in PROBE_BW
                and self.prev_probe_precautionary
                and not self.prev_probe_too_high
            ):
                self.start_refill()
                return True
        if not self.too_high() and self.inflight_longterm != inf:
            self.inflight_longterm = max(self.inflight_longterm, rs.tx_in_flight)
            if self.state == "UP":
                self.probe_upward()
        return False

    def probe_upward(self) -> None:
        if not self.is_cwnd_limited or not self.at_longterm(self.cwnd_before):
            return
        self.bw_probe_up_acked += self.rs.newly_acked
        delta = self.bw_probe_up_acked // self.probe_up_acked_per_inc
        if delta >= 1:
            self.bw_probe_up_acked -= delta * self.probe_up_acked_per_inc
            self.inflight_longterm += delta
        if self.round_start:
            self.raise_slope()

    # ProbeRTT.

    def update_min_rtt(self) -> bool:
        rtt = self.rs.rtt
        expired = self.now > self.probe_rtt_min_stamp + 5 * SECOND
        if rtt is not None and (rtt < self.probe_rtt_min_delay or expired):
            self.probe_rtt_min_delay, self.probe_rtt_min_stamp = rtt, self.now
        min_rtt_expired = self.now > self.min_rtt_stamp + 10 * SECOND
        if self.probe_rtt_min_delay < self.min_rtt or min_rtt_expired:
            self.min_rtt, self.min_rtt_stamp = self.probe_rtt_min_delay, self.probe_rtt_min_stamp
        return expired

    def check_probe_rtt(self, *, expired: bool, idle_restart: bool) -> None:
        c = self.c
        if self.state != "PROBE_RTT" and expired and not idle_restart:
            self.state = "PROBE_RTT"
            self.prior_cwnd = max(self.prior_cwnd, self.cwnd)
            self.probe_rtt_done_stamp = 0
            self.probe_rtt_sent = (c.delivered, -1)
            self.ack_phase = "STOPPING"
            self.start_round()
        if self.state != "PROBE_RTT":
            return
        # MarkConnectionAppLimited, for what is sent from now on
        self.probe_rtt_sent = (self.probe_rtt_sent[0], c.delivered + len(c.in_flight))
        if self.probe_rtt_done_stamp == 0:
            if len(c.in_flight) <= self.probe_rtt_cwnd():
                self.probe_rtt_done_stamp = self.now + SECOND // 5
                self.probe_rtt_round_done = False
                self.start_round()
            return
        self.probe_rtt_round_done |= self.round_start
        if self.probe_rtt_round_done and self.now > self.probe_rtt_done_stamp:
            self.probe_rtt_min_stamp = self.now
            self.cwnd = max(self.cwnd, self.prior_cwnd)
            self.bw_shortterm = self.inflight_shortterm = inf
            if self.full_bw_reached:
                self.start_down()
                self.state = "CRUISE"
            else:
                self.state = "STARTUP"

    def probe_rtt_cwnd(self) -> float:
        return max(self.bdp(self.bw, 0.5), MIN_PIPE_CWND)

    # Control.

    def set_pacing_rate(self) -> None:
        rate = PACING_GAIN[self.state] * self.bw * 99 / 100
        if rate > 0 and (self.full_bw_reached or rate > self.pacing_rate):
            self.pacing_rate = rate

    def set_cwnd(self) -> None:
        most = max(self.bdp(self.bw, CWND_GAIN[self.state]) + self.extra_acked, MIN_PIPE_CWND)
        most += 2 * (self.state == "UP")
        if self.full_bw_reached:
            self.cwnd = min(self.cwnd + self.rs.newly_acked, most)
        elif self.cwnd < most or self.c.delivered < self.initial_cwnd:
            self.cwnd += self.rs.newly_acked
        self.cwnd = max(self.cwnd, MIN_PIPE_CWND)
        cap = inf
        if self.state == "PROBE_RTT":
            self.cwnd = min(self.cwnd, self.probe_rtt_cwnd())
        if self.state in ("PROBE_RTT", "CRUISE"):
            cap = self.with_headroom()
        elif self.state in PROBE_BW:
            cap = self.inflight_longterm
        self.cwnd = min(self.cwnd, max(min(cap, self.inflight_shortterm), MIN_PIPE_CWND))
