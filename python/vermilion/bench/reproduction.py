"""Running again what a folder of a bench, or the JSON of a comparison, holds: what differs?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vermilion.bench.bench import BenchError, bench_of_folder, read_manifest
from vermilion.report.comparison import compare_variants
from vermilion.scenario import scenario_from_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Outcome of running everything again.

    Attributes:
        runs: how many were run.
        differences: what differs, a line each: where, what it was, what it is.
        remarks: other versions than those that made it.
    """

    runs: int
    differences: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def identical(self) -> bool:
        """Return whether every bit is as it was."""
        return not self.differences


def reproduce(
    target: str | Path,
    *,
    threads: int | None = None,
    progress: Callable[[int], object] | None = None,
) -> Reproduction:
    """Run again what a folder of ``vermilion bench`` or a file of ``compare --json`` holds.

    Args:
        target: the folder or the file.
        threads: as for a bench.
        progress: called with the number of tasks done.

    Raises:
        BenchError: it is neither.
        ScenarioError: what it holds is not accepted by this version.
        KeyboardInterrupt: at Ctrl-C.
    """
    path = Path(target)
    if path.is_file():
        return _reproduce_comparison(path, threads=threads)
    manifest = read_manifest(path)
    bench = bench_of_folder(path)
    now = bench.manifest()
    remarks = [
        f"{name}: {json.dumps(manifest[name])} then, {json.dumps(now[name])} now"
        for name in ("suite", "version", "platform", "python", "plugins")
        if manifest[name] != now[name]
    ]
    texts = {case.name: case.text for case in bench.held}
    differences = []
    for name, file in manifest["scenarios"].items():
        kept = path / file
        if not kept.exists() or kept.read_text(encoding="utf-8") != texts.get(name):
            differences.append(f"{file}: not the suite's scenario")
    done = 0
    for task, seeds in bench.measure(bench.tasks(), threads=threads):
        done += 1
        if progress is not None:
            progress(done)
        kept = path / "runs" / f"{task.name}.json"
        if not kept.exists():
            differences.append(f"{task.name}: not in the folder")
            continue
        before = json.loads(kept.read_text(encoding="utf-8"))["seeds"]
        found = list(_differing(before, json.loads(json.dumps(seeds)), ""))
        # The digest speaks for all that has no line of its own.
        lines = [each for each in found if "digest" not in each] or found
        differences += [f"{task.name}: {each}" for each in lines[:3]]
    return Reproduction(done * len(bench.seeds), tuple(sorted(differences)), tuple(remarks))


def _reproduce_comparison(path: Path, *, threads: int | None) -> Reproduction:
    """Run a comparison's JSON again.

    Raises:
        BenchError: it is none.
    """
    from vermilion import _core

    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        parts: list[dict[str, Any]] = document.get("comparisons", [document])
        plugins = [each for part in parts for each in part["plugins"]]
        runs = sum(len(part["variants"]) * len(part["seeds"]) for part in parts)
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        message = (
            f'"{path}" is not accepted; expected a folder of vermilion bench, or a JSON of compare'
        )
        raise BenchError(message) from None
    _load_sources(plugins)
    differences, remarks = [], []
    for part in parts:
        if part["version"] != _core.VERSION:
            remarks.append(f"version: {part['version']} then, {_core.VERSION} now")
        variants = {
            each["name"]: scenario_from_document(each["scenario"], part["origin"])
            for each in part["variants"]
        }
        outcome = compare_variants(
            variants, part["seeds"], flow_delays=part["flow_delays"], threads=threads
        )
        again = json.loads(json.dumps(outcome.to_dict()))
        before = {name: part[name] for name in ("seeds", "variants")}
        now = {name: again[name] for name in ("seeds", "variants")}
        differences += [f"{part['origin']}{each}" for each in _differing(before, now, "")]
    return Reproduction(runs, tuple(differences), tuple(dict.fromkeys(remarks)))


def _load_sources(plugins: list[dict[str, str]]) -> None:
    """Load plug-ins from the texts that a JSON holds."""
    from tempfile import TemporaryDirectory

    from vermilion.scenario.plugins import load_plugins

    with TemporaryDirectory() as folder:
        for each in {plugin["sha256"]: plugin for plugin in plugins}.values():
            file = Path(folder) / Path(each["file"]).name
            file.write_text(each["source"], encoding="utf-8")
            load_plugins([file])


def _differing(before: object, now: object, place: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _differing(before.get(key), now.get(key), f"{place}.{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _differing(one, other, f"{place}[{number}]")
    elif before != now:
        yield f"{place}: {json.dumps(before)} then, {json.dumps(now)} now"
