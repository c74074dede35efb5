"""Columns of recorded series: names, units and meanings, and their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vermilion.simulate.extras import optional

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: its key; it ends in the unit where it has one.
        unit: in words; "" for texts, "1" for numbers without one.
        meaning: in one line.
        names: what its numbers stand for, if they are names.
    """

    name: str
    unit: str
    meaning: str
    names: str = ""


def joined(batches: Sequence[Arrays], names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Batches of columns one after the other."""
    import numpy as np

    return {
        name: np.concatenate([batch[name] for batch in batches]) if batches else np.empty(0)
        for name in names
    }


def data_frame(columns: Arrays, names: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Convert columns to a pandas data frame; named values become categories.

    Raises:
        MissingPackageError: there is no pandas.
    """
    pandas = optional("pandas", "data frames")
    frame: dict[str, Any] = {}
    for name, values in columns.items():
        if name in names:
            frame[name] = pandas.Categorical.from_codes(values.astype("int32"), list(names[name]))
        else:
            frame[name] = values
    made: pd.DataFrame = pandas.DataFrame(frame)
    return made


def arrow_table(
    columns: Arrays,
    described: Sequence[Column],
    names: Mapping[str, Sequence[str]],
    metadata: Mapping[str, str],
) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Columns as an Arrow table with their units and meanings; NaN is null.

    Raises:
        MissingPackageError: there is no pyarrow.
    """
    pa = optional("pyarrow", "Arrow tables")
    fields, arrays = [], []
    for column in described:
        values = columns[column.name]
        if column.name in names:
            array = pa.DictionaryArray.from_arrays(
                pa.array(values.astype("int32")), pa.array(list(names[column.name]))
            )
        else:
            array = pa.array(values, from_pandas=True)
        arrays.append(array)
        words = {"unit": column.unit, "meaning": column.meaning}
        fields.append(pa.field(column.name, array.type, metadata=words))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=dict(metadata)))
