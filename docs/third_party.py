"""Writes THIRD-PARTY: whose code the compiled core contains, and under which licence.

    python docs/third_party.py           # writes it anew
    python docs/third_party.py --check   # says whether it is right; exit code 1 if not

The licences are looked up in the sources that cargo has fetched. Crates that only run while the
core is built (macros and what these use) are in nobody's binary and are left out. Of a choice of
licences the Apache License 2.0 is taken, whose text is LICENSE, or else MIT's; of any but the first
the text is given in full, as it demands.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "THIRD-PARTY"
TARGET = "x86_64-unknown-linux-gnu"
OURS = "vermilion-python"
HEAD = """Whose code is in Vermilion besides its own, made by docs/third_party.py.

The compiled core (vermilion/_core.abi3.so) contains Rust's standard library
(https://www.rust-lang.org, MIT OR Apache-2.0) and the crates below, from https://crates.io. The
live page contains uPlot, under the MIT licence, whose text lies beside it
(vermilion/status/live_page/static).
"""


def linked() -> list[dict[str, Any]]:
    """The packages whose code is in the core, by name."""
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", TARGET]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    metadata = json.loads(found.stdout)
    packages = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    ahead = [key for key, each in packages.items() if each["name"] == OURS]
    seen: set[str] = set()
    while ahead:
        key = ahead.pop()
        macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key in seen or macro:
            continue
        seen.add(key)
        ahead += [
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
    others = (packages[key] for key in seen if packages[key]["source"] is not None)
    return sorted(others, key=lambda each: str(each["name"]))


def taken(package: dict[str, Any]) -> str:
    """The licence under which it is used: Apache's where it is offered, else MIT's."""
    offered = str(package["license"])
    choices = [choice.strip() for choice in offered.replace("/", " OR ").split(" OR ")]
    return next((each for each in ("Apache-2.0", "MIT") if each in choices), offered)


def licence_text(package: dict[str, Any]) -> str:
    """The text that its authors ask to be handed on."""
    folder = Path(package["manifest_path"]).parent
    [file] = [each for each in sorted(folder.iterdir()) if each.name.upper().startswith("LICENSE")]
    lines = file.read_text(encoding="utf-8").strip().splitlines()
    return "\n".join(line.rstrip() for line in lines)


def text() -> str:
    """The whole file."""
    packages = linked()
    parts = [HEAD, "Under the Apache License 2.0 (LICENSE):\n"]
    parts += [
        f"- {each['name']} {each['version']}, {each['repository']}"
        for each in packages
        if taken(each) == "Apache-2.0"
    ]
    for each in packages:
        if taken(each) != "Apache-2.0":
            title = f"{each['name']} {each['version']}, {each['repository']} ({taken(each)}):"
            parts += ["", title, "", licence_text(each)]
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes or compares."""
    made = text()
    if "--check" not in sys.argv[1:]:
        FILE.write_text(made, encoding="utf-8")
    elif not FILE.exists() or FILE.read_text(encoding="utf-8") != made:
        sys.stderr.write(f"{FILE.name} is not what the core contains: run {Path(__file__).name}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
