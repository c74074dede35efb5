"""A study: a tuning kept in a file while it goes, so that it can be stopped at any moment.

See :mod:`vermilion.tuning.memory` for why the outcomes of the simulations are all that is
needed to go on exactly. What the search has used is kept beside them for reports; when a study is
gone on with, it must come out the same, or the file does not belong to this tuning.
"""

from __future__ import annotations

import json
import math
import sqlite3
import zlib
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, cast

from vermilion.files.document import read_as
from vermilion.files.sqlite import bounded
from vermilion.tuning.fidelity import FidelityReport
from vermilion.tuning.memory import KeptSimulation
from vermilion.tuning.study_file import (
    RUNS_BESIDE,
    StudyError,
    damaged,
    has_runs_beside,
    open_to_write,
    packed,
    unpacked,
)
from vermilion.tuning.study_plan import StudyPlan

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from vermilion.simulate.result_data import ResultData
    from vermilion.tuning.candidates import Setting
    from vermilion.tuning.memory import SimulatedFor, Used

DEFAULT_NAME: Final = "tuning"
"""Of a file's first study, unless told otherwise."""


class Concluded(Protocol):
    """Outcome of a tuning."""

    def to_json(self, indent: int | None = 2) -> str:
        """Return the JSON form."""


class Study:
    """A tuning in a file.

    A context manager. Give it to :func:`vermilion.tuning.tune`, or its sisters for several
    scenarios and for a front, which begins it or goes on with it.

    Args:
        path: of the file; it is made when the tuning begins.
        name: of the study, for a file may hold several; not needed where there is only one.

    Attributes:
        path: as given.
        name: of the study.
        plan: what it is of; ``None`` if it has not begun.
        budget: settings that the search could use in the last session; ``None`` likewise.

    Raises:
        StudyError: the file cannot be used, or it holds several studies and none is named.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self.path = Path(path)
        self.plan: StudyPlan | None = None
        self.budget: int | None = None
        self._database: sqlite3.Connection | None = None
        self._id = 0
        # The parent is looked at here so that no work is lost.
        if "\0" in str(path) or not self.path.parent.is_dir():
            message = f'"{path}" cannot be written (no such directory); expected a file name'
            raise StudyError(message)
        names: list[str] = []
        if self.path.exists() and (self.path.is_dir() or self.path.stat().st_size):
            self._database = open_to_write(self.path)
            with self._reading():
                rows = self._database.execute("SELECT name FROM study ORDER BY id")
                names = [str(row[0]) for row in rows]
        if name is None and len(names) > 1:
            self.close()
            message = (
                f'"{path}" holds several studies; expected the name of one: {", ".join(names)}'
            )
            raise StudyError(message)
        self.name = name or (names[0] if names else DEFAULT_NAME)
        if self.name in names:
            self._load()

    def begin(self, plan: StudyPlan, budget: int) -> StudyPlan:
        """Begins the study, or goes on with it.

        Returns:
            The plan to follow: the study's own, with the earlier answers that it began with.

        Raises:
            StudyError: the study is of another tuning, it has used more than this budget, or the
                file cannot be written.
        """
        if self._database is None:
            self._database = open_to_write(self.path)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        if self.plan is not None:
            difference = self.plan.difference(plan)
            if difference is not None:
                message = (
                    f'"{self.path}", study "{self.name}": {difference}; expected the same '
                    "tuning, another study name, or a new file"
                )
                raise StudyError(message)
            self._check_budget(budget)
            with self._transaction() as database:
                database.execute(
                    "UPDATE study SET changed_utc = ?, budget = ? WHERE id = ?",
                    (now, budget, self._id),
                )
                if plan.kind == "front" and budget != self.budget:
                    # Its searches share the budget, so with another one they ask for others.
                    database.execute("DELETE FROM evaluation WHERE study = ?", (self._id,))
            self.budget = budget
            return self.plan
        with self._transaction() as database:
            cursor = database.execute(
                "INSERT INTO study (name, begun_utc, changed_utc, plan, budget) "
                "VALUES (?, ?, ?, ?, ?)",
                (self.name, now, now, plan.to_json(), budget),
            )
            self._id = int(cursor.lastrowid or 0)
        self.plan = plan
        return plan

    def recall(
        self, length: float, setting: Setting, seeds: Sequence[int], scenario: int = 0
    ) -> Mapping[int, KeptSimulation]:
        """Return the known simulations of a setting, by seed."""
        key = self._key(setting)
        known: dict[int, KeptSimulation] = {}
        with self._reading() as database:
            for seed in seeds:
                row = database.execute(
                    "SELECT objective, constrained, not_measured, data FROM simulation "
                    "WHERE study = ? AND scenario = ? AND length = ? AND setting = ? AND seed = ?",
                    (self._id, scenario, length, key, str(seed)),
                ).fetchone()
                if row is not None:
                    known[seed] = self._outcome(scenario, *row)
        return known

    def keep(
        self,
        length: float,
        made_for: SimulatedFor,
        outcomes: Iterable[tuple[Setting, int, KeptSimulation]],
        scenario: int = 0,
    ) -> None:
        """Remembers simulations: see :class:`vermilion.tuning.memory.Memory`."""
        rows = [
            (
                self._id,
                scenario,
                length,
                self._key(setting),
                str(seed),
                made_for,
                outcome.objective,
                json.dumps(outcome.constrained),
                outcome.not_measured,
                None if outcome.data is None else json.dumps(outcome.data),
            )
            for setting, seed, outcome in outcomes
        ]
        with self._transaction() as database:
            # What is known already was simulated again for all that was measured.
            database.executemany(
                "INSERT INTO simulation (study, scenario, length, setting, seed, made_for, "
                "objective, constrained, not_measured, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET data = coalesce(excluded.data, data)",
                rows,
            )

    def use(self, used: Sequence[Used]) -> None:
        """Remembers what the search has used: see :class:`.measure.memory.Memory`."""
        with self._transaction() as database:
            for each in used:
                key = self._key(each.setting)
                before = database.execute(
                    "SELECT setting, told FROM evaluation WHERE study = ? AND number = ?",
                    (self._id, each.number),
                ).fetchone()
                if before is None:
                    database.execute(
                        "INSERT INTO evaluation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        (
                            self._id,
                            each.number,
                            key,
                            each.length,
                            each.seeds,
                            each.told,
                            each.objective,
                            each.violation,
                            each.simulations,
                        ),
                    )
                elif before != (key, each.told):
                    what = f"setting {each.number} is not the one that its search tries"
                    raise damaged(self.path, what)

    def fidelity(self) -> FidelityReport | None:
        """Earlier decision on short simulations; ``None`` before that."""
        with self._reading() as database:
            (text,) = database.execute(
                "SELECT fidelity FROM study WHERE id = ?", (self._id,)
            ).fetchone()
            return None if text is None else read_as(FidelityReport, text)

    def keep_fidelity(self, report: FidelityReport) -> None:
        """Remembers what was found about short simulations."""
        self._update("fidelity", json.dumps(asdict(report)))

    def recall_run(self, key: str) -> Mapping[str, Any] | None:
        """A run beside the tuning's own: see :mod:`vermilion.tuning.memory`."""
        with self._reading() as database:
            if not has_runs_beside(database):
                return None
            row = database.execute(
                "SELECT data FROM beside WHERE study = ? AND run = ?", (self._id, key)
            ).fetchone()
            return None if row is None else unpacked(row[0])

    def keep_runs(self, runs: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Remembers runs beside the tuning's own: likewise."""
        rows = [(self._id, key, packed(data)) for key, data in runs]
        with self._transaction() as database:
            database.execute(RUNS_BESIDE)
            database.executemany("INSERT OR REPLACE INTO beside VALUES (?, ?, ?)", rows)

    def conclude(self, recommendation: Concluded) -> None:
        """Remembers what the tuning has come to."""
        self._update("recommendation", recommendation.to_json(None))

    def close(self) -> None:
        """Closes the file; nothing waits to be written."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _check_budget(self, budget: int) -> None:
        """Refuses a budget with which less would come out than the study has already.

        Raises:
            StudyError: saying which would be accepted.
        """
        with self._reading() as database:
            (least,) = database.execute(
                "SELECT count(*) FROM evaluation WHERE study = ?", (self._id,)
            ).fetchone()
            (text,) = database.execute(
                "SELECT recommendation FROM study WHERE id = ?", (self._id,)
            ).fetchone()
            if self.plan is not None and self.plan.kind == "front":
                # Its searches begin again with another budget; what is unfinished loses nothing.
                finished = text is not None and json.loads(text)["end"] == "budget"
                least = self.budget if finished and self.budget is not None else 0
        if budget < least:
            message = (
                f'"{self.path}", study "{self.name}": a budget of {budget} is not '
                f"accepted; expected at least {least}"
            )
            raise StudyError(message)

    def _load(self) -> None:
        with self._reading() as database:
            identity, text, budget = database.execute(
                "SELECT id, plan, budget FROM study WHERE name = ?", (self.name,)
            ).fetchone()
            self._id, self.budget = int(identity), int(budget)
            self.plan = StudyPlan.from_json(text)

    def _key(self, setting: Setting) -> str:
        """A setting as text: equal ones have the same."""
        names = () if self.plan is None else self.plan.parameters
        return json.dumps(
            [None if (value := setting[name]) is None else float(value) for name in names]
        )

    def _update(self, column: str, text: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._transaction() as database:
            database.execute(
                f"UPDATE study SET {column} = ?, changed_utc = ? WHERE id = ?",  # noqa: S608 - ours
                (text, now, self._id),
            )

    def _outcome(
        self,
        scenario: int,
        objective: float,
        constrained: str,
        absent: str | None,
        data: str | None,
    ) -> KeptSimulation:
        values = json.loads(constrained)
        plan = self.plan
        if math.isnan(objective) or plan is None or len(values) != plan.values_kept(scenario):
            message = "a simulation without its values"
            raise ValueError(message)
        return KeptSimulation(
            float(objective),
            values,
            absent,
            None if data is None else cast("ResultData", dict(json.loads(data))),
        )

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            message = f'"{self.path}" is closed'
            raise StudyError(message)
        return self._database

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The database; whatever cannot be read from it is the file's fault."""
        database = self._opened()
        try:
            with bounded(database):
                yield database
        except StudyError:
            raise
        except (
            sqlite3.Error,
            zlib.error,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
        ) as error:
            raise damaged(self.path, error) from None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Transaction: all writes inside take effect together, or none does."""
        database = self._opened()
        try:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")
        except sqlite3.Error as error:
            message = f'"{self.path}" cannot be written ({error})'
            raise StudyError(message) from None
