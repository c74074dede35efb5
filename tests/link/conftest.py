"""Tests of emulated links with real packets: ``make test-link``. Nothing of a link may be left."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from leaks import adopt_what_is_left, interfaces, network_namespaces, settled

adopt_what_is_left()
sys.path.insert(0, str(Path(__file__).parents[1] / "python"))


@pytest.fixture(autouse=True)
def _nothing_is_left():
    """After every test, whatever it did: no device, and no namespace that was not there."""
    before = network_namespaces()
    yield
    assert settled(interfaces, []) == []
    assert settled(lambda: network_namespaces() - before, set()) == set()
