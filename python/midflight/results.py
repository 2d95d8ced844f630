"""Statistics over runs and access to the events of one run.

The core returns columns (`midflight._core.Table`); everything here works on whole columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from midflight.refusal import refusal

if TYPE_CHECKING:
    from pathlib import Path

    import pandas

__all__ = [
    "Columns",
    "Estimate",
    "Event",
    "EventLog",
    "FlowTable",
    "Quartiles",
    "Ratio",
    "RoamingTable",
    "RunTable",
    "StartupTable",
    "by_flow",
    "data_frame",
    "difference_ci",
    "jain",
    "mean_ci",
    "quantile",
    "quartiles",
    "rank_correlation",
    "ratio_ci",
    "slowest",
    "t_quantile",
    "weighted_quantile",
]

NS_PER_S = 1e9


class Quartiles(NamedTuple):
    """Lower quartile, median and upper quartile, in the unit of the values."""

    q1: float
    median: float
    q3: float


def quantile(values: ArrayLike, q: float) -> float:
    """The `q` quantile with linear interpolation (numpy's default); a missing value is infinite.

    A run that never finishes is slower than every run that does, so a median must include it.
    numpy's own interpolation turns infinite values into nan; this function does not.
    """
    data = np.array(values, dtype=float)
    data[np.isnan(data)] = np.inf
    data.sort()
    if data.size == 0:
        return float("nan")
    position = q * (data.size - 1)
    low = int(np.floor(position))
    fraction = position - low
    if fraction == 0.0:
        return float(data[low])
    if np.isinf(data[low + 1]):
        return float("inf")
    return float(data[low] + fraction * (data[low + 1] - data[low]))


def weighted_quantile(values: NDArray[Any], weights: NDArray[Any], share: float) -> float:
    """The least of some values that this share of the weights have at most; nan of no values."""
    if not len(values):
        return math.nan
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, share * reached[-1]))
    return float(values[order][min(place, len(values) - 1)])


def quartiles(values: ArrayLike) -> Quartiles:
    """The three quartiles of `values`; missing values count as infinite."""
    return Quartiles(quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75))


class Estimate(NamedTuple):
    """A mean and half the width of its 95 % confidence interval, in the unit of the values."""

    mean: float
    half_width: float


class Ratio(NamedTuple):
    """A relative difference and its 95 % confidence interval (0.05 is 5 % more)."""

    value: float
    low: float
    high: float


@cache
def t_quantile(freedom: int, share: float = 0.95) -> float:
    """The t that Student's distribution keeps within -t ... t with this probability.

    The distribution function for whole degrees of freedom is a finite sum: Abramowitz and Stegun,
    Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    if freedom < 1:
        return float("nan")
    odd = freedom % 2 == 1

    def within(angle: float) -> float:
        cos2 = math.cos(angle) ** 2
        term = math.cos(angle) if odd else 1.0
        total = 0.0
        for k in range(3 if odd else 2, freedom + 1, 2):
            total += term
            term *= cos2 * (k - 1) / k
        total *= math.sin(angle)
        return 2 / math.pi * (angle + total) if odd else total

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < share else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def mean_ci(values: ArrayLike) -> Estimate:
    """The mean with its 95 % confidence interval (Student's t).

    A missing value makes the mean nan, and a single value has no interval (nan).
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        return Estimate(float("nan"), float("nan"))
    mean = float(data.mean())
    if data.size == 1 or not math.isfinite(mean):
        return Estimate(mean, float("nan"))
    return Estimate(mean, _half_width(data, np.abs(data).max()))


#: Values that differ by no more than this share of their size differ by rounding.
_ROUNDING = 1e-9


def _are_one(values: NDArray[np.float64], size: float) -> bool:
    """Whether values made of others of this size are all the same but for rounding."""
    return bool(np.ptp(values) <= _ROUNDING * size)


def _half_width(values: NDArray[np.float64], size: float) -> float:
    """Half the width of the interval of a mean, of values made of others of this size."""
    if _are_one(values, size):
        return 0.0
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    return t_quantile(values.size - 1) * error


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape or first.ndim != 1:
        raise refusal(
            f"paired runs have one shape, not {first.shape} and {second.shape}",
            name="b",
            value=second.shape,
            accepted=f"one dimension, as long as a, which has the shape {first.shape}",
        )
    return first, second


def difference_ci(a: ArrayLike, b: ArrayLike) -> Estimate:
    """The mean of a - b over paired runs, with its 95 % confidence interval (Student's t).

    Both have one dimension and the same length, or `ValueError` is raised.
    """
    first, second = _paired(a, b)
    found = mean_ci(first - second)
    if not math.isfinite(found.half_width):
        return found
    return Estimate(found.mean, _half_width(first - second, np.abs([first, second]).max()))


def ratio_ci(a: ArrayLike, b: ArrayLike) -> Ratio:
    """mean(a) / mean(b) - 1 over paired runs, with its 95 % confidence interval.

    The interval is Fieller's (1954): every ratio r for which the mean of a - r b does not differ
    from 0.  It is infinite when the mean of b itself does not, but 0 where each pair is the
    same, and nan for fewer than two runs.  Where both means are 0 there is no ratio.  Of values
    that are not negative, such as times, no ratio is below 0, so that the interval does not begin
    below -1.  Both have one dimension and the same length, or `ValueError` is raised.
    """
    first, second = _paired(a, b)
    nan = float("nan")
    if first.size == 0:
        return Ratio(nan, nan, nan)
    mean_a, mean_b = float(first.mean()), float(second.mean())
    value = mean_a / mean_b - 1 if mean_b != 0 else nan
    if first.size == 1 or not (math.isfinite(mean_a) and math.isfinite(mean_b)):
        return Ratio(value, nan, nan)
    if np.array_equal(first, second):
        return Ratio(nan, nan, nan) if mean_b == 0 else Ratio(0.0, 0.0, 0.0)
    factor = t_quantile(first.size - 1) ** 2 / first.size
    (aa, ab), (_, bb) = (factor * np.cov(first, second)).tolist()
    # The bounds are the roots of square r^2 - 2 middle r + rest.
    square, middle, rest = mean_b**2 - bb, mean_a * mean_b - ab, mean_a**2 - aa
    if square <= 0:
        return Ratio(value, -math.inf, math.inf)
    if _are_one(first - (1 + value) * second, max(np.abs(first).max(), np.abs(second).max())):
        return Ratio(value, value, value)
    width = math.sqrt(max(0.0, middle**2 - square * rest))
    low, high = (middle - width) / square - 1, (middle + width) / square - 1
    is_bounded = bool((first >= 0).all() and (second >= 0).all())
    return Ratio(value, max(low, -1.0) if is_bounded else low, high)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - counts + 1 + last) / 2.0)[inverse]


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation of two arrays of one length; nan when one side is constant."""
    rx, ry = _ranks(np.asarray(x, dtype=float)), _ranks(np.asarray(y, dtype=float))
    if np.ptp(rx) == 0 or np.ptp(ry) == 0:
        return float("nan")
    return float(np.corrcoef(rx, ry)[0, 1])


def jain(values: ArrayLike) -> float:
    """Jain's fairness index of the shares of n flows: (sum x)^2 / (n sum x^2).

    It is 1 when all have the same, k/n when k of them have the same and the others nothing, and nan
    when there is nothing to share or a value is missing (Jain, Chiu & Hawe, DEC-TR-301, 1984).
    """
    data = np.asarray(values, dtype=float)
    squares = data.size * float(np.square(data).sum())
    return float(data.sum()) ** 2 / squares if squares != 0 else float("nan")


#: The attribute of a DataFrame with the folder of the sweep whose results it has.
FOLDER = "midflight_folder"


class Columns:
    """Columns of equal length by name, with the methods of the core's tables.

    Columns given as a function are computed when they are first used.
    """

    def __init__(
        self,
        columns: Mapping[str, list[Any] | Callable[[], list[Any]]],
        folder: Path | None = None,
    ) -> None:
        self._columns = dict(columns)
        #: The folder of the sweep whose results these are; it has the names of figures.
        self.folder = folder

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self._columns)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self._values(self.column_names[0])) if self._columns else 0

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        return f"<{self.num_rows} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        """Return the first rows as a notebook shows them."""
        from midflight.notebook import columns_html

        return columns_html(self)

    def column(self, name: str) -> list[Any]:
        """A column as a list; None where there is no value."""
        return list(self._values(name))

    def to_pandas(self) -> pandas.DataFrame:
        """The columns as a DataFrame; `MidflightError` if pandas is not installed."""
        frame = data_frame(self)
        if self.folder is not None:
            frame.attrs[FOLDER] = str(self.folder.resolve())
        return frame

    def _values(self, name: str) -> list[Any]:
        values = self._columns[name]
        if callable(values):
            self._columns[name] = values = values()
        return values

    def numpy(self, name: str) -> NDArray[Any]:
        """A column as an array; nan where there is no value, or objects for texts."""
        values = self._values(name)
        if any(isinstance(value, str) for value in values):
            return np.array(values, dtype=object)
        if None in values:
            return np.array(values, dtype=float)
        return np.array(values)


def data_frame(table: Any) -> pandas.DataFrame:
    """Return a table as a pandas DataFrame with its columns, in their order.

    A column of whole numbers with missing values becomes a column of floats, with nan for these.
    Raises `MidflightError` if pandas is not installed.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        accepted = "pip install 'midflight[pandas]'"
        raise refusal(
            f"to_pandas() needs pandas, which is not installed: {accepted}",
            name="pandas",
            accepted=accepted,
        ) from error
    return pandas.DataFrame({name: table.numpy(name) for name in table.column_names})


