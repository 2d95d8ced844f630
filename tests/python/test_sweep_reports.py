"""Reports of sweeps: changes against a mean of 0, flows of several kinds, runs without an end."""

from __future__ import annotations

import csv
import json
import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from browser import Browser, find_chromium
from midflight import Sweep
from midflight.cli import main
from midflight.plot import figure_of, plot_axis, plot_spread
from midflight.plot.results.rows import measured_flows
from midflight.plot.results.tables import read_columns
from midflight.scenario import has_quantity
from midflight.sweep_report import headed, sweep_report_html
from midflight.sweep_results import compare, groups
from midflight.sweep_summary import Summary
from midflight.sweep_words import change_lines

SCHEME, AT = "flows.film.scheme", "handoffs.0.at"


def summary_of(stalls: dict[str, list[float]], metric: str = "rebuffer_ns") -> Summary:
    """The comparison of schemes with these stalls, in seconds, at as many instants."""
    rows = [
        {
            **{"flow": "film", "entry": "film", "moves": "1", "workload": "video", "run": "0"},
            **{SCHEME: scheme, AT: f"{at} s", metric: str(value * 1e9), "digest": "0"},
        }
        for scheme, values in stalls.items()
        for at, value in enumerate(values)
    ]
    grouped = groups(iter(rows), [SCHEME, AT], [SCHEME], metric)
    compared = compare(grouped, [SCHEME], SCHEME, list(stalls))
    nothing: Any = None
    axes = {SCHEME: [*stalls], AT: [row[AT] for row in rows]}
    asked: Any = type("Asked", (), {"compare": SCHEME, "axes": axes})()
    return Summary(asked, metric, [SCHEME], grouped, compared, "x.csv", nothing, None)


def test_a_change_against_a_mean_of_0_is_a_difference() -> None:
    made = summary_of({"sack": [0, 0, 0], "freeze": [1, 1.25, 1.5], "vho": [0, 0, 0.5]})
    # The best one is first.
    vho, freeze = change_lines(made)
    assert freeze == (
        "with freeze it is higher by 1.25 s (0.629 to 1.87; no percentage: the mean of sack is 0)"
    )
    assert vho.startswith(
        "with vho it is neither lower nor higher for certain: +0.167 s (\N{MINUS SIGN}0.55 to "
        "+0.884; no percentage: "
    )
    (_, line, _), (foot, *more) = made_lines(made), made.comparison_foot()
    assert line[-6:] == ["3", "1.25", "0.621", "-", "-", "-"]
    assert foot == "2 of 2 have no percentage: the mean of sack is 0 there."
    assert not more


def made_lines(made: Summary) -> list[list[str]]:
    """The table of a comparison, which has no other axes."""
    return made.comparison_lines(1e9)


def test_an_interval_without_ends_is_a_dash_that_is_explained() -> None:
    made = summary_of({"sack": [0, 0, 1], "freeze": [1, 1, 3]})
    (_, line), (foot,) = made_lines(made), made.comparison_foot()
    assert line[-3:] == ["400.0", "-", "-"]
    assert "1 of 1 intervals of the percentage have no ends" in foot


def test_zero_has_no_sign_in_a_table() -> None:
    lines = headed([["flow", "difference"], ["a", "-0"], ["b", "-1.5"]])
    assert [line[1] for line in lines[1:]] == ["0.000", "-1.500"]


