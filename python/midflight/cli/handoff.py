"""`midflight handoff`: one pair of links, many handoff instants, one or more schemes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.cli.question import (
    Definition,
    Part,
    end,
    flag,
    link,
    link_is_slow,
    means,
    several_flows,
    time,
    times,
    whole,
    wholes,
    word,
)

if TYPE_CHECKING:
    from midflight.question import Question

__all__ = ["HANDOFF", "RESIDENT_SCHEME", "STAGGER", "WINDOW", "WIRED"]

WIRED = link(
    "wired",
    "Each of the two wired links between the sender and the access link; the rate is also that of "
    "the mobile node's interfaces.",
    "100 Mbit/s, 2 ms",
)
STAGGER = time("stagger", "Time between the starts of two flows.", "0s")
RESIDENT_SCHEME = word("resident-scheme", "NAME", "The sender of each resident.", "sack")
WINDOW = time(
    "window",
    "Also count the packets of all flows that are acknowledged in this time after the handoff (at "
    "a start: after the first of the flows opens), and Jain's fairness index (1 is equal).",
)

ABOUT = """Simulate a handoff for each scheme and instant, of one connection or of several.

Prints for each scheme the quartiles of the transfer time, which is the time from the handoff until
100 packets that were never sent before it are acknowledged, and mean counts per run (drops: data
packets lost until then). With several flows it is the slowest one's time.

The network: sender - wired link - router - wired link - access link - mobile node. Packets of
1500 B; the queue of an access link holds its bandwidth-delay product, at least 5 packets; the
receiver delays ACKs; delays are one-way.

\b
Examples:
  midflight handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --at 8.2s --profile ns2
  midflight handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --kind mbb \\
      --at 0.1s:20s:0.1s --scheme sack --scheme enhanced --csv runs.csv
  midflight handoff --old "54 Mbit/s, 2 ms" --new "2 Mbit/s, 50 ms" --kind bbm --gap 1s \\
      --at 1s,5s,10s --json
  midflight handoff --old "6400 kbit/s, 9 ms" --new "2 Mbit/s, 50 ms" --at 1s:20s:1s \\
      --flows 4 --residents 2 --window 10s --scheme sack --scheme enhanced
"""


def keywords(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of the core's class."""
    first, *others = values["packets"]
    found = {one.key: values[one.name] for one in HANDOFF.options if one.name != "no-notice"}
    return {**found, "packets": first, "extra_packets": others, "notice": not values["no-notice"]}


def notes(values: Mapping[str, Any], given: frozenset[str]) -> Iterator[str]:
    """Yield a note for each option without effect."""
    if "gap" in given and values["kind"] == "mbb":
        yield "--gap has no effect on a make-before-break handoff; it is for --kind bbm"
    yield from several_flows(values, given)
    yield from link_is_slow(values, ("old", "new"))


def summary(asked: Question, table: Any) -> Sequence[Part]:
    """Return quartiles and means of each scheme; of several flows the slowest one's times.

    With a window, Jain's index is over all flows of a run.
    """
    import numpy as np

    from midflight.results import Columns, by_flow, jain, quartiles, slowest

    of_runs = slowest(table)
    names = ["timeouts", "nspur", "drops_data", "rexmits"]
    found = {name: of_runs.column(name) for name in (*names, "t_new_ns")}
    if asked.keywords["window_ns"] is not None:
        each = by_flow(table, "acked_window")
        found |= {"acked": list(each.sum(axis=1)), "jain": [jain(flows) for flows in each]}
        names += ["acked", "jain"]
    runs, of_all = asked.runs, Columns(found)
    transfer = np.asarray(of_all.numpy("t_new_ns"), dtype=float)
    rows = []
    for number, name in enumerate(asked.schemes):
        mine = slice(number * runs, (number + 1) * runs)
        times = {f"{one}_ns": at for one, at in quartiles(transfer[mine])._asdict().items()}
        unfinished = int(np.isnan(transfer[mine]).sum())
        rows.append(
            {"scheme": name, **times, **means(of_all, names, mine), "unfinished": unfinished}
        )
    if not any(row["unfinished"] for row in rows):
        rows = [{key: value for key, value in row.items() if key != "unfinished"} for row in rows]
    caption = (
        f"Seconds from the handoff until {asked.keywords['packets']} new packets are acknowledged; "
        "means per run."
    )
    if asked.keywords["flows"] > 1:
        caption += " Times are those of the slowest flow that moves, counts are over all of them."
    if asked.keywords["window_ns"] is not None:
        caption += " acked: what all flows get acknowledged in the window; jain: how evenly."
    return [Part("schemes", caption, rows)]


HANDOFF = Definition(
    "handoff",
    ABOUT,
    [
        link("old", 'The old access link, such as "6400 kbit/s, 9 ms".', needed=True),
        link("new", "The new access link, written the same way.", needed=True),
        times(
            "at",
            "When the handoff happens: one time 8.2s, a list 1s,2s, or from:to:step 0.1s:20s:0.1s.",
            needed=True,
        ),
        word(
            "kind",
            "KIND",
            "mbb (make-before-break: the routes change at once, without loss) or bbm "
            "(break-before-make: the old link breaks, and the new one is in use after the gap).",
            "mbb",
        ),
        time("gap", "Time without a link, which loses what is sent then; for bbm only.", "500ms"),
        wholes(
            "packets",
            "Number of new packets whose transfer is timed; of several the first is in the "
            "summary. The run ends when all are acknowledged.",
            "100",
            1,
            1_000_000,
        ),
        time("notice-delay", "Delay of the notice to the sender.", "0ms"),
        flag("no-notice", "The sender gets no notice of the handoff."),
        WIRED,
        whole("flows", "Number of flows that move together.", "1", 1, 64),
        STAGGER,
        whole("residents", "Number of further flows that stay on the new link.", "0", 0, 64),
        RESIDENT_SCHEME,
        WINDOW,
        flag("start-notice", "Senders that use it get a notice of the old link at the start."),
        end("End of unfinished runs.", "1h"),
    ],
    summary,
    notes,
    keywords,
    lambda values: [values["resident-scheme"]] if values["residents"] else [],
)
