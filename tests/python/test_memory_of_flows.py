"""A flow that is silent takes less than a KiB, whatever its sender."""

import pytest

from memory_of_flows import bytes_of_flow

KIB = 1024


@pytest.mark.parametrize(
    "sender",
    [
        "cubic",
        pytest.param("prague", marks=pytest.mark.evidence),
        pytest.param("bbr", marks=pytest.mark.evidence),
    ],
)
@pytest.mark.parametrize("state", ["not begun", "over"])
def test_a_silent_flow_takes_less_than_a_kib(sender, state):
    """Those of them whose senders keep the most while they are under way."""
    # A flow alone, without sender, is more than 200 bytes: less would be a broken measurement.
    assert 200 < bytes_of_flow(sender, state, few=1_000, many=31_000) < KIB
