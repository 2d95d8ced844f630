"""The HTML of scenarios, runs, results and sweeps in a notebook (`_repr_html_`)."""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from midflight._core import MidflightError

if TYPE_CHECKING:
    from midflight._core import Plan, Setup
    from midflight.results import Columns
    from midflight.scenario import Outcome, Scenario
    from midflight.sweep import Sweep
    from midflight.sweep_summary import Summary

__all__ = ["columns_html", "outcome_html", "run_html", "scenario_html", "sweep_html"]

#: Lines of a table, and values of an axis.
_MOST_LINES = 20
#: A cell that is right-aligned, as its column is compared by its digits.
_NUMBER = re.compile("[-+\N{MINUS SIGN}]?[0-9.]+|-")
#: An inch of a figure, as reports show it.
_INCH_PX = 128
#: Flows that are drawn.
_MOST_FLOWS = 6


def _table(
    cells: Sequence[Sequence[str]], every: int = 0, all_in: str = "", most: int = _MOST_LINES
) -> str:
    """Return a head and lines as a table, of many the first ones; `every` is how many there are if
    these are some of them, and `all_in` is what has all.
    """
    head, *lines = cells
    rows = ["".join(f"<th>{html.escape(one)}</th>" for one in head)]
    right = ' style="text-align: right"'
    for line in lines[:most]:
        each = ((right if _NUMBER.fullmatch(one) else "", html.escape(one)) for one in line)
        rows.append("".join(f"<td{how}>{one}</td>" for how, one in each))
    table = f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    left = max(every, len(lines)) - min(len(lines), most)
    more = f"... and {left} more" + (f"; {all_in} has all" if all_in else "")
    return table + (_text(more) if left > 0 else "")


def _text(text: str) -> str:
    """Return a sentence above a table."""
    return f"<p>{html.escape(text)}</p>"


def _figure(setup: Setup, plan: Plan | None = None) -> str:
    """Return throughput and queue of a run, of a scenario if it is known, as a drawing; nothing
    without matplotlib.
    """
    from midflight.plot.over_time.applications import OF_APPLICATIONS
    from midflight.plot.over_time.followed import followed_of
    from midflight.plot.over_time.history import History, Moments
    from midflight.plot.over_time.watched import WatchedRun, panels_of

    try:
        from midflight.plot.common.style import figure_bytes
        from midflight.plot.over_time.idle import without_idle_queues
        from midflight.plot.over_time.panels import has_bands, over_time_figure
    except ImportError:
        return ""
    names = [one["name"] for one in setup.flows][:_MOST_FLOWS]
    schemes = {one["name"]: one["scheme"] for one in setup.flows}
    one = WatchedRun("", setup, [], recorded={} if plan is None else followed_of(plan))
    for name in names:
        trace, moments = setup.trace(flow=name), Moments(setup)
        one.flows.append(History(schemes[name], trace, moments, flow=name))
    one.labels, one.looks = names, range(len(names))
    if one.end_ns == 0:
        return ""
    window = (0.0, 1.01 * one.end_ns / 1e9)
    kinds = (*OF_APPLICATIONS, "throughput", "queue")
    panels = panels_of([one], kinds, window, may_lack=True)
    panels = [
        replace(panel, has_bands=has_bands(panel))
        for panel in panels
        if any(len(curve.time_s) for curve in panel.curves)
    ]
    if not panels:
        return ""
    panels, _ = without_idle_queues(panels)
    try:
        drawn = figure_bytes(over_time_figure([one], panels, window), ".svg")
    except ImportError:
        return ""
    text = drawn.decode()
    return text[text.index("<svg") :]


def columns_html(columns: Columns) -> str:
    """Return a table of results as a notebook shows it: its first rows."""

    def shown(value: object) -> str:
        if value is None or value != value:
            return ""
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    names = columns.column_names
    first = [map(shown, columns.column(name)[:_MOST_LINES]) for name in names]
    return _table([names, *map(list, zip(*first, strict=True))], columns.num_rows)


def run_html(setup: Setup) -> str:
    """Return a run as a notebook shows it: its flows, and throughput and queue over time."""
    flows = [["flow", "scheme", "direction"]]
    flows += [[one["name"], one["scheme"], one["direction"]] for one in setup.flows]
    changes = [["at (s)", "what", "from", "to"]]
    for one in setup.path_changes:
        at = f"{one['at_ns'] / 1e9:g}"
        changes.append([at, one["kind"], one["from_link"], one["to_link"]])
    tables = _table(flows) + (_table(changes) if len(changes) > 1 else "")
    return f"{tables}{_figure(setup)}"


def outcome_html(outcome: Outcome) -> str:
    """Return results as a notebook shows them: the tables, and the first run over time."""
    from midflight.run_tables import RunSummary

    scenario = json.loads(outcome.plan.canonical)
    summary = RunSummary.of(outcome)
    parts = [f"<h4>{html.escape(scenario['title'])}</h4>"] if scenario.get("title") else []
    parts += [_text(summary.flow_text(scenario["runs"])), _table(summary.flow_cells())]
    for workload, cells in summary.workload_cells().items():
        parts += [_text(summary.workload_text(workload)), _table(cells)]
    phases = summary.phase_cells()
    if phases is not None:
        parts += [_text(summary.phase_text(scenario["packets"])), _table(phases)]
    if outcome.plan.stack != "linux":
        parts.append(_figure(outcome.plan.setup(0), outcome.plan))
    return "".join(parts)


