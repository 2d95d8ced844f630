"""What a figure shows unless a user says it: of a sweep its measurement, axis and lines, of a run
its panels.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from midflight.plot.common.style import SERIES
from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from midflight import MidflightError
    from midflight.plot.over_time.history import RunSource
    from midflight.plot.results.tables import Columns, TableSource

__all__ = [
    "MOST_CHANGES",
    "MOST_LINES",
    "MOST_MAPS",
    "USUAL_MAPS",
    "Shown",
    "after_handoff",
    "asks_phases",
    "curve_axis",
    "free_axes",
    "free_columns",
    "is_sweep",
    "map_sides",
    "maps_instead",
    "missing_argument",
    "places_of",
    "settled_sides",
    "usual_by",
    "usual_figure",
    "usual_kinds",
    "usual_maps",
    "usual_rows",
    "usual_shown",
    "which_after",
    "with_flows",
]

#: The panels of a run whose links follow recordings.
_OF_RECORDINGS = ("throughput", "queue", "delay")

#: Settings have lines up to this number.
MOST_LINES = 6
#: What is compared and schemes have maps beside each other up to this number.
USUAL_MAPS = 9
#: The most maps of a figure, as those of several flows or that are asked for.
MOST_MAPS = 12
#: Changes with their intervals would be a wall of lines beyond this number.
MOST_CHANGES = 5
#: So many instants are a curve and not only a sample of chance.
_LEAST_CURVE = 8
#: What is compared and schemes, which are not pooled, have lines up to this number.
_MOST_APART = len(SERIES)


class Shown(NamedTuple):
    """The columns of a figure: its horizontal axis, of a heat map its vertical one, the
    measurement, and the columns with a line for each of their values.
    """

    x: str | None
    y: str | None
    value: str | None
    by: Sequence[str]


def is_sweep(source: object) -> TypeGuard[str | Path]:
    """Whether a source of results is the folder of a sweep."""
    return isinstance(source, str | Path) and (Path(source) / "sweep.json").is_file()


def usual_shown(
    source: TableSource,
    kind: str,
    shown: Shown,
    *,
    has_by: bool,
    where: Mapping[str, Any] | None = None,
) -> Shown:
    """Return what a figure shows, with the usual columns of a sweep for those that are not given
    (`has_by` says whether the lines are). The source is its folder, or a table of its results, of
    which they are columns with the values of its rows.

    The measurement is the one that the sweep prints, the axis that with which fewest settings are
    pooled, the longest one of numbers that are no samples among equals, and each value of the other
    settings has a line, as far as lines can be distinguished. What the sweep compares is told apart
    from given lines, too.

    Raises `MidflightError` if more schemes, stacks, controllers or compared values would be pooled
    than there are lines.
    """
    from midflight.plot.results.linked import axes_in, sweep_of

    if (folder := sweep_of(source)) is None:
        needs_x = shown.x is None and shown.value is not None and kind not in ("cdf", "heatmap")
        free = free_columns(source, shown, where) if needs_x else []
        return shown._replace(x=free[0]) if len(free) == 1 else shown
    from midflight.plot.results.pooled import pooled_axes
    from midflight.plot.results.rows import kept_values, measured_flows
    from midflight.plot.results.tables import columns_of, table_columns
    from midflight.sweep_folder import read_definition
    from midflight.sweep_results import is_sample

    asked = read_definition(folder)
    table = None if is_sweep(source) else table_columns(source)
    x, y, value, by = shown
    if value is None and (value := _usual_measure(folder, asked, table)) is None:
        return shown
    axes, compare = asked["axes"], asked.get("compare")
    if table is not None:
        if not any(len(values) for values in table.values()):
            accepted = "a table with rows"
            raise refusal(
                f"the table has no rows; expected {accepted}: the selection left none",
                name="source",
                value="no rows",
                accepted=accepted,
            )
        axes = axes_in(table, axes)
        compare = compare if compare in axes else None
    fixed = {
        key for key, value in (where or {}).items() if isinstance(value, str) or len(value) == 1
    }
    # Of an axis with several kept values these.
    kept = {key: values for key, values in (where or {}).items() if key not in fixed}
    axes = {key: kept.get(key, values) for key, values in axes.items() if key not in fixed}
    if (apart := asked["by"]) is not None:
        # What the tables of the sweep pool has no lines.
        seen = {key: axes[key] for key in axes if key in (*apart, compare) or is_sample(key)}
        axes = seen or axes
    # The axis of a CDF is the measurement: the one of medians is told apart otherwise.
    across = None
    if kind == "cdf":
        x, across = None, next(iter(_best_first(axes, compare, apart or ())), None)
        if across is not None and (is_sample(across) or _is_apart(across, compare)):
            across = None
    elif x is None and kind == "box":
        # Samples are in the boxes, not side by side.
        places = _best_first(axes, compare, apart or (), pools=has_by)
        x = next((key for key in places if key not in by and not is_sample(key)), None)
        if x is None:
            x, by = (by[0], by[1:]) if by else ("flow", [])
    elif x is None and kind != "heatmap":
        places = _best_first(axes, compare, apart or (), pools=has_by)
        x = next((key for key in places if key != y), None)
    if kind == "heatmap":
        x, y = _sides(axes, compare, x, y)
    is_one = has_by or "flow" in (x, y, *fixed)
    columns = {} if is_one else columns_of(source, value)
    flows = measured_flows(columns, value, kept_values(columns, where))
    if kind == "heatmap":
        if not has_by:
            by = with_flows(usual_maps(axes, compare, {x, y}), [], {**axes, "flow": flows}, most=0)
    elif not has_by:
        from midflight.plot.results.median_panels import MOST_PANELS

        by = usual_by(axes, compare, {x, across}, apart or ())
        _check_are_apart(axes, compare, {x}, by)
        # What would be pooled though it is not random has panels, if it has few values.
        rest = {key: values for key, values in axes.items() if 1 < len(values) <= MOST_PANELS}
        panels = [key for key in places_of(rest, x, across, *by) if not is_sample(key)][:1]
        runs = int(asked["scenario"].get("runs") or 1)
        if across is not None and runs * prod(len(axes[k]) for k in axes if is_sample(k)) > 1:
            from midflight.plot.results.shares import has_room

            # So has the axis of medians, of several runs each.
            wanted = [*by, across, *panels]
            panels = wanted[len(by) :] if has_room([len(axes[key]) for key in wanted]) else panels
        by = with_flows(by, panels, {**axes, "flow": flows}, is_cdf=kind == "cdf")
    if has_by and by and compare is not None and compare not in (x, y, *by):
        columns = columns_of(source, value)
        pooled = pooled_axes(columns, value, {x, y, *by}, kept_values(columns, where))
        if compare in (name for name, _ in pooled):
            # As in the tables of a sweep, what is compared is told apart, too.
            by = [compare, *by]
    return Shown(x, y, value, by)


def _usual_measure(folder: Path, asked: Mapping[str, Any], table: Columns | None) -> str | None:
    """The measurement that a sweep prints; of a table that lacks it the first one that it has."""
    from midflight.sweep_results import METRICS, check_has_tables, main_metrics, read_flows

    usual = asked["metric"]
    if table is None:
        # The usual metric is found in rows of text.
        check_has_tables(folder, *([] if usual is None else ["flows.parquet"]))
        return usual or main_metrics(read_flows(folder))[0]
    if usual in table:
        return str(usual)
    has_text = all((folder / f"{name}.csv").is_file() for name in ("flows", "phases"))
    others = [*(main_metrics(read_flows(folder)) if has_text else ()), *METRICS]
    return next((one for one in others if one in table), None)


def maps_instead(
    source: TableSource,
    asked: Shown,
    shown: Shown,
    columns: Columns,
    where: Mapping[str, Any],
    *,
    lacks_pairs: bool,
) -> Shown | None:
    """Return what the heat maps show that stand for medians, whose cells say how many runs
    finished: where a comparison lacks pairs, and for medians which pool settings where most of
    these are missing, as runs that finish at some values are not pooled with those that do not.
    None if the medians pool none otherwise, or if there are no maps, or too many of them.
    """
    from midflight.plot.results.pooled import pooled_axes
    from midflight.plot.results.rows import kept_values

    # The measurement is known.
    asked = asked._replace(value=shown.value)
    maps = usual_shown(source, "heatmap", asked, has_by=False, where=where)
    kept = kept_values(columns, where)
    pools = pooled_axes(columns, str(shown.value), {shown.x, *shown.by}, kept)
    count = prod(len(kept.get(name) or {*map(str, columns[name])}) for name in maps.by)
    has_maps = None not in (maps.x, maps.y) and count <= MOST_MAPS
    return maps if has_maps and (pools or lacks_pairs) else None


def asks_phases(asked: Shown, where: Collection[str]) -> bool:
    """Whether phases are asked for: shown, told apart, or what rows are kept by."""
    return bool({"phase", "kind"} & {asked.x, asked.y, *asked.by, *where})


def usual_rows(
    columns: Columns,
    source: TableSource,
    asked: Shown,
    shown: Shown,
    where: Mapping[str, Any] | None = None,
) -> Columns:
    """Return the rows of a figure: of a time after a handoff in a sweep those after the handoff
    that the sweep has, unless phases are asked for, and then those after each handoff or change.
    Others keep all rows.
    """
    from midflight.plot.results.tables import folder_of, only_rows
    from midflight.sweep_folder import AFTER, read_definition
    from midflight.unmet import WHICH, handoff_words

    folder = folder_of(source)
    is_phases = shown.value in AFTER and {"phase", "kind"} <= {*columns}
    if not is_phases or folder is None or not (folder / "sweep.json").is_file():
        return columns
    phases = (where or {}).get("phase", ())
    one = [phases] if isinstance(phases, str | int) else [*phases]
    is_there = len(one) == 1 and str(one[0]) in {*map(str, columns["phase"])} - {"0"}
    if is_there and not asks_phases(asked, {*(where or {})} - {"phase"}):
        # Flows that were done before this phase are counted as where none is asked for.
        found = after_handoff(columns, shown.value, int(one[0]))
        of = read_definition(folder)["scenario"], int(one[0])
        which = [handoff_words(*of)] * len(found["phase"])
        return {**found, "phase": [one[0]] * len(which), WHICH: which}
    if asks_phases(asked, where or {}):
        # Nothing is before the first phase.
        some = (row for row, kind in enumerate(columns["kind"]) if kind != "start")
        return only_rows(columns, some)
    return after_handoff(columns, shown.value, read_definition(folder)["phase"])


def which_after(
    columns: Columns, asked: Shown, where: Mapping[str, Any] | None = None
) -> str | None:
    """Return which handoff or change the times after one in the rows of a figure (`usual_rows`) are
    about, in words; "" if these are those after any of them, None if the table does not say it.
    """
    from midflight.unmet import WHICH

    where = where or {}
    is_one = "phase" not in where or len({*map(str, columns["phase"])} - {"0"}) == 1
    if asks_phases(asked, {*where} - {"phase"}) or not is_one:
        return ""
    return str(columns[WHICH][0]) if len(columns.get(WHICH, ())) else None


def after_handoff(columns: Columns, value: str | None, phase: int | None) -> Columns:
    """Return the rows of a time after a handoff or change, the first handoff for None, and of each
    flow that has none the row before all of them, which lacks that time; of other measurements all.
    """
    from midflight.plot.results.tables import OF_FLOW, only_rows
    from midflight.sweep_folder import AFTER

    if value not in AFTER or not {*OF_FLOW, "phase", "kind"} <= {*columns}:
        return columns
    found: dict[tuple[str, ...], tuple[int, bool]] = {}
    # The rows of a flow are in the order of time.
    for row, (number, kind) in enumerate(zip(columns["phase"], columns["kind"], strict=True)):
        flow = tuple(str(columns[one][row]) for one in OF_FLOW)
        is_it = kind == "handoff" if phase is None else str(number) == str(phase)
        if (is_it or kind == "start") and not found.get(flow, (0, False))[1]:
            found[flow] = row, is_it
    return only_rows(columns, (row for row, _ in found.values()))


def usual_kinds(
    source: object, flows: Sequence[str] = (), *, are_several: bool = False
) -> Sequence[str]:
    """Return the kinds of the figure of a run, or of several by their names: what a video, a call
    or a page of all flows, or of these, shows its users; panels over time if a link follows a
    recording, which is too long for a figure of segments; or else that. Pages that `are_several`,
    each with a panel, have no other panels.
    """
    from midflight.plot.over_time.applications import OF_APPLICATIONS
    from midflight.plot.over_time.history import flow_key

    sources = source.values() if isinstance(source, Mapping) else [source]
    # Runs on a kernel have a plan.
    texts = [getattr(getattr(one, "plan", one), "canonical", "{}") for one in sources]
    scenarios = [json.loads(text) for text in texts]
    workloads = set()
    for defined in (one.get("flows", {}) for one in scenarios):
        keys = [key for flow in flows if (key := flow_key(defined, flow)) is not None]
        workloads |= {defined[key].get("workload") for key in keys or defined}
    own = [kind for kind, workload in OF_APPLICATIONS.items() if workload in workloads]
    if own == ["objects"] and (are_several or isinstance(source, Mapping)):
        return own
    if own:
        # A fourth panel would make those of a video lower.
        return "throughput", *own, *(["queue"] if len(own) == 1 else [])
    links = (link for one in scenarios for link in one.get("links", {}).values())
    return _OF_RECORDINGS if any("trace" in link for link in links) else ("both",)


def usual_figure(source: RunSource, *, flow: str | None, run: int) -> Figure:
    """Draw a flow of a run as `midflight plot` does without options."""
    kinds = usual_kinds(source, [flow] if flow else [])
    if kinds == ("both",):
        from midflight.plot.over_time.history import histories
        from midflight.plot.over_time.run import run_figure

        return run_figure(histories(source, flow=flow, run=run))
    from midflight.plot.over_time.idle import without_idle_queues
    from midflight.plot.over_time.panels import over_time_figure, shown_panels
    from midflight.plot.over_time.watched import watch

    runs = watch(source, kinds=kinds, flows=[flow] if flow else [], run=run)
    window, panels = shown_panels(runs, kinds)
    panels, _ = without_idle_queues(panels)
    return over_time_figure(runs, panels, window)


def free_columns(
    source: TableSource, shown: Shown, where: Mapping[str, Any] | None = None
) -> list[str]:
    """Return the columns of a table over which a measurement may be drawn: axes of a sweep with
    several values that the figure does not show otherwise, or, without any, other columns that are
    no measurements.
    """
    from midflight.plot.common.names import is_measured
    from midflight.plot.results.pooled import axes_of
    from midflight.plot.results.rows import kept_rows, kept_values
    from midflight.plot.results.tables import columns_of, only_rows

    columns = columns_of(source, shown.value or "")
    if not {*(where or {})} <= {*columns}:
        return []
    count = len(next(iter(columns.values()), ()))
    columns = only_rows(columns, kept_rows(columns, count, kept_values(columns, where)))
    shows = {shown.value, *shown.by}
    free = [
        name
        for name, values in columns.items()
        if name not in shows and not is_measured(name) and len({*map(str, values)}) > 1
    ]
    return [name for name in axes_of(columns) if name in free] or free


def missing_argument(name: str, free: Sequence[str] = ()) -> MidflightError:
    """Return the error for a figure of a table without a column for this argument; those that it
    could be are named.
    """
    accepted = f"one of {', '.join(free)}" if free else "a column of the table"
    return refusal(
        f"{name} is missing; expected {accepted}", name=name, value=None, accepted=accepted
    )


def free_axes(axes: Mapping[str, Sequence[str]], compare: str | None) -> list[str]:
    """Return the axes with several values over which a measurement is drawn, the best one first:
    numbers before names, settings before samples, and then the longest.
    """
    from midflight.sweep_results import SEED

    free = {key: values for key, values in axes.items() if len(values) > 1}
    return places_of(free, compare, SEED)


def curve_axis(
    axes: Mapping[str, Sequence[str]], compare: str | None, by: Collection[str]
) -> str | None:
    """Return the axis of instants over which changes are drawn though the tables, which separate
    the axes `by`, pool it: the only one with several values beside what is compared and seeds, if
    it has enough of them. None if there is no such axis.
    """
    from midflight.sweep_results import is_sample

    free = free_axes(axes, compare)
    if compare is None or len(free) != 1:
        return None
    (key,) = free
    is_pooled = is_sample(key) and key not in by
    return key if is_pooled and len(axes[key]) >= _LEAST_CURVE else None


def _best_first(
    axes: Mapping[str, Sequence[str]],
    compare: str | None,
    apart: Collection[str],
    *,
    pools: bool = False,
) -> list[str]:
    """Return the axes for the horizontal axis of a figure, and at the end the compared one; unless
    it `pools` what it does not show anyway, those first with which fewest others are pooled.
    """
    places = free_axes(axes, compare)
    if compare is not None and compare in axes:
        places.append(compare)
    if pools:
        return places
    return sorted(
        places,
        key=lambda key: _count_pooled(axes, compare, {key}, usual_by(axes, compare, {key}, apart)),
    )


def map_sides(axes: Mapping[str, Sequence[str]], compare: str | None) -> list[str]:
    """Return the axes that may be sides of a map, the best ones first: settings, also names, and
    what is compared, which is rather a side than pooled, before samples; before all if it has too
    many values for maps beside each other.
    """
    from midflight.sweep_results import is_sample

    free = free_axes(axes, compare)
    compared = [compare] if compare is not None and compare in axes else []
    settings, samples = ([key for key in free if is_sample(key) == one] for one in (False, True))
    if any(len(axes[key]) > USUAL_MAPS for key in compared):
        return [*compared, *settings, *samples]
    return [*settings, *compared, *samples]


def settled_sides(
    axes: Mapping[str, Sequence[str]], compare: str | None, by: Collection[str]
) -> list[str]:
    """Return the axes that may be sides of maps in which what is compared is no side, the best two
    first, and of these the one along them; settings that the tables do not separate (`by`) last.
    """
    from midflight.sweep_results import is_sample

    free = free_axes(axes, compare)
    free.sort(key=lambda key: key not in by and not is_sample(key))
    sides = [key for key in map_sides(axes, compare) if key in free]
    sides.sort(key=lambda key: key not in by)
    return [*sorted(sides[:2], key=free.index), *sides[2:]]


def _sides(
    axes: Mapping[str, Sequence[str]], compare: str | None, x: str | None, y: str | None
) -> tuple[str | None, str | None]:
    """Return the columns along and up a map, the best ones for those that are None."""
    some = [key for key in map_sides(axes, compare) if key not in (x, y)]
    # Numbers are rather along than up, and what is compared is up.
    order = [*free_axes(axes, compare), compare]
    some = sorted(some[: (x is None) + (y is None)], key=order.index)
    x = x or (some.pop(0) if some else None)
    return x, y or (some.pop(0) if some else None)


def places_of(axes: Mapping[str, Sequence[str]], *but: str | None) -> list[str]:
    """Return axes `but` some, the best one for a figure first."""
    from midflight.sweep_results import is_sample

    def rank(key: str) -> tuple[bool, bool, int]:
        return _has_names(axes[key]), is_sample(key), -len(axes[key])

    return sorted((key for key in axes if key not in but), key=rank)


def usual_by(
    axes: Mapping[str, Sequence[str]],
    compare: str | None,
    shown: Collection[str | None],
    apart: Collection[str] = (),
) -> list[str]:
    """Return the settings whose values have lines: the compared one, and others while the lines
    can be distinguished; samples only if they are among those that the sweep keeps `apart`.
    """
    from midflight.sweep_results import is_sample

    settings = [key for key in axes if len(axes[key]) > 1 and (key in apart or not is_sample(key))]
    settings.sort(
        key=lambda key: (
            key != compare,
            not _is_apart(key, compare),
            is_sample(key),
            not _has_names(axes[key]),
        )
    )
    by: list[str] = []
    lines = 1
    for key in settings:
        most = _MOST_APART if _is_apart(key, compare) else MOST_LINES
        if key not in shown and lines * len(axes[key]) <= most:
            by.append(key)
            lines *= len(axes[key])
    return by


def _is_apart(key: str, compare: str | None) -> bool:
    """Whether the values of an axis are not pooled: what is compared, schemes, stacks and
    controllers.
    """
    from midflight.plot.common.line_looks import is_of_schemes

    return key == compare or is_of_schemes(key)


def _count_pooled(
    axes: Mapping[str, Sequence[str]],
    compare: str | None,
    shown: Collection[str | None],
    by: Collection[str],
) -> tuple[int, int]:
    """Return how many axes are pooled that should not be, as what is compared, schemes, stacks and
    controllers, and how many settings are.
    """
    from midflight.sweep_results import is_sample

    pooled = [key for key in axes if len(axes[key]) > 1 and key not in (*shown, *by)]
    apart = sum(_is_apart(key, compare) for key in pooled)
    return apart, sum(not is_sample(key) for key in pooled)


def _check_are_apart(
    axes: Mapping[str, Sequence[str]],
    compare: str | None,
    shown: Collection[str | None],
    by: Collection[str],
) -> None:
    """Refuse a figure that would pool what is compared, schemes, stacks or controllers, as they
    have no room for lines.
    """
    for key, values in axes.items():
        if len(values) < 2 or key in (*shown, *by) or not _is_apart(key, compare):
            continue
        named = [f"{len(axes[one])} values of {one}" for one in (key, *by)]
        lines = " times ".join(named)
        raise refusal(
            f"lines for {lines} cannot be distinguished; a figure has up to {_MOST_APART}: keep "
            f"some with --where {key}={values[0]},{values[1]}, or give --by, which pools what it "
            "does not name",
            name="--by",
            value=None,
            accepted=f"columns with up to {_MOST_APART} combinations of values",
        )


def with_flows(
    by: Sequence[str],
    panels: Sequence[str],
    values: Mapping[str, Sequence[str]],
    *,
    is_cdf: bool = False,
    most: int = MOST_LINES,
) -> list[str]:
    """Return the columns that tell lines apart `by` these, and by `panels` of the last one, with
    that of flows if there are few: what they measure differs, as their sizes and their links do.
    `values` are those of all columns, `most` is the number of lines that one panel has room for.

    If the flows have no room as lines of a panel, each has a panel, and settings that would have
    some are pooled.
    """
    from midflight.plot.results.median_panels import MOST_PANELS
    from midflight.plot.results.shares import has_room

    def count(*names: str) -> int:
        return prod(len(values[name]) for name in names)

    def fits(*names: str) -> bool:
        return has_room([len(values[name]) for name in names])

    flows = count("flow")
    if not 1 < flows <= MOST_PANELS:
        return [*by, *panels]
    if count("flow", *by) <= most:
        found = ["flow", *by, *panels]
        return found if not is_cdf or fits(*found) else ["flow", *by]
    return [*by, *(panels if is_cdf and fits(*by, *panels, "flow") else ()), "flow"]


def usual_maps(
    axes: Mapping[str, Sequence[str]], compare: str | None, shown: Collection[str | None]
) -> list[str]:
    """Return the axes that are not pooled, as their values have maps: what is compared, and
    schemes, stacks and congestion controllers, as far as there is room.
    """
    apart = [key for key in axes if _is_apart(key, compare)]
    by: list[str] = []
    maps = 1
    for key in sorted(apart, key=lambda key: key != compare):
        if key not in shown and len(axes[key]) > 1 and maps * len(axes[key]) <= USUAL_MAPS:
            by.append(key)
            maps *= len(axes[key])
    return by


def _has_names(values: Sequence[str]) -> bool:
    """Whether values are names and not numbers with units."""
    from midflight.plot.results.places import axis_places

    return axis_places(list(values), "")[1] is not None
