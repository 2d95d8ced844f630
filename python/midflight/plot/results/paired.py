"""What the figure of a sweep shows whose values are compared in pairs: how each value changes the
measurement. The spread over instants and seeds, which both sides of a pair share, would hide that
in a figure of the values.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

from midflight._core import MidflightError
from midflight.listing import joined
from midflight.plot.common.names import plural_name
from midflight.plot.common.style import SERIES
from midflight.plot.results.compared import (
    are_legible,
    has_changes,
    has_intervals,
    is_curve,
    usual_change,
    why_empty,
)
from midflight.plot.results.compared_again import separated_again
from midflight.plot.results.median_panels import are_panels
from midflight.plot.results.rows import (
    Choice,
    compared_name,
    is_early_pair,
    kept_rows,
    kept_values,
)
from midflight.plot.results.tables import (
    CHANGES,
    Columns,
    TableSource,
    column_names,
    columns_of,
    folder_of,
    only_rows,
)
from midflight.plot.usual import (
    MOST_CHANGES,
    MOST_MAPS,
    USUAL_MAPS,
    Shown,
    curve_axis,
    is_sweep,
    places_of,
    with_flows,
)
from midflight.refusal import refusal
from midflight.sweep_results import SEED

__all__ = [
    "Paired",
    "by_compared",
    "by_value",
    "check_comparison_axis",
    "check_is_apart",
    "comparison_of",
    "curve_words",
    "is_left_out",
    "lacks_pairs",
    "left_out_reason",
    "no_change",
    "paired_figure",
    "paired_maps",
    "paired_maps_of",
    "paired_of",
    "paired_shown",
    "samples_of",
    "separated_axes",
    "source_of",
    "values_kept_words",
]

#: The measurement, and the column with the values that are compared.
_RATIO, _VALUE = "ratio", "value"
#: Comparisons that lack half of their pairs are few up to this number, and to this share of all.
_FEW, _FEW_SHARE = 2, 0.2
#: The columns by which the file of a comparison is known.
_COLUMNS = ("flow", "metric", "compared", _VALUE, "baseline", *CHANGES)


def source_of(source: TableSource, value: str | None) -> TableSource:
    """Return the comparison of a sweep for its folder if a change of the comparison is asked for,
    and any other source as it is.

    Raises `MidflightError` for a sweep without a comparison.
    """
    if value not in CHANGES or not is_sweep(source):
        return source
    if (file := comparison_of(source)) is not None:
        return file
    raise refusal(
        f'"{source}": {value} is a column of a comparison, and the sweep has none: run it again '
        "with --compare AXIS, which writes comparison.csv",
        name="value",
        value=value,
        accepted="a measurement of the tables",
    )


class Paired(NamedTuple):
    """The kind of a figure of a comparison, its file or table, and what it shows; the `columns` if
    they are not those of the file, as the figure pools others of the axes.
    """

    kind: str
    file: TableSource
    shown: Shown
    columns: Columns | None = None


def paired_figure(
    source: TableSource,
    kind: str | None,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
    baseline: str | None = None,
) -> Paired | None:
    """Return the figure of a comparison; None if a figure of this kind shows the values. `kind` is
    None for the usual one, and `baseline` what is compared with, if that is not the sweep's.

    Where the comparison of a sweep has more lines than can be distinguished, or lacks an axis that
    is asked for, the sweep's values are compared again, with all pooled but what the figure shows.
    So they are if instants are all that it pools (`curve_axis`): the usual figure is over these.
    """
    axis = None if has_by or asked.x is not None else _curve_of(source, kind, where)
    if axis is not None:
        over = asked._replace(x=axis)
        curve = paired_figure(source, kind, over, where, has_by=False, baseline=baseline)
        if curve is not None and curve.columns is not None and is_curve(curve.columns):
            return curve
    if baseline is not None:
        return _against(source, kind, asked, where, baseline)
    if not has_by or {*asked.by} <= _columns_apart(source):
        found = _of_file(source, kind, asked, where, has_by=has_by)
        if found is not None:
            return Paired(*found)
    if has_by and asked.value not in CHANGES:
        return None
    return _compared_again(source, kind, asked, where)


def _curve_of(
    source: TableSource, kind: str | None, where: Mapping[str, str | Sequence[str]] | None
) -> str | None:
    """The instants over which the usual figure of a sweep has its changes; None if it has none."""
    if kind is not None or not is_sweep(source):
        return None
    from midflight.sweep_folder import read_definition

    asked = read_definition(Path(str(source)))
    kept = {**asked["axes"], **kept_values(asked["axes"], where)}
    axes = {key: kept[key] for key in asked["axes"]}
    return curve_axis(axes, asked.get("compare"), asked["by"] or ())


def _against(
    source: TableSource,
    kind: str | None,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None,
    baseline: str,
) -> Paired:
    """The figure of a sweep's comparison with another baseline."""
    from midflight.sweep import Sweep
    from midflight.sweep_results import check_has_tables

    found = None
    if is_sweep(source):
        Sweep.read(source).against(baseline)
        check_has_tables(Path(str(source)))
        value = asked.value if asked.value is not None or kind != "heatmap" else _RATIO
        found = _compared_again(source, kind, asked._replace(value=value), where, baseline)
    if found is None:
        raise no_change(baseline)
    return found


