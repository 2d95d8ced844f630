"""`midflight roam`: a mobile node that changes its base station every few seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from midflight.cli.captures import Captures, PcapOption, SnaplenOption
from midflight.cli.flow_tables import (
    Outputs,
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
    from midflight._core import Roaming, Table

# What the summary counts: its heading and the core's column.
COUNTS = (
    ("timeouts", "timeouts"),
    ("spurious", "spurious_timeouts"),
    ("fast", "fast_rexmits"),
    ("queue", "drops_queue"),
    ("radio", "drops_radio"),
    ("left", "drops_break"),
)


class Request(NamedTuple):
    """What to run; links are bit/s and nanoseconds, times nanoseconds."""

    backbone: tuple[int, int]
    access: tuple[int, int]
    wireless: tuple[int, int]
    limit: int
    loss: str | None
    back_loss: str | None
    stations: int
    fixed: list[int]
    every_ns: int | None
    advertisement_ns: int
    blackout_ns: int
    foresight_error_ns: int
    foresight_missed: float
    signal_lost: float
    signal_copies: int
    signal_delay_ns: int
    schemes: list[str]
    profile: str
    knobs: dict[str, str]
    runs: int
    seed: int
    end_ns: int

    def nodes(self) -> list[Roaming]:
        """Return the mobile node under each scheme."""
        from midflight import _core

        shared = self._asdict()
        runs = range(shared.pop("runs"))
        return [
            _core.Roaming(scheme=scheme, runs=runs, **shared) for scheme in shared.pop("schemes")
        ]

    @property
    def segment_bits(self) -> int:
        """Return the size of a data segment on the wire."""
        return segment_bits(self.profile, self.knobs)

    def station_of_node(self) -> list[int | None]:
        """Return the base station of each node, None for the mobile one."""
        fixed = enumerate(self.fixed)
        return [None, *(station for station, count in fixed for _ in range(count))]


def roam(
    scheme: SchemesOption = None,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Time between two handovers; 0s for none.")
    ] = "5s",
    stations: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Number of base stations; the node moves to one of the others at random.",
        ),
    ] = "2",
    fixed: Annotated[
        str,
        typer.Option(
            metavar="N,N,...",
            help="Number of nodes that stay at each station and share its wireless link, such as "
            "0,1,2,3; each has a plain flow.",
        ),
    ] = "0",
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help='Losses of a wireless link towards a node: "uniform 1%", "burst 0.5% 3" '
            '(probability of a burst, its length) or "gilbert ...", see `midflight flow`.',
        ),
    ] = None,
    back_loss: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Losses of a wireless link from a node."),
    ] = None,
    advertisement: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Time between two router advertisements of a station: the node detects that it "
            "has moved after a random time up to this.",
        ),
    ] = "100ms",
    blackout: Annotated[
        str,
        typer.Option(metavar="TIME", help="Time before that in which the node reaches no station."),
    ] = "0ms",
    wireless: Annotated[
        str, typer.Option(metavar="LINK", help="The link between a base station and its nodes.")
    ] = "2 Mbit/s, 5 ms",
    access: Annotated[
        str, typer.Option(metavar="LINK", help="The link between router and base station.")
    ] = "10 Mbit/s, 3 ms",
    backbone: Annotated[
        str, typer.Option(metavar="LINK", help="The link between sender and router.")
    ] = "100 Mbit/s, 50 ms",
    limit: Annotated[
        str,
        typer.Option(
            metavar="N", help="Queue limit in packets of each of these links in either direction."
        ),
    ] = "50",
    foresight_error: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Delay of the warning of a handover (scheme freeze); negative for an early "
            "warning: -200ms.",
        ),
    ] = "0ms",
    foresight_missed: Annotated[
        str,
        typer.Option(metavar="SHARE", help="Share of handovers that the node does not foresee."),
    ] = "0%",
    signal_lost: Annotated[
        str,
        typer.Option(
            metavar="SHARE",
            help="Share of handovers after which the node's signal is lost.",
        ),
    ] = "0%",
    signal_copies: Annotated[
        str, typer.Option(metavar="N", help="Number of copies of a signal that is not lost.")
    ] = "1",
    signal_delay: Annotated[
        str, typer.Option(metavar="TIME", help="Delay of the signal after the registration.")
    ] = "0ms",
    profile: ProfileOption = "ns2",
    knobs: KnobsOption = None,
    runs: RunsOption = "10",
    seed: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Seed of the random numbers; all schemes meet the same handovers and losses.",
        ),
    ] = "1",
    end: Annotated[str, typer.Option(metavar="TIME", help="End of each run.")] = "300s",
    threads: ThreadsOption = "0",
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv",
            metavar="FILE",
            help="Write one row per scheme, run, interval between handovers, and node, with the "
            "columns of `midflight.run_roaming`; - is standard output.",
        ),
    ] = None,
    trace_file: Annotated[
        str | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Write every event of the mobile node's flow in run 0; for a single scheme; - is "
            "standard output.",
        ),
    ] = None,
    pcap: PcapOption = None,
    snaplen: SnaplenOption = "128",
    as_json: JsonOption = False,
) -> None:
    """Simulate a mobile node that changes its base station every few seconds.

    Prints for each scheme the throughput of the mobile node (with headers and without
    retransmissions), timeouts, fast retransmits, and data packets lost to a full queue, to the
    radio, and because the node had left; means per run. A line below has the mean of the nodes that
    stay at each station. Spurious timeouts are those of a segment that was not lost.

    The network: sender - backbone - router - access - base station - wireless - nodes; Mobile IP
    with the agent at the sender. Packets that arrive at a station after the node has left are lost.
    The node detects the move by an advertisement, signals as its scheme says, and registers; the
    agent then sends packets to the new station. Delays are one-way.

    \b
    Examples:
      midflight roam --scheme sack --scheme tr-acks --scheme freeze --scheme ehn --loss "uniform 1%"
      midflight roam --scheme freeze --set freeze_warning=121ms --foresight-missed 20% --runs 5
      midflight roam --scheme ehn --stations 4 --fixed 0,1,2,3 --set recovery=reno \\
          --set congestion=westwood --end 100s
      midflight roam --scheme ehn --every 20s --blackout 2s --end 60s --trace events.csv
    """
    captures = Captures(pcap, snaplen, scheme or ["sack"])
    outputs = Outputs(csv_file, trace_file, captures, as_json=as_json)
    from midflight import _core

    duration = _core.parse_duration
    every_ns = read("--every", duration, every)
    request = Request(
        backbone=read("--backbone", _core.parse_link, backbone),
        access=read("--access", _core.parse_link, access),
        wireless=read("--wireless", _core.parse_link, wireless),
        limit=read_whole("--limit", limit, 1, 1_000_000),
        loss=read_loss("--loss", loss),
        back_loss=read_loss("--back-loss", back_loss),
        stations=read_whole("--stations", stations, 1, 8),
        fixed=[read_whole("--fixed", word, 0, 200) for word in fixed.split(",")],
        every_ns=every_ns or None,
        advertisement_ns=read("--advertisement", duration, advertisement),
        blackout_ns=read("--blackout", duration, blackout),
        foresight_error_ns=read_signed("--foresight-error", foresight_error),
        foresight_missed=read_share("--foresight-missed", foresight_missed),
        signal_lost=read_share("--signal-lost", signal_lost),
        signal_copies=read_whole("--signal-copies", signal_copies, 0, 100),
        signal_delay_ns=read("--signal-delay", duration, signal_delay),
        schemes=scheme or ["sack"],
        profile=profile,
        knobs=read_knobs(knobs or []),
        runs=read_whole("--runs", runs, 1, 100_000),
        seed=read_whole("--seed", seed, 0, 2**64 - 1),
        end_ns=read("--end", duration, end),
    )
    thread_count = read_whole("--threads", threads, 0, 1024)
    outputs.check_traced(request.schemes)
    nodes = request.nodes()
    for one in (*idle_knobs(request.schemes, request.knobs), *idle(request)):
        note(one)

    outputs.make(
        request.schemes,
        request.segment_bits,
        lambda progress: _core.run_roaming(nodes, threads=thread_count, progress=progress),
        lambda: nodes[0].setup().trace(),
        lambda snaplen: nodes[0].setup().capture(snaplen=snaplen),
        summary=lambda tables: summary(request, tables),
        values=lambda tables: as_values(request, tables),
    )


def idle(request: Request) -> Iterator[str]:
    """Yield a note for each scheme and option that can do nothing here."""
    from midflight import _core

    parts = {one["name"]: set(one["parts"]) for one in _core.schemes()}
    signals = {one["name"] for one in _core.signals()} - {"silent"}
    policies = _core.policies()
    waits = {one["name"] for one in policies if one["heeds"] == "notices"}
    heeds = {one["name"] for one in policies if one["heeds"] == "marks"}
    every: set[str] = set()
    for scheme in request.schemes:
        own = set().union(*(parts.get(name, set()) for name in scheme.split("+")))
        every |= own
        if own & waits:
            yield (
                f"{scheme}: {', '.join(sorted(own & waits))} has no effect without a notice of "
                "the new link, and a roaming node sends none"
            )
        if own & heeds and "ehn-notify" not in own:
            yield f"{scheme}: nothing marks a handover for {', '.join(sorted(own & heeds))}"
    if (request.foresight_error_ns or request.foresight_missed) and "freeze" not in every:
        yield "--foresight-error and --foresight-missed have no effect: no scheme uses them"
    spoiled = request.signal_lost or request.signal_copies != 1 or request.signal_delay_ns
    if spoiled and not every & signals:
        yield "--signal-lost, -copies and -delay have no effect: no scheme sends a signal"
    estimates = every & {"westwood", "westwood-plus"} or "westwood" in request.knobs.get(
        "congestion", ""
    )
    if request.knobs.get("ehn_window") == "adjusted" and not estimates:
        yield (
            "ehn_window=adjusted is previous without a congestion controller that estimates the "
            "bandwidth, such as --set congestion=westwood"
        )


def read_loss(option: str, model: str | None) -> str | None:
    """Check a model of losses."""
    from midflight import _core

    if model is not None:
        read(option, lambda text: _core.Radio((1_000_000, 0), loss=text), model)
    return model


def read_signed(option: str, text: str) -> int:
    """Read a time that may be negative; return nanoseconds."""
    from midflight import _core

    size: int = read(option, _core.parse_duration, text.removeprefix("-"))
    return -size if text.startswith("-") else size


def read_share(option: str, text: str) -> float:
    """Read a share such as 20% or 0.2."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UserError(f'{option} "{text}" is not a share from 0% to 100%')
    return share


