"""Dead man's rule: a process of its own that leaves a safe rate behind.

    python -m vermilion.line.guardian linux:eth0

It is told the safe rate as a line of text each second. Where the lines end without the word
"end", or none comes for some seconds, whoever kept the rate is dead or hangs in the middle of a
movement, and the last safe rate is set.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from typing import Final

from vermilion.routers.base import RouterError

_PATIENCE_S: Final = 5.0
_LINE_BYTES: Final = 4096


class Guardian:
    """The guardian of one shaper.

    Args:
        address: of the shaper.
    """

    def __init__(self, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vermilion.line.guardian", address],
            bufsize=0,
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
            start_new_session=True,  # Ctrl-C is for whoever has started it
        )

    def tell(self, word: str) -> bool:
        """Tell the safe rate, "hold" or "end"; whether it still listens."""
        if self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(f"{word}\n".encode())
        except OSError:
            return False
        return True

    def end(self) -> None:
        """End it: there is nothing to guard any more."""
        self.tell("end")
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _guard(address: str) -> None:
    from vermilion.routers.linux.shaper_rate import LinuxShaper

    safe, is_set = "", False
    while True:
        readable, _, _ = select.select([sys.stdin], [], [], _PATIENCE_S)
        text = os.read(sys.stdin.fileno(), _LINE_BYTES) if readable else b""
        words = text.split()
        if words and words[-1] == b"end":
            return
        if words:  # "hold": somebody else sets the rate now
            safe = "" if words[-1] == b"hold" else words[-1].decode()
            is_set = False
        elif safe and not is_set:
            is_set = True
            try:
                LinuxShaper(address).set_rate(float(safe))
            except (RouterError, ValueError) as error:
                sys.stderr.write(f"{error}\n")
        if readable and not words:
            return


if __name__ == "__main__":
    _guard(sys.argv[1])
