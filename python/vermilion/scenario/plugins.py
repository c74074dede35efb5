"""Files of Python that a user brings along, with disciplines and congestion controls of his own.

A file is run once; every class in it that is derived from :class:`Discipline`,
:class:`Scheduler` or :class:`CongestionControl`, has a name and is not imported from elsewhere is
registered. Functions that are decorated with :func:`packet_predicate` register themselves. A file
can also be a library of Rust (``vermilion new --rust``), which has one discipline or congestion
control.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vermilion.scenario import algorithms
from vermilion.scenario.errors import (
    CongestionControlError,
    DisciplineError,
    ScenarioError,
    from_core,
)
from vermilion.scenario.own_congestion_control import CongestionControl, register_congestion_control
from vermilion.scenario.own_discipline import Discipline, Scheduler, register_discipline
from vermilion.scenario.own_predicate import names_in

if TYPE_CHECKING:
    from collections.abc import Iterable


def registered_name(own: type) -> str:
    """Register a discipline or a congestion control; return its name.

    Raises:
        ScenarioError: it is neither, or it is refused.
    """
    if issubclass(own, Discipline | Scheduler):
        return register_discipline(own).name
    if issubclass(own, CongestionControl):
        return register_congestion_control(own).name
    accepted = "a class derived from vermilion.Discipline, Scheduler or CongestionControl"
    raise ScenarioError("class", own.__name__, accepted)


_LIBRARIES: Final = {".so", ".dylib", ".dll"}

_loaded: dict[Path, dict[str, str]] = {}


def loaded_files() -> tuple[Path, ...]:
    """The files that were loaded so far, for another process to load."""
    return tuple(_loaded)


def plugin_sources() -> list[dict[str, str]]:
    """File, SHA-256 and text of each file as it was loaded, for whoever repeats a run.

    A library has no text.
    """
    return [dict(each) for each in _loaded.values()]


def _remember(path: Path) -> None:
    path = path.resolve()
    content = path.read_bytes()
    source = "" if path.suffix in _LIBRARIES else content.decode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    _loaded[path] = {"file": str(path), "sha256": digest, "source": source}


def load_plugins(files: Iterable[str | Path]) -> list[str]:
    """Register the classes and functions of files and return their names.

    Raises:
        ScenarioError: a file that cannot be read or run, has nothing to register, or what is
            refused.
    """
    return [name for file in files for name in _load(Path(file))]


def _load(path: Path) -> list[str]:
    name = f"vermilion_plugin_{path.stem}"
    specification = spec_from_file_location(name, path) if path.suffix == ".py" else None
    if not path.exists():
        raise ScenarioError("plugin", str(path), "a file that is there; this one is not")
    if path.suffix in _LIBRARIES:
        return [_load_library(path)]
    if not path.is_file() or specification is None or specification.loader is None:
        raise ScenarioError("plugin", str(path), "a file of Python (.py), or a library (.so)")
    module = module_from_spec(specification)
    # Copying and explaining look a class's module up by its name.
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except ScenarioError:
        raise
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        what = "".join(traceback.format_exception_only(error)).strip()
        lines = [
            line.lineno
            for line in traceback.extract_tb(error.__traceback__)
            if Path(line.filename).resolve() == path.resolve()
        ]
        if isinstance(error, SyntaxError):
            # Its own words quote the line below the message, with a mark below that.
            what = f"{type(error).__name__}: {error.msg}"
            if error.filename and Path(error.filename).resolve() == path.resolve():
                lines.append(error.lineno)
        where = f" (line {lines[-1]})" if lines else ""
        accepted = f"a file of Python that runs: {what}{where}"
        raise ScenarioError("plugin", str(path), accepted) from error
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Discipline | Scheduler | CongestionControl)
        and value.__module__ == name
        and hasattr(value, "name")
    ]
    conditions = names_in(vars(module))
    if not own and not conditions:
        accepted = (
            "a file with a named class derived from vermilion.Discipline, vermilion.Scheduler or "
            "vermilion.CongestionControl, or a function decorated with "
            "vermilion.packet_predicate"
        )
        raise ScenarioError("plugin", str(path), accepted)
    _remember(path)
    return [*(registered_name(value) for value in own), *conditions]


def _load_library(path: Path) -> str:
    import ctypes

    from vermilion import _core

    try:
        library = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        accepted = f"a library that this machine can load: {error}"
        raise ScenarioError("plugin", str(path), accepted) from None
    try:
        describe = library.vermilion_plugin
    except AttributeError:
        accepted = (
            'a library with the symbol "vermilion_plugin", as "vermilion new --rust" begins one'
        )
        raise ScenarioError("plugin", str(path), accepted) from None
    describe.restype = ctypes.c_void_p
    try:
        name, _ = _core.register_library(describe() or 0, DisciplineError, CongestionControlError)
    except _core.ParameterError as error:
        raise from_core(error, str(path)) from None
    algorithms.disciplines.cache_clear()
    algorithms.senders.cache_clear()
    _remember(path)
    return name
