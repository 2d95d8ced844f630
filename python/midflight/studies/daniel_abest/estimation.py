"""Estimates compared with the truth: a receiver's estimate from one train, that of `abest` from
a whole sequence, and those of other tools.

One bottleneck of known rate, delay and queue; cross traffic takes a known share of it. Every figure
varies one of these, or the length of the chirp, and leaves the others as in `BASE`. It shows the
estimate divided by the truth, over runs that differ in the phase of the cross traffic.

A chirp goes from a tenth of the capacity to the whole capacity, so every available share except the
smallest is within its range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from midflight.plot import LOOKS, Drawing, Series, quartile_plot
from midflight.results import Quartiles, quartiles
from midflight.studies.runs import Link, Probing, Runs

__all__ = ["AXES", "BASE", "BESIDE", "CHIRP_RULES", "Axis", "Path"]

Knobs = Mapping[str, str]


@dataclass(frozen=True)
class Path:
    """A bottleneck, its cross traffic, and the chirp that is sent over it."""

    rate_kbps: int = 20_000
    delay_ms: int = 15
    share: float = 0.5
    irregular: bool = True
    limit: int = 200
    access: str = "10 Gbit/s"
    segments: int = 16
    runs: int = 40

    def probe(self, scheme: str, knobs: Knobs, segments: int) -> Probing:
        """A probe that sends this number of segments under this scheme over the path."""
        return Probing(
            Link(self.rate_kbps, self.delay_ms),
            scheme,
            segments,
            limit=self.limit,
            access=self.access,
            share=self.share,
            irregular=self.irregular,
            runs=self.runs,
            knobs=tuple(sorted(knobs.items())),
        )

    def chirp(self, rule: Knobs) -> Probing:
        """One chirp, for a receiver with this rule."""
        train = {
            "probe_segments": str(self.segments),
            "probe_low": f"{self.rate_kbps / 10} kbit/s",
            "probe_high": f"{self.rate_kbps} kbit/s",
        }
        return self.probe("probe-train", {**train, **rule}, self.segments)

    def pairs(self, segments: int) -> Probing:
        """This number of segments back to back."""
        knobs = {"probe_segments": str(segments), "probe_high": "none"}
        return self.probe("probe-train", knobs, segments)

    def abest(self, rule: Knobs) -> Probing:
        """A whole sequence of `abest`, in a flow of 400 segments."""
        knobs = {**rule, "initial_window": "3", "delayed_ack": "100ms"}
        return self.probe("abest", knobs, 400)

    def tool(self, rule: Knobs) -> Probing:
        """A tool, named by `rule["tool"]`, with its settings."""
        knobs = {name: value for name, value in rule.items() if name != "tool"}
        if rule["tool"] == "chirp":
            return self.chirp(knobs)
        if rule["tool"] == "marked chirp":
            # The time that two full segments take.
            marks = f"{2 * 12_000_000 / self.rate_kbps:.0f} us"
            chirp = self.chirp({**knobs, "ecn": "on"})
            # Only the sender of Linux has ECN.
            return replace(chirp, profile="linux", mark_after=marks)
        return self.probe(rule["tool"], knobs, 300)


BASE = Path()

#: The rules for chirps: name in the legend, look, settings of the receiver.
CHIRP_RULES: Sequence[tuple[str, str, Knobs]] = (
    ("average weighted by gaps", "solid circle", {"chirp_estimator": "abest"}),
    ("plain average", "solid-light square", {"chirp_estimator": "abest-plain"}),
    ("rate of the first rise", "dotted triangle", {"chirp_estimator": "first-rise"}),
    (
        "pathChirp, F = 1.5, L by length",
        "dashed circle",
        {"chirp_estimator": "pathchirp", "pathchirp_f": "1.5", "pathchirp_l": "auto"},
    ),
    (
        "pathChirp, F = 1.5, L = 5",
        "dashed-dark square",
        {"chirp_estimator": "pathchirp", "pathchirp_f": "1.5", "pathchirp_l": "5"},
    ),
)

#: A kind of measurement: the probe for a receiver with a rule, and the ratio for each run.
Measured = tuple[Callable[[Path, Knobs], Probing], Callable[[Any], list[float | None]]]


def _chirp_ratio(table: Any) -> list[float | None]:
    """The estimate by the available bandwidth, of each run; None where there is no estimate."""
    estimates, truth = table.column("estimate_bps"), table.column("available_bps")
    return [None if a is None else a / b for a, b in zip(estimates, truth, strict=True)]


def _capacity_ratio(table: Any) -> list[float | None]:
    estimates, truth = table.column("estimate_bps"), table.column("capacity_bps")
    return [None if a is None else a / b for a, b in zip(estimates, truth, strict=True)]


def _last_ratio(table: Any) -> list[float | None]:
    """The estimate of the last cycle, at most the capacity found, by the available bandwidth."""
    last: dict[int, float | None] = {}
    capacity: dict[int, float] = {}
    columns = ("run", "measure", "estimate_bps", "available_bps")
    for run, measure, estimate, truth in zip(*map(table.column, columns), strict=True):
        last.setdefault(run, None)
        if estimate is None:
            last[run] = None
        elif measure == "capacity":
            capacity[run] = estimate
        else:
            last[run] = min(estimate, capacity.get(run, estimate)) / truth
    return list(last.values())


def _tool_ratio(table: Any) -> list[float | None]:
    """The estimate by the truth, of each run; None where there is no estimate."""
    ratios: dict[int, float | None] = {}
    columns = ("run", "measure", "estimate_bps", "available_bps")
    for run, measure, estimate, truth in zip(*map(table.column, columns), strict=True):
        ratios.setdefault(run, None)
        if measure == "available" and estimate is not None:
            ratios[run] = estimate / truth
    return list(ratios.values())


@dataclass(frozen=True)
class Axis:
    """One axis of the paths, and the measurements along it."""

    title: str
    caption: str
    x_title: str
    y_title: str
    paths: Sequence[tuple[str, Path]]
    measured: Measured
    rules: Sequence[tuple[str, str, Knobs]] = CHIRP_RULES

    def jobs(self) -> tuple[Probing, ...]:
        """Everything to run."""
        send, _ = self.measured
        return tuple(send(path, knobs) for _, _, knobs in self.rules for _, path in self.paths)

    def draw(self, runs: Runs) -> Drawing:
        """The figure of the probes' estimates."""
        send, ratio = self.measured
        series, rows = [], []
        silent = total = 0
        for label, look, knobs in self.rules:
            points = []
            for category, path in self.paths:
                ratios = ratio(runs.probe(send(path, knobs)))
                estimates = [value for value in ratios if value is not None]
                point = quartiles(estimates) if estimates else Quartiles(*[float("nan")] * 3)
                points.append(point)
                rows.append((label, category, *point, len(estimates), len(ratios)))
                silent += len(ratios) - len(estimates)
                total += len(ratios)
            series.append(Series(label, LOOKS[look], points))
        plot = partial(
            quartile_plot,
            categories=[category for category, _ in self.paths],
            x_title=self.x_title,
            y_title=self.y_title,
            series=series,
            reference=1.0,
        )
        header = ("rule", "x", "q1", "median", "q3", "reported", "runs")
        remark = (
            f"Without an estimate, because a segment was lost: {silent} of {total} runs, left out."
            if silent
            else ""
        )
        return Drawing(plot, header, rows, remark)


