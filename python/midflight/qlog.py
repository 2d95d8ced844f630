"""A flow's recovery as qlog: a header and then its events, as JSON text sequences (RFC 7464).

The events are those of draft-ietf-quic-qlog-quic-events where they fit TCP, in the file schema of
draft-ietf-quic-qlog-main-schema; events that qlog does not have are in the namespace
`midflight:`. docs/explain.md lists the differences.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from midflight._core import QUIC_STACKS
from midflight.explain.events import History, Row
from midflight.explain.words import OF_QUIC

if TYPE_CHECKING:
    from midflight._core import Plan, Setup

__all__ = ["events", "header", "write_qlog"]

#: The suffix of a file of this format, and the separator before each record.
SUFFIX = ".sqlog"
RECORD_SEPARATOR = "\x1e"
#: Events of a connection over QUIC besides its data.
CONNECTION = frozenset(event for event, _ in OF_QUIC)
FLIGHT = ("bytes_in_flight", "packets_in_flight")
EVENT_SCHEMAS = ["urn:ietf:params:qlog:events:quic-12", "urn:midflight:qlog:events"]


def write_qlog(source: Setup | Plan, flow: str, file: IO[str], *, run: int = 0) -> None:
    """Write the events of a flow in one run to a file that is open for text.

    Raises `MidflightError` for an unknown flow.
    """
    history = History(source, run=run, flow=flow)
    records = [header(history), *events(history)]
    for record in records:
        text = json.dumps(record, allow_nan=False, separators=(",", ":"))
        file.write(f"{RECORD_SEPARATOR}{text}\n")


def header(history: History) -> dict[str, Any]:
    """Return the first record: the description of the file and its run."""
    import midflight

    described = next(one for one in history.setup.flows if one["name"] == history.flow)
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": f"{history.flow} with {described['scheme']}, run {history.setup.run or 0}",
        "description": f"midflight {midflight.__version__}, model {midflight.MODEL_VERSION}, "
        f"digest {history.digest}",
        "trace": {
            "common_fields": {
                "time_format": "relative_to_epoch",
                "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                "group_id": history.flow,
                "protocol_types": ["QUIC" if described["stack"] in QUIC_STACKS else "TCP"],
            },
            "vantage_point": {
                "type": "server" if described["direction"] == "down" else "client",
                "flow": "client",
            },
            "event_schemas": EVENT_SCHEMAS,
        },
    }


def milliseconds(nanoseconds: float) -> float:
    return round(nanoseconds / 1e6, 6)


def events(history: History) -> Iterator[dict[str, Any]]:
    """Yield an event for each of a trace that has one, in the same order."""
    described = next(one for one in history.setup.flows if one["name"] == history.flow)
    payload = described["payload_bytes"]
    metrics = Metrics(payload)
    state: str | None = None
    for row in history.rows:
        metrics.note(row)
        # The sender's changes at an event are logged before the segments that it then sends.
        if row.event in ("send", "rexmit", "ack", "rto", "fast_retransmit"):
            yield from metrics.changes(row.time_ns, without=FLIGHT)
        sender_before = history.sender_before(row.index)
        if row.event == "rexmit":
            # A segment counts as lost when the sender retransmits it because it considers it lost.
            yield event(row, "quic:packet_lost", lost(row, sender_before.recovery is not None))
        found = mapped(history, row) or plain(row, payload)
        if found is not None:
            yield event(row, *found)
        metrics.after(row, sender_before.max)
        last = row.index + 1 == len(history)
        if last or history.rows[row.index + 1].time_ns != row.time_ns:
            yield from metrics.changes(row.time_ns)
            now = congestion_state(history, row.index)
            if now != state:
                data = {"new": now} if state is None else {"old": state, "new": now}
                yield event(row, "quic:congestion_state_updated", data)
                state = now


def event(row: Row, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": milliseconds(row.time_ns), "name": name, "data": data}


def mapped(history: History, row: Row) -> tuple[str, dict[str, Any]] | None:
    """Return the handoff, the change or the notice that an event marks."""
    if row.event not in ("break", "make", "notice"):
        return None
    name = "midflight:notice" if row.event == "notice" else "midflight:handoff"
    data: dict[str, Any] = {} if row.event == "notice" else {"phase": row.event}
    for one in history.path_changes:
        when = {"break": one["at_ns"], "make": one["make_ns"], "notice": one["notified_ns"]}
        if when[row.event] == row.time_ns:
            data |= {"of": one["kind"], "from": one["from_link"], "to": one["to_link"]}
    return name, data


def lost(row: Row, in_recovery: bool) -> dict[str, Any]:
    """Return a packet that the sender considers lost."""
    return {
        "header": {"packet_type": "1RTT", "packet_number": row.number},
        "trigger": "reordering_threshold" if in_recovery else "pto_expired",
    }


def plain(row: Row, payload: int) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the data of an event that is one in qlog, too."""
    if not math.isfinite(row.value):
        return None
    packet = {"packet_type": "1RTT", "packet_number": row.number}
    if row.event in ("send", "rexmit"):
        data: dict[str, Any] = {
            "header": packet,
            "raw": {"payload_length": payload if row.number else 0},
        }
        if row.event == "rexmit":
            data["midflight:retransmission"] = True
        return "quic:packet_sent", data
    if row.event == "ack":
        frame: dict[str, Any] = {"frame_type": "ack", "acked_ranges": ranges(row)}
        data = {"header": {"packet_type": "1RTT"}, "frames": [frame]}
        if row.detail:
            data["midflight:says"] = row.detail
        return "quic:packet_received", data
    if row.event == "rto":
        data = {"timer_type": "loss_timeout", "event_type": "expired"}
        if row.detail:
            data["midflight:judged"] = row.detail
        return "quic:timer_updated", data
    if row.lost is not None:
        lost, cause = row.lost
        number = {"packet_number": row.number} if lost == "data" else {"ack": row.number}
        return "midflight:packet_dropped", {**number, "link": row.link, "cause": cause}
    if row.event == "mark":
        return "midflight:packet_marked", {"packet_number": row.number, "link": row.link}
    if row.ordered is not None:
        _, order, reason = row.ordered
        return "midflight:order", {"author": row.by, "order": order, "reason": reason}
    if row.event in ("fast_retransmit", "recovery_exit", "window_probe"):
        number = {"packet_number": row.number} if row.event == "fast_retransmit" else {}
        return f"midflight:{row.event}", number
    if row.event in CONNECTION:
        count = {"packets": row.number} if row.number else {}
        return f"midflight:{row.event}", count | ({"detail": row.detail} if row.detail else {})
    if row.event == "spurious":
        return "midflight:spurious", {"of": row.detail}
    return None