def sweep_html(sweep: Sweep) -> str:
    """Return a sweep as a notebook shows it: what is simulated, and of the results in its folder
    what is best, the first figure of its report and a table, or its axes.
    """
    from midflight.run_tables import counted

    try:
        from midflight.plot.common.names import column_name
        from midflight.simulated import simulated_words
        from midflight.sweep_report import sweep_heading

        names, (title, over, _) = (
            {key: column_name(key) for key in sweep.axes},
            sweep_heading(sweep),
        )
        simulated = (_text(f"{over}.") if over else "") + _text(
            simulated_words(json.loads(sweep.scenario), sweep.axes)
        )
    except ImportError:
        # Without the extra for figures there are no words for axes.
        names, title, simulated = {}, json.loads(sweep.scenario).get("title") or "A sweep", ""
    words = f"<h4>{html.escape(title)}</h4>{simulated}<p>{counted(sweep.cells, 'cell')}</p>"
    if sweep.folder is not None and (sweep.folder / "flows.csv").is_file():
        return words + _results(sweep, sweep.folder)
    lines = [["axis", "number", "values", ""]]
    for key, values in sweep.axes.items():
        some = ", ".join(values[:_MOST_LINES]) + (" ..." if len(values) > _MOST_LINES else "")
        compared = "compared" if key == sweep.compare else ""
        lines.append([names.get(key, key), str(len(values)), some, compared])
    return words + _table(lines)


def _results(sweep: Sweep, folder: Path) -> str:
    """Return which compared value is best, the first figure of a sweep's report, and the comparison
    that `midflight sweep` prints, or the quartiles if it compares nothing.
    """
    from midflight.sweep_summary import Summary

    try:
        summary = Summary.of(sweep, folder)
    except MidflightError as error:
        # Such as a policy that `Sweep.read` was not given.
        return _text(str(error))
    words, unit = summary.measured
    if summary.compared:
        head = f"{words[:1].upper()}{words[1:]}. {summary.comparison_head()}"
        cells: Sequence[Sequence[str]] = summary.comparison_lines(unit, most=_MOST_LINES)
    else:
        head = f"Quartiles and 95th percentile of {words}{summary.over()}"
        cells = summary.quartile_cells(unit, _MOST_LINES)
    words_of = summary.left_out_words if summary.compared else summary.left_out_groups
    left_out = words_of(_MOST_LINES)
    effects: tuple[str, Sequence[Sequence[str]], str] | None = summary.effect_table()
    head, figures, best = " ".join(head.split()), [], []
    try:
        from midflight.plot.common.plain import usual_of_folder
        from midflight.plot.common.style import labelled
        from midflight.sweep_report import headed, shown_effects
        from midflight.sweep_verdict import best_lines
    except ImportError:
        pass
    else:
        # Names are those of the figure.
        with usual_of_folder(folder, summary.which_handoff):
            shown = summary.drawn(folder)
            best = [f"{one}." for one in best_lines(shown)]
            figures = _first_figure(sweep, folder, shown)
            head, left_out, cells = labelled(head), labelled(left_out), headed(cells)
            if effects is not None:
                effects = effects[0], shown_effects(summary), labelled(effects[2])
    parts = [_text(one) for one in (summary.unfinished(), head) if one]
    all_in = f"the report (midflight report {shlex.quote(str(folder))})"
    if summary.compared and not summary.has_pairs:
        table = ""
    else:
        more = _text(f"{left_out}; {all_in} has all") if left_out else ""
        table = _table(cells, most=len(cells)) + more
        if effects is not None:
            above, lines, below = effects
            table += _text(above) + _table(lines, most=len(lines)) + (_text(below) if below else "")
    return "".join([*map(_text, best), *figures, *parts, table])


def _first_figure(sweep: Sweep, folder: Path, summary: Summary) -> list[str]:
    """Return the first figure of a sweep's report; nothing without matplotlib."""
    try:
        from midflight.sweep_report import sweep_figures

        figure = next(sweep_figures(sweep, folder, summary))
    except ImportError:
        return []
    from midflight.report import image_inches

    caption = html.escape(figure["caption"])
    width = f"{image_inches(figure['image']) * _INCH_PX:.0f}px"
    image = f'<img src="{figure["image"]}" style="width: {width}; max-width: 100%">'
    return [f"<figure>{image}<figcaption>{caption}</figcaption></figure>"]


def scenario_html(scenario: Scenario) -> str:
    """Return a scenario as a notebook shows it: its links, flows, and handoffs and changes."""
    from midflight.link_cells import link_cells
    from midflight.scenario_cells import event_cells, flow_settings

    try:
        values = json.loads(scenario.plan().canonical)
    except MidflightError as error:
        # A scenario with policies of one's own is checked when it is run with them.
        return _text(f"A scenario: {error}")
    parts = [f"<h4>{html.escape(values.get('title') or 'A scenario')}</h4>"]
    if values.get("description"):
        parts.append(_text(values["description"]))
    parts += [
        _table(link_cells(values["links"], has_rooms=True)),
        _table(flow_settings(values["flows"])),
    ]
    events = event_cells(values)
    return "".join([*parts, *([_table(events)] if len(events) > 1 else [])])
