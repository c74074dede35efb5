"""Runs the notebooks in docs/notebooks from top to bottom and writes what they show into them.

``python docs/run_notebooks.py`` runs all, or those that are named. What a cell shows is what
Jupyter would show: what it prints, the value of its last line, and the figures that it leaves open.
No kernel is needed for that, and so none of Jupyter's packages.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parent / "notebooks"

DOTS_PER_INCH = 80


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its cells have now.

    Raises:
        Exception: whatever a cell raises.
    """
    import matplotlib as mpl

    mpl.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _outputs("".join(cell["source"]), names, count)
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), names)  # noqa: S102 - our own notebooks
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307 - ours
    outputs = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None and not source.rstrip().endswith(";"):
        data = _shown(value)
        result = {"data": data, "execution_count": count, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    outputs += [
        {"data": figure, "metadata": {}, "output_type": "display_data"} for figure in _figures()
    ]
    return outputs


def _shown(value: object) -> dict[str, Any]:
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    html = getattr(value, "_repr_html_", None)
    if callable(html):
        data["text/html"] = str(html()).splitlines(keepends=True)
    return data


def _figures() -> list[dict[str, Any]]:
    """The figures that are open, which are closed then."""
    from matplotlib import pyplot as plt

    shown = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        figure = plt.figure(number)
        figure.savefig(picture, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
        plain = f"<Figure of {len(figure.axes)} axes>"
        encoded = base64.b64encode(picture.getvalue()).decode()
        shown.append({"image/png": encoded, "text/plain": [plain]})
    plt.close("all")
    return shown


def main() -> None:
    """Runs the notebooks that are named, or all."""
    for path in [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(run_notebook(notebook), indent=1, ensure_ascii=False, sort_keys=True)
        path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