def no_change(baseline: str) -> MidflightError:
    """Return the error for a baseline of a figure that does not show changes."""
    accepted = "a figure of changes of a sweep with --compare AXIS"
    return refusal(
        f"--baseline {baseline}: the figure shows no change against it; expected {accepted}, "
        "such as --kind interval --value ratio",
        name="--baseline",
        value=baseline,
        accepted=accepted,
    )


def by_compared(source: TableSource, asked: Shown) -> Shown:
    """Return what is asked for, of changes with the column of their values for the compared axis,
    whose name it has in the tables of the sweep.
    """
    if asked.value not in CHANGES or (file := comparison_of(source)) is None:
        return asked
    columns = columns_of(file, _RATIO)
    compared = compared_name(_VALUE, columns)

    def named(name: str | None) -> str | None:
        return _VALUE if name == compared and name not in columns else name

    x, y = named(asked.x), named(asked.y)
    return asked._replace(x=x, y=y, by=[str(named(one)) for one in asked.by])


def _columns_apart(source: TableSource) -> set[str]:
    """The columns of the comparison of a source, which lines may be told apart by; none without
    one.
    """
    file = comparison_of(source)
    return set() if file is None else {*columns_of(file, _RATIO)}


def _compared_again(
    source: TableSource,
    kind: str | None,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None,
    baseline: str | None = None,
) -> Paired | None:
    """The figure of a sweep's comparison that separates only its axes, and those that rows are kept
    by.
    """
    is_map = kind == "heatmap"
    shows_values = asked.value is None and is_map and is_sweep(source)
    is_change = asked.value is None or asked.value in CHANGES
    if shows_values or not is_change or kind not in (None, "interval", "heatmap"):
        return None
    file = comparison_of(source)
    if file is None or not isinstance(source, str | Path):
        return None
    # The file in the folder of a sweep is as good as that.
    folder = Path(source) if is_sweep(source) else Path(source).parent
    if not is_sweep(folder) or comparison_of(folder) != file:
        return None
    known = columns_of(file, _RATIO)
    if _shows_values(source, kind, asked, known):
        return None
    best = [one for one in separated_axes(known) if one not in asked.by]
    if _VALUE in asked.by:
        # Maps of each value have two other axes.
        best += [one for one in samples_of(file, known) if one not in asked.by]
    elif is_map and not best and {asked.x, asked.y} <= {None, _VALUE}:
        # A map of a single change each has one of the axes that it pools.
        pooled = [one for one in samples_of(file, known) if one not in asked.by]
        best = sorted(pooled, key=lambda one: one == SEED)[:1]
    if is_map:
        sides = [one for one in (asked.x, asked.y) if one is not None]
        sides += [one for one in best if one not in sides][: 2 - len(sides)]
    else:
        sides = [asked.x] if asked.x is not None else best[:1]
    if asked.by:
        of: Any = {"is_map": is_map, "baseline": baseline}
        return _with_lines(folder, file, sides, asked, where, **of)
    # Without room for a map of each compared value these are a side of one.
    for some in (sides, sides[:1]):
        columns = separated_again(folder, [one for one in some if one != _VALUE], where, baseline)
        if columns is None:
            continue
        is_asked = asked.value is not None or baseline is not None
        columns = _kept(columns, by_value(columns, where) if is_asked else where)
        if columns is None:
            continue
        if is_map:
            shown = paired_maps(columns, MOST_MAPS)
        else:
            shown = paired_shown(columns, next(iter(some), _VALUE))
        if shown is None:
            continue
        shown = shown._replace(value=asked.value or shown.value)
        turned = _turned(shown, asked) if is_map else shown
        if turned is not None:
            return Paired("heatmap" if is_map else "interval", file, turned, columns)
    return None


