"""Help of a command: its options in titled groups, the rest with ``--help-all``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vermilion.cli.output import say

Groups = Mapping[str, tuple[str, ...]]

GROUPS: Final[Mapping[str, Groups]] = {
    "run": {
        "Network": ("--discipline", "--set", "--plugin", "--plant"),
        "Replications": ("--seed", "--seeds"),
        "Pictures": ("--figure", "--panels", "--style", "--plot"),
        "Numbers": ("--all", "--json", "--series", "--flow-series", "--transfers"),
    },
    "compare": {
        "Variants": ("--discipline", "--sender", "--set", "--plugin"),
        "Replications": ("--seeds", "--seed", "--threads"),
        "Output": ("--figure", "--style", "--link", "--phase", "--all", "--json"),
    },
    "tune": {
        "Question": ("--objective", "--constraint", "--parameter", "--space", "--discipline"),
        "Kind": ("--exactly", "--pareto", "--robust"),
        "Effort": ("--budget", "--deadline", "--seed", "--study"),
        "Output": ("--figure", "--all", "--json"),
    },
    "advise": {
        "Line": ("--rate", "--rtt", "--flows", "--delay-at-most", "--direction"),
        "Queue": ("--device", "--interface", "--interface-rate", "--now", "--now-json"),
        "Answer": ("--quick", "--deadline", "--report", "--all", "--json"),
    },
    "online": {
        "Network": ("--set", "--plugin", "--plant", "--knowledge", "--seeds", "--seed"),
        "Control": ("--mode", "--changes-per-minute", "--clock", "--deadline"),
        "Output": ("--journal", "--listen", "--report", "--figure", "--json"),
    },
    "control": {
        "Goal": ("--policy", "--line", "--direction", "--excess"),
        "Control": ("--mode", "--changes-per-minute", "--at-exit", "--for"),
        "Router": ("--credentials", "--monitor"),
        "Output": ("--journal", "--listen", "--answers", "--log-format", "--json"),
    },
    "link": {
        "Link": ("--rate", "--trace", "--delay", "--discipline", "--loss", "--jitter", "--set"),
        "Use": ("--isolated", "--peer", "--control", "--seed"),
        "Output": ("--series", "--figure", "--packets", "--json"),
    },
}
"""Groups of each command that has more options than people read at a time."""


def options_by_name(command: Any) -> dict[str, Any]:  # noqa: ANN401 - typer's own Click
    """The options of a command that are not hidden."""
    return {
        name: each
        for each in command.params
        if each.param_type_name == "option" and not each.hidden
        for name in each.opts
    }


def write_groups(command: Any, ctx: Any, formatter: Any) -> bool:  # noqa: ANN401 - as above
    """Write the options of a command in groups; whether it has any."""
    groups = GROUPS.get(command.name or "")
    if groups is None:
        return False
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    own = options_by_name(command)
    shown = {id(own[name]) for names in groups.values() for name in names}
    rest = [each for each in command.params if id(each) not in shown and each not in arguments]
    sections = {
        "Arguments": arguments,
        **{title: [own[name] for name in names] for title, names in groups.items()},
        **({"More": rest} if ctx.meta.get(_ALL) else {}),
    }
    for title, parameters in sections.items():
        rows = [record for each in parameters if (record := each.get_help_record(ctx))]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
    if not ctx.meta.get(_ALL):
        formatter.write_paragraph()
        count = sum(each.get_help_record(ctx) is not None for each in rest)
        formatter.write_text(f"{count} more options: {ctx.command_path} {HELP_ALL}")
    return True


HELP_ALL: Final = "--help-all"
_ALL: Final = "vermilion.help-all"


def help_all(ctx: Any) -> None:  # noqa: ANN401 - as above
    """Write the help of a command with every option, and end."""
    ctx.meta[_ALL] = True
    say(ctx.get_help())
    ctx.exit()
