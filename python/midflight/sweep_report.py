"""One self-contained HTML report of a sweep: its axes, quartiles, comparison and figures.

The file holds everything it shows (figures as SVG data) and loads nothing from the network.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from midflight.link_cells import link_cells
from midflight.listing import joined, listed
from midflight.refusal import names_arguments
from midflight.report import check_page, data_url, environment
from midflight.run_tables import stacks_of
from midflight.scenario import command_words, description_of_changed, has_quantity
from midflight.scenario_cells import event_cells, flow_settings
from midflight.simulated import runs_words, simulated_words, value_lines
from midflight.sweep_effects import effect_cells, effect_notes
from midflight.sweep_summary import Summary, check_by, check_has_measure
from midflight.sweep_verdict import best_lines
from midflight.sweep_words import change_lines, direction_of, is_time

if TYPE_CHECKING:
    from midflight.plot.results.spread_data import Spread
    from midflight.plot.results.tables import Columns
    from midflight.plot.usual import Shown
    from midflight.policy import Policies
    from midflight.sweep import Sweep

__all__ = [
    "headed",
    "report_sweep",
    "shown_effects",
    "sweep_command",
    "sweep_figures",
    "sweep_heading",
    "sweep_report_html",
]

#: What a title says of settings that are not those of the scenario's file.
_BUT = ", but with "
#: Words of a title that an axis of schemes contradicts.
_SENDERS = re.compile(r"\bdifferent (senders|schemes)\b", re.IGNORECASE)
#: The columns of results in the unit of the metric, those together that have as many decimals, and
#: the digits of the largest number.
_RESULTS, _DIGITS = (("difference", "+-"), ("q1",), ("median",), ("q3",), ("p95",)), 4
#: Cells of a column of results without a number, and of a line that stands for others.
_NO_NUMBER = ("-", "...")
#: Values of an axis that are named in the table of axes.
_MOST_VALUES = 12
#: Maps, one for each value that is compared.
_MOST_MAPS = 12
#: Rows of a table, which is folded.
_MOST_ROWS = 2000


@names_arguments
def report_sweep(
    folder: str | Path,
    path: str | Path,
    *,
    metric: str | None = None,
    by: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    without: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    command: str = "",
    policies: Policies | None = None,
) -> Path:
    """Write the report of a folder of a sweep that has been run to a file; return the path.

    `metric` is the measurement, such as "goodput_bps"; the default is the metric that the sweep
    prints. `by` are the axes that the tables separate, beside the compared one; the default is what
    the sweep separated. `where` and `without` are values of axes, or of "flow", by which rows are
    kept or left out, as `plot` has them. `baseline` is the value that the others are compared with;
    the default is the first one. `command` is the command that repeats it, for the report. Raises
    `MidflightError` for a folder without a complete sweep, and for values that it does not have,
    `OSError` if the file cannot be written.
    """
    path = Path(path)
    check_page(path)
    how: Any = {"where": where, "without": without, "baseline": baseline}
    how |= {"command": command, "policies": policies}
    html = sweep_report_html(Path(folder), metric=metric, by=by, **how)
    path.write_text(html, encoding="utf-8")
    return path


def sweep_report_html(
    folder: Path,
    *,
    metric: str | None = None,
    by: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    without: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    command: str = "",
    policies: Policies | None = None,
) -> str:
    """Return the report of a folder as a text of HTML."""
    from midflight.plot.common.names import column_name, within_text
    from midflight.plot.common.plain import usual_of_folder
    from midflight.plot.common.style import labelled
    from midflight.plot.results.tables import read_once
    from midflight.sweep import Sweep
    from midflight.sweep_folder import check_metric
    from midflight.sweep_results import SEED, check_has_tables

    check_metric(metric, None, "--")
    whole = Sweep.read(folder, policies=policies)
    check_has_tables(folder)
    check_has_measure(metric, whole, "--")
    kept = _kept(whole, folder, where, without)
    of_axes = {key: values for key, values in kept.items() if key in whole.axes}
    asked = whole.showing(of_axes).against(baseline)
    summary = Summary.of(asked, folder, metric, check_by(by, asked, "--"), kept)
    shown = summary.drawn(folder)
    scenario = json.loads(asked.scenario)
    words, unit = summary.measured
    definition = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    with usual_of_folder(folder, summary.which_handoff), read_once():
        heading, over, description = sweep_heading(asked)
        values, parts = value_lines(asked)
        return (
            environment()
            .get_template("sweep_report.html.j2")
            .render(
                title=heading,
                swept=over,
                name=folder.resolve().name,
                simulated=simulated_words(scenario, asked.axes),
                runs=runs_words(asked, scenario["runs"]),
                values=values,
                parts=parts,
                description=description,
                scenario=scenario,
                made_by=stacks_of(scenario),
                settings=scenario.get("set", {}),
                axes=_axis_cells(asked),
                only=_only_words(kept),
                replaced=_axis_words([key for key in asked.axes if key != SEED]),
                measured=words,
                over=summary.over(),
                quartiles=headed(summary.quartile_cells(unit, _MOST_ROWS)),
                quartiles_of=len(summary.grouped),
                longest=is_time(summary.metric) and any(one.missing() for one in summary.grouped),
                notes=summary.unmet_notes(),
                unfinished=summary.unfinished(for_terminal=False),
                instead=shown is not summary,
                named=within_text(labelled(column_name(shown.metric))),
                effects=shown_effects(shown) if shown.has_effects else [],
                effect_notes=_effect_notes(shown),
                short=list(change_lines(shown)),
                best=(best := list(best_lines(shown))),
                sentences=[one for one in best_lines(shown, whole=True) if one not in best],
                points=_points(shown),
                better=_better(shown.metric),
                baseline=_joined(summary.compared[0].baseline) if summary.compared else "",
                comparison=headed(summary.comparison_lines(unit, complete=True, most=_MOST_ROWS))
                if summary.has_pairs
                else [],
                comparison_of=sum(one.pairs > 0 for one in summary.compared),
                comparison_head=_joined(summary.comparison_head(for_terminal=False))
                if summary.compared
                else "",
                comparison_foot=[
                    _joined(one) for one in summary.comparison_foot(len(summary.compared))
                ],
                figures=list(sweep_figures(asked, folder, shown)),
                links=link_cells(scenario["links"]),
                flows=flow_settings(scenario["flows"]),
                events=event_cells(scenario),
                definition=definition,
                document=json.dumps(definition, indent=2),
                command=command,
                sweep_command=sweep_command(whole, folder, command),
                scenario_json=json.dumps(_own_words(asked, scenario), indent=2, ensure_ascii=False),
                own_policies=list(definition.get("policies") or ()),
            )
        )


def _kept(
    asked: Sweep,
    folder: Path,
    where: Mapping[str, Any] | None,
    without: Mapping[str, Any] | None,
) -> dict[str, list[str]]:
    """The values of axes and flows that rows are kept by, in the order in which they are shown."""
    from midflight.plot.results.choice import chosen_values
    from midflight.plot.results.tables import missing_column

    for option, given in (("--where", where), ("--without", without)):
        for key in given or ():
            if key not in (*asked.axes, "flow"):
                raise missing_column(option, key, [*asked.axes, "flow"])
    return chosen_values(folder, where, without)


def _only_words(kept: Mapping[str, Sequence[str]]) -> str:
    """What rows the report has; "" if it has all."""
    from midflight.plot.results.axis import shown_value
    from midflight.plot.results.rows import selection_words

    each = {key: [*map(shown_value, values)] for key, values in kept.items()}
    return "; ".join(selection_words(each, (), {}))


def headed(cells: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Return a table with axes and names by the words that figures have for them, and as many
    decimals in all numbers of a column of results; one without a digit then is "<0.001".
    """
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import labelled
    from midflight.plot.results.axis import shown_value

    head = [labelled(column_name(one)) if "." in one else one for one in cells[0]]
    columns = {place: each for place, (_, *each) in enumerate(zip(*cells, strict=True))}
    for names in _RESULTS:
        places = [place for place, name in enumerate(cells[0]) if name in names]
        decimals = _decimals(one for place in places for one in columns[place])
        columns |= {place: _rounded(columns[place], decimals) for place in places}
    rest = zip(*columns.values(), strict=True)
    lines = [head, *([shown_value(one) for one in line] for line in rest)]
    if len({line[0] for line in lines[1:]}) == 1:
        # The only flow needs no column.
        lines = [line[1:] for line in lines]
    return lines


