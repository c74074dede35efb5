"""The notebooks run from top to bottom and show what they show."""

from __future__ import annotations

import importlib.util
import json
import re
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def load(name):
    specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


run_notebooks = load("run_notebooks")
refresh_examples = load("refresh_examples")

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def texts(output: dict) -> dict[str, str]:
    """What an output says, by the form that it says it in; a picture says only that it is one."""
    forms = output.get("data", {"stream": output.get("text", "")})
    return {
        form: "" if form.startswith("image/") else "".join(lines) for form, lines in forms.items()
    }


def differences(old: dict, new: dict) -> list[str]:
    """What an output shows otherwise; numbers may differ as far as those of console examples."""
    shown, came = texts(old), texts(new)
    if (old["output_type"], sorted(shown)) != (new["output_type"], sorted(came)):
        return [f"shown: {sorted(shown)}\ncame:  {sorted(came)}"]
    return [
        line for form in shown for line in refresh_examples.differences(shown[form], came[form])
    ]


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == [
        "new_aqm",
        "new_congestion_control",
        "reproduce_a_figure",
    ]


@pytest.mark.evidence
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = run_notebooks.run_notebook(notebook)
    for old, new in zip(notebook["cells"], again["cells"], strict=True):
        if old["cell_type"] == "code":
            assert len(new["outputs"]) == len(old["outputs"])
            pairs = zip(old["outputs"], new["outputs"], strict=True)
            differing = [line for pair in pairs for line in differences(*pair)]
            assert not differing, f"python docs/run_notebooks.py {path} refreshes it"
    assert not [*tmp_path.iterdir()]


def test_a_number_of_an_output_may_differ_by_rounding_and_no_more():
    def printed(text):
        return {"output_type": "stream", "name": "stdout", "text": [text]}

    def valued(**data):
        return {"output_type": "execute_result", "data": data}

    assert not differences(printed("mean 12.3 ms"), printed("mean 12.4 ms"))
    assert differences(printed("mean 12.3 ms"), printed("mean 12.5 ms"))
    assert differences(valued(**{"text/html": "<td>16"}), valued(**{"text/html": "<td>17"}))
    assert differences(valued(**{"text/plain": "16"}), printed("16"))


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
