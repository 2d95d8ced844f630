"""Links that follow recordings, from the command line and from Python."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest

from midflight import Flow, Link, MidflightError, Scenario, ScenarioWarning, Wired
from midflight._core import draw_recording, read_recording
from midflight.cli import main
from midflight.explain import explain_stall, with_outages
from midflight.explain.events import History
from midflight.plot.over_time.history import histories
from midflight.plot.over_time.recorded import recording_figure
from midflight.plot.over_time.run import run_figure
from midflight.recordings import pauses, quantities
from midflight.scenario import read_plan

LEOEM = Path(__file__).parents[1] / "data" / "leoem" / "sd-ny-bp-980-1120.log"
WHOLE = LEOEM.with_name("sd-sea-bp.log.gz")
SCENARIO = """
profile = "rfc"
end = "20 s"
[links.cell]
trace = "drive.csv"
delay = "10 ms"
queue = "100 packets"
[flows.download]
"""
DRIVE = "time_s,rate_mbps\n0,12\n4,0\n9,6\n15,12\n"


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    """Return a scenario beside its recording."""
    (tmp_path / "drive.csv").write_text(DRIVE)
    file = tmp_path / "drive.toml"
    file.write_text(SCENARIO)
    return file


def run(file: Path, *sets: str) -> dict[str, Any]:
    """Return the row of a run's flow."""
    pairs = dict(one.split("=", 1) for one in sets)
    flows = Scenario.read(file, sets=pairs).run().flows
    return {name: flows.column(name)[0] for name in flows.column_names}


def test_the_stall_is_the_outage(drive: Path) -> None:
    """A rate of zero stalls for as long as it lasts, to the millisecond of the timer's luck."""
    row = run(drive)
    assert 4.99e9 < row["stall_ns"] < 5.05e9
    assert row["drops_break"] == 0
    lost = run(drive, "links.cell.trace.outage=drop")
    assert lost["drops_break"] > 10
    assert lost["stall_ns"] > row["stall_ns"]


def test_columns_from_python_are_the_file(drive: Path) -> None:
    """A mapping, a DataFrame and the file give the same run."""

    class Frame:
        """The interface of the columns of a DataFrame."""

        columns = ("time_s", "rate_mbps")

        def __getitem__(self, name: str) -> Any:
            return numpy.array(columns[name])

    columns = {"time_s": [0, 4, 9, 15], "rate_mbps": [12, 0, 6, 12]}
    digests = [run(drive)["digest"]]
    for trace in (columns, Frame(), {"columns": columns}):
        cell = Link(trace=trace, delay="10 ms", queue="100 packets")
        scenario = Scenario(
            links={"cell": cell}, flows={"download": Flow()}, end="20 s", profile="rfc"
        )
        digests += scenario.run().digests
        again = Scenario.from_dict(json.loads(scenario.plan().canonical))
        digests += again.run().digests
    assert len(set(digests)) == 1


def test_bad_columns_are_refused() -> None:
    """Other objects are refused with a sentence."""
    for trace, why in (
        (5, "a trace is int"),
        ({"time_s": ["x"], "rate_mbps": [1]}, "expected numbers, times of a clock"),
        ({"time_s": [0], "rate": [1]}, "has no unit"),
        ({"time_s": [0, 1, -1], "rate_mbps": [1, 1, 1]}, "row 2 is before"),
    ):
        with pytest.raises(MidflightError, match=why):
            Link(trace=trace, delay="1 ms").trace and Scenario(
                links={"cell": Link(trace=trace, delay="1 ms")}, flows={"download": Flow()}
            ).plan()


