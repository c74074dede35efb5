"""``vermilion run`` of a file whose top table is ``[fabric]``."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from vermilion.cli.endings import UserError
from vermilion.cli.output import STANDARD_OUTPUT, console, note, output_file
from vermilion.cli.progress import ProgressBar
from vermilion.cli.tables import ABSENT, fixed, percent, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vermilion.fabric import Fabric, FabricResult

_SHOWN_LINKS: Final = 4
"""Busy links that are shown without ``--all``."""

_HEADINGS: Final = "".join(
    [f"{'slowdown by size':<26}{'done':>9}{'not done':>10}"]
    + [f"{name:>9}" for name in ("mean", "p50", "p95", "p99")]
)
_OPEN_LOOP_HEADINGS: Final = (
    f"{'open loop (us)':<20}{'sources':>8}{'sent':>13}{'lost':>11}"
    f"{'mean':>9}{'p95':>9}{'p99':>9}{'Gbit/s':>9}"
)
_LINK_HEADINGS: Final = (
    f"{'busy':>9}{'marks':>10}{'drops':>8}{'paused ms':>11}{'longest kB':>12}{'mean':>8}{'p99':>8}"
)


def run_fabric(
    path: str,
    *,
    seed: int,
    seeds: int,
    overrides: Sequence[str],
    target: str | None,
    transfers: str | None,
    everything: bool,
    refused: Mapping[str, object],
) -> int:
    """Run a fabric, once or with several seeds, as a screen for a person or JSON for a machine.

    Args:
        path: of its file.
        seed: the first.
        seeds: how many.
        overrides: texts "path=value".
        target: of the JSON.
        transfers: file for the transfers.
        everything: whether all links and switches are shown.
        refused: options of scenarios that a fabric does not have, with what was given.

    Raises:
        UserError: one of those was given.
    """
    from vermilion.fabric import load_fabric, run_many

    for option, given in refused.items():
        if given:
            message = (
                f"{option} is not for a fabric; expected --json, --transfers, --set, --seed(s)"
            )
            raise UserError(message)
    if transfers is not None and seeds > 1:
        message = "--transfers needs --seeds 1; expected one run to write down"
        raise UserError(message)
    fabric = load_fabric(path, overrides)
    for remark in fabric.notes:
        note(remark)
    with ExitStack() as outputs:
        json_file = target and outputs.enter_context(output_file("--json", target))
        rows = transfers and outputs.enter_context(output_file("--transfers", transfers))
        with ProgressBar("simulating", float(seeds)) as bar:
            every = run_many({"": fabric}, range(seed, seed + seeds), progress=bar.callback)[""]
        if json_file:
            whole_of = every[0].data if seeds == 1 else {"runs": [each.data for each in every]}
            json_file.write(f"{json.dumps(whole_of)}\n")
        if rows:
            every[0].write_transfers(rows)
    if STANDARD_OUTPUT not in {target, transfers}:
        _show(fabric, every, everything=everything)
    return 0


def _mean(every: Sequence[FabricResult], *keys: str) -> float | None:
    found = []
    for result in every:
        value: Any = result.data
        for key in keys:
            value = value[int(key)] if isinstance(value, list) else value[key]
        if isinstance(value, int | float):
            found.append(float(value))
    return sum(found) / len(found) if found else None


def _show(fabric: Fabric, every: Sequence[FabricResult], *, everything: bool) -> None:
    """Print the verdict, slowdowns by size, and what switches did; means over the seeds."""
    screen = console()

    def line(text: str = "", style: str | None = None) -> None:
        screen.print(text, markup=False, highlight=False, style=style, soft_wrap=True)

    first = every[0]
    title = fabric.title or fabric.origin
    several = "" if len(every) == 1 else f" to {every[-1].seed}, means"
    line(f"{title}  (seed {first.seed}{several})", "bold")
    line(_verdict(every))
    graph, table = fabric.graph, fabric.table
    hosts = f"{len(graph.hosts)} hosts of {graph.host_rate / 1e9:g} Gbit/s"
    ended = f"ended at {_mean(every, 'ended_at_s'):.4g} s"
    sender = table.sender.congestion_control
    line(f"{hosts}, {len(graph.switches)} switches, {sender}; {ended}")
    line()
    if first.data["transfers"]:
        line(_HEADINGS)
        classes = first.slowdown_by_size
        for number, each in enumerate(classes):
            name = _class_name([c["from_bytes"] for c in classes], number)
            if any(result.slowdown_by_size[number]["done"] for result in every) or each["not_done"]:
                line(_class_row(name, every, "slowdown_by_size", str(number)))
        line(_class_row("all", every, "slowdown"))
        line()
    if first.open_loop:
        line(_OPEN_LOOP_HEADINGS)
        for number, each in enumerate(first.open_loop):
            line(_open_loop_row(fabric.table.traffic[each["traffic"]].kind, every, number))
        line()
    for text in _what_switches_did(every):
        line(text)
    for text in _links(every, everything=everything):
        line(text)
    if not everything:
        line("more links, and switches: --all; every transfer: --transfers FILE")


def _class_row(name: str, every: Sequence[FabricResult], *keys: str) -> str:
    counts = [_mean(every, *keys, key) for key in ("done", "not_done")]
    figures = [_mean(every, *keys, key) for key in ("mean", "p50", "p95", "p99")]
    cells = "".join(f"{fixed(value, 2):>9}" for value in figures)
    return f"  {name:<24}{whole(counts[0]):>9}{whole(counts[1]):>10}{cells}"


def _open_loop_row(kind: str, every: Sequence[FabricResult], number: int) -> str:
    counts = [
        whole(_mean(every, "open_loop", str(number), key))
        for key in ("sources", "packets_sent", "packets_lost")
    ]
    delays = [
        _mean([it for it in every if it.open_loop[number]["delay_s"]], "open_loop", str(number),
              "delay_s", key)
        for key in ("mean", "p95", "p99")
    ]  # fmt: skip
    shown = [ABSENT if value is None else f"{1e6 * value:.4g}" for value in delays]
    goodput = (_mean(every, "open_loop", str(number), "goodput_bit_per_s") or 0.0) / 1e9
    cells = "".join(f"{cell:>9}" for cell in (*shown, f"{goodput:.4g}"))
    return f"  {kind:<18}{counts[0]:>8}{counts[1]:>13}{counts[2]:>11}{cells}"


def _class_name(bounds: Sequence[int], number: int) -> str:
    def size(value: int) -> str:
        for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if value >= factor:
                return f"{value / factor:g} {unit}"
        return f"{value} B"

    if len(bounds) == 1:
        return "any"
    if number == 0:
        return f"below {size(bounds[1])}"
    if number == len(bounds) - 1:
        return f"from {size(bounds[-1])}"
    return f"{size(bounds[number])} to {size(bounds[number + 1])}"


def _verdict(every: Sequence[FabricResult]) -> str:
    """Return the worst news in a sentence, or that there is none."""
    stuck = [result for result in every if result.data["deadlock"] is not None]
    if stuck:
        links = ", ".join(stuck[0].data["deadlock"]["links"])
        at = stuck[0].data["deadlock"]["at_s"]
        return f"DEADLOCK at {at:.4g} s: paused links wait for each other: {links}"
    not_done = sum(result.data["not_done"] for result in every)
    begun = sum(result.data["transfers"] for result in every)
    if not_done:
        return f"{whole(not_done)} of {whole(begun)} transfers were not done at the end"
    slow = _mean(every, "slowdown", "p99") or 1.0
    drops = sum(result.data["drops"] for result in every)
    tail = f", {whole(drops)} packets lost" if drops else ", nothing lost"
    if not begun:
        sent = sum(part["packets_sent"] for result in every for part in result.open_loop)
        return f"{whole(sent)} packets sent{tail}"
    return (
        f"All {whole(begun)} transfers are done; the slowest 1 % took {slow:.1f} times as long as"
        f" alone{tail}"
    )


def _what_switches_did(every: Sequence[FabricResult]) -> list[str]:
    hops = _mean(every, "packet_hops") or 0.0
    marks = _mean(every, "marks") or 0.0
    share = percent(marks / hops if hops else None)
    deepest = max(
        each["deepest_bytes"] for result in every for each in result.data["switches"].values()
    )
    shared = max(
        each["shared_bytes"] for result in every for each in result.data["switches"].values()
    )
    victims = _mean(every, "victims", "transfers") or 0.0
    cpu_s = sum(result.data["cpu_s"] for result in every)
    together = sum(result.data["packet_hops"] for result in every)
    speed = f"{together / cpu_s / 1e6:.1f} million" if cpu_s > 0 else ABSENT
    marked = (
        f"marks {whole(marks)} ({share} of packet-hops), drops {whole(_mean(every, 'drops'))},"
        f" sent again {whole(_mean(every, 'retransmissions'))}"
    )
    paused = (
        f"pauses {whole(_mean(every, 'pauses'))} on {whole(_mean(every, 'paused_links'))} links for"
        f" {1e3 * (_mean(every, 'paused_s') or 0.0):.4g} ms in all; victims {whole(victims)}"
    )
    used = (
        f"deepest use of a shared buffer {deepest / 1e6:.3g} of {shared / 1e6:.3g} MB;"
        f" {whole(hops)} packet-hops ({speed} per CPU second)"
    )
    return [marked, paused, used]


def _links(every: Sequence[FabricResult], *, everything: bool) -> list[str]:
    """Return lines of the links with the longest queues, and of all that are watched."""
    first = every[0]
    switch_links = {
        name: each
        for name, each in first.data["links"].items()
        if each["from"] in first.data["switches"]
    }
    deepest = sorted(switch_links, key=lambda name: -switch_links[name]["deepest_bytes"])
    watched = [name for name, each in switch_links.items() if each["queue_bytes"] is not None]
    shown = deepest if everything else (watched or deepest)[:_SHOWN_LINKS]
    lines = [f"{f'link (seed {first.seed})':<26}{_LINK_HEADINGS}"]
    for name in shown:
        each = switch_links[name]
        queue = each["queue_bytes"] or {"mean": None, "p99": None}
        mean, high = (
            ABSENT if queue[key] is None else f"{queue[key] / 1e3:.4g}" for key in ("mean", "p99")
        )
        lines.append(
            f"  {name:<24}{percent(each['utilisation'], 1):>9}{whole(each['marks']):>10}"
            f"{whole(each['drops']):>8}{1e3 * each['paused_s']:>11.4g}"
            f"{each['deepest_bytes'] / 1e3:>12.4g}{mean:>8}{high:>8}"
        )
    if everything:
        lines += [
            f"switch {name}: at most {each['deepest_bytes'] / 1e6:.3g} MB of"
            f" {each['shared_bytes'] / 1e6:.3g} MB shared"
            for name, each in first.data["switches"].items()
        ]
    return lines
