"""An atlas as what is known of conditions never met."""

import json
from dataclasses import fields

import pytest
from typer.testing import CliRunner

from test_online_model import picture
from vermilion.cli.application import application
from vermilion.online.plan.atlas_prior import memory_of_atlas
from vermilion.scenario import ScenarioError
from vermilion_lab.atlas.cell import Cell
from vermilion_lab.atlas.plan import Condition, Plan

NAMES = ("min_threshold", "max_threshold")


def cell(flows, round_trip_s, level, rate=10e6):
    return {
        "condition": {
            "ecn": False,
            "rate_bit_per_s": rate,
            "flows": flows,
            "round_trip_s": round_trip_s,
        },
        "setting": {"min_threshold": level, "max_threshold": 40.0},
        "accepted": True,
    }


def atlas(**changes):
    return {
        "plan": {"discipline": "red"},
        "parameters": list(NAMES),
        "cells": [cell(4, 0.028, 5.0), cell(16, 0.028, 10.0), cell(64, 0.028, 20.0)],
    } | changes


def nearest(memory, **seen):
    [(_, setting)] = memory.similar(picture(**seen), 0.024, 1)
    return setting["min_threshold"]


def test_searches_begin_at_the_cell_that_is_nearest():
    memory = memory_of_atlas(atlas(), "red", NAMES, "atlas.json")
    assert nearest(memory, flows=15, base_rtts_s=(0.03,) * 15) == 10.0
    assert nearest(memory, flows=80, base_rtts_s=(0.03,) * 80) == 20.0


def test_an_atlas_with_fixed_parameters_is_still_one_of_its_discipline():
    told = atlas(plan={"discipline": "red:gentle=true,min_threshold=0.5 target"})
    assert len(memory_of_atlas(told, "red", NAMES, "atlas.json").prior) == 3


def test_what_the_controller_has_found_itself_pushes_nothing_of_an_atlas_out():
    memory = memory_of_atlas(atlas(), "red", NAMES, "atlas.json")
    for flows in range(200, 300):
        memory = memory.kept(
            picture(flows=flows, base_rtts_s=(0.5,) * flows), {"min_threshold": 1.0}
        )
    assert nearest(memory, flows=4, base_rtts_s=(0.028,) * 4) == 5.0


def test_the_names_are_those_that_an_atlas_has():
    """They belong to the room of the atlas; here they are only read."""
    names = {each.name for each in fields(Condition)}
    assert {"rate_bit_per_s", "flows", "round_trip_s"} <= names
    assert {"condition", "setting"} <= {each.name for each in fields(Cell)}
    assert "discipline" in {each.name for each in fields(Plan)}


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "plan"),
        ({}, "plan"),
        (atlas(plan={}), "plan.discipline"),
        (atlas(plan={"discipline": "pie"}), "plan.discipline"),
        (atlas(parameters=["weight"]), "parameters"),
        (atlas(cells=None), "cells"),
        (atlas(cells=[7]), "cells.0.condition"),
        (atlas(cells=[cell("many", 0.1, 5.0)]), "cells.0.condition.flows"),
        (atlas(cells=[cell(1e12, 0.1, 5.0)]), "cells.0.condition.flows"),
        (atlas(cells=[cell(4, float("nan"), 5.0)]), "cells.0.condition.round_trip_s"),
        (atlas(cells=[cell(4, 0.1, level="high")]), "cells.0.setting.min_threshold"),
    ],
)
def test_what_is_no_atlas_is_refused_with_its_field(document, field):
    with pytest.raises(ScenarioError) as refused:
        memory_of_atlas(document, "red", NAMES, "atlas.json")
    assert refused.value.field == field
    assert refused.value.origin == "atlas.json"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "--atlas: cannot be read (No such file or directory)"),
        ("{", "--atlas: is not JSON"),
        (json.dumps(atlas(plan={"discipline": "pie"})), 'plan.discipline: "pie" is not accepted'),
    ],
)
def test_a_file_that_is_no_atlas_is_a_message(tmp_path, content, words):
    path = tmp_path / "atlas.json"
    if content is not None:
        path.write_text(content)
    given = ["online", "varying-load", "--atlas", str(path), "--clock", "fixed"]
    result = CliRunner().invoke(application(), given)
    assert words in str(result.exception)
