"""The environments; one step is 10 ms of a network unless it is told otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from vermilion.scenario import parse_scenario
from vermilion.scenario.errors import ScenarioError
from vermilion.scenario.own_congestion_control import (
    CongestionControl,
    register_congestion_control,
)
from vermilion.scenario.wire import nominal_rate
from vermilion.simulate.accepted import given_scenario
from vermilion.simulate.extras import optional
from vermilion.simulate.kept import Simulation

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from vermilion._core import Acknowledgement, Reduction, Window
    from vermilion.scenario import Parameter, Scenario

    Array = NDArray[np.float32]

gymnasium: Any = optional("gymnasium", "vermilion.gym", "gym")

_MOST_KEPT: Final = 64
_BELOW: Final = 0.95
"""Value of a parameter that has to be below another and is not, as a part of that one."""

_WORST_DELAY: Final = 3.0


class NetworkEnv(gymnasium.Env):
    """A network whose episodes are forks of warmed-up ones.

    The reward of a step is goodput / rate - ``delay_weight`` x min(delay / ``delay_scale_ms``, 3) -
    ``loss_weight`` x the share of packets dropped. Nothing ends an episode but its length.

    Args:
        scenario: of the network, or its name or path; by default the environment's own.
        step_s: seconds of a step.
        episode_s: seconds of an episode, after the warm-up.
        warm_up_s: seconds before it, which are simulated once for each seed.
        networks: so many seeds take part in episodes that :meth:`reset` is given no seed for.
        delay_weight: of the delay in the reward.
        delay_scale_ms: delay that costs that much.
        loss_weight: of losses.

    Attributes:
        measured: what the last step has measured, by name.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}
    default: ClassVar[str]
    links: ClassVar[tuple[str, ...]] = ("line",)

    def __init__(
        self,
        scenario: Scenario | str | Path | None = None,
        *,
        step_s: float = 0.01,
        episode_s: float = 10.0,
        warm_up_s: float = 2.0,
        networks: int = 16,
        delay_weight: float = 0.5,
        delay_scale_ms: float = 20.0,
        loss_weight: float = 1.0,
    ) -> None:
        if scenario is None:
            text = (resources.files("vermilion.gym") / self.default).read_text(encoding="utf-8")
            self.scenario = parse_scenario(text, type(self).__name__)
        else:
            self.scenario = given_scenario(scenario)
        for link in self.links:
            if link not in self.scenario.links:
                accepted = f"a link called {link}"
                raise ScenarioError("links", link, accepted, self.scenario.origin)
        self.step_s, self.warm_up_s, self.networks = step_s, warm_up_s, networks
        self.steps = max(1, round(episode_s / step_s))
        self.delay_weight, self.delay_scale_ms = delay_weight, delay_scale_ms
        self.loss_weight = loss_weight
        self.rate = nominal_rate(self.scenario, "line")
        self.measured: dict[str, float] = {}
        self._delay_paths = [(link, f"links.{link}.sojourn_ms.mean") for link in self.links]
        self._arrival_paths = [f"links.{link}.arrivals" for link in self.links]
        self._drop_paths = [f"links.{link}.drops" for link in self.links]
        self._goodput_paths = [
            f"flows.{group}.goodput_bit_per_s.total" for group in self.scenario.flows
        ]
        self._kept: dict[int, Simulation] = {}
        self._network: Simulation | None = None
        self._step = 0
        self._prepare()
        size = len(self._observed())
        self.observation_space = gymnasium.spaces.Box(-10.0, 10.0, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode: of the network of this seed, or of any of ``networks``."""
        super().reset(seed=seed, options=options)
        chosen = int(self.np_random.integers(self.networks)) + 1 if seed is None else seed
        self._network = self.warmed_up(chosen).fork()
        self._step = 0
        self._begin()
        self._advance()
        return self._observation(), dict(self.measured)

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Set what the action says, simulate a step, and measure it.

        Returns:
            Observation, reward, and whether it is over (terminated, which it never is; truncated
            after the episode's length), and ``measured``.
        """
        self._act([min(1.0, max(-1.0, float(each))) for each in action])
        self._step += 1
        self._advance()
        measured = self.measured
        delay = min(measured["delay_ms"] / self.delay_scale_ms, _WORST_DELAY)
        reward = measured["goodput"] - self.delay_weight * delay
        reward -= self.loss_weight * measured["loss"]
        return self._observation(), reward, False, self._step >= self.steps, dict(measured)

    def warmed_up(self, seed: int) -> Simulation:
        """The network of a seed after its warm-up, which stays as it is."""
        if seed not in self._kept:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[seed] = Simulation(self.scenario, seed).extend(self.warm_up_s)
        return self._kept[seed]

    @property
    def network(self) -> Simulation:
        """Network of the episode.

        Raises:
            RuntimeError: no episode has begun.
        """
        if self._network is None:
            message = "no episode has begun; expected reset() before step()"
            raise RuntimeError(message)
        return self._network

    def share_networks(self, other: NetworkEnv) -> None:
        """Fork the networks that another environment has warmed up."""
        self._kept = other._kept

    def _advance(self) -> None:
        record = self.network.step(self.step_s)
        delays = {link: record.get(path, 0.0) for link, path in self._delay_paths}
        goodput = sum(record.get(path, 0.0) for path in self._goodput_paths)
        arrivals = sum(record[path] for path in self._arrival_paths)
        drops = sum(record[path] for path in self._drop_paths)
        self.measured = {
            "delay_ms": sum(delays.values()),
            "line_delay_ms": delays["line"],
            "goodput": goodput / self.rate,
            "loss": drops / arrivals if arrivals else 0.0,
            "marked": record.get("links.line.mark_rate", 0.0),
            "used": record.get("links.line.utilization", 0.0),
        }

    def _observation(self) -> Array:
        numbers = [min(10.0, max(-10.0, each)) for each in self._observed()]
        return np.array(numbers, dtype=np.float32)

    def _observed(self) -> list[float]:
        measured = self.measured
        return [
            measured.get("delay_ms", 0.0) / self.delay_scale_ms,
            measured.get("goodput", 0.0),
            measured.get("used", 0.0),
            measured.get("loss", 0.0),
            measured.get("marked", 0.0),
            *self._state(),
        ]

    def _prepare(self) -> None:
        """Make the action space."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Reset what an episode begins with."""

    def _act(self, action: list[float]) -> None:
        raise NotImplementedError

    def _state(self) -> list[float]:
        """Values in force, as numbers of about 1."""
        return []


@dataclass(frozen=True, slots=True)
class _Box:
    """Range of a parameter, from -1 to 1 on its scale."""

    name: str
    low: float
    high: float
    logarithmic: bool
    whole: bool

    @classmethod
    def of(cls, row: Parameter) -> _Box:
        low, high = row.search or (0.0, 1.0)
        return cls(row.name, low, high, row.scale == "log", row.integer)

    def value(self, place: float) -> float:
        share = (place + 1) / 2
        if self.logarithmic:
            value = self.low * math.pow(self.high / self.low, share)
        else:
            value = self.low + share * (self.high - self.low)
        return round(value) if self.whole else value

    def place(self, value: object) -> float:
        if not isinstance(value, int | float):
            return 0.0
        if self.logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(-1.0, 2 * share - 1))


