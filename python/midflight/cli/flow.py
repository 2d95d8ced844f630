"""`midflight flow`: a long-lived flow over a radio link that another one may replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from midflight.cli.captures import Captures, PcapOption, SnaplenOption
from midflight.cli.flow_tables import (
    Outputs,
    columns,
    link_values,
    run_values,
    segment_bits,
)
from midflight.cli.input import idle_knobs, link_text, read, read_knobs, read_whole
from midflight.cli.options import (
    JsonOption,
    KnobsOption,
    ProfileOption,
    RunsOption,
    SchemesOption,
    ThreadsOption,
)
from midflight.cli.output import (
    UserError,
    align,
    note,
    time_text,
)
from midflight.run_tables import counted

if TYPE_CHECKING:
    from midflight._core import LongFlow, Radio, Table

CAUSES = ("congestion", "wireless", "reordering")
# What the summary counts: its heading and the core's column.
COUNTS = (
    ("timeouts", "timeouts"),
    ("spurious", "spurious_timeouts"),
    ("detected", "detected_timeouts"),
    ("fast", "fast_rexmits"),
    ("false", "false_fast_rexmits"),
    ("queue", "drops_queue"),
    ("radio", "drops_radio"),
)
# Two links longer than this are on two lines.
LINE = 100


class RadioRequest(NamedTuple):
    """A radio link as asked for: bit/s and nanoseconds, packets, and models in words."""

    link: tuple[int, int]
    limit: int
    loss: str | None
    reordering: str | None

    def build(self) -> Radio:
        from midflight import _core

        return _core.Radio(self.link, limit=self.limit, loss=self.loss, reordering=self.reordering)

    def text(self) -> str:
        words = [link_text(self.link), f"{self.limit} packets"]
        if self.loss is not None:
            words.append(f"loses {self.loss}")
        if self.reordering is not None:
            words.append(f"reorders {self.reordering}")
        return ", ".join(words)

    def values(self) -> dict[str, Any]:
        return {**self._asdict(), "link": link_values(self.link)}


class Request(NamedTuple):
    """What to run; times are nanoseconds."""

    radio: RadioRequest
    then: RadioRequest | None
    at_ns: int
    pause_ns: int
    notify: bool
    notify_delay_ns: int
    wired: tuple[int, int]
    wired_limit: int
    cross_flows: int
    cross_delay_ns: int
    overhead_ns: int
    schemes: list[str]
    profile: str
    knobs: dict[str, str]
    runs: int
    seed: int
    marks_ns: list[int]

    def flows(self) -> list[LongFlow]:
        """Return the flow under each scheme."""
        from midflight import _core

        radio = self.radio.build()
        then = None if self.then is None else self.then.build()
        return [
            _core.LongFlow(
                radio=radio,
                then=then,
                at_ns=None if then is None else self.at_ns,
                pause_ns=self.pause_ns,
                notify=self.notify,
                notify_delay_ns=self.notify_delay_ns,
                wired=self.wired,
                wired_limit=self.wired_limit,
                cross_flows=self.cross_flows,
                cross_delay_ns=self.cross_delay_ns,
                overhead_ns=self.overhead_ns,
                scheme=scheme,
                profile=self.profile,
                knobs=self.knobs,
                seed=self.seed,
                runs=range(self.runs),
                marks_ns=self.marks_ns,
            )
            for scheme in self.schemes
        ]

    def intervals(self) -> list[tuple[int, int]]:
        """Return start and end of each interval that is measured."""
        return list(zip([0, *self.marks_ns], self.marks_ns, strict=False))

    def capacity_bits(self, start: int, end: int) -> float:
        """Return what the radio link could carry from one instant to another."""

        def during(radio: RadioRequest, first: int, last: int) -> float:
            return radio.link[0] * max(0, min(end, last) - max(start, first)) / 1e9

        if self.then is None:
            return during(self.radio, start, end)
        again = self.at_ns + self.pause_ns
        return during(self.radio, 0, self.at_ns) + during(self.then, again, end)

    @property
    def segment_bits(self) -> int:
        """Return the size of a data segment on the wire."""
        return segment_bits(self.profile, self.knobs)

    def values(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "radio": self.radio.values(),
            "then": None if self.then is None else self.then.values(),
            "at_ns": None if self.then is None else self.at_ns,
            "wired": link_values(self.wired),
        }


def flow(
    radio: Annotated[
        str,
        typer.Option(
            metavar="LINK",
            help='The radio link: rate and one-way delay, such as "1 Mbit/s, 200 ms".',
        ),
    ],
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help='Losses of the link: "uniform 0.5%"; "burst 0.5% 3" (probability of a burst, '
            'its length); or "gilbert 1s 0.1% 100ms 10% 50%" (good state: duration and '
            "losses; bad state: the same; probability of a change after that duration).",
        ),
    ] = None,
    reorder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help='Reordering by the link: "swap 5%" (a packet with the next one), "swap 5% 1s" '
            '(the same, but at most 1 s later) or "linkrtx 5% 100ms" (retransmitted by the '
            "link layer, 100 ms later).",
        ),
    ] = None,
    limit: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Queue limit in packets in either direction, including the packet in "
            "transmission.",
        ),
    ] = "50",
    then: Annotated[
        str | None,
        typer.Option(metavar="LINK", help="The radio link that replaces the first at --at."),
    ] = None,
    then_loss: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Losses of the second link.")
    ] = None,
    then_reorder: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Reordering by the second link.")
    ] = None,
    then_limit: Annotated[
        str | None,
        typer.Option(metavar="N", help="Queue limit of the second link.  [default: as --limit]"),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="When the handover starts, such as 250s.")
    ] = None,
    pause: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long the radio link pauses then; the pause loses nothing.  [default: 0s]",
        ),
    ] = None,
    notify_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="How long after the pause the notice of the handover reaches the sender, for "
            "schemes that use it.  [default: 0ms]",
        ),
    ] = None,
    no_notice: Annotated[
        bool, typer.Option("--no-notice", help="The sender is not told of the handover.")
    ] = False,
    wired: Annotated[
        str, typer.Option(metavar="LINK", help="The wired link before the radio link.")
    ] = "20 Mbit/s, 1 ms",
    wired_limit: Annotated[
        str, typer.Option(metavar="N", help="Queue limit of the wired link in either direction.")
    ] = "30",
    cross: Annotated[
        str,
        typer.Option(metavar="N", help="TCP flows of another host that share the wired link."),
    ] = "0",
    cross_delay: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="One-way delay between their host and the wired link.  [default: 13ms]",
        ),
    ] = None,
    overhead: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Maximum random processing time of a host for a packet. With --cross, about the "
            "transmission time on the wired link, such as 400us, prevents flows from "
            "synchronising.",
        ),
    ] = "0ms",
    scheme: SchemesOption = None,
    profile: ProfileOption = "ns2",
    knobs: KnobsOption = None,
    runs: RunsOption = "10",
    seed: Annotated[
        str,
        typer.Option(
            metavar="N", help="Seed of the random numbers; all schemes meet the same losses."
        ),
    ] = "1",
    end: Annotated[str, typer.Option(metavar="TIME", help="End of each run.")] = "100s",
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIMES",
            help="Further ends of measured intervals: 250s,280s or from:to:step.  [default: "
            "start and end of the handover]",
        ),
    ] = None,
    threads: ThreadsOption = "0",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write one row per scheme, run and interval; - is standard output.",
        ),
    ] = None,
    trace_file: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write every event of run 0; for a single scheme; - is standard output.",
        ),
    ] = None,
    pcap: PcapOption = None,
    snaplen: SnaplenOption = "128",
    as_json: JsonOption = False,
) -> None:
    """Simulate a long-lived flow over a lossy radio link, which may be replaced by another one.

    Prints for each scheme and interval the throughput (with headers and without retransmissions),
    timeouts, fast retransmits and losses; means per run. Spurious timeouts and false fast
    retransmits are those of a segment that was not lost. `detected` counts the timeouts that the
    sender itself found spurious, when it found out. A second table counts the suspected losses of
    all runs and intervals by their true cause and by the sender's classification.

    The network: sender - wired link - radio link - mobile node; cross traffic shares the wired link
    only. Delays are one-way. Losses and reordering affect packets to the mobile node.

    \b
    Examples:
      midflight flow --radio "1 Mbit/s, 200 ms" --loss "uniform 0.5%" --scheme sack \\
          --scheme dcr-ld --runs 5
      midflight flow --radio "1 Mbit/s, 200 ms" --then "10 Mbit/s, 20 ms" --at 50s --pause 5s \\
          --then-loss "gilbert 1s 0.1% 100ms 10% 50%" --scheme sack --scheme dcr-frto-ld
      midflight flow --radio "2 Mbit/s, 50 ms" --reorder "linkrtx 5% 100ms" --cross 10 \\
          --overhead 400us --end 30s --runs 2 --json
      midflight flow --radio "1 Mbit/s, 50 ms" --loss "burst 0.5% 3" --scheme dcr+frto \\
          --end 20s --trace events.csv
    """
    captures = Captures(pcap, snaplen, scheme or ["sack"])
    outputs = Outputs(csv_file, trace_file, captures, as_json=as_json)
    from midflight import _core

    duration = _core.parse_duration
    first = read_radio("", radio, loss, reorder, read_whole("--limit", limit, 1, 1_000_000))
    second = None
    if then is not None:
        if at is None:
            raise UserError("--then needs --at, the time of the handover, such as --at 250s")
        second_limit = read_whole("--then-limit", then_limit or str(first.limit), 1, 1_000_000)
        second = read_radio("then", then, then_loss, then_reorder, second_limit)
    else:
        refuse_without_then(
            {
                "--then-loss": then_loss,
                "--then-reorder": then_reorder,
                "--then-limit": then_limit,
                "--at": at,
                "--pause": pause,
                "--notify-delay": notify_delay,
                "--no-notice": "" if no_notice else None,
            }
        )
    at_ns = read("--at", duration, at or "0s")
    pause_ns = read("--pause", duration, pause or "0s")
    notify_delay_ns = read("--notify-delay", duration, notify_delay or "0ms")
    end_ns = read("--end", duration, end)
    request = Request(
        radio=first,
        then=second,
        at_ns=at_ns,
        pause_ns=pause_ns,
        notify=not no_notice,
        notify_delay_ns=notify_delay_ns,
        wired=read("--wired", _core.parse_link, wired),
        wired_limit=read_whole("--wired-limit", wired_limit, 1, 1_000_000),
        cross_flows=read_whole("--cross", cross, 0, 10_000),
        cross_delay_ns=read("--cross-delay", duration, cross_delay or "13ms"),
        overhead_ns=read("--overhead", duration, overhead),
        schemes=scheme or ["sack"],
        profile=profile,
        knobs=read_knobs(knobs or []),
        runs=read_whole("--runs", runs, 1, 100_000),
        seed=read_whole("--seed", seed, 0, 2**64 - 1),
        marks_ns=read_marks(end_ns, until, (at_ns, at_ns + pause_ns) if second else ()),
    )
    thread_count = read_whole("--threads", threads, 0, 1024)
    told_ns = 0 if no_notice else notify_delay_ns
    if second is not None and at_ns + pause_ns + told_ns >= end_ns:
        notice = f" and a notice {time_text(told_ns)} later" if told_ns else ""
        raise UserError(
            f"the handover at {time_text(at_ns)} with a pause of {time_text(pause_ns)}{notice} is "
            f"not over before the end of the run at {time_text(end_ns)}; accepted is an earlier "
            "--at, a shorter --pause, or a later --end"
        )
    outputs.check_traced(request.schemes)
    flows = request.flows()
    if cross_delay is not None and not request.cross_flows:
        note("--cross-delay has no effect without cross traffic; it is for --cross")
    for one in idle_knobs(request.schemes, request.knobs):
        note(one)

    outputs.make(
        request.schemes,
        request.segment_bits,
        lambda progress: _core.run_long_flows(flows, threads=thread_count, progress=progress),
        lambda: flows[0].setup().trace(),
        lambda snaplen: flows[0].setup().capture(snaplen=snaplen),
        summary=lambda tables: summary(request, tables),
        values=lambda tables: as_values(request, tables),
    )


def read_radio(
    which: str, link: str, loss: str | None, reordering: str | None, limit: int
) -> RadioRequest:
    """Read a radio link; `which` is "" for the first one and "then" for the second."""
    from midflight import _core

    named, prefix = (f"--{which}", f"--{which}-") if which else ("--radio", "--")
    found = RadioRequest(read(named, _core.parse_link, link), limit, loss, reordering)
    read(named, lambda _: _core.Radio(found.link), link)
    if loss is not None:
        read(f"{prefix}loss", lambda text: _core.Radio(found.link, loss=text), loss)
    if reordering is not None:
        option = f"{prefix}reorder"
        read(option, lambda text: _core.Radio(found.link, reordering=text), reordering)
    return found


def refuse_without_then(options: dict[str, str | None]) -> None:
    """Refuse what concerns the second radio link where there is none."""
    for option, value in options.items():
        if value is not None:
            given = f'{option} "{value}"' if value else option
            raise UserError(
                f"{given} is for a second radio link; give that as well, "
                'such as --then "10 Mbit/s, 20 ms"'
            )


def read_marks(end_ns: int, until: str | None, handover: Sequence[int]) -> list[int]:
    """Return the ends of the intervals, ascending; the last one ends the run."""
    from midflight import _core

    if end_ns == 0:
        raise UserError("--end 0 s leaves no time for a run; give a time above zero")
    if until is None:
        marks = [mark for mark in handover if 0 < mark < end_ns]
    else:
        marks = read("--until", _core.parse_instants, until)
        for mark in marks:
            if not 0 < mark <= end_ns:
                raise UserError(
                    f"--until {time_text(mark)} does not end an interval of the run; accepted are "
                    f"times above 0 s up to --end {time_text(end_ns)}"
                )
    return sorted({*marks, end_ns})


def per_scheme(request: Request, tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    """Yield for each scheme the means of each interval, and the suspected losses of all.

    What cannot be said is None: a confidence interval of one run, or a share of a link that stands
    still.
    """
    import numpy as np

    from midflight.results import mean_ci

    for scheme, table in zip(request.schemes, tables, strict=True):
        # A row for each run, a column for each interval.
        found = {
            name: np.array(values).reshape(request.runs, -1)
            for name, values in columns(table, request.segment_bits).items()
            if name != "digest"
        }
        intervals = []
        for number, (start, end) in enumerate(request.intervals()):
            mine = {name: values[:, number] for name, values in found.items()}
            throughput = mean_ci(mine["throughput_kbit_s"])
            possible = request.capacity_bits(start, end) / (end - start) * 1e6
            intervals.append(
                {
                    "from_s": start / 1e9,
                    "until_s": end / 1e9,
                    "throughput_kbit_s": {
                        "mean": throughput.mean,
                        "half_width": throughput.half_width if request.runs > 1 else None,
                    },
                    "percent_of_radio": 100 * throughput.mean / possible if possible else None,
                    "mean": {name: float(mine[name].mean()) for _, name in COUNTS},
                    "suspected": suspected(mine),
                }
            )
        yield {
            "scheme": scheme,
            "runs": request.runs,
            "intervals": intervals,
            "suspected": suspected(found),
        }


def suspected(found: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return the number of suspected losses by what they were and what they were taken for."""
    answers = {cause: f"_as_{cause}" for cause in CAUSES} | {"unanswered": "_unanswered"}
    return {
        truth: {name: int(found[truth + end].sum()) for name, end in answers.items()}
        for truth in CAUSES
    }


