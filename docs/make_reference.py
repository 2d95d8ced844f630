"""The parts of the documentation that the program itself knows, and what its commands print.

    .venv/bin/python docs/make_reference.py

writes anew what lies between `<!-- made: NAME ... -->` and `<!-- end -->`, and in blocks of
`console` what follows each `$ midflight ...`. A block of another language whose first line is a
comment with a file's name is that file for the commands that follow. Blocks of `sh` stay.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from midflight import _core, scenario
from midflight.cli import main as midflight
from midflight.scenario import Scenario

HERE = Path(__file__).parent
ROOT = HERE.parent
#: Pages, and the section that is looked after where it is not the whole page.
PAGES = {
    "docs/first-figure.md": None,
    "docs/scenarios.md": None,
    "docs/schemes.md": None,
    "docs/policies.md": None,
    "docs/sweeps.md": None,
    "README.md": "## Your own question\n",
}
FENCED = re.compile(r"^```(?P<of>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (?P<name>[\w.-]+\.(toml|py))\n")
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)
BLOCK = re.compile(r"(<!-- made: (?P<what>[^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)

#: The tables of a scenario file, by their names in the schema.
TABLES = {
    "ScenarioFile": "Top of the file",
    "WiredFile": "`[wired]`",
    "LinkFile": "`[links.NAME]`",
    "WayFile": "`up` of a link or a change",
    "FlowFile": "`[flows.NAME]`",
    "HandoffFile": "`[[handoffs]]`",
    "ChangeFile": "`[[changes]]`",
    "NoticeFile": "`notice` of a handoff or a change",
    "SignalFile": "`signal` of a handoff",
    "SweepFile": "`[sweep]`",
}
QUANTITIES = (
    "Time",
    "Gap",
    "Rate",
    "Queue",
    "Loss",
    "Reordering",
    "Cross",
    "Size",
    "Instants",
    "Share",
)
#: Kinds of parts with the lists that tell of them.
PARTS = {
    "policy": "policies",
    "congestion controller": "controllers",
    "response to duplicate ACKs": "responses",
    "loss classifier": "classifiers",
    "detector of spurious retransmissions": "detectors",
    "handover signal of the mobile node": "signals",
}
#: What the starters are run with, for a first look.
COMPARED = ("sack", "enhanced", "vho-qs", "rlci", "freeze", "dcr-frto-ld", "westwood")


def section(page: str, begin: str | None) -> tuple[str, str, str]:
    """Return what is before, in and behind a section."""
    if begin is None:
        return "", page, ""
    start = page.index(begin)
    end = page.find("\n## ", start)
    end = len(page) if end < 0 else end
    return page[:start], page[start:end], page[end:]


def made(name: str) -> str:
    """Return a page as it must be."""
    page = (ROOT / name).read_text(encoding="utf-8")
    before, text, behind = section(page, PAGES[name])

    def block(found: re.Match[str]) -> str:
        what, *rest = found["what"].split()
        return f"{found[1]}\n{MAKERS[what](*rest)}\n\n{found[3]}"

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")

        def fenced(found: re.Match[str]) -> str:
            if found["of"] == "console":
                return f"```console\n{said(found['text'], folder)}```"
            if file := FILE.match(found["text"]):
                (Path(folder) / file["name"]).write_text(found["text"], encoding="utf-8")
            return found[0]

        return before + FENCED.sub(fenced, BLOCK.sub(block, text)) + behind


def commands(text: str) -> list[str]:
    """Return the commands of a block."""
    return [found[1] for found in COMMAND.finditer(text)]


def said(text: str, folder: str) -> str:
    """Return the commands of a block, each with what it prints."""
    found = []
    for command in commands(text):
        program, *arguments = shlex.split(command.replace("\\\n", " "))
        assert program == "midflight", command
        printed = io.StringIO()
        here = Path.cwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                midflight(arguments)
        finally:
            os.chdir(here)
        found.append(f"$ {command}\n{printed.getvalue()}")
    return "\n".join(found)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in one)} |" for one in lines
    )


def keys() -> str:
    """Return the keys of a scenario file, table by table."""
    schema = json.loads(_core.scenario_schema())
    types = {**schema["$defs"], "ScenarioFile": schema}
    found = []
    for name, title in TABLES.items():
        of = types[name]
        about = " ".join(of["description"].split())
        rows = [
            [
                f"`{key}`",
                kind(types, one),
                default(of, key, one),
                " ".join(one["description"].split()),
            ]
            for key, one in of["properties"].items()
        ]
        found.append(
            f"### {title}\n\n{about}\n\n" + table(["key", "is", "left out", "what it means"], rows)
        )
    return "\n\n".join(found)


def kind(types: dict[str, Any], one: dict[str, Any]) -> str:
    """Return what a value is, in a word or by the name of its quantity."""
    for option in one.get("anyOf", ()):
        if "$ref" in option:
            one = option
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        if name == "Names":
            return "a name, or a list"
        if "oneOf" in types[name]:
            return " or ".join(f'`"{each["const"]}"`' for each in types[name]["oneOf"])
        if name in TABLES:
            return "a table"
        return f"[{name.lower()}](#how-quantities-are-written)"
    of = one["type"]
    word = of if isinstance(of, str) else of[0]
    names = {"string": "text", "integer": "whole number", "boolean": "`true` or `false`"}
    names |= {"object": "tables by name", "array": "list of tables"}
    if one.get("additionalProperties") in ({"$ref": "#/$defs/Value"}, True):
        return "values by name"
    return names[word]


def default(of: dict[str, Any], key: str, one: dict[str, Any]) -> str:
    """Return what a key is when it is left out."""
    if key in of.get("required", ()):
        return "needed"
    value = one.get("default")
    if isinstance(value, dict):
        return ", ".join(f"`{each}` = `{v}`" for each, v in value.items())
    return "-" if value is None else f"`{json.dumps(value)}`"


def quantities() -> str:
    """Return how quantities are written."""
    types = json.loads(_core.scenario_schema())["$defs"]
    rows = [
        [name.lower(), types[name]["description"], f'`"{types[name]["examples"][0]}"`']
        for name in QUANTITIES
    ]
    return table(["quantity", "what is accepted", "example"], rows)


def presets() -> str:
    """Return the presets with their numbers and sources."""

    def rate(bits: int) -> str:
        return f"{bits / 1e6:g} Mbit/s" if bits >= 1_000_000 else f"{bits / 1e3:g} kbit/s"

    rows = [
        [
            f"`{one['name']}`",
            one["summary"],
            rate(one["down_bps"]),
            rate(one["up_bps"]),
            f"{one['delay_ns'] / 1e6:g} ms",
            one["source"],
        ]
        for one in _core.link_presets()
    ]
    return table(["preset", "what it is", "down", "up", "one-way delay", "where from"], rows)


def starters() -> str:
    """Return the starter scenarios with their titles."""
    each = ((name, Scenario.read(name)) for name in scenario.starter_names())
    return table(["starter", "what it is"], [[f"`{name}`", one.title or ""] for name, one in each])


def results() -> str:
    """Return what some schemes make of the starters."""
    rows = []
    for name in scenario.starter_names():
        one = Scenario.read(name)
        mine = [key for key, flow in one.flows.items() if flow.on is None]
        cells = []
        for scheme in COMPARED:
            try:
                asked = scenario.read_plan(
                    name, sets={f"flows.{key}.scheme": scheme for key in mine}
                )
            except _core.MidflightError:
                # A signal of the mobile node does not go with data from it.
                cells.append("refused")
                continue
            cells.append(result(scenario.Outcome.of(asked)))
        rows.append([f"`{name}`", *cells])
    return table(["starter", *(f"`{scheme}`" for scheme in COMPARED)], rows)


def result(outcome: scenario.Outcome) -> str:
    """Return the mean time of the node's flow, or the mean of what its flows got together."""
    flows = outcome.flows
    moves = [bool(one) for one in flows.column("moves")]
    runs = len(set(flows.column("run")))

    def of(name: str) -> list[Any]:
        return [v for v, mine in zip(flows.column(name), moves, strict=True) if mine]

    took = of("duration_ns")
    if all(one is not None for one in took):
        return f"{sum(took) / len(took) / 1e9:.1f} s"
    return f"{sum(of('goodput_bps')) / runs / 1e6:.3g} Mbit/s"


