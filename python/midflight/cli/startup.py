"""`midflight startup`: how connections start over one access link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.cli.handoff import RESIDENT_SCHEME, STAGGER, WINDOW, WIRED
from midflight.cli.question import (
    Definition,
    Part,
    end,
    link,
    link_is_slow,
    several_flows,
    time,
    whole,
    wholes,
)

if TYPE_CHECKING:
    from midflight.question import Question

__all__ = ["STARTUP"]

#: Bytes of a data packet that are not payload.
HEADER_BYTES = 40

ABOUT = """Simulate the start of connections over one access link.

Prints for each scheme the goodput over the first packets: their payload over the time from the
flow's SYN until they are acknowledged, the mean of the flows; and sums of counts until the last of
these packets is acknowledged. Senders get a notice of the link before they start.

The network is that of `midflight handoff`, without a handoff.

\b
Examples:
  midflight startup --link "50 Mbit/s, 15 ms" --scheme sack --scheme westwood --flows 4
  midflight startup --link "54 Mbit/s, 2 ms" --packets 100,1000 --residents 2 --lead 5s \\
      --window 10s --csv starts.csv
"""


def keywords(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of the core's class."""
    found = {one.key: values[one.name] for one in STARTUP.options}
    return {**found, "lead_ns": values["lead"] if values["residents"] else 0}


def notes(values: Mapping[str, Any], given: frozenset[str]) -> Iterator[str]:
    """Yield a note for each option without effect."""
    yield from several_flows(values, given)
    yield from link_is_slow(values, ("link",))


def summary(asked: Question, table: Any) -> Sequence[Part]:
    """Return the goodput of each scheme; it is missing if a flow did not reach that packet."""
    import numpy as np

    from midflight.results import by_flow, jain

    flows, bits = asked.keywords["flows"], asked.segment_bits - 8 * HEADER_BYTES
    rows = []
    for number, scheme in enumerate(asked.schemes):

        def of(column: str, run: int = number) -> Any:
            return by_flow(table, column)[run]

        row: dict[str, Any] = {"scheme": scheme}
        for count in asked.keywords["packets"]:
            seconds = of(f"t_{count}_ns")[:flows] / 1e9
            row[f"first_{count}_bps"] = float(np.mean(count * bits / seconds))
        for name in ("drops_data", "rexmits", "timeouts"):
            row[name] = int(of(name)[:flows].sum())
        if asked.keywords["window_ns"] is not None:
            row |= {"acked": int(of("acked_window").sum()), "jain": jain(of("acked_window"))}
        last = of(f"t_{asked.keywords['packets'][-1]}_ns")[:flows]
        rows.append({**row, "unfinished": int(np.isnan(last).sum())})
    if not any(row["unfinished"] for row in rows):
        rows = [{key: value for key, value in row.items() if key != "unfinished"} for row in rows]
    caption = (
        "Goodput in Mbit/s over the first packets, the mean of the flows; counts are their sums."
    )
    if asked.keywords["window_ns"] is not None:
        caption += " acked: what all flows get acknowledged in the window; jain: how evenly."
    return [Part("schemes", caption, rows)]


STARTUP = Definition(
    "startup",
    ABOUT,
    [
        link("link", 'The access link, such as "50 Mbit/s, 15 ms".', needed=True),
        whole("flows", "Number of flows that start together.", "1", 1, 64),
        STAGGER,
        wholes(
            "packets",
            "Numbers of packets whose transfer is timed, ascending.",
            "10,100,200,300,400",
            1,
            1_000_000,
        ),
        whole("residents", "Number of further flows that use the link before them.", "0", 0, 64),
        RESIDENT_SCHEME,
        time("lead", "How long the residents start before the others.", "10s"),
        WINDOW,
        WIRED,
        end("End of unfinished runs.", "1h"),
    ],
    summary,
    notes,
    keywords,
    lambda values: [values["resident-scheme"]] if values["residents"] else [],
)
