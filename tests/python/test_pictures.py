"""Pictures of the pages that are quickly drawn are what their commands draw today."""

from __future__ import annotations

import re
import shlex

import pytest

from test_documentation import PAGES, ROOT, SAME_NUMBERS, load, refresh_examples

pytestmark = pytest.mark.evidence

FIGURES = ROOT / "docs" / "figures"
# A picture and the command in its caption: in the block, or in the paragraph behind the picture.
SHOWN = re.compile(
    r"(?:```\{figure\} |!\[[^\]]*\]\()\S*?figures/(?P<picture>[\w-]+\.svg)"
    r"(?:(?!```|\n\n\n|!\[).)*?`(?P<command>vermilion [^`]*?--figure \S+\.svg)",
    re.DOTALL,
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
# Points of a picture: half of that is seen by nobody, and another platform rounds otherwise.
TOLERANCE = 0.02


def commands():
    """Each picture with the command that draws it."""
    found = {}
    for page in PAGES:
        for each in SHOWN.finditer(page.read_text(encoding="utf-8")):
            found[each["picture"]] = " ".join(each["command"].split())
    return found


def difference(drawn, kept):
    """Where two pictures differ first; `None` if they look alike."""
    for line, (one, other) in enumerate(zip(drawn.split("\n"), kept.split("\n"), strict=False), 1):
        if NUMBER.sub("#", one) != NUMBER.sub("#", other):
            return f"line {line}: {one[:80]!r} and not {other[:80]!r}"
        for mine, its in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
            if abs(float(mine) - float(its)) > TOLERANCE:
                return f"line {line}: {mine} and not {its}"
    if drawn.count("\n") != kept.count("\n"):
        return "one has more lines"
    return None


@pytest.mark.parametrize(("picture", "command"), commands().items(), ids=list(commands()))
def test_a_picture_is_what_the_command_in_its_caption_draws(picture, command, tmp_path):
    drawn = tmp_path / picture
    *words, _ = shlex.split(command)
    refresh_examples.run(shlex.join([*words, str(drawn)]))
    if not SAME_NUMBERS:
        pytest.skip("it was drawn, but is compared on x86-64 Linux with glibc only")
    kept = (FIGURES / picture).read_text(encoding="utf-8")
    assert difference(drawn.read_text(encoding="utf-8"), kept) is None, command


# What in each script draws, and the pictures that come of it.
SCRIPTS = {
    "fall_and_floyd": ("main", {f"fall_and_floyd_{losses}.svg" for losses in range(1, 5)}),
    "online_states": ("draw", {"online_states.svg"}),
    "run_varying_load": ("main", {"run_varying_load.svg", "run_varying_load_phone.svg"}),
    "validation": (
        "draw",
        {f"validation_{name}.svg" for name in ("references", "linux_flow", "phase_effects")},
    ),
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_picture_is_what_its_script_draws(script, tmp_path, monkeypatch):
    drawer = load(FIGURES / f"{script}.py")
    monkeypatch.setattr(drawer, "HERE", tmp_path)
    call, pictures = SCRIPTS[script]
    getattr(drawer, call)()
    drawn = sorted(tmp_path.glob("*.svg"))
    assert {each.name for each in drawn} == pictures
    for each in drawn:
        kept = (FIGURES / each.name).read_text(encoding="utf-8")
        assert difference(each.read_text(encoding="utf-8"), kept) is None, each.name


def test_the_pictures_of_commands_are_found():
    found = commands()
    assert len(found) >= 4
    assert "online_varying_load.svg" in found
    assert "vermilion compare varying-load --discipline all" in found["all-disciplines.svg"]
