"""The data of figures of a run: packets, window and timer of one flow, and the handoffs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    TypeAlias,
    runtime_checkable,
)

import numpy as np
from numpy.typing import NDArray

from midflight.argument import check_seconds
from midflight.plot.common.options import as_names
from midflight.plot.common.plain import control_of_question, plain_control
from midflight.policy import check_policies
from midflight.refusal import refusal

if TYPE_CHECKING:
    from midflight._core import Plan, Setup, Table
    from midflight.plot.over_time.holes import Followed, Hole
    from midflight.policy import Policies
    from midflight.scenario import Scenario

__all__ = [
    "History",
    "Moment",
    "Moments",
    "Order",
    "RunSource",
    "RunsOfAxes",
    "SetupSource",
    "Source",
    "histories",
    "names_of",
    "plan_of",
    "time_shown",
    "usual_flow",
    "usual_of",
]

NS_PER_S = 1e9

#: Types that the functions accept as a scenario: one, a checked one, a file, or the name of a
#: starter.
Source: TypeAlias = "Scenario | Plan | str | Path"


@runtime_checkable
class SetupSource(Protocol):
    """Runs of a question (`midflight.question.Question`) or of a paper's figure (`FigureRun`)."""

    @property
    def schemes(self) -> Sequence[str]:
        """The schemes of the flow that is looked at."""

    @property
    def headings(self) -> tuple[str, str, int | None]:
        """Title, description and seed, for a page."""

    def but(self, sets: Iterable[tuple[str, str]]) -> SetupSource:
        """Return the same with other values."""

    def setup(self, run: int = 0) -> Setup:
        """Return the run of a number."""


class RunsOfAxes(dict[str, "RunSource"]):
    """Runs by the values of the axes in which they differ; `names` says what these are, and `flow`
    is a flow in which the runs differ, if there is one. `usual` are the labels of values.
    """

    def __init__(
        self,
        runs: Mapping[str, RunSource],
        names: str,
        flow: str = "",
        usual: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(runs)
        self.names, self.flow, self.usual = names, flow, usual or {}


def names_of(source: RunSource | Mapping[str, RunSource]) -> str:
    """Return what the names of several sources are, such as "Gap of the handoff"; "" if nobody says
    so.
    """
    return source.names if isinstance(source, RunsOfAxes) else ""


def usual_of(source: RunSource | Mapping[str, RunSource]) -> Mapping[str, str]:
    """Return the labels of the values in which several sources differ."""
    return source.usual if isinstance(source, RunsOfAxes) else {}


def usual_flow(source: RunSource | Mapping[str, RunSource], names: Sequence[str]) -> str:
    """Return the flow that is drawn if only one is: that in which several sources differ, or the
    first one of the `names` of all.
    """
    of_axes = source.flow if isinstance(source, RunsOfAxes) else ""
    return of_axes if of_axes in names else names[0]


#: The same, or runs of a question or of a paper's figure.
RunSource: TypeAlias = "Source | SetupSource"

Times: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]


#: Kinds of losses, and their causes in a trace.
_CAUSES: Mapping[str, str] = {
    "full": "queue",
    "broken": "break",
    "radio": "radio",
    "early": "early",
    "node": "node",
}


class Moment(NamedTuple):
    """Something that happens to the path at an instant, in nanoseconds.

    A `break` takes the link away or stops it, a `make` is the link in use from then on, a `notice`
    reaches the sender. `label` names the link.
    """

    time_ns: int
    kind: Literal["break", "make", "notice"]
    label: str


class Order(NamedTuple):
    """An order of a policy: its instant in nanoseconds, its author, and its reason."""

    time_ns: int
    author: str
    order: str
    reason: str


