"""Further results of a complete reproduction: tables 1 and 2, and other interpretations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from midflight.plot import write_csv
from midflight.results import mean_ci
from midflight.studies.izumikawa_ehn import matrix, readings
from midflight.studies.izumikawa_ehn import scenarios as sc
from midflight.studies.izumikawa_ehn.measures import at_station_bps, kbps_text
from midflight.studies.izumikawa_ehn.readings import EVERYTHING
from midflight.studies.runs import Runs

__all__ = ["EVERYTHING", "appendix"]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _table_1(runs: Runs) -> tuple[str, list[tuple[object, ...]]]:
    """Table 1: yes or no as in the paper, and the test of the entry of a simulated scheme."""
    rows = []
    found: list[tuple[object, ...]] = []
    for row, checks in matrix.tested(runs):
        cells = ["yes" if stated else "no" for stated in row.stated]
        for scheme, place in matrix.SIMULATED.items():
            check = checks.get(scheme)
            if check is None:
                what, value, entry = "", "", "by construction"
            else:
                what, value = check.what, check.value
                entry = "holds" if check.passed else "does not hold"
            found.append((row.name, scheme.core, cells[place], what, value, entry))
            cells[place] += f" ({entry})"
        rows.append([row.name, *cells, row.how])
    header = ["", "I-TCP", "Snoop TCP", "Freeze-TCP", "EHN", "test"]
    return _table(header, rows), found


def _table_2(runs: Runs) -> tuple[str, list[tuple[object, ...]]]:
    """Table 2: the fixed node at BS1, in kbit/s, the paper's value in brackets."""
    rows = []
    found: list[tuple[object, ...]] = []
    for scheme, papers in sc.TABLE_2.items():
        cells = []
        for tcp, paper in zip(sc.TCPS, papers, strict=True):
            values = at_station_bps(runs, sc.mobility(tcp, scheme), 0, fixed=True) / 1000
            one = mean_ci(values)
            cells.append(f"{kbps_text(one)} ({paper:.0f})")
            found.append((scheme.name, tcp.name, sc.MOBILITY_RUNS, *one, paper))
        rows.append([scheme.name, *cells])
    return _table(["", *(tcp.name for tcp in sc.TCPS)], rows), found


def _readings(runs: Runs) -> tuple[str, str, list[tuple[object, ...]]]:
    """Interpretations over the claims of figure 3, and the other claims under those that concern
    them."""
    rows, more = [], []
    found: list[tuple[object, ...]] = []
    for reading in readings.READINGS:
        judged = reading.judge(runs)
        rows.append([reading.name, *(readings.cell(judged[id]) for id in readings.RANDOM)])
        if reading.whole:
            more.append([reading.name, *(readings.cell(judged[id]) for id in readings.REST)])
        for id, finding in judged.items():
            found += [(reading.name, id, c.what, c.value, c.passed) for c in finding.checks]
    names = ("equals Freeze", "over original", "over + 1.0 s", "over + 0.5 s", "over TR-ACKs")
    header = ["reading"]
    header += [
        f"{id.removeprefix('I03-')}: {name}"
        for id, name in zip(readings.RANDOM, (*names, "TCPW highest"), strict=True)
    ]
    rest = ["reading", *(id.removeprefix("I03-") for id in readings.REST)]
    return _table(header, rows), _table(rest, more), found


def appendix(runs: Runs, folder: Path) -> tuple[str, list[Path]]:
    """Tables 1 and 2 and the interpretations: Markdown for the report, and the files."""
    table_1, tests = _table_1(runs)
    table_2, nodes = _table_2(runs)
    random, rest, found = _readings(runs)
    files = [
        write_csv(
            folder / "table1.csv", ("property", "scheme", "paper", "test", "value", "entry"), tests
        ),
        write_csv(
            folder / "table2.csv",
            ("mobile_node", "tcp", "runs", "mean_kbps", "ci95_half_width", "paper_kbps"),
            nodes,
        ),
        write_csv(
            folder / "readings.csv", ("reading", "claim", "part", "measured", "passed"), found
        ),
    ]
    text = f"""
## Table 1

The paper's entries; in brackets whether the test of the last column confirms them. An entry that
holds by construction, for every scheme that can be simulated, is not tested, and claim I03-T1 does
not count it. I-TCP and Snoop TCP are not simulated.

{table_1}
## Table 2

The fixed node at BS1 in kbit/s, {sc.MOBILITY_RUNS} runs, 95 % intervals; in brackets the paper's
value.

{table_2}
## Claims under other interpretations

What the paper does not state: how many parts of each rule pass under other interpretations; bold
where all do. {sc.READING_RUNS} runs each, as many as the paper has; "as taken" means the claims
above. All values are in `readings.csv`.

{random}
An earlier version of this study used a window of {sc.OTHER_WINDOW} segments, and Reno and NewReno
by the RFCs; the rows with these settings apply today's rules to them. The other interpretation of
TR-ACKs is in the notes of F3-5 and F4-5.

Burst errors, table 2 and figure 6:

{rest}
"""
    return text, files
