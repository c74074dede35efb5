"""The notebooks run from top to bottom and show what they show."""

from __future__ import annotations

import importlib.util
import json
import re
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SPECIFICATION = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
run_notebooks = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(run_notebooks)

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def shape(output: dict) -> tuple:
    """What kind of output it is, and its text without numbers, which machines may differ in."""
    data = output.get("data", {})
    text = "".join(output.get("text") or data.get("text/plain", []))
    words = re.sub(r"-?\d[\d,.]*(e[-+]?\d+)?", "#", text)
    return output["output_type"], sorted(data), words.split()


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == [
        "new_aqm",
        "new_congestion_control",
        "reproduce_a_figure",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = run_notebooks.run_notebook(notebook)
    for old, new in zip(notebook["cells"], again["cells"], strict=True):
        if old["cell_type"] == "code":
            assert [*map(shape, new["outputs"])] == [*map(shape, old["outputs"])], (
                f"python docs/run_notebooks.py {path.name} refreshes it"
            )
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_opens(path):
    """The rules of its format, version 4.5, that a notebook written by hand can break."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    for cell in notebook["cells"]:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | code
        for output in cell.get("outputs", ()):
            assert output["output_type"] in {"stream", "execute_result", "display_data"}


def test_a_cell_that_fails_fails_the_run():
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": ["1 / 0"]}
    with pytest.raises(ZeroDivisionError):
        run_notebooks.run_notebook({"cells": [cell]})