def contents() -> str:
    """Return links to all schemes, in the order of the alphabet."""
    names = sorted(one["name"] for one in _core.schemes())
    links = ", ".join(f"[`{name}`](#{name})" for name in names)
    return "\n".join(textwrap.wrap(links, 110, break_on_hyphens=False))


def schemes(*names: str) -> str:
    """Return what the registry says of schemes."""
    known = {one["name"]: one for one in _core.schemes()}
    parts = {one["name"]: (what, one) for what, one in each_part()}
    told = compared()
    found = []
    for name in names:
        one = known[name]
        lines = [f"### `{name}`", "", f"{sentence(one['summary'])} Source: {one['source']}."]
        if one["parts"] not in ([], [name]):
            lines += ["", "Parts: " + ", ".join(f"`{part}`" for part in one["parts"]) + "."]
        if name in told:
            lines += ["", told[name]]
        own = parts.get(name)
        if own is not None and own[1]["knobs"]:
            rows = [
                [f"`{knob['name']}`", f"`{knob['default']}`", knob["accepts"], knob["summary"]]
                for knob in own[1]["knobs"]
            ]
            lines += ["", table(["knob", "default", "accepts", "what it sets"], rows)]
        found.append("\n".join(lines))
    return "\n\n".join(found)


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def each_part() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every part with its kind."""
    for what, of in PARTS.items():
        for one in getattr(_core, of)():
            yield what, one


def compared() -> dict[str, str]:
    """Return a line on each scheme from the tables of docs/comparison.md."""
    text = (HERE / "comparison.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    unsafe = {row[0] for row in rows if len(row) == 7 and row[-1] == "yes"}
    found = {}
    for row in rows:
        if len(row) != 9 or row[0] == "`sack`":
            continue
        name = row[0]
        found[name.strip("`")] = (
            "On the grid of [comparison.md](comparison.md), against the plain sender's time. "
            f"Make-before-break: {spread(row[1:5])}. Break-before-make: {spread(row[5:9])}."
            + (" Unsafe by the bounds of that page." if name in unsafe else "")
        )
    return found


def spread(cells: list[str]) -> str:
    """Return a median, most of the pairs, the best and the worst in words."""
    median, most, *ends = cells

    def end(cell: str) -> str:
        value, _, pair = cell.partition(", ")
        if value == "never":
            return f"not done within ten minutes ({pair})"
        # Many pairs have that.
        return f"{value} %" if value in ("+0", "-0") else f"{value} % ({pair})"

    best, worst = map(end, ends)
    middle = f"{median} % in the median, {most} % for eight pairs in ten"
    return f"{middle}, {best} at best, {worst} at worst"


def settings() -> str:
    """Return the settings of sender and receiver with both profiles' values."""
    rows = [
        [
            f"`{one['name']}`",
            *(f"`{one['values'][p] or '-'}`" for p in ("rfc", "ns2")),
            one["accepts"],
            one["summary"],
        ]
        for one in _core.settings()
    ]
    return table(["setting", "`rfc`", "`ns2`", "accepts", "what it sets"], rows)


MAKERS: dict[str, Any] = {
    of.__name__: of
    for of in (keys, quantities, presets, starters, results, contents, schemes, settings)
}


def main() -> None:
    for name in PAGES:
        path = ROOT / name
        new = made(name)
        print(f"{name}: {'as it was' if new == path.read_text(encoding='utf-8') else 'written'}")
        path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
