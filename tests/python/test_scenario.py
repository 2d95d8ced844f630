"""Scenarios: files and objects are equivalent, runs repeat, and errors are one sentence."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import Flow, Handoff, Link, MidflightError, Scenario, scenario
from midflight.cli import main

OBJECTS = {
    "ScenarioFile": scenario.Scenario,
    "WiredFile": scenario.Wired,
    "LinkFile": scenario.Link,
    "WayFile": scenario.LinkDirection,
    "FlowFile": scenario.Flow,
    "HandoffFile": scenario.Handoff,
    "NoticeFile": scenario.Notice,
    "ChangeFile": scenario.Change,
    "SweepFile": scenario.SweepAxes,
}


def simple(**more: Any) -> Scenario:
    return Scenario(
        links={"wifi": Link(preset="wifi"), "lte": Link(preset="lte")},
        flows={"download": Flow(scheme="enhanced", size="1 MB")},
        handoffs=[Handoff(at="0.1 s", to="lte")],
        end="20 s",
        **more,
    )


def test_objects_have_the_keys_of_files() -> None:
    schema = json.loads(midflight.scenario_schema())
    types = {**schema["$defs"], "ScenarioFile": schema}
    for name, of in OBJECTS.items():
        assert {one.name for one in dataclasses.fields(of)} == set(types[name]["properties"]), name
        needed = {
            one.name
            for one in dataclasses.fields(of)
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        }
        assert needed == set(types[name].get("required", ())), name


@pytest.mark.parametrize("name", scenario.starter_names())
def test_every_starter_runs_and_is_the_same_as_an_object(name: str) -> None:
    read = Scenario.read(name)
    assert read.title
    assert read.description
    outcome = read.but({"runs": 1}).run()
    assert len(outcome.flows) >= len(read.flows)
    assert Scenario.from_dict(json.loads(outcome.plan.canonical)).run().digests == outcome.digests


def test_an_object_runs_as_the_same_text_does() -> None:
    text = """
    end = "20 s"
    [links]
    wifi.preset = "wifi"
    lte.preset = "lte"
    [flows.download]
    scheme = "enhanced"
    size = "1 MB"
    [[handoffs]]
    at = "0.1 s"
    to = "lte"
    """
    plan = midflight.Plan(text)
    assert plan.address == simple().plan().address
    outcome = simple().run()
    flows, _ = midflight.run_plans([plan])
    assert flows.column("digest") == outcome.digests
    assert len(set(outcome.digests)) == 1
    # 1 MB in segments of 1448 bytes; the SYN is no data.
    assert flows.column("acked") == [-(-1_000_000 // 1448)]
    assert simple(title="other").plan().address == plan.address
    assert simple(seed=2).plan().address != plan.address


def test_a_trace_and_captures_are_of_the_same_run() -> None:
    one = simple()
    assert one.trace().digest == one.run().digests[0]
    assert set(one.capture()) == {"sender", "receiver", "wifi", "lte"}
    with pytest.raises(MidflightError, match=r'no flow "dwnload" \(did you mean "download"\?\)'):
        one.trace(flow="dwnload")


def test_values_are_set_by_their_paths() -> None:
    changed = simple().but({"flows.download.size": "2 MB", "notices": False, "seed": 7})
    assert changed.flows["download"].size == "2 MB"
    assert changed.notices is False
    assert changed.seed == 7
    with pytest.raises(
        MidflightError, match=r"--set flows\.download\.sizes=1 MB: .*expected \"size\""
    ):
        simple().but({"flows.download.sizes": "1 MB"})
    with pytest.raises(
        MidflightError, match=r'a Flow has no "sizes" \(did you mean "size"\?\); it'
    ):
        Scenario.from_dict({"flows": {"a": {"sizes": "1 MB"}}})


def test_the_command_prints_and_writes_what_it_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((scenario.STARTERS / "wifi-to-lte.toml").read_text())
    out, events = tmp_path / "out", tmp_path / "events"
    args = ["run", str(file), "--set", "end=20 s", "--out", str(out), "--trace", str(events)]
    assert main(args) == 0
    text = capsys.readouterr().out
    assert "download" in text
    assert "0.3 s" in text
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"] == f"midflight run {file} '--set=end=20 s'"
    assert manifest["scenario"]["end"] == "20 s"
    for name in ("flows.csv", "phases.csv", "flows.parquet", "phases.parquet"):
        assert (out / name).stat().st_size > 0
    assert (
        (events / "download.csv")
        .read_text()
        .startswith("time_ns,event,value,detail,by,link,packet,cause,order,reason,sent_ns,bytes\n")
    )
    assert main([*args[:4], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["manifest"]["digests"] == manifest["digests"]
    assert found["flows"][0]["flow"] == "download"


def test_what_is_written_may_be_of_any_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["run", "wifi-to-lte", "--set", "runs=3", "--set", "links.wifi.loss=uniform 1%"]
    texts = []
    for number in ("0", "2"):
        where = tmp_path / number
        more = ["--run", number, "--trace", f"{where}/t", "--qlog", f"{where}/q"]
        assert main([*args, *more, "--pcap", f"{where}/p"]) == 0
        texts.append(
            [path.read_bytes() for path in sorted(where.glob("*/*")) if path.suffix != ".json"]
        )
    assert len(texts[0]) == len(texts[1]) >= 5
    assert all(first != third for first, third in zip(*texts, strict=True))
    capsys.readouterr()
    assert main([*args, "--run", "3", "--trace", str(tmp_path / "none")]) == 2
    assert "--run 3: the scenario has 3 runs, numbered from 0" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_parquet_is_what_the_table_is(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    outcome = simple().run()
    assert main(["run", "wifi-to-lte", "--out", str(tmp_path)]) == 0
    read = pq.read_table(tmp_path / "flows.parquet")
    assert read.schema == pa.table(outcome.flows).schema
    assert read.column("flow").to_pylist() == ["download"]


def test_false_fast_retransmits_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["run", "wifi-to-lte", "--set", "links.wifi.reorder=linkrtx 5% 20ms"]
    assert main(args) == 0
    text = capsys.readouterr().out
    assert main([*args, "--json"]) == 0
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    false, fast = flow["false_fast_rexmits"], flow["fast_rexmits"]
    assert 0 < false <= fast
    line = "Fast retransmits that were false, as the segment was only late: download"
    assert f"{line} {false} of {fast}." in text.splitlines()
    assert main(["run", "wifi-to-lte"]) == 0
    assert "false" not in capsys.readouterr().out


def test_a_recovery_that_is_entered_again_is_no_false_fast_retransmit(tmp_path: Path) -> None:
    """On a link that never reorders every retransmission is of a segment that the radio lost.

    Of 79 entries into fast recovery one follows its predecessor's end while the retransmission is
    on its way, and retransmits nothing.
    """
    file = tmp_path / "lossy.toml"
    file.write_text(
        """
