"""Policies to beat, and the return of an episode."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from vermilion.gym.environments import NetworkEnv, QueueEnv, ShaperEnv, WindowEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Policy = Callable[[NDArray[np.float32], NetworkEnv], NDArray[np.float32]]


def keep(_observation: NDArray[np.float32], env: NetworkEnv) -> NDArray[np.float32]:
    """Leave everything as it is: the scenario's own setting."""
    if isinstance(env, QueueEnv):
        return np.array(env._state(), dtype=np.float32)  # noqa: SLF001 - the setting in force
    return np.zeros(env.action_space.shape, dtype=np.float32)


def aimd(_observation: NDArray[np.float32], env: NetworkEnv) -> NDArray[np.float32]:
    """Additive increase of a packet in a round trip, multiplicative decrease by half on loss."""
    if not isinstance(env, WindowEnv):
        return keep(_observation, env)
    if env.measured["loss"] > 0.0:
        return np.array([-1.0], dtype=np.float32)
    round_trip_s = max(env.measured["round_trip_ms"], 1.0) / 1e3
    grown = 1.0 + env.step_s / round_trip_s / env.window
    return np.array([math.log2(grown)], dtype=np.float32)


def hold_delay(_observation: NDArray[np.float32], env: NetworkEnv) -> NDArray[np.float32]:
    """Raise the window or the rate while packets wait less than half the scale, else lower it."""
    wanted = env.delay_scale_ms / 2
    error = (wanted - env.measured["line_delay_ms"]) / wanted
    gain = 0.1 if isinstance(env, ShaperEnv) else 0.05
    return np.array([min(1.0, max(-1.0, gain * error))], dtype=np.float32)


BASELINES: Final[Mapping[str, Mapping[str, Policy]]] = {
    "queue": {"keep": keep},
    "window": {"keep": keep, "aimd": aimd, "hold-delay": hold_delay},
    "shaper": {"keep": keep, "hold-delay": hold_delay},
}
"""Policies by environment and name."""


def episode_return(env: NetworkEnv, policy: Policy, seed: int) -> float:
    """Mean reward of a step, over an episode of the network of a seed."""
    observation, _ = env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        observation, reward, _, over, _ = env.step(policy(observation, env))
        total += reward
        steps += 1
    return total / steps
