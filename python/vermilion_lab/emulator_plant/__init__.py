"""A scenario with this machine's TCP through an emulated link, in real time.

Its link and its queue are the simulator's code, its packets real ones: :func:`run_on_emulator`
returns the same kind of result as the simulator and the kernel do, and :class:`EmulatorPlant` gives
the on-line controller such a queue to keep tuned. How long a run takes is its duration, and what
comes of it depends on how busy the machine is; the timing error says how much.
"""

from __future__ import annotations

from vermilion_lab.emulator_plant.plant import EmulatorPlant, run_on_emulator

__all__ = ["EmulatorPlant", "run_on_emulator"]
