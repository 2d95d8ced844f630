"""Readers of command-line values: quantities, whole numbers, links and knobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from midflight.cli.output import UserError
from midflight.run_tables import counted

if TYPE_CHECKING:
    from midflight.policy import Policies

__all__ = ["check_run", "idle_knobs", "own_policies", "read", "read_pairs", "read_whole"]


def read(option: str, parse: Callable[[str], Any], text: str) -> Any:
    """Read a quantity; an error names the option."""
    from midflight import MidflightError

    try:
        return parse(text)
    except MidflightError as error:
        raise UserError(f"{option}: {error}") from error


def check_run(number: int, runs: int) -> None:
    """Refuse the number of a run that a scenario with this many runs does not have."""
    if number >= runs:
        raise UserError(f"--run {number}: the scenario has {counted(runs, 'run')}, numbered from 0")


def read_whole(option: str, text: str, least: int, most: int) -> int:
    """Read a whole number."""
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise UserError(f'{option} "{text}" is not a whole number from {least} to {most}')
    return number


def own_policies(words: Sequence[str] | None) -> Policies:
    """Load the policies of --policy."""
    from midflight.policy import load_policies

    try:
        return load_policies(words or [])
    except ValueError as error:
        raise UserError(f"--policy: {error}") from error


def read_pairs(words: Iterable[str]) -> list[tuple[str, str]]:
    """Read values of the form key=value."""
    pairs = []
    for word in words:
        key, equals, value = word.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise UserError(
                f'--set "{word}" is not PATH=VALUE; write for example set.min_rto="1 s"'
            )
        pairs.append((key.strip(), value.strip()))
    return pairs


def idle_knobs(
    schemes: Sequence[str], knobs: Mapping[str, str], others: Sequence[str] = ()
) -> Iterator[str]:
    """Yield a note for each knob of parts that none of the schemes has and `others` do not name.

    `others` are names of parts or agents that are there besides.
    """
    from midflight import _core

    names = {name for scheme in schemes for name in scheme.split("+")}
    chosen = {part for one in _core.schemes() if one["name"] in names for part in one["parts"]}
    chosen.update(others)
    if "congestion" in knobs:
        chosen.add(knobs["congestion"])
    kinds = (
        _core.policies(),
        _core.controllers(),
        _core.responses(),
        _core.classifiers(),
        _core.detectors(),
        _core.signals(),
    )
    owners: dict[str, list[str]] = {}
    for part in (part for kind in kinds for part in kind):
        for knob in part["knobs"]:
            owners.setdefault(knob["name"], []).append(part["name"])
    agents = {knob["name"]: one["name"] for one in _core.agents() for knob in one["knobs"]}
    for name in knobs:
        if agents.get(name, name) not in (name, *others):
            yield f"{name} has no effect: no node of this run has {agents[name]}"
        parts = owners.get(name, [])
        if parts and chosen.isdisjoint(parts):
            yield f"{name} has no effect: no scheme of this run has {' or '.join(parts)}"
