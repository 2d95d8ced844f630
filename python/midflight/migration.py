"""The cost of a handoff over QUIC and TCP: stacks, handoffs and kinds of handoff in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from midflight._core import Plan, quic_stacks, run_plans
from midflight.scenario import Scenario

__all__ = ["HANDOFFS", "KINDS", "SENDERS", "SIZES", "MigrationRow", "Sender", "compare_migration"]

#: Links before and after, as presets.
HANDOFFS = {
    "Wi-Fi to 5G": ("wifi", "5g-nsa"),
    "5G to Wi-Fi": ("5g-nsa", "wifi"),
    "LTE to Starlink": ("lte", "leo"),
    "Starlink to GEO": ("leo", "geo"),
}
#: Make before break, and break before make with half a second in between.
KINDS = {"MBB": None, "BBM": "500 ms"}
#: Bytes whose time is measured.
SIZES = (1_000_000, 20_000_000)
#: Handoffs are at these instants.
INSTANTS_S = (3.0, 3.083, 3.171)
#: A resident's rate is measured for so long after a handoff.
RESIDENT_S = 5.0
#: The longest time that is waited for.
LONGEST_S = 120.0
#: Bytes of data in a packet of QUIC, and in a segment of Linux.
QUIC_BYTES, TCP_BYTES = 1167, 1448


@dataclass(frozen=True)
class Sender:
    """A sender: its name, the keys of its flow, what it is, and bytes of data in its packets."""

    name: str
    flow: dict[str, Any]
    what: str
    payload: int = QUIC_BYTES
    #: A new connection over the new link carries what is left, in place of the old one.
    reconnects: bool = False

    @property
    def missing(self) -> str | None:
        """Why its stack cannot run here; None if it can."""
        found = {one["name"]: one["missing"] for one in quic_stacks()}
        return found.get(self.flow.get("stack"))


def _row(name: str) -> Sender:
    flow = {"profile": "quic", "set": {"migration": name}}
    return Sender(f"as {name}", flow, "row")


def _real(stack: str, cc: str) -> Sender:
    return Sender(f"{stack} ({cc})", {"stack": stack, "cc": cc}, "stack")


#: The choices of seven stacks in our own sender, the stacks, and TCP of Linux.
SENDERS = (
    *map(_row, ("quinn", "s2n-quic", "neqo", "quiche", "google-quiche", "picoquic", "msquic")),
    *(
        _real(stack["name"], cc)
        for stack in quic_stacks()
        for cc in ("cubic", "newreno", "bbr")
        if cc in stack["cc"]
    ),
    Sender(
        "noq multipath (cubic)",
        {"stack": "noq", "cc": "cubic", "multipath": True},
        "stack",
    ),
    Sender("TCP, Mobile IP", {"profile": "linux"}, "tcp", TCP_BYTES),
    Sender("TCP, reconnecting", {"profile": "linux"}, "tcp", TCP_BYTES, reconnects=True),
)


@dataclass(frozen=True)
class MigrationRow:
    """One sender in one handoff: medians over some instants of it.

    `seconds_1mb` and `seconds_20mb` are from the handoff until so much data is acknowledged that
    was never sent before it; none if that took longer than 120 s. `stall_s` is the longest time
    without progress; `lost_queue` and `lost_down` are packets lost to a full queue and to a link
    that was down, from the handoff on until 20 MB are acknowledged; `resident` is the share that a
    TCP flow of another node on the new link gets in the 5 s after the handoff, relative to a run
    without a newcomer.
    """

    sender: str
    what: str
    handoff: str
    kind: str
    seconds_1mb: float | None
    seconds_20mb: float | None
    stall_s: float
    lost_queue: float
    lost_down: float
    resident: float


def _scenario(
    sender: Sender | None,
    links: tuple[str, str],
    gap: str | None,
    at_s: float,
    *,
    size: int | None = None,
) -> Plan:
    old, new = links
    values: dict[str, Any] = {
        "links": {name: {"preset": name} for name in links},
        "start": old,
        "flows": {},
        "handoffs": [{"at": f"{at_s:.3f} s", "to": new, **({"gap": gap} if gap else {})}],
    }
    make_s = at_s + (0.5 if gap else 0.0)
    if sender is not None:
        flow = dict(sender.flow)
        if sender.reconnects:
            flow |= {"on": new, "start": f"{make_s:.3f} s"}
        values["flows"]["mover"] = flow
    if size is None:
        resident = {"profile": "linux", "on": new}
        values["flows"]["resident"] = resident
        values["end"] = f"{make_s + RESIDENT_S:.3f} s"
    else:
        assert sender is not None
        values["end"] = f"{make_s + LONGEST_S:.3f} s"
        if sender.reconnects:
            # One that stays is not timed after a handoff: it has an end instead.
            values["flows"]["mover"]["size"] = f"{size} B"
        else:
            values["packets"] = -(-size // sender.payload)
            values["stop"] = "measured"
    return Scenario.from_dict(values).plan()


def compare_migration(
    *,
    senders: Sequence[Sender] = SENDERS,
    handoffs: Sequence[str] = tuple(HANDOFFS),
    kinds: Sequence[str] = tuple(KINDS),
    instants_s: Sequence[float] = INSTANTS_S,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> list[MigrationRow]:
    """Run every sender through every handoff; one row for each sender, handoff and kind.

    `handoffs` are names of `HANDOFFS`, `kinds` of `KINDS`; `instants_s` are when the handoffs are,
    in seconds. `threads` and `progress` are as for `run_plans`.
    """
    plans: list[Plan] = []

    def add(plan: Plan) -> int:
        plans.append(plan)
        return len(plans) - 1

    places: dict[tuple[str, str, str], list[dict[str, int]]] = {}
    for handoff in handoffs:
        links = HANDOFFS[handoff]
        for kind in kinds:
            gap = KINDS[kind]
            alone = [add(_scenario(None, links, gap, at)) for at in instants_s]
            for sender in senders:
                places[sender.name, handoff, kind] = [
                    {
                        "alone": one,
                        "beside": add(_scenario(sender, links, gap, at)),
                        **{
                            str(size): add(_scenario(sender, links, gap, at, size=size))
                            for size in SIZES
                        },
                    }
                    for at, one in zip(instants_s, alone, strict=True)
                ]
    flows, phases = run_plans(plans, threads=threads, progress=progress)
    read = _Results(flows, phases)
    return [
        read.row(sender, handoff, kind, places[sender.name, handoff, kind])
        for handoff in handoffs
        for kind in kinds
        for sender in senders
    ]


class _Results:
    """The tables of all runs, by cell and flow."""

    def __init__(self, flows: Any, phases: Any) -> None:
        self.flows = self._by_flow(flows)
        self.phases = self._by_flow(phases)

    @staticmethod
    def _by_flow(table: Any) -> dict[tuple[int, str], dict[str, Any]]:
        """Return the last row of each flow of each cell."""
        columns = {name: table.column(name) for name in table.column_names}
        keys = zip(columns["cell"], columns["flow"], strict=True)
        return {
            key: {name: values[place] for name, values in columns.items()}
            for place, key in enumerate(keys)
        }

    def row(
        self, sender: Sender, handoff: str, kind: str, runs: Sequence[dict[str, int]]
    ) -> MigrationRow:
        seconds = {}
        for size in SIZES:
            each = [self._seconds(sender, run[str(size)], kind) for run in runs]
            done = [one for one in each if one is not None]
            seconds[size] = median(done) if 2 * len(done) > len(each) else None
        last = [(run[str(SIZES[-1])], "mover") for run in runs]
        of = self.flows if sender.reconnects else self.phases
        return MigrationRow(
            sender=sender.name,
            what=sender.what,
            handoff=handoff,
            kind=kind,
            seconds_1mb=seconds[SIZES[0]],
            seconds_20mb=seconds[SIZES[1]],
            stall_s=median(self._stall(sender, key, kind) for key in last),
            lost_queue=median(of[key]["drops_queue"] for key in last),
            lost_down=median(of[key]["drops_break"] for key in last),
            resident=median(
                self.phases[run["beside"], "resident"]["acked"]
                / self.phases[run["alone"], "resident"]["acked"]
                for run in runs
            ),
        )

    def _gap_s(self, kind: str) -> float:
        return 0.5 if KINDS[kind] else 0.0

    def _seconds(self, sender: Sender, cell: int, kind: str) -> float | None:
        """Return the time from the beginning of the handoff."""
        if sender.reconnects:
            ns = self.flows[cell, "mover"]["duration_ns"]
            return None if ns is None else ns / 1e9 + self._gap_s(kind)
        ns = self.phases[cell, "mover"]["all_new_ns"]
        return None if ns is None else ns / 1e9

    def _stall(self, sender: Sender, key: tuple[int, str], kind: str) -> float:
        """Return the longest time without progress; a new connection makes none before its ACK."""
        stall: float = self.flows[key]["stall_ns"] / 1e9
        return stall + self._gap_s(kind) if sender.reconnects else stall
