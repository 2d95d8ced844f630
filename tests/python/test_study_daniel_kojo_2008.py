"""The study of Daniel and Kojo (2008): its grid, its ledger, and a reproduction of one figure."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from midflight import MidflightError
from midflight.claims import Verdict
from midflight.cli import main
from midflight.studies import STUDIES, load, reproduce
from midflight.studies.daniel_kojo_2008 import scenarios as sc
from midflight.studies.daniel_kojo_2008.claims.setup import LIMIT_LINKS, measured_limit
from midflight.studies.runs import Cell, Job, Link, Runs, Sweep
from midflight.studies.study import DRAWING, Study, drawing

NAME = "daniel-kojo-2008"

#: The rows of the acceptance list, in its order within each section of the paper.
IDS = """
S1 S2 S3 S4
F2a F2b F2c F2d F2e F2f F2g F2h F2i F2j F3a F3b F3c F3d F3e F3f
F4a F4b F4c F4d F4e F4f F5a F5b F5c F5d F6a F6b F6c F7a F7b
F8 F9 F10 F11 F13 F15 F16 F25 F12 F14
F17a-1 F17a-2 F17a-3 F17a-4 F17b-1 F17b-2 F17b-3 F17b-4
F18-1 F18-2 F18-3 F18-4 F19-1 F19-2 F19-3 F19-4 F20
F21-1 F21-2 F21-3 F21-4 F21-5 F22-1 F22-2 F22-3
F23a-1 F23a-2 F23b F24a F24b F24c F26 T6.3a T6.3b F27-1 F27-2 F27-3 T1
""".split()

FIGURES = "2 3 4 5 6 7 8 9 10 12 14 17a 17b 18 19 20 21 22 23a 23b 24 26 27".split()


@pytest.fixture(scope="module")
def study() -> Study:
    return load(NAME)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def test_every_row_of_the_acceptance_list_is_there(study: Study) -> None:
    assert [claim.id for claim in study.claims] == [f"D08-{id}" for id in IDS]
    assert all(claim.claim and claim.rule and claim.needs for claim in study.claims)


def test_every_figure_is_there(study: Study) -> None:
    assert [figure.id for figure in study.figures] == FIGURES


def test_claims_name_figures_of_the_paper(study: Study) -> None:
    listings = {"11", "13", "15", "16", "25"}
    named = {figure for claim in study.claims for figure in claim.figures}
    assert named <= set(FIGURES) | listings


def test_the_grid_has_the_cells_of_the_paper() -> None:
    assert [len(cells) for cells in sc.FAMILIES.values()] == [72, 80, 40]
    assert len(sc.CELLS) == 188
    assert len(sc.INSTANTS_NS) == 200
    assert (sc.INSTANTS_NS[0], sc.INSTANTS_NS[-1]) == (100_000_000, 20_000_000_000)


def test_links_of_the_third_family_hold_ten_packets() -> None:
    assert all(link.bdp == pytest.approx(10.0, rel=0.05) for link in sc.SAME_BDP)


@pytest.mark.parametrize("link", [Link(6400, 75), Link(1600, 9), Link(200, 300), Link(200, 1)])
def test_the_buffer_is_measured_from_the_first_overflow(runs: Runs, link: Link) -> None:
    wanted = LIMIT_LINKS[link]
    assert measured_limit(runs.trace(sc.start_of(link)), link) == wanted


def test_what_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(MidflightError, match=NAME):
        reproduce("nobody-1999", out=tmp_path)
    with pytest.raises(MidflightError, match="17a"):
        reproduce(NAME, figure="99", out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_one_figure_runs_what_it_needs_and_no_more(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: set[Job] = set()
    digest = Runs.digest

    def record(self: Runs) -> str:
        made.update(self.made)
        return digest(self)

    monkeypatch.setattr(Runs, "digest", record)
    told: list[tuple[str, int, int]] = []
    result = reproduce(
        NAME, figure="26", out=tmp_path, progress=lambda *progress: told.append(progress)
    )

    figure = next(f for f in study.figures if f.id == "26")
    claims = study.claims.of_figure("26")
    needed = {*figure.needs, *(job for claim in claims for job in claim.needs)}
    assert made == needed
    assert [claim.id for claim in result.claims] == ["D08-F26"]
    runs = sum(len(job.at_ns) if isinstance(job, Sweep) else 1 for job in needed)
    assert ("runs", runs, runs) in told
    assert told[-1] == ("figures", 1, 1)
    assert all(done <= total for _, done, total in told)

    text = json.loads(json.dumps(result.to_json()))
    assert set(text) == {
        *("study", "model_version", "digest", "conclusion", "tally", "claims", "figures"),
    }
    assert text["figures"] == [
        {"id": "26", "files": [f"figures/fig26.{kind}" for kind in ("svg", "png", "csv")]}
    ]
    assert set(text["claims"][0]) == {
        *("id", "beyond_paper", "claim", "rule", "measured", "verdict", "note"),
        *("parts_passed", "parts"),
    }
    with (tmp_path / "claims.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["parts"] == str(text["claims"][0]["parts"]) == "5"
    assert row["beyond_paper"] == "no"
    assert re.fullmatch("[0-9a-f]{32}", text["digest"])
    assert {claim["verdict"] for claim in text["claims"]} <= {str(v) for v in Verdict}

    with (tmp_path / "figures" / "fig26.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    assert all(float(r["q1_s"]) <= float(r["median_s"]) <= float(r["q3_s"]) for r in rows)
    assert all(int(r["runs"]) == 200 for r in rows)


def test_the_report_needs_no_network(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="14", out=tmp_path)
    assert result.report is not None
    html = result.report.read_text(encoding="utf-8")
    assert "D08-F14" in html
    assert 'src="data:image/svg+xml;base64,' in html
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", html)
    assert "@import" not in html


def test_what_failed_is_said_before_any_figure(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="2", out=tmp_path)
    assert result.report is not None
    html = result.report.read_text(encoding="utf-8")
    summary, _, rest = html.partition('<h2 id="claims">')
    assert "<figure" not in summary
    failed = {one.id for one in result.claims if one.verdict is not Verdict.REPRODUCED}
    assert failed
    assert {id for id in (one.id for one in result.claims) if id in summary} == failed
    for one in result.claims:
        assert one.finding.outcome in rest
        assert one.finding.score in rest
    figure = rest[rest.index("<figure") :]
    assert all(f'href="#{one.id}"' in figure for one in result.claims)


def test_claims_need_no_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the packages for figures and reports there are the same claims and data."""
    whole = reproduce(NAME, figure="23", out=tmp_path / "whole")
    for name in [n for n in sys.modules if n.partition(".")[0] in DRAWING]:
        monkeypatch.delitem(sys.modules, name)
    for name in DRAWING:
        monkeypatch.setitem(sys.modules, name, None)

    def never(*_: object) -> None:
        raise AssertionError("simulates although the figure cannot be drawn")

    with monkeypatch.context() as context:
        context.setattr(Runs, "make", never)
        with pytest.raises(MidflightError, match=r"need matplotlib, jinja2, .*midflight\[plots\]"):
            reproduce(NAME, figure="23", out=tmp_path / "no")
        assert main(["reproduce", NAME, "--figure", "23", "--out", str(tmp_path / "no")]) == 2
        assert "matplotlib" in capsys.readouterr().err
    out = tmp_path / "bare"
    assert main(["reproduce", NAME, "--figure", "23", "--out", str(out), "--json"]) == 0
    done = capsys.readouterr()
    assert "note: matplotlib, jinja2, markdown_it not installed" in done.err
    text = json.loads(done.out)
    assert text["claims"] == whole.to_json()["claims"]
    assert text["digest"] == whole.digest
    assert text["figures"][0]["files"] == ["figures/fig23a.csv"]
    for file in ("claims.csv", "figures/fig23a.csv", "figures/fig23b.csv"):
        assert (out / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    assert not (out / "report.html").exists()


def test_a_figure_number_selects_its_parts(tmp_path: Path) -> None:
    result = reproduce(NAME, figure="Fig 23", out=tmp_path)
    assert [figure.id for figure in result.figures] == ["23a", "23b"]


def test_a_reproduction_repeats_to_the_byte(tmp_path: Path) -> None:
    one = reproduce(NAME, figure="14", out=tmp_path / "one")
    two = reproduce(NAME, figure="14", out=tmp_path / "two")
    assert one.digest == two.digest
    assert one.report is not None
    assert two.report is not None
    assert one.report.read_bytes() == two.report.read_bytes()


def test_files_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    texts = []
    for processes in (1, 2):
        out = tmp_path / str(processes)
        result = reproduce(NAME, figure="23", out=out, processes=processes)
        texts.append([path.read_bytes() for one in result.figures for path in one.files])
    assert len(texts[0]) == 6
    assert texts[0] == texts[1]


def test_what_goes_wrong_in_another_process_reaches_the_caller(
    study: Study, runs: Runs, tmp_path: Path
) -> None:
    folder = tmp_path / "not-a-folder"
    folder.touch()
    figures = [figure for figure in study.figures if figure.id in ("8", "14")]
    drawings = [figure.draw(runs) for figure in figures]
    stems = [folder / figure.stem for figure in figures]
    with (
        pytest.raises(FileExistsError, match="not-a-folder"),
        drawing(drawings, stems, 2) as written,
    ):
        list(written)


def test_the_registry_loads() -> None:
    assert {name: load(name).name for name in STUDIES} == {name: name for name in STUDIES}


#: Outcomes of rows that take few runs.  A change here is a change of what the simulator says about
#: the paper, and needs a reason.
OUTCOMES = {
    "S1": "reproduced, 8 of 8",
    "S4": "reproduced, 21 of 21",
    "F2e": "reproduced, 1 of 1",
    "F2f": "partly, 2 of 3",
    "F2j": "reproduced, 5 of 5",
    "F4a": "reproduced, 1 of 1",
    "F5a": "reproduced, 2 of 2",
    "F5c": "partly, 2 of 3",
    "F8": "reproduced, 4 of 4",
    "F9": "reproduced, 5 of 5",
    "F10": "reproduced, 4 of 4",
    "F11": "reproduced, 10 of 10",
    "F12": "reproduced, 3 of 3",
    "F13": "reproduced, 6 of 6",
    "F14": "reproduced, 5 of 5",
    "F15": "reproduced, 3 of 3",
    "F16": "reproduced, 3 of 3",
    "F17b-1": "reproduced, 2 of 2",
    "F18-4": "partly, 1 of 2",
    "F19-2": "not, 0 of 6",
    "F20": "partly, 6 of 7",
    "F21-2": "reproduced, 4 of 4",
    "F21-3": "partly, 4 of 5",
    "F23b": "reproduced, 6 of 6",
    "F24a": "reproduced, 3 of 3",
    "F24b": "reproduced, 4 of 4",
    "F24c": "reproduced, 1 of 1",
    "F25": "reproduced, 6 of 6",
    "F27-1": "reproduced, 3 of 3",
    "T6.3a": "reproduced, 10 of 10",
}


@pytest.mark.parametrize("row", OUTCOMES)
def test_outcomes_stand_and_are_explained(study: Study, runs: Runs, row: str) -> None:
    finding = study.claims[f"D08-{row}"].evaluate(runs)
    assert finding.outcome.removesuffix("s").removesuffix(" part") == OUTCOMES[row], (
        finding.measured
    )
    assert finding.reason or finding.verdict is Verdict.REPRODUCED
    assert "nan" not in f"{finding.measured} {finding.note}".split()


#: Rows whose rule was corrected, and what the earlier rule gives.
EARLIER = {
    "S4": "partly, 17 of 21 parts",
    "F5a": "partly, 3 of 4 parts",
    "F9": "not, 0 of 1 part",
    "F14": "not, 0 of 1 part",
    "F20": "not, 0 of 1 part",
    "F21-2": "partly, 2 of 4 parts",
    "F21-3": "partly, 4 of 5 parts",
    "T6.3a": "partly, 8 of 10 parts",
}


@pytest.mark.parametrize("row", EARLIER)
def test_a_corrected_row_keeps_its_earlier_reading(study: Study, runs: Runs, row: str) -> None:
    (reading,) = study.claims[f"D08-{row}"].evaluate(runs).readings
    assert reading.outcome == EARLIER[row]


def test_the_trigger_of_a1_reports_only_at_equal_delay(runs: Runs) -> None:
    """What the listing names beside a longer delay acts where the bandwidth falls alone."""

    def same(cell: Cell) -> bool:
        one, other = (
            runs.sweep(job)["digest"] for job in (sc.sweep(cell, sc.ENHANCED), sc.as_listed(cell))
        )
        return bool((one == other).all())

    assert same(sc.to_slow(sc.FAST, sc.MBB))
    assert same(sc.low_to_high_bandwidth(800, 9, sc.MBB))
    assert not same(sc.high_to_low_bandwidth(200, 300, sc.MBB))
