"""The link in use over a run, as sampled: its rate, its queue, and what it could carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from midflight._core import Setup, Table

__all__ = ["Passing", "PathSamples", "ended_ns", "stretches", "used_links"]

NS_PER_S = 1e9

Values = NDArray[np.float64]


class Passing(NamedTuple):
    """What passes the link in use from one instant to another: what arrives from when to when, over
    which last links (all if none is named), of that which is sent from an instant on.
    """

    first_ns: int
    last_ns: int
    links: list[str]
    sent_ns: int


def stretches(setup: Setup, only: str, until_ns: int) -> Iterator[tuple[int, int, str]]:
    """Yield from when to when the flows are on which link, up to an instant; "" is none. Without
    handoffs they are on the `only` one.
    """
    changes = setup.path_changes
    since, link = 0, changes[0]["from_link"] if changes else only
    for one in changes:
        begins, ends = one["at_ns"], one["make_ns"]
        yield since, begins if one["breaks"] else ends, link
        if one["breaks"]:
            yield begins, ends, ""
        since, link = ends, one["to_link"]
    yield since, max(since, until_ns), link


def ended_ns(setup: Setup, links: Table) -> int:
    """When a run ended, by its samples of links: at its end, or before that, to one of their
    intervals, as soon as all flows with a size were done.
    """
    times = np.unique(links.numpy("time_ns"))
    if len(times) < 2:
        return setup.end_ns
    last, step = int(times[-1]), int(times[-1] - times[-2])
    return last if last + 2 * step < setup.end_ns else setup.end_ns


def used_links(setup: Setup, until_ns: int) -> list[tuple[int, int, str]]:
    """From when to when the flows are on which link up to an instant; "" is none, and nothing is
    known of several links without handoffs.
    """
    known = [one["name"] for one in setup.access_links]
    if not setup.path_changes and len(known) != 1:
        return []
    every = stretches(setup, known[0], until_ns)
    return [(begin, min(end, until_ns), name) for begin, end, name in every if begin < until_ns]


class PathSamples:
    """The access link in use of flows in one direction, at equal intervals of a run.

    `time_ns`, `rate_bps` (0 without a link), `packets` (mean of its queue), `least` (fewest
    packets of that) and `wait_ns` (what its queue takes at its rate; nan without a rate) have one
    value for each sample. Without a known link `rate_bps` is nan.
    """

    def __init__(
        self, setup: Setup, *, is_up: bool = False, samples: tuple[Table, Table] | None = None
    ) -> None:
        """Take a run, and its samples if they are known."""
        links, self.senders = setup.samples() if samples is None else samples
        of_link: dict[int, dict[str, Values]] = {}
        numbers = links.numpy("number")
        names = ("time_ns", "rate_bps", "mean", "least", "bytes", "up", "delay_ns")
        columns = {name: np.asarray(links.numpy(name), np.float64) for name in names}
        #: The numbers of all links by their names.
        self._places: dict[str, int] = {}
        texts = links.column("link")
        for number in np.unique(numbers):
            mine = numbers == number
            of_link[int(number)] = {name: one[mine] for name, one in columns.items()}
            self._places[texts[int(np.flatnonzero(mine)[0])]] = int(number)
        self._of_link, self._is_up = of_link, is_up
        self._recorded = setup.recorded_rates
        self.setup = setup
        self.time_ns = next(iter(of_link.values()))["time_ns"] if of_link else np.empty(0)
        every = setup.access_links
        self._numbers = {one["name"]: one["up" if is_up else "down"] for one in every}
        access = {one[way] for one in every for way in ("down", "up")}
        #: The lowest rate of the links that are not at a base station.
        self.wired_bps = min(
            (float(one["rate_bps"].min()) for n, one in of_link.items() if n not in access),
            default=np.inf,
        )
        self.rate_bps = np.full(len(self.time_ns), np.nan)
        self.packets, self.wait_ns = self.rate_bps.copy(), self.rate_bps.copy()
        self.least = self.rate_bps.copy()
        #: When the run ended.
        self.end_ns = ended_ns(setup, links)
        self.used = used_links(setup, self.end_ns + 1)
        for begin, end, name in self.used:
            here = (self.time_ns >= begin) & (self.time_ns < end)
            found: Any = of_link.get(self._numbers.get(name, -1))
            if not name:
                self.rate_bps[here] = 0.0
                self.packets[here] = self.least[here] = 0.0
            elif found is not None:
                rate = np.where(found["up"] > 0, found["rate_bps"], 0.0)[here]
                self.rate_bps[here], self.packets[here] = rate, found["mean"][here]
                self.least[here] = found["least"][here]
                with np.errstate(divide="ignore", invalid="ignore"):
                    wait = 8 * NS_PER_S * found["bytes"][here] / rate
                self.wait_ns[here] = np.where(rate > 0, wait, np.nan)

    def links(self, begin_ns: int, end_ns: int) -> list[str]:
        """The links that are in use between two instants, each once."""
        found = [name for b, e, name in self.used if name and b < end_ns and e > begin_ns]
        return list(dict.fromkeys(found))

    def idle_share(self, begin_ns: int, end_ns: int) -> float:
        """The share of the samples between two instants without a link or a rate; 0 of none."""
        within = (self.time_ns >= begin_ns) & (self.time_ns <= end_ns)
        return float(np.mean(self.rate_bps[within] == 0)) if within.any() else 0.0

    def bits(self, begin_ns: int, end_ns: int) -> float:
        """What the link in use could carry between two instants, with headers; nan if that is not
        known.
        """
        if not len(self.time_ns) or end_ns <= begin_ns:
            return float("nan")
        found = 0.0 if self.used else float("nan")
        for begin, end, name in self.used:
            since, until = max(begin, begin_ns), min(end, end_ns)
            if name and until > since:
                found += self._carried(name, since, until)
        return found

    def bits_until(self, times: Values) -> Values:
        """What the link in use could carry from the first of ascending instants to each, with
        headers; nan if that is not known.
        """
        found = np.full(len(times), 0.0 if self.used else np.nan)
        for begin, end, name in self.used:
            if not name or begin >= times[-1] or end <= times[0]:
                continue
            steps = self._steps(name)
            if steps is None:
                return np.full(len(times), np.nan)
            edges = np.concatenate([[-np.inf], steps[0][1:], [np.inf]])
            low, high = max(begin, times[0]), min(end, times[-1])
            edges = np.clip(edges, low, high)
            carried = np.concatenate([[0.0], np.cumsum(np.diff(edges) * steps[1])]) / NS_PER_S
            found += np.interp(times, edges, carried)
        return found

    def _steps(self, name: str) -> tuple[Values, Values] | None:
        """From when on a link has which rate: by its recording, or as sampled; None if that is not
        known.
        """
        number = self._numbers.get(name, -1)
        if number in self._recorded:
            times, rates = (np.asarray(one, np.float64) for one in self._recorded[number])
            return times, rates
        found = self._of_link.get(number)
        if found is None:
            return None
        return found["time_ns"], np.where(found["up"] > 0, found["rate_bps"], 0.0)

    def _carried(self, name: str, since: int, until: int) -> float:
        """What a link could carry between two instants: by its recording, or as sampled."""
        steps = self._steps(name)
        if steps is None:
            return float("nan")
        times, rates = steps
        ends = np.append(times[1:], np.inf)
        begins = np.append(-np.inf, times[1:])
        length = np.minimum(ends, until) - np.maximum(begins, since)
        return float(np.sum(np.maximum(length, 0) * rates) / NS_PER_S)

    def recorded(
        self, link: str, begin_ns: int, end_ns: int
    ) -> tuple[Values, Values, Values] | None:
        """The steps of the recording of a link while it is in use between two instants: from when,
        until when and their rates; None of a link that follows none, or not in steps.
        """
        number = self._numbers.get(link, -1)
        if number not in self._recorded:
            return None
        times, rates = (np.asarray(one, np.float64) for one in self._recorded[number])
        ends = np.append(times[1:], np.inf)
        parts = []
        for begin, end, name in self.used:
            since, until = max(begin, begin_ns), min(end, end_ns)
            if name == link and until > since:
                here = (times < until) & (ends > since)
                first, last = np.maximum(times[here], since), np.minimum(ends[here], until)
                parts.append((first, last, rates[here]))
        if not parts:
            return None
        first, last, rates = (np.concatenate(one) for one in zip(*parts, strict=True))
        return first, last, rates

    def passing(self, begin_ns: int, end_ns: int) -> Passing:
        """What passes the link in use between two instants, which arrives later by its delay, and
        not what was sent before over another one.
        """
        names = self.links(begin_ns, end_ns)
        if not names:
            return Passing(begin_ns, end_ns, [], begin_ns)
        first = begin_ns + self._delay(names[0], begin_ns)
        last = end_ns + self._delay(names[-1], end_ns)
        if self._is_up:
            return Passing(first, last, [], begin_ns)
        ends = [f"{one}-mobile" for one in names]
        # What was sent before may wait for the link.
        return Passing(first, last, ends if {*ends} <= {*self._places} else [], 0)

    def arriving(self, begin_ns: int, end_ns: int) -> Passing:
        """What passes the link in use and arrives between two instants."""
        passing = self.passing(begin_ns, end_ns)
        return passing._replace(first_ns=begin_ns, last_ns=end_ns)

    def _delay(self, name: str, at_ns: int) -> int:
        """How long a packet that leaves a link at an instant takes to its end of the path, without
        queues.
        """
        after = [f"{name}-router", "router-server"] if self._is_up else [f"{name}-mobile"]
        numbers = [self._numbers.get(name, -1), *(self._places.get(one, -1) for one in after)]
        place = max(0, int(np.searchsorted(self.time_ns, at_ns, side="right")) - 1)
        known = (self._of_link.get(one) for one in numbers)
        return int(sum(float(one["delay_ns"][place]) for one in known if one is not None))
