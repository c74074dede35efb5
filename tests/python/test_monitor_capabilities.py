"""What a process is allowed is read from what the kernel says of it."""

from __future__ import annotations

import pytest

from vermilion.monitor.privileges import CAP_NET_ADMIN, CAP_SYS_ADMIN, has_capabilities

BOTH = (CAP_NET_ADMIN, CAP_SYS_ADMIN)


@pytest.mark.parametrize(
    ("mask", "has"),  # 1 << 12 and 1 << 21: include/uapi/linux/capability.h
    [
        ("0000000000201000", True),
        ("0000000000001000", False),
        ("0000000000200000", False),
        ("000001ffffffffff", True),
        ("0000000000000000", False),
    ],
)
def test_several_capabilities_are_there_when_each_is(mask, has):
    assert has_capabilities(f"Name:\tx\nCapEff:\t{mask}\n", *BOTH) is has


def test_where_nothing_is_told_nothing_is_known():
    assert has_capabilities("Name:\tx\n", *BOTH) is None
