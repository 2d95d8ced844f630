"""What a name that does not exist may mean: a name that is spelt alike, or another word for one."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence

__all__ = ["SYNONYMS", "did_you_mean", "meant", "or_all"]

#: Other words of the field, and the kinds of figures, measurements and events that they may mean,
#: of which the first that is known counts.
SYNONYMS: Mapping[str, Sequence[str]] = {
    "backlog": ("queue",),
    "bandwidth": ("throughput", "goodput_bps"),
    "bit_rate": ("bitrate", "mean_rate_bps"),
    "buffer": ("queue", "buffer"),
    "bufferbloat": ("queue", "delay"),
    "capacity": ("throughput",),
    "congestion_window": ("cwnd", "window"),
    "cwnd": ("cwnd", "window"),
    "fct": ("duration_ns",),
    "flight": ("pipe",),
    "goodput": ("throughput", "goodput_bps"),
    "in_flight": ("pipe",),
    "inflight": ("pipe",),
    "latency": ("delay", "rtt", "rtt_sample", "delivered_ns"),
    "loss": ("drops_queue",),
    "losses": ("drops_queue", "drop"),
    "occupancy": ("queue",),
    "owd": ("delay",),
    "pacing": ("rates", "pacing_rate"),
    "ping": ("rtt", "delay", "rtt_sample"),
    "rate": ("throughput", "rates", "goodput_bps", "delivery_rate"),
    "quality": ("bitrate", "mean_rate_bps"),
    "retransmits": ("rexmits", "rexmit"),
    "retransmissions": ("rexmits", "rexmit"),
    "round_trip": ("rtt", "delay", "rtt_sample"),
    "rtt": ("rtt", "delay", "rtt_sample"),
    "rtx": ("rexmits", "rexmit"),
    "seq": ("sequence", "time-sequence"),
    "seqno": ("sequence", "time-sequence"),
    "srtt": ("rtt",),
    "ssthresh": ("cwnd", "window"),
    "stall": ("stall_ns",),
    "throughput": ("throughput", "goodput_bps"),
    "time": ("duration_ns",),
    "tput": ("throughput", "goodput_bps"),
    "tsg": ("time-sequence", "sequence"),
    "window": ("cwnd",),
}
#: With a near name, more names than these are not listed.
_MOST_LISTED = 12


def meant(name: str, known: Collection[str]) -> str | None:
    """Return the known name that a name may mean, or None if none is near."""
    of_field = SYNONYMS.get(name.lower().replace("-", "_").replace(" ", "_"), ())
    for one in of_field:
        if one in known:
            return one
    # The last word of a path may stand for it, and the other way round.
    for one in known:
        if one.endswith(f".{name}") or name.endswith(f".{one}"):
            return one
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the known name that is meant as words to add to a message, or "" if none is near."""
    near = meant(name, known)
    return f' (did you mean "{near}"?)' if near else ""


def or_all(name: str, known: Collection[str], where: str) -> str:
    """Return what is said of a name that does not exist: the one that is meant and `where` all are,
    or all of them if none is near or they are few.
    """
    near = did_you_mean(name, known)
    if near and len(known) > _MOST_LISTED:
        return f"{near}; {where}"
    return f"{near}; there are {', '.join(known)}"
