"""The simulator's speed against that of another commit, both by turns on one machine.

    python benches/speed_by_turns.py 7c051f3 --rounds 6 --instructions

builds the program `crates/netsim/benches/speed.rs` twice, of this checkout and of the commit that
is named (with the networks of this checkout), and runs the two by turns, network by network: then
what else happens on the machine meets both. It prints a table for docs/laboratory/performance.md:
million packets that links send a CPU second, medians, ratio of each pair of neighbours (median,
least and greatest), and with `--instructions` the instructions for a packet of a shorter run, which
valgrind counts and nothing disturbs. Results may have more fields than they had at that commit.
So a network whose results differ runs once more in both, outside the timed runs. The values that
both results have are compared, and a line says how many of them differ, with the first few.

`--binary` takes another program in place of the one of this checkout, such as one that was built
with other options.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
NETSIM = Path("crates") / "netsim"
#: So many of the values that differ are shown.
SHOWN = 3
#: Simulated seconds of the runs whose instructions are counted: most packets of most networks.
COUNTED_SECONDS = "2.5"


class Run(NamedTuple):
    """What one line of the program says."""

    packets: int
    seconds: float
    fingerprint: str

    @property
    def speed(self) -> float:
        """Million packets per CPU second."""
        return self.packets / self.seconds / 1e6


def build(checkout: Path, target: Path, *, locked: bool = True) -> Path:
    """Builds the program of a checkout; where it is."""
    command = ["cargo", "bench", "--no-run", "--package", "vermilion-netsim"]
    command += ["--locked" if locked else "--offline"]
    command += ["--bench", "speed", "--message-format", "json"]
    output = subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    messages = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    programs = [
        message["executable"]
        for message in messages
        if message.get("executable") and message["target"]["name"] == "speed"
    ]
    return Path(programs[-1])


def build_commit(commit: str, work: Path) -> Path:
    """Builds the program of another commit, with the networks of this checkout; where it is."""
    checkout = work / "before"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(checkout), commit], check=True)
    try:
        shutil.copytree(
            ROOT / NETSIM / "benches", checkout / NETSIM / "benches", dirs_exist_ok=True
        )
        # The tests that are named may not have been there.
        manifest = (ROOT / NETSIM / "Cargo.toml").read_text(encoding="utf-8")
        manifest = re.sub(r"\[\[test\]\]\n(.+\n)+", "", manifest)
        (checkout / NETSIM / "Cargo.toml").write_text(manifest, encoding="utf-8")
        # What its benchmarks needed then, and those of this checkout do not, leaves its lock file.
        program = build(checkout, work / "target", locked=False)
        return Path(shutil.copy(program, work / "speed-before"))
    finally:
        subprocess.run([*git, "remove", "--force", str(checkout)], check=True)


def run(program: Path, row: str) -> Run:
    """One run of one network."""
    line = subprocess.run([program, row], check=True, capture_output=True, text=True).stdout
    _, packets, _, seconds, fingerprint = line.split()
    return Run(int(packets), float(seconds), fingerprint)


def instructions(program: Path, row: str, work: Path) -> float:
    """Instructions for a packet of a shorter run, building included."""
    profile = work / "profile"
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
    command = [*valgrind, str(program), "--seconds", COUNTED_SECONDS, row]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    summary = next(line for line in profile.open() if line.startswith(("summary:", "totals:")))
    return int(summary.split()[1]) / int(line.split()[1])


def results_of(program: Path, row: str) -> dict[str, object] | None:
    """A network's results, each value by its path; ``None`` of a program that cannot write them."""
    command = [program, "--results", row]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    try:
        return dict(values(json.loads(text)))
    except json.JSONDecodeError:  # built before it could
        return None


def values(results: object, path: str = "") -> Iterator[tuple[str, object]]:
    """The values there are in results, with their paths; what is absent, or null, is left out."""
    if isinstance(results, dict):
        for name, each in results.items():
            yield from values(each, f"{path}.{name}" if path else name)
    elif isinstance(results, list):
        for place, each in enumerate(results):
            yield from values(each, f"{path}[{place}]")
    elif results is not None:
        yield path, results


def difference(old: dict[str, object] | None, new: dict[str, object] | None) -> str:
    """How two results whose fingerprints differ do so, in a few words."""
    if old is None or new is None:
        return "the results differ; one of the programs is too old to say where"
    common = [path for path in old if path in new]
    gone, fresh = len(old) - len(common), len(new) - len(common)
    alone = f"; {gone} were there only before, {fresh} are new" if gone or fresh else ""
    unlike = [path for path in common if old[path] != new[path]]
    if not unlike:
        return f"the {len(common)} values that both results have are the same{alone}"
    shown = ", ".join(f"{path} {old[path]} -> {new[path]}" for path in unlike[:SHOWN])
    more = ", ..." if len(unlike) > SHOWN else ""
    count = f"{len(unlike)} of the {len(common)} values that both have"
    names = {path.rpartition(".")[2] for path in unlike}
    all_called = f", all of them {names.pop()}" if len(names) == 1 else ""
    most = 100 * max(apart(old[path], new[path]) for path in unlike)
    by = f"{all_called}, by at most {most:.3g} %"
    return f"the results differ in {count}{by}: {shown}{more}{alone}"


def apart(old: object, new: object) -> float:
    """How far two values that differ do so, as a part of the larger; all of it if not numbers."""
    if not isinstance(old, int | float) or not isinstance(new, int | float):
        return 1.0
    return abs(old - new) / max(abs(old), abs(new))


def rows_of(program: Path) -> dict[str, str]:
    """The networks there are, with their titles."""
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout
    return dict(line.split("\t", 1) for line in listed.splitlines())


def main() -> None:
    """Runs what is asked for and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("commit", help="what to compare with: a commit, or a program built of one")
    parser.add_argument("rows", nargs="*", help="networks; all of them if none is named")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--binary", type=Path, help="a program in place of this checkout's")
    parser.add_argument("--instructions", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        given = Path(asked.commit)
        before = given.resolve() if given.is_file() else build_commit(asked.commit, work)
        now = asked.binary or build(ROOT, ROOT / "target")
        titles = rows_of(now)
        unknown = set(asked.rows) - set(titles)
        if unknown:
            parser.error(f"no network is called {', '.join(sorted(unknown))}: {', '.join(titles)}")
        counted = " instructions a packet before | now | ratio |" if asked.instructions else ""
        print(f"| network | before | now | times as fast |{counted}")
        print("|---|---|---|---|" + ("---|---|---|" if counted else ""))
        for row in asked.rows or titles:
            pairs = [(run(before, row), run(now, row)) for _ in range(asked.rounds)]
            ratios = [new.speed / old.speed for old, new in pairs]
            old, new = (
                statistics.median(it.speed for it in runs) for runs in zip(*pairs, strict=True)
            )
            ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            text = f"| {row}: {titles[row]} | {old:.2f} | {new:.2f} | {ratio} |"
            if asked.instructions:
                was, now_is = (instructions(program, row, work) for program in (before, now))
                text += f" {was:.0f} | {now_is:.0f} | {now_is / was:.2f} |"
            print(text, flush=True)
            if any(old.fingerprint != new.fingerprint for old, new in pairs):
                told = difference(results_of(before, row), results_of(now, row))
                print(f"{row}: {told}", file=sys.stderr)


if __name__ == "__main__":
    main()