def _decimals(cells: Iterable[str]) -> int:
    """The decimals with which the largest of some numbers has its digits."""
    largest = max((abs(float(one)) for one in cells if one not in _NO_NUMBER), default=0.0)
    digits = math.floor(math.log10(largest)) + 1 if largest else 1
    return max(0, _DIGITS - digits)


def _rounded(cells: Sequence[str], decimals: int) -> list[str]:
    def rounded(cell: str) -> str:
        if cell in _NO_NUMBER:
            return cell
        if float(cell) and not round(float(cell), decimals):
            # It has no digit that is not 0.
            least = f"{10.0**-decimals:.{decimals}f}"
            return f"<{least}" if float(cell) > 0 else f">-{least}"
        # 0 has no sign.
        return f"{float(cell) + 0.0:.{decimals}f}"

    return [rounded(one) for one in cells]


def sweep_heading(asked: Sweep) -> tuple[str, str, str]:
    """The heading of a sweep, its axes in a line below it, and its description, by their words.

    The heading is the scenario's title, unless that has a number, which may be one value of an
    axis: then the axes are the heading. A scenario with axes of its own has a title of the sweep;
    of another one the description is left out if it has numbers, as these are of its own values.
    """
    from midflight.plot.common.line_looks import is_of_schemes
    from midflight.sweep_results import SEED

    scenario = json.loads(asked.scenario)
    title = scenario.get("title") or ""
    of = _own_words(asked, scenario).get("title", "")
    description = " ".join((scenario.get("description") or "").split())
    if title and of == title:
        return title, "", description
    # Seeds are no setting.
    axes = [key for key in asked.axes if key != SEED] or [*asked.axes]
    description = description_of_changed(description)
    over = f"Sweep over {_axis_words(axes)}"
    # What is set beside stands in the tables of the scenario.
    heading = of.partition(_BUT)[0]
    # Words on senders are of those of the scenario, not of an axis.
    is_replaced = any(is_of_schemes(key) for key in axes) and _SENDERS.search(heading)
    if is_replaced or not heading or has_quantity(heading):
        return over, "", description
    return heading, over, description


