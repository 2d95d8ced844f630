"""The numbers of handoffs and changes in the names of axes, which are those of results.

Results count handoffs and changes in the order of time (`--phase`). A scenario has entries, of
which one may have several instants, so that the fourth entry need not be the fourth handoff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from midflight.listing import joined
from midflight.plot.common.names import column_name, plural_name, within_text

__all__ = ["handoff_labels", "since_words"]

_TABLES = ("handoffs", "changes")
#: Numbers that are listed; more are a range.
_MOST_LISTED = 3
#: Combinations of instants of more values than this are not searched.
_MOST_COMBINATIONS = 5000

#: An entry: its table and its place there.
_Entry = tuple[str, int]


def handoff_labels(
    scenario: Mapping[str, Any], axes: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the names of those of these axes that are of an entry of handoffs or changes, by their
    names without numbers in time: "Gap of handoffs 3 and 4" for "Gap of handoff 3". `scenario` is
    in its canonical form.
    """
    ours: dict[str, _Entry] = {}
    for key in axes:
        table, _, rest = key.partition(".")
        number = rest.partition(".")[0]
        if table in _TABLES and number.isdigit():
            ours[key] = table, int(number)
    numbers = _numbers(scenario, axes) if ours else {}
    if sum(map(len, numbers.values())) == 1:
        # The only one needs no number.
        return {}
    found = {}
    for key, entry in ours.items():
        table, place = entry
        one = table.removesuffix("s")
        # Where its number differs among the values of an axis there is none.
        named = _named(one, numbers[entry]) if entry in numbers else f"entry {place + 1} of {table}"
        before = f"the {one}" if place == 0 else f"{one} {place + 1}"
        for name in (column_name(key), within_text(column_name(key)), plural_name(key)):
            if name.endswith(f" of {before}"):
                found[name] = f"{name.removesuffix(before)}{named}"
    return {name: label for name, label in found.items() if name != label}


def _named(one: str, numbers: Sequence[int]) -> str:
    """Handoffs or changes with these numbers in words."""
    first, last = numbers[0], numbers[-1]
    if first == last:
        return f"{one} {first}"
    is_range = len(numbers) > _MOST_LISTED and last - first + 1 == len(numbers)
    return f"{one}s {f'{first} to {last}' if is_range else joined([*map(str, numbers)])}"


def _numbers(
    scenario: Mapping[str, Any], axes: Mapping[str, Sequence[str]]
) -> dict[_Entry, tuple[int, ...]]:
    """The numbers of each entry's handoffs or changes, if they are the same with all values of the
    axes.
    """
    entries = {
        (table, place): str(one["at"])
        for table in _TABLES
        for place, one in enumerate(scenario.get(table) or ())
    }
    moved = {
        entry: axes[key]
        for entry in entries
        if (key := f"{entry[0]}.{entry[1]}.at") in axes or (key := f"{entry[0]}.*.at") in axes
    }
    if len(entries) < 2:
        # Of the only entry there is one order.
        moved = {entry: values[:1] for entry, values in moved.items()}
    elif prod(map(len, moved.values())) > _MOST_COMBINATIONS:
        return {}
    found: dict[_Entry, set[tuple[int, ...]]] = {}
    for values in product(*moved.values()):
        for which, numbers in _counted({**entries, **dict(zip(moved, values, strict=True))}):
            found.setdefault(which, set()).add(numbers)
    return {which: some.pop() for which, some in found.items() if len(some) == 1}


def _counted(entries: Mapping[_Entry, str]) -> Iterator[tuple[_Entry, tuple[int, ...]]]:
    from midflight._core import parse_instants

    each = [(at, entry) for entry, text in entries.items() for at in parse_instants(text)]
    order = [entry for _, entry in sorted(each, key=lambda one: one[0])]
    for entry in entries:
        yield entry, tuple(place for place, one in enumerate(order, 1) if one == entry)


def since_words(scenario: Mapping[str, Any], which: str | None) -> str:
    """Return since when a time after a handoff is, for `which` one a measurement is about ("the
    handoff" for the first one); None stands for any of all, "" is returned for several.
    """
    instants = sum(
        len(numbers)
        for (table, _), numbers in _numbers(scenario, {}).items()
        if table == "handoffs"
    )
    is_one = instants == 1 and not scenario.get("changes")
    if which is None:
        return "the handoff" if is_one else ""
    return "the first handoff" if which == "the handoff" and not is_one else which
