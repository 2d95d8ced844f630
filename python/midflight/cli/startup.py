"""`midflight startup`: how connections start over one access link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

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

# What the summary counts: its heading and the core's column.
COUNTS = (
    ("drops", "drops_data"),
    ("retransmissions", "rexmits"),
    ("timeouts", "timeouts"),
)
#: Bytes of a data packet that are not payload.
HEADER_BYTES = 40


def startup(
    link: Annotated[
        str,
        typer.Option(
            metavar="LINK",
            help='The access link: rate and one-way delay, such as "50 Mbit/s, 15 ms".',
        ),
    ],
    scheme: SchemesOption = None,
    flows: Annotated[
        str, typer.Option(metavar="N", help="Number of flows that start together.")
    ] = "1",
    stagger: StaggerOption = "0s",
    packets: Annotated[
        str,
        typer.Option(
            metavar="N,N,...", help="Numbers of packets whose transfer is timed, ascending."
        ),
    ] = "10,100,200,300,400",
    residents: Annotated[
        str,
        typer.Option(metavar="N", help="Number of further flows that use the link before them."),
    ] = "0",
    resident_scheme: ResidentSchemeOption = "sack",
    lead: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How long the residents start before the others.  [default: 10s]"
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Also count the packets of all flows that are acknowledged in this time after "
            "the first start (residents aside), and Jain's fairness index (1 is equal).",
        ),
    ] = None,
    profile: ProfileOption = "ns2",
    knobs: KnobsOption = None,
    fixed: FixedOption = "100 Mbit/s, 2 ms",
    end: EndOption = "1h",
    threads: ThreadsOption = "0",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write one row per scheme and flow, with the columns of "
            "`midflight.run_startups`; - is standard output.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate the start of connections over one access link.

    Prints for each scheme the goodput over the first packets: their payload over the time from the
    flow's SYN until they are acknowledged, the mean of the flows; and sums of counts until the last
    of these packets is acknowledged. Senders get a notice of the link before they start.

    The network is that of `midflight handoff`, without a handoff.

    \b
    Examples:
      midflight startup --link "50 Mbit/s, 15 ms" --scheme sack --scheme westwood --flows 4
      midflight startup --link "54 Mbit/s, 2 ms" --packets 100,1000 --residents 2 --lead 5s \\
          --window 10s --csv starts.csv
    """
    from midflight import _core

    duration = _core.parse_duration
    counts = [read_whole("--packets", word, 1, 1_000_000) for word in packets.split(",")]
    resident_count = read_whole("--residents", residents, 0, 64)
    request: dict[str, Any] = {
        "link": read("--link", _core.parse_link, link),
        "schemes": scheme or ["sack"],
        "flows": read_whole("--flows", flows, 1, 64),
        "stagger_ns": read("--stagger", duration, stagger),
        "packets": counts,
        "residents": resident_count,
        "resident_scheme": resident_scheme,
        "lead_ns": read("--lead", duration, lead or "10s") if resident_count else 0,
        "window_ns": None if window is None else read("--window", duration, window),
        "profile": profile,
        "knobs": read_knobs(knobs or []),
        "fixed": read("--fixed", _core.parse_link, fixed),
        "end_ns": read("--end", duration, end),
    }
    thread_count = read_whole("--threads", threads, 0, 1024)
    asked = _core.Startup(**request)
    for warning in warnings(request, lead_given=lead is not None):
        note(warning)

    def run() -> Table:
        with progress_display(quiet_s=QUIET_S) as progress:
            (table,) = _core.run_startups(
                [asked],
                threads=thread_count,
                progress=lambda done, total: progress("runs", done, total),
            )
            return table

    put_table(
        run,
        csv_file,
        as_json=as_json,
        lines=csv_lines,
        summary=lambda table: summary(request, table),
        values=lambda table: as_values(request, table),
    )


def warnings(request: dict[str, Any], *, lead_given: bool) -> Iterator[str]:
    """Yield what a user should know before trusting the result."""
    if lead_given and not request["residents"]:
        yield "--lead has no effect without --residents"
    if request["resident_scheme"] != "sack" and not request["residents"]:
        yield "--resident-scheme has no effect without --residents"
    if request["stagger_ns"] and max(request["flows"], request["residents"]) == 1:
        yield "--stagger has no effect on a single flow"
    if request["link"][0] >= request["fixed"][0]:
        yield (
            f"the access link is as fast as the fixed links before it "
            f"({link_text(request['fixed'])}), which then are the bottleneck, with an unlimited "
            'queue; give faster ones, such as --fixed "100 Gbit/s, 2 ms"'
        )
    schemes = list(request["schemes"])
    if request["residents"]:
        schemes.append(request["resident_scheme"])
    yield from idle_knobs(schemes, request["knobs"])


