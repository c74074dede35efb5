"""Our outcomes agree with ns-2.35's: the larger of 5 % and three standard errors."""

import pytest

from ns2_reference import CASES, DEVIATIONS, compare
from reference_comparison import unexplained


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_drops_and_marks_are_those_of_ns2(case):
    assert unexplained(compare(case), DEVIATIONS) == []


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_what_disagrees_with_ns2_is_as_far_off_as_explained(deviation):
    (row,) = [row for row in compare(deviation.where.case) if row.where == deviation.where]
    assert not row.agrees
    assert deviation.low < row.ratio < deviation.high
