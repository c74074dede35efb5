"""Results appear whole under their names, with the rights of what they replace."""

import os
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from vermilion.files.whole_file import whole_file


def write(path, text="new"):
    with whole_file(path) as file:
        file.write(text)


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def masked(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_what_replaces_a_file_has_its_rights(tmp_path, mode):
    path = tmp_path / "result.json"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as file:
        [beside] = (each for each in tmp_path.iterdir() if each != path)
        assert permissions(beside) == mode
        file.write("new")
    assert (path.read_text(), permissions(path)) == ("new", mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_root_writes_over_somebodys_file_stays_theirs(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_permits_what_the_umask_leaves(tmp_path, mask, mode):
    with masked(mask):
        write(tmp_path / "result.json")
    assert permissions(tmp_path / "result.json") == mode


def test_the_umask_that_other_threads_use_is_never_touched(tmp_path, monkeypatch):
    def forbidden(_):
        pytest.fail("the umask was changed")

    (tmp_path / "old.json").write_text("old")
    monkeypatch.setattr(os, "umask", forbidden)
    write(tmp_path / "old.json")
    write(tmp_path / "new.json")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path, there):
    folder = tmp_path / "far"
    folder.mkdir()
    target, link = folder / "result.json", tmp_path / "link.json"
    if there:
        target.write_text("old")
        target.chmod(0o600)
    link.symlink_to("far/result.json")
    write(link)
    assert link.is_symlink()
    assert (link.read_text(), target.read_text()) == ("new", "new")
    assert not there or permissions(target) == 0o600
    assert [each.name for each in folder.iterdir()] == ["result.json"]


def test_a_link_that_leads_to_itself_cannot_be_written(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("link.json")
    with pytest.raises(OSError, match="symbolic links") as refusal:
        write(link)
    assert refusal.value.filename == str(link)


def test_what_gets_the_name_is_on_the_disk_before(tmp_path, monkeypatch):
    synced = []

    def sync(descriptor):
        found = os.fstat(descriptor)
        synced.append((found.st_ino, found.st_size))
        assert not path.exists()

    path = tmp_path / "result.json"
    monkeypatch.setattr(os, "fsync", sync)
    write(path, "x" * 100)
    assert synced == [(path.stat().st_ino, 100)]


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines(["half", 3])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_as_it_is(tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to(os.devnull)
    write(link)
    assert link.is_char_device()


def test_a_pipe_that_a_link_names_is_written_as_it_is():
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"))  # whose link leads to no name
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "new"