def header(request: Request) -> list[str]:
    """Return what is run, as lines."""
    lines = [request.radio.text()]
    if request.then is not None:
        lines.append(f"->  {request.then.text()}")
        if sum(map(len, lines)) < LINE:
            lines = ["  ".join(lines)]
        handover = f"handover at {time_text(request.at_ns)}"
        if request.pause_ns:
            handover += f" with a pause of {time_text(request.pause_ns)}"
        if not request.notify:
            handover += ", no notice"
        elif request.notify_delay_ns:
            handover += f", notice after {request.notify_delay_ns / 1e6:.12g} ms"
        lines.append(handover)
    wired = f"wired link {link_text(request.wired)}, {request.wired_limit} packets"
    if request.cross_flows:
        flows = "1 cross flow" if request.cross_flows == 1 else f"{request.cross_flows} cross flows"
        wired += f", {flows} from {request.cross_delay_ns / 1e6:.12g} ms away"
    if request.overhead_ns:
        wired += f", hosts take up to {request.overhead_ns / 1e6:.12g} ms over a packet"
    lines.append(wired)
    runs = counted(request.runs, "run")
    changed = [f"{name}={value}" for name, value in request.knobs.items()]
    lines.append(
        f"{runs} of {time_text(request.marks_ns[-1])}, seed {request.seed}, "
        f"profile {request.profile}" + (f" with {', '.join(changed)}" if changed else "")
    )
    return lines


