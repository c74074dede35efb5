"""A stream that is closed from the beginning hides what is said on it, and nothing else."""

import json
import subprocess

import pytest

from test_cli import PROGRAM, SHORT


def run_with(closing, *command):
    """What a command leaves, started by a shell that closes some of its streams."""
    line = ["sh", "-c", f'exec "$@" {closing}', "sh", *PROGRAM, *map(str, command)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "command",
    [["disciplines"], ["--help"], ["run", "--help"], ["scenarios", "--json=-"], ["--version"]],
)
def test_what_is_only_shown_goes_nowhere(command):
    done = run_with(">&-", *command)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_files_are_written_though_nothing_can_be_shown(tmp_path):
    path = tmp_path / "run.json"
    done = run_with(">&- 2>&- <&-", "run", "varying-load", *SHORT, "--json", path)
    assert done.returncode == 0
    assert json.loads(path.read_text())["seed"] == 1


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_mistake_keeps_its_exit_code(closing):
    done = run_with(closing, "run", "nowhere")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
