"""The independent samples of the intervals in figures of results.

They are those of a comparison (`midflight.sweep_results`): where runs differ in their random
numbers, the values of each run are averaged first, as its instants share its random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from midflight.plot.common.names import plural_name, short_name
from midflight.plot.results.pooled import axes_of
from midflight.plot.results.rows import over_words, text_of
from midflight.plot.results.tables import Columns
from midflight.sweep_results import SEED, Chance, sample_places

__all__ = ["averaged_axes", "interval_words", "sampling"]


#: What a sample is called.
_ONE: Mapping[str, str] = {"runs": "run", "values": "value"}


@dataclass(frozen=True)
class Sampling:
    """What the samples are ("runs", "axes", or the "values" themselves), and the sample of a row.

    `axes` are the columns with several values that tell samples apart.
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

    varied = [name for name in by if len({text_of(columns[name][row]) for row in rows}) > 1]
    return Sampling("runs" if chance.is_there else "axes", key, varied)


def interval_words(
    what: str,
    over: str,
    counts: Sequence[int],
    axes: Sequence[str] = (),
    shown: str = " and 95 % interval",
    averaged: str = "",
) -> str:
    """Return what the marks of intervals are.

    `what` is "mean" or the like, `counts` are the numbers of samples at the points, `axes` those
    whose values are the samples, as far as they are known, `shown` is what is drawn beside it, and
    `averaged` says what each sample is the mean of (`averaged_axes`).
    """
    some = [count for count in counts if count > 0]
    if not some:
        return what
    # A seed has several runs, whose mean is the sample.
    one = "seed" if over == "runs" and averaged else _ONE.get(over, "sample")
    least, most = min(some), max(some)
    if most == 1:
        return f"{what}; no interval, as each is of one {one}{averaged.removesuffix(' each')}"
    alone = f"; none where there is only one {one}" if shown and least == 1 else ""
    samples = _values_of(axes) if over == "axes" else f"{one}s"
    return f"{what}{shown} {over_words(some, samples)}{averaged}{alone}"


def averaged_axes(over: str, axes: Sequence[str], counts: Iterable[tuple[int, int]]) -> str:
    """Return what the pairs of each seed are averaged over, whose samples are seeds: " of 6
    instants each" or, where some are left out, the number of pairs; "" if there is nothing, or if
    the samples are the values of these axes. `counts` are the numbers of samples and pairs at the
    points.
    """
    names = [plural_name(name) for name in axes if not name.endswith(SEED)]
    known = [one for one in counts if one[0]]
    if over != "runs" or not names or not known:
        return ""
    each = {pairs / samples for samples, pairs in known}
    if each == {1.0}:
        return ""
    if len(names) == len(each) == 1 and (number := each.pop()).is_integer():
        # No pair of any run is left out.
        return f" of {number:.0f} {names[0]} each"
    pairs = [number for _, number in known]
    return f" ({over_words(pairs, 'pairs').removeprefix('over ')})"


def _values_of(axes: Sequence[str]) -> str:
    """What values of these axes are called."""
    if len(axes) == 1:
        return plural_name(axes[0])
    named = " and ".join(map(short_name, axes))
    return f"values of {named or 'the axes that are not shown'}"
