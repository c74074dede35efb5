"""The reference has every public object, once."""

import importlib.util
from pathlib import Path

import vermilion

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs" / "_extensions" / "python_reference.py"
SPECIFICATION = importlib.util.spec_from_file_location("python_reference", PLACE)
python_reference = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(python_reference)


def test_every_public_object_stands_in_one_group():
    named = [name for names in python_reference.GROUPS.values() for name in names]
    assert sorted(named) == sorted(set(vermilion.__all__) - {"__version__"})


def test_every_object_says_what_it_is():
    for name in set(vermilion.__all__) - {"__version__"}:
        assert (getattr(vermilion, name).__doc__ or "").strip(), name


def test_every_object_gets_a_directive():
    text = python_reference._objects()
    assert ".. autofunction:: vermilion.run_online" in text
    assert ".. autoclass:: vermilion.Study" in text
    assert ".. autoexception:: vermilion.ScenarioError" in text
