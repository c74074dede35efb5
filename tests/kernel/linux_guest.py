"""Steps that tests do in a real Linux kernel (:mod:`vermilion_lab.kernel_plant.guest`).

What runs in it is ``linux_guest_program.py``: it does one step after another and says what came of
each.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vermilion_lab.kernel_plant.errors import GuestError, KernelPlantError
from vermilion_lab.kernel_plant.find_kernel import find_kernel
from vermilion_lab.kernel_plant.guest import Guest

HERE = Path(__file__).parent
PROGRAM = HERE / "linux_guest_program.py"
HELPERS = HERE.parent / "python"
TIME_OUT_S = 240  # a guest among others on a busy machine takes a minute


def kernel_or_skip():
    """Skips where there is no kernel, saying so."""
    try:
        find_kernel()
    except KernelPlantError as error:
        pytest.skip(f"no kernel to test against: {error}")


class GuestInRealTime(Guest):
    """The guest without time travel: in virtual time nothing is ever killed half-way."""

    def _command(self, kernel, *, stepped):
        words = super()._command(kernel, stepped=stepped)
        return [each for each in words if not each.startswith("time-travel")]


def run_in_guest(steps, *, kind=Guest, longest_s=TIME_OUT_S):
    """Boots the kernel, does the steps in it, and returns what came of each.

    A step is a list: a verb of ``linux_guest_program.py`` and its arguments.
    """
    kernel_or_skip()
    path = [str(HERE), str(HELPERS)]
    with kind(program=PROGRAM, path=path, stepped=False, begin=False) as guest:
        (guest.job / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
        guest.begin()
        try:
            guest.wait(longest_s)
        except GuestError as error:
            step = guest.job / "step"
            doing = step.read_text(encoding="utf-8") if step.exists() else "the beginning"
            pytest.fail(f"in the step {doing}: {error}")
        outcome = guest.job / "outcomes.json"
        assert outcome.exists(), f"the guest has not come to its end:\n{guest.log()[-3000:]}"
        return json.loads(outcome.read_text(encoding="utf-8"))
