"""`midflight roam`: a mobile node that changes its base station every few seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.cli.question import (
    Definition,
    Part,
    end,
    link,
    model,
    runs_and_seed,
    share,
    signed,
    time,
    whole,
    wholes,
)

if TYPE_CHECKING:
    from midflight.question import Question

__all__ = ["ROAM"]

COUNTS = (
    "timeouts",
    "spurious_timeouts",
    "fast_rexmits",
    "drops_queue",
    "drops_radio",
    "drops_break",
)

ABOUT = """Simulate a mobile node that changes its base station every few seconds.

Prints for each scheme the throughput of the mobile node (with headers and without
retransmissions), timeouts, fast retransmits, and data packets lost to a full queue, to the radio,
and because the node had left (down); means per run. A line below has the mean of the residents of
each station. Spurious timeouts are those of a segment that was not lost.

The network: sender - backbone - router - access - base station - wireless - nodes; Mobile IP
with the agent at the sender. Packets that arrive at a station after the node has left are lost.
The node detects the move by an advertisement, signals as its scheme says, and registers; the
agent then sends packets to the new station. Delays are one-way.

\b
Examples:
  midflight roam --scheme sack --scheme tr-acks --scheme freeze --scheme ehn --loss "uniform 1%"
  midflight roam --scheme freeze --set set.freeze_warning=121ms --foresight-missed 20% --runs 5
  midflight roam --scheme ehn --stations 4 --residents 0,1,2,3 --set set.recovery=reno \\
      --set set.congestion=westwood --end 100s
  midflight roam --scheme ehn --every 20s --gap 2s --end 60s --trace events
"""


def keywords(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of the core's class."""
    found = {one.key: values[one.name] for one in ROAM.options}
    return {**found, "every_ns": values["every"] or None}


def idle(asked: Question, given: frozenset[str]) -> Iterator[str]:
    """Yield a note for each scheme and option that can do nothing here."""
    from midflight import _core

    parts = {one["name"]: set(one["parts"]) for one in _core.schemes()}
    signals = {one["name"] for one in _core.signals()} - {"silent"}
    policies = _core.policies()
    waits = {one["name"] for one in policies if one["heeds"] == "notices"}
    heeds = {one["name"] for one in policies if one["heeds"] == "marks"}
    every: set[str] = set()
    for scheme in asked.schemes:
        own = set().union(*(parts.get(name, set()) for name in scheme.split("+")))
        every |= own
        if own & waits:
            yield (
                f"{scheme}: {', '.join(sorted(own & waits))} has no effect without a notice of "
                "the new link, and a roaming node sends none"
            )
        if own & heeds and "ehn-notify" not in own:
            yield f"{scheme}: nothing marks a handoff for {', '.join(sorted(own & heeds))}"
    if given & {"foresight-error", "foresight-missed"} and "freeze" not in every:
        yield "--foresight-error and --foresight-missed have no effect: no scheme uses them"
    if given & {"signal-lost", "signal-copies", "signal-delay"} and not every & signals:
        yield "--signal-lost, -copies and -delay have no effect: no scheme sends a signal"
    knobs: Mapping[str, str] = asked.keywords["knobs"]
    estimates = every & {"westwood", "westwood-plus"} or "westwood" in knobs.get("congestion", "")
    if knobs.get("ehn_window") == "adjusted" and not estimates:
        yield (
            "ehn_window=adjusted is previous without a congestion controller that estimates the "
            "bandwidth, such as --set set.congestion=westwood"
        )


def summary(asked: Question, table: Any) -> Sequence[Part]:
    """Return the means per run of the mobile node and of the residents of each station."""
    import numpy as np

    from midflight.results import mean_ci

    residents = enumerate(asked.keywords["residents"])
    where = [None, *(station for station, count in residents for _ in range(count))]
    groups = {station: [n for n, at in enumerate(where) if at == station] for station in where}
    bps = asked.segment_bits / asked.keywords["end_ns"] * 1e9
    #: Scheme, run, interval, node.
    shape = (len(asked.schemes), asked.runs, -1, len(where))
    sums = {
        name: np.array(table.column(name)).reshape(shape).sum(axis=2) for name in ("acked", *COUNTS)
    }
    rows = []
    for number, scheme in enumerate(asked.schemes):
        for station, members in groups.items():
            got = mean_ci(sums["acked"][number][:, members].mean(axis=1) * bps)
            name = "mobile" if station is None else f"{len(members)} at station {station}"
            row = {"scheme": scheme, "node": name, "throughput_bps": got.mean}
            row |= {"half_width_bps": got.half_width if asked.runs > 1 else None}
            counts = {one: float(sums[one][number][:, members].mean()) for one in COUNTS}
            rows.append({**row, **counts})
    caption = (
        "Throughput in Mbit/s and its 95 % confidence interval; timeouts, spurious ones; fast "
        "retransmits; data packets lost to a full queue, to the radio, and because the node had "
        "left; means per run"
    )
    caption += ", and per node of the residents." if len(where) > 1 else "."
    return [Part("schemes", caption, rows)]


LOSS = 'such as "uniform 1%" or "burst 0.5% 3", see `midflight flow --help`.'
ROAM = Definition(
    "roam",
    ABOUT,
    [
        time("every", "Time between two handoffs; 0s for none.", "5s"),
        whole("stations", "Number of base stations; the next one is drawn at random.", "2", 1, 8),
        wholes("residents", "Nodes that stay at each station, each with a flow.", "0", 0, 200),
        model("loss", f"Losses of a wireless link towards a node, {LOSS}"),
        model("up-loss", f"Losses of a wireless link from a node, {LOSS}"),
        time(
            "advertisement",
            "Time between two router advertisements of a station: the node detects that it has "
            "moved after a random time up to this.",
            "100ms",
        ),
        time("gap", "Time before that in which the node reaches no station.", "0ms"),
        link("wireless", "Link between a base station and its nodes.", "2 Mbit/s, 5 ms"),
        link("access", "Link between router and base station.", "10 Mbit/s, 3 ms"),
        link("backbone", "Link between sender and router.", "100 Mbit/s, 50 ms"),
        whole("queue", "Queue of each of these links in either direction.", "50", 1, 1_000_000),
        signed(
            "foresight-error",
            "Delay of the warning of a handoff (scheme freeze); negative for an early one: -200ms.",
            "0ms",
        ),
        share("foresight-missed", "Share of handoffs that the node does not predict."),
        share("signal-lost", "Share of handoffs after which the node's signal is lost."),
        whole("signal-copies", "Number of copies of a signal that is not lost.", "1", 0, 100),
        time("signal-delay", "Delay of the signal after the registration.", "0ms"),
        *runs_and_seed("all schemes meet the same handoffs and losses"),
        end("End of each run.", "300s"),
    ],
    summary,
    keywords=keywords,
    idle=idle,
)