class Moments:
    """The names of the events of a run's path by their instants, and its end."""

    def __init__(self, setup: Setup) -> None:
        # A run that ends with its measurement ends at its last event.
        self.end_ns = setup.end_ns if setup.has_end else 0
        self.breaks: dict[int, str] = {}
        self.makes: dict[int, str] = {}
        #: From when to when the recording of the link in use has a rate of zero.
        self.outages: list[tuple[int, int]] = setup.outages
        for one in setup.path_changes:
            here, there = one["from_link"], one["to_link"]
            if one["kind"] == "change":
                begins, ends = f"{there} pauses", f"{there} changes"
            else:
                begins = f"{here} lost"
                ends = f"{here} is back" if here == there else f"to {there}"
            if one["breaks"]:
                self.breaks[one["at_ns"]] = begins
            self.makes[one["make_ns"]] = ends

    def of(self, kind: str, time_ns: int) -> Moment:
        """The event of a trace with its name."""
        if kind == "break":
            return Moment(time_ns, "break", self.breaks.get(time_ns, "link lost"))
        if kind == "make":
            return Moment(time_ns, "make", self.makes.get(time_ns, "link in use"))
        return Moment(time_ns, "notice", "notice")


@dataclass(frozen=True)
class Steps:
    """A value that holds from each time, in nanoseconds, to the next."""

    time_ns: Times
    value: Values

    def at(self, time_ns: int) -> float:
        """The value at an instant; nan before the first."""
        place = int(np.searchsorted(self.time_ns, time_ns, side="right")) - 1
        return float(self.value[place]) if place >= 0 else float("nan")


