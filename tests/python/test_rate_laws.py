"""Laws that keep a shaper at the rate of its line, as Python sees them."""

from __future__ import annotations

import json

import pytest

from vermilion._core import ParameterError, RateLaw, rate_laws


def test_every_law_is_listed_and_can_be_made():
    names = [law["name"] for law in json.loads(rate_laws())]
    assert names == ["service-curve", "tuned-service-curve", "autorate", "fixed"]
    for name in names:
        law = RateLaw(name)
        law.probe_sent(1_000_000_000, 0)
        law.answered(0, 1_000_000_000, 1_040_000_000, own_wait_ns=1_000)
        law.lost(1_050_000_000)
        rate = law.rate(1_060_000_000, 10_000)
        assert law.state()["rate_bit_per_s"] == rate > 0


def test_settings_are_those_of_the_table():
    assert RateLaw("fixed", '{"rate": 2e6}').rate(0, 0) == 2e6
    with pytest.raises(ParameterError) as refused:
        RateLaw("service-curve", '{"excess": -1.0}')
    assert refused.value.args[0] == "excess"
    with pytest.raises(ParameterError) as refused:
        RateLaw("nonsense")
    assert refused.value.args[:2] == ("law", '"nonsense"')
