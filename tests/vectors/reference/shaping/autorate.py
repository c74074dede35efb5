"""cake-autorate's rules for one direction, in whole microseconds, kbit/s and thousandths.

The rules, as its README and the comments of its defaults file state them (94238be):

- Each reflector has a baseline of its delay, 100 ms at first: a moving average that takes 0.001 of
  a delay that is not below it, and 0.9 of one that is. A delta is a delay above the new baseline.
- An answer that took longer than 0.5 s does not count. Half the round trip stands for a delay that
  is not measured.
- Thresholds are compensated for the time that a packet of 1514 bytes takes at the shaper's rate.
- Bufferbloat: so many of the last answers' deltas are above the delay threshold. Unless the last
  such step is less than the refractory period ago, the rate falls to a part between 0.99 and 0.75
  of itself, by where the mean delta lies between the delay threshold and the one of fastest fall.
- Otherwise at high load (above 75 % of the rate, measured each 0.2 s), once for each measurement
  and not within that period: the rate rises to between 1 and 1.04 of itself, by where the mean
  delta lies between the delay threshold and the one of fastest rise.
- Otherwise at low load, each second: a hundredth towards the base rate, not beyond it.
- The rate stays between minimum and maximum.
"""

from random import Random

MS, SECOND = 1_000_000, 1_000_000_000
PACKET_BITS = 8 * 1514


def mixed(low: int, high: int, share: int) -> int:
    """A millionth factor between two thousandths: at share 0 the first, at 1000 the second."""
    return 1000 * low + share * (high - low)


