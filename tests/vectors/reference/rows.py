"""Steps as rows: the compact form of recorded cases, described in the README."""

import json
from collections.abc import Iterable, Mapping, Sequence

NESTED = ("expected", "acknowledgement", "congestion")
ROWS_IN_A_LINE = 32


def as_rows(steps: Iterable[Mapping[str, object]]) -> tuple[list[list[str]], list[list[object]]]:
    """Return the kinds of steps (their keys), and of each step its kind and its values."""
    kinds: dict[tuple[str, ...], int] = {}
    rows: list[list[object]] = []
    for step in steps:
        flat: dict[str, object] = {}
        for key, value in step.items():
            if key in NESTED and isinstance(value, Mapping) and value:
                flat |= {f"{key}.{inner}": each for inner, each in value.items()}
            else:
                flat[key] = value
        rows.append([kinds.setdefault(tuple(flat), len(kinds)), *flat.values()])
    return [list(kind) for kind in kinds], rows


def row_lines(rows: Sequence[Sequence[object]]) -> str:
    """Return rows as JSON without the brackets around them, several in a line."""
    encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    texts = [encoder.encode(row) for row in rows]
    lines = (texts[at : at + ROWS_IN_A_LINE] for at in range(0, len(texts), ROWS_IN_A_LINE))
    return ",\n".join(",".join(line) for line in lines)