def payload_bits(request: dict[str, Any]) -> int:
    """Return the payload of a data packet."""
    from midflight.cli.flow_tables import segment_bits

    return segment_bits(request["profile"], request["knobs"]) - 8 * HEADER_BYTES


def columns(table: Table) -> dict[str, list[Any]]:
    """Return the columns, times in seconds."""
    found: dict[str, list[Any]] = {}
    for name in table.column_names:
        values = table.column(name)
        if name.endswith("_ns"):
            name = f"{name[:-3]}_s"
            values = [None if value is None else value / 1e9 for value in values]
        found[name] = values
    return found


def csv_lines(table: Table) -> Iterator[Sequence[str]]:
    """Yield the names of the columns, then the rows as fields."""
    names = table.column_names
    yield [f"{name[:-3]}_s" if name.endswith("_ns") else name for name in names]
    each = [
        [seconds(value) for value in table.column(name)]
        if name.endswith("_ns")
        else ["" if value is None else str(value) for value in table.column(name)]
        for name in names
    ]
    yield from zip(*each, strict=True)


def per_scheme(request: dict[str, Any], table: Table) -> Iterator[dict[str, Any]]:
    """Yield the summary of each scheme; a goodput is nan where a flow did not get so far."""
    import numpy as np

    from midflight.results import by_flow, jain

    flows, bits = request["flows"], payload_bits(request)
    for number, name in enumerate(request["schemes"]):

        def newcomers(column: str, run: int = number) -> Any:
            return by_flow(table, column)[run, :flows]

        times = {n: newcomers(f"t_{n}_ns") / 1e9 for n in request["packets"]}
        one = {
            "scheme": name,
            "unfinished": int(
                sum(np.isnan(of_flow).any() for of_flow in zip(*times.values(), strict=True))
            ),
            "goodput_kbit_s": {
                str(n): float(np.mean(n * bits / of_flows)) / 1e3 for n, of_flows in times.items()
            },
            "counts": {heading: int(newcomers(column).sum()) for heading, column in COUNTS},
        }
        if request["window_ns"] is not None:
            each = by_flow(table, "acked_window")[number]
            one["acked"] = int(each.sum())
            one["jain"] = jain(each)
        yield one


def summary(request: dict[str, Any], table: Table) -> str:
    """Return the summary as a few lines and a table."""
    flows, residents = request["flows"], request["residents"]
    who = f"{flows} flow{'s' * (flows > 1)} at once"
    if request["stagger_ns"] and flows > 1:
        who = f"{flows} flows, one every {time_text(request['stagger_ns'])}"
    if residents:
        who += f", {residents} resident{'s' * (residents > 1)} ({request['resident_scheme']})"
        who += f" {time_text(request['lead_ns'])} before"
    changed = ", ".join(f"{name}={value}" for name, value in request["knobs"].items())
    settings = f"profile {request['profile']}" + (f" with {changed}" if changed else "")
    lines = [
        link_text(request["link"]),
        f"{who}; {settings}",
        "Goodput in kbit/s over the first packets, the mean of the flows; counts are their sums.",
    ]
    head = ["scheme", *map(str, request["packets"]), *(heading for heading, _ in COUNTS)]
    if request["window_ns"] is not None:
        lines.append(
            f"Packets that everyone gets acknowledged in {time_text(request['window_ns'])}, and "
            "Jain's index of how evenly."
        )
        head += ["acked", "jain"]
    body = list(per_scheme(request, table))
    unfinished = any(one["unfinished"] for one in body)
    if unfinished:
        head.append("unfinished")
    cells = [head]
    for one in body:
        row = [one["scheme"]]
        row += ["-" if rate != rate else f"{rate:.1f}" for rate in one["goodput_kbit_s"].values()]
        row += [str(count) for count in one["counts"].values()]
        if request["window_ns"] is not None:
            row += [str(one["acked"]), f"{one['jain']:.3f}"]
        if unfinished:
            row.append(str(one["unfinished"]))
        cells.append(row)
    return "\n".join(lines) + "\n\n" + align(cells)


def as_values(request: dict[str, Any], table: Table) -> dict[str, Any]:
    """Return request, summary and flows as values for JSON; times are in seconds."""
    from midflight import _core
    from midflight.cli.flow_tables import link_values

    schemes = []
    for one in per_scheme(request, table):
        goodput = {n: None if rate != rate else rate for n, rate in one["goodput_kbit_s"].items()}
        if one.get("jain") != one.get("jain"):
            one["jain"] = None
        schemes.append({**one, "goodput_kbit_s": goodput})
    found = columns(table)
    each = zip(*found.values(), strict=True)
    return {
        "model_version": _core.MODEL_VERSION,
        "request": {
            **request,
            "link": link_values(request["link"]),
            "fixed": link_values(request["fixed"]),
        },
        "schemes": schemes,
        "flows": [dict(zip(found, values, strict=True)) for values in each],
    }
