"""Make the records of `crates/tcp/tests/kernel` anew: python tests/linux/record.py [NAME...].

Each file has a scenario in its comments. It is run on a kernel that `midflight lab build` made, and
what the sender and the receiver of its flow sent and got is written below. Without a change of the
kernel or of the scenario the files stay as they are.
"""

from __future__ import annotations

import re
import struct
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from midflight.lab.guest import Guest, run_guests
from midflight.lab.store import choose
from midflight.scenario import Scenario

KERNEL = Path(__file__).parents[2] / "crates/tcp/tests/kernel"
#: What the tests' clock of milliseconds shows at the beginning: its phase.
PHASE_MS = 66_810_864
#: When the run begins on the guest's clock: what that phase belongs to.
ORIGIN_NS = 2_000_000_000
SENT, DELIVERED = 1, 2
ABOUT = """\
# sent NS SEGMENT CWND SSTHRESH SRTT_US RTTVAR_US RTO_US PUSH: a segment leaves, 0 is the SYN
# ack NS NUMBER ECHO_NS WINDOW STAMP_MS BLOCKS: an ACK arrives, with the window in bytes
# empty NS SEGMENT SENT_NS ECHO_MS: an ACK of the sender without data arrives
# data NS SEGMENT SENT_NS PUSH ECHO_MS: a segment arrives
# acked NS NUMBER WINDOW STAMP_MS BLOCKS: the receiver sends an ACK
"""


@dataclass(frozen=True)
class Packet:
    """A TCP packet of the record."""

    at_ns: int
    sent_ns: int
    event: int
    from_sender: bool
    flags: int
    seq: int
    ack: int
    window: int
    length: int
    stamps: tuple[int, int]
    blocks: list[tuple[int, int]]
    state: tuple[int, ...]


def options_of(data: bytes) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """Return the timestamps and the SACK blocks of a header's options."""
    stamps, blocks, at = (0, 0), [], 0
    while at < len(data) and data[at]:
        kind, size = data[at], 1 if data[at] == 1 else data[at + 1]
        body = data[at + 2 : at + size]
        if kind == 8:
            stamps = struct.unpack(">II", body)
        elif kind == 5:
            edges = struct.unpack(f">{len(body) // 4}I", body)
            blocks = list(zip(edges[::2], edges[1::2], strict=True))
        at += size
    return stamps, blocks


def packets_of(record: bytes) -> Iterator[Packet]:
    """Read the record (lab/kernel/midflight.h): packets as they leave and as they arrive."""
    known: dict[int, Packet] = {}
    at = 0
    while at < len(record):
        at_ns, number, place, event, words, value, _ = struct.unpack_from("<QIHBBIi", record, at)
        if event == SENT:
            _, *state = struct.unpack_from("<I6I", record, at + 24)
            headers = record[at + 88 : at + 8 * words]
            ip = (headers[0] & 15) * 4
            seq, ack, offset, flags, window = struct.unpack_from(">IIBBH", headers, ip + 4)
            size = (offset >> 4) * 4
            stamps, blocks = options_of(headers[ip + 20 : ip + size])
            length = value - ip - size
            known[number] = Packet(
                at_ns, at_ns, SENT, place == 0, flags, seq, ack, window, length, stamps, blocks,
                tuple(state),
            )  # fmt: skip
            yield known[number]
        elif event == DELIVERED and number in known:
            sent = known[number]
            yield Packet(**{**vars(sent), "at_ns": at_ns, "event": DELIVERED})
        at += 8 * words


def lines_of(record: bytes) -> Iterator[str]:
    """Return the lines of a file for a record of a guest."""
    packets = list(packets_of(record))
    syn = next(p for p in packets if p.from_sender and p.flags & 2)
    answer = next(p for p in packets if not p.from_sender and p.flags & 2)
    mss = max(p.length for p in packets)

    def segment(base: int, number: int) -> int:
        ahead = (number - base) % 2**32
        # The last segment may be shorter.
        return 0 if ahead == 0 else 1 - (1 - ahead) // mss

    def echo_ns(stamp: int) -> int:
        return (syn.at_ns // 10**6 + (stamp - syn.stamps[0]) % 2**32) * 10**6

    def stamp_ms(stamp: int) -> int:
        first = answer.at_ns // 10**6 + PHASE_MS
        return (first + (stamp - answer.stamps[0]) % 2**32) % 2**32

    def blocks_of(packet: Packet) -> str:
        edges = ((segment(syn.seq, a), segment(syn.seq, b)) for a, b in packet.blocks)
        return "".join(f" {a}-{b}" for a, b in edges)

    last = 0
    for p in packets:
        is_syn, push = bool(p.flags & 2), int(bool(p.flags & 8))
        if p.from_sender:
            number = segment(syn.seq, p.seq)
            last = max(last, number)
            has_data = is_syn or p.length > 0
            if p.event == SENT and has_data:
                _, cwnd, ssthresh, srtt, rttvar, rto = p.state
                yield f"sent {p.at_ns} {number} {cwnd} {ssthresh} {srtt} {rttvar} {rto} {push}"
            elif p.event == DELIVERED and has_data:
                echo = stamp_ms(p.stamps[1]) if p.stamps[1] else 0
                yield f"data {p.at_ns} {number} {p.sent_ns} {push} {echo}"
            elif p.event == DELIVERED:
                yield f"empty {p.at_ns} {number} {p.sent_ns} {stamp_ms(p.stamps[1])}"
            continue
        window = p.window << (0 if is_syn else 7)
        number = segment(syn.seq, p.ack)
        told = f"{window} {stamp_ms(p.stamps[0])}{blocks_of(p)}"
        if p.event == SENT:
            yield f"acked {p.at_ns} {number} {told}"
        else:
            yield f"ack {p.at_ns} {number} {echo_ns(p.stamps[1])} {told}"


def main(names: list[str]) -> None:
    """Write the files."""
    files = [KERNEL / f"{n}.txt" for n in names] if names else sorted(KERNEL.glob("*.txt"))
    kernel = choose()
    for file in files:
        comments = [line for line in file.read_text().splitlines() if line.startswith("#")]
        lines_of_scenario = [line[4:] for line in comments if line.startswith("#   ")]
        values = tomllib.loads("\n".join(lines_of_scenario))
        setup = Scenario.from_dict(values).plan().setup(0)
        script = re.sub(r"(?m)^origin .*$", f"origin {ORIGIN_NS}", setup.lab_script())
        title = comments[0]
        where = "in the lab (docs/lab.md), by this scenario:"
        about = f"# Linux {kernel.version}, HZ {kernel.hz}, {where}"
        (ran,) = run_guests(kernel, [Guest(script, "1.0", setup.lab_serve)])
        lines = list(lines_of(ran.packets))
        most = max(int(line.split()[2]) for line in lines if line.startswith("sent"))
        text = [title, about, *(f"#   {line}" for line in lines_of_scenario), ABOUT.rstrip()]
        file.write_text("\n".join([*text, f"segments {most + 1}", *lines]) + "\n")
        print(f"{file.name}: {len(lines)} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
