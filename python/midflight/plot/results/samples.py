"""The independent samples of the intervals in figures of results.

They are those of a comparison (`midflight.sweep_results`): where runs differ in their random
numbers, the values of each run are averaged first, as its instants share its random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from midflight.plot.common.names import plural_name
from midflight.plot.results.pooled import axes_of
from midflight.plot.results.rows import (
    NONE_POOLED,
    Pooled,
    all_words,
    number_of,
    product_words,
    text_of,
)
from midflight.plot.results.tables import Columns
from midflight.sweep_results import SEED, Chance, sample_places

__all__ = ["interval_words", "pooled_of", "sampling"]


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


def pooled_of(over: str, axes: Mapping[str, int]) -> Pooled:
    """Return the axes behind a point with their numbers of values; seeds that are samples are
    counted as these.
    """
    some = {name: n for name, n in axes.items() if not (over == "runs" and name.endswith(SEED))}
    return Pooled([f"{n} {plural_name(name)}" for name, n in some.items()], prod(some.values()))


def interval_words(
    what: str,
    over: str,
    counts: Iterable[tuple[int, int]],
    pooled: Pooled = NONE_POOLED,
    shown: str = " and 95 % interval",
    one: str = "point",
    counted: str = "pairs",
) -> str:
    """Return what the marks of intervals are, and what each point, or `one` of another kind, takes
    together.

    `what` is "mean" or the like, `counts` are the numbers of samples at the points and of what is
    `counted` in these, `pooled` has the axes behind a point, without seeds where these are samples,
    as far as they are known, and `shown` is what is drawn beside it.
    """
    known = [one for one in counts if one[0]]
    if not known:
        return what
    if over == "axes" and not pooled.axes:
        pooled = Pooled(["values of the axes that are not shown"], 0)
    if over == "runs" and all(samples == behind for samples, behind in known):
        # Each sample is a pair.
        pooled = NONE_POOLED
    # A seed has several runs, whose mean is the sample.
    sample = "seed" if over == "runs" and pooled.axes else _ONE.get(over, "sample")
    each = [samples for samples, _ in known]
    least, most = min(each), max(each)
    if most == 1:
        said = f"{what}; no interval, as each is of one {sample}"
    else:
        alone = f"; none where there is only one {sample}" if shown and least == 1 else ""
        of = "" if over == "axes" else f" over {number_of(each, f'{sample}s')}"
        said = f"{what}{shown}{of}{alone}"
    if not pooled.axes or (over == "axes" and most == 1):
        return said
    runs = [f"{most} seeds"] if over == "runs" and most > 1 else []
    behind = [number for _, number in known]
    # Of so many each point has all.
    every = pooled.number * (most if runs else 1)
    axes = [*runs, *pooled.axes]
    if {*behind} == {every}:
        return f"{said}; each {one}: {all_words(axes)}"
    return f"{said}; each {one}: {number_of(behind, counted)} of {product_words(axes)}"
