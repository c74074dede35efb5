"""Pictures of the pages that are quickly drawn are what their commands draw today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from test_house_documentation import (
    DOCUMENTED,
    ROOT,
    SAME_NUMBERS,
    head,
    load,
    name_of,
    paragraph,
    refresh_examples,
    says_what_made_it,
)

FIGURES = ROOT / "docs" / "figures"
# A picture and the command in its caption: in the block, or in the paragraph behind the picture.
SHOWN = re.compile(
    r"(?:```\{figure\} |!\[[^\]]*\]\()\S*?figures/(?P<picture>[\w-]+\.svg)"
    r"(?:(?!```|\n\n\n|!\[).)*?`(?P<command>vermilion [^`]*?--figure \S+\.svg)",
    re.DOTALL,
)
PICTURE = re.compile(
    r"^(?:```\{(?:figure|image)\} (?P<picture>\S+)\n(?:.*\n)*?```|!\[[^\]]*\]\((?P<image>\S+)\))",
    re.MULTILINE,
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
# Points of a picture: half of that is seen by nobody, and another platform rounds otherwise.
TOLERANCE = 0.02


def commands():
    """Each picture with the command that draws it."""
    found = {}
    for page in DOCUMENTED:
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


@pytest.mark.parametrize("page", DOCUMENTED, ids=name_of)
def test_every_other_picture_says_what_made_it_and_at_which_commit(page):
    held = set(commands()).union(*(pictures for _, pictures in SCRIPTS.values()))
    text = page.read_text(encoding="utf-8")
    if any(map(says_what_made_it, head(text))):
        return
    untold = [
        each["picture"] or each["image"]
        for each in PICTURE.finditer(text)
        if Path(each["picture"] or each["image"]).name not in held
        and not any(map(says_what_made_it, [each[0], *told_below(text[each.end() :])]))
    ]
    assert not untold, "docs/style.md says what has to stand below a picture"


def told_below(text):
    """What stands below a picture: a paragraph, or those of the table that is shown there."""
    below = paragraph(text)
    if shown := re.match(r"```\{include\} (\S+)", below):
        return (ROOT / "docs" / shown[1]).read_text(encoding="utf-8").split("\n\n")
    return [below]


def test_the_pictures_of_commands_are_found():
    found = commands()
    assert len(found) >= 4
    assert "online_varying_load.svg" in found
    assert "vermilion compare varying-load --discipline all" in found["all-disciplines.svg"]


def moved(picture, by):
    """The picture with every place that has decimals moved."""
    return re.sub(r"\b\d+\.\d{3,}\b", lambda number: f"{float(number[0]) + by:.6f}", picture)


def test_pictures_that_differ_are_told_apart():
    kept = (FIGURES / "online_states.svg").read_text(encoding="utf-8")
    assert difference(kept, kept) is None
    assert difference(kept.replace("searching", "sleeping"), kept) is not None
    assert difference(f"{kept}\n", kept) is not None
    assert difference(moved(kept, 0.1), kept) is not None
    assert difference(moved(kept, 0.001), kept) is None
