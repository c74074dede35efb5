"""Steps without a model: where none explains the network, and the operator allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vermilion.online.decide import entering
from vermilion.online.decide.states import RouterChange, Verifying
from vermilion.online.decide.verification import Expectation
from vermilion.online.entries import DecisionKind
from vermilion.online.plan.steps import Steps

if TYPE_CHECKING:
    from vermilion.online.decide.states import Watching
    from vermilion.online.decide.turn import Turn
    from vermilion.online.decide.verification import Verification
    from vermilion.online.plan.task import Finding

_MEASURED_S = 10.0  # how far back the setting in force is measured
_LEAST_S = 5.0
_ASK_AGAIN_S = 30.0


def begin(turn: Turn, finding: Finding) -> None:
    """No model explains the network: from now on there may be steps."""
    if turn.controller.steps is None and finding.space is not None:
        turn.change(steps=Steps(finding.space))


def step_on(turn: Turn, state: Watching) -> bool:
    """Try the next step, where one is due; whether the state has changed."""
    controller = turn.controller
    policy = controller.policy
    if (
        controller.steps is None
        or policy.mode != "control"
        or controller.paused_by_person
        or not controller.budget.allows(turn.now_s)
        or turn.now_s - state.since_s < _LEAST_S
        or not controller.senses.link_state.is_bottleneck
    ):
        return False
    told_s = max(controller.conditions_since_s, controller.senses.silent_s)
    before = turn.measured_since(max(state.since_s, told_s, turn.now_s - _MEASURED_S))
    measured = None if before is None else before.objective(policy.objective)
    traffic = turn.traffic(turn.picture)
    if before is None or measured is None or before.seconds < _LEAST_S or traffic is None:
        return False
    following = controller.steps.next_setting(controller.in_force)
    if following is None:
        turn.change(steps=None)
        turn.decide(
            DecisionKind.KEPT,
            "as far as can be measured, no setting near the one in force is better; the controller "
            "tries no further step without a model",
        )
        return False
    steps, setting = following
    turn.change(steps=steps)
    entering.watch_conditions(turn, turn.picture, traffic)
    mean = before.queue.mean
    verifying = Verifying(
        setting=setting,
        picture=turn.picture,
        expected=Expectation(measured.mean, measured.mean, mean, of_model=False),
        noise=0.0,
        previous=controller.in_force,
        before=before,
        schedule=entering.schedule_for(turn, turn.picture),
        learned_s=turn.now_s,
        is_step=True,
    )
    moved = controller.held.missed(setting, controller.in_force)
    reason = (
        "a step without a model, taken back unless it beats "
        f"{policy.objective.label} {measured.mean:.4g} {policy.objective.unit}".rstrip()
    )
    entering.make(
        turn,
        RouterChange("step", moved, reason, {"measured_before": measured.mean}, verifying),
        state,
    )
    return True


def judged(turn: Turn, verifying: Verifying, result: Verification) -> None:
    """A step stays if the network got better by it, and is taken back otherwise."""
    better = result.verdict == "better"
    told(turn, better=better)
    if better:
        turn.decide(DecisionKind.VERIFIED, result.reason, **result.details)
        turn.change(proven=turn.controller.in_force)
        entering.watch_without_model(turn, turn.now_s + _ASK_AGAIN_S)
        return
    entering.send(
        turn,
        RouterChange(
            "roll back",
            dict(verifying.previous),
            result.reason,
            result.details,
            ask_again_s=turn.now_s + _ASK_AGAIN_S,
        ),
    )


def told(turn: Turn, *, better: bool) -> None:
    """What has become of the step tried last."""
    steps = turn.controller.steps
    if steps is not None:
        turn.change(steps=steps.told(better=better))