def _axis_words(axes: Sequence[str]) -> str:
    """Some axes in a sentence."""
    from midflight.plot.common.names import column_name, within_text
    from midflight.plot.common.style import labelled

    return joined([labelled(within_text(column_name(one))) if "." in one else one for one in axes])


def _own_words(asked: Sweep, scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario whose title does not say what a sweep of it is over."""
    title, over, axes = (scenario.get("title") or "").rpartition(", over ")
    # They are named in the order in which they were given, those of the file are not.
    is_of_axes = bool(over) and {*axes.split(", ")} <= {*asked.axes}
    return {**scenario, "title": title} if is_of_axes else dict(scenario)


def sweep_command(asked: Sweep, folder: Path, command: str = "") -> str:
    """Return the command that runs a sweep again from its scenario in `scenario.json`; `command`
    is that of the report, which has the files of policies.
    """
    from midflight.sweep import toml_text

    def values_of(values: Sequence[str]) -> str:
        # Commas and colons are not those between values.
        is_plain = not any(re.search(r"[,:\[\]\"']", one) for one in values)
        return ",".join(values) if is_plain else toml_text(list(values))

    words = ["midflight", "sweep", "scenario.json"]
    for key, values in asked.axes.items():
        words += ["--axis", f"{key}={values_of(values)}"]
    given = {"--compare": asked.compare, "--metric": asked.metric, "--phase": asked.phase}
    given["--by"] = None if asked.by is None else ",".join(asked.by)
    words += [word for option, one in given.items() if one for word in (option, str(one))]
    policies = [one for one in command_words(command) if one.startswith("--policy=")]
    named = {one.removeprefix("--policy=").partition("=")[0] for one in policies}
    definition = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    policies += [
        f"--policy={one}=FILE.py:CLASS"
        for one in definition.get("policies") or ()
        if one not in named
    ]
    return shlex.join([*words, *policies, "--out", f"{folder.resolve().name}-again"])


def shown_effects(summary: Summary) -> Sequence[Sequence[str]]:
    """Return what each value changes in all, with the words that figures have."""
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import labelled, short_label
    from midflight.plot.results.axis import shown_value
    from midflight.plot.results.places import change_unit

    def named(key: str) -> str:
        if key == summary.asked.compare:
            # It heads a column.
            return labelled(column_name(key)) if "." in key else key
        return short_label(key)

    return effect_cells(summary, named, shown_value, change_unit(summary.metric))


def _effect_notes(summary: Summary) -> str:
    means = [one.mean for one in summary.effects if one.mean is not None]
    over = "intervals are over the values of axes, not over chance"
    is_over_axes = all(one.over == "axes" for one in means)
    notes = "; ".join([*effect_notes(summary), *[over] * is_over_axes])
    return _joined(f"{notes[:1].upper()}{notes[1:]}.") if notes else ""


def _points(summary: Summary) -> str:
    """At which combinations of other axes values are compared; "" at one."""
    axes = [key for key in summary.others if len(summary.asked.axes[key]) > 1]
    count = math.prod(len(summary.asked.axes[key]) for key in axes)
    what = "values" if len(axes) == 1 else "combinations"
    return f"{count} {what} of {_axis_words(axes)}" if axes else ""


def _better(metric: str) -> str:
    """Which way a metric is better, unless its words say so."""
    way = direction_of(metric)
    if not way.sign or way.lower == "faster":
        return ""
    return f"{'lower' if way.sign < 0 else 'higher'} is better"


def _joined(text: str) -> str:
    """Return a text in one line, with names by the words that figures have for them."""
    from midflight.plot.common.style import labelled

    return labelled(" ".join(text.split()))


def _axis_cells(asked: Sweep) -> Sequence[Sequence[str]]:
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import labelled
    from midflight.plot.results.axis import shown_value

    lines = []
    for key, values in asked.axes.items():
        values = [shown_value(one) for one in values]
        some = listed(values[:_MOST_VALUES])
        if len(values) > _MOST_VALUES:
            some = listed([*values[: _MOST_VALUES - 2], f"... {values[-1]}"])
        role = "compared" if key == asked.compare else ""
        lines.append([labelled(column_name(key)), str(len(values)), some, role, key])
    return [["axis", "number", "values", "", "key"], *lines]


def sweep_figures(asked: Sweep, folder: Path, summary: Summary) -> Iterator[dict[str, str]]:
    """Yield what shows a sweep best, each as an image and a caption.

    The comparison, if it has intervals; the metric over the axis with the most values, with a line
    for each value that is compared, and the shares of runs, unless these would be of several
    settings together; and maps over the two axes with the most values.
    """
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import SERIES, figure_bytes, labelled
    from midflight.plot.results.axis import axis_data, axis_figure
    from midflight.plot.results.compared import are_legible, is_curve
    from midflight.plot.results.heatmaps import shared_layout
    from midflight.plot.results.median_panels import are_panels
    from midflight.plot.results.paired import lacks_pairs, paired_maps, paired_shown, separated_axes
    from midflight.plot.results.pooled import pooled_axes
    from midflight.plot.results.rows import kept_rows, measured_flows
    from midflight.plot.results.spread import spread_figure, spread_of
    from midflight.plot.results.tables import only_rows, read_columns
    from midflight.plot.usual import (
        after_handoff,
        curve_axis,
        free_axes,
        settled_sides,
        usual_by,
        with_flows,
    )
    from midflight.sweep_results import is_sample

    metric, compared_in_pairs = summary.metric, summary.comparison_columns()
    read = after_handoff(read_columns(folder, metric), metric, summary.phase)
    read = only_rows(read, kept_rows(read, len(read["flow"]), summary.where))
    columns = every_flow = _measured(read, metric)
    apart = {key: values for key, values in asked.axes.items() if key in summary.by}
    # Settings that the tables pool come last.
    free = free_axes(asked.axes, asked.compare)
    free.sort(key=lambda key: key not in apart and not is_sample(key))
    x = next(iter(free), asked.compare or next(iter(asked.axes)))
    by = [asked.compare] if asked.compare is not None else usual_by(apart, None, {x})
    flows = {"flow": measured_flows(every_flow, metric, {})}
    by = with_flows(by, [], {**asked.axes, **flows}, is_cdf=True)
    of = labelled(column_name(metric))
    if len(flows["flow"]) > 1 and "flow" not in by:
        # Flows are not taken together: the figures are of one of many.
        first = flows["flow"][0]
        some = (row for row, one in enumerate(columns["flow"]) if str(one) == first)
        columns, of = only_rows(columns, some), f"{of} of {first}"
    if _lines(columns, by) > len(SERIES) and not are_panels(_keys(columns, by)):
        by = []

    def image(figure: Any) -> str:
        return data_url(figure_bytes(figure, ".svg"), "image/svg+xml")

    counts = {key: len(values) for key, values in asked.axes.items() if len(values) > 1}
    over = {k: n for k, n in counts.items() if k not in (*summary.by, asked.compare)}
    paired, mapped = paired_shown(compared_in_pairs), paired_maps(compared_in_pairs)
    curve = curve_axis(asked.axes, asked.compare, summary.by)
    if lacks_pairs(compared_in_pairs):
        paired = mapped = None
    elif (
        mapped is not None
        and mapped.y != "value"
        and not (summary.has_intervals and are_legible(compared_in_pairs))
    ):
        # As the figure of `midflight plot`: the map has both axes.
        paired = None
    elif compared_in_pairs and paired is None and mapped is None:
        # Its lines and maps would be too many: as that figure, it pools all but one axis.
        alone = separated_axes(compared_in_pairs)[:1]
        again = [key for key in asked.axes if key in (*alone, asked.compare)]
        compared_in_pairs = summary.separated(again).comparison_columns()
        over = {key: count for key, count in counts.items() if key not in again}
        paired = paired_shown(compared_in_pairs)
    elif curve is not None:
        again = [key for key in asked.axes if key in (curve, asked.compare)]
        every = summary.separated(again).comparison_columns()
        if (over_it := paired_shown(every, curve)) is not None and is_curve(every):
            over = {key: count for key, count in counts.items() if key not in again}
            compared_in_pairs, paired = every, over_it
    if paired is not None:
        how: Any = {"value": paired.value, "x": paired.x, "by": paired.by, "samples": over}
        change = spread_of(compared_in_pairs, "interval", **how)
        baseline = labelled(str(compared_in_pairs["baseline"][0]))
        named = labelled(column_name(metric))
        caption = f"{named}: {_change_words(paired)} {baseline}, pair by pair."
        yield {"image": image(spread_figure(change)), "caption": caption}
    # What is compared has maps.
    sides = settled_sides(asked.axes, asked.compare, apart)[:2]
    maps = [*_maps(asked, every_flow, metric, sides)] if len(sides) == 2 else []
    if paired is None and mapped is not None:
        how = {"value": mapped.value, "x": mapped.x, "y": mapped.y, "by": mapped.by}
        how["samples"] = over
        change = spread_of(compared_in_pairs, "heatmap", **how)
        baseline = labelled(str(compared_in_pairs["baseline"][0]))
        named = labelled(column_name(metric))
        caption = f"{named}: {_change_words(mapped)} {baseline}, pair by pair."
        maps.insert(0, (change, caption))
    layout = shared_layout([one for one, _ in maps if one is not None])
    # What is left out has no map.
    drawn = [
        {
            "image": "" if one is None else image(spread_figure(replace(one, layout=layout))),
            "caption": caption,
        }
        for one, caption in maps
    ]
    if paired is None and mapped is not None:
        yield drawn.pop(0)
    yield from _best_maps(summary, sides, image)
    lines = [one for one in by if one != x]
    if asked.compare is not None:
        # Other settings have lines, too, while these can be told apart.
        lines = with_flows(usual_by(apart, asked.compare, {x}), [], {**asked.axes, **flows})
    # What would pool settings that the tables separate is left out: the maps tell them apart.
    pooled = {name for name, _ in pooled_axes(columns, metric, {x, *lines}, {})}
    if x != "flow" and not pooled & {*summary.by}:
        data = axis_data(columns, x=x, y=metric, by=lines)
        is_single = _most_runs(columns, [x, *lines]) == 1
        # The figure says whether its quartiles are seen.
        what = f"{of} over {_axis_words([x])}"
        caption = f"{what}." if is_single else f"{what}: medians."
        yield {"image": image(axis_figure(data)), "caption": caption}
    if not pooled_axes(columns, metric, {*by}, {}):
        shares = spread_of(columns, "cdf", value=metric, by=by)
        caption = f"{of}: the share of runs with at most that value."
        yield {"image": image(spread_figure(shares)), "caption": caption}
    yield from drawn


def _best_maps(
    summary: Summary, sides: Sequence[str], image: Callable[[Any], str]
) -> Iterator[dict[str, str]]:
    """Yield a map of which value is best over two axes, for each flow that has one."""
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import labelled
    from midflight.plot.results.best import best_figure, bests_of

    if len(sides) < 2 or not direction_of(summary.metric).sign or not summary.has_intervals:
        return
    several = len({one.flow for one in summary.grouped}) > 1
    for best in bests_of(summary, sides[0], sides[1])[:_MOST_MAPS]:
        of = labelled(column_name(summary.metric)) + f" of {best.flow}" * several
        drawn = image(best_figure([best]))
        yield {"image": drawn, "caption": f"{of}: which value is best, and its median."}


def _maps(
    asked: Sweep, columns: Columns, metric: str, sides: Sequence[str]
) -> Iterator[tuple[Spread | None, str]]:
    """Yield the content of figures with their captions, and None with what is left out: maps over
    two axes of each flow, one for each value that is compared, or, if none is, for each scheme
    (`usual_maps`). Flows, which may be as unlike as a video and a transfer, are not taken together,
    and have colours of their own.
    """
    from midflight.plot.common.names import column_name
    from midflight.plot.common.style import labelled
    from midflight.plot.results.axis import shown_value
    from midflight.plot.results.heatmaps import map_colours, map_of
    from midflight.plot.results.pooled import pooled_words
    from midflight.plot.results.rows import measured_flows
    from midflight.plot.results.spread import spread_of
    from midflight.plot.usual import USUAL_MAPS, usual_maps

    values = [""] if asked.compare is None else list(asked.axes[asked.compare])
    values, left_out = values[:_MOST_MAPS], values[_MOST_MAPS:]
    flows = measured_flows(columns, metric, {})
    by = usual_maps(asked.axes, None, sides) if asked.compare is None else [asked.compare]
    maps = len(values) * math.prod(len(asked.axes[key]) for key in by if key != asked.compare)
    most = max(1, _MOST_MAPS // maps)
    how: Any = {"value": metric, "x": sides[0], "y": sides[1], "by": by}
    for flow in flows[:most]:
        found = []
        for place in range(0, len(values), USUAL_MAPS):
            where = {"flow": [flow]}
            if asked.compare is not None:
                where[asked.compare] = values[place : place + USUAL_MAPS]
            found.append((where, spread_of(columns, "heatmap", where=where, **how)))
        # The same colour is the same value in all of them.
        every = [map_of(one) for _, data in found for one in data.panels or [data]]
        colours = map_colours(every, signed=False)
        of = labelled(column_name(metric)) + (f" of {flow}" if len(flows) > 1 else "")
        for where, one in found:
            # The caption and the names of the maps have the rows that are kept.
            pooled = pooled_words(columns, metric, {*sides, *one.by}, where)
            remark = pooled.flows[:1].upper() + pooled.flows[1:]
            caption = f"{of} over {_axis_words(sides)}"
            if len(found) > 1:
                caption += f", with {joined([*map(shown_value, where[str(asked.compare)])])}"
            caption += ": medians." if "medians" in one.value_title else "."
            yield replace(one, colours=colours, remark=remark), caption
    if left_out := [*flows[most:], *left_out]:
        yield None, f"No maps are drawn of {', '.join(left_out)}."


def _change_words(shown: Shown) -> str:
    return "change against" if shown.value == "ratio" else "difference from"


def _measured(columns: Columns, metric: str) -> Columns:
    """The rows of the mobile node's flows that the metric is made of (`measured_rows`)."""
    from midflight.plot.results.rows import measured_rows
    from midflight.plot.results.tables import only_rows

    rows: Sequence[int] = range(len(columns["flow"]))
    if "moves" in columns:
        rows = [row for row in rows if str(columns["moves"][row]) == "1"]
    return only_rows(columns, measured_rows(columns, rows, metric))


def _most_runs(columns: Columns, names: Sequence[str]) -> int:
    """The most runs that have the same values of these columns."""
    each = Counter(zip(*(map(str, columns[name]) for name in names), strict=True))
    return max(each.values(), default=0)


def _keys(columns: Columns, by: Sequence[str]) -> list[tuple[str, ...]]:
    """The values of columns that tell lines apart, those of each line."""
    each = zip(*(columns[name] for name in by), strict=True) if by else [()]
    return list({tuple(map(str, one)): None for one in each})


def _lines(columns: Columns, by: Sequence[str]) -> int:
    """How many lines there would be."""
    return len(_keys(columns, by))
