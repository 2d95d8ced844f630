"""`midflight flow`: a long-lived flow over a radio link that another one may replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.cli.output import UserError, time_text
from midflight.cli.question import (
    Definition,
    Part,
    end,
    flag,
    link,
    means,
    model,
    runs_and_seed,
    time,
    times,
    whole,
)

if TYPE_CHECKING:
    from midflight.question import Question

__all__ = ["FLOW"]

CAUSES = ("congestion", "wireless", "reordering")
COUNTS = (
    "timeouts",
    "spurious_timeouts",
    "detected_timeouts",
    "fast_rexmits",
    "false_fast_rexmits",
    "drops_queue",
    "drops_radio",
)
#: The options of the second radio link.
OF_SECOND = ("then-loss", "then-reorder", "then-queue", "at", "pause", "notice-delay", "no-notice")

ABOUT = """Simulate a long-lived flow over a lossy radio link, which another one may replace.

Prints for each scheme and interval the throughput (with headers and without retransmissions),
timeouts, fast retransmits and losses; means per run. Spurious timeouts and false fast retransmits
are those of a segment that was not lost. `detected` counts the timeouts that the sender itself
found spurious, when it found out. A second table counts the suspected losses of all runs and
intervals by their true cause and by the sender's classification.

The network: sender - wired link - radio link - mobile node; cross traffic shares the wired link
only. Delays are one-way. Losses and reordering affect packets to the mobile node.

\b
Examples:
  midflight flow --radio "1 Mbit/s, 200 ms" --loss "uniform 0.5%" --scheme sack \\
      --scheme ld --runs 5
  midflight flow --radio "1 Mbit/s, 200 ms" --then "10 Mbit/s, 20 ms" --at 50s --pause 5s \\
      --then-loss "gilbert 1s 0.1% 100ms 10% 50%" --profile rfc \\
      --scheme sack --scheme dcr-frto-ld
  midflight flow --radio "2 Mbit/s, 50 ms" --reorder "linkrtx 5% 100ms" --cross 10 \\
      --overhead 400us --end 30s --runs 2 --json
  midflight flow --radio "1 Mbit/s, 50 ms" --loss "burst 0.5% 3" --profile rfc \\
      --scheme dcr+frto --end 20s --trace events
"""


def keywords(values: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords of the core's class; the links as what `Radio` takes."""
    radio = {key: values[key] for key in ("queue", "loss", "reorder")}
    radio |= {"link": values["radio"]}
    then = None
    if values["then"] is not None:
        then = {key: values[f"then-{key}"] for key in ("queue", "loss", "reorder")}
        then |= {"link": values["then"], "queue": then["queue"] or radio["queue"]}
    pause, at = values["pause"] or 0, values["at"] or 0
    return {
        "radio": radio,
        "then": then,
        "at_ns": None if then is None else at,
        "pause_ns": pause,
        "notice": not values["no-notice"],
        "notice_delay_ns": values["notice-delay"] or 0,
        "marks_ns": marks(values, () if then is None else (at, at + pause)),
        **{one.key: values[one.name] for one in FLOW.options if one.name in OF_BOTH},
    }


def notes(values: Mapping[str, Any], given: frozenset[str]) -> Iterator[str]:
    """Refuse options that conflict; yield a note for each option without effect."""
    if values["then"] is None:
        for name in OF_SECOND:
            if name in given:
                raise UserError(
                    f"--{name} is for a second radio link; give that as well, such as "
                    '--then "10 Mbit/s, 20 ms"'
                )
    elif values["at"] is None:
        raise UserError("--then needs --at, the time of the handoff, such as --at 250s")
    if "cross-delay" in given and not values["cross"]:
        yield "--cross-delay has no effect without cross traffic; it is for --cross"


def marks(values: Mapping[str, Any], handoff: Sequence[int]) -> list[int]:
    """Return the ends of the intervals, ascending; the last one ends the run."""
    end_ns = values["end"]
    if end_ns == 0:
        raise UserError("--end 0 s leaves no time for a run; give a time above zero")
    if values["marks"] is None:
        return sorted({*(mark for mark in handoff if 0 < mark < end_ns), end_ns})
    for mark in values["marks"]:
        if not 0 < mark <= end_ns:
            raise UserError(
                f"--marks {time_text(mark)} does not end an interval of the run; expected "
                f"times above 0 s up to --end {time_text(end_ns)}"
            )
    return sorted({*values["marks"], end_ns})


def capacity_bps(asked: Question, start: int, end_ns: int) -> float:
    """Return the capacity of the radio link from one instant to another, in bit/s."""
    keywords = asked.keywords

    def during(radio: Mapping[str, Any], first: float, last: float) -> float:
        return float(radio["link"][0]) * max(0, min(end_ns, last) - max(start, first))

    bits = during(keywords["radio"], 0, keywords["at_ns"] or end_ns)
    if keywords["then"] is not None:
        bits += during(keywords["then"], keywords["at_ns"] + keywords["pause_ns"], end_ns)
    return bits / (end_ns - start)