def by_flow(table: Any, name: str) -> NDArray[np.float64]:
    """A column of a table of handoffs or start-ups as an array of runs x flows.

    The flows of a run are in the order of their numbers: residents come last.
    """
    flows = int(np.max(table.numpy("flow"))) + 1
    return np.asarray(table.numpy(name), dtype=float).reshape(-1, flows)


#: The counts of each flow of a run that are summed over the flows.
_COUNTS = frozenset(
    "nrto nspur timeouts drops_data drops_all drops_queue drops_break rexmits sent_in_outage "
    "reordered fast_rexmits false_fast_rexmits orders acked_window".split()
)


def slowest(table: Any) -> Columns:
    """The slowest flow of each run: a table of handoffs or start-ups with one row a run.

    Of the flows that move (or start), residents aside: each transfer time is the longest of the
    flows', and missing where one never got so far; counts are added up. All else, such as `cwnd`,
    is of the flow with the longest `t_new_ns` (in a start-up, the longest time for the most
    packets), which `flow` names; of equal ones it is the first.
    """
    names = list(table.column_names)
    times = [name for name in names if name.startswith("t_") and name.endswith("_ns")]
    decides = "t_new_ns" if "t_new_ns" in times else times[-1]
    runs: list[list[int]] = []
    kinds = zip(table.column("flow"), table.column("resident"), strict=True)
    for row, (flow, resident) in enumerate(kinds):
        if flow == 0:
            runs.append([])
        if not resident:
            runs[-1].append(row)

    longest = [math.inf if value is None else value for value in table.column(decides)]
    chosen = [max(run, key=longest.__getitem__) for run in runs]

    def column(name: str) -> list[Any]:
        values = table.column(name)
        combine = max if name in times else sum if name in _COUNTS else None
        if combine is None or len(runs) == len(values):
            return [values[row] for row in chosen]
        each = ([values[row] for row in run] for run in runs)
        return [None if None in of_run else combine(of_run) for of_run in each]

    return Columns({name: partial(column, name) for name in names})