def test_without_a_pair_no_run_has_a_value() -> None:
    made = summary_of({"sack": [float("nan")], "freeze": [1.0]})
    assert list(change_lines(made)) == ["freeze: no pair counts: sack did not finish"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A video and a transfer over two settings and two schemes."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "x.toml").write_text(
        'end = "40 s"\n[links.a]\nrate = "20 Mbit/s"\ndelay = "10 ms"\n'
        '[links.b]\nrate = "10 Mbit/s"\ndelay = "20 ms"\n'
        '[flows.film]\nworkload = "video"\nset = { video_length = "12 s" }\n'
        '[flows.get]\nsize = "2 MB"\n[[handoffs]]\nat = "1 s"\nto = "b"\ngap = "300 ms"\n'
    )
    axes = (f"{SCHEME}=sack,freeze", "handoffs.0.gap=100ms,500ms,900ms", f"{AT}=0.5s,1s,1.5s")
    words = ["sweep", str(folder / "x.toml"), "--out", str(folder / "out"), "--compare", SCHEME]
    assert main([*words, *(word for axis in axes for word in ("--axis", axis))]) == 0
    return folder / "out"


def captions_of(page: Path) -> list[str]:
    """The captions of the figures of a report."""
    return re.findall(r"<figcaption>(.*?)</figcaption>", page.read_text(), re.DOTALL)


