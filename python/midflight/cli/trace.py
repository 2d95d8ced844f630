"""`midflight trace`: recordings of paths, as links follow them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from midflight.cli.command import Command
from midflight.cli.output import UserError, align

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from midflight._core import RecordedWay, Recording

__all__ = ["trace"]

NS_PER_S = 1e9
#: Columns of a picture, and its characters from nothing to all.
WIDTH = 72
LEVELS = " ▁▂▃▄▅▆▇█"
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
    file: Annotated[str, typer.Argument(metavar="FILE", help="The recording.")],
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
            "--column",
            metavar="KEY=NAME",
            help="A column of a CSV file by what it has, such as rate='DL kbit/s'; repeatable.",
        ),
    ] = None,
) -> None:
    """Print what is read of a recording: its span, rates, delays, losses, outages and handovers.

    \b
    Examples:
      midflight trace check drive.csv
      midflight trace check log.csv --column time=Timestamp --column rate="DL_bitrate kbit/s"
    """
    from midflight import _core

    found = _core.read_recording(file, format=format_, columns=_pairs(columns or []))
    print("\n".join(lines(file, found)))


def _pairs(columns: Sequence[str]) -> dict[str, str]:
    """Return what has which column."""
    pairs: dict[str, str] = {}
    for one in columns:
        key, equals, name = one.partition("=")
        if not equals or not key or not name or key in pairs:
            raise UserError(
                f'--column "{one}" is not accepted; expected KEY=NAME, each key once, '
                'such as rate="DL kbit/s"'
            )
        pairs[key] = name
    return pairs


def lines(file: str, found: Recording) -> Iterable[str]:
    """Yield the lines of a report on a recording."""
    span = found["span_ns"] / NS_PER_S
    yield f"{Path(file).name}: {found['format']}, {span:g} s"
    rows = [["", "points", "least", "mean", "most", "changes every"]]
    pictures = []
    for name, way in (("down", found["down"]), ("up", found["up"])):
        rates = _rates(way, found["span_ns"])
        for what, unit, (times, values) in (
            ("rate", 1e6, rates),
            ("delay", 1e-3, way["delay_s"]),
            ("loss", 0.01, way["loss"]),
        ):
            if not times:
                continue
            label = f"{name} {what}, {({'rate': 'Mbit/s', 'delay': 'ms', 'loss': '%'})[what]}"
            scaled = [value / unit for value in values]
            mean = _mean(times, scaled, found["span_ns"])
            count = len(way["opportunities_ns"]) if rates[0] is times else 0
            step = found["span_ns"] / (count or len(times)) / NS_PER_S
            figures = (f"{one:.3f}" for one in (min(scaled), mean, max(scaled)))
            rows.append([label, str(count or len(times)), *figures, f"{step:.3g} s"])
            pictures.append((label, _picture(times, scaled, found["span_ns"])))
    yield align(rows)
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
    for remark in found["remarks"]:
        yield f"note: {remark}"
    for label, picture in pictures:
        yield ""
        yield f"{label}, from 0 to {span:g} s"
        yield picture


def _rates(way: RecordedWay, span_ns: int) -> tuple[list[int], list[float]]:
    """Return the rate of a direction over time; of opportunities their mean in as many bins."""
    opportunities = way["opportunities_ns"]
    if not opportunities:
        return way["rate_bps"]
    bins = [0] * WIDTH
    for at in opportunities:
        # The last one is at the very end.
        bins[min(at * WIDTH // span_ns, WIDTH - 1)] += 1
    seconds = span_ns / NS_PER_S / WIDTH
    return (
        [span_ns * place // WIDTH for place in range(WIDTH)],
        [8 * 1500 * count / seconds for count in bins],
    )


def _mean(times: Sequence[int], values: Sequence[float], end: int) -> float:
    """Return the mean over time of steps."""
    spans = [after - at for at, after in itertools.pairwise([*times, end])]
    total = sum(spans)
    if total == 0:
        return values[0]
    return sum(span * value for span, value in zip(spans, values, strict=True)) / total


def _outages(found: Recording) -> list[tuple[int, int]]:
    """Return from when to when nothing can be sent down: no path, or a rate of zero."""
    outages = list(found["outages"])
    times, values = found["down"]["rate_bps"]
    for (at, until), value in zip(
        itertools.pairwise([*times, found["span_ns"]]), values, strict=True
    ):
        if value > 0:
            continue
        if outages and outages[-1][1] == at:
            outages[-1] = (outages[-1][0], until)
        else:
            outages.append((at, until))
    return sorted(outages)


def _picture(times: Sequence[int], values: Sequence[float], end: int) -> str:
    """Return steps as a line of bars, each the mean of its part."""
    top = max(values) or 1.0
    bars = []
    place = 0
    for column in range(WIDTH):
        start, until = end * column / WIDTH, end * (column + 1) / WIDTH
        while place + 1 < len(times) and times[place + 1] <= start:
            place += 1
        area, at, one = 0.0, start, place
        while at < until:
            after = times[one + 1] if one + 1 < len(times) else end
            edge = min(max(after, at), until)
            area += values[one] * (edge - at)
            if edge >= until or one + 1 >= len(times):
                break
            at, one = edge, one + 1
        share = area / (until - start) / top
        # What is not nothing is seen.
        level = round(share * (len(LEVELS) - 1))
        bars.append(LEVELS[max(level, 1) if share > 0 else 0])
    return "".join(bars)


def _some(texts: Iterable[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    every = list(texts)
    more = len(every) - MOST_LISTED
    listed = ", ".join(every[:MOST_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed
