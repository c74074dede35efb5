"""Check that a Linux kernel's network can run a scenario; refuse the rest, never drop it.

How the kernel's TCP does things is the kernel's: a scenario may say what Linux does anyway, but not
something else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vermilion.scenario import algorithms
from vermilion.scenario.errors import FieldError, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vermilion.scenario.core_network import CoreFlowGroup, CoreLink
    from vermilion.scenario.core_scenario import CoreScenario

MOST_LINKS: Final = 4
MOST_HOSTS: Final = 500
SMALLEST_PACKET_BYTES: Final = 160
LARGEST_PACKET_BYTES: Final = 1514
HEADER_BYTES: Final = 66
"""Of a segment of Linux at the queue: Ethernet, IPv4, and TCP with its timestamps."""

FRAME_BYTES: Final = 14
"""Of these, Ethernet's."""

DATAGRAM_HEADER_BYTES: Final = 42
"""Ethernet, IPv4 and UDP."""

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "linux-red": ("red",),
    "pie": ("pie",),
    "fq-pie": ("fq_pie",),
    "codel": ("codel",),
    "fq": ("fq",),
    "fq-codel": ("fq_codel",),
    "choke": ("choke",),
    "drop-tail": ("pfifo", "bfifo", "pfifo_head_drop"),
}
"""Vermilion's disciplines that are in the kernel, and the kernel's words for them."""

CONGESTION_CONTROLS: Final[Mapping[str, str]] = {
    "reno": "reno",
    "newreno": "reno",
    "sack": "reno",
    "cubic": "cubic",
    "dctcp": "dctcp",
    "bbr": "bbr",
    "bbr1": "bbr",
}
"""Vermilion's senders, and the kernel's that are nearest: its Reno repairs losses by SACK and RACK.
Its BBR is "bbr1", version 1; "bbr" is version 3."""

OPEN_LOOP: Final = frozenset({"constant-rate", "poisson", "on-off"})
TRANSFERS: Final = frozenset({"transfer", "web", "bursts"})

_AS_LINUX_DOES: Final[Mapping[str, tuple[object, ...]]] = {
    "window_cap": (10_000,),
    "initial_slow_start_threshold": (None,),
    "minimum_timeout": (0.2,),
    "limited_transmit": (True,),
    "tail_loss_probe": (True,),
    "handshake": (True,),
    "timer_tick": (0.01, 0.004, 0.001),
    "shared_clock": (True,),
    "ecn_feedback": ("classic",),
    "recovery": ("rack", "sack", "linux-newreno"),
}
_MAPPED: Final = frozenset({"option_set", "ecn", "initial_window", "delayed_acknowledgements"})


def check_scenario(scenario: CoreScenario) -> None:
    """Refuses what the kernel's network cannot be.

    Raises:
        FieldError: naming the field, the value and what is accepted.
    """
    if len(scenario.links) > MOST_LINKS:
        raise FieldError("links", len(scenario.links), f"at most {MOST_LINKS} on the kernel")
    for link in scenario.links:
        _check_link(link)
    for group in scenario.flows:
        check_group(group)
    for number, change in enumerate(scenario.changes):
        if change.loss is not None:
            raise _unsupported(f"changes.{number}.loss", "a table", "no loss on the wire")
    if scenario.scripted_losses:
        raise _unsupported("scripted_losses", "scripted losses", "no losses of chosen packets")


def _check_link(link: CoreLink) -> None:
    at = f"links.{link.name}"
    if link.queue.discipline not in KINDS:
        accepted = f"a discipline that Linux has: {one_of(list(KINDS))}"
        raise FieldError(f"{at}.queue.discipline", link.queue.discipline, accepted)
    if link.loss is not None:
        raise _unsupported(f"{at}.loss", "a table", "no loss on the wire")
    if link.line is not None:
        raise _unsupported(f"{at}.line", "a line", "a rate")
    if link.rate_control is not None:
        raise _unsupported(f"{at}.rate_control", "a law", "a rate that nothing sets")
    if link.trace is not None:
        raise _unsupported(f"{at}.trace", "a trace", "a rate")
    if link.rate_schedule is not None:
        for number, (_, rate) in enumerate(link.rate_schedule["steps"]):  # type: ignore[arg-type, var-annotated] # the core's JSON has no types
            if rate <= 0:
                raise _unsupported(f"{at}.rate_schedule.{number}", rate, "a rate above 0")


def check_group(group: CoreFlowGroup) -> None:
    """Refuses flows that a real kernel's programs and TCP cannot be.

    Raises:
        FieldError: naming the field, the value and what is accepted.
    """
    at = f"flows.{group.name}"
    size = group.packet_size_bytes
    if not SMALLEST_PACKET_BYTES <= size <= LARGEST_PACKET_BYTES:
        accepted = f"{SMALLEST_PACKET_BYTES} to {LARGEST_PACKET_BYTES} bytes"
        raise _unsupported(f"{at}.packet_size", f"{size} bytes", accepted)
    both = set(group.path) & set(group.return_path)
    if both:
        accepted = "links that are not in its path"
        raise _unsupported(f"{at}.return_path", ", ".join(sorted(both)), accepted)
    if group.access_rate_bit_per_s is not None:
        rate = f"{group.access_rate_bit_per_s / 1e6:g} Mbit/s"
        raise _unsupported(
            f"{at}.access_rate", rate, "none: there flows have no links of their own"
        )
    if group.colour != "green":
        raise _unsupported(f"{at}.colour", group.colour, '"green"')
    kind = str(group.traffic["kind"])
    if kind not in OPEN_LOOP | TRANSFERS | {"bulk"}:
        known = one_of(["bulk", "transfer", "web", "on-off", "constant-rate", "poisson"])
        raise _unsupported(f"{at}.traffic.kind", kind, known)
    if kind == "poisson" and group.traffic.get("packet_size") == "exponential":
        raise _unsupported(f"{at}.traffic.packet_size", "exponential", '"constant"')
    if group.sender is not None:
        _check_sender(at, group)


def _check_sender(at: str, group: CoreFlowGroup) -> None:
    sender = group.sender
    if sender is None:
        return
    name = sender.congestion_control
    if name not in CONGESTION_CONTROLS:
        accepted = f"a sender that Linux has: {one_of(list(CONGESTION_CONTROLS))}"
        raise FieldError(f"{at}.sender", name, accepted)
    table = algorithms.sender(name)
    linux = table.option_sets["linux"]
    for parameter, value in sender.parameters.items():
        if parameter in _MAPPED or (parameter == "pacing" and value is True):
            continue  # whoever asks for it is paced, and BBR is anyway
        known = list(_AS_LINUX_DOES.get(parameter, ()))
        known += [linux[parameter]] if parameter in linux else []
        if value not in (known or [table.parameters[parameter].default]):
            accepted = "what Linux does; leave it out, or use the simulator"
            raise FieldError(f"{at}.sender.{parameter}", value, accepted)


def _unsupported(field: str, value: object, accepted: str) -> FieldError:
    return FieldError(field, value, f"{accepted} on the kernel; the simulator has it")
