"""`midflight trace`: recordings of paths, as links follow them."""

from __future__ import annotations

import itertools
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.command import Command
from midflight.cli.options import FigureFontOption, FigureSizeOption, FigureStyleOption
from midflight.cli.output import UserError, align, note, open_result
from midflight.policy import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from midflight._core import RecordedWay, Recording

__all__ = ["pauses", "quantities", "trace"]

NS_PER_S = 1e9
#: Columns of a picture, and its characters from nothing to all.
WIDTH = 72
LEVELS = " ▁▂▃▄▅▆▇█"
#: Intervals of means, in seconds: a figure has up to this number of the shortest that has so many
#: opportunities in the mean.
INTERVALS_S = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3600)
MOST_INTERVALS = 1000
LEAST_OPPORTUNITIES = 10
#: A time without an opportunity is a pause if it is as long as Linux's minimum RTO and this many
#: times the mean distance of two.
PAUSE_NS = 200_000_000
PAUSE_DISTANCES = 10
#: Outages and handovers that are listed; all are counted.
MOST_LISTED = 12

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

    With an option of a trace such as --from it is the part that a link follows, from when the run
    begins.

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
        from midflight.plot.style import check_format

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
        "holes": holes,
    }
    part = {key: value for key, value in options.items() if value is not None}
    of_model = (("--seed", seed), ("--length", length), ("--set", knobs))
    of_file = (
        *(("--format", format_), ("--columns", columns)),
        *(("--dates", dates), ("--up", up)),
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
        how: Any = {"format": format_, "columns": of_columns, "dates": dates, "part": part}
        found = _core.read_recording(file, **how)
    # A second file replaces the first file's values of the uplink.
    uplink = None if up is None else _core.read_recording(up, **how)
    print("\n".join(lines(file, found, uplink)))
    if out is not None:
        _draw(out, file, found, uplink, dress)


def _draw(
    out: str,
    file: str,
    found: Recording,
    uplink: Recording | None,
    dress: Mapping[str, str | None],
) -> None:
    """Write the figure of a recording, with these options of a figure."""
    from midflight.plot.recorded import recording_figure
    from midflight.plot.style import check_format, chosen_style, figure_bytes, is_paper, typeset

    suffix = check_format(Path(out))
    drawn = [(name, what, *of) for name, what, _, of, _ in quantities(found, uplink) if of[0]]
    # The dollar signs of a name are no mathematics.
    title = f"{Path(file).name}: {found['format']}".replace("$", r"\$")
    ways = _ways(found, uplink)
    counted = [_interval(*one) for one in ways.values() if one[0]["opportunities_ns"]]
    if counted:
        means = dict.fromkeys(f"{every / NS_PER_S:g} s" for every in counted)
        title += f", rates as means of {' and '.join(means)}"
    long = pauses(ways["down"][0]["opportunities_ns"])
    given = dress["--title"]
    with chosen_style(dress["--style"], dress["--font"], suffix=suffix):
        if given is not None:
            title = typeset("--title", given)
        elif is_paper():
            # Its caption says what it is.
            title = ""
        figure = recording_figure(
            found,
            drawn,
            _outages(found) or long,
            title=title,
            size=dress["--size"],
            shaded="pause" if long else "outage",
            holes=found["holes"] + (uplink["holes"] if uplink else []),
        )
        with open_result(Path(out), binary=True) as target:
            target.write(figure_bytes(figure, suffix))
    note(f"written to {out}")


def _ways(found: Recording, uplink: Recording | None) -> dict[str, tuple[RecordedWay, int]]:
    """Return both directions, and how long each lasts."""
    up = (found["up"], found) if uplink is None else (uplink["down"], uplink)
    return {"down": (found["down"], found["span_ns"]), "up": (up[0], up[1]["span_ns"])}


def quantities(
    found: Recording, uplink: Recording | None
) -> Iterator[tuple[str, str, float, tuple[Sequence[int], Sequence[float]], int]]:
    """Yield the values of each direction: name, quantity, unit, instants and values, and length."""
    for name, (way, span_ns) in _ways(found, uplink).items():
        size = (found if uplink is None or name == "down" else uplink)["opportunity_bytes"]
        yield name, "rate", 1e6, _rates(way, span_ns, size), span_ns
        yield name, "delay", 1e-3, way["delay_s"], span_ns
        yield name, "loss", 0.01, way["loss"], span_ns


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


def lines(file: str, found: Recording, uplink: Recording | None = None) -> Iterable[str]:
    """Yield the lines of a report on a recording."""
    span = found["span_ns"] / NS_PER_S
    yield f"{Path(file).name}: {found['format']}, {span:g} s" + (
        f"; up: {uplink['format']}, {uplink['span_ns'] / NS_PER_S:g} s" if uplink else ""
    )
    rows = [["", "points", "least", "mean", "most", "changes every"]]
    pictures = []
    for name, what, unit, (times, values), span_ns in quantities(found, uplink):
        if not times:
            continue
        label = f"{name} {what}, {({'rate': 'Mbit/s', 'delay': 'ms', 'loss': '%'})[what]}"
        scaled = [value / unit for value in values]
        mean = _mean(times, scaled, span_ns)
        way, _ = _ways(found, uplink)[name]
        count = len(way["opportunities_ns"]) if what == "rate" else 0
        if count:
            label += f", means of {_interval(way, span_ns) / NS_PER_S:g} s"
        step = (span_ns / count if count else _usual_step(times, span_ns)) / NS_PER_S
        figures = (f"{one:.3f}" for one in (min(scaled), mean, max(scaled)))
        rows.append([label, str(count or len(times)), *figures, f"{step:.3g} s"])
        # Bursts of losses are short: their means would be nothing beside the largest.
        peaks = what == "loss"
        picture = _picture(times, scaled, span_ns, peaks=peaks)
        label += ", the most of each part" if peaks else ""
        pictures.append((f"{label}, from 0 to {span_ns / NS_PER_S:g} s", picture))
    yield align(rows)
    for name, (way, _) in _ways(found, uplink).items():
        if way["opportunities_ns"]:
            yield _pause(name, way["opportunities_ns"])
    outages = _outages(found)
    if outages:
        took = sum(until - start for start, until in outages) / NS_PER_S
        longest = max(until - start for start, until in outages) / NS_PER_S
        fate = "lost" if found["drops"] else 'held (or lost, with outage = "drop")'
        yield (
            f"outages: {len(outages)}, {took:.4g} s in all, the longest {longest:.4g} s; packets "
            f"are {fate}"
        )
        yield f"  {_some(f'{a / NS_PER_S:.6g}-{b / NS_PER_S:.6g}' for a, b in outages)} s"
    if found["handovers"]:
        kinds: dict[str, list[int]] = {}
        for at, kind in found["handovers"]:
            kinds.setdefault(kind, []).append(at)
        for kind, instants in kinds.items():
            listed = _some(f"{one / NS_PER_S:.6g}" for one in instants)
            yield f"handovers, {kind}: {len(instants)}, at {listed} s"
    for remark in (*found["remarks"], *(uplink["remarks"] if uplink else ())):
        yield f"note: {remark}"
    for label, picture in pictures:
        yield ""
        yield label
        yield picture


def _usual_step(times: Sequence[int], span_ns: int) -> float:
    """Return the median distance of values, which times without rows do not change."""
    return median(after - at for at, after in itertools.pairwise([*times, span_ns]))


def _pause(name: str, opportunities_ns: Sequence[int]) -> str:
    """Return the longest time between two opportunities, also round the end of the file."""
    last = opportunities_ns[-1]
    long = pauses(opportunities_ns)
    took = sum(until - start for start, until in long) / NS_PER_S
    number = f"; {len(long)} pauses take {took:.4g} s in all" if len(long) > 1 else ""
    starts = [0, *opportunities_ns[:-1]]
    distances = [at - before for before, at in zip(starts, opportunities_ns, strict=True)]
    longest = max(distances)
    start = starts[distances.index(longest)]
    return (
        f"{name}: the longest time without an opportunity is {longest / NS_PER_S:.6g} s, at "
        f"{start / NS_PER_S:.6g} s{number}; after {last / NS_PER_S:.6g} s the file repeats"
    )


def pauses(opportunities_ns: Sequence[int]) -> list[tuple[int, int]]:
    """Return the long times without an opportunity, also that before the first one."""
    if not opportunities_ns:
        return []
    mean = opportunities_ns[-1] / len(opportunities_ns)
    least = max(PAUSE_NS, PAUSE_DISTANCES * mean)
    pairs = itertools.pairwise([0, *opportunities_ns])
    return [(before, at) for before, at in pairs if at - before >= least]


def _interval(way: RecordedWay, span_ns: int) -> int:
    """Return the length of the intervals in which opportunities are counted, in nanoseconds."""
    mean = span_ns / len(way["opportunities_ns"])
    least = max(span_ns / MOST_INTERVALS, LEAST_OPPORTUNITIES * mean)
    fitting = [one for one in INTERVALS_S if one * NS_PER_S >= least]
    return min(round(fitting[0] * NS_PER_S) if fitting else span_ns, span_ns)


def _rates(
    way: RecordedWay, span_ns: int, opportunity_bytes: float
) -> tuple[list[int], list[float]]:
    """Return the rate of a direction over time; of opportunities its means in equal intervals."""
    opportunities = way["opportunities_ns"]
    if not opportunities:
        return way["rate_bps"]
    every = _interval(way, span_ns)
    starts = list(range(0, span_ns, every))
    counts = [0] * len(starts)
    for at in opportunities:
        # The last one is at the very end.
        counts[min(at // every, len(counts) - 1)] += 1
    return starts, [
        8 * opportunity_bytes * count / (min(every, span_ns - start) / NS_PER_S)
        for start, count in zip(starts, counts, strict=True)
    ]


def _mean(times: Sequence[int], values: Sequence[float], end: int) -> float:
    """Return the mean over time of steps."""
    spans = [after - at for at, after in itertools.pairwise([*times, end])]
    total = sum(spans)
    if total == 0:
        return values[0]
    return sum(span * value for span, value in zip(spans, values, strict=True)) / total


def _outages(found: Recording) -> list[tuple[int, int]]:
    """Return from when to when nothing can be sent down: no path, or a rate of zero."""
    times, values = found["down"]["rate_bps"]
    steps = zip(itertools.pairwise([*times, found["span_ns"]]), values, strict=True)
    zeros = [step for step, value in steps if value <= 0]
    outages: list[tuple[int, int]] = []
    for at, until in sorted([*found["outages"], *zeros]):
        if outages and at <= outages[-1][1]:
            outages[-1] = (outages[-1][0], max(until, outages[-1][1]))
        else:
            outages.append((at, until))
    return outages


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


def _some(texts: Iterable[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    every = list(texts)
    more = len(every) - MOST_LISTED
    listed = ", ".join(every[:MOST_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed
