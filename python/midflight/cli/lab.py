"""`midflight lab`: the same scenarios on the TCP of the Linux kernel, in virtual time."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from midflight.cli.command import Command
from midflight.cli.input import read_whole
from midflight.cli.lab_exec import KernelOption, execute
from midflight.cli.lab_explain import explain
from midflight.cli.lab_run import compare, run
from midflight.cli.output import UserError, align, progress_display

if TYPE_CHECKING:
    from midflight.lab.doctor import Measured

__all__ = ["lab"]

lab = typer.Typer(
    name="lab",
    rich_markup_mode=None,
    help="Run scenarios on the TCP of the Linux kernel, in virtual time.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@lab.command(cls=Command)
def build(
    source: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="A tarball or tree of the kernel, from Linux 6.1 on.  [default: that of Debian's "
            "package linux-source-6.12]",
        ),
    ] = None,
    hz: Annotated[
        str, typer.Option(metavar="N", help="Frequency of the kernel's jiffies: 250, 1000 or 100.")
    ] = "250",
    jobs: Annotated[
        str | None,
        typer.Option(metavar="N", help="Compilers at a time.  [default: one for each core]"),
    ] = None,
) -> None:
    """Build the lab's kernel from its source; this takes some minutes, once.

    It is kept in the cache of the user under its version, HZ, and a hash of what midflight adds.

    \b
    Examples:
      midflight lab build
      midflight lab build --source linux-6.12.50.tar.xz --hz 1000
    """
    from midflight.lab.build import build as build_kernel
    from midflight.lab.build import check_machine
    from midflight.lab.source import find_source
    from midflight.lab.store import RATES

    if hz not in map(str, RATES):
        raise UserError(f'--hz "{hz}" is not {", ".join(map(str, RATES[:-1]))} or {RATES[-1]}')
    cores = len(os.sched_getaffinity(0))
    job_count = cores if jobs is None else read_whole("--jobs", jobs, 1, 1024)
    check_machine()
    path = find_source(source)
    begun = time.monotonic()
    with progress_display() as progress:
        kernel, was_there = build_kernel(path, hz=int(hz), jobs=job_count, progress=progress)
    took = "is there already" if was_there else f"built in {time.monotonic() - begun:.0f} s"
    print(f"{kernel.name} {took}: {kernel.path}")


@lab.command(cls=Command)
def doctor(name: KernelOption = None, as_json: JsonOption = False) -> int:
    """Show what the lab has and what is missing; measure its kernel.

    The kernel is booted; a bulk transfer over links of 100 Mbit/s gives the CPU time that a packet
    costs, and by how much the packets are delivered later than the links' model says. Exit status:
    0 if the lab can run, 1 if not.
    """
    from dataclasses import asdict

    from midflight.lab import LabError
    from midflight.lab.doctor import findings, measure
    from midflight.lab.store import choose

    found = list(findings())
    measured: Measured | None = None
    try:
        kernel = choose(name)
        measured, problem = measure(kernel), ""
        called = kernel.name
    except LabError as error:
        called, problem = "", str(error)
    if as_json:
        values = {
            "findings": [asdict(one) for one in found],
            "kernel": called or None,
            "measured": measured and {**asdict(measured), "cost_us": measured.cost_us},
        }
        json.dump(values, sys.stdout, indent=2)
        print()
    else:
        rows = [[one.what, "yes" if one.is_there else "no", one.text] for one in found]
        print(align(rows, right=False))
        print(
            "\n"
            + (measured_text(called, measured) if measured else f"The lab cannot run: {problem}")
        )
    return 0 if measured and measured.repeats else 1


def measured_text(name: str, of: Measured) -> str:
    """Return the measurements of a kernel."""
    rows = [
        ["a guest without traffic", f"{of.idle_s:.3f} s"],
        ["a packet", f"{of.cost_us:.1f} us of CPU time, of {of.packets} packets"],
        [
            "delivered at the nanosecond",
            f"{of.exact} packets; the latest {of.most_late_ns} ns late",
        ],
        ["the same run again", "the same to the byte" if of.repeats else "differs"],
        ["with another seed", "another run" if of.seeds_differ else "the same run"],
    ]
    return f"{name}, measured:\n{align(rows, right=False)}"


@lab.command("list", cls=Command)
def list_kernels(as_json: JsonOption = False) -> None:
    """List the kernels that have been built; the first one is used if none is named."""
    from midflight.lab.store import kernels, store_folder

    found = kernels()
    if as_json:
        every = [{"name": one.name, "current": one.is_current, **one.about()} for one in found]
        json.dump(every, sys.stdout, indent=2)
        print()
        return
    if not found:
        print(f"There is no kernel in {store_folder()}; midflight lab build makes one.")
        return
    lines = [["kernel", "version", "HZ", "built from"]]
    for one in found:
        of = "these sources" if one.is_current else "other sources"
        lines.append([one.name, one.version, f"{one.hz}", of])
    print(align(lines, right=False))


lab.command("run", cls=Command)(run)
lab.command("compare", cls=Command)(compare)
lab.command("explain", cls=Command)(explain)
lab.command("exec", cls=Command)(execute)
