"""A bench: what is held, its runs on all cores, and the folder from which it goes on."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import shlex
import signal
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from vermilion.bench.measures import Measures, measured
from vermilion.bench.suite import (
    Case,
    cases,
    contestants,
    number_of_seeds,
    rivals,
    suite_version,
)
from vermilion.files.whole_file import whole_file
from vermilion.scenario.plugins import load_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from vermilion.bench.suite import Kind

MANIFEST: Final = "manifest.json"

FAIRNESS: Final = (
    "Nobody is tuned: each contestant, one's own too, has the defaults of its table. All run on "
    "the same host (Linux's timers, initial window and receivers), over the same buffers and with "
    "the same seeds, so they meet the same starts and the same transfers."
)
"""Treatment of rivals, for the page and the manifest."""


class BenchError(ValueError):
    """A bench that cannot be held; ``str()`` is the line to show."""


@dataclass(frozen=True, slots=True)
class Task:
    """A case for one contestant, or for two in a duel, with all seeds."""

    case: Case
    label: str
    algorithm: str
    against: str = ""
    against_algorithm: str = ""

    @property
    def name(self) -> str:
        """Name of its file of measures."""
        words = [self.case.name, self.label, self.against]
        return ".".join(_file_word(each) for each in words if each)


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench of the suite.

    Attributes:
        kind: of the contestants, "sender" or "discipline".
        entrants: algorithms by label, one's own first.
        plugins: files that have to be loaded.
        quick: whether the short suite is held.
        seeds: of each case.
        command: that began it.
    """

    kind: Kind
    entrants: Mapping[str, str]
    plugins: tuple[str, ...] = ()
    quick: bool = False
    seeds: tuple[int, ...] = ()
    command: str = ""
    _own: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own", next(iter(self.entrants)))

    @classmethod
    def of(
        cls,
        *,
        sender: str = "",
        discipline: str = "",
        plugins: Sequence[str] = (),
        quick: bool = False,
        command: str = "",
    ) -> Bench:
        """A bench of a sender or a discipline beside the suite's rivals.

        Args:
            sender: of one's own, or one of the core's, as :func:`vermilion.compare` names it;
                without either the first of the plug-ins.
            discipline: likewise.
            plugins: files with it, which are loaded.
            quick: whether the short suite is held.
            command: that is written down.

        Raises:
            BenchError: both, or none.
            ScenarioError: a plug-in, sender or discipline that is not accepted.
        """
        if sender and discipline:
            message = "a bench is for a sender or for a discipline; expected one of them"
            raise BenchError(message)
        load_plugins(plugins)
        if not sender and not discipline:
            sender, discipline = _first_of(plugins)
        kind: Kind = "sender" if sender else "discipline"
        entrants = contestants(sender or discipline, rivals(kind))
        seeds = tuple(range(1, number_of_seeds(quick=quick) + 1))
        bench = cls(kind, entrants, tuple(map(str, plugins)), quick, seeds, command)
        for algorithm in entrants.values():
            bench.held[0].scenario(kind, algorithm)  # refuses before the work what it would in it
        return bench

    @property
    def held(self) -> list[Case]:
        """Cases that are held."""
        return cases(self.kind, quick=self.quick)

    def tasks(self) -> list[Task]:
        """Tasks to be run; a fabric has no sender written in Python."""
        from vermilion.scenario.own_congestion_control import is_own

        found = []
        names = list(self.entrants.items())
        for case in self.held:
            if case.family.pairs:
                found += [
                    Task(case, label, algorithm, other, other_algorithm)
                    for (label, algorithm), (other, other_algorithm) in (
                        combinations_with_replacement(names, 2)
                    )
                ]
                continue
            found += [
                Task(case, label, algorithm)
                for label, algorithm in names
                if not (case.family.fabric and is_own(algorithm.partition(":")[0]))
            ]
        return found

    def run(
        self,
        folder: str | Path,
        *,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> dict[str, list[Measures]]:
        """Run what is not yet in the folder, and return all measures by task.

        What was measured stays in the folder when it is interrupted, and the same call goes on.

        Args:
            folder: is made if it is not there.
            threads: processes at a time; ``None`` for one on each core.
            progress: called with the number of tasks done.

        Raises:
            BenchError: the folder holds another bench.
            ScenarioError: what a contestant refuses.
            OSError: a file cannot be written.
            KeyboardInterrupt: at Ctrl-C.
        """
        folder = Path(folder)
        self._begin(folder)
        found: dict[str, list[Measures]] = {}
        missing = []
        for task in self.tasks():
            kept = folder / "runs" / f"{task.name}.json"
            if kept.exists():
                found[task.name] = json.loads(kept.read_text(encoding="utf-8"))["seeds"]
            else:
                missing.append(task)
        if progress is not None:
            progress(len(found))
        for task, seeds in self.measure(missing, threads=threads):
            document = {
                "case": task.case.name,
                "contestant": task.label,
                **({"against": task.against} if task.against else {}),
                "seeds": seeds,
            }
            with whole_file(folder / "runs" / f"{task.name}.json") as file:
                file.write(json.dumps(document))
            found[task.name] = json.loads(json.dumps(seeds))
            if progress is not None:
                progress(len(found))
        return {task.name: found[task.name] for task in self.tasks()}

    def measure(
        self, tasks: Sequence[Task], *, threads: int | None = None
    ) -> Iterator[tuple[Task, list[Measures]]]:
        """Run tasks in processes, and yield each with its measures as it is done.

        Raises:
            ScenarioError: what a contestant refuses.
            KeyboardInterrupt: at Ctrl-C.
        """
        threads = threads or os.cpu_count() or 1
        work = partial(_measured_task, self.kind, self.seeds)
        if threads == 1 or len(tasks) <= 1:
            for task in tasks:
                yield task, work(task)
            return
        # Those that take longest, in Python, come first.
        rest = sorted(tasks, key=lambda task: self._own not in {task.label, task.against})
        pool = ProcessPoolExecutor(
            threads, multiprocessing.get_context("spawn"), _begin_worker, (self.plugins,)
        )
        try:
            waiting = {pool.submit(work, task): task for task in rest}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def manifest(self) -> dict[str, Any]:
        """Contestant as it is held again."""
        from vermilion import _core

        return {
            "suite": suite_version(),
            "quick": self.quick,
            "kind": self.kind,
            "contestants": dict(self.entrants),
            "seeds": list(self.seeds),
            "version": _core.VERSION,
            "platform": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "command": self.command,
            "fairness": FAIRNESS,
            "plugins": [
                {"file": f"plugins/{Path(each).name}", "sha256": _sha256(Path(each))}
                for each in self.plugins
            ],
            "scenarios": {case.name: f"scenarios/{case.name}.toml" for case in self.held},
        }

    def _begin(self, folder: Path) -> None:
        """Write the manifest, plug-ins and scenarios, or check that they are this bench's."""
        manifest = self.manifest()
        kept = folder / MANIFEST
        if kept.exists():
            before = read_manifest(folder)
            for name in ("suite", "quick", "kind", "contestants", "seeds", "version", "plugins"):
                if before.get(name) != manifest[name]:
                    message = (
                        f'"{folder}" holds another bench ({name}: {_short(before.get(name))}, here '
                        f"{_short(manifest[name])}); expected a new folder"
                    )
                    raise BenchError(message)
            return
        for name in ("runs", "plugins", "scenarios"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for each in self.plugins:
            with whole_file(folder / "plugins" / Path(each).name, binary=True) as copied:
                copied.write(Path(each).read_bytes())
        for case in self.held:
            with whole_file(folder / "scenarios" / f"{case.name}.toml") as file:
                file.write(case.text)
        with whole_file(kept) as file:
            file.write(json.dumps(manifest, indent=2) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder.

    Raises:
        BenchError: there is none, or it cannot be read.
    """
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or "suite" not in found:
        message = f'"{folder}" is not accepted; expected a folder of vermilion bench'
        raise BenchError(message)
    return found


def bench_of_folder(folder: Path) -> Bench:
    """The bench that a folder holds, with its own copies of the plug-ins.

    Raises:
        BenchError: it is no folder of a bench.
        ScenarioError: a plug-in that cannot be loaded.
    """
    manifest = read_manifest(folder)
    plugins = tuple(str(folder / each["file"]) for each in manifest["plugins"])
    load_plugins(plugins)
    return Bench(
        cast("Kind", manifest["kind"]),
        manifest["contestants"],
        plugins,
        bool(manifest["quick"]),
        tuple(manifest["seeds"]),
        manifest["command"],
    )


def command_of(
    plugins: Sequence[str], sender: str, discipline: str, folder: str, *, quick: bool
) -> str:
    """The command that holds a bench."""
    words = ["vermilion", "bench"]
    words += [word for each in plugins for word in ("--plugin", each)]
    for option, given in (("--sender", sender), ("--discipline", discipline), ("-o", folder)):
        words += [option, given] if given else []
    return shlex.join([*words, *(["--quick"] if quick else [])])


def _begin_worker(plugins: Sequence[str]) -> None:
    """Load the plug-ins; Ctrl-C is for the process that has the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_plugins(plugins)


def _measured_task(kind: Kind, seeds: Sequence[int], task: Task) -> list[Measures]:
    return [
        {"seed": seed, **measured(task.case, kind, task.algorithm, task.against_algorithm, seed)}
        for seed in seeds
    ]


def _first_of(plugins: Sequence[str]) -> tuple[str, str]:
    """The first congestion control of the plug-ins, or their first discipline."""
    from vermilion.scenario.own_congestion_control import is_own

    names = load_plugins(plugins)
    for name in names:
        if is_own(name):
            return name, ""
    if not names:
        message = "--sender or --discipline: expected the name of one, or a --plugin with one"
        raise BenchError(message)
    return "", names[0]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _file_word(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text)


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - of a line