_CHIRP: Measured = (lambda path, rule: path.chirp(rule), _chirp_ratio)
_ABEST: Measured = (lambda path, rule: path.abest(rule), _last_ratio)
_CHIRP_Y = "estimate / available bandwidth"


def _along(field: str, values: Sequence[Any], text: Callable[[Any], str], **more: Any) -> Any:
    base = replace(BASE, **more)
    return [(text(value), replace(base, **{field: value})) for value in values]


def _rate(kbps: int) -> str:
    return f"{kbps / 1000:g}"


_SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9)
_RATES = (200, 1000, 2000, 6000, 20_000, 54_000)
_DELAYS = (2, 15, 50, 150, 300)

_PAIRS = (
    ("2 segments", "solid circle", {"n": "2"}),
    ("4 segments, as abest sends", "solid-light square", {"n": "4"}),
    ("16 segments", "dotted triangle", {"n": "16"}),
)
_CAPACITY: Measured = (lambda path, rule: path.pairs(int(rule["n"])), _capacity_ratio)

AXES: Sequence[Axis] = (
    Axis(
        "packet pairs beside cross traffic",
        "Capacity by packet pairs, median of the dispersions, over the share of cross traffic. The "
        "bottleneck has 50 Mbit/s, the hosts' links 100 Mbit/s: so two segments sent back to back "
        "are half of the bottleneck's time per segment apart, and other packets may arrive in "
        "between.",
        "share of the capacity that cross traffic takes",
        "estimate / capacity",
        _along("share", _SHARES, str, rate_kbps=50_000, access="100 Mbit/s"),
        _CAPACITY,
        _PAIRS,
    ),
    Axis(
        "a chirp beside irregular cross traffic",
        "Available bandwidth by one chirp over the share of irregular cross traffic.",
        "share of the capacity that cross traffic takes",
        _CHIRP_Y,
        _along("share", _SHARES, str),
        _CHIRP,
    ),
    Axis(
        "a chirp beside even cross traffic",
        "The same with cross traffic at a constant rate.",
        "share of the capacity that cross traffic takes",
        _CHIRP_Y,
        _along("share", _SHARES, str, irregular=False),
        _CHIRP,
    ),
    Axis(
        "a chirp and the bottleneck's rate",
        "Available bandwidth by one chirp over the rate of the bottleneck.",
        "rate of the bottleneck, Mbit/s",
        _CHIRP_Y,
        _along("rate_kbps", _RATES, _rate),
        _CHIRP,
    ),
    Axis(
        "a chirp and the bottleneck's delay",
        "Available bandwidth by one chirp over the delay of the bottleneck.",
        "one-way delay of the bottleneck, ms",
        _CHIRP_Y,
        _along("delay_ms", _DELAYS, str),
        _CHIRP,
    ),
    Axis(
        "a chirp and the bottleneck's queue",
        "Available bandwidth by one chirp over the queue of the bottleneck.",
        "packet limit of the bottleneck",
        _CHIRP_Y,
        _along("limit", (5, 10, 20, 50, 200), str),
        _CHIRP,
    ),
    Axis(
        "a chirp and its length",
        "Available bandwidth by one chirp over its length.",
        "segments of the chirp",
        _CHIRP_Y,
        _along("segments", (4, 6, 8, 12, 16, 32, 64), str),
        _CHIRP,
    ),
    Axis(
        "a sequence of chirps beside cross traffic",
        "Estimate of abest's last cycle over the share of cross traffic.",
        "share of the capacity that cross traffic takes",
        _CHIRP_Y,
        _along("share", _SHARES, str, delay_ms=50),
        _ABEST,
    ),
    Axis(
        "a sequence of chirps and the bottleneck's rate",
        "Estimate of abest's last cycle over the rate of the bottleneck.",
        "rate of the bottleneck, Mbit/s",
        _CHIRP_Y,
        _along("rate_kbps", _RATES[1:], _rate, delay_ms=50),
        _ABEST,
    ),
)

