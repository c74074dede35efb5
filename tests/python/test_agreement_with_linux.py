"""Our outcomes agree with the Linux kernel's: the larger of 5 % and three standard errors."""

import pytest

from linux_reference import CASES, DEVIATIONS, compare
from reference_comparison import unexplained


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_drops_and_marks_are_those_of_linux(case):
    assert unexplained(compare(case), DEVIATIONS) == []
