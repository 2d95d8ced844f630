"""What figures of results say of runs that did not finish, and of others that they leave out."""

from __future__ import annotations

from collections.abc import Mapping

from midflight.listing import joined

__all__ = ["counted_flows", "counted_words", "unfinished_words"]

#: Lines are named up to this number.
_MOST_NAMED = 4


def unfinished_words(counts: Mapping[str, int], *, is_time: bool = True) -> str:
    """So many runs of each name that have no value, such as "1 run of sack that did not finish"."""
    return _counted(counts, "run", "that did not finish" if is_time else "without a value")


def counted_flows(counts: Mapping[str, int], why: str) -> str:
    """So many flows of each name of which something is so, such as "1 flow of sack done early"."""
    return _counted(counts, "flow", why)


def _counted(counts: Mapping[str, int], what: str, why: str) -> str:
    lost = {name: count for name, count in counts.items() if count}
    total = sum(lost.values())
    if not all(lost) or len(lost) > _MOST_NAMED:
        return f"{_number(total, what)} {why}"
    first, *others = lost.items()
    each = [f"{_number(first[1], what)} of {first[0]}"]
    each += [f"{count} of {name}" for name, count in others]
    return f"{joined(each)} {why}"


def counted_words(counts: Mapping[str, int], *, is_time: bool = True) -> str:
    """What medians and quantiles make of so many runs without a value; "" of none."""
    if not (total := sum(counts.values())):
        return ""
    words = unfinished_words(counts, is_time=is_time)
    return f"{words} count{'s' * (total == 1)} as longest" if is_time else f"left out: {words}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
