"""Figures of results for `midflight plot`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from midflight.cli.output import UserError, note, open_result
from midflight.cli.result_files import destination
from midflight.run_tables import write_cells

if TYPE_CHECKING:
    from midflight.plot.usual import Shown

__all__ = ["plot_results", "write_rows"]


def plot_results(source: str, out: str, **asked: Any) -> None:
    """Write the figure of a folder of results; the arguments are those of `_plot_results`."""
    from midflight.plot.results.tables import read_once

    with read_once():
        _plot_results(source, out, **asked)


def _plot_results(
    source: str,
    out: str,
    *,
    kind: str | None,
    x: str | None,
    y: str | None,
    value: str | None,
    by: Sequence[str] | None,
    where: Sequence[str],
    without: Sequence[str],
    baseline: str | None,
    csv_to: str | None,
    texts: Mapping[str, Any],
) -> None:
    """Write the figure of a folder of results, without a kind the usual one; `texts` are its words,
    size and scales.
    """
    from midflight.listing import joined
    from midflight.plot.common.names import plural_name
    from midflight.plot.common.plain import usual_of_folder
    from midflight.plot.common.style import SERIES, check_format, figure_bytes
    from midflight.plot.results.axis import (
        axis_data,
        axis_figure,
        axis_rows,
    )
    from midflight.plot.results.best import BEST
    from midflight.plot.results.choice import chosen_values, words_by_column
    from midflight.plot.results.compared import is_compared
    from midflight.plot.results.medians import has_few_medians
    from midflight.plot.results.paired import (
        by_compared,
        by_value,
        check_comparison_axis,
        check_is_apart,
        curve_words,
        is_left_out,
        left_out_reason,
        no_change,
        paired_figure,
        samples_of,
        source_of,
        values_kept_words,
    )
    from midflight.plot.results.pooled import pooled_axes, pooled_flows
    from midflight.plot.results.rows import kept_values
    from midflight.plot.results.spread import spread_figure, spread_of, spread_rows
    from midflight.plot.results.tables import check_is_table, read_columns
    from midflight.plot.usual import (
        Shown,
        asks_phases,
        maps_instead,
        usual_rows,
        usual_shown,
        which_after,
    )
    from midflight.sweep_results import is_sample

    chosen = words_by_column("--where", where), words_by_column("--without", without)
    kept = chosen_values(source, *chosen, baseline)
    if kind == "heatmap" and BEST in (value, y):
        if baseline is not None:
            raise no_change(baseline)
        ends = (x, None if y == BEST else y)
        _write_best(source, out, ends, by=by, where=kept, csv_to=csv_to, texts=texts)
        return
    measured = value
    if kind != "heatmap":
        if y is not None and value is not None:
            raise UserError("--y and --value name the same, the measurement; give one of them")
        measured = value if y is None else y
    if kind == "cdf" and x is not None:
        raise UserError("the axis of a CDF is the measurement: give --value, and --by for lines")
    asked = Shown(x, y if kind == "heatmap" else None, measured, by or ())
    if kind == "heatmap" and asked.y is not None and value is None and is_value(asked.y):
        # A measurement is no side of a map.
        asked, measured = asked._replace(y=None, value=asked.y), asked.y
    asked = by_compared(source, asked)
    is_usual = kind in (None, "interval") and measured is None and not by
    is_change = is_usual and Path(source).is_dir()
    paired = paired_figure(source, kind, asked, kept, has_by=bool(by), baseline=baseline)
    folder, asked_rows = source, kept
    if paired is not None:
        kind, source, shown = paired.kind, str(paired.file), paired.shown
    else:
        kind, source = kind or "median", str(source_of(source, measured))
        shown = usual_shown(source, kind, asked, has_by=bool(by), where=kept)
    needs_x = kind != "cdf"
    if (
        shown.value is None
        or (needs_x and shown.x is None)
        or (kind == "heatmap" and shown.y is None)
    ):
        examples = {
            "cdf": "--value, the measurement, such as --value duration_ns",
            "heatmap": "--x and --y, the axes, and --value, the measurement, such as "
            "--x links.lte.rate --y handoffs.0.gap --value duration_ns",
        }
        usual = "--x, the axis, and --y, the measurement, such as --x handoffs.0.at --y duration_ns"
        check_is_table(source)
        check_comparison_axis(source, kind)
        raise UserError(f'"{source}" holds results: give {examples.get(kind, usual)}')
    x, measured, by = shown.x, shown.value, shown.by
    if kind == "heatmap":
        y = shown.y
    is_again = paired is not None and paired.columns is not None
    try:
        again = None if paired is None else paired.columns
        columns = read_columns(source, measured) if again is None else again
    except OSError as error:
        raise UserError(f'cannot read "{source}": {error.strerror or error}') from error
    samples = samples_of(source, columns)
    check_is_apart(source, columns, {"--x": x, "--y": y if kind == "heatmap" else None}, samples)
    every, columns = columns, usual_rows(columns, source, asked, shown, kept)
    is_after = columns is not every and not asks_phases(asked, kept)
    phases = {*map(str, columns["phase"])} - {"0"} if is_after else set()
    kept = kept_values(columns, by_value(columns, kept))
    sides = {x, y} if kind == "heatmap" else {x}
    flows = pooled_flows(columns, measured, {*sides, *by}, kept)
    if (by or kind == "heatmap") and flows and not is_compared(columns, measured):
        # Changes of several flows are refused by the figure.
        note(
            f"{', '.join(flows)} are taken together; --by flow or --where flow=NAME tells them "
            "apart"
        )
    if paired is None:
        note_early(columns, measured, {*by, x, y}, kept)
    rows: Iterable[Sequence[object]]
    data = None
    if kind == "median":
        # Panels have the names of the sweep.
        with usual_of_folder(source, which_after(columns, asked, kept)):
            data = axis_data(columns, x=str(x), y=measured, by=by, where=kept)
    lacking = left_out_reason(folder, asked_rows) if paired is None and is_usual else ""
    if is_usual and asked.x is None and data is not None:
        has_few = has_few_medians(data.lines)
        maps = None
        if has_few or lacking:
            lacks = bool(lacking)
            maps = maps_instead(source, asked, shown, columns, kept, lacks_pairs=lacks)
        if maps is not None:
            kind, data, shown = "heatmap", None, maps
            x, y, by = maps.x, maps.y, maps.by
            sides = {x, y}
            if not lacking:
                note(
                    "half of the runs or more did not finish at most points of --kind median, "
                    "which pools settings: the figure is --kind heatmap"
                )
    with usual_of_folder(source, which_after(columns, asked, kept)):
        if data is not None:
            figure, rows = axis_figure(data, **texts), axis_rows(data)
        else:
            of_sweep: Any = {"where": kept, "samples": samples}
            spread = spread_of(columns, kind, value=measured, x=x, y=y, by=by, **of_sweep)
            figure, rows = spread_figure(spread, **texts), spread_rows(spread)
        with open_result(Path(out), binary=True) as file, destination(csv_to) as table:
            file.write(figure_bytes(figure, check_format(Path(out))))
            head, *rest = rows
            write_rows(table, [str(one) for one in head], rest)
    pooled = pooled_axes(columns, measured, {*sides, *by}, kept)
    if pooled:
        each = joined([f"{count} {plural_name(name)}" for name, count in pooled])
        note(f"pooled: {each}; --where {pooled[0][0]}=VALUE keeps one")
    options = chosen_words(shown, kind)
    if is_again:
        # Lines of the compared values are the usual ones.
        source, options = folder, chosen_words(shown._replace(by=[]), kind)
    if baseline is not None:
        options += f" --baseline {shlex.quote(baseline)}"
    if paired is not None and is_change:
        note(
            "the figure shows the change of each pair, which the spread over all runs would hide: "
            f"{source} --kind {kind} {options}; --kind median shows the values"
        )
        if asked.value is None and shown.value == "difference":
            note(
                "the changes have the unit of the measurement, not per cent, as the intervals of "
                "most percentages have no ends or reach -100 %; --y ratio shows per cent"
            )
        if kind == "heatmap" and is_usual and is_left_out(folder, asked_rows):
            note(
                "many intervals of the changes have no end or are wider than the changes are "
                "apart; --kind interval shows them"
            )
        is_curve = is_again and asked.x is None and x is not None and is_sample(x)
        curve = x if is_curve else None
        if words := curve_words(samples, curve):
            note(words)
    elif shown != asked or is_after:
        of = "" if paired is None else f"{source} --kind {kind} "
        note(f"the figure shows {of}{options}{after_words(phases)}")
    if lacking and kind != "interval":
        maps_words = "; the figure is --kind heatmap of the values" if kind == "heatmap" else ""
        note(
            f"the figure does not show the change of each pair, as {lacking}{maps_words}; "
            "--y ratio shows it"
        )
    elif paired is None and is_usual and (reason := values_kept_words(folder, asked_rows)):
        note(f"the figure shows values, not the change of each pair, {reason}")
    elif paired is None and is_usual and is_left_out(folder, asked_rows):
        note(
            "the figure does not show the change of each pair, which the spread over all runs "
            f"hides: it has more than {len(SERIES)} lines, or another axis; keep one value of an "
            "axis with --where, or see --kind heatmap --value ratio"
        )
    note(f"written to {out}")


def _write_best(
    source: str,
    out: str,
    sides: tuple[str | None, str | None],
    *,
    by: Sequence[str] | None,
    where: Mapping[str, Sequence[str]],
    csv_to: str | None,
    texts: Mapping[str, Any],
) -> None:
    """Write the map of which compared value is best at each place of two axes."""
    from midflight.plot.common.style import check_format, figure_bytes
    from midflight.plot.results.best import best_of

    if by:
        raise UserError("a map of what is best has all compared values, and no --by")
    words = {name: texts[name] for name in ("title", "size") if name in texts}
    figure, (head, *rows), (x, y) = best_of(source, *sides, None, where, **words)
    with open_result(Path(out), binary=True) as file, destination(csv_to) as table:
        file.write(figure_bytes(figure, check_format(Path(out))))
        write_rows(table, [str(one) for one in head], rows)
    if None in sides:
        note(f"the figure shows --x {x} --y {y} --value best")
    note(f"written to {out}")


def is_value(name: str) -> bool:
    """Whether a column has a measurement, or a change of it, and not the values of an axis."""
    from midflight.plot.common.names import is_measured
    from midflight.plot.results.tables import CHANGES

    return name in CHANGES or is_measured(name)


def chosen_words(shown: Shown, kind: str) -> str:
    """Return the options that choose what a figure of results shows."""
    value = "--value" if kind in ("cdf", "heatmap") else "--y"
    pairs = [("--x", shown.x), ("--y", shown.y), (value, shown.value)]
    words = [f"{option} {name}" for option, name in pairs if name is not None]
    return " ".join([*words, *(f"--by {name}" for name in shown.by)])


def after_words(phases: Collection[str]) -> str:
    """Return what keeps the rows after the handoff that a sweep has; "" if all are shown."""
    if len(phases) == 1:
        return f" --where phase={next(iter(phases))}"
    return ", after the first handoff" if phases else ""


def note_early(
    columns: Mapping[str, Sequence[Any]],
    measured: str,
    shown: set[str | None],
    kept: Mapping[str, Sequence[str]],
) -> None:
    """Print a note if some flows of a sweep were done before the handoff."""
    from midflight.plot.results.rows import done_early_in, rows_of
    from midflight.unmet import MET

    found = rows_of(columns, measured, kept, shown)
    which = done_early_in(columns, measured)
    early, every = len(found.early), len(found.early) + len(found.shown)
    if found.is_all_early:
        note(f"all {every} flows were {which}: the figure says nothing about it")
    elif early:
        note(
            f"{early} of {every} flows were {which} and are left out, as in a "
            f"comparison; --where {MET}=1 --where {MET}=0 keeps them"
        )


def write_rows(
    table: IO[str] | None, head: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Write the drawn data as CSV, if requested."""
    if table is not None:
        write_cells(table, head, rows)