def _with_lines(
    folder: Path,
    file: TableSource,
    sides: Sequence[str],
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None,
    *,
    is_map: bool,
    baseline: str | None,
) -> Paired | None:
    """The figure of a sweep's comparison with lines or maps that are asked for, and these sides."""
    apart = [one for one in (*sides, *asked.by) if one not in (_VALUE, "flow")]
    columns = separated_again(folder, apart, where, baseline)
    columns = None if columns is None else _kept(columns, by_value(columns, where))
    if columns is None:
        return None
    by, count = list(asked.by), 2 if is_map else 1
    if len(sides) < count and _VALUE not in by:
        sides = [*sides, _VALUE]
    if len(sides) < count:
        return None
    for name in (_VALUE, "flow"):
        # Different changes are told apart.
        if len(_texts(columns, name)) > 1 and name not in (*sides, *by):
            by.insert(0, name)
    x, y = (asked.x or sides[0]), (asked.y or sides[1]) if is_map else None
    shown = Shown(x, y, asked.value, by)
    return Paired("heatmap" if is_map else "interval", file, shown, columns)


def _of_file(
    source: TableSource,
    kind: str | None,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
) -> tuple[str, TableSource, Shown] | None:
    """The kind of the figure of a comparison as it is in its file, that, and what it shows."""
    if kind is None and (columns := _compared_rows(source, where)) is not None:
        if _shows_values(source, kind, asked, columns):
            return None
        if not ((has_intervals(columns) and are_legible(columns)) or asked.x):
            # Without intervals lines say no more than maps, which have both axes, and beside wide
            # ones they are not seen.
            found = paired_maps_of(source, asked, where, has_by=has_by)
            if found is not None and found[1].y != _VALUE:
                return "heatmap", *found
    if kind in (None, "interval"):
        if (found := paired_of(source, asked, where, has_by=has_by)) is not None:
            return "interval", *found
        if kind is not None or asked.x is not None:
            # A map has more than the axis that is asked for.
            return None
    else:
        shows_values = asked.value is None if is_sweep(source) else None not in (asked.x, asked.y)
        if kind != "heatmap" or shows_values:
            return None
    found = paired_maps_of(source, asked, where, has_by=has_by, is_asked=kind == "heatmap")
    return None if found is None else ("heatmap", *found)


def _shows_values(source: TableSource, kind: str | None, asked: Shown, columns: Columns) -> bool:
    """Whether the usual figure of a sweep has values, as its comparison lacks pairs and no change
    is asked for; the file of a comparison has only changes.
    """
    return kind is None and asked.value is None and is_sweep(source) and lacks_pairs(columns)


def _compared_rows(
    source: TableSource, where: Mapping[str, str | Sequence[str]] | None
) -> Columns | None:
    """The kept rows of the comparison of a source, if it has one."""
    if (file := comparison_of(source)) is None:
        return None
    return _kept(columns_of(file, _RATIO), where)


def lacks_pairs(columns: Columns) -> bool:
    """Whether half of the comparisons or more have no pair, as a run of each has no value, or more
    than a few have at most half of their pairs: the others are those of the fastest runs. What
    was done before the handoff says nothing about either.
    """
    if "pairs" not in columns:
        return False
    columns = _with_handoff(columns)
    count, lacking = len(columns["pairs"]), len(_lacking(columns))
    return 0 < count <= 2 * len(_empty(columns)) or lacking > max(_FEW, _FEW_SHARE * count)


def _with_handoff(columns: Columns) -> Columns:
    """The comparisons but those of flows that were all done before the handoff, which figures leave
    out (`rows_of`); all if there are no others.
    """
    count = len(next(iter(columns.values()), ()))
    some = [row for row in range(count) if not is_early_pair(columns, row)]
    return only_rows(columns, some) if 0 < len(some) < count else columns


def _empty(columns: Columns) -> list[int]:
    """The comparisons without any pair."""
    return [row for row in range(len(columns["pairs"])) if why_empty(columns, row)]


def _lacking(columns: Columns) -> list[int]:
    """The comparisons of which half of the pairs or more are left out."""
    each = zip(columns["pairs"], columns.get("left_out", ()), strict=False)
    return [row for row, (pairs, lost) in enumerate(each) if int(lost or 0) >= max(1, int(pairs))]


