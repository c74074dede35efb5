"""Check that one emulated link can carry a scenario; refuse the rest, never drop it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario.errors import FieldError, one_of
from vermilion_lab.kernel_plant.acceptance import CONGESTION_CONTROLS, check_group

if TYPE_CHECKING:
    from vermilion.scenario.core_scenario import CoreScenario

_AVAILABLE: Final = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def ways_of(scenario: CoreScenario) -> tuple[str, str | None]:
    """The link that all data cross, and the one that all acknowledgements cross, if there is one.

    Raises:
        FieldError: naming the field, the value and what is accepted.
    """
    first = scenario.flows[0]
    for group in scenario.flows:
        at = f"flows.{group.name}"
        check_group(group)
        if list(group.path) != list(first.path[:1]):
            accepted = f'one link, the same for all: ["{first.path[0]}"]; the simulator takes more'
            raise FieldError(f"{at}.path", ", ".join(group.path), accepted)
        if len(group.return_path) > 1 or list(group.return_path) != list(first.return_path):
            accepted = "one link, or none, the same for all flows; the simulator takes more"
            raise FieldError(f"{at}.return_path", ", ".join(group.return_path), accepted)
        _check_sender(at, group.sender.congestion_control if group.sender else None)
    carried = {*first.path, *first.return_path}
    for number, change in enumerate(scenario.changes):
        if change.link not in carried:
            accepted = f"a link that flows cross: {one_of(sorted(carried))}"
            raise FieldError(f"changes.{number}.link", change.link, accepted)
    if scenario.scripted_losses:
        accepted = "no losses of chosen packets; the simulator has them"
        raise FieldError("scripted_losses", "scripted losses", accepted)
    return first.path[0], first.return_path[0] if first.return_path else None


def _check_sender(at: str, name: str | None) -> None:
    """Check that this machine's kernel has the sender's congestion control."""
    if name is None:
        return
    needed = CONGESTION_CONTROLS[name]
    try:
        available = _AVAILABLE.read_text(encoding="ascii").split()
    except OSError:
        return  # then the kernel says so itself
    if needed not in available:
        can = [each for each, kind in CONGESTION_CONTROLS.items() if kind in available]
        accepted = f"a sender that this machine's kernel has: {one_of(can)} (modprobe tcp_{needed})"
        raise FieldError(f"{at}.sender", name, accepted)
