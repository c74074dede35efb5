"""Every discipline has what its page of the documentation is made of."""

import re
import sys
from pathlib import Path

import pytest

from vermilion import parse_scenario
from vermilion.scenario import disciplines

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

from discipline_pages import example, head  # noqa: E402 - of the documentation's own extensions

LINK = """
title = "One link"
duration = "1 s"
[links.bottleneck]
rate = "10 Mbit/s"
delay = "1 ms"
{queue}
[flows.all]
path = ["bottleneck"]
rtt = "10 ms"
sender = "reno"
"""


@pytest.mark.parametrize("name", disciplines())
def test_the_example_of_its_page_is_accepted_and_is_what_holds_without_it(name):
    spelled_out = parse_scenario(LINK.format(queue="\n".join(example(disciplines()[name]))))
    short = parse_scenario(LINK.format(queue=f'[links.bottleneck.queue]\ndiscipline = "{name}"'))
    for parameter in disciplines()[name].parameters:
        path = f"links.bottleneck.queue.{parameter}"
        assert spelled_out.get(path) == pytest.approx(short.get(path))


@pytest.mark.parametrize("name", disciplines())
def test_the_comment_of_its_type_names_the_source_and_numbers_the_departures(name):
    text = "\n".join(head(name))
    assert "Source: " in text or "Sources: " in text
    assert re.search(r"^(Departures|Differences)\b.*\n(.*\n)*?1\. ", text, re.MULTILINE)
