"""Plug-ins in Rust: crates outside of the sources are built and loaded, and as good as ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vermilion
from own_classes import numbers
from test_cli import refused
from test_cli import vermilion as command
from vermilion.scenario import ScenarioError, senders
from vermilion.scenario.new_plugin import plugin_crate

__all__ = ["command"]

ROOT = Path(__file__).parents[2]
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
PANICS = """assert!(window.congestion < 1e3 || self.left < 0.99, "the window is too large");
        if window.in_slow_start() {"""
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


def network(sender: object, queue: object = "drop-tail") -> vermilion.scenario.Scenario:
    net = vermilion.Network("Six flows", duration="4 s", warm_up="1 s")
    net.link("bottleneck", rate="8 Mbit/s", delay="5 ms", queue=queue)
    net.flows(
        "all", count=6, path="bottleneck", rtt="30 ms .. 60 ms", sender=sender, start="0 s .. 1 s"
    )  # fmt: skip
    return net.scenario()


def write(folder: Path, kind: str, name: str, monkeypatch, command) -> Path:
    """The folder of a crate that the command has written."""
    monkeypatch.chdir(folder)
    code, said, _ = command("new", f"--{kind}", name, "--rust", "--crates", ROOT)
    assert code == 0
    assert f"lib{name.replace('-', '_')}" in said
    return folder / name


def build(crate: Path, *words: str) -> Path:
    """The library of a crate; what both crates depend on is built once."""
    shutil.copy(ROOT / "Cargo.lock", crate / "Cargo.lock")
    environment = {**os.environ, "CARGO_TARGET_DIR": str(crate.parent / "target")}
    cargo = ["cargo", *words, "--release", "--config", "profile.release.lto=false"]
    subprocess.run(cargo, cwd=crate, check=True, env=environment, capture_output=True, text=True)
    return crate.parent / "target" / "release" / f"lib{crate.name.replace('-', '_')}.so"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("crates")


@needs_cargo
@pytest.mark.skipif(sys.platform != "linux", reason="libraries are called otherwise")
def test_a_congestion_control_is_written_built_loaded_and_the_same_as_the_cores(
    folder, monkeypatch, command
):
    crate = write(folder, "sender", "my-reno", monkeypatch, command)
    source = crate / "src" / "lib.rs"
    source.write_text(source.read_text().replace("if window.in_slow_start() {", PANICS, 1))
    build(crate, "test")
    library = build(crate, "build")
    assert vermilion.load_plugins([library]) == ["my-reno"]
    try:
        assert "increase" in senders()["my-reno"].parameters
        scenario, same = network("my-reno"), network("sack")
        ours, theirs = vermilion.run(scenario, seed=3), vermilion.run(same, seed=3)
        assert numbers(ours) == numbers(theirs)
        many = vermilion.run_many({"": scenario}, range(1, 5), threads=2)
        assert len(many[""]) == 4
        with pytest.raises(ScenarioError, match="left"):
            network({"congestion_control": "my-reno", "left": 2})
        greedy = network(
            {"congestion_control": "my-reno", "left": 0.99, "increase": 100},
            {"discipline": "drop-tail", "limit": "100000 packets"},
        )
        message = r"congestion control my-reno: grow at [\d.]+ s: panicked at .*too large"
        with pytest.raises(vermilion.CongestionControlError, match=message):
            vermilion.run(greedy)
        with pytest.raises(vermilion.CongestionControlError, match=message):
            vermilion.run_many({"": greedy}, [1, 2], threads=2)
        code, shown, _ = command("senders", "my-reno", "--plugin", library)
        assert code == 0
        assert "increase" in shown
    finally:
        vermilion.unregister_congestion_control("my-reno")
    assert "my-reno" not in senders()


@needs_cargo
@pytest.mark.skipif(sys.platform != "linux", reason="libraries are called otherwise")
def test_a_discipline_is_written_built_and_keeps_its_law(folder, monkeypatch, command):
    crate = write(folder, "discipline", "proportional", monkeypatch, command)
    build(crate, "test")
    assert vermilion.load_plugins([build(crate, "build")]) == ["proportional"]
    try:
        scenario = network("sack", {"discipline": "proportional", "certain_at": "1000 packets"})
        link = vermilion.run(scenario, seed=2)
        assert link.data["links"]["bottleneck"]["total"]["drops"] > 0
        parted = vermilion.run(
            network("sack", {"discipline": "proportional", "limit": "5 packets"})
        )
        assert parted.data["links"]["bottleneck"]["total"]["queue_packets"]["max"] <= 5
    finally:
        vermilion.unregister_discipline("proportional")


@needs_cc
@pytest.mark.skipif(sys.platform != "linux", reason="libraries are called otherwise")
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("int other;", 'a library with the symbol "vermilion_plugin"'),
        (
            "unsigned v[16] = {7}; void *vermilion_plugin(void) { return v; }",
            "a library of interface 7",
        ),
        ("void *vermilion_plugin(void) { return 0; }", "one of interface 1"),
        (None, "a library that this machine can load"),
    ],
)
def test_a_library_that_is_no_plug_in_is_refused_in_one_line(tmp_path, source, words, command):
    library = tmp_path / "libother.so"
    if source is None:
        library.write_text("no library")
    else:
        (tmp_path / "other.c").write_text(source)
        compiler = [shutil.which("cc") or "", "-shared", "-fPIC", "-o", library]
        subprocess.run([*compiler, tmp_path / "other.c"], check=True)
    with pytest.raises(ScenarioError) as raised:
        vermilion.load_plugins([library])
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert words in refused(command("senders", "--plugin", library))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rust"], "--rust: expected --sender NAME or --discipline NAME"),
        ([], "NAME is missing"),
        (["x", "--sender", "mine", "--rust"], "expected one of them"),
        (["--sender", "cubic", "--rust"], "a name that no sender of Vermilion has"),
        (["--sender", "Mine", "--rust"], "small letters, digits and hyphens"),
        (["--discipline", "mine", "--rust", "--crates", "/"], "--crates"),
    ],
)
def test_what_cannot_be_written_is_refused(words, message, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert message in refused(command("new", *words))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "rival"), [("sender", "cubic"), ("discipline", "red")])
def test_a_file_of_python_is_written_and_runs_beside_a_rival(
    kind, rival, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    code, said, _ = command("new", f"--{kind}", "my-own")
    assert code == 0
    assert "--plugin my_own.py" in said
    assert refused(command("new", f"--{kind}", "my-own")).count("exists") == 1
    words = [f"--{kind}", rival, f"--{kind}", "my-own", "--seeds", "2"]
    found = command("compare", "oscillating-red", "--plugin", "my_own.py", *words)
    assert found[0] == 0, found
    assert "my-own" in found[1]


def test_sources_are_a_folder_or_a_git_address():
    address = "https://example.org/vermilion.git"
    manifest = plugin_crate("sender", "mine", address).files["Cargo.toml"]
    assert f'vermilion-plugin = {{ git = "{address}" }}' in manifest
    manifest = plugin_crate("discipline", "mine", str(ROOT)).files["Cargo.toml"]
    assert "crates/plugin" in manifest
    assert "@" not in manifest
