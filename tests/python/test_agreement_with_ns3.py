"""Our outcomes agree with ns-3.37's: the larger of 5 % and three standard errors."""

import pytest

from ns3_reference import CASES, DEVIATIONS, compare
from reference_comparison import shown_otherwise, unexplained

pytestmark = pytest.mark.evidence


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_drops_and_marks_are_those_of_ns3(case):
    assert unexplained(compare(case), DEVIATIONS) == []


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=str)
def test_what_disagrees_with_ns3_is_as_far_off_as_explained(deviation):
    (row,) = [row for row in compare(deviation.where.case) if row.where == deviation.where]
    assert not row.agrees
    assert deviation.low < row.ratio < deviation.high


@pytest.mark.parametrize("case", CASES)
def test_the_page_shows_what_a_case_comes_to(case):
    differing = shown_otherwise("validation-ns3.md", compare(case))
    assert not differing, "python tests/python/reference_tables.py writes the page"