def summary(request: Request, tables: Sequence[Table]) -> str:
    """Return what is run, a table of means, and the suspected losses of each scheme."""
    head = ["scheme", "interval", "kbit/s", "+-", "%", *(name for name, _ in COUNTS)]
    cells = [head]
    guesses = []
    for one in per_scheme(request, tables):
        for number, interval in enumerate(one["intervals"]):
            mean, half_width = interval["throughput_kbit_s"].values()
            percent = interval["percent_of_radio"]
            span = f"{interval['from_s']:.12g} to {interval['until_s']:.12g} s"
            cells.append(
                [
                    "" if number else one["scheme"],
                    span,
                    f"{mean:.1f}",
                    "-" if half_width is None else f"{half_width:.1f}",
                    "-" if percent is None else f"{percent:.1f}",
                    *(f"{value:.2f}" for value in interval["mean"].values()),
                ]
            )
        table = [[one["scheme"], *CAUSES, "unanswered"]]
        for truth, taken in one["suspected"].items():
            table.append([f"  {truth}", *map(str, taken.values())])
        guesses.append(align(table))
    return "\n".join(
        [
            *header(request),
            "Throughput, its 95 % confidence interval, and per cent of what the radio link could "
            "carry; timeouts;",
            "fast retransmits, false ones (nothing was lost); packets lost to a full queue and to "
            "the radio; means per run.",
            "",
            align(cells),
            "",
            "Suspected losses of all runs: what they were (rows) and what they were taken for "
            "(columns);",
            "unanswered: a timeout came first.",
            "",
            "\n\n".join(guesses),
        ]
    )


def as_values(request: Request, tables: Sequence[Table]) -> dict[str, Any]:
    """Return request, summary and runs as values for JSON; times of runs are in seconds."""
    from midflight import _core

    return {
        "model_version": _core.MODEL_VERSION,
        "request": request.values(),
        "schemes": list(per_scheme(request, tables)),
        "runs": run_values(request.schemes, tables, request.segment_bits),
    }
