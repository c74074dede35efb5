"""The plants and export formats that entry points name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.cli.laboratory import RegisteredExport, RegisteredPlant
from vermilion.link.device import LinkError
from vermilion_lab.interchange.flent import check_flent, flent_content
from vermilion_lab.kernel_plant.errors import KernelPlantError

if TYPE_CHECKING:
    from collections.abc import Callable

    from vermilion.online.drive.run import Plant
    from vermilion.scenario import Scenario
    from vermilion.simulate import Result


def _run_on_kernel(
    scenario: Scenario,
    seed: int,
    interval_s: float | None,
    progress: Callable[[float], object] | None,
) -> Result:
    from vermilion_lab.kernel_plant import run_on_kernel

    return run_on_kernel(scenario, seed, interval_s, progress=progress)


def _kernel() -> Plant:
    from vermilion_lab.kernel_plant import KernelPlant

    return KernelPlant()


def _run_on_emulator(
    scenario: Scenario,
    seed: int,
    interval_s: float | None,
    progress: Callable[[float], object] | None,
) -> Result:
    from vermilion_lab.emulator_plant import run_on_emulator

    return run_on_emulator(scenario, seed, interval_s, progress=progress)


def _emulator() -> Plant:
    from vermilion.online.drive.run import PROBE_INTERVAL_S
    from vermilion_lab.emulator_plant import EmulatorPlant

    return EmulatorPlant(PROBE_INTERVAL_S)


KERNEL: Final = RegisteredPlant(_run_on_kernel, _kernel, KernelPlantError)
EMULATOR: Final = RegisteredPlant(_run_on_emulator, _emulator, LinkError)
FLENT: Final = RegisteredExport(check_flent, flent_content)
