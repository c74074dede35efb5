"""Whatever goes wrong is survived in safety, and afterwards the controller comes to rest."""

import random
from collections import Counter

import pytest

from online_chaos import (
    APPLY,
    COUNTERS,
    JOURNAL,
    MONITOR,
    READ,
    SEARCH,
    ChaosRun,
    Driver,
    Fault,
    FaultyRouter,
    Searches,
)
from online_world import CONFIGURATION, LINK, POLICY, TARGET
from vermilion.online.decide.controller import Controller
from vermilion.online.drive.driver import fixed_pace
from vermilion.online.record.journal import Journal, Log

SEEDS = range(1, 7)
LASTS_S = 50.0
MOST_OF_A_KIND = 10  # of decision, while one and the same fault lasts


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(n, marks=pytest.mark.evidence) for n in SEEDS[1:])]
)
def test_whatever_goes_wrong_is_safe_and_ends_at_rest(seed, tmp_path):
    ChaosRun(seed, tmp_path / "journal.sqlite").play()


@pytest.mark.parametrize("kind", [*APPLY, *READ, *COUNTERS[:3], *MONITOR, *SEARCH, *JOURNAL])
def test_a_fault_that_lasts_is_not_told_again_and_again(kind):
    router = FaultyRouter(random.Random(1), [Fault(1.5, LASTS_S, kind)])
    with Journal(
        None,
        version="test",
        title="a fault that lasts",
        router=router.kind,
        link=LINK,
        discipline="fake",
        target_packets=TARGET,
    ) as journal:
        log = Log(journal)
        controller = Controller.of(POLICY, CONFIGURATION, evaluations=1)
        Driver(router, controller, log, fixed_pace, solve=Searches(router)).run(LASTS_S)
    told = Counter(str(each.kind) for each in log.decisions)
    assert max(told.values()) <= MOST_OF_A_KIND, told
