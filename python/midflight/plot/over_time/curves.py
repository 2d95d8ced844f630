"""Curves and panels: what figures over time, the page and tables take from a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from midflight._core import Setup
from midflight.explain.arrivals import RunEvents
from midflight.explain.limits import Held, held_by_receiver
from midflight.explain.path import PathSamples, ended_ns, stretches
from midflight.explain.requests import connections_of, requests_of
from midflight.plot.over_time.history import NS_PER_S, History, Moments
from midflight.plot.over_time.holes import Followed, Hole

if TYPE_CHECKING:
    from midflight._core import Table
    from midflight.plot.over_time.applications import Call

__all__ = [
    "Curve",
    "Draw",
    "Panel",
    "Peak",
    "Stretch",
    "Values",
    "WatchedRun",
    "averaged",
    "each_line",
    "held_in",
    "inside",
    "is_alone",
    "longest",
    "nice",
    "seconds_text",
    "time_unit",
]

#: A panel of one of several lines is so many times as high as others, and one of bars, which has no
#: values to be read.
_HIGH, _HIGH_OF_BARS = 0.6, 0.4
#: Links whose queues are shown.
_MOST_LINKS = 4

Values = NDArray[np.float64]
Draw = Literal[
    "steps",
    "line",
    "queue",
    "dots",
    "area",
    "retransmissions",
    "unread",
    "limit",
    "stalls",
    "late",
    "bars",
    "deadline",
    "full",
    "broken",
    "radio",
    "node",
    "early",
    "marked",
    "timeout",
    "spurious",
    "undone",
    "request_timeout",
    "stalled",
    "unheard",
    "acks",
]


@dataclass(frozen=True)
class Curve:
    """Values over time, in seconds; `low` and `high` are a range around them where there is one,
    and `most` the largest values where that range leaves some out.

    `look` is the place of its look (`look_of`), None for a grey curve. A curve of steps holds each
    value until the next. Bars and stalls go from `low` to `high`, which are seconds.
    """

    label: str
    draw: Draw
    time_s: Values
    value: Values
    look: int | None = None
    low: Values | None = None
    high: Values | None = None
    most: Values | None = None
    #: When these are, if they are of intervals.
    most_s: Values | None = None
    #: Whether its steps are means or medians over intervals.
    of_intervals: bool = False
    #: The times and values that those of a rate are means of.
    exact: tuple[Values, Values] | None = None
    #: Whether its events stand in a row above the lines.
    in_row: bool = False
    #: How many events its marks are of, if that is said beside their row, and each of these marks.
    events: int = 0
    each: NDArray[np.int64] | None = None
    #: Its quantity, where a panel has several quantities of a line: the legend explains its mark in
    #: grey, and the colour identifies the line.
    quantity: str = ""
    #: Its name in a table.
    flow: str = ""
    scheme: str = ""
    link: str = ""


class Peak(NamedTuple):
    """The longest time, or the largest value, of a line, when it is, and the place of the line's
    look, or its colour if it has none.
    """

    value: float
    label: str
    time_s: float
    look: int | None
    colour: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves over time with one axis; `what` is its title with the unit.

    `detail` describes the values, such as "means of 0.1 s"; `lacks` names the lines without values,
    and the reason. Without any values there are no curves.
    """

    kind: str
    what: str
    unit: str
    curves: Sequence[Curve]
    detail: str = ""
    lacks: Sequence[str] = ()
    #: Its title where bands are drawn that no text above explains.
    what_with_bands: str = ""
    #: Whether ranges and maxima are drawn around lines that have some.
    has_bands: bool = True
    #: Whether its marks are those that the user has asked for.
    are_marks_asked: bool = False
    #: The line that it alone shows, where each line has a panel of its own, and the panel of all of
    #: them, whose axis it has.
    line: str = ""
    of: Panel | None = None
    #: What is said of each line, by its look.
    said_of: Mapping[int, str] = field(default_factory=dict)
    #: Of times that packets take: the longest one of each line, the longest one of all first.
    peaks: Sequence[Peak] = ()
    #: Where its axis begins if that is logarithmic, by the scale that is asked for (`least_of`).
    least_by_scale: dict[str | None, float | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def high(self) -> float:
        """How many times as high as others it is."""
        if not self.line:
            return 1.0
        return _HIGH_OF_BARS if any(one.draw == "bars" for one in self.curves) else _HIGH


class Stretch(NamedTuple):
    """A time in which packets go over a link; over none if its name is ""."""

    from_ns: int
    until_ns: int
    link: str


@dataclass
class WatchedRun:
    """One run: the flows that are shown, and links and senders at intervals."""

    scheme: str
    setup: Setup
    flows: list[History]
    #: The names of the lines of the flows, and the places of their looks.
    labels: Sequence[str] = ()
    looks: Sequence[int] = ()
    #: What the labels are, if it needs to be said.
    names: str = ""
    #: What the links and handoffs of its scenario are, if that is known.
    path: str = ""
    #: What the recordings of its links have, by their names.
    recorded: Mapping[str, Followed] = field(default_factory=dict)
    #: What the scenario says of those that are calls, by their names.
    calls: Mapping[str, Call] = field(default_factory=dict)
    #: How long a segment of those that are videos plays, in seconds, by their names.
    segments: Mapping[str, float] = field(default_factory=dict)
    #: What else there is in it, such as cross traffic, each in a few words.
    company: Sequence[str] = ()
    #: The time shown, in seconds, if that is not the whole run.
    window: tuple[float, float] | None = None
    #: Of each flow what still arrives over the link before a handoff (`drained`).
    drains: dict[str, Sequence[tuple[float, float, float]]] = field(
        default_factory=dict, init=False, repr=False
    )
    _connections: dict[str, list[History]] = field(default_factory=dict, init=False, repr=False)
    _requests: dict[str, dict[str, History]] = field(default_factory=dict, init=False, repr=False)
    _rows: dict[bool, dict[int, NDArray[np.int64]]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def samples(self) -> tuple[Table, Table]:
        """Links and senders at intervals."""
        found: tuple[Table, Table] = self.setup.samples()
        return found

    def show(self, window: tuple[float, float]) -> None:
        """Set the time that is shown."""
        if window == self.window:
            return
        self.window = window
        # These are sampled in it.
        for name in ("near_samples", "backlogs"):
            self.__dict__.pop(name, None)
        self._rows.pop(True, None)
        for flow in self.flows:
            flow.__dict__.pop("pipe", None)

    @cached_property
    def near_samples(self) -> tuple[Table, Table]:
        """Links and senders at intervals of the time shown, if that is a part of the run."""
        if (when := self._near) is None:
            return self.samples
        found: tuple[Table, Table] = self.setup.samples(**when)
        return found

    @property
    def _near(self) -> dict[str, int] | None:
        """The time shown, in nanoseconds, if it is less than half of the run."""
        if self.window is None:
            return None
        start, end = (round(one * NS_PER_S) for one in self.window)
        return {"from_ns": start, "until_ns": end} if 2 * (end - start) < self.end_ns else None

    @cached_property
    def moments(self) -> Moments:
        """What happens to the path, and when the run ended, which can be before its end."""
        found = Moments(self.setup)
        if found.end_ns:
            found.end_ns = ended_ns(self.setup, self.samples[0])
        return found

    @cached_property
    def recorded_rates(self) -> Mapping[int, tuple[list[int], list[float]]]:
        """The rates of the links that follow a recording in steps, by their numbers."""
        found: Mapping[int, tuple[list[int], list[float]]] = self.setup.recorded_rates
        return found

    @cached_property
    def backlogs(self) -> Table:
        """The packets of each flow at links with a queue for each flow, at the same instants."""
        found: Table = self.setup.backlogs(**(self._near or {}))
        return found

    def workload_of(self, flow: History) -> str | None:
        """The workload of a flow, if it has one."""
        found: str | None
        found = next(one["workload"] for one in self.setup.flows if one["name"] == flow.flow)
        return found

    def link_label(self, link: int) -> str:
        """What the events of a trace call a link of this number."""
        table = self.samples[0]
        self.sampled(link, "packets")
        rows = self._rows[False][link]
        return str(table.numpy("link")[rows[0]]) if len(rows) else ""

    def labels_along(self, links: Collection[int]) -> set[str]:
        """What the events of a trace call access links and the links beside them of the same path,
        on which a packet that has left the queue is lost when its link breaks (the names are those
        of study/src/network/cell.rs).
        """
        found = {self.link_label(one) for one in links}
        for one in self.setup.access_links:
            name = one["name"]
            found |= {f"mobile-{name}", f"{name}-router"} if one["up"] in links else set()
            found |= {f"router-{name}", f"{name}-mobile"} if one["down"] in links else set()
        return found

    def connections(self, flow: History) -> list[History]:
        """Return the timeouts and arrivals of all connections of a page, whose first one has its
        events; those of the flow itself if it has one.
        """
        if flow.flow not in self._connections:
            names = connections_of(self.setup, flow.flow)
            self._connections[flow.flow] = self._told(flow, names, ["rto", "rcv"])
        return self._connections[flow.flow]

    def requests(self, flow: History) -> Mapping[str, History]:
        """Return the losses, timeouts and arrivals of the flows that carry the requests of a page
        or a video, by the names of its connections; none of a flow without such a one.
        """
        if flow.flow not in self._requests:
            each = {
                one: requests_of(self.setup, one) for one in connections_of(self.setup, flow.flow)
            }
            asking = {one: requests for one, requests in each.items() if requests}
            told = self._told(flow, [*asking.values()], ["rto", "drop", "rcv"])
            self._requests[flow.flow] = dict(zip(asking, told, strict=True))
        return self._requests[flow.flow]

    def _told(self, flow: History, names: Sequence[str], only: list[str]) -> list[History]:
        """These events of flows of the application of a flow."""
        return [
            History(
                flow.label,
                self.setup.trace(flow=name, only=only),
                self.moments,
                flow=name,
                setup=self.setup,
            )
            for name in names
        ]

    def senders(self) -> Table:
        """Senders at intervals of the time shown."""
        return self.near_samples[1]

    @cached_property
    def end_ns(self) -> int:
        """When the last of the flows is done."""
        return max(one.end_ns for one in self.flows)

    @cached_property
    def directions(self) -> list[str]:
        """Where the data of each flow go: "up" or "down"."""
        return [self.direction_of(one) for one in self.flows]

    def direction_of(self, flow: History) -> str:
        """Where the data of a flow go: "up" or "down"."""
        return next(str(one["direction"]) for one in self.setup.flows if one["name"] == flow.flow)

    @property
    def is_up(self) -> bool:
        """Whether the data of the first flow go up."""
        return self.directions[0] == "up"

    @property
    def way(self) -> str:
        """The note on links with one direction shown: that direction, if flows go both ways."""
        return f", {self.directions[0]}" if len({*self.directions}) > 1 else ""

    def sampled(self, link: int, column: str, *, near: bool = False) -> Values:
        """A column of the samples of a link by its number, of the run or of the time shown."""
        table = (self.near_samples if near else self.samples)[0]
        if near not in self._rows:
            numbers = table.numpy("number")
            each = {int(one): np.flatnonzero(numbers == one) for one in np.unique(numbers)}
            self._rows[near] = each
        found: Values = table.numpy(column)[self._rows[near][link]].astype(np.float64)
        return found

    @cached_property
    def access(self) -> dict[str, int]:
        """The numbers of the access links in the direction of the flows' data, by their names."""
        each = self.setup.access_links
        return {one["name"]: one["up"] if self.is_up else one["down"] for one in each}

    def link_of(self, name: str) -> int | None:
        """The number of an access link that handoffs and changes call so."""
        links = list(self.access.values())
        if name in self.access or not name:
            return self.access.get(name)
        # The question of one handoff has an old and a new link, others change their only one.
        places = {"old": 0, "new": 1}
        place = places.get(name, 0) if len(links) > 1 else 0
        known = name in places or len(links) == 1
        return links[place] if known and place < len(links) else None

    @cached_property
    def stretches(self) -> list[Stretch]:
        """The access links that the flows' packets use, one after the other."""
        only = "" if self.setup.path_changes else self._only_link()
        found = [Stretch(*one) for one in stretches(self.setup, only, self.end_ns)]
        joined: list[Stretch] = []
        for stretch in (one for one in found if one.until_ns > one.from_ns):
            if joined and joined[-1].link == stretch.link:
                stretch = Stretch(joined.pop().from_ns, stretch.until_ns, stretch.link)
            joined.append(stretch)
        return joined if any(one.link for one in joined) else []

    @cached_property
    def held(self) -> dict[str, list[Held]]:
        """When the receiver's window limits each flow, by their names, as reports say it; nothing
        of a run of a kernel, whose events are those of its own programs.
        """
        if not isinstance(self.setup, Setup):
            return {}
        run = RunEvents(self.setup)
        paths = {
            way: PathSamples(self.setup, is_up=way == "up", samples=self.samples)
            for way in {*self.directions}
        }
        return {
            flow.flow: held_by_receiver(run, flow.flow, (flow.begin_ns, flow.end_ns), paths[way])
            for flow, way in zip(self.flows, self.directions, strict=True)
        }

    @cached_property
    def cuts(self) -> list[float]:
        """The instants, in seconds, at which the path of the mobile node ends, begins or changes:
        handoffs, breaks and changes of its link, and both ends of outages.
        """
        at = {one["make_ns"] for one in self.setup.path_changes}
        at |= {one["at_ns"] for one in self.setup.path_changes if one["breaks"]}
        at |= {end for outage in self.moments.outages for end in outage}
        return sorted(one / NS_PER_S for one in at)

    @cached_property
    def handovers(self) -> list[float]:
        """The handovers of the recordings of the links in use, in seconds."""
        return sorted(
            (since + at) / NS_PER_S
            for one, followed, since in self._rounds()
            for at in followed.handovers_ns
            if one.from_ns <= since + at < one.until_ns
        )

    @cached_property
    def holes(self) -> list[tuple[str, Hole]]:
        """The times for which the recordings of the links in use have no rows, with these links."""
        found = [
            (one.link, Hole(max(since + a, one.from_ns), min(since + b, one.until_ns), is_short))
            for one, followed, since in self._rounds()
            for a, b, is_short in followed.holes
            if since + a < one.until_ns and since + b > one.from_ns
        ]
        return sorted(found, key=lambda one: one[1])

    def _rounds(self) -> Iterator[tuple[Stretch, Followed, int]]:
        """Each time in which a link that follows a recording is in use, with each start of that."""
        names = {link: name for name, link in self.access.items()}
        for one in self.stretches if self.recorded else ():
            link = self.link_of(one.link)
            followed = self.recorded.get("" if link is None else names[link])
            for since in () if followed is None else followed.rounds(one.until_ns):
                assert followed is not None
                yield one, followed, since

    @cached_property
    def gaps(self) -> list[tuple[float, float]]:
        """From when to when, in seconds, there is no link, or its recording has a rate of zero."""
        spans = [(one.from_ns, one.until_ns) for one in self.stretches if not one.link]
        each = sorted([*spans, *self.moments.outages])
        return [(begin / NS_PER_S, end / NS_PER_S) for begin, end in each]

    def _only_link(self) -> str:
        """The link of a run without a handoff: that at which most packets were."""
        if len(self.access) == 1:
            return next(iter(self.access))
        held = {name: float(self.sampled(at, "most").sum()) for name, at in self.access.items()}
        return max(held, key=held.__getitem__, default="")

    @cached_property
    def shown_links(self) -> dict[int, str]:
        """The access links of the way by their numbers, with the names that they have there."""
        found: dict[int, list[str]] = {}
        for name in dict.fromkeys(one.link for one in self.stretches):
            if (link := self.link_of(name)) is not None:
                found.setdefault(link, []).append(name)
        each = list(found.items())[:_MOST_LINKS]
        names = {link: name for name, link in self.access.items()}
        return {one: called[0] if len(called) == 1 else names[one] for one, called in each}

    def place_of(self, link: int) -> int:
        """The place of an access link, by its number, among those of its scenario."""
        return [*self.access.values()].index(link)

    @cached_property
    def other_links(self) -> dict[int, tuple[int, str]]:
        """If flows go both ways, the links of the other way by their numbers, each with the number
        of that of `shown_links` beside it, and its name.
        """
        if len({*self.directions}) == 1:
            return {}
        each = self.setup.access_links
        numbers = {one["down"]: one["up"] for one in each}
        if self.is_up:
            numbers = {one["up"]: one["down"] for one in each}
        shown = self.shown_links.items()
        return {numbers[one]: (one, name) for one, name in shown if one in numbers}

    @property
    def other_way(self) -> str:
        """The way of `other_links`."""
        return "down" if self.is_up else "up"

    @cached_property
    def queue_links(self) -> dict[int, str]:
        """The links whose queues are shown of this run alone, by their numbers, and their names in
        that panel.
        """
        others = {at: f"{name} ({self.other_way})" for at, (_, name) in self.other_links.items()}
        return self.shown_links | others

    def used(self, link: int) -> list[Stretch]:
        """When one of these links is in use, one of the other way when that beside it is."""
        beside, _ = self.other_links.get(link, (link, ""))
        return [one for one in self.stretches if one.link and self.link_of(one.link) == beside]


def each_line(runs: Sequence[WatchedRun]) -> Iterator[tuple[WatchedRun, History, dict[str, Any]]]:
    """Each line: its run, its flow, and the common properties of its curves."""
    for one in runs:
        for flow, label, look in zip(one.flows, one.labels, one.looks, strict=True):
            how = {"label": label, "look": look, "flow": flow.flow, "scheme": flow.label}
            yield one, flow, how


def inside(time_s: Values, window: tuple[float, float]) -> slice:
    low, high = np.searchsorted(time_s, window, side="left")
    return slice(int(low), int(high))


def nice(value: float) -> float:
    """The next greater of 1, 2, 5, 10, ... times a power of ten."""
    power = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    steps = (one * power for one in (1, 2, 5, 10))
    return float(f"{next(one for one in steps if one >= value * (1 - 1e-9)):.3g}")


def seconds_text(interval: float) -> str:
    """The length of the intervals of means, which may be whole round trips, with two digits."""
    rounded = float(f"{interval:.2g}")
    unit, per_s = time_unit(rounded)
    return f"{rounded * per_s:g} {unit}"


def time_unit(time_s: float, least_s: float = 1e-3) -> tuple[str, float]:
    """Return the unit of a time, as it is rounded, and how many a second has: of those that are
    shorter than `least_s` milliseconds, or microseconds.
    """
    if time_s >= least_s:
        return "s", 1.0
    return ("ms", 1e3) if time_s >= 1e-3 else ("\u00b5s", 1e6)


def held_in(
    time_s: Values, value: Values, window: tuple[float, float], end_s: float
) -> tuple[Values, Values]:
    """Steps in a window: from what holds when it begins to its end, or that of the run."""
    seen = inside(time_s, window)
    holds = seen.start < len(time_s) and time_s[seen.start] == window[0]
    if seen.start > 0 and not holds:
        time = np.concatenate([[window[0]], time_s[seen]])
        value = value[seen.start - 1 : seen.stop]
    else:
        time, value = time_s[seen], value[seen]
    if len(time) and (last := min(window[1], end_s)) > time[-1]:
        time, value = np.append(time, last), np.append(value, value[-1])
    return time, value


def averaged(rate: Curve, edges: Values) -> Curve:
    """A rate as means over the intervals of throughputs, if it has more steps than there are
    intervals: beside its peaks means would look too low.
    """
    if len(edges) < 2 or len(rate.time_s) <= len(edges) or np.isnan(rate.value).any():
        return rate
    sums = np.concatenate([[0.0], np.cumsum(rate.value[:-1] * np.diff(rate.time_s))])
    means = np.diff(np.interp(edges, rate.time_s, sums)) / np.diff(edges)
    return replace(rate, time_s=edges, value=np.append(means, means[-1]))


def is_alone(runs: Sequence[WatchedRun]) -> bool:
    """Whether a figure has one line."""
    return sum(len(one.flows) for one in runs) == 1


def longest(runs: Sequence[WatchedRun]) -> WatchedRun:
    """The run that ends last."""
    return max(runs, key=lambda one: one.end_ns)
