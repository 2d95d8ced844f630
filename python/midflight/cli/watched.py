"""Files of one run: its events, its packets, its recovery as qlog, and its figure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.input import read_whole
from midflight.cli.output import UserError, note, open_result
from midflight.cli.result_files import result_folder, write_table

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.plot.over_time.history import RunSource

__all__ = [
    "FlowOption",
    "PcapOption",
    "PlotOption",
    "QlogOption",
    "RunFiles",
    "RunOption",
    "SamplesOption",
    "SnaplenOption",
    "TraceOption",
]

TraceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="DIR",
        help="Write every event of each flow in one run as CSV to DIR/FLOW.csv.",
    ),
]
PcapOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pcap",
        metavar="DIR",
        help="Write the packets of a flow in one run at its sender, at its receiver and at the "
        "places of the network as pcapng files for Wireshark.",
    ),
]
QlogOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--qlog",
        metavar="DIR",
        help="Write the recovery of each flow in one run as qlog's events to DIR/FLOW.sqlog; of a "
        "flow over QUIC also what its stack writes itself.",
    ),
]
SamplesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--samples",
        metavar="DIR",
        help="Write the links and the senders of one run at equal intervals as CSV to "
        "DIR/links.csv and DIR/senders.csv.",
    ),
]
PlotOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw a flow in one run over time, as .png, .svg, .pdf or .pgf; `midflight plot` has "
        "more options.",
    ),
]
FlowOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--flow",
        metavar="NAME",
        help="The flow for --trace, --pcap, --qlog and --plot.  [default: each for --trace and "
        "--qlog, the first for --pcap and --plot]",
    ),
]
RunOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--run",
        metavar="N",
        help="The run for --trace, --pcap, --qlog, --samples and --plot, from 0.",
    ),
]
SnaplenOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Bytes of each packet that --pcap keeps; 0 for all, including the payload of zeros.",
    ),
]


class RunFiles:
    """The paths of the requested files of one run."""

    def __init__(
        self,
        *,
        trace: str | None,
        pcap: str | None,
        qlog: str | None,
        samples: str | None,
        plot: str | None,
        flow: str | None,
        run: str,
        snaplen: str,
    ) -> None:
        """Refuse invalid output places."""
        if trace is not None and (trace == "-" or trace.endswith(".csv")):
            raise UserError(
                f'--trace "{trace}" is a file; give a folder: each flow gets a file in it'
            )
        if plot is not None:
            from midflight.plot.common.style import check_format

            check_format(Path(plot))
        self.folders = {"--trace": trace, "--pcap": pcap, "--qlog": qlog, "--samples": samples}
        self.plot, self.flow = plot, flow
        self.run = read_whole("--run", run, 0, 2**63 - 1)
        self.snaplen = read_whole("--snaplen", snaplen, 0, 262_144)

    def check(self, schemes: Sequence[str]) -> None:
        """Refuse to watch one run of several schemes; only a figure shows them side by side."""
        for option, folder in self.folders.items():
            if folder is not None and len(schemes) > 1:
                raise UserError(
                    f"{option} is of one scheme, not of {len(schemes)} ({', '.join(schemes)}); "
                    "give one --scheme"
                )

    @contextmanager
    def places(self) -> Iterator[Mapping[str, Any]]:
        """Make the folders and open the figure, so that a bad place shows at once."""
        folders = self.folders.items()
        figure: AbstractContextManager[IO[Any] | None] = nullcontext(None)
        if self.plot is not None:
            figure = open_result(Path(self.plot), binary=True)
        made = {option: result_folder(name, option=option) for option, name in folders}
        with (
            made["--trace"] as traces,
            made["--pcap"] as pcaps,
            made["--qlog"] as qlogs,
            made["--samples"] as samples,
            figure as file,
        ):
            found = {"--trace": traces, "--pcap": pcaps, "--qlog": qlogs, "--samples": samples}
            yield {**found, "--plot": file}

    def write(
        self, places: Mapping[str, Any], setup: Callable[[int], Setup], source: RunSource
    ) -> None:
        """Write the files of the run; `source` is what figures are drawn of."""
        if not any(place is not None for place in places.values()):
            return
        asked = setup(self.run)
        names = [self.flow] if self.flow is not None else [one["name"] for one in asked.flows]
        if (folder := places["--pcap"]) is not None:
            files = asked.capture(flow=self.flow, snaplen=self.snaplen)
            for place, data in files.items():
                with open_result(folder / f"{place}.pcapng", binary=True) as file:
                    file.write(data)
            tell("captures", folder, [f"{place}.pcapng" for place in files])
        if (folder := places["--trace"]) is not None:
            for name in names:
                with open_result(folder / f"{name}.csv") as file:
                    write_table(asked.trace(flow=name), file)
            tell("events", folder, [f"{name}.csv" for name in names])
        if (folder := places["--qlog"]) is not None:
            from midflight import QUIC_STACKS
            from midflight.qlog import SUFFIX, write_qlog

            written = []
            stacks = {one["name"]: one["stack"] for one in asked.flows}
            for name in names:
                written.append(f"{name}{SUFFIX}")
                with open_result(folder / written[-1]) as file:
                    write_qlog(asked, name, file)
                if stacks[name] in QUIC_STACKS:
                    # The stack's own log is written beside it.
                    written.append(f"{name}.{stacks[name]}{SUFFIX}")
                    with open_result(folder / written[-1], binary=True) as file:
                        file.write(asked.stack_log(flow=name) or b"")
            tell("qlog", folder, written)
        if (folder := places["--samples"]) is not None:
            tables = dict(zip(("links.csv", "senders.csv"), asked.samples(), strict=True))
            for name, table in tables.items():
                with open_result(folder / name) as file:
                    write_table(table, file)
            tell("samples", folder, list(tables))
        if (file := places["--plot"]) is not None:
            from midflight.plot.common.style import check_format, figure_bytes
            from midflight.plot.usual import usual_figure

            drawn = usual_figure(source, flow=self.flow, run=self.run)
            file.write(figure_bytes(drawn, check_format(Path(str(self.plot)))))


def tell(what: str, folder: Path, names: Sequence[str]) -> None:
    """Print a note with the files that were written."""
    note(f"{what} in {folder}: {', '.join(names)}")
