"""What all tests rest on."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from vermilion.online.drive import locks

# How long an example takes is the machine's business, and no test's.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples each time, so that a change fails for what it changed; evidence tries new ones.
settings.register_profile("every-day", max_examples=40, derandomize=True, **COMMON)
settings.register_profile("evidence", max_examples=500, **COMMON)


def pytest_configure(config):
    settings.load_profile("evidence" if is_evidence(config) else "every-day")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Properties are tried on few examples every day, and on many as evidence."""
    for item in items:
        if is_evidence(config) and getattr(item.obj, "is_hypothesis_test", False):
            item.add_marker("evidence")


def is_evidence(config):
    return config.option.markexpr == "evidence"


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Whoever starts the tests in the background may have Ctrl-C ignored, and what the tests start
    # would inherit that: then nothing that is interrupted would ever end.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests of several processes use one network, and the same names of queues in it.
locks.PREFIX = f"{locks.PREFIX}tests-{os.getpid()}-"


@pytest.fixture
def few_evaluations(monkeypatch):
    """A controller on the fixed clock that tries few settings per search."""
    from vermilion.online.drive.run import run_online

    monkeypatch.setitem(run_online.__kwdefaults__, "evaluations", 20)
