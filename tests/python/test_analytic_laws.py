"""Laws of congestion control that hold whatever the simulator: windows, losses, stability, buffers.

What needs no TCP (waiting, conservation, toy queues) is checked in ``crates/netsim/tests``.
"""

import math
from statistics import fmean

import numpy as np
import pytest

import vermilion

SEEDS = range(1, 6)
PACKET_BITS = 8000


def measure(text, seeds=SEEDS):
    """The link's windows and the flows' goodput in packets per second, for each seed."""
    (results,) = vermilion.run_many([vermilion.parse_scenario(text)], seeds)
    windows = [result.link("link").total for result in results]
    goodputs = [
        result.flows("flow").total["goodput_bit_per_s"]["total"] / PACKET_BITS for result in results
    ]
    return windows, goodputs


def over_a_lossy_link(sender, loss, options=""):
    """Packets per second of a flow that random loss limits; round trip 100 ms."""
    return fmean(
        measure(f"""
            duration = "1000 s"
            warm_up = "20 s"
            [links.link]
            rate = "1 Gbit/s"
            delay = "50 ms"
            queue = {{ discipline = "drop-tail", limit = "10000 packets" }}
            loss = {{ model = "bernoulli", probability = {loss} }}
            [flows.flow]
            path = ["link"]
            rtt = "100 ms"
            sender = {{ congestion_control = "{sender}"{options} }}
        """)[1]
    )


@pytest.mark.parametrize(("loss", "law"), [(0.001, 387.3), (0.005, 173.2), (0.01, 122.5)])
def test_with_selective_acknowledgements_the_square_root_law_holds_and_reno_is_slower(loss, law):
    # Mathis et al. 1997: (1 / R) sqrt(3 / (2 p)). Reno loses time where a window has two losses.
    reno, sack = (over_a_lossy_link(sender, loss) for sender in ("reno", "sack"))
    assert sack == pytest.approx(law, rel=0.06)
    assert reno < sack


@pytest.mark.parametrize(
    ("loss", "packets_per_s"),
    [(0.001, 269.1), (0.005, 115.2), (0.01, 77.8), (0.02, 50.9), (0.05, 26.7), (0.1, 15.2)],
)
def test_with_delayed_acknowledgements_reno_follows_padhye(loss, packets_per_s):
    # The full formula with two packets for each acknowledgement and timeouts of 0.4 s.
    options = ', delayed_acknowledgements = true, minimum_timeout = "0.4 s"'
    assert over_a_lossy_link("reno", loss, options) == pytest.approx(packets_per_s, rel=0.25)


# --- many flows over RED -----------------------------------------------------------------

RATE, ROUND_TRIP = 3750, 0.2  # packets per second; seconds


def through_red(count, *, weight, max_probability, low=150, high=700, duration_s=120, warm_up_s=60):
    """Windows of a link where RED serves ``count`` SACK flows."""
    return measure(f"""
        duration = "{duration_s} s"
        warm_up = "{warm_up_s} s"
        [links.link]
        rate = "{RATE * PACKET_BITS} bit/s"
        delay = "10 ms"
        [links.link.queue]
        discipline = "red"
        limit = "3000 packets"
        min_threshold = "{low} packets"
        max_threshold = "{high} packets"
        max_probability = {max_probability}
        weight = {weight}
        [flows.flow]
        count = {count}
        path = ["link"]
        rtt = "{ROUND_TRIP} s"
        sender = "sack"
        start = "0 s .. 5 s"
    """)[0]


def mean_of(windows, metric, statistic="mean"):
    return fmean(window[metric][statistic] for window in windows)


def losses_in_windows(count):
    """Loss times the square of the window, the queue being steady: a flat RED, a quick average."""
    windows = through_red(count, weight=0.002, max_probability=0.05, low=100, high=2000)
    assert fmean(each["utilization"] for each in windows) > 0.999
    # Each flow's window is its part of what the path and the queue hold.
    window = (RATE * ROUND_TRIP + mean_of(windows, "queue_packets")) / count
    return fmean(each["drop_rate"] for each in windows) * window**2


@pytest.mark.parametrize("count", [30, 40, 60, 90])
def test_n_equal_flows_that_fill_a_link_lose_one_and_a_half_over_the_window_squared(count):
    # Feng et al. 1999: p = 1.5 N^2 / (C R + q)^2.
    assert losses_in_windows(count) == pytest.approx(1.5, rel=0.15)


def fluid(count, propagation, *, weight, slope, low, duration_s, step=0.005):
    """Misra, Gong and Towsley's equations by Euler's method: window, queue and probability.

    The window's equation has its own past in it, a round trip ago; the time series is that past.
    """
    steps = int(duration_s / step)
    windows, queues, averages = (np.empty(steps) for _ in range(3))
    window, queue, average = 1.0, 0.0, 0.0
    for index in range(steps):
        windows[index], queues[index], averages[index] = window, queue, average
        trip = propagation + queue / RATE
        before = max(0, index - round(trip / step))
        past = propagation + queues[before] / RATE
        probability = min(1.0, max(0.0, slope * (averages[before] - low)))
        growth = 1 / trip - window * windows[before] / (2 * past) * probability
        queue_growth = count * window / trip - RATE
        average += step * math.log(1 - weight) * RATE * (average - queue)
        window = max(1.0, window + step * growth)
        queue = max(0.0, queue + step * queue_growth)
    return window, queue, slope * (average - low)


