"""Tables of the validation pages are what the simulator gives today."""

import pytest

from reference_comparison import DOCS, differences
from reference_tables import mended_table
from test_documentation import ROOT, load

pytestmark = pytest.mark.evidence
validation_kernel = load(ROOT / "docs" / "figures" / "validation_kernel.py")


def tables(page):
    return "".join(line for line in page.splitlines(keepends=True) if line.startswith("|"))


def test_the_table_of_mended_differences_is_of_today():
    page = (DOCS / "laboratory" / "validation-mended.md").read_text(encoding="utf-8")
    differing = differences(tables(page), mended_table())
    assert not differing, "python tests/python/reference_tables.py writes the page"


def test_the_tables_beside_the_kernel_are_of_today():
    page = validation_kernel.PAGE.read_text(encoding="utf-8")
    drawn = validation_kernel.page(validation_kernel.load())
    assert not differences(tables(page), tables(drawn)), validation_kernel.SCRIPT
