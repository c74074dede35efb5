"""Our outcomes agree with the Linux kernel's: the larger of 5 % and three standard errors."""

import pytest

from linux_reference import CASES, DEVIATIONS, compare
from reference_comparison import shown_otherwise, unexplained

pytestmark = pytest.mark.evidence


@pytest.mark.parametrize("case", CASES)
def test_utilisation_queue_drops_and_marks_are_those_of_linux(case):
    assert unexplained(compare(case), DEVIATIONS) == []


@pytest.mark.parametrize("case", CASES)
def test_the_page_shows_what_a_case_comes_to(case):
    differing = shown_otherwise("validation-linux.md", compare(case), with_link=True)
    assert not differing, "python tests/python/reference_tables.py writes the page"
