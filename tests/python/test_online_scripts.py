"""Scripts of what happens to a controller, and what it does about it, as text.

A script is a file of ``tests/reference/online``. Its blocks are separated by empty lines; a block
is what happens, a rule of dashes, and everything the controller does, as it is printed here. With
``VERMILION_REWRITE=1`` in the environment the files are written anew: look at what has changed.

What happens, a line each (``#`` begins a comment; all that is said of the world stays):

- ``policy mode=propose changes_per_minute=2``: at the very beginning;
- ``switches ecn=1 weight=0.002``: parameters of the queue that stand at the beginning; likewise;
- ``until 12.3 flows=16 offset=5``: the router is observed ten times a second up to then;
- ``hand level=60``: somebody else changes the queue; ``reboot``: it starts anew;
- ``silent until 20``: the router does not answer;
- ``found unexplained``: no model explains what was seen;
- ``found level=30 [offset=0] [weight=0.5] [most_starved=1]``, ``found nothing``, ``fails REASON``:
  the last search; with ``alike`` after it the kinds of senders are not told apart; with ``or=5``
  it was for two kinds, and the other one has that offset; with ``mends=0.2`` it is worse, and there
  because in the model what stands breaks the policy's bound, which is 0.2 there;
- ``done``, ``refused REASON``, ``lost``, ``lost in force``, ``lost half``: the last change;
- ``command stop``, ``command accept``: a person; ``command accept 1`` is about another proposal
  than the last.
"""

import math
import os
from dataclasses import replace
from pathlib import Path

import pytest

from online_world import FIRST, POLICY, TICK_S, World, controller_of, finding
from vermilion.objectives import Constraint
from vermilion.online.decide.step import step
from vermilion.online.entries import Decision, SettingInForce
from vermilion.online.events import (
    Apply,
    Began,
    Cancel,
    Command,
    Done,
    End,
    Found,
    Lost,
    Propose,
    Record,
    Refused,
    Search,
    SearchFailed,
    Silent,
)
from vermilion.simulate import mean_interval

SCRIPTS = Path(__file__).parents[1] / "reference" / "online"
REWRITE = "VERMILION_REWRITE"
RULE = "----"


def words(parameters):
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in parameters.items()
    )


