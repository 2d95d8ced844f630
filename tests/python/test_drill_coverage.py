"""Each scheme and each agent of a node has a drill, or an exemption with a reason and its test."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from midflight import _core

ROOT = Path(__file__).parents[2]
DRILLS = ROOT / "drills"
EXEMPT = tomllib.loads((DRILLS / "exempt.toml").read_text(encoding="utf-8"))
PARTS = {one["name"]: list(one["parts"]) for one in _core.schemes()}


def senders(script: str) -> dict[str, set[str]]:
    """Return the values of each name in the comment that selects the senders of a script."""
    found: dict[str, set[str]] = {}
    for line in script.splitlines():
        comment = re.match(r"(//|#|/\*) *midflight:? +(?P<what>\w+=.*)", line, re.IGNORECASE)
        if comment:
            for word in comment["what"].split():
                name, _, values = word.partition("=")
                found[name] = set(re.split("[,+]", values))
    return found


def drilled() -> set[str]:
    """Return the parts that a script of the repository names."""
    found: set[str] = set()
    for script in DRILLS.rglob("*.pkt"):
        of = senders(script.read_text(encoding="utf-8"))
        names = of.get("scheme", set()) | of.get("congestion", set())
        found |= {part for name in names for part in [name, *PARTS.get(name, [])]}
        if "linux" in of.get("profile", set()):
            # The controller of this profile.
            found.add("cubic-linux")
    return found & {*PARTS}


def undrilled(schemes: dict[str, list[str]], with_drill: set[str], exempt: set[str]) -> list[str]:
    """Return the schemes without a drill and an exemption of their own or of all their parts."""
    known = with_drill | exempt | {"sack"}
    return [
        name
        for name, parts in schemes.items()
        if name not in known and not (len(parts) > 1 and known.issuperset(parts))
    ]


def test_each_scheme_has_a_drill_or_an_exemption() -> None:
    """If not: write a script in drills, or a line in drills/exempt.toml."""
    assert undrilled(PARTS, drilled(), {*EXEMPT["schemes"]}) == []


def test_a_new_scheme_would_be_missed() -> None:
    exempt = {*EXEMPT["schemes"]}
    new = PARTS | {"new": ["new"], "both": ["a2", "new"], "known": ["a2", "a3"]}
    assert undrilled(new, drilled(), exempt) == ["new", "both"]
    assert undrilled(PARTS, drilled() - {"a5"}, exempt) == ["enhanced-a5", "a5"]


def test_an_exemption_is_of_a_scheme_without_a_drill() -> None:
    assert {*EXEMPT["schemes"]} <= {*PARTS} - drilled()
    for one in EXEMPT["schemes"].values():
        assert len(one["why"]) > 20


def test_each_agent_of_a_node_says_where_it_is_tested() -> None:
    """A script has two ends and no node between them."""
    assert sorted(EXEMPT["agents"]) == sorted(one["name"] for one in _core.agents())


def test_what_an_exemption_names_is_a_test() -> None:
    tests = [one["test"] for one in EXEMPT["schemes"].values()]
    for place in [*tests, *EXEMPT["agents"].values()]:
        file, _, name = place.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        attribute = re.escape("#[test]\n") + r"\s*fn " + re.escape(name) + r"\("
        # The recordings of kernels are listed by name.
        recorded = rf'^    {re.escape(name)}: "'
        assert re.search(attribute, text) or re.search(recorded, text, re.MULTILINE), place
