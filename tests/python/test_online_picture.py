"""Pictures of traffic: round-trip classes and the distance between two mixtures."""

import pytest

from vermilion.online.sense.traffic_estimate import TrafficEstimate, round_trip_distance


def picture(base_rtts_ms, flows=None, rate=10e6):
    return TrafficEstimate(
        time_s=0.0,
        flows=len(base_rtts_ms) if flows is None else flows,
        base_rtts_s=tuple(sorted(ms / 1e3 for ms in base_rtts_ms)),
        rate_bit_per_s=rate,
        packet_bytes=1000.0,
        marked_share=None,
    )


def classes(of, queueing_s=0.0):
    return [(n, round(seconds * 1e3, 6)) for n, seconds in of.round_trip_classes(queueing_s)]


def test_equal_round_trips_form_one_class():
    assert classes(picture([28, 29, 27, 28])) == [(4, 28.0)]


def test_two_populations_form_two_classes():
    assert classes(picture([28] * 10 + [180] * 6)) == [(10, 28.0), (6, 180.0)]


def test_flows_without_a_sample_are_spread_in_proportion():
    assert classes(picture([28] * 5 + [180] * 5, flows=16)) == [(8, 28.0), (8, 180.0)]
    assert classes(picture([28] * 2 + [180], flows=4)) == [(3, 28.0), (1, 180.0)]


def test_a_wide_spread_is_cut_into_a_bounded_number_of_classes():
    found = picture(range(10, 1000, 10)).round_trip_classes()
    assert 5 <= len(found) <= 8
    assert sum(count for count, _ in found) == 99


def test_a_long_queueing_delay_makes_small_differences_unimportant():
    mixed = picture([10] * 4 + [15] * 4)
    assert len(mixed.round_trip_classes(queueing_s=0.0)) == 2
    assert len(mixed.round_trip_classes(queueing_s=0.1)) == 1


def test_nothing_known_gives_no_class():
    assert picture([], flows=5).round_trip_classes() == []
    assert picture([], flows=5).known_share == 0.0
    assert "unknown" in picture([], flows=5).describe()


def test_the_distance_of_equal_mixtures_is_zero_whatever_their_size():
    assert round_trip_distance(picture([28] * 16), picture([28] * 64), 0.024) == 0.0
    assert round_trip_distance(picture([]), picture([28]), 0.0) == 0.0


def test_the_distance_is_the_mean_shift_relative_to_the_whole_round_trip():
    # All flows 152 ms further away, measured against 28 ms + 24 ms of queueing.
    apart = round_trip_distance(picture([180] * 16), picture([28] * 16), 0.024)
    assert apart == pytest.approx(152 / 52)


def test_one_replaced_flow_of_sixteen_moves_the_mixture_by_a_sixteenth_of_the_shift():
    apart = round_trip_distance(picture([28] * 15 + [180]), picture([28] * 16), 0.024)
    assert apart == pytest.approx(152 / 52 / 16)


def test_a_picture_in_words_has_the_numbers_an_operator_looks_for():
    words = picture([28] * 10 + [180] * 6).describe()
    assert words == "16 flows, base round trips 10 x 28 ms + 6 x 180 ms, 10 Mbit/s"
