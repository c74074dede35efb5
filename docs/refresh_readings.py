"""Measures what disciplines do whose sources leave a question, for the tables on their page.

    .venv/bin/python docs/refresh_readings.py            # all, a minute
    .venv/bin/python docs/refresh_readings.py vred       # or red-light, dualpi2

The page is docs/laboratory/disciplines-readings.md; each table stands between two comments that
name it, with the commit that it was measured at.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from readings_dualpi2 import dualpi2_tables
from readings_red_light import red_light_tables
from readings_vred import vred_tables

sys.path.insert(0, str(Path(__file__).parents[1] / "benches"))
from provenance import made_by

PAGE = Path(__file__).parent / "laboratory" / "disciplines-readings.md"
TABLES = {"vred": vred_tables, "red-light": red_light_tables, "dualpi2": dualpi2_tables}


def put(page: str, name: str, table: str) -> str:
    """The page with a table in its place."""
    place = re.compile(rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    changed, found = place.subn(lambda match: match[1] + table + "\n" + match[2], page)
    if found != 1:
        message = f"{PAGE.name} has {found} places for the table {name}"
        raise SystemExit(message)
    return changed


def main() -> None:
    """Refreshes the tables of the disciplines asked for, or all."""
    for discipline in sys.argv[1:] or TABLES:
        for name, table in TABLES[discipline]().items():
            text = f"{table}\n\n{made_by('docs/refresh_readings.py')}"
            PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")


if __name__ == "__main__":
    main()
