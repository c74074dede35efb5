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
