"""Lines of results that are the same as an earlier one, run by run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

__all__ = ["alike", "named_alike"]


def alike(lines: Iterable[tuple[str, Hashable]]) -> dict[str, str]:
    """Return the names of lines that have the same values everywhere as an earlier one, each with
    the name of that; `lines` are names and values.
    """
    first: dict[Hashable, str] = {}
    found = {}
    for name, values in lines:
        earlier = first.setdefault(values, name)
        if earlier != name:
            found[name] = earlier
    return found


def named_alike(name: str, same: str, *, is_empty: bool = False) -> str:
    """The name of a line in a legend, with the one that it is the same as, "" for none; of one that
    `is_empty` no run finished.
    """
    if is_empty:
        return f"{name} (none finished)"
    return f"{name} (same as {same})" if same else name