def left_out_reason(source: TableSource, where: Mapping[str, Any] | None = None) -> str:
    """Return why the comparison of a sweep has few pairs in many combinations; "" if it has not
    (`lacks_pairs`).
    """
    columns = _compared_rows(source, where) if is_sweep(source) else None
    if columns is None or not lacks_pairs(columns):
        return ""
    columns = _with_handoff(columns)
    apart = ["flow", *_axes(columns)]
    places = [
        tuple(str(columns[name][row]) for name in apart) for row in range(len(columns[_RATIO]))
    ]
    lost: dict[str, set[tuple[str, ...]]] = {}
    for row, place in enumerate(places):
        if why := why_empty(columns, row):
            lost.setdefault(why, set()).add(place)
    count = len({*places})
    if 2 * len(_empty(columns)) < len(places):
        found = {places[row] for row in _lacking(columns)}
        return f"half of its pairs or more are left out in {len(found)} of {count} combinations"
    each = [f"{why} in {len(found)} of {count} combinations" for why, found in lost.items()]
    return ", and ".join(each)


def values_kept_words(source: TableSource, where: Mapping[str, str | Sequence[str]]) -> str:
    """Return why the figure of a sweep with a comparison shows values where rows are kept by the
    compared axis, and what keeps the comparison; "" where they are not.
    """
    file = comparison_of(source) if is_sweep(source) else None
    if file is None:
        return ""
    columns = columns_of(file, _RATIO)
    axis, baseline = (next(iter(_texts(columns, name)), "") for name in ("compared", "baseline"))
    if axis not in where:
        return ""
    every = {axis: [baseline, *_texts(columns, _VALUE)]}
    kept = kept_values(every, {axis: where[axis]})[axis]
    words = f"as only some values of {axis} are kept"
    if baseline not in kept:
        words = f"as the rows of the baseline of {axis}, {baseline}, are left out"
    others = [shlex.quote(f"{_VALUE}={one}") for one in kept if one != baseline]
    again = " ".join(f"--where {one}" for one in others)
    return f"{words}; {again} keeps the comparison" if others else words


def paired_of(
    source: TableSource,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
) -> tuple[TableSource, Shown] | None:
    """Return the comparison in the folder of a sweep, or in a file, and what a figure of it shows.

    None for other sources, if another measurement is asked for, if lines are (`has_by`) but no
    change, or if the comparison has no intervals or lacks the axis or what rows are kept by.
    """
    may_have_by = asked.value is not None
    if (found := _asked_of(source, asked, where, has_by=has_by and not may_have_by)) is None:
        return None
    file, columns, value = found
    if has_by:
        free = [*places_of(_varied(columns), *asked.by), _VALUE]
        x = next((name for name in free if name not in asked.by), None)
        if asked.x is not None:
            x = asked.x if asked.x in free else None
        by = list(asked.by)
        if len(_texts(columns, _VALUE)) > 1 and _VALUE not in (x, *by):
            # Different changes are told apart.
            by = [_VALUE, *by]
        return None if x is None else (file, Shown(x, None, value, by))
    shown = paired_shown(columns, asked.x)
    return None if shown is None else (file, shown._replace(value=value))


def _asked_of(
    source: TableSource,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None,
    *,
    has_by: bool,
) -> tuple[TableSource, Columns, str] | None:
    """The comparison of a source, its kept rows, and the change that is shown."""
    is_change = asked.value is None or asked.value in CHANGES
    if has_by or not is_change or (file := comparison_of(source)) is None:
        return None
    columns = columns_of(file, _RATIO)
    kept = _kept(columns, where if asked.value is None else by_value(columns, where))
    return None if kept is None else (file, kept, asked.value or usual_change(kept))


def by_value(
    columns: Columns, where: Mapping[str, str | Sequence[str]] | None
) -> dict[str, str | Sequence[str]]:
    """Return what rows of a table are kept by, of a comparison with its column of values for the
    name of the compared axis, without the baseline, which all values have a pair with.
    """
    found: dict[str, str | Sequence[str]] = {}
    for name, values in (where or {}).items():
        if name in columns or compared_name(_VALUE, columns) != name:
            found[name] = values
            continue
        baseline = _texts(columns, "baseline")
        kept = kept_values({name: [*baseline, *_texts(columns, _VALUE)]}, {name: values})[name]
        found[_VALUE] = [one for one in kept if one not in baseline] or kept
    return found


