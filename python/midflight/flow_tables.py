"""Axes of sweeps whose values are tables, such as whole flows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["differing_settings", "is_whole_flow", "shared_settings", "tables_of"]


def is_whole_flow(key: str) -> bool:
    """Whether the values of an axis are whole flows."""
    return key.startswith("flows.") and key.count(".") == 1


def tables_of(values: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tables of TOML that are the values of an axis; none if any of them is no table."""
    found = []
    for text in values:
        try:
            table = tomllib.loads(f"table = {text}")["table"]
        except tomllib.TOMLDecodeError:
            return []
        if not isinstance(table, dict):
            return []
        found.append(table)
    return found


def shared_settings(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that all tables of an axis have, with the same value."""
    first, *others = tables or [{}]
    return {
        key: value
        for key, value in first.items()
        if all(key in one and one[key] == value for one in others)
    }


def differing_settings(tables: Sequence[Mapping[str, Any]]) -> set[str]:
    """The settings that differ among the tables of an axis."""
    return {key for one in tables for key in one} - {*shared_settings(tables)}