def test_a_sweep_over_recordings(
    drive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recordings and offsets are axes; a shard is run again when its recording has changed."""
    monkeypatch.chdir(drive.parent)
    Path("other.csv").write_text("time_s,rate_mbps\n0,3\n")
    out = ["--axis", "links.cell.trace=drive.csv,other.csv", "--out", "out"]
    assert main(["sweep", str(drive), *out]) == 0
    first = Path("out/flows.csv").read_text()
    assert main(["sweep", str(drive), *out]) == 0
    assert Path("out/flows.csv").read_text() == first
    Path("other.csv").write_text("time_s,rate_mbps\n0,4\n")
    assert main(["sweep", str(drive), *out]) == 0
    assert Path("out/flows.csv").read_text() != first
    offsets = ["--axis", "links.cell.trace.offset=0 s : 10 s : 5 s", "--out", "offsets"]
    assert main(["sweep", str(drive), *offsets]) == 0
    assert len(Path("offsets/flows.csv").read_text().splitlines()) == 4
    capsys.readouterr()


def test_verify_reports_a_changed_file(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest repeats a run with a recording, and is refused for another content."""
    out = str(tmp_path / "out")
    assert main(["run", str(drive), "--out", out]) == 0
    assert main(["verify", out]) == 0
    (tmp_path / "drive.csv").write_text(DRIVE.replace("12\n4", "13\n4"))
    capsys.readouterr()
    assert main(["verify", out]) != 0
    assert "has changed since its hash was written" in capsys.readouterr().err


def test_explain_and_plot_take_them(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that look at one run take a link with a trace."""
    assert main(["explain", str(drive), "--what", "stall"]) == 0
    picture = tmp_path / "drive.png"
    assert main(["plot", str(drive), "--out", str(picture)]) == 0
    assert picture.stat().st_size > 1000
    capsys.readouterr()


def test_a_starter_follows_a_file_of_the_working_directory(
    drive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a recording to a figure without a scenario of one's own."""
    monkeypatch.chdir(drive.parent)
    words = ["drive-test", "--set", "links.lte.trace=drive.csv", "--set", "end=20 s"]
    figure = ["--kind", "throughput,queue", "--out", "drive.svg", "--csv", "out.csv"]
    assert main(["plot", *words, *figure]) == 0
    drawn = (drive.parent / "drive.svg").read_text()
    assert ">outage<" in drawn
    assert ">rate of the link<" in drawn
    assert ">Queue" in drawn
    words[2] = "links.lte.trace=other.csv"
    assert main(["run", *words]) == 2
    assert '"other.csv" cannot be read' in capsys.readouterr().err


def test_outages_are_those_of_the_link_in_use(drive: Path) -> None:
    """Until a handoff leaves the link; the other link has none."""
    setup = read_plan(drive).setup(0)
    assert setup.outages == [(4_000_000_000, 9_000_000_000)]
    text = (
        drive.read_text()
        + """
[links.other]
trace = { columns = { time_s = [0, 6, 8], rate_mbps = [1, 0, 2] }, repeat = true }
delay = "10 ms"
[[handoffs]]
at = "5 s"
to = "other"
gap = "500 ms"
"""
    )
    drive.write_text(text)
    seconds = [(a / 1e9, b / 1e9) for a, b in read_plan(drive).setup(0).outages]
    # Each ten seconds are the same, and the last row is as long as the one before.
    assert seconds == [(4, 5), (6, 8), (16, 18)]


def test_pauses_of_a_mahimahi_file_are_outages(tmp_path: Path) -> None:
    """A time without an opportunity counts from 0.2 s and ten mean distances on."""
    fast = [*range(1, 1001, 2), *range(1400, 2001, 2), *range(2100, 2500, 2)]
    (tmp_path / "fast.down").write_text("\n".join(map(str, fast)))
    (tmp_path / "slow.down").write_text("300\n600\n900\n5000\n")
    for name, expected in (
        ("fast", [(0.999, 1.4), (3.497, 3.898)]),
        # Ten times 1.25 s are longer than any of its pauses.
        ("slow", []),
    ):
        link = Link(delay="20 ms", trace=str(tmp_path / f"{name}.down"))
        scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="4 s")
        seconds = [(a / 1e9, b / 1e9) for a, b in scenario.plan().setup(0).outages]
        assert seconds == [(pytest.approx(a), pytest.approx(b)) for a, b in expected]


def test_rates_that_are_all_zero_are_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "zero.csv"
    file.write_text("time_s,rate_mbps,up_rate_mbps\n0,0,1\n1,0,2\n")
    assert main(["trace", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "all rates of the downlink are 0: nothing can be sent over it" in said
    assert "uplink are 0" not in said


def test_what_to_do_about_a_file_that_is_not_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "log.csv"
    for content, hint in (
        (b"when,rate_mbps\n0,1\n", '--columns time="NAME UNIT"'),
        (b"time_s,kpi\n0,1\n", '--columns rate="NAME UNIT"'),
        (b"time_s,tput\n0,1\n", '--columns rate="tput Mbit/s"'),
        ("Zeit (s);Länge\n0;1\n".encode("latin-1"), "iconv -f WINDOWS-1252 -t UTF-8"),
        ("time_s,rate_mbps\n0,1\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
    ):
        file.write_bytes(content)
        assert main(["trace", "check", str(file)]) == 2
        assert hint in capsys.readouterr().err
    file.write_text("time_s,kpi,delay_ms\n0,1,2\n")
    assert main(["trace", "check", str(file)]) == 0
    assert 'not used: kpi; if one of them is the rate, name it: --columns rate="NAME UNIT"' in (
        capsys.readouterr().out
    )


def test_a_recording_is_not_drawn_as_results(
    drive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mahimahi = drive.with_name("driving.down")
    mahimahi.write_text("1\n2\n4\n")
    for file in (drive.with_name("drive.csv"), mahimahi):
        assert main(["plot", str(file), "--out", str(drive.with_name("x.png"))]) == 2
        assert f"midflight trace check {file} --out FILE draws it" in capsys.readouterr().err


def test_an_outage_of_a_recording_is_shaded() -> None:
    columns = {"time_s": [0, 2, 3], "rate_mbps": [4, 0, 4]}
    link = Link(delay="20 ms", trace={"columns": columns})
    scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="5 s")
    (one,) = histories(scenario)

    def named(axes: Any) -> dict[str, Any]:
        handles, labels = axes.get_legend_handles_labels()
        return dict(zip(labels, handles, strict=True))

    for axes in run_figure([one]).axes:
        (area,) = named(axes)["outage"].get_paths()
        ends = area.get_extents()
        assert (ends.x0, ends.x1) == pytest.approx((2, 3))
    # What would be a hair is wide enough to be seen.
    figure = run_figure([one], from_s=2.9999, until_s=5)
    (area,) = named(figure.axes[0])["outage"].get_paths()
    ends = area.get_extents()
    assert ends.x0 == pytest.approx(2.9999)
    assert 0.002 < ends.x1 - ends.x0 < 0.05


def test_explanations_name_the_outage(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a stall, and of an event within it; packets wait or are lost."""
    where = "the recording of `cell` had no rate from 4 s to 9 s; packets"
    for sets, fate in (([], "waited"), (["--set", "links.cell.trace.outage=drop"], "were lost")):
        for stack in ([], ["--set", "flows.download.stack=quinn"]):
            for asked in (["--what", "stall"], ["--at", "7s"]):
                assert main(["explain", str(drive), *asked, *sets, *stack]) == 0
                assert f"{where} {fate}" in capsys.readouterr().out
    assert main(["explain", str(drive), "--at", "3s"]) == 0
    assert "had no rate" not in capsys.readouterr().out


def test_many_outages_are_counted_in_an_explanation() -> None:
    """The three longest of them are named, in the order of time."""
    columns = {"time_s": [0, 1, 2, 3, 5, 6, 7, 8, 8.5], "rate_mbps": [4, 0, 4, 0, 4, 0, 4, 0, 4]}
    link = Link(delay="20 ms", trace={"columns": columns, "outage": "drop"})
    plan = Scenario(links={"cell": link}, flows={"download": Flow()}, end="12 s").plan()
    setup = plan.setup(0)
    assert [one[2:] for one in setup.link_outages] == [("cell", True)] * 4
    history = History(setup)
    steps = with_outages([], history.outages_within(0, 10_000_000_000))
    assert [step.time_ns / 1e9 for step in steps] == [6, 3, 1]
    assert steps[1].text.endswith("; a shorter outage is not listed")


HOLE = "time_s,rate_mbps\n" + "".join(
    f"{s},{8 if s % 2 else 4}\n" for s in (*range(10), *range(20, 25))
)


def test_times_without_rows_are_noted(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By check and by run; as outages nothing passes."""
    drive.with_suffix(".csv").write_text(HOLE)
    held = "it has no rows from 10 s to 20 s: the values before it hold"
    csv = str(drive.with_suffix(".csv"))
    assert main(["trace", "check", csv]) == 0
    printed = capsys.readouterr().out
    assert held in printed
    assert "outages" not in printed
    assert main(["trace", "check", csv, "--holes", "outage"]) == 0
    printed = capsys.readouterr().out
    assert "it has no rows from 10 s to 20 s: taken for an outage" in printed
    assert "outages: 1, 10 s in all" in printed
    assert main(["trace", "check", csv, "--holes", "outage", "--from", "5 s"]) == 0
    printed = capsys.readouterr().out
    assert "it has no rows from 5 s to 15 s: taken for an outage" in printed
    assert "outages: 1, 10 s in all" in printed
    rates = next(line for line in printed.splitlines() if "rate" in line and "0.000" in line)
    assert "8.000" in rates
    assert main(["trace", "check", csv, "--holes", "outage", "--from", "11 s", "--until", "19 s"])
    assert "its highest rate is 0 bit/s" in capsys.readouterr().err
    assert main(["run", str(drive)]) == 0
    assert held in capsys.readouterr().err
    assert run(drive)["stall_ns"] < 1e9
    assert read_plan(drive, sets={"links.cell.trace.holes": "outage"}).setup(0).outages == [
        (10_000_000_000, 20_000_000_000)
    ]
    linear = {"links.cell.trace.holes": "outage", "links.cell.trace.interpolation": "linear"}
    ((begin, end),) = read_plan(drive, sets=linear).setup(0).outages
    assert (begin, end + 1) == (10_000_000_000, 20_000_000_000)


def test_check_takes_the_part_that_a_link_follows(
    drive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Cut, moved, repeated and scaled as by a scenario."""
    csv = str(drive.with_suffix(".csv"))
    found = read_recording(csv, part={"from": "2 s", "until": "12 s", "scale": "0.5"})
    assert found["span_ns"] == 10_000_000_000
    assert found["down"]["rate_bps"] == ([0, 2_000_000_000, 7_000_000_000], [6e6, 0, 3e6])
    words = ["--from", "2s", "--until", "12s", "--offset", "5s", "--repeat"]
    assert main(["trace", "check", csv, *words]) == 0
    printed = capsys.readouterr().out
    assert "drive.csv: csv, 10 s" in printed
    # From second 7 of the file: 2 s of the outage, 3 s at 6 Mbit/s, and from second 2 on 2 s at 12.
    assert "  0-2, 7-10 s" in printed
    assert main(["trace", "check", csv, "--offset", "30s"]) == 2
    assert "is not within the part of 21 s" in capsys.readouterr().err
    assert main(["trace", "check", csv, "--offset", "soon"]) == 2
    assert 'offset "soon" is not accepted; expected a time' in capsys.readouterr().err
    assert main(["trace", "check", "starlinks"]) == 2
    assert 'did you mean "starlink"?' in capsys.readouterr().err


def test_a_picture_of_opportunities_has_means_of_an_interval(tmp_path: Path) -> None:
    """Means over equal intervals, which it names, and pauses."""
    link = tmp_path / "x.down"
    # 1,000 opportunities a second for 10 s without the fourth second.
    link.write_text("".join(f"{ms}\n" for ms in range(1, 10_001) if not 3000 < ms <= 4000))
    found = read_recording(str(link))
    rows = [
        (name, what, *values) for name, what, _, values, _ in quantities(found, None) if values[0]
    ]
    (_, _, times, rates) = rows[0]
    assert times[1] - times[0] == 100_000_000
    # An opportunity of the millisecond 3000 belongs to what ends there: no mean has one more.
    assert rates == pytest.approx([12e6] * 30 + [0] * 10 + [12e6] * 60)
    assert pauses(found["down"]["opportunities_ns"]) == [(3_000_000_000, 4_001_000_000)]
    figure = recording_figure(found, rows, pauses(found["down"]["opportunities_ns"]))
    handles, labels = figure.axes[0].get_legend_handles_labels()
    (area,) = dict(zip(labels, handles, strict=True))["outage"].get_paths()
    ends = area.get_extents()
    assert (ends.x0, ends.x1) == pytest.approx((3, 4.001))
    # A figure of a paper, or one with another title, says it above the rates.
    for words, said in ((["--style", "paper"], 1), (["--title", "A drive"], 1), ([], 0)):
        out = tmp_path / "a.svg"
        assert main(["trace", "check", str(link), "--out", str(out), *words]) == 0
        assert out.read_text().count(">means of 0.1 s<") == said


def test_the_last_mean_of_opportunities_is_of_half_an_interval_or_more(tmp_path: Path) -> None:
    link = tmp_path / "x.down"
    link.write_text("".join(f"{ms}\n" for ms in range(1, 10_003)))
    rates = next(quantities(read_recording(str(link)), None))[3]
    assert len(rates[0]) == 100
    assert rates[1] == pytest.approx([12e6] * 100, rel=1e-9)


def test_short_outages_of_a_picture_do_not_cover_it(drive: Path) -> None:
    """Many of them have no room to be wider."""
    found = read_recording(str(drive.with_suffix(".csv")))
    short = [(k * 100_000_000, k * 100_000_000 + 2_000_000) for k in range(150)]
    figure = recording_figure(found, [("down", "rate", *found["down"]["rate_bps"])], short)
    (narrow,) = figure.axes[0].collections
    ends = [one.get_extents() for one in narrow.get_paths()]
    assert len(ends) == 150
    for one, other in itertools.pairwise(ends[1:]):
        assert other.x0 - one.x1 > 0.3 * (other.x0 - one.x0)
    assert narrow.get_linewidth()[0] == 0
    assert not figure.axes[0].patches


def test_a_model_whose_mean_is_shifted_says_so() -> None:
    """The minimum of Gauss-Markov fading raises its mean, if it is reached often."""
    far = draw_recording("gauss-markov", set={"deviation": "5 Mbit/s"})
    assert len(far["remarks"]) == 1
    near = draw_recording("gauss-markov", set={"deviation": "20 Mbit/s"})
    (said,) = near["remarks"][1:]
    rates = near["down"]["rate_bps"][1]
    assert f"it is {sum(rates) / len(rates) / 1e6:.4f} Mbit/s, not 30 Mbit/s" in said


def test_times_of_pandas_are_taken() -> None:
    """Times of a time zone, also across a change of the clock, and an index of times."""
    pandas = pytest.importorskip("pandas")
    # At 1:00 UTC of that day the clock goes from 2:00 to 3:00.
    times = pandas.date_range("2026-03-29 00:59:58", periods=4, freq="s", tz="UTC")
    local = times.tz_convert("Europe/Berlin")
    rates = [4, 8, 0, 8]
    plain = Link(delay="20 ms", trace={"time_s": [0, 1, 2, 3], "rate_mbps": rates})
    flows = {"download": Flow(size="1 MB")}
    expected = Scenario(links={"cell": plain}, flows=flows).run().flows.column("digest")
    for frame in (
        pandas.DataFrame({"time": local, "rate_mbps": rates}),
        pandas.DataFrame({"Timestamp": [str(one) for one in local], "rate_mbps": rates}),
        {"time": [one.to_pydatetime() for one in times], "rate_mbps": rates},
        pandas.DataFrame({"rate_mbps": rates}, index=local),
        pandas.DataFrame({"rate_mbps": rates}, index=times.tz_localize(None)),
    ):
        link = Link(delay="20 ms", trace=frame)
        found = Scenario(links={"cell": link}, flows=flows).run().flows.column("digest")
        assert found == expected


def test_the_rate_is_in_the_samples(drive: Path) -> None:
    """Samples of the link have the rate at their instants, and show the outage."""
    links, _ = read_plan(drive).setup(0).samples()
    names = links.column("link")
    rows = zip(
        names, links.column("time_ns"), links.column("rate_bps"), links.column("up"), strict=True
    )
    cell = [(at, rate, up) for name, at, rate, up in rows if name == "cell"]
    assert len(cell) > 100
    for at, rate, up in cell:
        expected = 12e6 if at < 4e9 else 0 if at < 9e9 else 6e6 if at < 15e9 else 12e6
        assert (rate * up) == expected, at


def test_check_prints_what_was_read(
    drive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Span, rates, outages, handovers and a picture, of each format."""
    assert main(["trace", "check", str(drive.with_suffix(".csv"))]) == 0
    printed = capsys.readouterr().out
    assert "drive.csv: csv, 21 s" in printed
    assert "outages: 1, 5 s in all, the longest 5 s" in printed
    assert "down rate, Mbit/s, from 0 to 21 s" in printed
    assert "█" in printed
    packed = tmp_path / "path.log.gz"
    with gzip.open(packed, "wb") as file:
        file.write(LEOEM.read_bytes())
    assert main(["trace", "check", str(packed)]) == 0
    printed = capsys.readouterr().out
    assert "path.log.gz: leo-em, 141 s" in printed
    assert "handovers, source: 3" in printed
    assert "handovers, destination: 2" in printed
    assert "packets are lost" in printed
    link = tmp_path / "x.down"
    link.write_text("".join(f"{ms}\n" for ms in range(1, 11)))
    assert main(["trace", "check", str(link)]) == 0
    assert "12.000" in capsys.readouterr().out
    other = tmp_path / "x.up"
    other.write_text("".join(f"{ms}\n" for ms in range(2, 41, 2)))
    assert main(["trace", "check", str(link), "--up", str(other)]) == 0
    printed = capsys.readouterr().out
    assert "x.down: mahimahi, 0.01 s; up: mahimahi, 0.04 s" in printed
    assert re.search(
        r"^down rate, Mbit/s, means of 0\.01 s +10 .* 12\.000 .*\n"
        r"up rate, Mbit/s, means of 0\.04 s +20 .* 6\.000 ",
        printed,
        re.M,
    )
    assert "up rate, Mbit/s, means of 0.04 s, from 0 to 0.04 s" in printed
    link.write_text("1\n2\n2\n900\n901\n")
    assert main(["trace", "check", str(link)]) == 0
    said = "down: the longest time without an opportunity is 0.898 s, at 0.002 s"
    assert said in capsys.readouterr().out
    cut = ["trace", "check", str(drive.with_suffix(".csv")), "--columns", "rate=none"]
    assert main(cut) == 2
    assert 'there is no column "none"' in capsys.readouterr().err


def test_a_moved_file_is_named(drive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The key and the line of a file that is not there."""
    shutil.move(drive.with_suffix(".csv"), drive.with_suffix(".old"))
    assert main(["run", str(drive)]) == 2
    told = capsys.readouterr().err
    assert "drive.toml:5: links.cell.trace" in told
    assert "drive.csv" in told


def test_check_shows_what_a_model_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model by its name: boundaries at 12, 27, 42 and 57 s, the same for the same seed."""
    out = tmp_path / "path.png"
    words = ["trace", "check", "starlink", "--seed", "3", "--length", "120 s"]
    assert main([*words, "--out", str(out)]) == 0
    first = capsys.readouterr().out
    assert "handovers, satellite: 8, at 12, 27, 42, 57, 72, 87, 102, 117 s" in first
    assert "drawn by the model starlink with seed 3" in first
    assert out.read_bytes().startswith(b"\x89PNG")
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert main([*words[:4], "4", *words[5:]]) == 0
    assert capsys.readouterr().out != first
    for wrong, said in (
        (["--set", "rate=5"], "expected a rate"),
        (["--set", "delya=5 ms"], 'did you mean "delay"'),
        (["--format", "csv"], "starlink is a model"),
        (["--up", "x"], "starlink is a model"),
        # Earlier names.
        (["--knob", "rate=5"], "--set is accepted"),
        (["--column", "rate=x"], "--columns is accepted"),
        (["--set", "burst-for=1 s"], 'did you mean "burst_for"'),
    ):
        assert main([*words, *wrong]) == 2
        assert said in capsys.readouterr().err


def test_a_model_is_a_trace() -> None:
    """Schemes meet the same path, and a seed is an axis like any other."""
    trace = {"model": "fade-out", "seed": 2, "set": {"at": "8 s", "gone_for": "2 s"}}
    link = Link(delay="20 ms", queue="100 packets", trace=trace)
    scenario = Scenario(links={"cell": link}, flows={"download": Flow()}, end="20 s")
    stall = scenario.run().flows.column("stall_ns")[0]
    assert 2e9 <= stall < 3e9
    other = scenario.but({"links.cell.trace.set.gone_for": "4 s"})
    assert other.run().flows.column("stall_ns")[0] >= 4e9
    for sets, said in (
        ({"links.cell.trace.model": "fadeout"}, "did you mean"),
        ({"links.cell.trace.length": "0.1 s"}, "expected 1 s to 24 h"),
        ({"links.cell.trace.file": "drive.csv"}, "a model draws the path"),
    ):
        with pytest.raises(MidflightError, match=said):
            scenario.but(sets).run()


def test_a_whole_file_has_what_was_counted_in_it() -> None:
    """San Diego to Seattle over bent pipes: frames, handovers, delays and blackouts."""
    found = read_recording(str(WHOLE))
    times, delays = found["down"]["delay_s"]
    assert (found["span_ns"], len(times)) == (5732 * 10**9, 5713)
    kinds = [kind for _, kind in found["handovers"]]
    assert (kinds.count("source"), kinds.count("destination")) == (89, 137)
    delays_ms = [round(1e3 * one, 1) for one in (min(delays), numpy.median(delays), max(delays))]
    assert delays_ms == [6.5, 10.2, 20.4]
    blackouts = [(until - at) / 1e6 for at, until in found["outages"]]
    # Four times there is no path at all, for seconds; the others are of a few milliseconds.
    short = sorted(one for one in blackouts if one < 1000)
    assert (len(blackouts), len(short)) == (196, 192)
    assert 1.4 < short[0] < 1.5
    assert 15 < short[-1] < 16.1


def test_a_blackout_alone_causes_no_timeout() -> None:
    """Twelve handovers of a link of 150 Mbit/s: where packets wait, no timer expires.

    The timer is at least 200 ms. What LeoEM's way loses, all that waits, is another matter.
    """
    found = read_recording(str(WHOLE))
    gaps = [at for at, until in found["outages"] if until - at > 10**9]
    inside = [at for at, _ in found["handovers"] if 0 < at < gaps[0]]
    begin, last = inside[0] // 10**9 - 5, inside[11] // 10**9 + 5
    trace = {"file": str(WHOLE), "from": f"{begin} s", "until": f"{last} s", "outage": "hold"}
    link = Link(rate="150 Mbit/s", queue="50000 packets", trace=trace)
    end = f"{min(last - begin, 120)} s"
    flows = Scenario(links={"sky": link}, flows={"download": Flow()}, end=end).run().flows
    assert flows.column("acked")[0] > 100_000
    assert flows.column("timeouts")[0] == flows.column("drops_break")[0] == 0


def test_a_picture_of_a_recording_has_the_style_of_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "path.svg"
    words = ["trace", "check", "starlink", "--length", "60 s"]

    def drawn(*more: str) -> str:
        assert main([*words, "--out", str(out), *more]) == 0
        return out.read_text()

    plain = drawn()
    assert ">starlink (model)</text>" in plain
    assert "DejaVu" in plain
    paper = drawn("--style", "paper")
    assert "STIXGeneral" in paper
    assert "starlink (model)" not in paper
    assert 'width="252pt"' in paper  # 3.5 in
    named = drawn("--style", "paper", "--title", "Five satellites", "--size", "5x4")
    assert ">Five satellites</text>" in named
    assert 'width="360pt" height="288pt"' in named
    capsys.readouterr()
    for more, said in (
        (["--out", str(out), "--size", "huge"], '"huge" is not a size'),
        (["--out", str(out), "--style", "poster"], '"poster" is not one of plain, paper'),
        (["--style", "paper"], "--style is for a figure; give --out FILE as well"),
    ):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err


def test_the_stall_leads_to_the_timer_that_ended_it(tmp_path: Path) -> None:
    """After an outage and a slow rate the sender waits for its probe, by an RTT of many seconds."""
    rows = ["time_s,rate_mbps", "0,20", "30,0", "40,0.3", "65,20"]
    (tmp_path / "slow.csv").write_text("\n".join(rows) + "\n")
    text = SCENARIO.replace("drive.csv", "slow.csv").replace("20 s", "140 s")
    file = tmp_path / "slow.toml"
    file.write_text(text.replace('"rfc"', '"linux"') + 'scheme = "bbr-linux"\n')
    plan = read_plan(file)
    told = explain_stall(plan)
    assert told is not None
    history = History(plan)
    (woken,) = [
        history.row(step.row)
        for step in told.steps
        if step.row is not None and history.row(step.row).event == "wake"
    ]
    assert woken.detail == "loss probe"
    assert woken.value > 10
    (text,) = [step.text for step in told.steps if step.row == woken.index]
    assert f"it was set for {woken.value:.6g} s (smoothed RTT " in text
    # The chain has no other long wait that it does not name.
    instants = [step.time_ns for step in told.steps if step.time_ns >= (woken.since_ns or 0)]
    rest = [a - b for a, b in itertools.pairwise(instants) if b != woken.since_ns]
    assert max(rest) < 1e9


def scenario_of(trace: Any, **more: Any) -> Scenario:
    """Return a scenario with a link that follows this recording."""
    has_delay = any(name in str(trace) for name in ("rtt", "delay_ms"))
    cell = Link(trace=trace, delay=None if has_delay else "10 ms")
    return Scenario(links={"cell": cell}, flows={"download": Flow()}, end="5 s", **more)


def test_notes_are_warnings_of_python(tmp_path: Path) -> None:
    """What is not used is warned of once for each scenario, at the line of the caller."""
    rows = "\n".join(f"{k},20,50,1" for k in [*range(12), *range(30, 42)])
    (tmp_path / "drive.csv").write_text("time_s,rate_mbps,RTT (ms),RSRP\n" + rows + "\n")
    scenario = scenario_of(str(tmp_path / "drive.csv"))
    with pytest.warns(ScenarioWarning) as said:
        scenario.run()
    texts = [str(one.message) for one in said]
    assert len(texts) == 2
    assert any("not used: RTT (ms); columns = {" in one for one in texts)
    assert any("it has no rows from 12 s to 30 s" in one for one in texts)
    assert {one.filename for one in said} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScenarioWarning)
        scenario.run()
        again = scenario.but({"end": "4 s"})
    with pytest.warns(ScenarioWarning, match="not used"):
        again.plan()
    with pytest.warns(ScenarioWarning, match="not used"):
        list(histories(scenario_of(str(tmp_path / "drive.csv"))))


def test_columns_of_a_frame_may_be_named() -> None:
    """A mapping names columns of a DataFrame, as of a file, also those with the same names."""
    values = {"Timestamp": [0, 1, 2], "DL kbit/s": [20000, 10000, 20000], "RTT (ms)": [50, 70, 50]}
    named = {"rate": "DL kbit/s", "rtt": "RTT (ms)"}
    plain = {"time_s": [0, 1, 2], "rate_mbps": [20, 10, 20], "delay_ms": [25, 35, 25]}
    other = {"time": [0, 1, 2], "rate": [20, 10, 20], "rtt": [50, 70, 50]}
    units = {"time": "time s", "rate": "rate Mbit/s", "rtt": "rtt ms"}
    wired = Wired(delay="0 ms")
    digests = set()
    for trace in (
        plain,
        {"file": values, "columns": named},
        {"file": other, "columns": units},
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScenarioWarning)
            digests |= {*scenario_of(trace, wired=wired).run().digests}
    assert len(digests) == 1
    with pytest.raises(MidflightError, match="the file of a trace is int; expected a path, or"):
        Link(trace={"file": 5})
    with pytest.raises(MidflightError, match="up of a trace is list; expected a path"):
        Link(trace={"file": "a.csv", "up": [1]})
    wrong = scenario_of({"file": values, "columns": {"bandwidth": "DL kbit/s"}})
    with pytest.raises(MidflightError, match='did you mean "rate"'):
        wrong.plan()


def test_the_wired_path_of_round_trips_is_told() -> None:
    """A note says what the wired links add to measured round trips, and how to leave it out."""
    columns = {"time_s": [0, 5], "rate_mbps": [20, 20], "rtt_ms": [50, 50]}
    trace = {"file": columns, "columns": {"rtt": "rtt_ms"}}
    with pytest.warns(ScenarioWarning) as said:
        scenario_of(trace, wired=Wired(delay="7.5 ms")).plan()
    adds = "the wired links of the scenario add 30 ms to each measured round trip"
    assert any(adds in str(one.message) for one in said)
    with pytest.warns(ScenarioWarning) as said:
        scenario_of(trace, wired=Wired(delay="0 ms")).plan()
    assert not any("wired links" in str(one.message) for one in said)


def test_check_takes_an_order_of_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Day and month with slashes are chosen by an option, there and in a scenario."""
    file = tmp_path / "log.csv"
    file.write_text("time,rate_mbps\n03/04/2026 10:00:00,9\n03/04/2026 10:00:04,8\n")
    assert main(["trace", "check", str(file)]) == 2
    assert "--dates day-first" in capsys.readouterr().err
    assert main(["trace", "check", str(file), "--dates", "month-first"]) == 0
    assert "log.csv: csv, 8 s" in capsys.readouterr().out
    assert main(["trace", "check", str(file), "--dates", "year-first"]) == 2
    assert "expected day-first or month-first" in capsys.readouterr().err
    plan = scenario_of({"file": str(file), "dates": "day-first"}).plan()
    assert plan.recordings()["cell"][0]["span_ns"] == 8_000_000_000
    with pytest.raises(MidflightError, match="dates without a file"):
        scenario_of({"columns": {"time_s": [0], "rate_mbps": [1]}, "dates": "day-first"}).plan()


def test_a_figure_of_a_part_names_the_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "drive.csv"
    rows = "\n".join(f"{k},{20 + k % 3},{50 + k % 2}" for k in range(60))
    file.write_text("time_s,rate_mbps,delay_ms\n" + rows + "\n")
    picture = tmp_path / "drive.svg"

    def texts(*words: str) -> list[str]:
        assert main(["trace", "check", str(file), "--out", str(picture), *words]) == 0
        return re.findall(r">([^<>]+)</text>", picture.read_text())

    whole = texts()
    assert "drive.csv" in whole
    assert "Time (s)" in whole
    part = texts("--from", "12s", "--until", "30 s")
    assert "12 s to 30 s of drive.csv" in part
    assert "Time after 12 s of the recording (s)" in part
    assert "12 s to 30 s of drive.csv; times are from" in capsys.readouterr().out
    # In a paper, whose caption has the title, the axis tells it.
    paper = texts("--from", "12s", "--style", "paper")
    assert "Time after 12 s of the recording (s)" in paper
    assert not any("drive.csv" in one for one in paper)
    for words, said in (
        (["--from", "12s"], "12 s to 60 s of drive.csv"),
        (["--until", "30s"], "0 s to 30 s of drive.csv"),
        (["--from", "12s", "--until", "30s", "--offset", "4s"], "16 s to 30 s of drive.csv"),
        (["--offset", "4s"], "drive.csv from 4 s on"),
        (
            ["--from", "12s", "--until", "30s", "--offset", "4s", "--repeat"],
            "12 s to 30 s of drive.csv, beginning at 16 s",
        ),
    ):
        assert said in texts(*words)


def test_delays_end_at_outages_and_holes(tmp_path: Path) -> None:
    """What nobody has measured is not drawn: delays of a link that is away, and rows of a hole."""
    rows = [(k, 0 if 10 <= k < 14 else 20, 50 + k % 2) for k in range(60) if not 30 <= k < 45]
    file = tmp_path / "drive.csv"
    lines = "\n".join(f"{k},{rate},{delay}" for k, rate, delay in rows)
    file.write_text("time_s,rate_mbps,delay_ms\n" + lines + "\n")
    found = read_recording(str(file))
    drawn = [(name, what, *of) for name, what, _, of, _ in quantities(found, None) if of[0]]
    away = [(10 * 10**9, 14 * 10**9)]
    figure = recording_figure(found, drawn, away, holes=found["holes"])

    def at(panel: int, second: float) -> float:
        line = figure.axes[panel].lines[0]
        time, value = (numpy.asarray(one, numpy.float64) for one in line.get_data())
        return float(value[numpy.searchsorted(time, second, side="right") - 1])

    seconds = (9.5, 10.5, 13.5, 14.5, 29.5, 31, 44, 45.5, 59.5)
    assert [at(0, one) for one in seconds] == pytest.approx(
        [20, 0, 0, 20, 20, numpy.nan, numpy.nan, 20, 20], nan_ok=True
    )
    assert [at(1, one) for one in seconds] == pytest.approx(
        [51, numpy.nan, numpy.nan, 50, 51, numpy.nan, numpy.nan, 51, 51], nan_ok=True
    )
    # One that lasts to the end has nothing behind it.
    figure = recording_figure(found, drawn, [(50 * 10**9, found["span_ns"])])
    assert numpy.isnan(at(1, 55))
