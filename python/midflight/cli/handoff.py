"""`midflight handoff`: one pair of links, many handoff instants, one or more schemes."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from midflight.cli.captures import Captures, PcapOption, SnaplenOption
from midflight.cli.input import idle_knobs, link_text, read, read_knobs, read_whole
from midflight.cli.options import (
    JsonOption,
    KnobsOption,
    ProfileOption,
    SchemesOption,
    ThreadsOption,
)
from midflight.cli.output import UserError, align, open_result, progress_display, seconds

if TYPE_CHECKING:
    from midflight._core import Table

# A column of the CSV file: its name, the core's name, and how a value is written. The names and
# their meaning are those of the ns-2 reference data, hence the `100` for any number of packets.
CSV_COLUMNS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
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
# What the summary counts: its heading and the core's column.
COUNTS = (
    ("timeouts", "timeouts"),
    ("spurious", "nspur"),
    ("drops", "drops_data"),
    ("retransmissions", "rexmits"),
)
# What a run and a sweep of runs are both told.
SHARED = (
    *("old", "new", "kind", "profile", "gap_ns", "packets", "notify", "notify_delay_ns", "fixed"),
    "knobs",
)
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
            help="mbb (make-before-break: the routes switch, nothing is lost by that) or "
            "bbm (break-before-make: the old link dies, the new one comes up after the gap).",
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
        typer.Option(metavar="N", help="How many new packets must be acknowledged to end a run."),
    ] = "100",
    notify_delay: Annotated[
        str, typer.Option(metavar="TIME", help="How long the notice takes to the sender.")
    ] = "0ms",
    no_notice: Annotated[
        bool, typer.Option("--no-notice", help="The sender is not told of the handoff.")
    ] = False,
    knobs: KnobsOption = None,
    fixed: Annotated[
        str,
        typer.Option(
            metavar="LINK",
            help="Each of the two links between the sender and the access link; the rate is also "
            "that of the mobile node's interfaces.",
        ),
    ] = "100 Mbit/s, 2 ms",
    end: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Runs that have not finished by then are given up (unfinished)."
        ),
    ] = "1h",
    threads: ThreadsOption = "0",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write one row per scheme and instant; - is standard output. The 100 in the "
            "names of columns stands for --packets.",
        ),
    ] = None,
    pcap: PcapOption = None,
    snaplen: SnaplenOption = "128",
    as_json: JsonOption = False,
) -> None:
    """Simulate one connection for each scheme and handoff instant.

    Prints for each scheme the quartiles of the transfer time, which is the time from the handoff
    until 100 packets that were never sent before it are acknowledged, and mean counts per run
    (drops: data packets lost until then).

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
    """
    if as_json and csv_file is not None:
        raise UserError("--csv and --json exclude each other; give one of them")

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
        "threads": read_whole("--threads", threads, 0, 1024),
    }
    for warning in warnings(request, gap_given=gap is not None):
        print(f"midflight: note: {warning}", file=sys.stderr)

    def run() -> Table:
        captures.make_folder()
        with progress_display(lines=False) as progress:
            table = _core.handoff(
                **request, progress=lambda done, total: progress("handoffs", done, total)
            )
        captures.write(lambda snaplen: first_capture(request, snaplen))
        return table

    if as_json:
        table = run()
        json.dump(as_values(request, table), sys.stdout, indent=2, allow_nan=False)
        print()
    elif csv_file in ("-", "/dev/stdout"):
        table = run()
        write_csv(table, sys.stdout)
        sys.stdout.flush()
        print(summary(request, table), file=sys.stderr)
    elif csv_file is not None:
        # Opened before the runs, so that a place that cannot be written to shows at once.
        with open_result(Path(csv_file)) as file:
            table = run()
            write_csv(table, file)
        print(summary(request, table))
    else:
        print(summary(request, run()))


def first_capture(request: dict[str, Any], snaplen: int) -> Mapping[str, bytes]:
    """Return the captures of the run at the first instant."""
    from midflight import _core

    shared = {key: request[key] for key in SHARED}
    return _core.capture(
        **shared,
        at_ns=request["at_ns"][0],
        scheme=request["schemes"][0],
        until_ns=request["end_ns"],
        snaplen=snaplen,
    )


def warnings(request: dict[str, Any], *, gap_given: bool) -> Iterator[str]:
    """Yield what a user should know before trusting the result."""
    if gap_given and request["kind"] == "mbb":
        yield "--gap has no effect on a make-before-break handoff; it is for --kind bbm"
    for which in ("old", "new"):
        if request[which][0] >= request["fixed"][0]:
            yield (
                f"the {which} access link is as fast as the fixed links before it "
                f"({link_text(request['fixed'])}), which then are the bottleneck, with an "
                'unlimited queue; give faster ones, such as --fixed "100 Gbit/s, 2 ms"'
            )
    yield from idle_knobs(request["schemes"], request["knobs"])


def rows(table: Table) -> Iterator[list[str]]:
    """Yield the runs as the fields of CSV rows."""
    columns = [table.column(name) for _, name, _ in CSV_COLUMNS]
    for values in zip(*columns, strict=True):
        yield [
            "" if value is None else write(value)
            for value, (_, _, write) in zip(values, CSV_COLUMNS, strict=True)
        ]


def write_csv(table: Table, file: IO[str]) -> None:
    """Write one row per run."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([name for name, _, _ in CSV_COLUMNS])
    writer.writerows(rows(table))


def per_scheme(request: dict[str, Any], table: Table) -> Iterator[dict[str, Any]]:
    """Yield the summary of each scheme: quartiles in seconds (infinite: not reached) and means."""
    import numpy as np

    from midflight.results import quartiles

    transfer = np.asarray(table.numpy("t_new_ns"), dtype=float) / 1e9
    counts = {heading: table.numpy(name) for heading, name in COUNTS}
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
    return f"profile {request['profile']}" + (f" with {', '.join(changed)}" if changed else "")


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
        f"Seconds from the handoff until {request['packets']} new packets are acknowledged; "
        "means per run.",
        "",
    ]
    head = ["scheme", "q1", "median", "q3", *(heading for heading, _ in COUNTS)]
    body = list(per_scheme(request, table))
    unfinished = any(one["unfinished"] for one in body)
    if unfinished:
        head.append("unfinished")
    cells = [head]
    for one in body:
        cells.append(
            [
                one["scheme"],
                *(f"{value:.3f}" for value in one["transfer_s"].values()),
                *(f"{value:.2f}" for value in one["mean"].values()),
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
        schemes.append({**one, "transfer_s": times})
    columns = {
        name: [
            value / 1e9 if source.endswith("_ns") and value is not None else value
            for value in table.column(source)
        ]
        for name, source, _ in CSV_COLUMNS
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
