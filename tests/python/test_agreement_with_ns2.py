"""Our outcomes agree with ns-2.35's: the larger of 5 % and three standard errors; all of them."""

import pytest

from ns2_reference import CASES, compare
from reference_comparison import shown_otherwise, unexplained

pytestmark = pytest.mark.evidence


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_drops_and_marks_are_those_of_ns2(case):
    assert unexplained(compare(case), []) == []


@pytest.mark.parametrize("case", CASES)
def test_the_page_shows_what_a_case_comes_to(case):
    differing = shown_otherwise("validation-ns2.md", compare(case))
    assert not differing, "python tests/python/reference_tables.py writes the page"