class RunTable:
    """The runs of one scheme over a list of handoff instants, one row per instant.

    If there are several flows, one row per instant and flow, and one per instant in `slowest`.

    Columns keep the core's names; times there are nanoseconds from the handoff (in a
    break-before-make handoff: from the break).
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self._columns: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as a numpy array (float with nan where null, or object for text)."""
        if name not in self._columns:
            self._columns[name] = np.asarray(self._table.numpy(name))
        return self._columns[name]

    def has(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return name in self._table.column_names

    @cached_property
    def slowest(self) -> RunTable:
        """The same runs with one row each: the times of the slowest flow, the counts added up."""
        return RunTable(slowest(self._table))

    def by_flow(self, name: str) -> NDArray[np.float64]:
        """A column as an array of runs x flows."""
        return by_flow(self._table, name)

    def seconds(self, name: str) -> NDArray[np.float64]:
        """A column of nanoseconds (name ends in `_ns`) in seconds; nan where null."""
        return np.asarray(self[name], dtype=float) / NS_PER_S

    @property
    def instant_s(self) -> NDArray[np.float64]:
        """Handoff instants in seconds from the start of the connection."""
        return self.seconds("th_ns")

    @property
    def transfer_time_s(self) -> NDArray[np.float64]:
        """Time until the new segments are acknowledged, in seconds; nan when it never happened."""
        return self.seconds("t_new_ns")

    @cached_property
    def transfer_time(self) -> Quartiles:
        """Quartiles of the transfer time in seconds."""
        return quartiles(self.transfer_time_s)

    def mean(self, name: str, where: NDArray[np.bool_] | None = None) -> float:
        """Mean of a column over the (selected) runs; nan when there is none."""
        values = np.asarray(self[name], dtype=float)
        if where is not None:
            values = values[where]
        return float(values.mean()) if values.size else float("nan")

    def share(self, condition: NDArray[np.bool_]) -> float:
        """The fraction of runs for which `condition` holds."""
        return float(np.mean(condition)) if len(condition) else float("nan")


class StartupTable:
    """The start of the connections of one run, one row per flow: newcomers, then residents."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.newcomers = int(np.sum(np.asarray(table.numpy("resident")) == 0))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """A column as a numpy array, with a value for each flow."""
        return np.asarray(self._table.numpy(name))

    def time_s(self, packets: int) -> NDArray[np.float64]:
        """Seconds from each newcomer's SYN until `packets` are acknowledged; nan if never."""
        times = np.asarray(self[f"t_{packets}_ns"], dtype=float)
        return times[: self.newcomers] / NS_PER_S

    def goodput_bit_s(self, packets: int, payload_bytes: int = 1460) -> NDArray[np.float64]:
        """The goodput of each newcomer over its first packets: bit/s of payload; nan if never."""
        return packets * payload_bytes * 8 / self.time_s(packets)

    def total(self, name: str) -> float:
        """A count added up over the newcomers."""
        return float(np.asarray(self[name], dtype=float)[: self.newcomers].sum())

    @property
    def digest(self) -> str:
        """The digest of the run."""
        return str(self._table.column("digest")[0])


class FlowTable:
    """The runs of a long-lived flow, one row for each run and interval."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.intervals = int(np.max(table.numpy("interval"))) + 1
        self.runs = int(table.num_rows) // self.intervals

    def __len__(self) -> int:
        return self.runs

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """A column as an array of runs x intervals."""
        values = np.asarray(self._table.numpy(name), dtype=float)
        return values.reshape(self.runs, self.intervals)

    def total(self, name: str, *intervals: int) -> NDArray[np.float64]:
        """A column added up over some intervals (all if none is named), for each run."""
        values = self[name]
        total: NDArray[np.float64] = values[:, intervals or slice(None)].sum(axis=1)
        return total

    def digests(self) -> list[str]:
        """The digest of each run."""
        return list(self._table.column("digest"))[:: self.intervals]

    def confusion(self, *intervals: int) -> NDArray[np.float64]:
        """Suspected losses of all runs: rows are the true cause, columns the sender's
        classification.

        Both have the order congestion, wireless, reordering. A fourth column has losses for which a
        timeout came before the classification.
        """
        causes = ("congestion", "wireless", "reordering")
        columns = [
            [*(f"{truth}_as_{taken}" for taken in causes), f"{truth}_unanswered"]
            for truth in causes
        ]
        return np.array([[self.total(name, *intervals).sum() for name in row] for row in columns])


class RoamingTable:
    """The runs of a roaming node, one row for each run, interval and node.

    Node 0 is the mobile one; an interval ends when it leaves a base station.
    """

    def __init__(self, table: Any) -> None:
        self._table = table
        self.intervals = int(np.max(table.numpy("interval"))) + 1
        self.nodes = int(np.max(table.numpy("node"))) + 1
        self.runs = int(table.num_rows) // (self.intervals * self.nodes)

    def __len__(self) -> int:
        return self.runs

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """A column as an array of runs x intervals x nodes."""
        values = np.asarray(self._table.numpy(name), dtype=float)
        return values.reshape(self.runs, self.intervals, self.nodes)

    def total(self, name: str, node: int = 0) -> NDArray[np.float64]:
        """A column of a node added up over all intervals, for each run."""
        total: NDArray[np.float64] = self[name][:, :, node].sum(axis=1)
        return total

    def digests(self) -> list[str]:
        """The digest of each run."""
        return list(self._table.column("digest"))[:: self.intervals * self.nodes]


@dataclass(frozen=True)
class Event:
    """One event of a run: time in seconds, kind, value (a segment number for packets), detail."""

    time_s: float
    kind: str
    value: float
    detail: str


class EventLog:
    """The events of one traced run, in time order.

    Segment numbers are the simulator's: the SYN is 0, data starts at 1, an acknowledgment carries
    the number of the last segment received in order.
    """

    def __init__(
        self,
        time_ns: ArrayLike,
        kind: ArrayLike,
        value: ArrayLike,
        detail: ArrayLike,
    ) -> None:
        self.time_ns = np.asarray(time_ns, dtype=np.int64)
        self.time_s = self.time_ns / NS_PER_S
        self.kind = np.asarray(kind, dtype=str)
        self.value = np.asarray(value, dtype=float)
        self._detail = np.asarray(detail, dtype=object)

    @cached_property
    def detail(self) -> NDArray[np.str_]:
        """Further content of each event. Created on request, because every text of such an array
        takes the space of the longest.
        """
        return self._detail.astype(str)

    @classmethod
    def from_table(cls, table: Any) -> EventLog:
        """The events of a `_core.trace` table."""
        return cls(*(table.numpy(name) for name in ("time_ns", "event", "value", "detail")))

    def __len__(self) -> int:
        return len(self.time_ns)

    def _pick(self, mask: NDArray[np.bool_]) -> EventLog:
        return EventLog(self.time_ns[mask], self.kind[mask], self.value[mask], self._detail[mask])

    def of(self, *kinds: str) -> EventLog:
        """The events of the given kinds."""
        return self._pick(np.isin(self.kind, kinds))

    def within(self, start_s: float, end_s: float = float("inf")) -> EventLog:
        """The events with start_s <= time < end_s."""
        return self._pick((self.time_s >= start_s) & (self.time_s < end_s))

    def where(self, mask: NDArray[np.bool_]) -> EventLog:
        """The events selected by a mask."""
        return self._pick(mask)

    def detailed(self, start: str) -> EventLog:
        """The events whose detail starts with `start`."""
        return self._pick(np.char.startswith(self.detail, start))

    def events(self) -> list[Event]:
        """The events one by one."""
        return [
            Event(float(t), str(k), float(v), str(d))
            for t, k, v, d in zip(self.time_s, self.kind, self.value, self.detail, strict=True)
        ]

    @property
    def first_s(self) -> float:
        """Time of the first event in seconds; nan when there is none."""
        return float(self.time_s[0]) if len(self) else float("nan")

    # State of the sender, derived from what it sent and received before an instant.

    def highest_sent(self, before_s: float) -> int:
        """Highest segment number sent before an instant."""
        sent = (self.kind == "send") & (self.time_s < before_s)
        return int(self.value[sent].max()) if sent.any() else -1

    def highest_ack(self, before_s: float) -> int:
        """Highest cumulative acknowledgment received before an instant."""
        acks = (self.kind == "ack") & (self.time_s < before_s)
        return int(self.value[acks].max()) if acks.any() else -1

    def flight_size(self, before_s: float) -> int:
        """Segments outstanding: highest sent minus highest acknowledged."""
        return self.highest_sent(before_s) - self.highest_ack(before_s)

    def last(self, kind: str, before_s: float) -> float:
        """Value of the last event of this kind before an instant; nan when there is none."""
        mask = (self.kind == kind) & (self.time_s < before_s)
        return float(self.value[mask][-1]) if mask.any() else float("nan")

    def ack_time(self, segment: int, after_s: float = 0.0) -> float:
        """When the cumulative acknowledgment first reaches `segment`, in seconds; nan if never."""
        mask = (self.kind == "ack") & (self.value >= segment) & (self.time_s >= after_s)
        return float(self.time_s[mask][0]) if mask.any() else float("nan")

    def dropped(self, what: str = "data") -> EventLog:
        """The losses of data segments (or of acknowledgments: `what="ack"`)."""
        return self.of("drop").detailed(what + " ")
