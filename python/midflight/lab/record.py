"""The results of a guest: the record of packets, and the counters of the kernel."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["EVENTS", "RECORD", "CounterRow", "counters", "events", "late_ns"]

#: An entry of the record (lab/kernel/midflight.h), and its events by their numbers.
RECORD = struct.Struct("<QIHBBIi")
EVENTS = {
    1: "sent",
    2: "delivered",
    3: "lost_queue",
    4: "lost_break",
    5: "lost_radio",
    6: "lost_route",
    7: "lost_early",
    8: "marked",
}
#: Files of counters, as /proc/net has them, and the node at the end of their names.
KINDS = ("netstat", "snmp")


class CounterRow(NamedTuple):
    """A counter of the kernel in the namespace of a node, such as TcpExt's TCPTimeouts."""

    node: int
    group: str
    counter: str
    value: int


def records(packets: bytes) -> Iterator[tuple[int, int]]:
    """Yield event and lateness in nanoseconds of each record."""
    place = 0
    while place < len(packets):
        _, _, _, event, words, _, late = RECORD.unpack_from(packets, place)
        yield event, late
        place += 8 * words


def events(packets: bytes) -> dict[str, int]:
    """Return how many packets were sent, delivered, and lost for each cause."""
    found = Counter(event for event, _ in records(packets))
    return {name: found[number] for number, name in EVENTS.items()}


def late_ns(packets: bytes) -> Iterator[int]:
    """Yield by how many nanoseconds each packet of a record was delivered late."""
    return (late for event, late in records(packets) if EVENTS.get(event) == "delivered")


def counters(files: Mapping[str, bytes]) -> list[CounterRow]:
    """Return the counters of all nodes that are not 0."""
    found = []
    for name, data in files.items():
        kind, _, node = name.partition("-")
        if kind not in KINDS or not node.isdigit():
            continue
        lines = data.decode("ascii").splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group, _, _ = names.partition(":")
            pairs = zip(names.split()[1:], values.split()[1:], strict=True)
            found += [CounterRow(int(node), group, one, int(value)) for one, value in pairs]
    return sorted(one for one in found if one.value)