class QueueEnv(NetworkEnv):
    """Parameters of the queue of the link "line": an action has one number for each.

    -1 is the lower end of the parameter's box, 1 the upper, on its scale.

    Args:
        parameters: their names; by default all with a box.
        settings: as of :class:`NetworkEnv`.
    """

    default = "queue.toml"

    def __init__(
        self,
        scenario: Scenario | str | Path | None = None,
        parameters: tuple[str, ...] = (),
        **settings: Any,  # noqa: ANN401 - those of the base
    ) -> None:
        self._chosen = tuple(parameters)
        super().__init__(scenario, **settings)

    def _prepare(self) -> None:
        algorithm = self.scenario.links["line"].queue.algorithm
        boxed = [name for name, row in algorithm.parameters.items() if row.search is not None]
        self.names = self._chosen or tuple(boxed)
        for name in self.names:
            if name not in boxed:
                raise ScenarioError("parameters", name, f"of {', '.join(boxed)}")
        self._boxes = [_Box.of(algorithm.parameters[name]) for name in self.names]
        self._ordered = algorithm.ordered
        self._now = [0.0] * len(self.names)
        self._others: dict[str, float] = {}
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (len(self.names),), np.float32)

    def _begin(self) -> None:
        queue = self.network.queue("line")
        self._now = [box.place(queue[box.name]) for box in self._boxes]
        self._others = {
            name: float(value)
            for name, value in queue.items()
            if name not in self.names and isinstance(value, int | float)
        }

    def _act(self, action: list[float]) -> None:
        if action == self._now:
            return
        self._now = action
        values = {
            box.name: box.value(place) for box, place in zip(self._boxes, action, strict=True)
        }
        for low, high in self._ordered:
            least, greatest = ({**self._others, **values}.get(each) for each in (low, high))
            if least is None or greatest is None or least < greatest:
                continue
            if low in values:
                values[low] = _BELOW * greatest
            elif high in values:
                values[high] = least / _BELOW
        self.network.set_numbers("line", values)

    def _state(self) -> list[float]:
        return self._now


