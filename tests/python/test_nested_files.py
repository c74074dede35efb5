"""Files that are nested deeper than anybody can read are refused like any other nonsense."""

import pytest

from test_cli import refused, vermilion
from vermilion_lab.papers.keeping import Keeper

__all__ = ["vermilion"]

TOML = f"rate = {'[' * 3000}{']' * 3000}"
JSON = "[" * 200_000 + "]" * 200_000


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["atlas", "FILE"], "it is nested too deeply"),
        (["online", "--router", "linux:lo", "--policy", "FILE"], "it is nested too deeply"),
        (["run", "FILE"], "nested too deeply"),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_one_message(vermilion, tmp_path, command, words):
    path = tmp_path / "deep.toml"
    path.write_text(TOML)
    line = refused(vermilion(*(str(path) if each == "FILE" else each for each in command)))
    assert "deep.toml" in line
    assert words in line


@pytest.mark.parametrize("option", ["--resume", "--warm-start"])
def test_so_is_what_an_earlier_tuning_never_wrote(vermilion, tmp_path, option):
    path = tmp_path / "deep.json"
    path.write_text(JSON)
    assert option in refused(vermilion("tune", "varying-load", option, path))


def test_so_is_an_objective(vermilion):
    line = refused(vermilion("tune", "varying-load", "--objective", "{a=" * 3000))
    assert "expected a table in TOML" in line


def test_what_was_kept_and_cannot_be_read_is_made_again(tmp_path):
    keeper = Keeper(tmp_path)
    keeper.keep("paper", "figure", (1, 2), {"x": 1.0})
    (path,) = tmp_path.iterdir()
    path.write_text(JSON)
    assert keeper.find("paper", "figure", (1, 2)) is None
