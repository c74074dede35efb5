"""Files of other tools: link traces of Mahimahi and rattan, measurements as flent plots them."""

from vermilion.interchange.flent import write_flent
from vermilion.interchange.mahimahi import read_mahimahi, write_mahimahi
from vermilion.interchange.rate_trace import RateTrace
from vermilion.interchange.rattan import read_rattan, write_rattan

__all__ = [
    "RateTrace",
    "read_mahimahi",
    "read_rattan",
    "write_flent",
    "write_mahimahi",
    "write_rattan",
]
