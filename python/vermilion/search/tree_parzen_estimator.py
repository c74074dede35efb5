"""TPE: likely where good points were, unlikely where bad ones were.

The tree-structured Parzen estimator (J. Bergstra and others, "Algorithms for hyper-parameter
optimization", NIPS 2011), by the package Optuna, which ``pip install 'vermilion[optuna]'``
brings. It models the density of the better points told and that of the others, and proposes the
candidate where their ratio is largest. Here the densities are those of all parameters together.

The estimator proposes one point at a time. To keep more than one processor busy, ``at_once``
points are proposed on the same knowledge, those still without a value counting as bad ones so
that they do not cluster. What it finds depends on ``at_once``, and not on how many points are
asked for at a time.

State: all that was told. The study in memory is rebuilt from it; the random numbers of a batch
depend on the seed and the batch's number alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from vermilion.scenario.errors import ScenarioError
from vermilion.search.generations import Generations, Told, told_from_json, told_to_json
from vermilion.search.uniform_points import named_seed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

    from vermilion.search.uniform_points import Point

_STREAM: Final = "vermilion.search.tree-parzen-estimator.1"


class TreeParzenEstimator(Generations):
    """Optuna's tree-structured Parzen estimator.

    Args:
        dimensions: see :class:`Search`.
        seed: see :class:`Search`.
        start_points: see :class:`Search`.
        at_once: points proposed on the same knowledge.
        random_points: uniform ones before the first model, start points included.

    Raises:
        ScenarioError: Optuna is not installed.
    """

    name: ClassVar[str] = "tree-parzen-estimator"
    summary: ClassVar[str] = "models where good and bad points lie (TPE, with Optuna)"

    def __init__(
        self,
        dimensions: int,
        *,
        seed: int = 1,
        start_points: Iterable[Point] = (),
        at_once: int = 4,
        random_points: int = 10,
    ) -> None:
        super().__init__(dimensions, seed=seed, start_points=start_points)
        self._settings = {"at_once": at_once, "random_points": random_points}
        for setting, value in self._settings.items():
            if value < 1:
                message = f"{setting}: {value} is not accepted; expected at least 1"
                raise ValueError(message)
        self.at_once = at_once
        self.random_points = random_points
        self._history: list[Told] = []
        self._batch = 0
        self._running: list[Trial] = []
        self._axes = _axes(dimensions)
        self._study: Study | None = None

    def settings(self) -> dict[str, object]:
        """The constructor's further arguments, by name."""
        return dict(self._settings)

    def _size(self) -> int:
        return self.at_once

    def _learn_start(self, point: Point, value: float) -> None:
        self._history.append(Told(point, value))

    def _member(self, index: int) -> Point:
        study = self._up_to_date()
        if index == 0:
            from optuna.samplers import TPESampler

            study.sampler = TPESampler(
                n_startup_trials=self.random_points,
                multivariate=True,
                constant_liar=True,
                seed=named_seed(_STREAM, self.seed, self._batch),
            )
        trial = study.ask(self._axes)
        self._running.append(trial)
        return tuple(trial.params[axis] for axis in self._axes)

    def _close(self, told: Sequence[Told]) -> None:
        study = self._up_to_date()
        for trial, (_, value) in zip(self._running, told, strict=True):
            study.tell(trial, value)
        self._history.extend(told)
        self._batch += 1
        self._running = []

    def _up_to_date(self) -> Study:
        """The study that knows the history."""
        if self._study is None:
            from optuna.trial import create_trial

            self._study = _new_study()
            self._study.add_trials(
                [
                    create_trial(
                        params=dict(zip(self._axes, point, strict=True)),
                        distributions=self._axes,
                        value=value,
                    )
                    for point, value in self._history
                ]
            )
        return self._study

    def _generations_memory(self) -> dict[str, object]:
        return {"batch": self._batch, "history": told_to_json(self._history)}

    def _remember_generations(self, memory: Mapping[str, Any]) -> None:
        self._batch = memory["batch"]
        self._history = told_from_json(memory["history"])
        self._study = None
        self._running = []


def _axes(dimensions: int) -> dict[str, BaseDistribution]:
    """A distribution over [0, 1] for each coordinate, by name."""
    try:
        from optuna.distributions import FloatDistribution
    except ImportError as error:
        accepted = (
            f"another one, or the package it needs ({error}): pip install 'vermilion[optuna]'"
        )
        raise ScenarioError("search", TreeParzenEstimator.name, accepted) from None
    return {f"x{axis}": FloatDistribution(0.0, 1.0) for axis in range(dimensions)}


def _new_study() -> Study:
    from optuna import create_study
    from optuna.logging import WARNING, get_verbosity, set_verbosity

    # It would announce every study on the terminal.
    before = get_verbosity()
    set_verbosity(WARNING)
    try:
        return create_study()
    finally:
        set_verbosity(before)