def thousandths(part: int, whole: int) -> int:
    return min(1000, max(0, 1000 * part // whole)) if part > 0 else 0


class Shaper:
    """The reference."""

    def __init__(self, minimum: int, base: int, maximum: int) -> None:
        self.bounds = minimum, maximum
        self.base = self.rate = base
        self.baselines: dict[int, int] = {}
        self.recent = [0] * 6
        self.long = [False] * 6
        self.stepped_down_us = self.relaxed_us = 0
        self.load, self.is_news = 0, False

    def measure(self, kbit_per_s: int) -> None:
        self.load, self.is_news = 100 * kbit_per_s // self.rate, True

    def answer(self, now_us: int, reflector: int, delay_us: int) -> None:
        baseline = self.baselines.get(reflector, 100_000)
        weight = 900_000 if delay_us < baseline else 1_000
        baseline = (weight * delay_us + (1_000_000 - weight) * baseline) // 1_000_000
        self.baselines[reflector] = baseline
        packet_us = 1000 * PACKET_BITS // self.rate
        fast_up, limit, fast_down = (each + packet_us for each in (10_000, 30_000, 60_000))
        delta = delay_us - baseline
        self.recent = [*self.recent[1:], delta]
        self.long = [*self.long[1:], delta > limit]
        total = sum(self.recent)
        mean = total // 6 if total >= 0 else -(-total // 6)  # towards zero, as a shell divides
        may_step = now_us > self.stepped_down_us + 300_000
        if sum(self.long) >= 3:
            if may_step:
                factor = mixed(990, 750, thousandths(mean - limit, fast_down - limit))
                self.rate = self.rate * factor // 1_000_000
                self.stepped_down_us = self.relaxed_us = now_us
        elif self.load > 75:
            if self.is_news and may_step:
                factor = mixed(1000, 1040, thousandths(limit - mean, limit - fast_up))
                self.rate = self.rate * factor // 1_000_000
                self.relaxed_us, self.is_news = now_us, False
        elif now_us > self.relaxed_us + 1_000_000:
            if self.rate > self.base:
                self.rate = max(self.base, 990 * self.rate // 1000)
            else:
                self.rate = min(self.base, 1010 * self.rate // 1000)
            self.relaxed_us = now_us
        low, high = self.bounds
        self.rate = min(high, max(low, self.rate))


def kbps(rate: int) -> dict[str, float]:
    return {"rate": 1e3 * rate}


def by_hand() -> list[dict[str, object]]:
    def answered(at_ms: int, delay_ms: int) -> list[object]:
        return ["answered", 1, (at_ms - 40) * MS, at_ms * MS, delay_ms * MS, 0]

    def asked(at_ms: int, sent: int, rate: int) -> list[object]:
        return ["rate", at_ms * MS, sent, kbps(rate)]

    return [
        {
            "name": "steps up while the load is high",
            "origin": "by hand",
            "about": "20 Mbit/s at first. 500 kB in each 0.2 s are 20 Mbit/s, a load of 100 %; a "
            "delay of 100 ms is the baseline, so no delta: the full step to 1.04 once a "
            "measurement, however many answers come: 20800, 21632, and 22497 of 22497.28",
            "parameters": {},
            "events": [
                asked(1000, 0, 20_000),
                answered(1050, 100),
                asked(1200, 500_000, 20_000),
                answered(1250, 100),
                asked(1300, 750_000, 20_800),
                answered(1350, 100),
                asked(1400, 1_000_000, 20_800),
                answered(1450, 100),
                asked(1600, 1_500_000, 21_632),
                answered(1650, 100),
                asked(1700, 1_750_000, 22_497),
            ],
        },
        {
            "name": "a step down at the third long delay of six",
            "origin": "by hand",
            "about": "Delays of 190 ms move the baseline to 100090, 100179 and 100268 us: deltas "
            "of 89910, 89821 and 89732. A packet takes 605 us at 20 Mbit/s: they are above 30605. "
            "At the third the mean of six is 44910: 14305 of the 30000 up to the fastest fall, or "
            "476 thousandths. 0.990 - 0.476 * 0.240 = 0.87576 leaves 17515. No further step within "
            "0.3 s of it",
            "parameters": {},
            "events": [
                asked(1000, 0, 20_000),
                answered(1050, 190),
                answered(1100, 190),
                asked(1120, 0, 20_000),
                answered(1150, 190),
                asked(1160, 0, 17_515),
                answered(1200, 190),
                answered(1400, 190),
                asked(1440, 0, 17_515),
            ],
        },
        {
            "name": "back to the base rate without load",
            "origin": "by hand",
            "about": "The same fall to 17515; then nothing is sent. The three long delays stay "
            "among the last six until three more answers have come, and those come within 0.3 s of "
            "the step down. After that each second a hundredth: 17690 of 17690.15, and 17866 of "
            "17866.9. Delays of 100 ms bring the baseline back down at once",
            "parameters": {},
            "events": [
                asked(1000, 0, 20_000),
                *(answered(at, 190) for at in (1050, 1100, 1150)),
                *(answered(at, 100) for at in (1200, 1250, 1300, 1350, 1400, 1450)),
                asked(2000, 0, 17_515),
                answered(2151, 100),
                asked(2160, 0, 17_690),
                answered(3000, 100),
                asked(3010, 0, 17_690),
                answered(3152, 100),
                asked(3160, 0, 17_866),
            ],
        },
        {
            "name": "half of a round trip stands for a delay, and late answers do not count",
            "origin": "by hand",
            "about": "Round trips of 380 ms are delays of 190 ms, and the fall is the one above; "
            "answers after more than 500 ms change nothing",
            "parameters": {},
            "events": [
                asked(1000, 0, 20_000),
                *(
                    ["answered", 1, (at - 501) * MS, at * MS, None, 0]
                    for at in (1010, 1020, 1030, 1040)
                ),
                ["answered", 1, 670 * MS, 1050 * MS, None, 0],
                ["answered", 1, 720 * MS, 1100 * MS, None, 0],
                asked(1120, 0, 20_000),
                ["answered", 1, 770 * MS, 1150 * MS, None, 0],
                asked(1160, 0, 17_515),
            ],
        },
        {
            "name": "the least rate",
            "origin": "by hand",
            "about": "base 6 Mbit/s, least 5.5: the fall to 0.88 at the third delay ends there",
            "parameters": {"base": 6e6, "minimum": 5.5e6},
            "events": [
                asked(1000, 0, 6_000),
                *(answered(at, 190) for at in (1050, 1100, 1150)),
                asked(1160, 0, 5_500),
            ],
        },
    ]


def recorded(seed: int, minimum: int, base: int, maximum: int, seconds: int) -> dict[str, object]:
    """A line whose waits and loads come and go, as the rules above answer them."""
    random, shaper = Random(seed), Shaper(minimum, base, maximum)
    events: list[object] = []
    now, sent, wait_us, load = SECOND, 0, 0, 1.0
    events.append(["rate", now, sent, kbps(shaper.rate)])
    for turn in range(20 * seconds):
        now += 50 * MS
        if turn % 40 == 0:
            load = random.choice([0.02, 0.6, 0.9, 1.0])
            wait_us = random.choice([0, 5_000, 25_000, 50_000, 120_000, 300_000])
        sent += round(load * shaper.rate * 50 / 8)
        # The meter is read first: each 0.2 s, exactly.
        if turn % 4 == 3:
            bits = 8 * (sent - shaper_bytes(events))
            events.append(["rate", now, sent, kbps(shaper.rate)])
            shaper.measure(bits // 200)
        reflector = turn % 6
        delay_us = 8_000 + 3_000 * reflector + wait_us + random.randrange(4_000)
        received = now + 1_000 * random.randrange(100, 20_000)
        late = random.random() < 0.03
        trip_us = 501_000 if late else random.randrange(delay_us, 490_000)
        is_halved = turn % 3 == 0 and not late
        if is_halved:
            trip_us = min(2 * delay_us, 500_000)
        one_way = None if is_halved else 1_000 * delay_us
        events.append(["answered", reflector, received - 1_000 * trip_us, received, one_way, 0])
        if not late:
            shaper.answer(received // 1_000, reflector, trip_us // 2 if is_halved else delay_us)
    # Asked within 0.2 s of the last measurement, so that nothing is measured.
    events.append(["rate", now + 100 * MS, sent, kbps(shaper.rate)])
    return {
        "name": f"a line that varies, {seed}",
        "origin": "reference",
        "about": "six reflectors, waits of 0 to 300 ms and loads of 2 to 100 % in steps of 2 s",
        "parameters": {"minimum": 1e3 * minimum, "base": 1e3 * base, "maximum": 1e3 * maximum},
        "events": events,
    }


def shaper_bytes(events: list[object]) -> int:
    """The counter when it was read last."""
    return next(event[2] for event in reversed(events) if event[0] == "rate")


FILE = {
    "law": "autorate",
    "source": "lynxthecat/cake-autorate 94238be, its README and the comments of its defaults",
    "cases": [
        *by_hand(),
        recorded(1, 5_000, 20_000, 80_000, 40),
        recorded(2, 2_449, 14_709, 37_094, 40),
    ],
}