def _kept(columns: Columns, where: Mapping[str, str | Sequence[str]] | None) -> Columns | None:
    """The rows of a comparison that are kept; None if it lacks one of the columns."""
    if not {*(where or {})} <= {*columns}:
        return None
    rows = kept_rows(columns, len(columns[_RATIO]), kept_values(columns, where))
    return only_rows(columns, rows)


def paired_maps_of(
    source: TableSource,
    asked: Shown,
    where: Mapping[str, str | Sequence[str]] | None = None,
    *,
    has_by: bool,
    is_asked: bool = False,
) -> tuple[TableSource, Shown] | None:
    """Return the comparison of a sweep of which `paired_of` draws nothing because its lines are too
    many, or whose maps are asked for, and what maps of it show: the change over the two axes that
    it separates, one map for each compared value, or over the only one and the compared values.
    None if it has other axes, more values, or what `paired_of` refuses.
    """
    if (found := _asked_of(source, asked, where, has_by=has_by)) is None:
        return None
    file, columns, value = found
    if (shown := paired_maps(columns, MOST_MAPS if is_asked else USUAL_MAPS)) is None:
        return None
    turned = _turned(shown._replace(value=value), asked)
    return None if turned is None else (file, turned)


def _turned(shown: Shown, asked: Shown) -> Shown | None:
    """What maps show, with the sides that are asked for; None if they have others."""
    if shown.x in (asked.y, None) or shown.y == asked.x:
        shown = shown._replace(x=shown.y, y=shown.x)
    given = (asked.x or shown.x, asked.y or shown.y)
    return shown if given == (shown.x, shown.y) else None


def separated_axes(columns: Columns) -> list[str]:
    """Return the axes with several values that a comparison separates, the best one for a figure
    first.
    """
    return places_of(_varied(columns), None)


def paired_maps(columns: Columns, most: int = USUAL_MAPS) -> Shown | None:
    """Return what maps of a comparison with one or two axes show; None for other ones, and for
    more maps than the `most`, of which those of flows are some.
    """
    if not has_changes(columns):
        return None
    columns = _with_handoff(columns)
    varied = _varied(columns)
    apart = {name: _texts(columns, name) for name in ("flow", _VALUE)}
    several = [name for name, values in apart.items() if len(values) > 1]
    if len(varied) == 1:
        x, y = next(iter(varied)), _VALUE
        by = [name for name in several if name != _VALUE]
    elif len(varied) == 2:
        x, y = places_of(varied, None)
        by = several or [_VALUE]
    else:
        return None
    counts = {name: len(apart[name]) for name in by}
    if prod(counts.values()) > most or counts.get(_VALUE, 0) > USUAL_MAPS:
        return None
    return Shown(x, y, usual_change(columns), by)


def comparison_of(source: TableSource) -> TableSource | None:
    """Return the file with the comparison that a sweep printed, of its folder; or the source itself
    if it is a file or a table of a comparison.
    """
    from midflight.sweep_folder import kept_comparison

    if is_sweep(source):
        return kept_comparison(Path(source))
    if not isinstance(source, str | Path):
        return source if {*_COLUMNS} <= {*column_names(source)} else None
    file = Path(source)
    if file.suffix != ".csv" or not file.is_file():
        return None
    return file if {*_COLUMNS} <= {*columns_of(file, _RATIO)} else None


def check_comparison_axis(source: TableSource, kind: str) -> None:
    """Refuse a comparison for a figure that lacks an axis or a measurement."""
    if is_sweep(source) or (file := comparison_of(source)) is None:
        return
    columns = columns_of(file, _RATIO)
    compared = ", ".join(_texts(columns, "compared"))
    axes = [f"{_VALUE} (the values of {compared})", *_axes(columns)]
    examples = {
        "cdf": f"--value, such as --value {_RATIO}",
        "heatmap": f"--x and --y, two of the axes, and --value, such as --value {_RATIO}",
    }
    usual = f"--x and --y, such as --x {_VALUE} --y {_RATIO}"
    raise refusal(
        f'"{source}" is a comparison with the measurements {" and ".join(CHANGES)} over '
        f"{', '.join(axes)}: give {examples.get(kind, usual)}",
        name="--x",
        value=None,
        accepted=", ".join([_VALUE, *_axes(columns)]),
    )


