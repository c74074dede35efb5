"""Writes the files of test vectors of shapers' laws: `python tests/vectors/reference/shaping`.

With `--check` nothing is written; the exit code is 1 if a file is not what the references give.
"""

import json
import sys
from pathlib import Path

import autorate
import service_curve

FIXED = {
    "law": "fixed",
    "source": "a rate that somebody has chosen",
    "cases": [
        {
            "name": "whatever the line does",
            "origin": "by hand",
            "about": "a wait of 200 ms, a lost probe and a counter that begins anew change nothing",
            "parameters": {"rate": 5e6},
            "events": [
                ["rate", 0, 0, {"rate": 5e6}],
                ["sent", 10_000_000, 1_000],
                ["answered", 1, 10_000_000, 50_000_000, None, 0],
                ["sent", 60_000_000, 2_000],
                ["answered", 1, 60_000_000, 300_000_000, None, 0],
                ["sent", 310_000_000, 3_000],
                ["lost", 310_000_000],
                ["rate", 5_000_000_000, 10, {"rate": 5e6}],
            ],
        }
    ],
}
FILES = (FIXED, autorate.FILE, service_curve.FILE)
FOLDER = Path(__file__).resolve().parents[2] / "shaping"


def text_of(file: dict[str, object]) -> str:
    """The file as it is stored: a line for each event."""
    head = {"format": 1, "law": file["law"], "source": file["source"]}
    lines = ["{", *(f"{json.dumps(key)}: {json.dumps(head[key])}," for key in head), '"cases": [']
    cases = file["cases"]
    for case in cases:
        rest = {key: value for key, value in case.items() if key != "events"}
        lines.append(json.dumps(rest)[:-1] + ', "events": [')
        lines += [f"{json.dumps(event)}," for event in case["events"][:-1]]
        lines += [json.dumps(case["events"][-1]), "]}" if case is cases[-1] else "]},"]
    return "\n".join([*lines, "]", "}"]) + "\n"


def main() -> int:
    stale = []
    for file in FILES:
        path, text = FOLDER / f"{file['law']}.json", text_of(file)
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        sys.stderr.write(f"not what the references give: {', '.join(stale)}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
