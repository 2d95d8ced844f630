"""Options with the same meaning in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "BaselineOption",
    "FigureFontOption",
    "FigureSizeOption",
    "FigureStyleOption",
    "FileArgument",
    "OwnProfileOption",
    "OwnRunsOption",
    "OwnSeedOption",
    "PoliciesOption",
    "ProfileOption",
    "SchemesOption",
    "SetsOption",
    "SettingsOption",
    "SourceProfileOption",
    "ThreadsOption",
    "WhereOption",
    "WithoutOption",
]


def scheme_names(incomplete: str) -> list[str]:
    """Return schemes with names that continue this text, for the shell's completion."""
    from midflight import _core

    joined, plus, last = incomplete.rpartition("+")
    names = (one["name"] for one in _core.schemes())
    return [f"{joined}{plus}{name}" for name in names if name.startswith(last)]


def scenario_names(incomplete: str) -> list[str]:
    """Return starters and files that continue like this, for the shell's completion."""
    from midflight.scenario import starter_names

    files = (str(path) for path in Path().glob(f"{incomplete}*") if path.suffix in (".toml", ""))
    return [name for name in (*starter_names(), *files) if name.startswith(incomplete)]


FileArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        autocompletion=scenario_names,
        help="A scenario in TOML, or the name of a starter (`midflight list scenarios`).",
    ),
]
SchemesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--scheme",
        metavar="NAME",
        autocompletion=scheme_names,
        help="A sender, see `midflight list schemes`, or several joined by +, such as "
        "enhanced+westwood. May be repeated, also with commas.  [default: sack]",
    ),
]
PROFILES = (
    "linux (sender and receiver of Linux 6.12), rfc (the RFCs to the letter, which no widespread "
    "stack runs), quic (RFC 9002) or ns2 (ns-2.35, packet for packet)."
)
ProfileOption: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help=PROFILES)]
SetsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a value by its path, which overrides the file: flows.download.scheme=enhanced, "
        'links.lte.rate="5 Mbit/s", handoffs.0.gap="1 s", set.min_rto="1 s". May be '
        "repeated.",
    ),
]
SettingsOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a knob of a scheme's part or a setting of the profile by its path, such as "
        'set.min_rto="1 s", see `midflight list`. May be repeated.',
    ),
]
FigureSizeOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="For a figure: single or double (column of a journal, 3.5 or 7.16 in), or inches, "
        "such as 5 or 5x3.",
    ),
]
FigureStyleOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--style",
        metavar="STYLE",
        help="For a figure: plain, or paper (serif font, a column wide, framed).",
    ),
]
FigureFontOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--font", metavar="FONT", help="For a figure: the font, sans, serif or latex."),
]
BaselineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="VALUE",
        help="For changes of a sweep: the value that the others are compared with.  [default: the "
        "first of the compared axis]",
    ),
]
WhereOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUES",
        help="For results: only the rows with one of these values, shown in their order: "
        "a,b,c, from:to:step, or from:to for all values in between. May be repeated.",
    ),
]
WithoutOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="COLUMN=VALUES",
        help="For results: only the rows with none of these values. May be repeated.",
    ),
]
PoliciesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME=FILE.py:CLASS",
        help="A policy or congestion controller of your own in Python, as the name of a scheme. "
        "May be repeated.",
    ),
]
OwnRunsOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--runs", metavar="N", help="Number of runs.  [default: the file's, or 1]"),
]
OwnSeedOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--seed", metavar="N", help="Seed.  [default: the file's, or 1]"),
]
OwnProfileOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help=f"{PROFILES}  [default: the file's, or linux]"),
]
SourceProfileOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help=f"{PROFILES}  [default: the source's]"),
]
ThreadsOption: TypeAlias = Annotated[
    str, typer.Option(metavar="N", help="Number of threads; 0 is one for each core.")
]