def per_scheme(request: Request, tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    """Yield for each scheme the means per run of the mobile node and of the nodes at each station.

    Those at a station are one entry, the mean of them. The confidence interval of one run is None.
    """
    import numpy as np

    from midflight.results import mean_ci

    where = request.station_of_node()
    groups = {station: [n for n, at in enumerate(where) if at == station] for station in where}
    kbit_s = request.segment_bits / request.end_ns * 1e6
    for scheme, table in zip(request.schemes, tables, strict=True):
        # Run, interval, node.
        sums = {
            name: np.array(table.column(name)).reshape(request.runs, -1, len(where)).sum(axis=1)
            for name in ("acked", *(name for _, name in COUNTS))
        }
        nodes = []
        for station, members in groups.items():
            throughput = mean_ci(sums["acked"][:, members].mean(axis=1) * kbit_s)
            counts = {name: float(sums[name][:, members].mean()) for _, name in COUNTS}
            nodes.append(
                {
                    "node": "mobile" if station is None else "fixed",
                    "station": station,
                    "nodes": len(members),
                    "throughput_kbit_s": {
                        "mean": throughput.mean,
                        "half_width": throughput.half_width if request.runs > 1 else None,
                    },
                    "mean": counts,
                }
            )
        yield {"scheme": scheme, "runs": request.runs, "nodes": nodes}


def header(request: Request) -> list[str]:
    """Return what is run, as lines."""
    links = (("backbone", request.backbone), ("access", request.access))
    ways = [f"{name} {link_text(link)}" for name, link in links]
    wireless = f"wireless {link_text(request.wireless)}"
    if request.loss is not None:
        wireless += f", loses {request.loss}"
    if request.back_loss is not None:
        wireless += f", loses {request.back_loss} on the way back"
    lines = [
        "; ".join([*ways, wireless]),
        f"up to {request.limit} packet{'s' * (request.limit > 1)} at a link",
    ]
    if request.every_ns is None:
        lines.append("no handovers")
    else:
        told = f"a handover every {time_text(request.every_ns)} between {request.stations} stations"
        told += f", advertisements every {time_text(request.advertisement_ns)}"
        if request.blackout_ns:
            told += f" after a blackout of {time_text(request.blackout_ns)}"
        lines.append(told)
    spoiled = []
    if request.foresight_error_ns:
        error = "late" if request.foresight_error_ns > 0 else "early"
        spoiled.append(f"warnings come {time_text(abs(request.foresight_error_ns))} {error}")
    if request.foresight_missed:
        spoiled.append(f"{100 * request.foresight_missed:.4g} % of handovers not foreseen")
    if request.signal_lost:
        spoiled.append(f"{100 * request.signal_lost:.4g} % of signals lost")
    if request.signal_copies != 1:
        spoiled.append(f"{request.signal_copies} copies of a signal")
    if request.signal_delay_ns:
        spoiled.append(f"signals sent {time_text(request.signal_delay_ns)} late")
    if spoiled:
        lines.append(", ".join(spoiled))
    runs = counted(request.runs, "run")
    changed = [f"{name}={value}" for name, value in request.knobs.items()]
    lines.append(
        f"{runs} of {time_text(request.end_ns)}, seed {request.seed}, "
        f"profile {request.profile}" + (f" with {', '.join(changed)}" if changed else "")
    )
    return lines


def summary(request: Request, tables: Sequence[Table]) -> str:
    """Return what is run, and a table of means."""
    cells = [["scheme", "node", "kbit/s", "+-", *(name for name, _ in COUNTS)]]
    for one in per_scheme(request, tables):
        for number, node in enumerate(one["nodes"]):
            mean, half_width = node["throughput_kbit_s"].values()
            station = node["station"]
            cells.append(
                [
                    "" if number else one["scheme"],
                    "mobile" if station is None else f"{node['nodes']} at {station}",
                    f"{mean:.1f}",
                    "-" if half_width is None else f"{half_width:.1f}",
                    *(f"{value:.2f}" for value in node["mean"].values()),
                ]
            )
    return "\n".join(
        [
            *header(request),
            "Throughput and its 95 % confidence interval; timeouts, spurious ones; fast "
            "retransmits; data packets lost",
            "to a full queue, to the radio, and because the node had left; means per run"
            + (", and per node of those that stay." if any(request.fixed) else "."),
            "",
            align(cells),
        ]
    )


def as_values(request: Request, tables: Sequence[Table]) -> dict[str, Any]:
    """Return request, summary and runs as values for JSON; times of runs are in seconds."""
    from midflight import _core

    links = {
        name: link_values(getattr(request, name)) for name in ("backbone", "access", "wireless")
    }
    return {
        "model_version": _core.MODEL_VERSION,
        "request": {**request._asdict(), **links},
        "schemes": list(per_scheme(request, tables)),
        "runs": run_values(request.schemes, tables, request.segment_bits),
    }
