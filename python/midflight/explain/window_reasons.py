"""Why a congestion window or its threshold changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from midflight.explain.words import when

if TYPE_CHECKING:
    from midflight.explain.events import History, Row

__all__ = ["window_reason"]


def window_reason(history: History, row: Row, *, is_of_stack: bool) -> str:
    """Return why a window changed without an order; `is_of_stack` is whether a stack other than the
    simulator's sent the flow.
    """
    before = history.sender_before(row.index)
    is_less = row.value is not None and row.value < (before.cwnd or 0)
    together = [history.row(i) for i in history.activation(row.index)]
    if not is_less and any(one.event == "spurious" for one in together):
        return ": what it was before the timeout or retransmission that was taken for spurious"
    if row.event == "cwnd" and (probe := _probe_of(history, row.time_ns)):
        return probe
    mode = next((one.name for one in history.modes if one.holds(row.time_ns)), "")
    in_mode = f", in {mode}" if mode else ""
    if row.by == "controller" and row.event == "cwnd" and is_less and not is_of_stack:
        return f": the congestion controller's own reduction{in_mode}"
    if row.by == "controller" and mode:
        # It has no slow start.
        grown = "growth towards the window of BBR's model"
        return f": {grown if row.event == 'cwnd' else 'set by BBR'}{in_mode}"
    if row.by == "controller" and not is_of_stack:
        slow = (before.cwnd or 0) < (before.ssthresh or 0)
        return f": growth in {'slow start' if slow else 'congestion avoidance'}"
    if row.by == "recovery":
        if any(other.event == "fast_retransmit" for other in together):
            return ": the reduction of a fast retransmit"
        if before.recovery is None and before.timeout is None and history.echo(row.index):
            return ": the reduction that answers an echo of congestion (RFC 3168)"
        if before.cwnd is not None and row.value == before.cwnd + 1:
            return ": in fast recovery, inflated by the segment that has left the network"
        return ": in fast recovery, which the ACK ends or partly answers"
    if row.by == "handshake" and is_of_stack:
        return ": what the stack begins with"
    if row.by == "controller" and is_of_stack:
        return ": what the stack's controller made of an ACK"
    if row.by == "handshake":
        opened = history.head(row.index) is None
        return ": the connection opened" if opened else ": the SYN was acknowledged"
    reasons = {
        "timeout": "the timeout's reduction",
        "idle": "an idle time had ended",
        "path": "a new path begins, with a window of its own",
    }
    return f": {reasons[row.by]}" if row.by in reasons else ""


def _probe_of(history: History, at_ns: int) -> str:
    """Return that BBR's ProbeRTT began or ended at an instant; "" if it did not."""
    for one in history.probes_of_rtt:
        if one.begin_ns == at_ns:
            return f": {one.words}"
        if one.end_ns == at_ns:
            began = when(one.begin_ns)
            return f": the end of BBR's ProbeRTT, which began at {began}; what it was before"
    return ""