end = "60 s"
links.c = { rate = "40 Mbit/s", delay = "20 ms", loss = "uniform 0.5%", queue = "2000 packets" }
flows.d = {}
"""
    )
    outcome = Scenario.read(file).run()
    row = {name: outcome.flows.column(name)[0] for name in outcome.flows.column_names}
    assert row["rexmits"] == row["drops_radio"] == 86
    assert row["fast_rexmits"] == 78
    assert row["false_fast_rexmits"] == 0
    events = Scenario.read(file).plan().setup(0).events(name="fast_retransmit")
    assert len(events) == 79


def test_a_starter_is_found_beside_files_of_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wifi-to-lte").mkdir()
    (tmp_path / "wifi-to-lte" / "flows.csv").write_text("cell,duration_ns\n0,1\n1,2\n")
    (tmp_path / "train").write_text("x")
    assert main(["list", "scenarios"]) == 0
    assert " wifi-to-lte " in capsys.readouterr().out
    assert main(["run", "wifi-to-lte"]) == 0
    note = "wifi-to-lte is the starter of that name, not the folder here, which is ./wifi-to-lte"
    assert note in capsys.readouterr().err
    assert Scenario.read("train").title
    with pytest.raises(MidflightError, match='"wifi-to-lte" is a folder'):
        Scenario.read("./wifi-to-lte")
    with pytest.raises(MidflightError, match="train:1:"):
        Scenario.read("./train")
    # Options of results are for the folder.
    assert main(["plot", "wifi-to-lte", "--out", "run.svg"]) == 0
    cdf = ["--kind", "cdf", "--value", "duration_ns", "--out", "cdf.svg"]
    assert main(["plot", "wifi-to-lte", *cdf]) == 0
    assert (tmp_path / "run.svg").read_text() != (tmp_path / "cdf.svg").read_text()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ["nothing"],
            'there is no file "nothing", and no starter scenario of that name; `midflight list',
        ),
        (["wifi-to-lte", "--set", "end"], '--set "end" is not PATH=VALUE'),
        (["wifi-to-lte", "--set", "ends=1 s"], "--set ends=1 s: ends: there is no key"),
        (["wifi-to-lte", "--flow", "x", "--pcap", "DIR"], 'there is no flow "x"'),
        (["."], '"." is a folder; expected a scenario file in TOML, or the name of a starter'),
        (["wifi-to-lte", "--out", "/proc/none"], 'cannot write to "/proc/none"'),
        (["wifi-to-lte", "--threads", "x"], '--threads "x" is not a whole number'),
    ],
)
def test_mistakes_are_one_sentence(
    args: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *(str(tmp_path) if one == "DIR" else one for one in args)]) == 2
    said = capsys.readouterr()
    assert expected in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_the_shell_completes_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    for words, expected in (
        ("midflight swe", "sweep"),
        ("midflight run wifi-to-l", "wifi-to-lte"),
        ("midflight run mi", "mine.toml"),
        ("midflight handoff --scheme enhanced+dcr-frto-", "enhanced+dcr-frto-ld"),
    ):
        monkeypatch.setenv("_MIDFLIGHT_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        with pytest.raises(SystemExit, match="0"):
            main([])
        assert expected in capsys.readouterr().out.split()


def test_what_is_not_installed_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [one for one in sys.modules if one.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["run", "wifi-to-lte", "--plot", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err.endswith(
        "this needs matplotlib: pip install 'midflight[plots]'\n"
    )
    assert not list(tmp_path.iterdir())
