"""The networks of `benches/online.py`, and how a run on one of them is measured and shown."""

from __future__ import annotations

from online_networks import goals, links, loads, traffic

NETWORKS = [*loads.NETWORKS, *links.NETWORKS, *traffic.NETWORKS, *goals.NETWORKS]
"""All of them, in the order in which a table has them."""
