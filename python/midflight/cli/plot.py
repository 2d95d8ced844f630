"""`midflight plot`: pictures of runs and of sweeps."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.input import own_policies, read, read_whole
from midflight.cli.options import PoliciesOption, SetsOption, SourceProfileOption
from midflight.cli.output import UserError, note, open_result
from midflight.cli.run import idle_notes, with_shorthands
from midflight.cli.source import (
    DEFINITIONS,
    FigureOption,
    JobOption,
    StudyOption,
    read_asked,
    source_words,
)

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["plot", "write_figure"]

PAGE = ".html"


def plot(
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FILE",
            help="A figure (.png, .svg, .pdf), or the interactive page (.html).",
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
        str | None,
        typer.Option(metavar="KIND", help="time-sequence, window, or both.  [default: both]"),
    ] = None,
    schemes: Annotated[
        list[str] | None,
        typer.Option(
            "--scheme",
            metavar="NAME",
            help="A sender in place of the flow's own; if repeated, all of them side by side.",
        ),
    ] = None,
    flow: Annotated[
        str | None, typer.Option(metavar="NAME", help="The flow.  [default: the first]")
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
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="COLUMN", help="Of results: the axis, such as handoffs.0.at."),
    ] = None,
    y: Annotated[
        str | None,
        typer.Option(
            "--y", metavar="COLUMN", help="Of results: the measurement, such as duration_ns."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="COLUMN", help="Of results: a line for each value. May be repeated."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="COLUMN=VALUE",
            help="Of results: only the rows with this value; if repeated for a column, rows with "
            "one of the values, shown in their order.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Of a figure: a title above it.")
    ] = None,
    xlabel: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Of results: replaces the name of the axis."),
    ] = None,
    ylabel: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Of results: replaces the name of the measurement."),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Of a figure: single or double (column of a journal, 3.5 or 7.16 in), or inches, "
            "such as 5 or 5x3.",
        ),
    ] = None,
) -> None:
    """Draw a run over time, or the results of a sweep over one of its axes.

    A scenario is drawn with segments, ACKs and losses over time, the window, and the timer, with
    handoffs marked; as a figure or, with a name in .html, as an interactive page that needs no
    network. A folder of results is drawn with median and quartiles of a measurement.

    \b
    Examples:
      midflight plot wifi-to-lte --out run.png
      midflight plot wifi-to-lte --scheme sack --scheme enhanced --from "0.2 s" --out both.pdf
      midflight plot wifi-to-lte --scheme sack --scheme enhanced --out both.html
      midflight plot --study daniel-kojo-2008 --figure 8 --out figure-8.html
      midflight plot --out starts.png startup --link "50 Mbit/s, 15 ms" --scheme sack --scheme vho
      midflight plot results --x handoffs.0.at --y duration_ns --by flows.download.scheme \\
        --out sweep.svg
      midflight plot results --x handoffs.0.gap --y goodput_bps --by flows.download.scheme \\
        --where flows.download.scheme=sack --where flows.download.scheme=freeze \\
        --xlabel "Outage (s)" --size single --out column.pdf
    """
    of_runs = {
        "--profile": profile,
        "--set": sets,
        "--policy": policies,
        "--kind": kind,
        "--scheme": schemes,
        "--flow": flow,
        "--run": run,
        "--from": start,
        "--until": until,
        "--segments": segments,
    }
    of_results = {
        "--x": x,
        "--y": y,
        "--by": by,
        "--where": where,
        "--xlabel": xlabel,
        "--ylabel": ylabel,
    }
    of_figures = {"--kind": kind, "--title": title, "--size": size}
    from midflight.plot.style import check_format
    from midflight.scenario import starter_names

    place = Path(source or "")
    is_question = (source or "").partition(" ")[0] in DEFINITIONS
    is_table = source is not None and not is_question
    is_table = is_table and (place.is_dir() or place.suffix in (".csv", ".parquet"))
    suffix = check_format(Path(out), () if is_table else (PAGE,))
    if is_table:
        refuse(of_runs, f'"{source}" holds results', "is for a scenario")
        texts: dict[str, Any] = {"title": title, "xlabel": xlabel, "ylabel": ylabel, "size": size}
        plot_results(str(source), out, x=x, y=y, by=by or (), where=where or (), texts=texts)
        return
    if study is not None or is_question:
        refuse(of_results, "one run is shown", "is for a folder of results")
    elif source is not None:
        is_there = place.exists() or source in starter_names()
        if not is_there and any(of_results.values()):
            raise UserError(f'there is no folder and no table "{source}"')
        check_is_scenario(place)
        refuse(of_results, f'"{source}" is a scenario', "is for a folder of results")
    if suffix == PAGE:
        refuse(of_figures, "a page shows everything", "is for figures")
    all_sets = with_shorthands(sets, profile)
    shown_run: Any = read_asked(source, all_sets, policies, study=study, figure=figure, job=job)
    if study is None and not is_question:
        used = with_schemes(json.loads(shown_run.canonical), flow, schemes or ())
        for one in (*shown_run.remarks, *idle_notes(used)):
            note(one)
    number = read_whole("--run", run if run is not None else "0", 0, 2**63 - 1)
    from_s = None if start is None else read_time("--from", start)
    until_s = None if until is None else read_time("--until", until)
    shown = None if segments is None else read_segments(segments)
    how: dict[str, Any] = {"flow": flow, "run": number, "schemes": schemes or ()}
    how["policies"] = own_policies(policies)
    if suffix == PAGE:
        from midflight.plot.page import page_html

        given = [
            (option, one)
            for option, values in of_runs.items()
            for one in (values if isinstance(values, list) else [values])
            if one is not None
        ]
        named = source_words(source, study=study, figure=figure, job=job)
        own = [*(word for pair in given for word in pair), "--out", out]
        # What is behind a question is the question's.
        words = ["midflight", "plot", *([*own, *named] if is_question else [*named, *own])]
        html = page_html(shown_run, view=(from_s, until_s, shown), command=shlex.join(words), **how)
        with open_result(Path(out)) as file:
            file.write(html)
    else:
        write_figure(
            shown_run,
            out,
            kind=kind or "both",
            from_s=from_s,
            until_s=until_s,
            segments=shown,
            title=title,
            size=size,
            **how,
        )
    note(f"written to {out}")


def write_figure(
    plan: Any,
    out: str,
    *,
    flow: str | None,
    run: int,
    schemes: Sequence[str],
    policies: Policies,
    **how: Any,
) -> None:
    """Write the figure of a run."""
    from midflight.plot.history import histories
    from midflight.plot.run import run_figure
    from midflight.plot.style import check_format, figure_bytes

    suffix = check_format(Path(out))
    figure = run_figure(
        histories(plan, flow=flow, run=run, schemes=schemes, policies=policies), **how
    )
    with open_result(Path(out), binary=True) as file:
        file.write(figure_bytes(figure, suffix))


def plot_results(
    source: str,
    out: str,
    *,
    x: str | None,
    y: str | None,
    by: Sequence[str],
    where: Sequence[str],
    texts: Mapping[str, Any],
) -> None:
    """Write the figure of a folder of results; `texts` are the words and the size of it."""
    from midflight.plot.axis import axis_data, axis_figure, read_columns
    from midflight.plot.style import check_format, figure_bytes

    if x is None or y is None:
        raise UserError(
            f'"{source}" holds results: give --x, the axis, and --y, the measurement, '
            "such as --x handoffs.0.at --y duration_ns"
        )
    kept: dict[str, list[str]] = {}
    for word in where:
        key, equals, value = word.partition("=")
        if not (equals and key):
            raise UserError(f'--where "{word}" is not column=value; write for example run=0')
        kept.setdefault(key, []).append(value)
    try:
        columns = read_columns(source, y)
    except OSError as error:
        raise UserError(f'cannot read "{source}": {error.strerror or error}') from error
    flows = list(dict.fromkeys(str(one) for one in columns.get("flow", ())))
    if by and len(flows) > 1 and not {"flow", "scheme"} & {*by, *kept}:
        note(
            f"{', '.join(flows)} are taken together; --by flow or --where flow=NAME tells them "
            "apart"
        )
    figure = axis_figure(axis_data(columns, x=x, y=y, by=by, where=kept), **texts)
    with open_result(Path(out), binary=True) as file:
        file.write(figure_bytes(figure, check_format(Path(out))))
    note(f"written to {out}")


def refuse(options: dict[str, Any], why: str, what: str) -> None:
    """Refuse options that are for something else."""
    for option, value in options.items():
        if value is not None:
            raise UserError(f"{why}, and {option} {what}")


def check_is_scenario(place: Path) -> None:
    """Refuse a file that is none of what can be drawn, such as a figure."""
    if place.suffix == ".toml" or not place.is_file():
        return
    try:
        tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f'"{place}" is not a scenario in TOML, and cannot be drawn; give one or the name of a '
            "starter, a folder of results, or a CSV or Parquet file"
        ) from error


def with_schemes(
    scenario: dict[str, Any], flow: str | None, schemes: Sequence[str]
) -> dict[str, Any]:
    """A scenario whose flow has the parts of all the schemes, if there are some."""
    from midflight.plot.history import flow_key

    flows = scenario["flows"]
    if schemes:
        flows[flow_key(flows, flow) or next(iter(flows))]["scheme"] = "+".join(schemes)
    return scenario


def read_time(option: str, text: str) -> float:
    """Read a time as seconds."""
    from midflight import parse_duration

    return float(read(option, parse_duration, text)) / 1e9


def read_segments(text: str) -> tuple[int, int]:
    """Read a range of segment numbers."""
    low, colon, high = text.partition(":")
    if not (colon and low.strip().isdigit() and high.strip().isdigit() and int(low) < int(high)):
        raise UserError(
            f'--segments "{text}" is not a range of segments; write for example 100:250'
        )
    return int(low), int(high)
