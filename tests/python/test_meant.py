"""What is suggested for a name that does not exist, and what is listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from midflight import Change, Flow, Handoff, Link, MidflightError, Scenario, Sweep
from midflight.cli import main
from midflight.meant import did_you_mean, meant, or_all
from midflight.plot import plot_axis, plot_over_time, plot_spread
from midflight.plot.over_time.watched import OVER_TIME
from midflight.sweep_results import METRICS


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("goodput", "throughput"),
        ("latency", "delay"),
        ("RTTs", "rtt"),
        ("window", "cwnd"),
        ("bufferbloat", "queue"),
        ("backlog", "queue"),
        ("rate", "throughput"),
        ("seq", "sequence"),
        ("in-flight", "pipe"),
        ("inflight", "pipe"),
        ("pacing", "rates"),
        ("thruput", "throughput"),
        ("colour", None),
    ],
)
def test_words_of_the_field_mean_kinds_of_figures(word: str, kind: str | None) -> None:
    assert meant(word, OVER_TIME) == kind


def test_words_of_the_field_mean_measurements() -> None:
    for word, metric in (
        ("goodput", "goodput_bps"),
        ("throughput", "goodput_bps"),
        ("fct", "duration_ns"),
        ("retransmissions", "rexmits"),
        ("losses", "drops_queue"),
    ):
        assert did_you_mean(word, METRICS) == f' (did you mean "{metric}"?)'


def test_a_long_list_is_not_printed_after_a_good_guess() -> None:
    names = [f"name{number:02}" for number in range(30)]
    assert or_all("name1", names[:3], "list has all").endswith("; there are name00, name01, name02")
    assert or_all("nam07", names, "list has all") == ' (did you mean "name07"?); list has all'
    assert or_all("colour", names, "list has all") == f"; there are {', '.join(names)}"


# Words of the command line, what is said, and what is not.
SAID = {
    "an event": (
        ["explain", "wifi-to-lte", "--what", "rtoo"],
        '(did you mean "rto"?); docs/explain.md has all',
        "cwnd",
    ),
    "no event": (["explain", "wifi-to-lte", "--what", "zzz"], "there are cwnd", "did you mean"),
    "a kind of figure": (
        ["plot", "wifi-to-lte", "--kind", "goodput", "--out", "a.png"],
        '(did you mean "throughput"?); midflight plot --help has all',
        "cwnd",
    ),
    "a metric": (
        ["sweep", "wifi-to-lte", "--axis", "seed=1,2", "--metric", "goodput", "--out", "x"],
        '(did you mean "goodput_bps"?); `midflight list metrics` has all',
        "rexmits",
    ),
    "a key of a flow": (
        ["run", "wifi-to-lte", "--set", "flows.download.schem=sack"],
        'there is no key "schem"; expected "scheme", or another key that docs/scenarios.md lists',
        "stagger",
    ),
    "a list": (["list", "metric"], 'there is no list "metric" (did you mean "metrics"?)', ""),
    "an option": (
        ["run", "wifi-to-lte", "--seedd", "1"],
        "midflight run has no option --seedd (did you mean --seed?); see midflight run --help",
        "--set",
    ),
    "option of sweeps": (
        ["plot", "ferry", "--metric", "stall_ns"],
        "midflight plot has no option --metric (--y does that); see midflight plot --help",
        "mean",
    ),
    "no option": (
        ["run", "wifi-to-lte", "--colour", "x"],
        "midflight run has no option --colour; see midflight run --help",
        "--out",
    ),
    "an option of a command of a group": (
        ["trace", "check", "a.csv", "--untill", "1s"],
        "has no option --untill (did you mean --until?); see midflight trace check --help",
        "--up",
    ),
    "an option that is a value of a scenario": (
        ["run", "wifi-to-lte", "--scheme", "sack"],
        "midflight run has no option --scheme (--set flows.NAME.scheme=NAME sets it; midflight "
        "report and midflight plot compare several)",
        "did you mean",
    ),
    "an option where --set is another": (
        ["trace", "check", "a.csv", "--rate", "5"],
        "midflight trace check has no option --rate",
        "links.NAME",
    ),
    "a recording as a scenario": (
        ["run", "{folder}/drive.csv"],
        'drive.csv" is a recording of a path; midflight trace check ',
        "syntax",
    ),
    "a stack as a scheme": (
        ["run", "wifi-to-lte", "--set", "flows.download.scheme=quinn"],
        '"quinn" is a stack, not a scheme; expected flows.download.stack = "quinn"',
        "list schemes",
    ),
    "a preset in capitals": (
        ["run", "wifi-to-lte", "--set", "links.lte.preset=LTE"],
        'there is no preset "LTE" (did you mean "lte"?)',
        "",
    ),
    "a missing argument": (["run"], "; see midflight run --help", "see midflight --help"),
}


@pytest.mark.parametrize("what", SAID)
def test_a_mistake_leads_to_what_is_meant(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, said, unsaid = SAID[what]
    (tmp_path / "drive.csv").write_text("time_s,rate_mbps\n0,5\n1,6\n")
    assert main([word.replace("{folder}", os.fspath(tmp_path)) for word in words]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert not unsaid or unsaid not in printed


def test_only_a_near_scenario_is_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("up.toml").touch()
    Path("drive.toml").touch()
    assert main(["run", "no.toml"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert main(["run", "drve.toml"]) == 2
    assert '(did you mean "drive.toml"?)' in capsys.readouterr().err
    assert main(["sweep", "wifi-to-lte", "--axis", "seed=1,2", "--out", "up.toml"]) == 2
    assert '--out "up.toml" is a file; give the name of a folder' in capsys.readouterr().err
    assert main(["run", "wifi-to-ltee"]) == 2
    assert '(did you mean "wifi-to-lte"?)' in capsys.readouterr().err


def test_a_source_that_is_not_there_is_an_error_of_midflight() -> None:
    for draw in (
        lambda: plot_axis("nowhere", "a.png"),
        lambda: plot_spread("nowhere", "a.png", kind="cdf"),
    ):
        with pytest.raises(MidflightError) as raised:
            draw()
        assert (raised.value.name, raised.value.value) == ("source", "nowhere")
        assert "the folder of a run or a sweep" in str(raised.value.accepted)
    with pytest.raises(MidflightError, match=r'"goodput" \(did you mean "throughput"\?\)'):
        plot_over_time("wifi-to-lte", "a.png", kinds=["goodput"])


def test_names_are_wanted_where_a_list_is_given() -> None:
    links = {"lte": Link(preset="lte")}
    of_scenario: Any = Scenario
    for keys, said in (
        ({"links": links, "flows": [Flow()]}, 'flows={"download": Flow(size="3 MB")}'),
        ({"links": [Link()], "flows": {}}, 'links={"lte": Link(preset="lte")}'),
        (
            {"links": links, "flows": {}, "handoffs": Handoff(at="1 s", to="lte")},
            'handoffs=[Handoff(at="1 s", to="lte")]',
        ),
        (
            {"links": links, "flows": {}, "changes": Change(at="1 s", link="lte")},
            'changes=[Change(at="1 s", link="lte", rate="1 Mbit/s")]',
        ),
    ):
        with pytest.raises(MidflightError) as raised:
            of_scenario(**keys)
        assert said in str(raised.value)
        assert said in str(raised.value.accepted)
    with pytest.raises(MidflightError, match="flows has a value of the type Link; expected a Flow"):
        of_scenario(links=links, flows={"download": Link()})


def test_a_sweep_is_a_source_of_figures(tmp_path: Path) -> None:
    """Once it has results; a starter's name is one of sweeps."""
    sets = {"flows.download.size": "30 kB"}
    asked = Sweep.of(Scenario.read("wifi-to-lte", sets=sets), {"handoffs.0.at": "1 s, 2 s"})
    with pytest.raises(MidflightError, match=r"the sweep has no results yet, which Sweep\.run"):
        plot_axis(asked, tmp_path / "a.png")
    found = asked.run(tmp_path / "sweep")
    how = {"x": "handoffs.0.at", "y": "duration_ns"}
    drawn = [
        plot_axis(source, tmp_path / f"{number}.svg", **how).read_bytes()
        for number, source in enumerate((tmp_path / "sweep", found, found.sweep))
    ]
    assert drawn[0] == drawn[1] == drawn[2]
    for name, said in (("at", "handoffs.0.at"), ("drops_quue", None)):
        with pytest.raises(MidflightError) as raised:
            plot_axis(found, tmp_path / "b.svg", x=name, y="duration_ns")
        # What is measured is not meant as an axis.
        assert ("did you mean" in str(raised.value)) == (said is not None)
        assert said is None or f'(did you mean "{said}"?)' in str(raised.value)
    with pytest.raises(MidflightError, match="Outcome is not a table of results; its flows are"):
        plot_axis(Scenario.read("wifi-to-lte", sets=sets).run(), tmp_path / "b.svg", **how)
    assert Sweep.of("wifi-to-lte", {"seed": [1, 2]}).cells == 2
    of_sweep: Any = Sweep.of
    with pytest.raises(MidflightError, match=r"axis seed: the values are 5; expected a list, such"):
        of_sweep("wifi-to-lte", {"seed": 5})
    with pytest.raises(MidflightError, match="the source is of the type int; expected a Scenario"):
        of_sweep(3, {"seed": [5]})


