"""Environments for learning: a queue's parameters, a sender's window, a shaper's rate.

They are Gymnasium's (``pip install gymnasium``), and registered there:

    >>> import gymnasium, vermilion.gym
    >>> env = gymnasium.make("vermilion/Shaper-v0")
    >>> observation, _ = env.reset(seed=1)

Each episode is a fork of a network that was warmed up once for its seed, so a reset takes
microseconds, and two policies with one seed meet the same network.
"""

from __future__ import annotations

from vermilion.gym.baselines import BASELINES, episode_return
from vermilion.gym.environments import NetworkEnv, QueueEnv, ShaperEnv, WindowEnv, register
from vermilion.gym.vector import ForkedVectorEnv

register()

__all__ = [
    "BASELINES",
    "ForkedVectorEnv",
    "NetworkEnv",
    "QueueEnv",
    "ShaperEnv",
    "WindowEnv",
    "episode_return",
]