def test_the_fluid_model_rests_where_its_equations_say():
    # C = 3750, N = 60: R0 = 0.246 s has W0 = 15.375 and p0 = 2 / W0^2 = 0.00846.
    trip, count = 0.246, 60
    assert trip * RATE / count == pytest.approx(15.375)
    probability = 2 / 15.375**2
    assert probability == pytest.approx(0.00846, abs=5e-6)
    queue = RATE * (trip - ROUND_TRIP)
    low = queue - probability / (0.1 / 550)
    found = fluid(count, ROUND_TRIP, weight=1.33e-6, slope=0.1 / 550, low=low, duration_s=1500)
    assert found == pytest.approx((15.375, queue, probability), rel=0.02)


def test_packets_lose_less_than_the_fluid_at_the_same_window():
    # A window that a loss halves at most once in a round trip: 1.5 / W^2. The fluid: 2 / W^2.
    assert losses_in_windows(40) < 1.75


def test_reds_average_approaches_a_constant_queue_by_its_weight_at_each_arrival():
    # The link stands still: 50 packets wait, and 100 more a second find them. After n arrivals
    # (1 - w)^n of the distance is left.
    scenario = vermilion.parse_scenario("""
        duration = "22 s"
        [links.link]
        rate_schedule = [["0 s", "8 Mbit/s"], ["1 s", "0 bit/s"]]
        delay = "10 ms"
        [links.link.queue]
        discipline = "red"
        limit = "50 packets"
        min_threshold = "100 packets"
        max_threshold = "200 packets"
        weight = 0.002
        [flows.flow]
        path = ["link"]
        rtt = "100 ms"
        traffic = { kind = "constant-rate", rate = "800 kbit/s" }
        start = "1.003 s"
    """)
    series = vermilion.run(scenario, probe_interval_s=1.0).series("link")
    early, late = (
        50 - series["average_queue_packets"][list(series["time_s"]).index(time)]
        for time in (5.0, 20.0)
    )
    assert late / early == pytest.approx((1 - 0.002) ** 1500, rel=1e-6)


# --- stability of RED ----------------------------------------------------------------------


def hollot(count, round_trip, *, weight, max_probability, low=150, high=700):
    """Both sides of the condition under which RED is stable (Hollot et al. 2001, proposition 1)."""
    steepness = max_probability / (high - low)
    crossover = 0.1 * min(2 * count / (round_trip**2 * RATE), 1 / round_trip)
    averaging = -math.log(1 - weight) * RATE
    left = steepness * (round_trip * RATE) ** 3 / (2 * count) ** 2
    return left, math.sqrt(crossover**2 / averaging**2 + 1)


def test_hollots_example_is_stable_and_twice_the_probability_is_not_known_to_be():
    left, right = hollot(60, 0.246, weight=1.33e-6, max_probability=0.1)
    assert (left, right) == (pytest.approx(9.91, abs=0.01), pytest.approx(10.65, abs=0.01))
    left, right = hollot(60, 0.246, weight=1.33e-6, max_probability=0.2)
    assert left > right


@pytest.mark.evidence
def test_a_queue_within_hollots_condition_is_steady_and_one_far_outside_it_swings():
    # The condition is sufficient, not necessary: only a setting far outside it must oscillate.
    steady = {"weight": 1.33e-6, "max_probability": 0.1}
    swinging = {"weight": 2e-5, "max_probability": 1.0}
    left, right = hollot(60, 0.246, **steady)
    assert left < right
    left, right = hollot(60, 0.246, **swinging)
    assert left > 50 * right
    calm, wild = (
        through_red(60, **setting, duration_s=1600, warm_up_s=1200)
        for setting in (steady, swinging)
    )

    def swing(windows):
        return mean_of(windows, "queue_packets", "sd") / mean_of(windows, "queue_packets")

    assert swing(calm) < 0.35
    assert swing(wild) > 2 * swing(calm)


# --- buffers -------------------------------------------------------------------------------


def utilisation(count, buffer, *, pipe, seeds=SEEDS):
    """How much NewReno flows use of a drop-tail link, their round trips around 100 ms."""
    trip = '"100 ms"' if count == 1 else '"60 ms .. 140 ms"'
    windows, _ = measure(
        f"""
        duration = "400 s"
        warm_up = "100 s"
        [links.link]
        rate = "{pipe * 10 * PACKET_BITS} bit/s"
        delay = "10 ms"
        queue = {{ discipline = "drop-tail", limit = "{buffer} packets" }}
        [flows.flow]
        count = {count}
        path = ["link"]
        rtt = {trip}
        sender = "newreno"
        start = "0 s .. 10 s"
        """,
        seeds,
    )
    return fmean(window["utilization"] for window in windows)


def sawtooth(part):
    """Utilisation of a window between half and all of pipe and buffer, ``part`` of the pipe."""
    below = (1 - part) / 2  # round trips below the pipe, in units of the pipe
    above = part * (1 + part / 2)  # packets sent while the link is full
    return (below * (3 + part) / 4 + above) / (below + above)


@pytest.mark.parametrize(("part", "expected"), [(0.25, 0.893), (0.5, 0.964), (1.0, 1.0)])
def test_one_flow_with_less_buffer_than_its_pipe_uses_what_the_sawtooth_leaves(part, expected):
    assert sawtooth(part) == pytest.approx(expected, abs=0.001)
    pipe = 200
    assert utilisation(1, round(part * pipe), pipe=pipe, seeds=[1]) == pytest.approx(
        expected, abs=0.02
    )


def test_many_flows_need_a_buffer_of_one_pipe_over_the_square_root_of_their_number():
    # Appenzeller, Keslassy and McKeown 2004, for flows that do not move in step.
    pipe, count = 2000, 100
    many, one = (utilisation(each, pipe // 10, pipe=pipe, seeds=[1]) for each in (count, 1))
    assert many > 0.96
    assert one < 0.9
