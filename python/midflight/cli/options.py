"""Options that mean the same in every command that runs something."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = [
    "EndOption",
    "FixedOption",
    "JsonOption",
    "KnobsOption",
    "ProfileOption",
    "ResidentSchemeOption",
    "RunsOption",
    "SchemesOption",
    "StaggerOption",
    "ThreadsOption",
]


def scheme_names(incomplete: str) -> list[str]:
    """Return schemes whose names go on like this, for the shell's completion."""
    from midflight import _core

    joined, plus, last = incomplete.rpartition("+")
    names = (one["name"] for one in _core.schemes())
    return [f"{joined}{plus}{name}" for name in names if name.startswith(last)]


SchemesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--scheme",
        metavar="NAME",
        autocompletion=scheme_names,
        help="A sender, see `midflight list schemes`, or several joined by +, such as "
        "enhanced+dcr-frto. May be repeated.  [default: sack]",
    ),
]
ProfileOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="ns2 (ns-2.35, packet for packet) or rfc (today's standards)."
    ),
]
KnobsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a knob of a scheme's part or a setting of the profile, see `midflight list`. "
        "May be repeated.",
    ),
]
RunsOption: TypeAlias = Annotated[
    str,
    typer.Option(metavar="N", help="Number of runs of each scheme, with different random numbers."),
]
ThreadsOption: TypeAlias = Annotated[
    str, typer.Option(metavar="N", help="Number of threads; 0 is one for each core.")
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print summary and runs as JSON instead.")
]
FixedOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="LINK",
        help="Each of the two links between the sender and the access link; the rate is also "
        "that of the mobile node's interfaces.",
    ),
]
EndOption: TypeAlias = Annotated[
    str,
    typer.Option(metavar="TIME", help="End of unfinished runs."),
]
StaggerOption: TypeAlias = Annotated[
    str, typer.Option(metavar="TIME", help="Time between the starts of two flows.")
]
ResidentSchemeOption: TypeAlias = Annotated[
    str, typer.Option(metavar="NAME", help="The sender of each resident.")
]
