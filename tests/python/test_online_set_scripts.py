"""Scripts of what happens to a controller of two queues, and what it does about it, as text.

As in :mod:`test_online_scripts`, in files of ``tests/reference/online_sets``; the same machine is
played. What differs:

- ``switches far.weight=0.002``: of one queue;
- ``until 12.3 near.flows=16 far.offset=5 through=4 share=0.2``: of one queue, or of both;
- ``hand far.level=60``, ``reboot far``: of one queue;
- ``found near.level=30 far.level=20 value=0.3 before=0.5``: the variation that the model predicts;
- ``lost half``: the change has reached the first queue and not the second.
"""

import os
from pathlib import Path

import pytest

from online_set_world import POLICY, SetWorld, controller_of, finding
from online_world import FIRST
from test_online_scripts import REWRITE, Script, played
from vermilion.online.events import Began, Done, Found, Lost

SCRIPTS = Path(__file__).parents[1] / "reference" / "online_sets"


class SetScript(Script):
    """One run of a script."""

    def __init__(self):
        super().__init__()
        self.world = SetWorld()

    def line(self, text):
        verb, *rest = text.split()
        if verb == "policy":
            super().line(text)
            return
        if verb == "switches":
            self.world.put_in_force(
                {name: float(value) for name, value in (each.split("=") for each in rest)}
            )
            return
        if self.controller is None:
            self.controller = controller_of(**self.policy)
            self.give(Began(dict(self.world.in_force)))
        told = {name: float(value) for name, value in (e.split("=", 1) for e in rest if "=" in e)}
        getattr(self, f"_{verb}")(rest, told)

    def _until(self, rest, told):
        for name, value in told.items():
            link, _, what = name.rpartition(".")
            world = getattr(self.world, link) if link else self.world
            whole = what in {"flows", "through", "packets", "drops", "shut", "monitor"}
            setattr(world, what, int(value) if whole else value)
        super()._until(rest, {})

    def _hand(self, _rest, told):
        self.world.put_in_force(told)

    def _reboot(self, rest, _told):
        getattr(self.world, rest[0]).restart(FIRST)

    def _found(self, rest, told):
        number, task = self.search
        if rest == ["nothing"]:
            self.give(Found(number, finding(task), 1.0))
            return
        numbers = {name: told.pop(name) for name in ("value", "before") if name in told}
        setting = {name: task.in_force[name] for name in POLICY.parameters} | told
        self.give(Found(number, finding(task, setting, **numbers), 1.0))

    def _done(self, _rest, _told):
        number, parameters = self.apply
        self.world.put_in_force(parameters)
        self.give(Done(number, dict(self.world.in_force)))

    def _lost(self, rest, _told):
        number, parameters = self.apply
        if rest == ["half"]:
            arrived = {name: value for name, value in parameters.items() if name[:5] == "near."}
            self.world.put_in_force(arrived)
        self.give(Lost(number, "far: no answer"))


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_script_is_played_as_it_is_written(path):
    written = path.read_text(encoding="utf-8")
    now = played(written, SetScript())
    if os.environ.get(REWRITE):
        path.write_text(now, encoding="utf-8")
    else:
        assert now == written, f"set {REWRITE}=1 to write {path.name} anew, and look at it"


def test_there_are_scripts():
    assert len(list(SCRIPTS.glob("*.txt"))) >= 5
