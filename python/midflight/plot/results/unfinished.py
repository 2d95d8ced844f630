"""What figures of results say of runs that did not finish, and of others that they leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from midflight.listing import joined, listed

__all__ = ["counted_flows", "counted_words", "unfinished_words"]

#: Lines are named up to this number, and up to another one if some have the same count.
_MOST_NAMED, _MOST_ALIKE = 4, 8


def unfinished_words(counts: Mapping[str, int], *, is_time: bool = True) -> str:
    """So many runs of each name that have no value, such as "1 run of sack that did not finish"."""
    return _counted(counts, "run", "that did not finish" if is_time else "without a value")


def counted_flows(counts: Mapping[str, int], why: str) -> str:
    """So many flows of each name of which something is so, such as "1 flow of sack done early"."""
    return _counted(counts, "flow", why)


def _counted(counts: Mapping[str, int], what: str, why: str) -> str:
    lost = {name: count for name, count in counts.items() if count}
    total = sum(lost.values())
    if not all(lost):
        return f"{_number(total, what)} {why}"
    if len(lost) > _MOST_NAMED:
        alike: dict[int, list[str]] = {}
        for name, count in lost.items():
            alike.setdefault(count, []).append(name)
        if len(alike) > _MOST_NAMED or len(lost) > _MOST_ALIKE:
            most = max(alike)
            if len(alike) == 1:
                return f"{_number(total, what)} {why}"
            of = alike[most][0] if len(alike[most]) == 1 else f"each of {len(alike[most])} lines"
            return f"{_number(total, what)}, {most} of {of}, {why}"
        (count, names), *rest = alike.items()
        parts = [f"{_number(count, what)} {_of_names(names)}"]
        return f"{listed([*parts, *(f'{n} {_of_names(each)}' for n, each in rest)])} {why}"
    first, *others = lost.items()
    each = [f"{_number(first[1], what)} of {first[0]}"]
    each += [f"{count} of {name}" for name, count in others]
    return f"{joined(each)} {why}"


def _of_names(names: Sequence[str]) -> str:
    return f"each of {joined(names)}" if len(names) > 1 else f"of {names[0]}"


def counted_words(counts: Mapping[str, int], *, is_time: bool = True) -> str:
    """What medians and quantiles make of so many runs without a value; "" of none."""
    if not (total := sum(counts.values())):
        return ""
    words = unfinished_words(counts, is_time=is_time)
    return f"{words} count{'s' * (total == 1)} as longest" if is_time else f"left out: {words}"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
