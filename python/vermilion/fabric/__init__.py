"""Data-centre fabrics: switches with a shared buffer and pauses, NICs with rate-based ends.

>>> from vermilion import fabric
>>> network = fabric.leaf_spine(traffic=[fabric.poisson("websearch", load=0.5, stop="5 ms")])
>>> result = fabric.run(network.with_settings(kmin="400 kB", kmax="1600 kB"))
>>> result.slowdown["p99"]
"""

from __future__ import annotations

from vermilion.fabric.build import (
    fat_tree,
    incast,
    leaf_spine,
    links,
    open_loop,
    poisson,
    star,
    transfers,
    transfers_file,
)
from vermilion.fabric.load import Fabric, fabric_from_document, load_fabric, parse_fabric
from vermilion.fabric.published import PublishedThresholds, published_thresholds
from vermilion.fabric.result import FabricResult
from vermilion.fabric.runs import run, run_many
from vermilion.fabric.senders import rate_based_senders
from vermilion.fabric.sizes import mean_size, size_distributions

__all__ = [
    "Fabric",
    "FabricResult",
    "PublishedThresholds",
    "fabric_from_document",
    "fat_tree",
    "incast",
    "leaf_spine",
    "links",
    "load_fabric",
    "mean_size",
    "open_loop",
    "parse_fabric",
    "poisson",
    "published_thresholds",
    "rate_based_senders",
    "run",
    "run_many",
    "size_distributions",
    "star",
    "transfers",
    "transfers_file",
]
