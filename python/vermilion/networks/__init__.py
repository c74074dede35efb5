"""Networks that are written in Python instead of TOML, and functions that build common ones."""

from vermilion.networks.access_network import access_network
from vermilion.networks.dumbbell import dumbbell
from vermilion.networks.fat_tree import fat_tree
from vermilion.networks.host_network import HostNetwork
from vermilion.networks.network import Network
from vermilion.networks.parking_lot import parking_lot
from vermilion.networks.star import star

__all__ = [
    "HostNetwork",
    "Network",
    "access_network",
    "dumbbell",
    "fat_tree",
    "parking_lot",
    "star",
]
