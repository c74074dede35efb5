"""What somebody has probably meant who asks for an option or a command that is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST_NAMED: Final = 3

_COMMANDS: Final[Mapping[str, str]] = {
    "simulate": "vermilion run",
    "sim": "vermilion run",
    "start": "vermilion run",
    "sweep": "vermilion compare with the same --set several times",
    "optimise": "vermilion tune",
    "optimize": "vermilion tune",
    "search": "vermilion tune",
    "control": "vermilion online",
    "controller": "vermilion online",
    "live": "vermilion watch",
    "dashboard": "vermilion watch",
    "page": "vermilion watch",
    "plot": "vermilion run SCENARIO --plot, or --figure FILE",
    "figure": "vermilion run SCENARIO --figure FILE",
    "list": "vermilion scenarios, or vermilion disciplines",
    "show": "vermilion scenarios NAME",
    "init": "vermilion new NAME",
    "create": "vermilion new NAME",
    "interfaces": "vermilion routers",
    "queues": "vermilion routers",
    "rollback": "vermilion undo",
    "restore": "vermilion undo",
    "capture": "vermilion monitor --interface NAME",
    "pcap": "vermilion monitor FILE",
    "qdiscs": "vermilion disciplines",
    "aqm": "vermilion disciplines",
    "help": "vermilion --help",
    "version": "vermilion --version",
}

_OPTIONS: Final[Mapping[tuple[str, str], str]] = {
    ("run", "--seeds"): "one run has one seed; for several: vermilion compare SCENARIO --seeds 10",
    ("run", "--duration"): "a run lasts as long as its scenario says; to change it: "
    "--set duration='30 s'",
    ("run", "--objective"): "a run optimises nothing; vermilion tune does",
    ("run", "--report"): "a page of one run is --figure FILE.html",
    ("run", "--output"): "results go to --json FILE, time series to --series FILE, a picture to "
    "--figure FILE",
    ("compare", "--plot"): "to draw a comparison: --figure FILE",
    ("tune", "--seeds"): "a tuning chooses its seeds, counted from --seed",
    ("tune", "--report"): "keep the tuning with --study FILE, then: vermilion report FILE",
    ("online", "--interface"): "a queue of this machine is --router linux:NAME",
    ("watch", "--page"): "the page of watch is always there; --listen says where",
    ("watch", "--answers"): "watch only shows; to answer: vermilion online ... --listen "
    "ADDRESS:PORT --answers",
    ("watch", "--router"): "watch reads a journal; the page of a router: vermilion online "
    "--router ... --listen ADDRESS:PORT",
}


def meant_command(name: str) -> str:
    """What to type instead of a command that is not there; "" where nobody knows."""
    meant = _COMMANDS.get(name.lower())
    return f"try {meant}" if meant else ""


def meant_option(command: str, option: str, elsewhere: Iterable[str]) -> str:
    """What to type instead of an option that a command does not have; "" where nobody knows.

    Args:
        command: which command.
        option: with its dashes.
        elsewhere: the commands that do have it.
    """
    known = _OPTIONS.get((command, option))
    if known is not None:
        return known
    names = [f"vermilion {name}" for name in elsewhere][:_MOST_NAMED]
    *others, last = names or [""]
    them = f"{', '.join(others)} and {last}" if others else last
    return f"{them} {'have' if others else 'has'} it" if names else ""


def meant_values(setting: str) -> str:
    """How several values are given to ``compare`` that stand in one setting; "" where none do.

    Args:
        setting: what was given, like "flows.late.count=16,48".
    """
    path, _, values = setting.partition("=")
    given = [value.strip() for value in values.split(",")]
    if len(given) == 1 or not all(given):
        return ""
    return " ".join(f"--set {path}={value}" for value in given[:_MOST_NAMED])
