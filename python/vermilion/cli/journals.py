"""Places of the on-line controller's journals, for the commands that read them."""

import os
from pathlib import Path

from vermilion.cli.endings import UserError
from vermilion.scenario.errors import printable


def journals(journal: Path | None, state_dir: Path | None) -> list[Path]:
    """The journal that is meant, or all of a folder.

    Args:
        journal: one file.
        state_dir: a folder; by default that of the service, or the user's.

    Raises:
        UserError: the folder is not there.
    """
    if journal is not None:
        return [journal]
    given = state_dir is not None
    folder = _usual_folder() if state_dir is None else state_dir
    if not folder.is_dir():
        if given:
            message = f'--state-dir: "{folder}" does not exist; expected a folder with journals'
        else:
            message = (
                f'JOURNAL is missing, and "{folder}" has none; expected the file of '
                "online --journal"
            )
        raise UserError(message)
    return sorted(folder.glob("*.sqlite"))


def check_journal(path: Path) -> None:
    """Refuses what is no file.

    Raises:
        UserError: saying what it is.
    """
    if path.is_dir():
        message = (
            f'JOURNAL: "{path}" is a folder; expected the file of online --journal, or '
            "--state-dir FOLDER"
        )
        raise UserError(message)
    if not path.is_file():
        message = f'JOURNAL: "{path}" does not exist; expected the file of online --journal'
        raise UserError(message)


def unreadable(path: Path, reason: BaseException) -> UserError:
    """Error for a journal that says what cannot be."""
    shown = printable(str(reason) or type(reason).__name__)
    message = f'JOURNAL: "{path}" is not accepted ({shown}); expected the file of online --journal'
    return UserError(message)


def _usual_folder() -> Path:
    service = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    if service:
        return Path(service)
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "vermilion"