def test_each_flow_has_its_own_maps(swept: Path, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    assert main(["report", str(swept), "--metric", "duration_ns", "--out", str(page)]) == 0
    captions = [one.strip() for one in captions_of(page)]
    assert captions[-2:] == [
        f"Transfer time of {flow} over gap of the handoff and instant of the handoff."
        for flow in ("film", "get")
    ]
    page = tmp_path / "y.html"
    assert main(["report", str(swept), "--metric", "rebuffer_ns", "--out", str(page)]) == 0
    assert captions_of(page)[-1].strip().startswith("Playback stalled over gap of the handoff and")


def test_flows_of_requests_are_no_results(
    swept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "x.html"
    assert main(["report", str(swept), "--metric", "duration_ns", "--out", str(page)]) == 0
    text = page.read_text()
    assert "film with freeze" in text
    assert "get with freeze" in text
    assert "film-requests" not in text
    copy = tmp_path / "copy"
    axes = [f"{SCHEME}=sack,freeze", "handoffs.0.gap=100ms"]
    words = ["sweep", str(swept.parent / "x.toml"), "--out", str(copy), "--compare", SCHEME]
    capsys.readouterr()
    words += [word for axis in axes for word in ("--axis", axis)]
    assert main([*words, "--metric", "duration_ns"]) == 0
    printed = capsys.readouterr().out
    assert "film" in printed
    assert "film-requests" not in printed
    with (copy / "comparison-duration_ns.csv").open() as file:
        assert {row["flow"] for row in csv.DictReader(file)} == {"film", "get"}
    # They are in the tables of all results.
    with (copy / "flows.csv").open() as file:
        assert "film-requests" in {row["flow"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["report", "{out}", "--metric", "load_ns"], 'on flows with workload = "web"'),
        (["plot", "{empty}", "--x", "a", "--y", "b"], 'empty.csv" is empty; expected a table'),
        (["plot", "{empty}"], 'empty.csv" is empty; expected a table, whose first line names'),
        (["run", "{out}/flows.csv"], "is a table in CSV, and a scenario is in TOML; `midflight pl"),
        (["run", "{empty}"], 'empty.csv" is a table in CSV'),
        (["sweep", "{out}/flows.PARQUET"], "is a table in Parquet"),
    ],
)
def test_files_and_metrics_that_do_not_fit_are_refused(
    swept: Path,
    tmp_path: Path,
    words: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    empty, out = tmp_path / "empty.csv", tmp_path / "out"
    empty.touch()
    out.mkdir()
    for file in swept.glob("*.*"):
        (out / file.name).write_bytes(file.read_bytes())
    (out / "flows.PARQUET").write_text("x")
    args = [one.format(empty=empty, out=out) for one in words]
    target = tmp_path / "made.html" if words[0] == "report" else tmp_path / "made.png"
    assert main([*args, "--out", str(target)]) == 2
    assert expected in capsys.readouterr().err
    assert not target.exists()


def test_a_sweep_without_a_comparison_has_a_report(swept: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "x.html"
    words = ["sweep", str(swept.parent / "x.toml"), "--out", str(out)]
    words += ["--axis", "handoffs.0.gap=100ms,500ms", "--axis", "links.b.rate=5Mbit/s,8Mbit/s"]
    assert main(words) == 0
    assert main(["report", str(out), "--metric", "duration_ns", "--out", str(page)]) == 0
    captions = [one.strip() for one in captions_of(page)]
    assert captions[-2:] == [
        f"Transfer time of {flow} over gap of the handoff and rate of b."
        for flow in ("film", "get")
    ]


def made_in(folder: Path, *more: str) -> Path:
    axes = ["--axis", "flows.download.scheme=sack,vho", "--compare", "flows.download.scheme"]
    assert main(["sweep", "wifi-to-lte", *axes, *more, "--out", str(folder)]) == 0
    return folder


def test_a_report_of_a_part_of_a_sweep_has_its_rows_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--axis", "handoffs.0.at=0.1s:0.3s:0.1s", "--axis", "seed=1,2"]
    folder, page = made_in(tmp_path / "out", *at), tmp_path / "part.html"
    words = ["report", str(folder), "--out", str(page)]
    part = ["--where", "handoffs.0.at=100ms:200ms", "--without", "seed=2"]
    assert main([*words, *part]) == 0
    html = unescape(page.read_text())
    assert "4 runs: " in html
    assert "a part of the sweep: Instant of the handoff: 0.1 s or 0.2 s; Seed: 1." in html
    axes, again = html.split('<h2 id="axes">')[1], html.split('<h2 id="again">')[1]
    assert "0.3 s" not in axes.partition("<h2")[0]
    # The sweep has all of its cells, the report this part of them.
    assert "--axis seed=1,2" in again
    assert "--where handoffs.0.at=100ms:200ms --without seed=2" in again
    read = Sweep.read(folder)
    kept = {"handoffs.0.at": read.axes["handoffs.0.at"][:2], "seed": ["1"]}
    (change,) = Summary.of(read.showing(kept), folder, where=kept).compared
    assert change.pairs == 2
    capsys.readouterr()
    for wrong, why in (
        (["--where", "run=0"], 'there is no column "run"'),
        (["--without", "seed=7"], "no row has 7"),
        (["--where", "seed=7"], "no row has that"),
    ):
        assert main([*words[:-1], str(tmp_path / "none.html"), *wrong]) == 2
        assert why in capsys.readouterr().err
        assert not (tmp_path / "none.html").exists()


UNFINISHED = ["--set", "flows.download.size=20 MB", "--set", "end=4 s"]


def test_a_sweep_whose_runs_do_not_finish_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gaps = ["--axis", "handoffs.0.gap=1s,2s"]
    usual = made_in(tmp_path / "usual", *UNFINISHED, *gaps)
    said = " ".join(capsys.readouterr().out.split())
    assert "No transfer finished, so this is the goodput, not the time of a transfer" in said
    assert "No transfer finished" in sweep_report_html(usual)
    folder = made_in(tmp_path / "asked", *UNFINISHED, *gaps, "--metric", "duration_ns")
    said = " ".join(capsys.readouterr().out.split())
    assert "No run finished what duration_ns measures: a later end of the runs (--set end" in said
    # The report has the figures of what there is, before other words.
    figures = sweep_report_html(folder).split('<h2 id="summary">')[1].split('<h2 id="axes"')[0]
    before, first, *_ = figures.split("<figure")
    # One of them is on the columns of the table.
    assert before.count("<p") == 4
    assert "No run finished what duration_ns measures" in before
    assert "The figures show the goodput." in before
    assert "Goodput" in first
    shown = Sweep.read(folder)._repr_html_()
    assert "No run finished what duration_ns measures" in shown
    assert "<figure><img" in shown
    assert main(["plot", str(folder), "--out", str(tmp_path / "x.png")]) == 2
    assert "no run finished what it measures; give one that some run has" in capsys.readouterr().err
    made_in(tmp_path / "done", "--axis", "handoffs.0.gap=1s,2s")
    assert "finished" not in capsys.readouterr().out


@pytest.mark.parametrize(("sizes", "said"), [("unlimited", False), ("unlimited,400 MB", True)])
def test_flows_without_an_end_are_no_unfinished_transfers(
    sizes: str, said: bool, tmp_path: Path
) -> None:
    words = ["sweep", "bufferbloat", "--axis", "handoffs.0.gap=0.1s,0.2s", "--set", "end=7 s"]
    words += ["--axis", f"flows.download.size={sizes}", "--out", str(tmp_path / "x")]
    assert main(words) == 0
    page = sweep_report_html(tmp_path / "x")
    assert ("No transfer finished" in page) == said
    # Goodput is no time, and is of all runs.
    assert "counts as longer than every other" not in page


def test_a_figure_without_values_has_no_numbers_at_its_axis() -> None:
    rows = [(scheme, gap, run) for scheme in ("sack", "vho") for gap in "12" for run in range(4)]
    columns: dict[str, list[Any]] = {
        "scheme": [scheme for scheme, _, _ in rows],
        "gap": [gap for _, gap, _ in rows],
        "duration_ns": [None if run else 4e9 for _, _, run in rows],
    }
    how: Any = {"x": "gap", "by": ["scheme"]}
    for finished in (1, 4):
        columns["duration_ns"] = [1e9 * (4 + run) if run < finished else None for *_, run in rows]
        (axes,) = figure_of(plot_axis, columns, y="duration_ns", **how).axes
        texts = " ".join(" ".join(one.get_text() for one in axes.texts).split())
        assert bool(len(axes.get_yticks())) == (finished == 4)
        assert ("no medians and quartiles" in texts) == (finished == 1)
        assert ("the kind cdf shows the others" in texts) == (finished == 1)
        # Of few runs the kind box shows each that finished.
        (axes,) = figure_of(plot_spread, columns, "box", value="duration_ns", **how).axes
        assert len(axes.get_yticks())


def part_of(html: str, mark: str) -> str:
    """A text of a report that is set as it is."""
    return unescape(html.split(f'<pre id="{mark}">')[1].split("</pre>")[0])


def test_a_report_begins_with_results_and_has_the_command_of_its_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Values with commas and with colons, and axes in another order than they are run in.
    links = [f'{{rate = "{one} Mbit/s", delay = "20 ms"}}' for one in (5, 9)]
    more = ["--axis", "handoffs.0.at=0.2s:0.4s:0.1s", f"--axis=links.lte=[{', '.join(links)}]"]
    more += ["--set", "links.wifi.delay=7ms"]
    more += ["--metric", "goodput_bps", "--by", "links.lte"]
    html = sweep_report_html(made_in(tmp_path / "out", *more))
    heading = "Sweep over scheme of download, link lte and instant of the handoff"
    assert f"<h1>{heading}</h1>" in html
    marks = ["<h1>", "In short", "<figure", 'id="axes"', 'id="comparison"', 'id="scenario"']
    marks += ["the values of the scenario itself", 'id="sweep"']
    places = [html.index(one) for one in marks]
    assert places == sorted(places)
    monkeypatch.chdir(tmp_path)
    Path("scenario.json").write_text(part_of(html, "scenario-json"))
    command = shlex.split(part_of(html, "sweep"))
    assert command[:2] == ["midflight", "sweep"]
    assert main(command[1:]) == 0
    before, again = (
        json.loads((tmp_path / one / "sweep.json").read_text()) for one in ("out", "out-again")
    )
    for one in (before, again):
        title = one["scenario"].pop("title").partition(", over ")[0]
        assert title.startswith("A download")
        assert "flows.download.scheme" not in title
        # Shards are as long as the machine is fast.
        one.pop("shard_cells")
    assert again == before
    assert (tmp_path / "out/flows.csv").read_bytes() == Path("out-again/flows.csv").read_bytes()


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium")
def test_figures_of_a_report_are_side_by_side_on_a_wide_screen(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    page.write_text(sweep_report_html(made_in(tmp_path / "out", "--axis", "seed=1,2,3")))
    where = "[...document.querySelectorAll('.figures figure')].map(one => one.offsetTop)"
    for width, is_beside in ((1300, True), (700, False)):
        browser = Browser(find_chromium() or "", width)
        try:
            browser.open(page)
            first, second, *_ = browser.run(where)
        finally:
            browser.close()
        assert (first == second) == is_beside


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium")
def test_folded_tables_are_printed(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    axes = ["--axis", "handoffs.0.gap=0.1s:1.4s:0.1s", "--axis", "handoffs.0.at=0.2s,0.3s"]
    html = sweep_report_html(made_in(tmp_path / "out", *axes))
    page.write_text(html)
    browser = Browser(find_chromium() or "")
    try:
        browser.open(page)
        heights = "[...document.querySelectorAll('%s')].map(one => one.clientHeight)"
        assert max(browser.run(heights % "details")) < 40
        browser.ask("Emulation.setEmulatedMedia", media="print")
        assert min(browser.run(heights % "details:has(table)")) > 200
        assert max(browser.run(heights % "details.document")) < 40
        after = "getComputedStyle(document.querySelector('.document summary'), '::after').content"
        assert browser.run(after) == '" (in the file, not on paper)"'
    finally:
        browser.close()
    images = re.findall(r'<img src="([^"]+)"', html)
    assert len({*images}) == len(images) > 2


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("A train with a call leaves 5G for LTE", False),
        ("Car 7B, from 802.11n and Wi-Fi 6, with H264", False),
        ("A download of 3 MB", True),
        ("A gap of 50ms", True),
        ("A file of 5GB", True),
    ],
)
def test_names_with_digits_are_no_values(text: str, has: bool) -> None:
    assert has_quantity(text) == has


def test_a_page_with_several_connections_is_one_result(tmp_path: Path) -> None:
    """Its measures are those of the first connection, and the others do not lack them."""
    folder, page = tmp_path / "out", tmp_path / "x.html"
    words = ["sweep", "web-page", "--set", "flows.page.set.web_connections=3", "--axis"]
    words += ["flows.page.scheme=sack,freeze", "--axis", "handoffs.0.at=0.3s,0.5s"]
    assert main([*words, "--compare", "flows.page.scheme", "--out", str(folder)]) == 0
    made = Summary.of(Sweep.read(folder), folder)
    assert {one.flow for one in made.grouped} == {"page-c0"}
    assert not sum(one.missing() for one in made.grouped)
    assert {one.left_out for one in made.compared} == {0}
    assert main(["report", str(folder), "--out", str(page)]) == 0
    assert measured_flows(read_columns(folder, "load_ns"), "load_ns", {}) == ["page-c0"]
    # Each of them has a goodput.
    flows = {one.flow for one in Summary.of(Sweep.read(folder), folder, "goodput_bps").grouped}
    assert flows == {"page-c0", "page-c1", "page-c2"}


def test_unknown_columns_and_folders_without_tables_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, axis = tmp_path / "out", "handoffs.0.at=0.3s,0.5s"
    Sweep.of("wifi-to-lte", {"handoffs.0.at": "0.3s,0.5s"}).begin(folder)
    plot = ["plot", str(folder), "--out", str(tmp_path / "x.png")]
    assert main([*plot, "--kind", "heatmap", "--value", "best"]) == 2
    assert "has no tables yet" in capsys.readouterr().err
    assert main(["sweep", "wifi-to-lte", "--axis", axis, "--out", str(folder)]) == 0
    for kind in ("median", "box"):
        assert main([*plot, "--kind", kind, "--where", "nosuch=x"]) == 2
        assert '--where: there is no column "nosuch"' in capsys.readouterr().err
