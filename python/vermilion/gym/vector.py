"""Many forks of one network, stepped together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vermilion.gym.environments import NetworkEnv, gymnasium

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class ForkedVectorEnv(gymnasium.vector.VectorEnv):
    """Copies of an environment that share their warmed-up networks.

    With ``same`` all copies begin each episode in forks of one network: what differs comes of their
    actions alone, so that policies are compared without the noise of seeds. An episode that is over
    begins again with the next step (Gymnasium's ``NEXT_STEP``).

    Args:
        make: makes one environment.
        num_envs: how many.
        same: whether all meet the same network; otherwise each its own.
    """

    def __init__(
        self, make: Callable[[], NetworkEnv], num_envs: int, *, same: bool = False
    ) -> None:
        self.envs = [make() for _ in range(num_envs)]
        for env in self.envs[1:]:
            env.share_networks(self.envs[0])
        self.num_envs, self.same = num_envs, same
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self.metadata = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP}
        self._over = np.zeros(num_envs, dtype=bool)

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in all; a number stands for itself and those that follow it."""
        if isinstance(seed, int) or seed is None:
            first = int(self.np_random.integers(1, 2**31)) if seed is None and self.same else seed
            seeds = [
                None if first is None else first if self.same else first + number
                for number in range(self.num_envs)
            ]
        else:
            seeds = list(seed)
        self._over[:] = False
        found = [
            env.reset(seed=each, options=options)[0]
            for env, each in zip(self.envs, seeds, strict=True)
        ]
        return np.stack(found), {}

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[
        NDArray[np.float32],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Step all; one whose episode was over begins another, and its action is not used."""
        observations, rewards = [], np.zeros(self.num_envs)
        truncated = np.zeros(self.num_envs, dtype=bool)
        for number, env in enumerate(self.envs):
            if self._over[number]:
                observations.append(env.reset()[0])
                continue
            observation, rewards[number], _, truncated[number], _ = env.step(actions[number])
            observations.append(observation)
        self._over = truncated.copy()
        over = np.zeros(self.num_envs, dtype=bool)
        return np.stack(observations), rewards, over, truncated, {}
