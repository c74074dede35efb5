"""Writes the files of senders' test vectors: `python tests/vectors/reference/senders`.

With `--check` nothing is written; the exit code is 1 if a file is not what the references give.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import bbr_network
import cubic
import dctcp
import ledbat
import prague
import rem
import vegas

SENDERS = {
    "cubic": cubic,
    "dctcp": dctcp,
    "prague": prague,
    "rem": rem,
    "ledbat": ledbat,
    "vegas": vegas,
    "bbr": bbr_network,
}
FOLDER = Path(__file__).resolve().parent.parent.parent / "senders"


def main() -> int:
    stale = []
    for name, reference in SENDERS.items():
        file, text = FOLDER / f"{name}.json", reference.vectors()
        if "--check" not in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(file.name)
    if stale:
        sys.stderr.write(f"not what the references give: {', '.join(stale)}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
