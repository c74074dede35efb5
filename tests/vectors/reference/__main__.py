"""Writes the files of test vectors: `python tests/vectors/reference`.

With `--check` nothing is written; the exit code is 1 if a file is not what the references give.
"""

import sys
from pathlib import Path

import adaptive_red
import avq
import blue
import cake
import choke
import cobalt
import codel
import drop_tail
import dualpi2
import fq
import fq_codel
import fq_pie
import linux_red
import lred
import nonlinear_red
import ns2_red_cases
import pd_red
import pi
import pie
import red
import red_light
import rem
import self_configuring_red
import sfb
import step
import vred
import wred

DISCIPLINES = (
    drop_tail,
    red,
    ns2_red_cases,
    self_configuring_red,
    adaptive_red,
    nonlinear_red,
    pd_red,
    vred,
    red_light,
    lred,
    linux_red,
    rem,
    pi,
    blue,
    sfb,
    avq,
    codel,
    cobalt,
    pie,
    step,
    wred,
    cake,
    choke,
    dualpi2,
    fq,
    fq_codel,
    fq_pie,
)
FOLDER = Path(__file__).resolve().parent.parent


def main() -> int:
    stale = []
    for discipline in DISCIPLINES:
        vectors = discipline.vectors()
        file = FOLDER / f"{vectors.discipline}.json"
        text = vectors.text()
        if "--check" not in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(file.name)
    if stale:
        sys.stderr.write(f"not what the references give: {', '.join(stale)}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