#: Tools that others have proposed, beside the chirp that is used here.
_TOOLS: Sequence[tuple[str, str, Knobs]] = (
    ("pathChirp", "solid circle", {"tool": "chirp", "chirp_estimator": "pathchirp"}),
    ("NF-TCP", "solid-light square", {"tool": "marked chirp", "chirp_estimator": "nf-tcp"}),
    ("WBest", "dotted triangle", {"tool": "wbest"}),
    ("ProbeGap, full segments", "dashed circle", {"tool": "probe-gap"}),
    (
        "ProbeGap, 20 bytes",
        "dashed-dark square",
        {"tool": "probe-gap", "segment_bytes": "60", "probe_gap_mean": "10 ms"},
    ),
    (
        "ProbeGap, 20 bytes, any wait",
        "dashed-dark circle",
        {
            "tool": "probe-gap",
            "segment_bytes": "60",
            "probe_gap_mean": "10 ms",
            "probe_gap_knee": "1 us",
        },
    ),
)
_TOOL: Measured = (lambda path, rule: path.tool(rule), _tool_ratio)

#: The same paths for the tools of others.
BESIDE: Sequence[Axis] = (
    Axis(
        "other tools beside irregular cross traffic",
        "Available bandwidth by the tools of others over the share of irregular cross traffic, one "
        "measurement each. NF-TCP's routers mark what has waited for two full segments.",
        "share of the capacity that cross traffic takes",
        _CHIRP_Y,
        _along("share", _SHARES, str),
        _TOOL,
        _TOOLS,
    ),
    Axis(
        "other tools beside even cross traffic",
        "The same with cross traffic at a constant rate.",
        "share of the capacity that cross traffic takes",
        _CHIRP_Y,
        _along("share", _SHARES, str, irregular=False),
        _TOOL,
        _TOOLS,
    ),
    Axis(
        "other tools and the bottleneck's rate",
        "Available bandwidth by the tools of others over the rate of the bottleneck.",
        "rate of the bottleneck, Mbit/s",
        _CHIRP_Y,
        _along("rate_kbps", _RATES[1:], _rate),
        _TOOL,
        _TOOLS,
    ),
    Axis(
        "other tools and the bottleneck's delay",
        "Available bandwidth by the tools of others over the delay of the bottleneck.",
        "one-way delay of the bottleneck, ms",
        _CHIRP_Y,
        _along("delay_ms", _DELAYS, str),
        _TOOL,
        _TOOLS,
    ),
    Axis(
        "other tools and the bottleneck's queue",
        "Available bandwidth by the tools of others over the queue of the bottleneck.",
        "packet limit of the bottleneck",
        _CHIRP_Y,
        _along("limit", (5, 10, 20, 50, 200), str),
        _TOOL,
        _TOOLS,
    ),
)