def test_a_trace_of_python_is_named_where_it_is_wrong() -> None:
    for trace, said in (
        ({"file": "a.csv", "repeats": True}, 'a trace has no "repeats" (did you mean "repeat"?)'),
        ({"time_s": [0, 1], "rate_mbps": ["a", 1]}, "column \"rate_mbps\" of a trace has 'a';"),
        ({"time_s": 3, "rate_mbps": [1]}, 'column "time_s" of a trace is of the type int;'),
    ):
        with pytest.raises(MidflightError) as raised:
            Link(trace=trace)
        assert said in str(raised.value)


def test_a_report_takes_a_scheme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a figure does, and several side by side; all are checked before the first runs."""
    page = tmp_path / "page.html"
    quick = ["report", "wifi-to-lte", "--set", "end=5 s", "--out", os.fspath(page)]
    assert main([*quick, "--scheme", "enhanced"]) == 0
    assert "--set=flows.download.scheme=enhanced" in page.read_text().replace("&#39;", "")
    assert main([*quick, "--scheme", "enhanced", "--scheme", "sack,sack"]) == 2
    assert "--scheme sack is given 2 times; once is accepted" in capsys.readouterr().err
    page.unlink()
    assert main([*quick, "--scheme", "enhanced,none"]) == 2
    assert 'scheme "none"' in capsys.readouterr().err
    assert not page.exists()
    assert main([*quick, "--scheme", "quinn"]) == 2
    assert 'flows.download.stack = "quinn"' in capsys.readouterr().err


def test_a_column_without_its_unit_is_suggested() -> None:
    table = Scenario.read("wifi-to-lte").plan().setup(0).trace()
    for name, near in (("time", "time_ns"), ("evnt", "event")):
        with pytest.raises(MidflightError, match=rf'\(did you mean "{near}"\?\); column_names'):
            table.column(name)
    with pytest.raises(MidflightError, match="there are time_ns, "):
        table.column("xyz")


def test_a_measurement_that_no_run_has_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An axis may have the quotes of --set."""
    folder = os.fspath(tmp_path / "sweep")
    axis = 'links.lte.delay="20 ms : 40 ms : 20 ms"'
    sizes = ["--set", "flows.download.size=100 MB", "--set", "end=4 s", "--axis", axis]
    assert main(["sweep", "wifi-to-lte", *sizes, "--out", folder]) == 0
    assert not Sweep.read(Path(folder)).axes["links.lte.delay"][0].startswith('"')
    capsys.readouterr()
    drawn = ["--kind", "cdf", "--value", "duration_ns", "--out", os.fspath(tmp_path / "a.png")]
    assert main(["plot", folder, *drawn]) == 2
    assert 'duration_ns" has no value in any of 2 rows' in capsys.readouterr().err
    assert not (tmp_path / "a.png").exists()
