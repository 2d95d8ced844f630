"""What a recording of a path has: its rates, delays and losses, its outages and handovers."""

from __future__ import annotations

import itertools
from statistics import median
from typing import TYPE_CHECKING, Any

from midflight.refusal import refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from midflight._core import RecordedWay, Recording

__all__ = [
    "UNITS",
    "check_is_no_recording",
    "event_lines",
    "interval_ns",
    "outages",
    "part_begins_s",
    "part_words",
    "pauses",
    "quantities",
    "quantity_label",
    "value_cells",
    "ways",
]

NS_PER_S = 1e9
#: The unit of each quantity.
UNITS = {"rate": "Mbit/s", "delay": "ms", "loss": "%"}
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


def ways(found: Recording, uplink: Recording | None) -> dict[str, tuple[RecordedWay, int]]:
    """Return both directions, and how long each lasts."""
    up = (found["up"], found) if uplink is None else (uplink["down"], uplink)
    return {"down": (found["down"], found["span_ns"]), "up": (up[0], up[1]["span_ns"])}


def part_begins_s(part: Mapping[str, Any]) -> float:
    """Return when in a recording its part begins, in seconds, by the options of a trace."""
    return _seconds(part, "from") + _seconds(part, "offset")


def part_words(name: str, part: Mapping[str, Any], span_ns: int) -> str:
    """Return which part of a recording of a name lasts so long, by the options of a trace, such as
    "120 s to 300 s of drive.csv"; its name for the whole.
    """
    first, begins = _seconds(part, "from"), part_begins_s(part)
    if not begins and part.get("until") is None:
        return name
    if part.get("until") is None and begins > first:
        return f"{name} from {begins:g} s on"
    last = first + span_ns / NS_PER_S if begins == first else _seconds(part, "until")
    # One that repeats lasts as long wherever in it a run begins.
    repeats = begins > first and round((last - begins) * NS_PER_S) < span_ns
    if repeats:
        return f"{first:g} s to {last:g} s of {name}, beginning at {begins:g} s"
    return f"{begins:g} s to {last:g} s of {name}"


def _seconds(part: Mapping[str, Any], key: str) -> float:
    """Return an option of a trace that is a time, in seconds; 0 without it."""
    from midflight import parse_instants

    text = part.get(key)
    return 0.0 if text is None else parse_instants(str(text))[0] / NS_PER_S


def quantities(
    found: Recording, uplink: Recording | None
) -> Iterator[tuple[str, str, float, tuple[Sequence[int], Sequence[float]], int]]:
    """Yield the values of each direction: name, quantity, unit, instants and values, and length."""
    for name, (way, span_ns) in ways(found, uplink).items():
        size = (found if uplink is None or name == "down" else uplink)["opportunity_bytes"]
        yield name, "rate", 1e6, _rates(way, span_ns, size), span_ns
        yield name, "delay", 1e-3, way["delay_s"], span_ns
        yield name, "loss", 0.01, way["loss"], span_ns


def quantity_label(name: str, what: str, way: RecordedWay, span_ns: int) -> str:
    """Return the name of the values of a direction, with their unit."""
    label = f"{name} {what}, {UNITS[what]}"
    if what == "rate" and way["opportunities_ns"]:
        label += f", means of {interval_ns(way, span_ns) / NS_PER_S:g} s"
    return label


def value_cells(found: Recording, uplink: Recording | None = None) -> list[list[str]]:
    """Return a table with a line for the values of each direction, below its head."""
    rows = [["", "points", "least", "mean", "most", "changes every"]]
    for name, what, unit, (times, values), span_ns in quantities(found, uplink):
        if not times:
            continue
        scaled = [value / unit for value in values]
        held = scaled
        if found["interpolation"] == "linear":
            held = [sum(pair) / 2 for pair in itertools.pairwise([*scaled, scaled[-1]])]
        mean = _mean(times, held, span_ns)
        way, _ = ways(found, uplink)[name]
        count = len(way["opportunities_ns"]) if what == "rate" else 0
        step = (span_ns / count if count else _usual_step(times, span_ns)) / NS_PER_S
        figures = (f"{one:.3f}" for one in (min(scaled), mean, max(scaled)))
        label = quantity_label(name, what, way, span_ns)
        rows.append([label, str(count or len(times)), *figures, f"{step:.3g} s"])
    return rows


