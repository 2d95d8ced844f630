"""`midflight handoff`: one pair of links, many handoff instants, one or more schemes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.captures import Captures, PcapOption, SnaplenOption
from midflight.cli.input import idle_knobs, link_text, read, read_knobs, read_whole
from midflight.cli.options import (
    EndOption,
    FixedOption,
    JsonOption,
    KnobsOption,
    ProfileOption,
    ResidentSchemeOption,
    SchemesOption,
    StaggerOption,
    ThreadsOption,
)
from midflight.cli.output import (
    QUIET_S,
    align,
    note,
    progress_display,
    put_table,
    seconds,
    time_text,
)

if TYPE_CHECKING:
    from midflight._core import Table

Columns: TypeAlias = tuple[tuple[str, str, Callable[[Any], str]], ...]

# A column of the CSV file: its name, the core's name, and how a value is written. The names and
# their meaning are those of the ns-2 reference data, hence the `100` for any number of packets.
CSV_COLUMNS: Columns = (
    ("scheme", "scheme", str),
    ("th", "th_ns", seconds),
    ("t_new100", "t_new_ns", seconds),
    ("t_new100_make", "t_new_make_ns", seconds),
    ("t_ack100", "t_ack_ns", seconds),
    ("t_newpath100", "t_newpath_ns", seconds),
    ("nrto", "nrto", str),
    ("nspur", "nspur", str),
    ("first_rto", "first_rto_ns", seconds),
    ("drops_data", "drops_data", str),
    ("drops_all", "drops_all", str),
    ("rexmits", "rexmits", str),
    ("cwnd", "cwnd", "{:.3f}".format),
    ("ssthresh", "ssthresh", "{:.12g}".format),
    ("flight", "flight", str),
    ("rto", "rto_ns", seconds),
    ("hiack", "hiack", str),
    ("maxseq", "maxseq", str),
    ("sent_in_outage", "sent_in_outage", str),
    ("dupacks", "dupacks", str),
    ("backoff", "backoff", str),
)
# Beside them where there are several flows, and where there is a window.
FLOW_COLUMNS: Columns = (("flow", "flow", str), ("resident", "resident", str))
WINDOW_COLUMNS: Columns = (("acked_window", "acked_window", str),)
# What the summary counts: its heading and the core's column.
COUNTS = (
    ("timeouts", "timeouts"),
    ("spurious", "nspur"),
    ("drops", "drops_data"),
    ("retransmissions", "rexmits"),
)
# What a sweep is told and a single run is not.
OF_MANY_RUNS = {"at_ns", "schemes", "threads"}
KINDS = {"mbb": "make-before-break", "bbm": "break-before-make"}


def handoff(
    old: Annotated[
        str,
        typer.Option(
            metavar="LINK",
            help='The old access link: rate and one-way delay, such as "6400 kbit/s, 9 ms".',
        ),
    ],
    new: Annotated[
        str, typer.Option(metavar="LINK", help="The new access link, written the same way.")
    ],
    at: Annotated[
        str,
        typer.Option(
            metavar="TIMES",
            help="When the handoff happens: one time 8.2s, a list 1s,2s, "
            "or from:to:step 0.1s:20s:0.1s.",
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="mbb (make-before-break: the routes change at once, without loss) or bbm "
            "(break-before-make: the old link breaks, and the new one is in use after the "
            "gap).",
        ),
    ] = "mbb",
    scheme: SchemesOption = None,
    profile: ProfileOption = "ns2",
    gap: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time without any link; for bbm only.  [default: 500ms]"),
    ] = None,
    packets: Annotated[
        str,
        typer.Option(metavar="N", help="Number of new packets whose acknowledgement ends a run."),
    ] = "100",
    notify_delay: Annotated[
        str, typer.Option(metavar="TIME", help="Delay of the notice to the sender.")
    ] = "0ms",
    no_notice: Annotated[
        bool, typer.Option("--no-notice", help="The sender is not told of the handoff.")
    ] = False,
    knobs: KnobsOption = None,
    fixed: FixedOption = "100 Mbit/s, 2 ms",
    flows: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Number of flows that move together; times are then those of the slowest flow, "
            "counts are sums.",
        ),
    ] = "1",
    stagger: StaggerOption = "0s",
    residents: Annotated[
        str,
        typer.Option(
            metavar="N", help="Number of further flows that use the new link from the start."
        ),
    ] = "0",
    resident_scheme: ResidentSchemeOption = "sack",
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Also count the packets of all flows that are acknowledged in this time after "
            "the handoff, and Jain's fairness index (1 is equal).",
        ),
    ] = None,
    start_notice: Annotated[
        bool,
        typer.Option(
            "--start-notice", help="Senders that use it get a notice of the old link at the start."
        ),
    ] = False,
    end: EndOption = "1h",
    threads: ThreadsOption = "0",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write one row per scheme, instant and flow; - is standard output. The 100 in "
            "column names stands for --packets.",
        ),
    ] = None,
    pcap: PcapOption = None,
    snaplen: SnaplenOption = "128",
    as_json: JsonOption = False,
) -> None:
    """Simulate a handoff for each scheme and instant, of one connection or of several.

    Prints for each scheme the quartiles of the transfer time, which is the time from the handoff
    until 100 packets that were never sent before it are acknowledged, and mean counts per run
    (drops: data packets lost until then). With several flows it is the slowest one's time.

    The network: sender - fixed link - router - fixed link - access link - mobile node. Packets of
    1500 B; the queue of an access link holds its bandwidth-delay product, at least 5 packets; the
    receiver delays ACKs; delays are one-way.

    \b
    Examples:
      midflight handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --at 8.2s
      midflight handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --kind mbb \\
          --at 0.1s:20s:0.1s --scheme sack --scheme enhanced --csv runs.csv
      midflight handoff --old "54 Mbit/s, 2 ms" --new "2 Mbit/s, 50 ms" --kind bbm --gap 1s \\
          --at 1s,5s,10s --profile rfc --json
      midflight handoff --old "6400 kbit/s, 9 ms" --new "2 Mbit/s, 50 ms" --at 1s:20s:1s \\
          --flows 4 --residents 2 --window 10s --scheme sack --scheme enhanced
    """
    captures = Captures(pcap, snaplen, scheme or ["sack"])

    from midflight import _core

    request: dict[str, Any] = {
        "old": read("--old", _core.parse_link, old),
        "new": read("--new", _core.parse_link, new),
        "kind": kind,
        "at_ns": read("--at", _core.parse_instants, at),
        "schemes": scheme or ["sack"],
        "profile": profile,
        "gap_ns": read("--gap", _core.parse_duration, gap or "500ms"),
        "packets": read_whole("--packets", packets, 1, 1_000_000),
        "notify": not no_notice,
        "notify_delay_ns": read("--notify-delay", _core.parse_duration, notify_delay),
        "fixed": read("--fixed", _core.parse_link, fixed),
        "end_ns": read("--end", _core.parse_duration, end),
        "knobs": read_knobs(knobs or []),
        "flows": read_whole("--flows", flows, 1, 64),
        "stagger_ns": read("--stagger", _core.parse_duration, stagger),
        "residents": read_whole("--residents", residents, 0, 64),
        "resident_scheme": resident_scheme,
        "window_ns": None if window is None else read("--window", _core.parse_duration, window),
        "start_notice": start_notice,
        "threads": read_whole("--threads", threads, 0, 1024),
    }
    for warning in warnings(request, gap_given=gap is not None):
        note(warning)

    def run() -> Table:
        # First: what cannot be captured shows before the runs.
        captures.write(lambda snaplen: first_capture(request, snaplen))
        with progress_display(quiet_s=QUIET_S) as progress:
            return _core.handoff(
                **request, progress=lambda done, total: progress("handoffs", done, total)
            )

    put_table(
        run,
        csv_file,
        as_json=as_json,
        lines=lambda table: csv_lines(request, table),
        summary=lambda table: summary(request, table),
        values=lambda table: as_values(request, table),
    )


def first_capture(request: dict[str, Any], snaplen: int) -> Mapping[str, bytes]:
    """Return the captures of the run at the first instant."""
    from midflight import _core

    shared = {key: value for key, value in request.items() if key not in OF_MANY_RUNS}
    setup = _core.Setup.handoff(**shared, at_ns=request["at_ns"][0], scheme=request["schemes"][0])
    return setup.capture(snaplen=snaplen)


def warnings(request: dict[str, Any], *, gap_given: bool) -> Iterator[str]:
    """Yield what a user should know before trusting the result."""
    if gap_given and request["kind"] == "mbb":
        yield "--gap has no effect on a make-before-break handoff; it is for --kind bbm"
    if request["stagger_ns"] and max(request["flows"], request["residents"]) == 1:
        yield "--stagger has no effect on a single flow"
    if request["resident_scheme"] != "sack" and not request["residents"]:
        yield "--resident-scheme has no effect without --residents"
    for which in ("old", "new"):
        if request[which][0] >= request["fixed"][0]:
            yield (
                f"the {which} access link is as fast as the fixed links before it "
                f"({link_text(request['fixed'])}), which then are the bottleneck, with an "
                'unlimited queue; give faster ones, such as --fixed "100 Gbit/s, 2 ms"'
            )
    schemes = list(request["schemes"])
    if request["residents"]:
        schemes.append(request["resident_scheme"])
    yield from idle_knobs(schemes, request["knobs"])


def csv_columns(request: dict[str, Any]) -> Columns:
    """Return the columns of the CSV file; of one flow they are the reference data's."""
    columns = CSV_COLUMNS
    if request["flows"] + request["residents"] > 1:
        columns = (*columns[:2], *FLOW_COLUMNS, *columns[2:])
    return columns if request["window_ns"] is None else (*columns, *WINDOW_COLUMNS)


