"""`midflight lab exec`: unmodified programs over the links of a scenario, in virtual time."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from midflight.cli.input import read
from midflight.cli.options import FileArgument, OwnSeedOption, SetsOption
from midflight.cli.output import UserError, note, open_result
from midflight.cli.result_files import result_folder
from midflight.cli.run import scenario_plan, with_shorthands
from midflight.run_tables import csv_row

if TYPE_CHECKING:
    from midflight.lab.programs import Program, Programs
    from midflight.lab.store import Kernel

__all__ = ["KernelOption", "LimitOption", "SysctlsOption", "execute", "read_limit", "read_sysctls"]

KernelOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="The kernel, by its name or the beginning of it.  [default: the first of "
        "`midflight lab list`]",
    ),
]
SysctlsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--sysctl",
        metavar="KEY=VALUE",
        help="A setting of the kernel at both ends, such as net.ipv4.tcp_sack=0. May be repeated.",
    ),
]
LimitOption: TypeAlias = Annotated[
    str,
    typer.Option(metavar="TIME", help="Time limit of a guest on this machine, such as 30s."),
]
#: The exit status when the client was still running at the end of the scenario, as timeout(1) has.
NOT_DONE = 124


def read_limit(text: str) -> float:
    """Read --limit in seconds."""
    from midflight import parse_duration

    found: int = read("--limit", parse_duration, text)
    if found == 0:
        raise UserError(f'--limit "{text}" is not a time; give for example 30s')
    return found / 1e9


def read_sysctls(words: list[str] | None) -> list[tuple[str, str]]:
    """Read settings of the kernel."""
    found = []
    for word in words or []:
        key, equals, value = word.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise UserError(f'--sysctl "{word}" is not KEY=VALUE, such as net.ipv4.tcp_sack=0')
        found.append((key.strip(), value.strip()))
    return found


def execute(
    file: FileArgument,
    client: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            help="A command of the shell, at the end that receives; when it ends, the run does.",
        ),
    ],
    server: Annotated[
        str | None,
        typer.Option(metavar="COMMAND", help="The same at the end that sends."),
    ] = None,
    stack: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="linux, or midflight: in the place of a server its sender opens the scenario's "
            "first flow to port 5001 of the client.",
        ),
    ] = "linux",
    sets: SetsOption = None,
    congestion: Annotated[
        str,
        typer.Option("--cc", metavar="NAME", help="The kernel's congestion control: cubic, bbr."),
    ] = "cubic",
    sysctls: SysctlsOption = None,
    multihomed: Annotated[
        bool,
        typer.Option(
            "--multihomed", help="The client has an interface and an address on each link."
        ),
    ] = False,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="A file that the programs find in their folder. May be repeated.",
        ),
    ] = None,
    seed: OwnSeedOption = None,
    kernel: KernelOption = None,
    limit: LimitOption = "10min",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write outputs, files and counters to DIR."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all as JSON instead of the client's output.")
    ] = False,
) -> int:
    """Run unmodified programs of this machine over the links of a scenario, in virtual time.

    They see the files of this machine, read-only, with /tmp and /run of their own. Their folder is
    /mnt; what they write there is kept with --out. $SERVER and $CLIENT are the addresses of the
    ends; with --multihomed $CLIENTS has those of all links, and a handoff with a gap breaks the
    old link until a handoff leads back to it. The scenario's own flows are not opened. The client's
    output is printed, and its exit status returned; 124 if it was still running when the scenario
    ended.

    \b
    Examples:
      midflight lab exec wifi-to-lte --server "cd /usr/share && python3 -m http.server 80" \\
          --client 'curl -sS -o got http://$SERVER/common-licenses/GPL-3' --out results
      midflight lab exec wifi-to-lte --stack midflight --client "python3 receive.py"
    """
    from midflight.lab.programs import run_programs
    from midflight.lab.runs import OURS, STACKS
    from midflight.lab.store import choose

    if stack not in STACKS:
        raise UserError(f'--stack "{stack}" is not {" or ".join(STACKS)}')
    if (server is None) != (stack == OURS):
        raise UserError(
            f"--server is for --stack linux, and --stack {OURS} has its own sender; give one of "
            "them"
        )
    if stack == OURS and multihomed:
        raise UserError(f"--multihomed is for --stack linux, and --stack {OURS} has one address")
    plan = scenario_plan(file, with_shorthands(sets, None, None, seed))
    settings = read_sysctls(sysctls)
    limit_s = read_limit(limit)
    chosen = choose(kernel)
    scenario = json.loads(plan.canonical)
    with result_folder(out) as folder:
        found = run_programs(
            plan.setup(0),
            chosen,
            server=server,
            client=client,
            congestion=congestion,
            sysctls=settings,
            seed=f"{scenario['seed']}.0",
            limit_s=limit_s,
            multihomed=multihomed,
            scenario=scenario,
            files=read_files(files),
        )
        if folder is not None:
            write(folder, found)
    if as_json:
        json.dump(values(chosen, found), sys.stdout, indent=2)
        print()
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(found.client.stdout)
        sys.stdout.flush()
        sys.stderr.buffer.write(found.client.stderr)
        sys.stderr.flush()
        for one in notes(found):
            note(one)
    return NOT_DONE if found.client.status is None else found.client.status


def read_files(paths: list[str] | None) -> dict[str, bytes]:
    """Read the files that programs find in their folder."""
    found = {}
    for path in map(Path, paths or []):
        try:
            found[path.name] = path.read_bytes()
        except OSError as error:
            raise UserError(f'--file "{path}": {error.strerror}; give a file') from error
    return found


def notes(found: Programs) -> list[str]:
    """Return notes on the run for the user."""
    from midflight.lab.record import events

    counts = events(found.packets)
    lost = ", ".join(
        f"{counts[f'lost_{one}']} {text}"
        for one, text in (
            ("queue", "to a full queue"),
            ("break", "to a link down"),
            ("radio", "on the air"),
        )
    )
    said = [f"{counts['sent']} packets sent, {counts['delivered']} delivered; lost: {lost}"]
    if found.client.status is None:
        said.append("the client was still running when the scenario ended, and was ended")
    if found.server.status not in (None, 0, 128 + 15):
        last = found.server.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        said.append(f"the server ended with status {found.server.status}: {last}")
    return said


def fields(one: Program) -> dict[str, Any]:
    """Return a program's outputs and status as values for JSON."""
    return {
        "status": one.status,
        "stdout": one.stdout.decode(errors="replace"),
        "stderr": one.stderr.decode(errors="replace"),
    }


def values(kernel: Kernel, found: Programs) -> dict[str, Any]:
    """Return the results as values for JSON."""
    from midflight.lab.record import events

    return {
        "kernel": kernel.about(),
        "client": fields(found.client),
        "server": fields(found.server),
        "files": {name: len(data) for name, data in found.files.items()},
        "packets": events(found.packets),
        "counters": [one._asdict() for one in found.counters],
    }


def write(folder: Path, found: Programs) -> None:
    """Write outputs, files, the record of packets and the counters."""
    data = {f"files/{name}": one for name, one in found.files.items()}
    for name, one in (("server", found.server), ("client", found.client)):
        data |= {f"{name}.stdout": one.stdout, f"{name}.stderr": one.stderr}
    for name, content in {**data, "packets.bin": found.packets}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_result(path, binary=True) as file:
            file.write(content)
    with open_result(folder / "counters.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["node", "group", "counter", "value"])
        writer.writerows(map(csv_row, found.counters))
