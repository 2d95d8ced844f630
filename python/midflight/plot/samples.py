"""The independent samples of the intervals in figures of results.

They are those of a comparison (`midflight.sweep_results`): where runs differ in their random
numbers, the values of each run are averaged first, as its instants share its random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from midflight.plot.axis import axes_of, text_of
from midflight.plot.names import column_name, within_text
from midflight.plot.tables import Columns
from midflight.sweep_results import SEED, Chance, sample_places

__all__ = ["Sampling", "interval_words", "sampling"]


#: What several values of a key of a scenario's tables are called.
_PLURALS: Mapping[str, str] = {"at": "instants", "trace.offset": "starts in the recording"}


@dataclass(frozen=True)
class Sampling:
    """What the samples are ("runs", "axes", or the "values" themselves), and the sample of a row.

    `axes` are the pooled axes with several values.
    """

    over: str
    key: Callable[[int], Hashable]
    axes: Sequence[str] = ()


def sampling(
    columns: Columns, rows: Sequence[int], measured: str, shown: Sequence[str]
) -> Sampling:
    """Return the samples of these rows of a table; `shown` are the columns that are told apart.

    In a table without seeds and numbers of runs each row is a sample.
    """
    if not {SEED, "run"} & {*columns}:
        return Sampling("values", lambda row: row)
    axes = [name for name in axes_of(columns) if name != measured]
    names = [*axes, "digest"] if "digest" in columns else list(columns)
    chance = Chance(axes)
    for row in rows:
        if chance.is_there:
            break
        chance.note({name: text_of(columns[name][row]) for name in names})
    rest = [name for name in axes if name not in shown]
    places = sample_places(rest, by_chance=chance.is_there)
    by = [name for i, name in enumerate((*rest, "run")) if i in places and name in columns]

    def key(row: int) -> Hashable:
        return tuple(text_of(columns[name][row]) for name in by)

    if chance.is_there:
        return Sampling("runs", key)
    varied = [name for name in by if len({text_of(columns[name][row]) for row in rows}) > 1]
    return Sampling("axes", key, varied)


def interval_words(what: str, over: str, counts: Sequence[int], axes: Sequence[str] = ()) -> str:
    """Return what the marks of intervals are.

    `what` is "mean" or the like, `counts` are the numbers of samples at the points, and `axes`
    those whose values are the samples, as far as they are known.
    """
    some = [count for count in counts if count > 0]
    if not some:
        return what
    least, most = min(some), max(some)
    one = {"runs": "run", "values": "value"}.get(over, "sample")
    if most == 1:
        return f"{what}; no interval, as each is of one {one}"
    number = f"{most}" if least == most else f"{least} to {most}"
    alone = f"; none where there is only one {one}" if least == 1 else ""
    if over == "axes":
        return f"{what} and 95 % interval over {number} {_values_of(axes)}{alone}"
    return f"{what} and 95 % interval over {number} {one}s{alone}"


def _values_of(axes: Sequence[str]) -> str:
    """What values of these axes are called."""
    if len(axes) == 1:
        plural = _PLURALS.get(".".join(axes[0].split(".")[2:]))
        if plural is not None:
            _, of, entry = column_name(axes[0]).partition(" of ")
            return f"{plural}{of}{entry}"
    names = [column_name(name) for name in axes]
    named = " and ".join(map(within_text, names))
    return f"values of {named or 'the axes that are not shown'}"