def summary(asked: Question, table: Any) -> Sequence[Part]:
    """Return the means of each interval, and the suspected losses of all."""
    import numpy as np

    from midflight.results import Columns, mean_ci

    ends = asked.keywords["marks_ns"]
    rows, suspected = [], []
    found = {name: np.array(table.column(name)) for name in table.column_names if name != "digest"}
    for number, scheme in enumerate(asked.schemes):
        mine = slice(number * asked.runs * len(ends), (number + 1) * asked.runs * len(ends))
        for place, (start, end_ns) in enumerate(zip([0, *ends], ends, strict=False)):
            of_interval = {name: values[mine][place :: len(ends)] for name, values in found.items()}
            got = mean_ci(of_interval["throughput_bps"])
            possible = capacity_bps(asked, start, end_ns)
            row = {"scheme": scheme, "from_ns": start, "until_ns": end_ns}
            row |= {"throughput_bps": got.mean}
            row |= {"half_width_bps": got.half_width if asked.runs > 1 else None}
            row |= {"percent": 100 * got.mean / possible if possible else None}
            counts = Columns({name: list(of_interval[name]) for name in COUNTS})
            rows.append({**row, **means(counts, COUNTS, slice(None))})
        for truth in CAUSES:
            taken = {one: int(found[f"{truth}_as_{one}"][mine].sum()) for one in CAUSES}
            unanswered = int(found[f"{truth}_unanswered"][mine].sum())
            suspected.append({"scheme": scheme, "cause": truth, **taken, "unanswered": unanswered})
    return [
        Part(
            "schemes",
            "Throughput in Mbit/s, its 95 % confidence interval, and per cent of what the radio "
            "link could carry; timeouts; fast retransmits, false ones (nothing was lost); packets "
            "lost to a full queue and to the radio; means per run.",
            rows,
        ),
        Part(
            "suspected",
            "Suspected losses of all runs: what they were (rows) and what they were taken for "
            "(columns); unanswered: a timeout came first.",
            suspected,
        ),
    ]


#: The parameters of a link of either network, with their options.
LOSS = (
    'Losses of the link: "uniform 0.5%"; "burst 0.5% 3" (probability of a burst, its length); or '
    '"gilbert 1s 0.1% 100ms 10% 50%" (good state: duration and losses; bad state: the same; '
    "probability of a change after that duration)."
)
REORDER = (
    'Reordering by the link: "swap 5%" (a packet with the next one), "swap 5% 1s" (the same, but '
    'at most 1 s later) or "linkrtx 5% 100ms" (retransmitted by the link layer, 100 ms later).'
)
QUEUE = "Queue of the link in packets in either direction, including the packet in transmission."
FLOW = Definition(
    "flow",
    ABOUT,
    [
        link("radio", 'The radio link, such as "1 Mbit/s, 200 ms".', needed=True),
        model("loss", LOSS),
        model("reorder", REORDER, "reorder"),
        whole("queue", QUEUE, "50", 1, 1_000_000),
        link("then", "The radio link that replaces the first at --at."),
        model("then-loss", "Losses of the second link."),
        model("then-reorder", "Reordering by the second link.", "reorder"),
        whole("then-queue", "Queue of the second link; as --queue if not given.", None, 1, 10**6),
        time("at", "When the handoff starts, such as 250s."),
        time("pause", "How long the radio link pauses at the handoff; nothing is lost."),
        time("notice-delay", "How long after the pause the sender gets the notice of the handoff."),
        flag("no-notice", "The sender gets no notice of the handoff."),
        link("wired", "The wired link before the radio link.", "20 Mbit/s, 1 ms"),
        whole("wired-queue", "Queue of the wired link, as --queue.", "30", 1, 1_000_000),
        whole(
            "cross",
            "TCP flows of another host that share the wired link.",
            "0",
            0,
            10_000,
            key="cross_flows",
        ),
        time("cross-delay", "One-way delay between their host and the wired link.", "13ms"),
        time(
            "overhead",
            "Maximum random processing time of a host for a packet. With --cross, about the "
            "transmission time on the wired link, such as 400us, prevents flows from "
            "synchronising.",
            "0ms",
        ),
        *runs_and_seed("all schemes meet the same losses"),
        end("End of each run.", "100s"),
        times("marks", "Ends of measured intervals; start and end of the handoff if not given."),
    ],
    summary,
    notes,
    keywords,
)
#: Options with values that are passed on unchanged as keywords.
OF_BOTH = ("wired", "wired-queue", "cross", "cross-delay", "overhead", "runs", "seed")