def csv_lines(request: dict[str, Any], table: Table) -> Iterator[list[str]]:
    """Yield the names of the columns, then the rows as fields."""
    chosen = csv_columns(request)
    yield [name for name, _, _ in chosen]
    columns = [table.column(name) for _, name, _ in chosen]
    for values in zip(*columns, strict=True):
        yield [
            "" if value is None else write(value)
            for value, (_, _, write) in zip(values, chosen, strict=True)
        ]


def per_scheme(request: dict[str, Any], table: Table) -> Iterator[dict[str, Any]]:
    """Yield the summary of each scheme: quartiles in seconds (infinite: not reached) and means.

    Of several flows that move, times are the slowest one's and counts their sums. With a window,
    Jain's index is over all flows of a run.
    """
    import numpy as np

    from midflight.results import by_flow, jain, quartiles, slowest

    of_runs = slowest(table)
    transfer = np.asarray(of_runs.numpy("t_new_ns"), dtype=float) / 1e9
    counts = {heading: of_runs.numpy(name) for heading, name in COUNTS}
    if request["window_ns"] is not None:
        each = by_flow(table, "acked_window")
        counts["acked"] = each.sum(axis=1)
        counts["jain"] = np.array([jain(flows) for flows in each])
    runs = len(request["at_ns"])
    for number, name in enumerate(request["schemes"]):
        mine = slice(number * runs, (number + 1) * runs)
        yield {
            "scheme": name,
            "runs": runs,
            "unfinished": int(np.isnan(transfer[mine]).sum()),
            "transfer_s": quartiles(transfer[mine])._asdict(),
            "mean": {heading: float(np.mean(values[mine])) for heading, values in counts.items()},
        }


