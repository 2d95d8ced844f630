"""`midflight trace`: recordings of paths, as links follow them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.command import Command
from midflight.cli.options import FigureFontOption, FigureSizeOption, FigureStyleOption
from midflight.cli.output import UserError, align, note, open_result
from midflight.meant import did_you_mean
from midflight.recordings import (
    event_lines,
    interval_ns,
    outages,
    part_begins_s,
    part_words,
    pauses,
    quantities,
    quantity_label,
    value_cells,
    ways,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from midflight._core import Recording

__all__ = ["trace"]

NS_PER_S = 1e9
#: Columns of a picture, and its characters from nothing to all.
WIDTH = 72
LEVELS = " ▁▂▃▄▅▆▇█"
trace = typer.Typer(
    name="trace",
    rich_markup_mode=None,
    help="Recordings of paths, which links may follow (trace in a scenario).",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)


@trace.callback()
def entry() -> None:
    """Recordings of paths, which links may follow (trace in a scenario)."""


@trace.command(cls=Command)
def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|MODEL",
            help="The recording, or the name of a model that draws one (midflight list models).",
        ),
    ],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="csv, mahimahi, leo-em, leocc-delay, g-net-track or pensieve.  [default: what the "
            "first lines look like]",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="KEY=NAME",
            help="A column of a CSV file by what it has, such as rate='DL kbit/s'. May be "
            "repeated.",
        ),
    ] = None,
    dates: Annotated[
        str | None,
        typer.Option(
            "--dates",
            metavar="ORDER",
            help="The order of dates with slashes, such as 03/04/2024: day-first or month-first.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, help="Of a model, its seed.  [default: 1]"),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(
            "--length", metavar="TIME", help="Of a model, how much it draws.  [default: 600 s]"
        ),
    ] = None,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A knob of a model, such as rate='20 Mbit/s : 80 Mbit/s'. May be repeated.",
        ),
    ] = None,
    up: Annotated[
        str | None,
        typer.Option(
            "--up",
            metavar="FILE",
            help="The recording of the uplink, where FILE has only the downlink, as the pairs of "
            "Mahimahi do.",
        ),
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            "--delay",
            metavar="FILE",
            help="One-way delays of both directions, 10 ms per line, as LeoCC has them.",
        ),
    ] = None,
    begin: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="The part of it from here on."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="The part of it up to here.")
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option("--offset", metavar="TIME", help="Where in that part a run begins."),
    ] = None,
    repeat: Annotated[
        bool | None,
        typer.Option("--repeat/--no-repeat", help="Whether it starts again at its end."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", metavar="FACTOR", help="A factor for rates.")
    ] = None,
    interpolation: Annotated[
        str | None,
        typer.Option(
            "--interpolation",
            metavar="KIND",
            help="The values between two rows: step (those of the first) or linear.",
        ),
    ] = None,
    outage: Annotated[
        str | None,
        typer.Option(
            "--outage",
            metavar="KIND",
            help="Packets while the rate is zero: hold (they wait) or drop (they are lost).",
        ),
    ] = None,
    holes: Annotated[
        str | None,
        typer.Option(
            "--holes",
            metavar="KIND",
            help="What times without rows are: hold (the values before stay) or outage.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Draw it, as png, svg, pdf or pgf."),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="For a figure: the title.  [default: what it is; with --style paper none]",
        ),
    ] = None,
    size: FigureSizeOption = None,
    look: FigureStyleOption = None,
    font: FigureFontOption = None,
) -> None:
    """Print what is read of a recording: its span, rates, delays, losses, outages and handovers.

    The options are the keys of a trace in a scenario. With --from, --until or --offset it is the
    part that a link follows, and times are from when the run begins.

    \b
    Examples:
      midflight trace check drive.csv
      midflight trace check log.csv --columns time=Timestamp --columns rate="DL_bitrate kbit/s"
      midflight trace check starlink --seed 3 --set delay="10 ms : 40 ms"
      midflight trace check driving.down --up driving.up
      midflight trace check drive.csv --from 90s --until 150s --out drive.png
    """
    from midflight import _core

    dress = {"--title": title, "--size": size, "--style": look, "--font": font}
    if out is not None:
        from midflight.plot.common.style import check_format

        check_format(Path(out))
    elif given := [option for option, text in dress.items() if text is not None]:
        raise UserError(f"{given[0]} is for a figure; give --out FILE as well")
    models = [one["name"] for one in _core.path_models()]
    is_model = file in models and not Path(file).is_file()
    if not is_model and not Path(file).exists() and (near := did_you_mean(file, models)):
        raise UserError(f'there is no file "{file}", and no model of that name{near}')
    options = {
        "from": begin,
        "until": until,
        "offset": offset,
        "repeat": None if repeat is None else str(repeat).lower(),
        "scale": scale,
        "interpolation": interpolation,
        "outage": outage,
        "holes": holes,
    }
    part = {key: value for key, value in options.items() if value is not None}
    of_model = (("--seed", seed), ("--length", length), ("--set", knobs))
    of_file = (
        *(("--format", format_), ("--columns", columns)),
        *(("--dates", dates), ("--up", up), ("--delay", delay)),
    )
    for option, value in of_file if is_model else of_model:
        if value is not None and value != []:
            kind = "a model" if is_model else "a file"
            raise UserError(f"{option} is not accepted: {file} is {kind}")
    if is_model:
        found = _core.draw_recording(
            file,
            seed=1 if seed is None else seed,
            length=length or "600 s",
            set=_pairs(knobs or [], "--set", 'rate="20 Mbit/s"'),
            part=part,
        )
    else:
        of_columns = _pairs(columns or [], "--columns", 'rate="DL kbit/s"')
        how: Any = {
            "format": format_,
            "columns": of_columns,
            "dates": dates,
            "delay": delay,
            "part": part,
        }
        found = _core.read_recording(file, **how)
    # A second file replaces the first file's values of the uplink.
    uplink = None if up is None else _core.read_recording(up, **how)
    print("\n".join(lines(file, found, uplink, part)))
    if out is not None:
        _draw(out, file, found, uplink, part, dress)


def _draw(
    out: str,
    file: str,
    found: Recording,
    uplink: Recording | None,
    part: Mapping[str, str],
    dress: Mapping[str, str | None],
) -> None:
    """Write the figure of this part of a recording, with these options of a figure."""
    from midflight.plot.common.style import (
        check_format,
        chosen_style,
        figure_bytes,
        is_paper,
        typeset,
    )
    from midflight.plot.over_time.recorded import recording_figure

    suffix = check_format(Path(out))
    drawn = [(name, what, *of) for name, what, _, of, _ in quantities(found, uplink) if of[0]]
    name = Path(file).name
    if not name.lower().endswith(f".{found['format']}"):
        name += f" ({found['format']})"
    # The dollar signs of a name are no mathematics.
    title = part_words(name, part, found["span_ns"]).replace("$", r"\$")
    both = ways(found, uplink).values()
    counted = [interval_ns(*one) for one in both if one[0]["opportunities_ns"]]
    each = dict.fromkeys(f"{every / NS_PER_S:g} s" for every in counted)
    means = f"means of {' and '.join(each)}" if counted else ""
    if counted:
        title += f", rates as {means}"
    long = pauses(found["down"]["opportunities_ns"])
    given = dress["--title"]
    with chosen_style(dress["--style"], dress["--font"], suffix=suffix):
        if given is not None:
            title = typeset("--title", given)
        elif is_paper():
            # Its caption says what it is.
            title = ""
        else:
            means = ""
        figure = recording_figure(
            found,
            drawn,
            outages(found) or long,
            title=title,
            size=dress["--size"],
            holes=found["holes"] + (uplink["holes"] if uplink else []),
            begins_s=part_begins_s(part),
            # What the usual title has.
            detail=means,
        )
        with open_result(Path(out), binary=True) as target:
            target.write(figure_bytes(figure, suffix))
    note(f"written to {out}")


def _pairs(columns: Sequence[str], option: str, example: str) -> dict[str, str]:
    """Return values by their keys."""
    pairs: dict[str, str] = {}
    for one in columns:
        key, equals, name = one.partition("=")
        if not equals or not key or not name or key in pairs:
            raise UserError(
                f'{option} "{one}" is not accepted; expected KEY=VALUE, each key once, such as '
                f"{example}"
            )
        pairs[key] = name
    return pairs


def lines(
    file: str,
    found: Recording,
    uplink: Recording | None = None,
    part: Mapping[str, str] | None = None,
) -> Iterable[str]:
    """Yield the lines of a report on a recording, or on this part of it."""
    span, name = found["span_ns"] / NS_PER_S, Path(file).name
    words = part_words(name, part or {}, found["span_ns"])
    yield f"{name}: {found['format']}, {span:g} s" + (
        f"; up: {uplink['format']}, {uplink['span_ns'] / NS_PER_S:g} s" if uplink else ""
    )
    if words != name:
        yield f"{words}; times are from when a run begins"
    yield align(value_cells(found, uplink))
    yield from event_lines(found, uplink)
    for one in (found, *(() if uplink is None else (uplink,))):
        yield from short_hole_lines(one)
    for remark in (*found["remarks"], *(uplink["remarks"] if uplink else ())):
        yield f"note: {remark}"
    for name, what, unit, (times, values), span_ns in quantities(found, uplink):
        if not times:
            continue
        label = quantity_label(name, what, ways(found, uplink)[name][0], span_ns)
        # Bursts of losses are short: their means would be nothing beside the largest.
        peaks = what == "loss"
        label += ", the most of each part" if peaks else ""
        yield ""
        yield f"{label}, from 0 to {span_ns / NS_PER_S:g} s"
        yield _picture(times, [value / unit for value in values], span_ns, peaks=peaks)


def short_hole_lines(found: Recording) -> Iterable[str]:
    """Yield the sentence on times in which a few rows of a regular recording are missing."""
    short = found["short_holes"]
    if not short:
        return
    missing = sum(rows for *_, rows in short)
    took = sum(until - start for start, until, _ in short) / NS_PER_S
    longest = max(short, key=lambda one: one[1] - one[0])
    where = f"the longest {(longest[1] - longest[0]) / NS_PER_S:.4g} s"
    yield (
        f"short holes: {len(short)}, with {missing} missing row{'s' if missing > 1 else ''}, "
        f"{took:.4g} s in all, {where} at {longest[0] / NS_PER_S:.6g} s"
    )


def _picture(
    times: Sequence[int], values: Sequence[float], end: int, *, peaks: bool = False
) -> str:
    """Return steps as a line of bars, each the mean of its part, or the most in it (`peaks`)."""
    top = max(values) or 1.0
    bars = []
    place = 0
    for column in range(WIDTH):
        start, until = end * column / WIDTH, end * (column + 1) / WIDTH
        while place + 1 < len(times) and times[place + 1] <= start:
            place += 1
        area, most, at, one = 0.0, 0.0, start, place
        while at < until:
            most = max(most, values[one])
            after = times[one + 1] if one + 1 < len(times) else end
            edge = min(max(after, at), until)
            area += values[one] * (edge - at)
            if edge >= until or one + 1 >= len(times):
                break
            at, one = edge, one + 1
        share = (most if peaks else area / (until - start)) / top
        # A share above zero is always visible.
        level = round(share * (len(LEVELS) - 1))
        bars.append(LEVELS[max(level, 1) if share > 0 else 0])
    return "".join(bars)
