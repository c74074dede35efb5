"""Our CAKE agrees with the Linux kernel's: the larger of 5 % and three standard errors.

The kernel's outcomes are in a file outside of the repository, which VERMILION_CAKE_REFERENCE names.
"""

import pytest

from cake_reference import CASES, DEVIATIONS, compare
from reference_comparison import unexplained

pytestmark = [
    pytest.mark.evidence,
    pytest.mark.skipif(not CASES, reason="VERMILION_CAKE_REFERENCE names no file"),
]


@pytest.mark.parametrize("case", CASES)
def test_goodput_backlog_drops_marks_and_calls_are_those_of_linux(case):
    listed = [each for each in DEVIATIONS if each.where.case == case]
    assert unexplained(compare(case), listed) == []
    ratios = {row.where: row.ratio for row in compare(case)}
    assert all(each.low <= ratios[each.where] <= each.high for each in listed)
