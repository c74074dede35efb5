"""A better configuration for cake-autorate, from its log."""

from vermilion.autorate.advice import AutorateAdvice, DirectionAdvice, advise_autorate
from vermilion.autorate.log import AutorateLog, AutorateLogError, read_log
from vermilion.autorate.rules import DEFAULTS, read_configuration

__all__ = [
    "DEFAULTS",
    "AutorateAdvice",
    "AutorateLog",
    "AutorateLogError",
    "DirectionAdvice",
    "advise_autorate",
    "read_configuration",
    "read_log",
]
