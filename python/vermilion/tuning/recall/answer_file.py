"""A file of earlier answers (JSON), which tunings begin with and add to."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.file_lock import give_back, take
from vermilion.files.whole_file import whole_file
from vermilion.tuning.recall.answers import EarlierAnswer, EarlierAnswers
from vermilion.tuning.recall.conditions import ScenarioConditions, distance

if TYPE_CHECKING:
    import os

MOST_ANSWERS: Final = 1000
"""Kept in a file; the oldest are forgotten first."""

_VERSION: Final = 1


class AnswerFileError(ValueError):
    """A file that holds no answers; the message says which and what was expected."""


class AnswerFile:
    """Earlier answers to scenarios.

    Args:
        path: of the file; it need not exist yet.

    Raises:
        AnswerFileError: it cannot be read, or holds something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.answers = _read(self.path)

    def nearest(
        self, conditions: ScenarioConditions, most: int = 3
    ) -> list[tuple[float, EarlierAnswer[ScenarioConditions]]]:
        """The answers for the most similar conditions, each after its distance."""
        return self.answers.nearest(lambda other: distance(conditions, other), most)

    def add(self, answer: EarlierAnswer[ScenarioConditions]) -> None:
        """Adds an answer to what the file has by now, and writes it again in one piece.

        A tuning takes minutes, and others may have added theirs since the file was read. Two that
        end together wait for each other.

        Raises:
            AnswerFileError: the file holds something else by now.
            OSError: it cannot be written.
        """
        target = self.path.resolve()
        lock = target.with_name(f".{target.name}-lock")
        held = take(lock, waits=True)
        try:
            self.answers = _read(self.path)
            self.answers.keep(answer)
            self._write()
        finally:
            give_back(lock, held)

    def _write(self) -> None:
        document = {
            "version": _VERSION,
            "answers": [
                {
                    "source": each.source,
                    "conditions": each.conditions.to_data(),
                    "setting": dict(each.setting),
                }
                for each in self.answers
            ],
        }
        with whole_file(self.path) as file:
            file.write(f"{json.dumps(document, indent=1, allow_nan=False)}\n")


def _read(path: Path) -> EarlierAnswers[ScenarioConditions]:
    """The answers of a file, which need not exist yet.

    Raises:
        AnswerFileError: it cannot be read, or holds something else.
    """
    answers: EarlierAnswers[ScenarioConditions] = EarlierAnswers(MOST_ANSWERS)
    expected = "a file that an earlier tuning has written, or a new name"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not path.parent.is_dir():
            message = f'"{path}" cannot be written (no such directory); expected {expected}'
            raise AnswerFileError(message) from None
        return answers
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a text"
        message = f'"{path}" cannot be read ({reason}); expected {expected}'
        raise AnswerFileError(message) from None
    try:
        document = json.loads(text)
        if document["version"] != _VERSION:
            raise ValueError  # noqa: TRY301 - one message for all that is wrong
        for entry in document["answers"]:
            answers.keep(_answer(entry))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        message = f'"{path}" is not accepted; expected {expected}'
        raise AnswerFileError(message) from None
    return answers


def _answer(entry: dict[str, Any]) -> EarlierAnswer[ScenarioConditions]:
    setting = {str(path): float(value) for path, value in entry["setting"].items()}
    conditions = ScenarioConditions.from_data(entry["conditions"])
    if set(setting) != set(conditions.parameters) or not all(map(math.isfinite, setting.values())):
        message = "a setting that does not fit its conditions"
        raise ValueError(message)
    return EarlierAnswer(conditions, setting, str(entry["source"]))
