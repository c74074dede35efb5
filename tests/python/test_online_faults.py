"""Whatever goes wrong is survived in safety, and afterwards the controller comes to rest."""

import pytest

from online_chaos import ChaosRun

SEEDS = range(1, 7)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_is_safe_and_ends_at_rest(seed, tmp_path):
    ChaosRun(seed, tmp_path / "journal.sqlite").play()
