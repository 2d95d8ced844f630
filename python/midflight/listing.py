"""Lists of names in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["joined", "listed"]


def joined(names: Sequence[str], word: str = "and") -> str:
    """Return names as they stand in a sentence: "a, b and c"; "" of none."""
    if not names:
        return ""
    *first, last = names
    # What has commas itself is not told apart by these.
    stop = ";" if len(names) > 1 and any(map(_has_comma, names)) else ""
    return f"{listed(first)}{stop} {word} {last}" if first else last


def listed(names: Sequence[str]) -> str:
    """Return names in a row, with semicolons between those that have commas: "a, b; c"."""
    return ("; " if any(map(_has_comma, names)) else ", ").join(names)


def _has_comma(name: str) -> bool:
    """Whether a name has a comma that is not within brackets."""
    return "," in re.sub(r"\([^()]*\)", "", name)