class History:
    """One flow in one run.

    Segment numbers are the simulator's: the SYN is 0, data begin at 1, and an ACK carries the
    number of the last segment that has arrived in order. Times are nanoseconds from the start of
    the run, windows segments, the timer's seconds.
    """

    def __init__(
        self,
        label: str,
        table: Table,
        moments: Moments,
        *,
        flow: str = "",
        alone: bool = True,
        names: str = "",
        senders: Callable[[], Table] | None = None,
        plain: str = "",
        usual: Mapping[str, str] | None = None,
        setup: Setup | None = None,
    ) -> None:
        """Take a table of `Setup.trace`; `moments` are those of its scenario. Values of events that
        the table does not list are missing.

        `names` is what the label is, if it needs to be said (`names_of`). `flow` is the flow's
        name, `alone` whether it is the scenario's only flow. `senders` returns the states of the
        senders at intervals (`Setup.samples`), if needed. `plain` is the congestion control that a
        plain sender would have, if it is known and its name does not tell it. `usual` are labels of
        parts of the label (`usual_of`). `setup` is the run, in which is looked for when the sender
        undid timeouts, if any.
        """
        self._setup = setup
        self.label, self.names, self.plain = label, names, plain
        self.usual: Mapping[str, str] = usual or {}
        self.flow, self.alone = flow, alone
        self.digest = table.digest
        self._time: Times = table.numpy("time_ns")
        self._value: Values = table.numpy("value")
        self._table = table
        #: The rows of each event.
        self._rows: dict[str, NDArray[np.int64]] = {}
        events, codes = table.codes("event")
        for number, name in enumerate(events):
            if len(rows := np.flatnonzero(codes == number)):
                self._rows[name] = rows
        self._moments, self._senders = moments, senders
        #: What the recordings of the links have, and the times for which those in use have no rows.
        self.recorded: Mapping[str, Followed] = {}
        self.holes: Sequence[tuple[str, Hole]] = ()
        #: The other flows of its run, without those that carry only requests.
        self.others: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self._time)

    def rows(self, *events: str) -> NDArray[np.int64]:
        """The places of these events in the trace, in the order of time."""
        none = np.empty(0, np.int64)
        if len(events) == 1:
            return self._rows.get(events[0], none)
        return np.sort(np.concatenate([none, *(self._rows.get(one, none) for one in events)]))

    def times(self, *events: str) -> Times:
        """When these events happen."""
        return self._time[self.rows(*events)]

    def values(self, *events: str) -> Values:
        """Their values."""
        return self._value[self.rows(*events)]

    def details(self, *events: str) -> list[str]:
        """Their details."""
        return self._texts("detail", self.rows(*events))

    def _texts(self, name: str, rows: NDArray[np.int64]) -> list[str]:
        """The values of a column of texts in some rows."""
        words, codes = self._table.codes(name)
        return [words[one] for one in codes[rows].tolist()]

    def _with(self, name: str, text: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of these in which a column has a text."""
        words, codes = self._table.codes(name)
        number = words.index(text) if text in words else -1
        found: NDArray[np.int64] = rows[codes[rows] == number]
        return found

    def link_codes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for the link of each of these rows."""
        found: NDArray[np.int64] = self._table.codes("link")[1][rows].astype(np.int64)
        return found

    def column(self, name: str, *events: str) -> NDArray[Any]:
        """The values of a column of the trace for these events."""
        found: NDArray[Any] = self._table.numpy(name)[self.rows(*events)]
        return found

    def sizes(self, *events: str) -> Values:
        """The bytes of packets on the wire; nan where they are unknown."""
        return self.column("bytes", *events).astype(np.float64)

    def sent_ns(self, *events: str) -> Values:
        """When each arriving packet was sent, in nanoseconds; nan where that is unknown."""
        return self.column("sent_ns", *events).astype(np.float64)

    def steps(self, event: str) -> Steps:
        """The values that an event reports, each until the next; infinite ones are left out."""
        rows = self.rows(event)
        rows = rows[np.isfinite(self._value[rows])]
        return Steps(self._time[rows], self._value[rows])

    @property
    def title(self) -> str:
        """The scheme, or what else the label is, and the name of its flow if there are others."""
        label = f"{self.names}: {self.label}" if self.names else self.label
        return label if self.alone else f"{self.flow}, {label}"

    @property
    def begin_ns(self) -> int:
        """When the flow opens, which is its first event."""
        return int(self._time[0]) if len(self._time) else 0

    @cached_property
    def end_ns(self) -> int:
        """When the flow is done; the end of the run if something is outstanding to the last, or a
        video plays.
        """
        last = self._table.last_ns
        return max(last, self._moments.end_ns) if self.is_waiting else last

    @cached_property
    def received_ns(self) -> int:
        """When the last data of a flow that is done have arrived: a mean over the time until the
        sender knows that would look like a collapse. Of others it is their end.
        """
        arrivals = self.times("rcv")
        return self.end_ns if self.is_waiting or not len(arrivals) else int(arrivals[-1])

    @property
    def is_waiting(self) -> bool:
        """Whether something is outstanding at the end of the run, or a video plays."""
        return self._table.is_waiting

    @cached_property
    def flight(self) -> Steps:
        """Segments outstanding: the highest one sent less the highest one acknowledged.

        It includes segments that the receiver holds beyond a gap, and segments that are considered
        lost after a timeout. The sender's own count (FlightSize, pipe) depends on its kind of
        recovery.
        """
        rows = self.rows("send", "ack")
        is_ack = np.isin(rows, self._rows.get("ack", np.empty(0, np.int64)), assume_unique=True)
        value = self._value[rows]
        sent = np.maximum.accumulate(np.where(is_ack, -1.0, value))
        acked = np.maximum.accumulate(np.where(is_ack, value, -1.0))
        return Steps(self._time[rows], np.maximum(0.0, sent - acked))

    @cached_property
    def pipe(self) -> Steps:
        """Segments that the sender takes to be in the network, at intervals; none if unknown."""
        table = None if self._senders is None else self._senders()
        if table is None:
            return Steps(np.empty(0, np.int64), np.empty(0))
        rows = np.flatnonzero(table.numpy("flow").astype(str) == self.flow)
        rows = rows[table.numpy("time_ns")[rows] <= self.end_ns]
        value = table.numpy("pipe")[rows].astype(np.float64)
        new = np.concatenate([[True], np.diff(value) != 0])[: len(value)]
        return Steps(table.numpy("time_ns")[rows][new], value[new])

    @cached_property
    def undone(self) -> Times:
        """When the sender undid a timeout, as it took it for spurious. A trace does not list what
        senders conclude, so the run is simulated once more if it has timeouts.
        """
        from midflight._core import Setup

        # A run of a kernel has no conclusions.
        if not isinstance(self._setup, Setup) or not len(self.rows("rto")):
            return np.empty(0, np.int64)
        events = self._setup.events(flow=self.flow, name="spurious")
        found = [row[1] for row in events.rows() if row[4] == "timeout"]
        return np.array(found, np.int64)

    @cached_property
    def lost(self) -> NDArray[np.int64]:
        """The places of lost data segments in the trace."""
        rows = self._rows.get("drop", np.empty(0, np.int64))
        return self._with("packet", "data", rows)

    def lost_acks(self) -> tuple[Times, Values, list[str]]:
        """When ACKs are lost, their numbers, and where and why (`lte queue`)."""
        rows = self._rows.get("drop", np.empty(0, np.int64))
        lost = self._with("packet", "ack", rows)
        return self._time[lost], self._value[lost], self._where_and_why(lost)

    def lost_segments(self) -> tuple[Times, Values, list[str]]:
        """When data segments are lost, their numbers, and where and why (`lte queue`)."""
        why = self._where_and_why(self.lost)
        return self._time[self.lost], self._value[self.lost], why

    @cached_property
    def at_queues(self) -> dict[str, tuple[Times, list[str]]]:
        """When data packets of a flow are dropped at links, its ACKs are ("acks"), or packets are
        marked by a queue ("marked"), and at which links; drops of data are by their causes, as in
        `lost_by_cause`.
        """
        drops = self._rows.get("drop", np.empty(0, np.int64))
        acks = self._with("packet", "ack", drops)
        data = np.setdiff1d(drops, acks, assume_unique=True)
        found = {what: self._with("cause", cause, data) for what, cause in _CAUSES.items()}
        found |= {"acks": acks, "marked": self._rows.get("mark", np.empty(0, np.int64))}
        return {
            what: (self._time[places], self._texts("link", places))
            for what, places in found.items()
        }

    def lost_by_cause(self) -> dict[str, tuple[Times, Values]]:
        """When data segments are lost, and their numbers: to a full queue ("full"), because the
        link is down ("broken"), on the radio ("radio"), to the queue's discipline before it is full
        ("early"), or to a node on the path ("node").
        """
        found = {}
        for what, cause in _CAUSES.items():
            places = self._with("cause", cause, self.lost)
            found[what] = self._time[places], self._value[places]
        return found

    def _where_and_why(self, lost: NDArray[np.int64]) -> list[str]:
        links, causes = self._texts("link", lost), self._texts("cause", lost)
        return [f"{link} {cause}" for link, cause in zip(links, causes, strict=True)]

    @cached_property
    def moments(self) -> list[Moment]:
        """Breaks, makes and notices."""
        rows = self.rows("break", "make", "notice")
        kind = {
            int(row): name
            for name in ("break", "make", "notice")
            for row in self._rows.get(name, np.empty(0, np.int64))
        }
        return [self._moments.of(kind[int(row)], int(self._time[row])) for row in rows]

    @property
    def outages(self) -> list[tuple[int, int]]:
        """From when to when the recording of the link in use has a rate of zero."""
        return self._moments.outages

    @cached_property
    def orders(self) -> list[Order]:
        """What policies ordered."""
        rows = self.rows("order")
        columns = (self._texts(name, rows) for name in ("by", "order", "reason"))
        each = zip(self._time[rows].tolist(), *columns, strict=True)
        return [Order(*one) for one in each]


def plan_of(
    source: Source, sets: Mapping[str, Any] | None = None, policies: Policies | None = None
) -> Plan:
    """The checked scenario of whatever names one, with `sets` over its values."""
    from midflight import _core
    from midflight.remark import remarks_of, warn_of
    from midflight.scenario import Scenario, read_plan, set_texts

    if isinstance(source, Scenario):
        return source.plan(sets=sets, policies=policies)
    if isinstance(source, _core.Plan):
        if not sets:
            return source
        texts = set_texts(sets)
        return _core.Plan(
            source.canonical, name=None, sets=texts, policies=check_policies(policies)
        )
    if not isinstance(source, str | Path):
        accepted = "a Scenario, a Plan, the path of a scenario file, or the name of a starter"
        raise refusal(
            f"the source is of the type {type(source).__name__}; expected {accepted}",
            name="source",
            value=type(source).__name__,
            accepted=accepted,
        )
    plan = read_plan(source, sets=sets, policies=policies)
    warn_of(remarks_of(plan))
    return plan


def histories(
    source: RunSource | Mapping[str, RunSource],
    *,
    flow: str | None = None,
    run: int = 0,
    schemes: Sequence[str] = (),
    policies: Policies | None = None,
) -> list[History]:
    """Return a flow of one run, or one history for each of the `schemes`, which replace that of the
    flow. `policies` are your own policies, which schemes can name.

    `source` is a scenario, a question, runs of a figure, or several of them by their names. `flow`
    is the flow's name; the default is that in which several runs differ, or the first flow. A
    history is named by its scheme, or by its source. Raises `MidflightError` for an invalid
    argument.
    """
    from midflight.plot.over_time.curves import WatchedRun
    from midflight.plot.over_time.followed import followed_of
    from midflight.plot.over_time.watched import without_requests

    found = []
    named, of_labels = [] if flow is None else [flow], names_of(source)
    # Each scenario is checked once.
    by_name: dict[str, RunSource] = {
        name: one if isinstance(one, SetupSource) else plan_of(one, policies=policies)
        for name, one in (source if isinstance(source, Mapping) else {"": source}).items()
    }
    recorded = {name: followed_of(one, policies) for name, one in by_name.items()}
    made_of = by_name if isinstance(source, Mapping) else by_name[""]
    for scheme, setup, of_source, plain in setups_of(made_of, named, run, schemes, policies):
        names = [one["name"] for one in setup.flows]
        usual = names[0] if schemes else usual_flow(source, names)
        chosen = flow if flow is not None else usual
        how: Any = {"flow": chosen, "alone": len(names) == 1}

        def senders(setup: Setup = setup) -> Table:
            return setup.samples()[1]

        history = History(
            scheme,
            setup.trace(flow=chosen),
            Moments(setup),
            names=of_labels,
            senders=senders,
            plain=plain,
            usual=usual_of(source),
            setup=setup,
            **how,
        )
        history.recorded = recorded[of_source]
        history.others = [one for one in without_requests(setup) if one != chosen]
        if history.recorded:
            path = WatchedRun(scheme, setup, [history], recorded=history.recorded)
            history.holes = path.holes
        found.append(history)
    return found


class Made(NamedTuple):
    """A run of a figure: its label, and the name of its source, where there are several."""

    label: str
    setup: Setup
    source: str = ""
    #: The congestion control of its plain senders, if the name of that scheme does not tell it.
    plain: str = ""


def setups_of(
    source: RunSource | Mapping[str, RunSource],
    flows: Sequence[str],
    run: int,
    schemes: Sequence[str],
    policies: Policies | None,
) -> list[Made]:
    """Return each scheme with the run in which the flows have it; without names of flows the first
    has it. None has been simulated: schemes and names of flows that do not exist are refused first.

    Several sources by their names are runs with these names.
    """
    flows, schemes = as_names(flows), as_names(schemes)
    found = list(_setups_of(source, flows, run, schemes, policies))
    for one in found:
        there = {described["name"] for described in one.setup.flows}
        for name in flows:
            if name not in there:
                # The core has the sentence for that.
                one.setup.trace(flow=name)
    return found


def _setups_of(
    source: RunSource | Mapping[str, RunSource],
    flows: Sequence[str],
    run: int,
    schemes: Sequence[str],
    policies: Policies | None,
) -> Iterator[Made]:
    if isinstance(source, Mapping):
        for name, one in source.items():
            found = list(_setups_of(one, flows, run, schemes, policies))
            for scheme, setup, _, plain in found:
                yield Made(name if len(found) == 1 else f"{name}, {scheme}", setup, name, plain)
        return
    if isinstance(source, SetupSource):
        for scheme in dict.fromkeys(schemes or source.schemes):
            setup = source.but([("scheme", scheme)]).setup(run)
            yield Made(scheme, setup, plain=control_of_question(source))
        return
    from midflight import QUIC_STACKS

    plan = plan_of(source, policies=policies)
    defined = json.loads(plan.canonical)["flows"]
    keys = [key for flow in flows if (key := flow_key(defined, flow)) is not None]
    for scheme, one in planned(plan, keys or [next(iter(defined))], schemes, policies):
        setup = run_of(one, run)
        first = next(iter(flows), None)
        described = next((f for f in setup.flows if first in (None, f["name"])), None)
        of_stack = described is not None and described["stack"] in QUIC_STACKS
        label = described["scheme"] if described is not None and of_stack else scheme
        yield Made(label, setup, plain=plain_control(json.loads(plan.canonical)))


def run_of(plan: Plan, run: int) -> Setup:
    """Return a run of a scenario: made by a kernel if its flows have that stack."""
    if plan.stack != "linux":
        return plan.setup(run)
    from midflight.lab.runs import OWN, LabRuns
    from midflight.lab.store import choose

    return LabRuns(plan, choose(), (OWN,), sample_ns=0).setup(run)


def time_shown(
    runs: Sequence[History], from_s: float | None, until_s: float | None
) -> tuple[float, float]:
    """The time that is shown of runs, in seconds; raises `MidflightError` if that is none."""

    check_seconds("from_s", from_s)
    check_seconds("until_s", until_s)
    start = 0.0 if from_s is None else from_s
    last = max(one.end_ns for one in runs) / NS_PER_S
    if until_s is not None and until_s <= start:
        raise refusal(
            f"--from {start:g} s is not before --until {until_s:g} s",
            name="--from",
            value=f"{start:g} s",
            accepted=f"an instant before {until_s:g} s",
        )
    if start > last:
        raise refusal(
            f"from {start:g} s on there is nothing to show; the run is from 0 s to {last:g} s",
            name="--from",
            value=f"{start:g} s",
            accepted=f"0 s to {last:g} s",
        )
    return start, until_s if until_s is not None else max(last * 1.01, start + 1e-6)


def planned(
    plan: Plan, keys: Sequence[str], schemes: Iterable[str], policies: Policies | None = None
) -> Iterator[tuple[str, Plan]]:
    """Yield each scheme with the scenario in which the flows of these keys have it."""
    from midflight import MidflightError

    flows = json.loads(plan.canonical)["flows"]
    alone = True
    for scheme in dict.fromkeys(schemes):
        alone = False
        paths = [f"flows.{key}.scheme" for key in dict.fromkeys(keys)]
        try:
            with_it = plan_of(plan, dict.fromkeys(paths, scheme), policies)
        except MidflightError as error:
            # Nobody has written these paths.
            said = str(error)
            for path in paths:
                said = said.removeprefix(f"--set {path}={scheme}: ").removeprefix(f"{path}: ")
            raise refusal(
                f'scheme "{scheme}": {said}', name="scheme", value=scheme, accepted=error.accepted
            ) from error
        yield scheme, with_it
    if alone:
        yield flows[keys[0]]["scheme"], plan


def flow_key(flows: Mapping[str, Any], name: str | None) -> str | None:
    """The key of a flow in a scenario by its name, which has a number where there are several.

    None for the first one, and for a name that is no flow's: the core has the sentence for that.
    """
    if name is None or name in flows:
        return name
    key, _, number = name.rpartition("-")
    return key if key in flows and number.isdigit() else None
