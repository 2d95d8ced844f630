"""`midflight lab explain`: why something happened in a run of midflight's senders on the kernel."""

from __future__ import annotations

from typing import Annotated

import typer

from midflight.cli.explain import FlowOption, RunOption, answer, read_question, read_run
from midflight.cli.input import check_run
from midflight.cli.lab_exec import KernelOption, LimitOption, SysctlsOption
from midflight.cli.lab_run import requested_runs
from midflight.cli.options import FileArgument, OwnSeedOption, SetsOption
from midflight.cli.run import with_shorthands

__all__ = ["explain"]


def explain(
    file: FileArgument,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="The instant, such as 6.23s."),
    ] = None,
    what: Annotated[
        str | None,
        typer.Option(metavar="EVENT", help="The kind of event, as for `midflight explain`."),
    ] = None,
    sets: SetsOption = None,
    profile: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The senders' profile.  [default: the scenario's]"),
    ] = None,
    flow: FlowOption = None,
    run: RunOption = "0",
    sysctls: SysctlsOption = None,
    seed: OwnSeedOption = None,
    kernel: KernelOption = None,
    limit: LimitOption = "10min",
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON.")] = False,
) -> None:
    """Explain an event of a run of midflight's senders with the kernel's receivers.

    Like `midflight explain`, for a run of `midflight lab run --stack midflight`. The kernel's own
    senders record no causes.

    \b
    Examples:
      midflight lab explain wifi-to-lte --what rto
      midflight lab explain wifi-to-lte --what stall
      midflight lab explain wifi-to-lte --at 2s --set flows.download.scheme=enhanced
    """
    from midflight.lab.runs import OURS

    question, number = read_question(at, what), read_run(run)
    all_sets = with_shorthands(sets, profile, None, seed)
    asked = requested_runs(file, all_sets, None, sysctls, kernel, limit, OURS)
    check_run(number, asked.runs)
    words = ["midflight", "lab", "explain", file]
    words += [word for one in all_sets for word in ("--set", one)]
    words += [word for one in sysctls or [] for word in ("--sysctl", one)]
    words += [] if flow is None else ["--flow", flow]
    words += [] if run == "0" else ["--run", run]
    answer(asked.setup(number), question, flow, words, as_json=as_json)
