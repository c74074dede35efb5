"""Networks that are written in Python instead of TOML, and functions that build common ones."""

from vermilion.networks.fat_tree import fat_tree
from vermilion.networks.host_network import HostNetwork, access_network, star
from vermilion.networks.network import Network
from vermilion.networks.parking_lot import dumbbell, parking_lot

__all__ = [
    "HostNetwork",
    "Network",
    "access_network",
    "dumbbell",
    "fat_tree",
    "parking_lot",
    "star",
]
