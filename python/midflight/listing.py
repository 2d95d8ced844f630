"""Lists of names in sentences, and long ones in tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["first_and_last", "joined", "listed"]

_Line = TypeVar("_Line")


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


def first_and_last(
    lines: Sequence[_Line], keys: Sequence[tuple[str, ...]], most: int
) -> list[_Line | None]:
    """Return the lines of a table, or, of too many, the first and the last ones of each key, as
    many of each, and None where others are left out.
    """
    if not _are_many(len(lines), most):
        return [*lines]
    counts = Counter(keys)
    each = max(2, most // len(counts))
    seen: Counter[tuple[str, ...]] = Counter()
    found: list[_Line | None] = []
    left_out: list[_Line] = []

    def close() -> None:
        # Dots in the place of a single line save no room.
        found.extend(left_out if len(left_out) < 2 else [None])
        left_out.clear()

    for one, key in zip(lines, keys, strict=True):
        place = seen[key]
        seen[key] += 1
        if place < each - each // 2 or place >= counts[key] - each // 2:
            close()
            found.append(one)
        else:
            left_out.append(one)
    close()
    return found


def _are_many(count: int, most: int) -> bool:
    """Whether so many lines are too many for a table: to leave out a few saves no room."""
    return count > most + most // 2
