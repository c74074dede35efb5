"""Base class of all tables of a scenario."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """A TOML table: unknown keys are refused, and what was read does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