def ranges(row: Row) -> list[list[int]]:
    """Return what an ACK acknowledges, ascending: all up to its number, and its SACK blocks."""
    blocks = [[int(end) for end in block.split("-")] for block in row.sack.split()]
    above = sorted(block for block in blocks if block[0] > row.number)
    below = [[0, row.number]] if row.number >= 0 else []
    return below + [list(block) for block in dict.fromkeys(map(tuple, above))]


class Metrics:
    """A sender's measurements, logged when they change."""

    def __init__(self, payload: int) -> None:
        self.payload = payload
        self.reported: dict[str, Any] = {}
        self.now: dict[str, Any] = {}
        self.una = self.max = 0

    def note(self, row: Row) -> None:
        """Take an event."""
        scaled = {"cwnd": "congestion_window", "ssthresh": "ssthresh"}
        times = {"srtt": "smoothed_rtt", "rtt_sample": "latest_rtt", "rto_value": "midflight:rto"}
        if row.event in scaled and not math.isfinite(row.value):
            # A threshold that is not set, as a kernel's at first.
            self.now.pop(scaled[row.event], None)
        elif row.event in scaled:
            self.now[scaled[row.event]] = round(row.value * self.payload)
        elif row.event in ("pacing_rate", "delivery_rate"):
            own = row.event if row.event == "pacing_rate" else "midflight:delivery_rate"
            self.now[own] = round(row.value)
        elif row.event in times:
            self.now[times[row.event]] = milliseconds(round(row.value * 1e9))
        elif row.event == "backoff":
            # One timeout doubles it: its logarithm is what QUIC counts.
            self.now["pto_count"] = max(row.number, 1).bit_length() - 1

    def after(self, row: Row, highest: int) -> None:
        """Count the segments in flight after an event."""
        if row.event in ("send", "rexmit"):
            self.max = max(highest, row.number + 1)
        elif row.event == "ack" and row.number < self.max:
            self.una = max(self.una, row.number + 1)
        flight = max(0, self.max - self.una)
        self.now["bytes_in_flight"] = flight * self.payload
        self.now["packets_in_flight"] = flight

    def changes(self, time_ns: int, without: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """Yield an event with the values that have changed since the last one."""
        news = {
            name: value
            for name, value in self.now.items()
            if self.reported.get(name) != value and name not in without
        }
        if news:
            self.reported.update(news)
            yield {
                "time": milliseconds(time_ns),
                "name": "quic:recovery_metrics_updated",
                "data": news,
            }


def congestion_state(history: History, index: int) -> str:
    """Return the state after an event, in qlog's words."""
    then = history.sender_before(min(index + 1, len(history) - 1))
    if then.recovery is not None:
        return "recovery"
    if then.timeout is not None:
        return "midflight:timeout_recovery"
    slow = then.cwnd is None or then.ssthresh is None or then.cwnd < then.ssthresh
    return "slow_start" if slow else "congestion_avoidance"
