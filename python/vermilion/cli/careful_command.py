"""What every command looks at before it does anything."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from vermilion.cli.kept_inputs import check_inputs_are_kept
from vermilion.cli.said_once import check_said_once


class CarefulCommand(TyperCommand):
    """A command that refuses what would be lost without a word."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer has no public name for it
        """Reads the options, none of which may hide another.

        Raises:
            UserError: one would.
        """
        check_said_once(self.params, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        """Compares the files that are named, then does what the command does.

        Raises:
            UserError: a result would replace one of them.
        """
        check_inputs_are_kept(self.params, ctx.params)
        return super().invoke(ctx)