def settings_text(request: dict[str, Any]) -> str:
    """Return the profile and what differs from it."""
    changed = [f"{name}={value}" for name, value in request["knobs"].items()]
    if not request["notify"]:
        changed.append("no notice")
    elif request["notify_delay_ns"]:
        changed.append(f"notice after {request['notify_delay_ns'] / 1e6:.12g} ms")
    if request["start_notice"]:
        changed.append("notice at the start")
    return f"profile {request['profile']}" + (f" with {', '.join(changed)}" if changed else "")


def flows_text(request: dict[str, Any]) -> str:
    """Return who moves and who is there already; nothing for a single flow."""
    flows, residents = request["flows"], request["residents"]
    if flows + residents == 1:
        return ""
    text = f"{flows} flow{'s' * (flows > 1)} move{'s' * (flows == 1)}"
    if residents:
        text += f", {residents} resident{'s' * (residents > 1)} of the new link"
        text += f" ({request['resident_scheme']})"
    if request["stagger_ns"]:
        text += f", {time_text(request['stagger_ns'])} between starts"
    return text


def summary(request: dict[str, Any], table: Table) -> str:
    """Return the summary as a few lines and a table."""
    at = request["at_ns"]
    instants = f"at {at[0] / 1e9:g} s"
    if len(at) > 1:
        instants = f"{len(at)} instants from {min(at) / 1e9:g} s to {max(at) / 1e9:g} s"
    kind = KINDS.get(request["kind"], request["kind"])
    if request["kind"] == "bbm":
        kind += f" with a gap of {request['gap_ns'] / 1e6:.12g} ms"
    lines = [
        f"{link_text(request['old'])}  ->  {link_text(request['new'])}",
        f"{kind}, {instants}, {settings_text(request)}",
    ]
    several = flows_text(request)
    if several:
        lines.append(several)
    lines.append(
        f"Seconds from the handoff until {request['packets']} new packets are acknowledged; "
        "means per run."
    )
    if request["flows"] > 1:
        lines.append("Times are those of the slowest flow that moves, counts are over all of them.")
    if request["window_ns"] is not None:
        lines.append(
            f"Packets that all flows get acknowledged in {time_text(request['window_ns'])} from "
            "the handoff on, and Jain's index of how evenly."
        )
    lines.append("")
    body = list(per_scheme(request, table))
    head = ["scheme", "q1", "median", "q3", *body[0]["mean"]]
    unfinished = any(one["unfinished"] for one in body)
    if unfinished:
        head.append("unfinished")
    cells = [head]
    for one in body:
        cells.append(
            [
                one["scheme"],
                *(f"{value:.3f}" for value in one["transfer_s"].values()),
                *(
                    f"{value:.3f}" if name == "jain" else f"{value:.2f}"
                    for name, value in one["mean"].items()
                ),
                *([str(one["unfinished"])] if unfinished else []),
            ]
        )
    return "\n".join(lines) + "\n" + align(cells)


def as_values(request: dict[str, Any], table: Table) -> dict[str, Any]:
    """Return request, summary and runs as values for JSON; times of runs are in seconds."""
    from midflight import _core

    schemes = []
    for one in per_scheme(request, table):
        times = {
            name: None if value == float("inf") else value
            for name, value in one["transfer_s"].items()
        }
        mean = {name: None if value != value else value for name, value in one["mean"].items()}
        schemes.append({**one, "transfer_s": times, "mean": mean})
    columns = {
        name: [
            value / 1e9 if source.endswith("_ns") and value is not None else value
            for value in table.column(source)
        ]
        for name, source, _ in csv_columns(request)
    }
    runs = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    asked = {key: value for key, value in request.items() if key != "threads"}
    for end in ("old", "new", "fixed"):
        asked[end] = {"rate_bit_s": request[end][0], "delay_ns": request[end][1]}
    return {
        "model_version": _core.MODEL_VERSION,
        "request": asked,
        "schemes": schemes,
        "runs": runs,
    }