class Steered(CongestionControl):
    """Has the window that a policy gives it.

    One network advances at a time, so the window in force stands in the class.
    """

    name = "steered"
    governs_window = True
    defaults: ClassVar[dict[str, object]] = {"recovery": "rack", "timestamps": True}
    window: ClassVar[float] = 10.0
    round_trip_ns: ClassVar[int] = 0

    def on_ack(self, ack: Acknowledgement, window: Window) -> None:
        """Take the window in force, and leave the round trip."""
        window.size = Steered.window
        if ack.round_trip is not None:
            Steered.round_trip_ns = ack.round_trip

    def on_loss(self, loss: Reduction, window: Window) -> float:  # noqa: ARG002 - the base's
        """Leave the answer to the policy."""
        return window.size


class WindowEnv(NetworkEnv):
    """Window of the sender of the group "own": an action doubles (1) or halves (-1) it.

    The observation has the logarithm of the window in bandwidth-delay products too, and the round
    trip. Others may share the link: the groups of a scenario of one's own.
    """

    default = "window.toml"

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401 - the base's
        register_congestion_control(Steered)
        super().__init__(*arguments, **settings)

    def _prepare(self) -> None:
        if "own" not in self.scenario.flows:
            raise ScenarioError("flows", "own", "a group called own", self.scenario.origin)
        self.delay_product = self.rate * 0.04 / 8 / 1500
        self.window = 10.0
        self._round_trip_ns = 0
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def _begin(self) -> None:
        self.window, self._round_trip_ns = 10.0, 0

    def warmed_up(self, seed: int) -> Simulation:
        """As the base has it, with a window of ten packets."""
        Steered.window = 10.0
        return super().warmed_up(seed)

    def _act(self, action: list[float]) -> None:
        self.window = min(10_000.0, max(2.0, self.window * 2.0 ** action[0]))

    def _advance(self) -> None:
        Steered.window, Steered.round_trip_ns = self.window, self._round_trip_ns
        super()._advance()
        self._round_trip_ns = Steered.round_trip_ns
        self.measured["window"] = self.window
        self.measured["round_trip_ms"] = self._round_trip_ns / 1e6

    def _state(self) -> list[float]:
        return [
            math.log2(self.window / self.delay_product),
            self._round_trip_ns / 1e6 / self.delay_scale_ms,
        ]


class ShaperEnv(NetworkEnv):
    """Rate of the link "shaper" before a "line" whose rate wanders and whose buffer is large.

    An action of 1 raises the shaper's rate by a quarter, one of -1 lowers it by as much. The policy
    does not see the line's rate: it has the delays of both queues, and what got through. Goodput in
    the reward is a share of the line's present rate.

    Args:
        wander: standard deviation of the logarithm of the line's rate from one half second to the
            next; 0 for a line that stays.
        settings: as of :class:`NetworkEnv`.
    """

    links = ("shaper", "line")
    default = "shaper.toml"

    def __init__(
        self,
        scenario: Scenario | str | Path | None = None,
        *,
        wander: float = 0.3,
        **settings: Any,  # noqa: ANN401 - those of the base
    ) -> None:
        self.wander = wander
        super().__init__(scenario, **settings)

    def _prepare(self) -> None:
        self._nominal = self.rate
        self.shaped = nominal_rate(self.scenario, "shaper")
        self._hold = max(1, round(0.5 / self.step_s))
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def _begin(self) -> None:
        self.rate = self._nominal
        self.shaped = nominal_rate(self.scenario, "shaper")

    def _act(self, action: list[float]) -> None:
        if self._step % self._hold == 0 and self.wander > 0:
            change = math.exp(self.wander * float(self.np_random.standard_normal()))
            self.rate = min(2 * self._nominal, max(0.3 * self._nominal, self.rate * change))
            self.network.set_rate("line", self.rate)
        factor = 1.25 ** action[0]
        self.shaped = min(4 * self._nominal, max(0.05 * self._nominal, self.shaped * factor))
        self.network.set_rate("shaper", self.shaped)

    def _state(self) -> list[float]:
        return [
            self.measured.get("line_delay_ms", 0.0) / self.delay_scale_ms,
            math.log2(self.shaped / self._nominal),
            math.log2(max(self.measured.get("goodput", 0.0) * self.rate, 1e4) / self._nominal),
        ]


def register() -> None:
    """Register the environments with Gymnasium; again is once."""
    for name, kind in (("Queue", QueueEnv), ("Window", WindowEnv), ("Shaper", ShaperEnv)):
        identifier = f"vermilion/{name}-v0"
        if identifier not in gymnasium.registry:
            gymnasium.register(identifier, entry_point=f"{kind.__module__}:{kind.__name__}")
