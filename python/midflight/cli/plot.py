"""`midflight plot`: pictures of runs and of sweeps."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import own_policies, read_whole
from midflight.cli.options import (
    BaselineOption,
    FigureFontOption,
    FigureSizeOption,
    FigureStyleOption,
    PoliciesOption,
    SetsOption,
    SourceProfileOption,
    WhereOption,
    WithoutOption,
)
from midflight.cli.output import QUIET_S, UserError, note, open_result, progress_display
from midflight.cli.plot_options import (
    check_schemes,
    check_yscale,
    kinds_of,
    note_labels,
    read_by_kind,
    read_ends,
    read_labels,
    read_limits,
    read_one,
    read_segments,
    read_time,
    refuse,
    result_kind,
    split_kinds,
)
from midflight.cli.plot_results import plot_results, write_rows
from midflight.cli.result_files import destination, note_folder
from midflight.cli.run import idle_notes_of, with_shorthands
from midflight.cli.source import (
    DEFINITIONS,
    FigureOption,
    JobOption,
    StudyOption,
    read_asked,
    runs_of_axes,
    source_words,
)
from midflight.recordings import check_is_no_recording
from midflight.remark import equal_runs, remarks_of
from midflight.unmet import drawn_notes

if TYPE_CHECKING:
    from midflight._core import Plan
    from midflight.plot.over_time.curves import Panel, WatchedRun
    from midflight.policy import Policies

__all__ = ["plot", "write_figure"]

PAGE = ".html"


def plot(
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FILE",
            help="A figure (.png, .svg, .pdf, .pgf), or the interactive page (.html).",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE|DIR]",
            help="A scenario in TOML, the name of a starter, or handoff, startup, flow or roam "
            "with the options of that command; or a folder of results, or a CSV or Parquet file; "
            "not with --study.",
            show_default=False,
        ),
    ] = None,
    study: StudyOption = None,
    figure: FigureOption = None,
    job: JobOption = None,
    profile: SourceProfileOption = None,
    sets: SetsOption = None,
    policies: PoliciesOption = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="time-sequence, window or both; delay-cdf; or panels over time, one or several: "
            "throughput, rates, queue, delay, rtt, cwnd, pipe, sequence, and of workloads "
            "bitrate, buffer, frames, objects. For results: median, cdf, box, interval or "
            "heatmap.  [default: both; of a video throughput,bitrate,buffer; of a call or a web "
            "page throughput, its own and queue, of pages of several schemes objects; of a link "
            "that follows a recording throughput,queue,delay; of results median]",
        ),
    ] = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme",
            metavar="NAME",
            help="A sender in place of the flow's own; if repeated, all of them side by side.",
        ),
    ] = None,
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            metavar="KEY=VALUES",
            help="A run for each of these values, in one figure or page, as in midflight sweep: "
            "flows.download.stack=midflight,quinn. May be repeated.",
        ),
    ] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            "--flow",
            metavar="NAME",
            help="The flow; for panels over time and a page it may be repeated.  [default: the "
            "first, or all]",
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option(metavar="N", help="The number of the run.  [default: 0]")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Show the run from this time on.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Show the run up to this time.")
    ] = None,
    segments: Annotated[
        str | None, typer.Option(metavar="A:B", help="Show the segments of these numbers.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="For panels over time: the interval of mean throughputs and queues, and of "
            "medians of delays and RTTs, such as 100ms.",
        ),
    ] = None,
    yscale: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[KIND=]SCALE",
            help="For results, and for throughput, rates, queue, delay, rtt, cwnd and pipe over "
            "time: linear or log; of several panels with their kinds, such as rtt=log. May be "
            "repeated.  [default: linear; for results, throughput, delay and rtt log where a "
            "linear axis would hide a part]",
        ),
    ] = None,
    xscale: Annotated[
        str | None,
        typer.Option(
            metavar="SCALE",
            help="For results: linear or log.  [default: log for a geometric series of values]",
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="COLUMN", help="For results: the axis, such as handoffs.0.at."),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y",
            metavar="COLUMN",
            help="For results: the measurement, such as duration_ns.  [default: of a sweep the "
            "metric and the comparison that it prints]",
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="COLUMN",
            help="For results: the measurement, if --y is an axis (heatmap), or a synonym of "
            "--y. Of a heatmap also finished_percent, the share of runs that finished, and best, "
            "which compared value is best, with its median.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="For results: a line, or a heat map, for each value. May be repeated.",
        ),
    ] = None,
    where: WhereOption = None,
    without: WithoutOption = None,
    baseline: BaselineOption = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="For a figure: a title above it.")
    ] = None,
    xlabel: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="For a figure: the label of the horizontal axis."),
    ] = None,
    ylabel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[KIND=]TEXT",
            help="For a figure: the label of the axis of values; of several panels with their "
            "kinds, such as 'queue=Queue of the modem'. May be repeated.",
        ),
    ] = None,
    size: FigureSizeOption = None,
    look: FigureStyleOption = None,
    font: FigureFontOption = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME=TEXT",
            help="For a figure: writes TEXT where it would say NAME, such as sack=CUBIC. May be "
            "repeated.",
        ),
    ] = None,
    legend: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="For a figure: outside, inside, upper-left, upper-right, lower-left, lower-right "
            "or none.",
        ),
    ] = None,
    xlim: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="For results: the ends of the horizontal axis, in its unit.",
        ),
    ] = None,
    ylim: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[KIND=]LOW:HIGH",
            help="For a figure: the ends of the axis of values, in its unit; of several panels "
            "with their kinds, such as queue=0:50. May be repeated.",
        ),
    ] = None,
    vlim: Annotated[
        str | None,
        typer.Option(
            metavar="LOW:HIGH",
            help="For a heat map of results: the ends of its colours, in the unit of the values.",
        ),
    ] = None,
    marks: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="For panels over time: marks only these events, one or several of "
            "retransmissions, losses, acks (lost ones), ecn, timeouts, requests (their losses and "
            "timeouts); or none.  [default: all but acks]",
        ),
    ] = None,
    bands: Annotated[
        bool | None,
        typer.Option(
            "--bands/--no-bands",
            help="For panels over time: draws bands around lines, and the maxima, or leaves them "
            "out.  [default: with one line]",
            show_default=False,
        ),
    ] = None,
    no_captions: Annotated[
        bool,
        typer.Option(
            "--no-captions",
            help="For a figure: leaves out the small text above the panels, such as means of "
            "0.1 s.",
        ),
    ] = False,
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="For a figure: write its data as CSV; - is standard output.",
        ),
    ] = None,
) -> None:
    """Draw a run over time, or the results of a sweep over one of its axes.

    A scenario is drawn with segments, ACKs and losses over time, the window, and the timer, with
    handoffs marked; as a figure or, with a name in .html, as an interactive page that needs no
    network and shows all flows. A folder of results is drawn with median and quartiles of a
    measurement.

    \b
    Examples:
      midflight plot wifi-to-lte --out run.png
      midflight plot wifi-to-lte --scheme sack --scheme enhanced --from "0.2 s" --out both.pdf
      midflight plot wifi-to-lte --kind throughput,queue,delay --out over-time.png --csv drawn.csv
      midflight plot wifi-to-lte --scheme sack --scheme enhanced --out both.html
      midflight plot household --out household.html
      midflight plot --study daniel-kojo-2008 --figure 8 --out figure-8.html
      midflight plot --out starts.png startup --link "50 Mbit/s, 15 ms" --scheme sack --scheme vho
      midflight plot results --x handoffs.0.at --y duration_ns --by flows.download.scheme \\
        --out sweep.svg
      midflight plot results --kind cdf --value duration_ns --by flows.download.scheme --out cdf.pdf
      midflight plot results --kind heatmap --x links.lte.rate --y handoffs.0.gap \\
        --value goodput_bps --out map.png
      midflight plot results --x handoffs.0.gap --y goodput_bps --by flows.download.scheme \\
        --where flows.download.scheme=sack --where flows.download.scheme=freeze \\
        --xlabel "Outage (s)" --size single --out column.pdf
    """
    of_runs = {
        "--profile": profile,
        "--set": sets,
        "--policy": policies,
        "--scheme": schemes,
        "--axis": axes,
        "--flow": flow,
        "--run": run,
        "--from": start,
        "--until": until,
        "--segments": segments,
        "--interval": interval,
    }
    of_results = {
        "--x": x,
        "--y": y,
        "--value": value,
        "--by": by,
        "--where": where,
        "--without": without,
        "--baseline": baseline,
        "--xscale": xscale,
        "--xlim": xlim,
        "--vlim": vlim,
    }
    of_figures = {
        "--kind": kind,
        "--title": title,
        "--size": size,
        "--interval": interval,
        "--yscale": yscale,
        "--style": look,
        "--font": font,
        "--label": labels,
        "--legend": legend,
        "--ylim": ylim,
        "--xlabel": xlabel,
        "--ylabel": ylabel,
        "--marks": marks,
        "--bands": bands,
        "--no-captions": no_captions or None,
        "--csv": csv_file,
    }
    from midflight.plot.common.options import choose_axes
    from midflight.plot.common.plain import usual_of_folder
    from midflight.plot.common.style import check_format, chosen_style
    from midflight.plot.over_time.watched import OVER_TIME
    from midflight.plot.results.delays import DELAY_CDF
    from midflight.plot.results.spread import SPREADS
    from midflight.plot.usual import usual_kinds
    from midflight.scenario import starter_names

    of_axes: Any = {
        "xlim": None if xlim is None else read_ends("--xlim", xlim),
        "ylim": read_limits(ylim or ()),
        "xlabel": xlabel,
        "ylabel": read_by_kind("--ylabel", ylabel or ()),
        "vlim": None if vlim is None else read_ends("--vlim", vlim),
    }
    dress: Any = {
        "legend": legend,
        "labels": read_labels(labels or ()),
        "axes": choose_axes(**of_axes),
        "captions": not no_captions,
        "suffix": Path(out).suffix.lower(),
    }
    place = Path(source or "")
    is_question = (source or "").partition(" ")[0] in DEFINITIONS
    is_starter = source in starter_names()
    asked_kinds = split_kinds(kind or ())
    asks_results = any(of_results.values()) or not {*asked_kinds}.isdisjoint(("median", *SPREADS))
    # A starter's name is a folder where this is a sweep, or only results have what is asked for,
    # unless only a run has it.
    asks_run = any(of_runs.values()) or bool(asked_kinds) or Path(out).suffix.lower() == PAGE
    is_sweep_here = (place / "sweep.json").is_file() and not asks_run
    is_folder = place.is_dir() and (asks_results or is_sweep_here or not is_starter)
    if is_starter and is_folder:
        note_folder(str(source))
    is_table = source is not None and not is_question
    is_table = is_table and (is_folder or place.suffix in (".csv", ".parquet"))
    if is_table and Path(out).suffix.lower() == PAGE:
        what = "midflight report makes a page of them" if place.is_dir() else "a figure is no page"
        raise UserError(
            f'"{out}" is not the name of a figure; "{source}" holds results, and it may end in '
            f".png, .svg, .pdf or .pgf; {what}"
        )
    suffix = check_format(Path(out), () if is_table else (PAGE,))
    if csv_file is not None and Path(csv_file).resolve() == Path(out).resolve():
        raise UserError(f"--csv and --out name the same file, {out}; give two names")
    if is_table:
        if not asks_results and place.is_file():
            check_is_no_recording(place)
        refuse(of_runs, f'"{source}" holds results', "is for a scenario")
        texts: dict[str, Any] = {"title": title, "size": size, "xscale": xscale}
        texts["yscale"] = read_one("--yscale", yscale)
        with usual_of_folder(source), chosen_style(look, font, **dress):
            plot_results(
                str(source),
                out,
                kind=result_kind(asked_kinds) if asked_kinds else None,
                x=x,
                y=y,
                value=value,
                by=by,
                where=where or (),
                without=without or (),
                baseline=baseline,
                csv_to=csv_file,
                texts=texts,
            )
            note_labels(dress["labels"])
        return
    if not is_table and (is_question or is_starter or place.exists()):
        why = "the ends of time are given by --from and --until"
        refuse({"--xlim": xlim}, why, "is for a folder of results")
    if study is not None or is_question:
        refuse(of_results, "one run is shown", "is for a folder of results")
    elif source is not None:
        if not (place.exists() or is_starter) and asks_results:
            raise UserError(f'there is no folder and no table "{source}"')
        if not is_starter:
            check_is_scenario(place)
        if found := [one for one in asked_kinds if one in ("median", *SPREADS)]:
            raise UserError(
                f'"{source}" is a scenario, and --kind {found[0]} is for a folder of results, as '
                f"midflight sweep writes it; of one run --kind {DELAY_CDF} is the CDF of delays"
            )
        refuse(of_results, f'"{source}" is a scenario', "is for a folder of results")
    if suffix == PAGE:
        of_pages = ("--label", "--interval", "--yscale")
        others = {option: one for option, one in of_figures.items() if option not in of_pages}
        refuse(others, "a page shows everything", "is for figures")
    flows = flow or []
    if asked_kinds:
        kinds_of(asked_kinds)
    all_sets = with_shorthands(sets, profile)
    shown_run: Any = read_asked(source, all_sets, policies, study=study, figure=figure, job=job)
    usual = (
        ["both"]
        if segments
        else [*usual_kinds(shown_run, flows, are_several=len(schemes or ()) > 1 or bool(axes))]
    )
    kinds = kinds_of(asked_kinds or usual)
    over_time, is_cdf = kinds[0] in OVER_TIME, kinds[0] == DELAY_CDF
    if (over_time or is_cdf) and segments is not None:
        raise UserError("--segments is for the kinds time-sequence and both")
    only_over_time = ("--interval", interval), ("--marks", marks), ("--bands", bands)
    for option, text in only_over_time:
        if text is not None and not (over_time or suffix == PAGE):
            raise UserError(f"{option} is for panels over time: --kind {', '.join(OVER_TIME)}")
    scales = read_by_kind("--yscale", yscale or (), is_text=False)
    if suffix != PAGE:
        check_yscale(scales, kinds)
    if not (over_time or is_cdf or suffix == PAGE) and len(flows) > 1:
        raise UserError(
            f"a figure of the kind {kinds[0]} is of one flow, not of {len(flows)} "
            f"({', '.join(flows)}); give one --flow, or --kind throughput or another panel over "
            "time"
        )
    first_flow = next(iter(flows), None)
    titled = shown_run
    if axes:
        asked = (source, policies, (study, figure, job), getattr(titled, "canonical", ""))
        shown_run = runs_of_axes(axes, all_sets, *asked)
        if schemes:
            check_schemes(axes, schemes, flows, getattr(titled, "canonical", ""))
    notes: list[str] = []
    run_plans: list[Plan] = []
    if study is None and not is_question:
        plans = [*shown_run.values()] if axes else [shown_run]
        used = (with_schemes(json.loads(one.canonical), first_flow, schemes or ()) for one in plans)
        idle = idle_notes_of(used)
        for plan in plans:
            of_schemes = plans_of_schemes(plan, flows, schemes or (), policies)
            notes += remarks_of(plan, run=of_schemes)
            run_plans += of_schemes
        notes += idle
        if equal := equal_runs(plans):
            notes.append(f"{equal}; one is drawn")
    number = read_whole("--run", run if run is not None else "0", 0, 2**63 - 1)
    from_s = None if start is None else read_time("--from", start)
    until_s = None if until is None else read_time("--until", until)
    shown = None if segments is None else read_segments(segments)
    how: dict[str, Any] = {"run": number, "schemes": schemes or ()}
    how["policies"] = own_policies(policies)
    if suffix == PAGE:
        from midflight.plot.page.html import page_html

        given = [
            (option, one)
            for option, values in (*of_runs.items(), ("--label", labels), ("--yscale", yscale))
            for one in (values if isinstance(values, list) else [values])
            if one is not None
        ]
        named = source_words(source, study=study, figure=figure, job=job)
        own = [*(word for pair in given for word in pair), "--out", out]
        # Options after the name of a question belong to the question.
        words = ["midflight", "plot", *([*own, *named] if is_question else [*named, *own])]
        with watching() as progress, chosen_style(labels=dress["labels"]):
            html = page_html(
                shown_run,
                flows=flows,
                view=(from_s, until_s, shown),
                interval_s=None if interval is None else read_time("--interval", interval),
                yscale=scales,
                command=shlex.join(words),
                titled=titled,
                progress=progress,
                **how,
            )
            note_labels(dress["labels"])
        with open_result(Path(out)) as file:
            file.write(html)
    else:
        of_all = {"from_s": from_s, "until_s": until_s, "title": title, "size": size, **how}
        with chosen_style(look, font, **dress):
            if is_cdf:
                write_delay_cdf(shown_run, out, flows=flows, csv_to=csv_file, **of_all)
            elif over_time:
                mean_of = None if interval is None else read_time("--interval", interval)
                write_panels(
                    shown_run,
                    out,
                    kinds,
                    is_usual=not asked_kinds,
                    flows=flows,
                    interval_s=mean_of,
                    yscale=scales,
                    marks=None if marks is None else split_kinds([marks]),
                    bands=bands,
                    csv_to=csv_file,
                    **of_all,
                )
            else:
                write_figure(
                    shown_run,
                    out,
                    flow=first_flow,
                    kind=kinds[0],
                    segments=shown,
                    csv_to=csv_file,
                    **of_all,
                )
            note_labels(dress["labels"])
    notes += drawn_notes(run_plans, number)
    # Where a value is refused, its error stands alone.
    for said in dict.fromkeys(notes):
        note(said)
    note(f"written to {out}")


def write_panels(
    plan: Any,
    out: str,
    kinds: Sequence[str],
    *,
    is_usual: bool,
    flows: Sequence[str],
    run: int,
    schemes: Sequence[str],
    policies: Policies,
    from_s: float | None,
    until_s: float | None,
    interval_s: float | None,
    marks: Sequence[str] | None,
    bands: bool | None,
    csv_to: str | None,
    **how: Any,
) -> None:
    """Write a figure of panels over time; a usual one without those that show nothing."""
    from midflight.plot.common.plain import usual_of_flows
    from midflight.plot.common.style import check_format, figure_bytes, usually
    from midflight.plot.over_time.idle import without_idle_queues
    from midflight.plot.over_time.intervals import interval_note
    from midflight.plot.over_time.marks import check_marks
    from midflight.plot.over_time.panels import (
        over_time_figure,
        panel_rows,
        path_rows,
        shown_panels,
    )
    from midflight.plot.over_time.room import HEAD
    from midflight.plot.over_time.watched import watch, without_requests

    suffix = check_format(Path(out))
    check_marks(marks)
    how_run: Any = {"run": run, "schemes": schemes, "policies": policies}
    with watching() as progress:
        runs = watch(plan, flows=flows, kinds=kinds, progress=progress, **how_run)
    shown: Any = {"size": how["size"], "marks": marks, "bands": bands}
    window, panels = shown_panels(runs, kinds, from_s, until_s, interval_s, **shown)
    if is_usual:
        panels, left_out = without_idle_queues(panels, how["yscale"] or ())
        if left_out:
            note(f"{left_out}; --kind {','.join(kinds)} shows it")
    figure = over_time_figure(runs, panels, window, **how)
    with open_result(Path(out), binary=True) as file, destination(csv_to) as table:
        file.write(figure_bytes(figure, suffix))
        write_rows(table, HEAD, [*panel_rows(panels), *path_rows(runs, window, how["size"])])
    with usually(usual_of_flows(flow for one in runs for flow in one.flows)):
        note_panels(runs, panels, how["yscale"] or {})
    asked_s = interval_s if "throughput" in kinds else None
    if asked_s is not None and (said := interval_note(runs, window, asked_s)):
        note(said)
    drawn, there = [one.flow for one in runs[0].flows], without_requests(runs[0].setup)
    if not flows and len(runs) > 1 and len(drawn) < len(there):
        note(
            f"of the flows {', '.join(there)} only {', '.join(drawn)} is drawn; --flow names others"
        )


def note_panels(
    runs: Sequence[WatchedRun], panels: Sequence[Panel], scales: Mapping[str, str]
) -> None:
    """Print notes on what panels over time do not show, by the names that they have."""
    from midflight.plot.common.style import labelled
    from midflight.plot.over_time.panel_scales import slow_links
    from midflight.plot.over_time.same_runs import same_applications
    from midflight.plot.over_time.together import repeated_lines
    from midflight.plot.over_time.watched import longest

    for why in (why for panel in panels for why in panel.lacks):
        note(labelled(why))
    for panel in panels:
        scale = scales.get(panel.kind, scales.get(""))
        if slow := slow_links(panel, scale, longest(runs).stretches):
            note(
                f"{panel.kind}: {slow}, which can hardly be seen; --yscale {panel.kind}=log shows "
                "it, and --from and --until the time with that rate alone"
            )
    for line, what in same_applications(runs).items():
        note(f"{labelled(line)}: {labelled(what)}, to the millisecond")
    for line, other in repeated_lines(runs).items():
        note(f"{labelled(line)}: its run is the same as that of {labelled(other)}, event by event")


@contextmanager
def watching() -> Iterator[Callable[[int, int], None]]:
    """Show how many of the runs of a figure are done."""
    with progress_display(quiet_s=QUIET_S) as progress:
        yield lambda done, of: progress("simulating", done, of)


def write_delay_cdf(
    plan: Any,
    out: str,
    *,
    flows: Sequence[str],
    run: int,
    schemes: Sequence[str],
    policies: Policies,
    from_s: float | None,
    until_s: float | None,
    csv_to: str | None,
    **how: Any,
) -> None:
    """Write a figure of how delays are distributed."""
    from midflight.plot.common.style import check_format, figure_bytes
    from midflight.plot.over_time.watched import watch
    from midflight.plot.results.delays import delay_figure, delay_spread
    from midflight.plot.results.spread import spread_rows

    suffix = check_format(Path(out))
    how_run: Any = {"run": run, "schemes": schemes, "policies": policies}
    with watching() as progress:
        runs = watch(plan, flows=flows, kinds=("delay",), progress=progress, **how_run)
    data = delay_spread(runs, from_s, until_s)
    figure = delay_figure(runs, data, **how)
    with open_result(Path(out), binary=True) as file, destination(csv_to) as table:
        file.write(figure_bytes(figure, suffix))
        head, *rows = spread_rows(data)
        write_rows(table, [str(one) for one in head], rows)


def write_figure(
    plan: Any,
    out: str,
    *,
    flow: str | None,
    run: int,
    schemes: Sequence[str],
    policies: Policies,
    csv_to: str | None = None,
    **how: Any,
) -> None:
    """Write the figure of a run."""
    from midflight.plot.common.style import check_format, figure_bytes
    from midflight.plot.over_time.history import histories
    from midflight.plot.over_time.room import HEAD
    from midflight.plot.over_time.run import run_figure, run_rows

    suffix = check_format(Path(out))
    found = histories(plan, flow=flow, run=run, schemes=schemes, policies=policies)
    figure = run_figure(found, **how)
    drawn = {name: how[name] for name in ("kind", "from_s", "until_s")}
    with open_result(Path(out), binary=True) as file, destination(csv_to) as table:
        file.write(figure_bytes(figure, suffix))
        write_rows(table, HEAD, run_rows(found, **drawn))
    if flow is None and found[0].others:
        note(
            f"flow {found[0].flow} is drawn, not {', '.join(found[0].others)}; --flow names "
            "another one, and --kind throughput draws all of them"
        )


def check_is_scenario(place: Path) -> None:
    """Refuse a file that is none of what can be drawn, such as a figure."""
    if place.suffix == ".toml" or not place.is_file():
        return
    check_is_no_recording(place)
    try:
        tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f'"{place}" is not a scenario in TOML, and cannot be drawn; give one or the name of a '
            "starter, a folder of results, or a CSV or Parquet file"
        ) from error


def plans_of_schemes(
    plan: Plan, flows: Sequence[str], schemes: Sequence[str], policies: Sequence[str] | None
) -> list[Plan]:
    """The scenario with each of the schemes for these flows, by default the first one."""
    from midflight.plot.over_time.history import flow_key, planned

    defined = json.loads(plan.canonical)["flows"]
    keys = [key for flow in flows if (key := flow_key(defined, flow)) is not None]
    each = planned(plan, keys or [next(iter(defined))], schemes, own_policies(policies))
    return [one for _, one in each]


def with_schemes(
    scenario: dict[str, Any], flow: str | None, schemes: Sequence[str]
) -> dict[str, Any]:
    """A scenario with a flow that has the parts of all the schemes, if there are any."""
    from midflight.plot.over_time.history import flow_key

    flows = scenario["flows"]
    if schemes:
        flows[flow_key(flows, flow) or next(iter(flows))]["scheme"] = "+".join(schemes)
    return scenario
