"""Renew the generated parts of the documentation, and the output of the commands that it shows.

    .venv/bin/python docs/make_reference.py [PAGE...]

replaces, in the pages named or in all of them, the text between `<!-- made: NAME ... -->` and
`<!-- end -->`, and in `console` blocks the output of each `$ midflight ...`. A block in another
language whose first line is a comment with a file name is written to that file, which the commands
after it can read. `sh` blocks are not run.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import literature as of_papers
import verdicts
from midflight import _core, scenario
from midflight.against import AgainstRow
from midflight.claims import Verdict
from midflight.cli import main as midflight
from midflight.cli.compare import migration_cells, quinn_cells
from midflight.lab.samples import COLUMNS
from midflight.migration import MigrationRow
from midflight.scenario import Flow, Handoff, Link, Scenario, Wired
from midflight.studies import STUDIES, load

Row = TypeVar("Row")
HERE = Path(__file__).parent
ROOT = HERE.parent
#: The pages with generated parts.
PAGES = (
    "README.md",
    "docs/lab.md",
    "docs/papers.md",
    "docs/stack.md",
    "docs/quic.md",
    "docs/migration.md",
    "docs/helps-and-hurts.md",
    "docs/related-work.md",
    "docs/first-figure.md",
    "docs/scenarios.md",
    "docs/schemes.md",
    "docs/nodes.md",
    "docs/path-change.md",
    "docs/linux-behaviour.md",
    "docs/policies.md",
    "docs/sweeps.md",
    "docs/performance.md",
)
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
    "Stagger",
    "Rate",
    "Queue",
    "Loss",
    "Reordering",
    "Cross",
    "Size",
    "Instants",
    "Share",
)
#: Kinds of parts with the lists that describe them.
PARTS = {
    "policy": "policies",
    "congestion controller": "controllers",
    "response to duplicate ACKs": "responses",
    "loss classifier": "classifiers",
    "detector of spurious retransmissions": "detectors",
    "handoff signal of the mobile node": "signals",
}
#: The schemes of the table of starters.
COMPARED = ("sack", "enhanced", "vho-qs", "rlci", "freeze", "ehn", "westwood")


def made(name: str) -> str:
    """Return a page as it should be."""
    text = (ROOT / name).read_text(encoding="utf-8")

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

        return FENCED.sub(fenced, BLOCK.sub(block, text))


#: Progress lines of a sweep, which a slow machine prints and a fast one does not.
PROGRESS = re.compile(r"^cells: \d+ of \d+\n", re.MULTILINE)


def commands(text: str) -> list[str]:
    """Return the commands of a block."""
    return [found[1] for found in COMMAND.finditer(text)]


def said(text: str, folder: str) -> str:
    """Return the commands of a block, each with its output."""
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
        found.append(f"$ {command}\n{PROGRESS.sub('', printed.getvalue())}")
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
    """Return the type of a value, as a word or as the name of its quantity."""
    for option in one.get("anyOf", ()):
        if "$ref" in option:
            one = option
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        if name == "Names":
            return "a name, or a list"
        if name == "Trace":
            return "a path, or [a table](traces.md)"
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
    """Return the default of a key."""
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
    """Return the results of some schemes in the starters."""
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
    """Return the mean time of the node's flow, or the mean of the total goodput of its flows."""
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
    """Return the registry's data on schemes."""
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


