"""Where disciplines bring a queue to rest by the design of their rule, whatever the load."""

from statistics import fmean

import pytest

from vermilion.simulate import run_many
from vermilion.simulate.sweeps import make_variants

SEEDS = range(1, 7)


def mean_queues(discipline, metric):
    """The mean queue (or the discipline's own) of 16 flows and of 64, in packets."""
    variants, _ = make_variants("varying-load", [discipline])
    [results] = run_many(variants, SEEDS).values()
    runs = [result.link("bottleneck").phases for result in results]
    return [fmean(phases[number][metric]["mean"] for phases in runs) for number in range(2)]


@pytest.mark.parametrize("target", [50, 60])
def test_lreds_queue_rests_at_its_target(target):
    # There p is the loss ratio, which is what p brings about.
    for queue in mean_queues(f"lred:target_queue={target} packets", "queue_packets"):
        assert queue == pytest.approx(target, rel=0.05)


def test_a_small_target_leaves_lred_somewhat_below_it():
    # As the module's head says: an empty queue takes little from p, and p keeps the queue empty
    # until nothing arrives any more.
    few, _ = mean_queues("lred:target_queue=20 packets", "queue_packets")
    assert 15 < few < 19


def test_without_a_target_lred_rests_at_half_of_the_buffer():
    for queue in mean_queues("lred", "queue_packets"):
        assert queue == pytest.approx(50, rel=0.05)


def test_pd_red_keeps_its_average_nearer_to_mid_range_than_the_red_it_moves():
    # Thresholds of 15 and 45 packets: the target is 30.
    red = mean_queues("ns2-red", "average_queue_packets")
    controlled = mean_queues("pd-red", "average_queue_packets")
    for before, after in zip(red, controlled, strict=True):
        assert abs(after - 30) < 0.75 * abs(before - 30)
