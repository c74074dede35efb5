"""What docs/validation-kernel.md says of the simulator beside the kernel is what it does today."""

import re

from reference_comparison import differences
from test_house_documentation import ROOT, load

validation_kernel = load(ROOT / "docs" / "figures" / "validation_kernel.py")


def tables(page):
    return "".join(line for line in page.splitlines(keepends=True) if line.startswith("|"))


def counted(page):
    return re.findall(r"\d+ of \d+", page)[:1]


def test_the_tables_beside_the_kernel_are_of_today():
    page = validation_kernel.PAGE.read_text(encoding="utf-8")
    drawn = validation_kernel.page(validation_kernel.load())
    assert counted(page) == counted(drawn)
    assert not differences(tables(page), tables(drawn)), validation_kernel.SCRIPT