def event_lines(
    found: Recording, uplink: Recording | None = None, *, is_of_run: bool = False
) -> Iterator[str]:
    """Yield sentences on outages and handovers; of those that a run follows not what else it
    could do.
    """
    for name, (way, _) in ways(found, uplink).items():
        if way["opportunities_ns"]:
            yield _pause(name, way["opportunities_ns"])
    without = outages(found)
    if without:
        took = sum(until - start for start, until in without) / NS_PER_S
        longest = max(until - start for start, until in without) / NS_PER_S
        held = "held" if is_of_run else 'held (or lost, with outage = "drop")'
        fate = "lost" if found["drops"] else held
        yield (
            f"outages: {len(without)}, {took:.4g} s in all, the longest {longest:.4g} s; packets "
            f"are {fate}"
        )
        yield f"  {_some(f'{a / NS_PER_S:.6g}-{b / NS_PER_S:.6g}' for a, b in without)} s"
    kinds: dict[str, list[int]] = {}
    for at, kind in found["handovers"]:
        kinds.setdefault(kind, []).append(at)
    for kind, instants in kinds.items():
        listed = _some(f"{one / NS_PER_S:.6g}" for one in instants)
        yield f"handovers, {kind}: {len(instants)}, at {listed} s"


def _usual_step(times: Sequence[int], span_ns: int) -> float:
    """Return the median distance of values, which times without rows do not change."""
    return median(after - at for at, after in itertools.pairwise([*times, span_ns]))


def _pause(name: str, opportunities_ns: Sequence[int]) -> str:
    """Return the longest time between two opportunities, also round the end of the file."""
    last = opportunities_ns[-1]
    long = pauses(opportunities_ns)
    took = sum(until - start for start, until in long) / NS_PER_S
    number = f"; {len(long)} outages take {took:.4g} s in all" if len(long) > 1 else ""
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


def interval_ns(way: RecordedWay, span_ns: int) -> int:
    """Return the length of the intervals in which opportunities are counted, in nanoseconds."""
    mean = span_ns / len(way["opportunities_ns"])
    least = max(span_ns / MOST_INTERVALS, LEAST_OPPORTUNITIES * mean)
    fitting = [one for one in INTERVALS_S if one * NS_PER_S >= least]
    return min(round(fitting[0] * NS_PER_S) if fitting else span_ns, span_ns)


def _rates(
    way: RecordedWay, span_ns: int, opportunity_bytes: float
) -> tuple[list[int], list[float]]:
    """Return the rate of a direction over time; of opportunities its means in equal intervals, of
    which the last one is longer where less than half of one is left.
    """
    opportunities = way["opportunities_ns"]
    if not opportunities:
        return way["rate_bps"]
    every = interval_ns(way, span_ns)
    starts = list(range(0, span_ns, every))
    if len(starts) > 1 and 2 * (span_ns - starts[-1]) < every:
        starts.pop()
    counts = [0] * len(starts)
    for at in opportunities:
        # That of a millisecond is at its end: of two intervals it is in the first one.
        counts[min(max(0, at - 1) // every, len(counts) - 1)] += 1
    return starts, [
        8 * opportunity_bytes * count / ((until - start) / NS_PER_S)
        for (start, until), count in zip(
            itertools.pairwise([*starts, span_ns]), counts, strict=True
        )
    ]


def _mean(times: Sequence[int], values: Sequence[float], end: int) -> float:
    """Return the mean over time of values, each of which holds until the next."""
    spans = [after - at for at, after in itertools.pairwise([*times, end])]
    total = sum(spans)
    if total == 0:
        return values[0]
    return sum(span * value for span, value in zip(spans, values, strict=True)) / total


def outages(found: Recording) -> list[tuple[int, int]]:
    """Return from when to when nothing can be sent down: no path, or a rate of zero."""
    times, values = found["down"]["rate_bps"]
    most = values
    if found["interpolation"] == "linear":
        most = [max(pair) for pair in itertools.pairwise([*values, *values[-1:]])]
    steps = zip(itertools.pairwise([*times, found["span_ns"]]), most, strict=True)
    zeros = [step for step, value in steps if value <= 0]
    joined: list[tuple[int, int]] = []
    for at, until in sorted([*found["outages"], *zeros]):
        if joined and at <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(until, joined[-1][1]))
        else:
            joined.append((at, until))
    return joined


def _some(texts: Iterable[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    every = list(texts)
    more = len(every) - MOST_LISTED
    listed = ", ".join(every[:MOST_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed


def check_is_no_recording(place: Path) -> None:
    """Refuse a recording where a scenario is expected, which can follow one.

    Raises `MidflightError`.
    """
    from midflight import MidflightError, _core

    try:
        _core.read_recording(str(place))
    except MidflightError:
        return
    accepted = "a scenario, whose links.NAME.trace may be the recording"
    raise refusal(
        f'"{place}" is a recording of a path; midflight trace check {place} --out FILE draws it, '
        f"and midflight run drive-test --set links.lte.trace={place} runs a download over it",
        name="file",
        value=str(place),
        accepted=accepted,
    )
