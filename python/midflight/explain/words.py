"""Instants, numbers, links and events of a flow as words of a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from midflight.explain.events import LinkOutage, Row

if TYPE_CHECKING:
    from midflight._core import PathChange

__all__ = [
    "OF_QUIC",
    "SAME",
    "WAKES",
    "are_same_times",
    "clock",
    "link_text",
    "loss_words",
    "names_in_events",
    "number",
    "order_text",
    "ordinal",
    "outage_text",
    "path_change_text",
    "row_text",
    "seconds_text",
    "short_time",
    "to_ms",
    "when",
]

#: Values that differ by a smaller share of the larger one are called the same.
SAME = 0.01
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()


def clock(time_ns: int) -> str:
    """Return an instant in seconds, to the microsecond."""
    whole, micro = divmod((time_ns + 500) // 1000, 1_000_000)
    return f"{whole}.{micro:06d} s"


def when(time_ns: int) -> str:
    """The same without needless digits, for sentences."""
    return clock(time_ns).removesuffix(" s").rstrip("0").rstrip(".") + " s"


def to_ms(time_ns: float) -> str:
    """Return an instant or a time in seconds, to the millisecond, without needless digits."""
    return f"{time_ns / 1e9:.3f}".rstrip("0").rstrip(".") + " s"


def are_same_times(first_ns: float, last_ns: float) -> bool:
    """Whether two times, the shorter one first, are called the same: they differ by less than 1 %
    of the longer one, or by no more than one in the last digit that sentences give.
    """
    return last_ns - first_ns < max(SAME * last_ns, 1.5e6)


def short_time(time_ns: float) -> str:
    """Return a round trip or a wait to three digits, in milliseconds, or in seconds from 1 s on."""
    return f"{time_ns / 1e9:.3g} s" if time_ns >= 999.5e6 else f"{time_ns / 1e6:.3g} ms"


def number(value: float) -> str:
    """Return a window or a time without needless digits."""
    return f"{value:.6g}"


def seconds_text(time_ns: int) -> str:
    """Return a time in seconds without needless digits."""
    return f"{number(time_ns / 1e9)} s"


def ordinal(n: int) -> str:
    if n <= len(ORDINALS):
        return ORDINALS[n - 1]
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def order_text(row: Row) -> str:
    """Return a text for an order with its author, its content and its reason."""
    # An event of that name has its order.
    assert row.ordered is not None
    _, what, reason = row.ordered
    return f"{row.by} ordered to {what}, because {reason}"


def row_text(row: Row) -> str:
    """Return an event as in a trace."""
    if row.event == "spurious":
        # The sender's judgement, which may be wrong: that of the `rto` is the truth.
        return f"the sender takes the last {row.detail} for spurious"
    if row.event in (
        "break",
        "make",
        "notice",
        "recovery_exit",
        "state",
        "mode",
        "order",
        "signal",
    ):
        return f"{row.event} {row.detail}".rstrip()
    if row.event in ("object", "slow_object", "frame", "late_frame"):
        return f"{row.event} {row.detail}, read after {seconds_text(int(row.value))}"
    value = number(row.value) if row.value != int(row.value) else str(int(row.value))
    return f"{row.event} {value} {row.detail}".rstrip()


def link_text(name: str) -> str:
    """Return the name of a link, marked as a name within a sentence."""
    return f"`{name}`"


def names_in_events(links: Iterable[str]) -> dict[str, str]:
    """Return the names of access links by those of their ways, which events have."""
    return {way: name for name in links for way in (f"{name}-mobile", f"mobile-{name}")}


def loss_words(cause: str, link: str) -> str:
    """Return where and why something was lost."""
    name = link_text(link)
    if cause == "queue":
        return f"dropped at the queue of {name}, which was full"
    if cause == "early":
        return f"dropped by the discipline of the queue of {name}, before it was full"
    if cause == "node":
        return f"kept back by the node before {name}"
    if cause == "break":
        return f"lost at {name}, which was down"
    return f"lost by the radio of {name}"


def path_change_text(one: PathChange) -> str:
    """Return what began with a handoff or a change."""
    until = when(one["make_ns"])
    here, there = link_text(one["from_link"]), link_text(one["to_link"])
    if one["kind"] == "change":
        if one["breaks"]:
            return f"{here} stood still from then on until {until}"
        return f"the parameters of {here} changed"
    if here == there:
        return f"the mobile node lost {here}, which was back at {until}"
    if one["breaks"]:
        return f"the handoff from {here} to {there} began; there was no link until {until}"
    return f"the handoff from {here} to {there}, without a gap"


def outage_text(outage: LinkOutage) -> str:
    """Return what the recording of a link did to packets while it let nothing pass."""
    begin_ns, end_ns, link, loses = outage
    fate = "were lost" if loses else "waited"
    span = f"from {when(begin_ns)} to {when(end_ns)}"
    return f"the recording of {link_text(link)} had no rate {span}; packets {fate}"


#: What it means that a timer of a sender expired, other than that of the retransmission.
WAKES = {
    "persist": "the persist timer expired: the receiver had closed its window",
    "delay": "the delay of the response to duplicate ACKs was over",
    "patience": "the time in which duplicate ACKs were taken for reordering was over",
    "loss probe": (
        "the timer of the tail loss probe expired: nothing had been acknowledged for long"
    ),
    "reordering": "RACK's reordering timer expired: what was sent before counted as lost",
}

#: What happens to a connection over QUIC: what of it, and what of its value and its detail.
OF_QUIC = (
    ("established", "the handshake was complete"),
    ("migrates", "the client had another address and told the server by sending from there"),
    ("migrated", "the server found that the client had another address"),
    ("path_opened", "the client opened a second path, from {detail}"),
    ("path_found", "the first packet over another path, from {detail}, reached the server"),
    ("path_used", "data went over another path from then on, on which the client is {detail}"),
    ("path_closed", "the client closed the path from {detail}"),
    ("path_challenge", "a challenge went over the path, to validate it (RFC 9000 section 8.2)"),
    ("path_validated", "the challenge was answered: the path is validated"),
    ("path_failed", "no challenge was answered in time: the path is given up"),
    (
        "amplification_limit",
        "there was more to send than three times what had come from an address that is not "
        "validated (RFC 9000 section 8.1)",
    ),
    ("lost", "the stack took {value} packets for lost"),
    ("needless", "{value} packets arrived whose data had been sent again"),
    (
        "persistent_congestion",
        "everything sent over three probe timeouts was lost, so the window began anew "
        "(RFC 9002 section 7.6)",
    ),
    ("closed", "the connection was over: {detail}"),
)