def agents() -> str:
    """Return the registry's data on agents of nodes on the path."""
    found = []
    for one in _core.agents():
        lines = [f"### `{one['name']}`", "", f"{sentence(one['summary'])} Source: {one['source']}."]
        if one["knobs"]:
            rows = [
                [f"`{knob['name']}`", f"`{knob['default']}`", knob["accepts"], knob["summary"]]
                for knob in one["knobs"]
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
    """Return one line about each scheme from the tables of docs/comparison-rfc.md."""
    text = (HERE / "comparison-rfc.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    unsafe = {row[0] for row in rows if len(row) == 7 and row[-1] == "yes"}
    found = {}
    for row in rows:
        # The last column is who has to change.
        if len(row) != 10 or row[0] == "`sack`":
            continue
        name = row[0]
        found[name.strip("`")] = (
            "On the grid of [comparison-rfc.md](comparison-rfc.md), against the plain sender's "
            f"time. Make-before-break: {spread(row[1:5])}. Break-before-make: {spread(row[5:9])}."
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
    """Return the settings of sender and receiver with the profiles' values."""
    rows = [
        [
            f"`{one['name']}`",
            *(f"`{one['values'][p] or '-'}`" for p in ("rfc", "linux", "ns2")),
            one["accepts"],
            one["summary"],
        ]
        for one in _core.settings()
    ]
    return table(["setting", "`rfc`", "`linux`", "`ns2`", "accepts", "what it sets"], rows)


def papers(page: str) -> str:
    """Return the studies with their verdicts: for the README, or with citations for papers.md."""
    readme = page == "README.md"
    up = "" if readme else "../"
    rows = []
    for name in STUDIES:
        study = load(name)
        folder = STUDIES[name].replace(".", "/")
        link = f"[`{name}`]({up}python/{folder}/README.md)"
        rows.append([link, study.title if readme else study.citation, tally(name)])
    return table(["study", "what it is about" if readme else "paper", "claims"], rows)


def tally(name: str) -> str:
    """Return how many claims of a study have which verdict."""
    found = []
    for beyond, before in (("no", ""), ("yes", "; beyond the paper ")):
        rows = [row[2] for row in verdicts.expected() if row[0] == name and row[-1] == beyond]
        counts = [(rows.count(one), str(one)) for one in Verdict]
        if rows:
            each = ", ".join(f"{count} {one}" for count, one in counts if count)
            found.append(f"{before}{len(rows)}: {each}")
    return "".join(found)


def scenario_of_stalls() -> Scenario:
    """Return the download with a break of its link, with the queue of the table's first column."""
    return Scenario(
        links={
            "a": Link(rate="20 Mbit/s", delay="2 ms", queue="100 packets"),
            "b": Link(rate="20 Mbit/s", delay="20 ms"),
        },
        wired=Wired(delay="0 ms"),
        flows={"download": Flow(size="4 MB")},
        handoffs=[Handoff(at="0.8 s", to="b")],
    )


def stalls() -> str:
    """Return the longest stall after a gap: measured on Linux 6.18, and simulated."""
    measured = {"0.1 s": "0.18 s", "0.3 s": "0.38 to 0.46 s", "0.5 s": "0.94 to 1.11 s"}
    measured["1 s"] = "1.95 s"
    rfc = {"profile": "rfc"}
    quick = {"set.min_rto": "200 ms", "set.delayed_ack": "40 ms"}
    columns: tuple[dict[str, str], ...] = (
        {"profile": "linux"},
        {"profile": "linux", "links.a.queue": "5 packets"},
        rfc,
        rfc | quick,
    )
    scenario = scenario_of_stalls()
    rows = []
    for gap, linux in measured.items():
        runs = (scenario.but({"handoffs.0.gap": gap, **one}).run() for one in columns)
        cells = [f"{one.flows.column('stall_ns')[0] / 1e9:.2f} s" for one in runs]
        rows.append([gap, linux, *cells])
    head = [
        "gap",
        "Linux 6.18 [H]",
        "`linux`",
        "`linux`, queue of 5 packets",
        "`rfc`",
        "`rfc`, those two settings",
    ]
    return table(head, rows)


def offload(starter: str) -> str:
    """Return what bursts, pacing and GRO change in a starter with the profile `linux`."""
    rows = []
    for words in (
        [],
        ["gso_max_segs=1"],
        ["tcp_min_tso_segs=16"],
        ["gro_flush_timeout=20 us"],
        ["gro_flush_timeout=100 us"],
        ["gro_flush_timeout=1 ms"],
        ["gro_flush_timeout=100 us", "gso_max_segs=1"],
        ["pacing=on"],
        ["pacing=on", "gso_max_segs=1"],
        ["pacing=on", "gro_flush_timeout=100 us"],
    ):
        sets = dict(word.split("=") for word in words)
        plan = scenario.read_plan(starter, sets={f"set.{name}": sets[name] for name in sets})
        flows, phases = _core.run_plans([plan])
        (first,) = (n / 1e9 for n in phases.column("all_new_ns")[1:])
        acks = sum(event == "ack" for event in plan.setup(0).trace(flow="download").column("event"))
        seconds = flows.column("duration_ns")[0] / 1e9
        lost = flows.column("drops_queue")[0] + flows.column("drops_break")[0]
        counts = [f"{count:,}" for count in (acks, lost, flows.column("rexmits")[0])]
        name = ", ".join(f"`{word}`" for word in words) or "the defaults"
        rows.append([name, f"{seconds:.3f}", f"{first:.3f}", *counts])
    return table(["settings", "seconds", "T100", "ACKs", "losses", "retransmissions"], rows)


def budget() -> str:
    """Return the instructions that each workload may take."""
    text = (ROOT / "crates/bench/budget.toml").read_text(encoding="utf-8")
    of = {
        "set-up": "run",
        "grid-part": "run",
        "cell": "run",
        "cell-linux": "run",
        "changes": "change",
    }
    about = {"grid-part": " (every twelfth link pair)"}
    rows = [
        [f"`{name}`{about.get(name, '')}", of.get(name, "packet"), f"{count:,}"]
        for name, count in tomllib.loads(text)["instructions"].items()
    ]
    return table(["workload", "for each", "instructions"], rows)


def samples() -> str:
    """Return the columns of the samples of a kernel's senders."""
    rows = [[f"`{one.name}`", one.unit, one.meaning] for one in COLUMNS]
    return table(["column", "unit", "meaning"], rows)


def migrations() -> str:
    """Return the settings that each value of `migration` sets."""
    known = {one["name"]: one for one in _core.settings()}
    stacks = _core.QUIC_MIGRATIONS
    rows = [
        [f"`{name}`", known[name]["accepts"], *(of[name] for of in stacks.values())]
        for name in next(iter(stacks.values()))
    ]
    return table(["setting", "accepts", *(f"`{name}`" for name in stacks)], rows)


def recorded(name: str, row: type[Row]) -> list[Row]:
    """Return the rows that `midflight compare ... --csv` wrote to a file of this folder."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return [
            row(**{key: number(value) for key, value in line.items()})
            for line in csv.DictReader(file)
        ]


def number(text: str) -> Any:
    """Return a value of a CSV file."""
    try:
        return float(text) if text else None
    except ValueError:
        return text


def migration(*words: str) -> str:
    """Return the rows of a handoff, both kinds side by side."""
    handoff = " ".join(words)
    rows = [row for row in recorded("migration.csv", MigrationRow) if row.handoff == handoff]
    cells = {(row.sender, row.kind): migration_cells(row)[2:] for row in rows}
    head = ["1 MB", "20 MB", "stall", "queue", "down", "resident"]
    lines = [
        [sender, *cells[sender, "MBB"], *cells[sender, "BBM"]]
        for sender in dict.fromkeys(row.sender for row in rows)
    ]
    return table(["Sender", *head, *head], lines)


def quinn() -> str:
    """Return our own QUIC sender against quinn."""
    cells = quinn_cells(recorded("against-quinn.csv", AgainstRow))
    head = ["Handoff", "Kind", "Controller", "Transfer: ours", "quinn", ""]
    return table([*head, "100 packets: ours", "quinn", ""], cells)


def literature() -> str:
    """Return the proposals with their years, hosts and sources."""
    rows = []
    for one in of_papers.proposals():
        names = ", ".join(f"`{name}`" for name in one.schemes)
        agents = ", ".join(f"[agent](nodes.md) `{name}`" for name in one.agents)
        what = one.setting or names or agents
        rows.append([one.name, one.when, what, one.hosts, ", ".join(one.needs) or "-", one.source])
    return table(["proposal", "year", "here", "who changes", "what else", "source"], rows)


def effects() -> dict[str, dict[str, dict[str, str]]]:
    """Return the rows of helps-and-hurts.csv by scheme and effect."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with (HERE / "helps-and-hurts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["name"], {})[row["effect"]] = row
    return found


def where_of(row: dict[str, str]) -> str:
    """Return the scenario of a run in a few words."""
    sets = dict(one.split("=", 1) for one in row["sets"].split(" ") if one)
    links = [sets[key] for key in ("links.old.preset", "links.new.preset") if key in sets]
    name = Path(row["source"]).stem
    said = f"{name}, {' to '.join(links)}" if links else f"`{name}`"
    return said if row["profile"] == "linux" else f"{said} ({row['profile']})"


def change_of(row: dict[str, str]) -> str:
    """Return how much less or more time a run takes."""
    if not row["source"]:
        return "-"
    if row["seconds"] and row["plain_s"]:
        change = 100 * (float(row["seconds"]) / float(row["plain_s"]) - 1)
        # The time of a transfer is never 0.
        return f"{change:+.1f} %" if f"{change:+.0f}" == "-100" else f"{change:+.0f} %"
    return "does not end"


def helps() -> str:
    """Return the schemes with the runs in which they help and hurt most."""
    known, rows = of_papers.by_name(), []
    for name, of in effects().items():
        one = known[name]
        cells = [
            f"{change_of(row)}, {where_of(row)}" if row["source"] else "-"
            for row in (of["helps"], of["hurts"])
        ]
        what = [one.hosts, *([", ".join(one.needs)] if one.needs else [])]
        rows.append([f"[`{name}`](#{name})", one.when, "; ".join(what), *cells, one.source])
    return table(["", "year", "needs", "helps most", "hurts most", "source"], rows)


def helps_each() -> str:
    """Return both runs of each scheme, with the command and the explanation."""
    found = []
    for name, of in effects().items():
        found.append(f"### `{name}`")
        found += [effect_text(row) for row in of.values()]
    return "\n\n".join(found)


def effect_text(row: dict[str, str]) -> str:
    """Return a run in words."""
    word = row["effect"].capitalize()
    if not row["source"]:
        return f"{word}: in no run of the grid by 1 %."
    seconds = [f"{float(row[n]):.2f} s" if row[n] else "no end" for n in ("plain_s", "seconds")]
    change = f", {change_of(row)}" if row["seconds"] and row["plain_s"] else ""
    slower = "the plain sender" if row["effect"] == "helps" else f"`{row['name']}`"
    counts = "; ".join(
        f"{what} {row[f'plain_{key}']} → {row[key]}"
        for what, key in (("timeouts", "timeouts"), ("lost packets", "drops"))
    )
    lines = [
        f"{word}: {seconds[0]} → {seconds[1]}{change}; {counts}. {where_of(row)}.",
        "",
        f"```sh\n{row['command']}\n```",
    ]
    if row["why"]:
        lines += ["", f"- first difference: {escaped(row['why'])}"]
    if row["then"]:
        lines += [] if row["why"] else [""]
        lines += [f"- {slower}: {escaped(row['then'])}"]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return a line of an explanation as Markdown."""
    return " ".join(text.split())


MAKERS: dict[str, Any] = {
    of.__name__: of
    for of in (
        *(keys, quantities, presets, starters, results, contents, schemes, settings),
        *(papers, stalls, offload, budget, samples, agents, migrations, migration, quinn),
        *(literature, helps, helps_each),
    )
}


def main() -> None:
    for name in sys.argv[1:] or PAGES:
        path = ROOT / name
        new = made(name)
        print(f"{name}: {'as it was' if new == path.read_text(encoding='utf-8') else 'written'}")
        path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
