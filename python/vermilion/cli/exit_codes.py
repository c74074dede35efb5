"""What a command tells the shell at its end, beside 0 for done."""

from __future__ import annotations

from typing import Final

EXIT_MISTAKE: Final = 2
"""A user's mistake, with one line saying which."""

EXIT_NOT_RESTORED: Final = 12
"""A controller was to put back the first setting when it ended, and could not."""

EXIT_INTERRUPTED: Final = 130
"""128 + SIGINT: interrupted with Ctrl-C."""

EXIT_BROKEN_PIPE: Final = 141
"""128 + SIGPIPE: what a shell reports of a program whose reader has gone."""