def is_left_out(source: TableSource, where: Mapping[str, Any] | None = None) -> bool:
    """Whether the comparison of a sweep has intervals, for a figure that does not show them."""
    file = comparison_of(source) if is_sweep(source) else None
    columns = None if file is None else _kept(columns_of(file, _RATIO), where)
    return columns is not None and has_intervals(columns)


def samples_of(source: TableSource, columns: Columns) -> dict[str, int]:
    """Return the axes of a sweep over whose values the intervals of its comparison are, and their
    numbers of values, if `source` is the file of one, or a table of it.
    """
    folder = folder_of(source) if "over" in columns else None
    if folder is None or not (folder / "sweep.json").is_file():
        return {}
    from midflight.sweep_folder import read_definition

    asked = read_definition(folder)
    kept = {*columns, asked.get("compare")}
    each = {key: len(values) for key, values in asked["axes"].items() if key not in kept}
    firsts = ((key, next(iter(columns[key]), None)) for key in asked["axes"] if key in columns)
    each |= {key: len(one.values) for key, one in firsts if isinstance(one, Choice)}
    return {key: count for key, count in each.items() if count > 1}


def check_is_apart(
    source: TableSource, columns: Columns, asked: Mapping[str, str | None], samples: Collection[str]
) -> None:
    """Refuse an axis of a sweep that its comparison pools, as the option that asks for it."""
    for option, name in asked.items():
        if name is not None and name in samples and name not in columns:
            by = ",".join([*_axes(columns), name])
            raise refusal(
                f'{option} {name}: the comparison "{source}" pools its values; run the sweep again '
                f"with --by {by}, which compares at each of them",
                name=option,
                value=name,
                accepted=", ".join([_VALUE, *_axes(columns)]),
            )


def curve_words(samples: Collection[str], curve: str | None) -> str:
    """Return what gives a curve over an axis that a comparison pools, or, of the usual `curve`,
    one change over all of its axis; "" without such an axis.
    """
    if curve is not None:
        return f"--x {_VALUE} shows one change over all {plural_name(curve)}"
    pooled = [name for name in samples if name != SEED]
    if not pooled:
        return ""
    first, every = pooled[0], joined([plural_name(one) for one in pooled])
    return f"each change is over all {every}; --x {first} shows it at each of them"


def paired_shown(columns: Columns, x: str | None = None) -> Shown | None:
    """Return what a figure of a comparison shows: the change, over an axis, by default the longest
    one of numbers, or else over the compared values.

    None if it has no intervals, or more lines than can be distinguished.
    """
    columns = _with_handoff(columns)
    varied = _varied(columns) if has_changes(columns) else {}
    if not (varied or has_intervals(columns)):
        # A single change without an interval is no figure.
        return None
    if x is None:
        x = next(iter(places_of(varied, None)), _VALUE)
    elif x not in _axes(columns) and x != _VALUE:
        return None
    apart = {"flow": _texts(columns, "flow"), _VALUE: _texts(columns, _VALUE), **varied}
    several = [name for name, values in apart.items() if name != x and len(values) > 1]
    settings = [name for name in several if name != "flow"]
    # Lines and panels are those of a figure of the values, but no flows are taken together.
    by = with_flows(settings, [], apart, most=MOST_CHANGES)
    by = [name for name in several if name not in by] + by
    if not by and x != _VALUE:
        # The legend names the only value.
        by = [_VALUE]
    keys = {tuple(str(columns[name][row]) for name in by) for row in range(len(columns[_RATIO]))}
    # Of a single flow maps have both axes.
    has_panels = by[-1:] == ["flow"] and are_panels([*keys], MOST_CHANGES)
    is_clear = has_panels and len({key[:-1] for key in keys}) <= MOST_CHANGES
    is_clear |= len(keys) <= len(SERIES)
    return Shown(x, None, usual_change(columns), by) if is_clear else None


def _axes(columns: Columns) -> list[str]:
    """The axes that a comparison separates."""
    names = list(columns)
    return names[1 : names.index("metric")]


def _varied(columns: Columns) -> dict[str, list[str]]:
    """Those with several values, and these."""
    columns = _with_handoff(columns)
    axes = {name: _texts(columns, name) for name in _axes(columns)}
    return {name: values for name, values in axes.items() if len(values) > 1}


def _texts(columns: Mapping[str, Any], name: str) -> list[str]:
    return list(dict.fromkeys(map(str, columns[name])))
