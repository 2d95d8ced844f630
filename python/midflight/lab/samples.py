"""Samples of the state of a guest's senders at intervals: TCP_INFO as a table."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from midflight.lab.errors import LabError
from midflight.results import Columns

__all__ = ["COLUMNS", "INTERVAL_NS", "SampleColumn", "sample_rows", "sample_table"]

#: The default interval at which a sender reports its state: 100 ms.
INTERVAL_NS = 100_000_000
#: A sample of the guest's program (lab/guest/init.c): instant, bytes of the state, the state.
HEAD = struct.Struct("<QII")
STATE_BYTES = 256
SAMPLE_BYTES = HEAD.size + STATE_BYTES
#: The files of the guest, with the number of the flow behind it.
FILE = "state-"

#: Phases of loss recovery and states of a connection by the kernel's numbers.
CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
STATES = (
    "none established syn-sent syn-received fin-wait-1 fin-wait-2 time-wait closed close-wait "
    "last-ack listen closing new-syn-received"
).split()
#: A threshold and a rate that are not set.
NO_THRESHOLD = 0x7FFF_FFFF
NO_RATE = 2**64 - 1


@dataclass(frozen=True)
class SampleColumn:
    """A column of the table: its unit, its meaning, and how it is read from the kernel's bytes."""

    name: str
    unit: str
    meaning: str
    read: Callable[[bytes], Any]


def _field(kind: str, place: int, scale: int = 1, none: int | None = None) -> Callable[..., Any]:
    """Read a number; none for one that is not there."""
    form = struct.Struct(f"<{kind}")

    def read(state: bytes) -> int | None:
        if place + form.size > len(state):
            return None
        (value,) = form.unpack_from(state, place)
        return None if value == none else value * scale

    return read


def _name(place: int, names: Sequence[str]) -> Callable[[bytes], str]:
    def read(state: bytes) -> str:
        value = state[place]
        return names[value] if value < len(names) else f"{value}"

    return read


#: Places are those of `struct tcp_info` (include/uapi/linux/tcp.h), which only grows at its end.
COLUMNS = tuple(
    SampleColumn(*column)
    for column in (
        ("state", "", "of the connection: syn-sent, established, ...", _name(0, STATES)),
        ("ca_state", "", "of loss recovery: " + ", ".join(CA_STATES), _name(1, CA_STATES)),
        ("cwnd", "segments", "congestion window", _field("I", 80)),
        ("ssthresh", "segments", "slow-start threshold, if set", _field("I", 76, 1, NO_THRESHOLD)),
        ("srtt_ns", "ns", "smoothed round-trip time", _field("I", 68, 1000)),
        ("rttvar_ns", "ns", "its mean deviation", _field("I", 72, 1000)),
        ("min_rtt_ns", "ns", "least round-trip time, if known", _field("I", 148, 1000, 2**32 - 1)),
        ("rto_ns", "ns", "retransmission timeout without back-off", _field("I", 8, 1000)),
        ("backoff", "", "how often the timeout is doubled", _field("B", 4)),
        ("unacked", "segments", "sent and not acknowledged", _field("I", 24)),
        ("sacked", "segments", "of these, SACKed", _field("I", 28)),
        ("lost", "segments", "of these, taken for lost", _field("I", 32)),
        ("retrans", "segments", "retransmissions in flight", _field("I", 36)),
        ("total_retrans", "segments", "retransmissions so far", _field("I", 100)),
        ("timeouts", "", "timeouts so far (from Linux 6.7 on)", _field("H", 240)),
        ("reordering", "segments", "how far segments may be out of order", _field("I", 88)),
        ("reordered", "", "events of reordering so far", _field("I", 220)),
        ("dsacks", "segments", "reported as duplicates so far", _field("I", 216)),
        ("delivered", "segments", "known to have arrived so far", _field("I", 192)),
        ("bytes_acked", "bytes", "acknowledged so far", _field("Q", 120)),
        ("bytes_sent", "bytes", "of data sent so far, retransmissions included", _field("Q", 200)),
        ("bytes_retrans", "bytes", "of data sent again so far", _field("Q", 208)),
        ("bytes_notsent", "bytes", "written by the program and not yet sent", _field("I", 144)),
        ("send_window", "bytes", "that the receiver advertises", _field("I", 228)),
        ("pacing_bps", "bit/s", "rate of pacing, if set", _field("Q", 104, 8, NO_RATE)),
        ("delivery_bps", "bit/s", "newest measured rate of delivery", _field("Q", 160, 8)),
        ("busy_ns", "ns", "with data outstanding so far", _field("Q", 168, 1000)),
        ("rwnd_limited_ns", "ns", "of it limited by the receiver", _field("Q", 176, 1000)),
        ("sndbuf_limited_ns", "ns", "of it limited by the send buffer", _field("Q", 184, 1000)),
    )
)


def sample_rows(data: bytes) -> Iterator[list[Any]]:
    """Yield instant and values of each sample of a flow.

    Raises `LabError` for bytes that are no samples.
    """
    if len(data) % SAMPLE_BYTES:
        raise LabError(
            f"the samples of a sender are damaged: {len(data)} bytes are not a multiple of "
            f"{SAMPLE_BYTES}"
        )
    for place in range(0, len(data), SAMPLE_BYTES):
        at_ns, length, _ = HEAD.unpack_from(data, place)
        begin = place + HEAD.size
        state = data[begin : begin + min(length, STATE_BYTES)]
        yield [at_ns, *(column.read(state) for column in COLUMNS)]


def sample_table(
    files: Mapping[str, bytes], flows: Sequence[tuple[str, str]], *, cell: int, run: int
) -> Columns:
    """Return the samples of a run as a table; `flows` are their names and schemes by number."""
    found: list[list[Any]] = []
    for number, (name, scheme) in enumerate(flows):
        data = files.get(f"{FILE}{number}", b"")
        found += ([cell, run, scheme, name, *row] for row in sample_rows(data))
    names = ["cell", "run", "scheme", "flow", "time_ns", *(column.name for column in COLUMNS)]
    columns = zip(*found, strict=True) if found else ((),) * len(names)
    return Columns({name: list(values) for name, values in zip(names, columns, strict=True)})
