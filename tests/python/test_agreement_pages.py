"""What docs/validation.md says of agreement is what its tables say, and these are of today."""

import re

import pytest

from reference_comparison import DOCS, differences
from reference_tables import mended_table

PAGE = " ".join((DOCS / "validation.md").read_text(encoding="utf-8").split())

CLAIMS = [
    (
        r"TcpNewReno at 64 flows without gentleness\*\*: (\S+) % more drops",
        "ns3",
        "S1 TcpNewReno SACK gentle=0 wait=1 | 25 .. 80 | drop rate",
    ),
    (
        r"So \+(\S+) % agrees only because",
        "ns3",
        "S1 TcpLinuxReno SACK gentle=0 wait=1 | 25 .. 80 | mean queue",
    ),
    (
        r"under gentle RED is \S+ instead of \+(\S+) %",
        "ns3",
        "S1 TcpNewReno SACK gentle=1 wait=1 | 25 .. 80 | drop rate",
    ),
    (
        r"mean queue \S+ instead of \+(\S+) %",
        "ns3",
        "S1 TcpLinuxReno SACK gentle=0 wait=1 | 25 .. 80 | mean queue",
    ),
    (
        r"\(L5d\): (\S+) % fewer drops",
        "linux",
        "L5d: 32 reno, ECN, p 0.25 | r0 | 10 .. 60 | drop rate",
    ),
    (
        r"TcpLinuxReno at 16 flows\*\*: (\S+) % more drops",
        "ns3",
        "S1 TcpLinuxReno SACK gentle=0 wait=1 | 5 .. 20 | drop rate",
    ),
]


def test_the_table_of_what_has_gone_is_of_today():
    page = (DOCS / "validation-mended.md").read_text(encoding="utf-8")
    table = "".join(line for line in page.splitlines(keepends=True) if line.startswith("|"))
    differing = differences(table, mended_table())
    assert not differing, "python tests/python/reference_tables.py writes the page"


@pytest.mark.parametrize(("claim", "short", "row"), CLAIMS, ids=[each[0] for each in CLAIMS])
def test_a_difference_that_the_page_names_is_the_tables(claim, short, row):
    [said] = re.findall(claim, PAGE)
    lines = (DOCS / f"validation-{short}.md").read_text(encoding="utf-8").splitlines()
    [found] = [line for line in lines if line.startswith(f"| {row} |")]
    [size] = re.findall(r"[+-]([\d.]+) %", found)
    decimals = len(said.partition(".")[2])
    assert said == f"{float(size):.{decimals}f}"
