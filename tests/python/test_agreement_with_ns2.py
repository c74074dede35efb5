"""Our outcomes agree with ns-2.35's: the larger of 5 % and three combined standard errors."""

import pytest

from ns2_reference import CASES, compare


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_and_drop_rate_are_those_of_ns2(case):
    differing = [comparison for comparison in compare(case) if not comparison.agrees]
    assert differing == []
