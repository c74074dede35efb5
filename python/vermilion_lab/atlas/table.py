"""An atlas as a table, a row for each cell: CSV, which needs nothing, or Parquet."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, BinaryIO, TextIO

from vermilion.scenario import disciplines
from vermilion.simulate.extras import optional
from vermilion_lab.atlas.cell import DEFAULTS, TUNED
from vermilion_lab.atlas.price import PRICE

if TYPE_CHECKING:
    from vermilion_lab.atlas.build import Atlas


def rows(atlas: Atlas) -> list[dict[str, object]]:
    """The rows; what could not be computed is ``None``.

    ``rate_bit_per_s``, ``flows``, ``rtt_s``, ``ecn``, ``target_packets``; the tuned parameters by
    name; ``goal``, ``accepted``, ``own``, ``at_an_end``, ``objective``, ``objective_low``,
    ``objective_high``, ``constraints``; ``units`` of the tuned parameters, like
    "target: seconds; alpha: 1"; ``NUMBER (tuned)`` and ``NUMBER (defaults)`` for each of
    :data:`vermilion_lab.atlas.price.PRICE`; and for each rule ``times_worse (RULE)`` with ``_low``
    and ``_high``, and ``constraints (RULE)``.
    """
    names = atlas.compared()
    table = disciplines()[atlas.plan.discipline.partition(":")[0]].parameters
    units = "; ".join(f"{name}: {table[name].unit}" for name in atlas.parameters)
    found = []
    for cell in atlas.cells:
        tuned = cell.judged.get(TUNED)
        row: dict[str, object] = {
            "rate_bit_per_s": cell.condition.rate_bit_per_s,
            "flows": cell.condition.flows,
            "rtt_s": cell.condition.round_trip_s,
            "ecn": cell.condition.ecn,
            "target_packets": cell.target_packets,
            **{name: cell.setting.get(name) for name in atlas.parameters},
            "goal": atlas.plan.goal,
            "accepted": cell.accepted,
            "own": cell.own,
            "at_an_end": " ".join(cell.at_an_end),
            "objective": tuned and tuned.mean,
            "objective_low": tuned and tuned.low,
            "objective_high": tuned and tuned.high,
            "constraints": tuned and tuned.constraints,
            "units": units,
        }
        for name in (TUNED, DEFAULTS):
            judged = cell.judged.get(name)
            known = (judged and judged.price) or {}
            row.update({f"{key} ({name})": known.get(key) for key in PRICE})
        for name in names:
            judged = cell.judged.get(name)
            row[f"times_worse ({name})"] = judged and judged.times_worse
            row[f"times_worse_low ({name})"] = judged and judged.times_worse_low
            row[f"times_worse_high ({name})"] = judged and judged.times_worse_high
            row[f"constraints ({name})"] = judged and judged.constraints
        found.append(row)
    return found


def write_csv(file: TextIO, atlas: Atlas) -> None:
    """Writes the table as CSV; what could not be computed is left empty."""
    table = rows(atlas)
    writer = csv.DictWriter(file, list(table[0]), lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({key: "" if value is None else value for key, value in row.items()})


def write_parquet(file: BinaryIO, atlas: Atlas) -> None:
    """Writes the table as Parquet; what could not be computed is null.

    Raises:
        MissingPackageError: there is no pyarrow.
    """
    pa = optional("pyarrow", "Parquet files")
    parquet = optional("pyarrow.parquet", "Parquet files")
    table = pa.Table.from_pylist(rows(atlas))
    metadata = {"vermilion": atlas.version, "discipline": atlas.plan.discipline}
    parquet.write_table(table.replace_schema_metadata(metadata), file)
