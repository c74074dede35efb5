"""Writes the tables of comparison that docs/validation.md includes, for all references.

``python tests/python/reference_tables.py`` takes half a minute; tables are sorted, worst first.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import linux_reference
import ns2_reference
import ns3_reference
from reference_comparison import Comparison, Deviation, summary, table

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = Path(__file__).parents[2] / "docs"


def comparisons() -> dict[str, list[Comparison]]:
    """Everything that is compared, under the names of those it is compared with."""
    modules = {"ns-2.35": ns2_reference, "ns-3.37": ns3_reference, "Linux 6.12": linux_reference}
    return {
        name: [row for case in module.CASES for row in module.compare(case)]
        for name, module in modules.items()
    }


def explanations(deviations: Iterable[Deviation]) -> str:
    """The list of disagreements: each cause once, with what it is the cause of."""
    causes: dict[str, list[str]] = {}
    for deviation in deviations:
        causes.setdefault(deviation.why, []).append(str(deviation))
    return "\n".join(f"- **{'; '.join(where)}**: {why}." for why, where in causes.items())


def write() -> None:
    """Writes docs/validation-*.md."""
    lists = {
        "ns2": ns2_reference.DEVIATIONS,
        "ns3": ns3_reference.DEVIATIONS,
        "linux": linux_reference.DEVIATIONS,
    }
    found = comparisons()
    for (short, deviations), (name, rows) in zip(lists.items(), found.items(), strict=True):
        parts = [
            f"{summary(rows)} What does not:" if deviations else summary(rows),
            *([explanations(deviations)] if deviations else []),
            table(rows, name, with_link=short == "linux"),
        ]
        (DOCS / f"validation-{short}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
