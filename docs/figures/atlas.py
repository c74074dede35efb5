"""Draws the atlas of docs/laboratory/atlas.md and writes the tables that it includes.

About two minutes of CPU time. With a folder, finished cells are kept there, and an
interrupted run goes on:

    .venv/bin/python docs/figures/atlas.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vermilion.report.drawing import style
from vermilion_lab.atlas import build_atlas, read_plan
from vermilion_lab.atlas.maps import maps_figure, rules_figure
from vermilion_lab.atlas.plan import read_plan_file
from vermilion_lab.atlas.summary import laws_table, rules_table, sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vermilion_lab.atlas import Atlas

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "benches"))

from provenance import made_by  # noqa: E402 - found by the path above


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table, its first row being the headings."""
    first, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([first, "|" + " --- |" * len(rows[0]), *rest]) + "\n"


def write(atlas: Atlas) -> None:
    """The figures and the tables."""
    for name, draw in (("maps", maps_figure), ("rules", rules_figure)):
        with style():
            draw(atlas).savefig(HERE / f"atlas_{name}.svg", metadata={"Date": None})
    made = f"\n{made_by('docs/figures/atlas.py')}\n"
    laws = markdown(laws_table(atlas)) + made
    (HERE / "atlas_laws.txt").write_text(laws, encoding="utf-8")
    rules = markdown(rules_table(atlas)) + "\n" + "; ".join(sentences(atlas)) + ".\n" + made
    (HERE / "atlas_rules.txt").write_text(rules, encoding="utf-8")


if __name__ == "__main__":
    keep = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    plan = read_plan(read_plan_file(str(HERE / "atlas.toml")))
    write(build_atlas(plan, keep=keep))
