"""Advice for a line whose rate varies: a shaper with CAKE, and what keeps it at the right rate.

No simulation is needed for that: the choice is a matter of where the queue is, not of its
parameters. Sources: tc-cake(8) for overheads, OpenWrt's sqm-scripts for the keys of UCI.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from vermilion.advise.options import check_word, read_range
from vermilion.files.document import document, package_version
from vermilion.scenario import QuantityError, ScenarioError
from vermilion.scenario.quantities import RATE, TIME, Quantity, format_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Way = Literal["up", "down", "both"]
LinkLayer = Literal["adsl", "vdsl", "cable", "ethernet", "cellular", "starlink", "wifi", "unknown"]

_OVERHEADS: Final[Mapping[str, tuple[str, str, int]]] = {
    "adsl": ("pppoe-llcsnap", "atm", 40),
    "vdsl": ("pppoe-ptm", "ethernet", 30),
    "cable": ("docsis", "ethernet", 18),
    "ethernet": ("ethernet", "ethernet", 38),
}
"""Words of tc-cake(8), and sqm-scripts' link layer and bytes."""

_WAIT: Final = Quantity(TIME, 1e-3, 1.0)


@document(
    "version=package_version verdict rate_bit_per_s.from=low rate_bit_per_s.to=high direction"
    " interface link_layer excess_s headline commands.apply=apply commands.undo=undo"
    " commands.openwrt=openwrt commands.keep=keep notes",
    package_version,
)
@dataclass(frozen=True, slots=True)
class VaryingAdvice:
    """Answer for a line whose rate lies between two numbers.

    Attributes:
        low: least rate, bits a second.
        high: largest.
        direction: of the packets that are shaped.
        interface: next to the modem.
        link_layer: what the line is.
        excess_s: wait accepted in the modem's queue.
        apply: calls of tc and ip.
        undo: calls that take them back.
        openwrt: calls of uci for sqm-scripts.
        keep: the command that keeps the rate right.
        notes: sentences.
    """

    low: float
    high: float
    direction: Way
    interface: str
    link_layer: LinkLayer
    excess_s: float
    apply: Sequence[str]
    undo: Sequence[str]
    openwrt: Sequence[str]
    keep: str
    notes: Sequence[str]
    verdict: str = "set: shaper"

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        if self.link_layer == "wifi":
            return "leave the Wi-Fi interface alone: its driver has a fair queue for each station"
        ends = f"{format_quantity(self.low, RATE)} to {format_quantity(self.high, RATE)}"
        return f"put CAKE before the modem, and let its rate follow the line's {ends}"

    def lines(self) -> list[str]:
        """The answer for a terminal."""
        text = [self.headline]
        for title, calls in (
            ("Linux:", self.apply),
            ("OpenWrt (package sqm-scripts):", self.openwrt),
            ("Keep the rate right:", (self.keep,) if self.keep else ()),
            ("Undo:", self.undo),
        ):
            if calls:
                text += ["", title, *(f"  {call}" for call in calls)]
        return [*text, "", *(f"- {note}" for note in self.notes)]


def advise_varying(
    rate: str,
    direction: Way = "up",
    interface: str | None = None,
    link_layer: LinkLayer = "unknown",
    delay_at_most: str | None = None,
) -> VaryingAdvice:
    """Advise on a line of varying rate.

    Args:
        rate: range, like "5 Mbit/s .. 20 Mbit/s".
        direction: of the packets that wait.
        interface: next to the modem; ``None``: eth0.
        link_layer: of the line.
        delay_at_most: wait accepted in the modem's queue; ``None``: 10 ms.

    Raises:
        ScenarioError: an option is not accepted.
    """
    low, high = read_range("--rate", rate)
    try:
        excess_s = float(_WAIT.parse("10 ms" if delay_at_most is None else delay_at_most))
    except QuantityError as error:
        raise ScenarioError("--delay-at-most", delay_at_most, error.accepted) from None
    name = check_word("--interface", interface) or "eth0"
    if link_layer == "wifi":
        notes = (
            "mac80211's FQ-CoDel knows the rate of each station; a shaper would be in its way.",
            "If packets wait at the modem behind the access point, ask again for that interface.",
        )
        return VaryingAdvice(
            *(low, high, direction, name, link_layer, excess_s, (), (), (), "", notes),
            verdict="keep: wifi",
        )
    ways = {"up": ("up",), "down": ("down",), "both": ("up", "down")}[direction]
    apply, undo = _linux(name, ways, low, link_layer)
    keep = f"vermilion control linux:{name} --line auto --direction {direction}"
    keep += "" if delay_at_most is None else f" --excess {shlex.quote(delay_at_most)}"
    return VaryingAdvice(
        low,
        high,
        direction,
        name,
        link_layer,
        excess_s,
        apply,
        undo,
        _openwrt(name, ways, low, link_layer),
        f"{keep} --mode control",
        _notes(low, high, ways, link_layer),
    )


def _linux(
    name: str, ways: Sequence[str], low: float, layer: LinkLayer
) -> tuple[list[str], list[str]]:
    word = _OVERHEADS.get(layer, ("",))[0]
    cake = f"cake bandwidth {round(low / 1000)}kbit" + (f" {word}" if word else "")
    apply, undo = [], []
    if "up" in ways:
        apply.append(f"tc qdisc replace dev {name} root {cake}")
        undo.append(f"tc qdisc del dev {name} root")
    if "down" in ways:
        ifb = f"ifb4{name}"[:15]
        redirect = f"action mirred egress redirect dev {ifb}"
        apply += [
            f"ip link add {ifb} type ifb",
            f"ip link set {ifb} up",
            f"tc qdisc replace dev {ifb} root {cake} ingress",
            f"tc qdisc add dev {name} handle ffff: ingress",
            f"tc filter add dev {name} parent ffff: matchall {redirect}",
        ]
        undo += [f"tc qdisc del dev {name} ingress", f"ip link del {ifb}"]
    return apply, undo


def _openwrt(name: str, ways: Sequence[str], low: float, layer: LinkLayer) -> list[str]:
    kbit = {way: str(round(low / 1000)) if way in ways else "0" for way in ("up", "down")}
    _, link, overhead = _OVERHEADS.get(layer, ("", "none", 0))
    values = {
        "interface": name,
        "download": kbit["down"],
        "upload": kbit["up"],
        "qdisc": "cake",
        "script": "piece_of_cake.qos",
        "linklayer": link,
        "overhead": str(overhead),
        "enabled": "1",
    }
    section = "sqm.line"
    return [
        f"uci set {section}=queue",
        *(f"uci set {section}.{key}='{value}'" for key, value in values.items()),
        "uci commit sqm",
        "/etc/init.d/sqm restart",
    ]


def _notes(low: float, high: float, ways: Sequence[str], layer: LinkLayer) -> list[str]:
    least = format_quantity(low, RATE)
    notes = [
        f"So far the rate is fixed at {least}, and {1 - low / high:.0%} of the best is unused.",
        "What adapts is vermilion control --line auto, which need not be told any rate.",
        "Keep CAKE's autorate-ingress off, and stop cake-autorate: two would set one rate.",
        "Shape the interface next to the modem; Wi-Fi drivers have fair queues of their own.",
    ]
    if "down" in ways:
        notes.append(
            "Downloads wait at the provider; CAKE drops on the ifb until senders slow down."
        )
    if layer == "unknown":
        notes.append("Name the line with --link-layer: on ADSL a packet costs cells of 53 bytes.")
    return notes