class Script:
    """One run of a script."""

    def __init__(self):
        self.world = World()
        self.now_s = 0.0
        self.printed = []
        self.controller = None
        self.policy = {}
        self.asked_back = False
        self.search = self.apply = self.proposal = None

    def line(self, text):
        """Let one line happen."""
        verb, *rest = text.split()
        told = dict(each.split("=", 1) for each in rest if "=" in each)
        match verb:
            case "policy":
                self.policy = {
                    name: int(value) if value.isdigit() else value for name, value in told.items()
                }
                if "bound" in self.policy:
                    bound = self.policy.pop("bound").replace("~", " ")
                    self.policy["bounds"] = (Constraint.parse(bound),)
                if "fall_back" in self.policy:
                    self.policy["fall_back"] = {"level": float(self.policy["fall_back"])}
                return
            case "switches":
                self.world.in_force.update(
                    (name, value == "1" if value in "01" else float(value))
                    for name, value in told.items()
                )
                return
        if self.controller is None:
            self.controller = controller_of(**self.policy)
            self.give(Began(dict(self.world.in_force)))
        getattr(self, f"_{verb}")(rest, {name: float(value) for name, value in told.items()})

    def _until(self, rest, told):
        for name, value in told.items():
            setattr(
                self.world, name, value if name in {"offset", "sd", "round_trip_s"} else int(value)
            )
        while self.now_s < float(rest[0]) - 1e-6:
            self.now_s = round(self.now_s + TICK_S, 6)
            asked, self.asked_back = self.asked_back, False
            self.give(self.world.observe(self.now_s, with_parameters=asked))

    def _silent(self, rest, _told):
        while self.now_s < float(rest[1]) - 1e-6:
            self.now_s = round(self.now_s + TICK_S, 6)
            self.world.observe(self.now_s)  # the network goes on
            self.give(Silent("no answer"))

    def _hand(self, _rest, told):
        self.world.in_force.update(told)

    def _reboot(self, _rest, _told):
        self.world.restart(FIRST)

    def _found(self, rest, told):
        number, task = self.search
        if rest == ["nothing"]:
            self.give(Found(number, finding(task), 1.0))
            return
        if rest == ["unexplained"]:
            found = finding(task, obstacle="this network is not explained by newreno senders")
            refuted = replace(found.explanation, explained=False)
            found = replace(found, explanation=refuted)
            self.give(Found(number, found, 1.0))
            return
        offset, most_starved = told.pop("offset", 0.0), told.pop("most_starved", None)
        another, mends = told.pop("or", None), told.pop("mends", None)
        setting = {name: task.in_force[name] for name in POLICY.parameters} | told
        sane = {name: value if math.isfinite(value) else 30.0 for name, value in setting.items()}
        found = finding(task, sane, offset=offset)
        answer = replace(found.answer, setting=setting, most_starved=most_starved)
        if mends is not None:
            bound = self.controller.policy.bounds[0].text
            verdict = replace(
                answer.verdict,
                apply=True,
                reason=f"the incumbent breaks {bound}",
                advantage=mean_interval([-1.0, -2.0]),
                details={"bound": bound, "bound_limit": mends},
            )
            answer = replace(answer, verdict=verdict)
        if another is not None:
            other = finding(task, sane, offset=another).answer.incumbent
            answer = replace(answer, models=2, alternatives=(answer.incumbent, other))
        found = replace(found, answer=answer)
        if "alike" in rest:
            explanation = replace(found.explanation, told_apart=False)
            found = replace(found, explanation=explanation)
        self.give(Found(number, found, 1.0))

    def _fails(self, rest, _told):
        self.give(SearchFailed(self.search[0], " ".join(rest)))

    def _done(self, _rest, _told):
        number, parameters = self.apply
        self.world.in_force.update(parameters)
        self.give(Done(number, dict(self.world.in_force)))

    def _refused(self, rest, _told):
        self.give(Refused(self.apply[0], " ".join(rest)))

    def _lost(self, rest, _told):
        number, parameters = self.apply
        arrives = {"in": len(parameters), "half": 1}.get(rest[0] if rest else "", 0)
        self.world.in_force.update(list(parameters.items())[:arrives])
        self.give(Lost(number, "no answer"))

    def _command(self, rest, _told):
        verb, *about = rest
        number = int(about[0]) if about else self.proposal
        self.give(Command(verb, number if verb in {"accept", "decline"} else None))

    def give(self, event):
        before = self.controller.state
        self.controller, effects = step(self.controller, event, self.now_s)
        for effect in effects:
            self._carry_out(effect)
        if type(self.controller.state) is not type(before):
            self.print(f"-> {type(self.controller.state).__name__}")

    def _carry_out(self, effect):
        match effect:
            case Record(Decision(kind=kind, reason=reason)):
                self.print(f"{kind}: {reason}")
            case Record(SettingInForce(parameters=parameters)):
                self.print(f"[in force] {words(parameters)}")
            case Apply(number, parameters):
                self.apply = number, parameters
                self.print(f"[apply {number}] {words(parameters)}")
            case Propose(number, parameters):
                self.proposal = number
                self.print(f"[propose {number}] {words(parameters)}")
            case Search(number, task):
                self.search = number, task
                self.print(f"[search {number}] {task.kind}")
            case Cancel(number):
                self.print(f"[cancel {number}]")
            case End():
                self.print("[end]")
            case Record():
                pass
            case _:
                self.asked_back = True

    def print(self, text):
        self.printed.append(f"{self.now_s:g} {text}")


def played(text, script):
    """The text with what the controller of a new script does now."""
    blocks = []
    for block in text.strip("\n").split("\n\n"):
        happens = block.split(f"\n{RULE}")[0].splitlines()
        script.printed = []
        for line in happens:
            if line.split("#")[0].strip():
                script.line(line.split("#")[0])
        if all(line.startswith("#") for line in happens):
            blocks.append("\n".join(happens))
        else:
            blocks.append("\n".join([*happens, RULE, *script.printed]))
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_script_is_played_as_it_is_written(path):
    written = path.read_text(encoding="utf-8")
    now = played(written, Script())
    if os.environ.get(REWRITE):
        path.write_text(now, encoding="utf-8")
    else:
        assert now == written, f"set {REWRITE}=1 to write {path.name} anew, and look at it"


def test_there_are_scripts():
    assert len(list(SCRIPTS.glob("*.txt"))) >= 10
