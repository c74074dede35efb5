"""Files of other tools: link traces of Mahimahi and rattan, measurements as flent plots them."""

from vermilion_lab.interchange.flent import write_flent
from vermilion_lab.interchange.mahimahi import read_mahimahi, write_mahimahi
from vermilion_lab.interchange.rate_trace import RateTrace
from vermilion_lab.interchange.rattan import read_rattan, write_rattan

__all__ = [
    "RateTrace",
    "read_mahimahi",
    "read_rattan",
    "write_flent",
    "write_mahimahi",
    "write_rattan",
]
