"""Phase effects are there where they must be, and go away where they should."""

from itertools import pairwise

from phase_effects import DROP_TAIL, FULL_AND_EQUAL, RED, SMALL_AND_VARIED, shares


def test_under_drop_tail_a_millisecond_decides_who_gets_the_link():
    # A tenth of a transmission time; Floyd and Jacobson see anything from nothing to everything.
    found = shares(DROP_TAIL)
    assert min(found) < 0.15
    assert max(found) > 0.8
    assert max(abs(there - here) for here, there in pairwise(found)) > 0.3


def test_the_shares_repeat_with_every_transmission_time():
    # 10 ms: the unfair places are 8 and 9 ms, 18 and 19 ms, ...
    found = shares(DROP_TAIL)
    for begin in (0, 10, 20, 30):
        assert min(found[begin : begin + 7]) > 0.4
        assert max(found[begin + 8], found[begin + 9]) < 0.25


def test_small_packets_of_random_sizes_between_make_shares_even():
    found = shares(DROP_TAIL, SMALL_AND_VARIED)
    assert min(found) > 0.38
    assert max(found) < 0.6


def test_packets_of_the_same_size_between_leave_the_phases_as_they_are():
    # They take as long as everybody else's, whenever they come.
    assert min(shares(DROP_TAIL, FULL_AND_EQUAL)) < 0.2


def test_red_makes_shares_even():
    found = shares(RED)
    assert min(found) > 0.4
    assert max(found) < 0.65
