"""Sweeps: cells are runs, shards survive, and it does not matter who runs them."""

from __future__ import annotations

import csv
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight import MidflightError, Scenario
from midflight.cli import main
from midflight.sweep import Sweep, axis_values, shard_folder
from midflight.sweep_results import compare, groups, read_flows

SCHEME, AT = "flows.download.scheme", "handoffs.0.at"
AXES = {AT: "0.1 s : 0.4 s : 0.1 s", SCHEME: ["sack", "enhanced"], "seed": "1,2"}


def small(shard_cells: int = 5, **more: Any) -> Sweep:
    scenario = Scenario.read("wifi-to-lte", sets={"links.lte.loss": "uniform 1%"})
    return Sweep.of(scenario, AXES, shard_cells=shard_cells, **more)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def run_here(sweep: Sweep, folder: Path) -> None:
    from midflight.executors import run_local

    sweep.begin(folder)
    run_local(sweep, folder, sweep.missing(folder))
    sweep.merge(folder)


def test_cells_are_the_runs_of_their_scenarios(tmp_path: Path) -> None:
    sweep = small()
    assert sweep.cells == 16
    # Instants come last, as cells that differ in nothing else share their past.
    assert list(sweep.axes) == [SCHEME, "seed", AT]
    run_here(sweep, tmp_path)
    found = rows(tmp_path / "flows.csv")
    assert [int(row["cell"]) for row in found] == list(range(16))
    for row in found:
        one = Scenario.from_dict(json.loads(sweep.scenario)).but(
            {key: row[key] for key in (SCHEME, "seed", AT)}
        )
        assert row["digest"] == one.run().digests[0]
    assert len({row["digest"] for row in found}) == 16
    assert {row["phase"] for row in rows(tmp_path / "phases.csv")} == {"0", "1"}


def test_a_sweep_runs_in_one_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has the files and the summary of the command."""
    axes = {SCHEME: ["sack", "enhanced"], "seed": [1, 2], "handoffs.0.gap": ["0.5 s", "1 s"]}
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), axes, compare=SCHEME)
    new = sweep._repr_html_()
    assert "<svg" not in new
    # What is simulated, without the values of axes.
    simulated = "handoff to lte at 0.3 s.</p>"
    assert simulated in new
    seen: list[tuple[int, int]] = []
    found = sweep.run(str(tmp_path / "one"), progress=lambda *one: seen.append(one))
    assert seen[-1] == (8, 8)
    words = [f"--axis={SCHEME}=sack,enhanced", "--axis=seed=1,2", "--axis=handoffs.0.gap=0.5 s,1 s"]
    out = tmp_path / "two"
    assert main(["sweep", "wifi-to-lte", *words, "--compare", SCHEME, "--out", str(out)]) == 0
    for name in ("flows.csv", "phases.csv", "comparison.csv"):
        assert (found.folder / name).read_bytes() == (out / name).read_bytes()
    printed = capsys.readouterr().out
    assert str(found).replace(str(found.folder), str(out)) == printed.rstrip("\n")
    # Numbers are numbers, missing values None, and an axis of numbers has numbers.
    first, row = rows(out / "flows.csv")[0], found.flows
    assert [row.column(name)[0] for name in (SCHEME, "seed", "duration_ns", "delivered_ns")] == [
        *("sack", 1, int(first["duration_ns"])),
        None,
    ]
    assert row.column("goodput_bps")[0] == float(first["goodput_bps"])
    assert found.phases.num_rows == 16
    # What is there is not run again, by other shards either, and shows itself.
    seen.clear()
    again = replace(Sweep.read(out), shard_cells=3).run(out, progress=lambda *one: seen.append(one))
    assert seen == []
    assert again.flows.column("digest") == found.flows.column("digest")
    for shown in (again, Sweep.read(out)):
        text = shown._repr_html_()
        assert "8 cells" in text
        assert simulated in text
        assert text.index("decides nothing") < text.index("<figure>")
        # The figure, and two tables, whose axes are named in words: pairs, and effects.
        marks = ["data:image/svg+xml;base64,", "Against sack", "<table>"]
        assert [text.count(one) for one in marks] == [1, 1, 2]
        places = [text.index(one) for one in marks]
        assert places == sorted(places)
        assert "<th>Gap of the handoff</th>" in text
        assert re.search(r'<td style="text-align: right">-?[0-9.]+</td>', text)
        assert "handoffs.0.gap" not in text[places[-1] :]


def test_the_results_of_a_sweep_as_a_data_frame(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pq = pytest.importorskip("pyarrow.parquet")
    axes = {SCHEME: ["sack", "enhanced"], "seed": [1, 2]}
    found = Sweep.of(Scenario.read("wifi-to-lte"), axes).run(tmp_path / "out")
    frame = found.to_pandas()
    assert frame.groupby(SCHEME)["duration_ns"].median()["sack"] > 5e9
    # The types are those of the Parquet file.
    stored = pq.read_table(found.folder / "flows.parquet")
    assert {name: stored.column(name).to_pylist() for name in stored.column_names} == {
        name: found.flows.column(name) for name in found.flows.column_names
    }


def test_a_shard_with_many_rows_is_run_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = small(shard_cells=16)
    (shard,) = sweep.shards()
    whole = sweep.run_shard(shard)
    # Three rows for each cell: one of the flow, two of its phases.
    monkeypatch.setattr("midflight.sweep.ROWS_AT_A_TIME", 7)
    told: list[tuple[int, int]] = []
    assert sweep.run_shard(shard, progress=lambda *done: told.append(done)) == whole
    assert told == sorted(told)
    assert told[-1] == (16, 16)


def test_more_runs_than_fit_are_refused_at_once() -> None:
    with pytest.raises(MidflightError, match="runs: 1000000000 runs give 3000000000 rows"):
        Scenario.read("wifi-to-lte", sets={"runs": 1_000_000_000}).plan()


def test_shards_are_kept_by_what_is_in_them(tmp_path: Path) -> None:
    sweep = small()
    run_here(sweep, tmp_path)
    whole = (tmp_path / "flows.csv").read_bytes()
    shards = list(sweep.shards())
    assert [len(shard.cells) for shard in shards] == [5, 5, 5, 1]
    assert len({shard.address for shard in shards}) == 4
    assert sweep.missing(tmp_path) == []
    # The title is no part of it, a value is.
    other = json.loads(sweep.scenario)
    titled = Sweep.of(
        midflight.Plan(json.dumps({**other, "title": "x"}), name=None), AXES, shard_cells=5
    )
    assert [one.address for one in titled.shards()] == [one.address for one in shards]
    slower = Sweep.of(
        midflight.Plan(json.dumps({**other, "end": "20 s"}), name=None), AXES, shard_cells=5
    )
    assert len(slower.missing(tmp_path)) == 4
    # Read again from its folder it is the same, and only missing shards are run again.
    again = Sweep.read(tmp_path)
    assert [one.address for one in again.shards()] == [one.address for one in shards]
    lost = shard_folder(tmp_path, shards[2])
    kept = shard_folder(tmp_path, shards[0]).stat().st_mtime_ns
    for file in lost.iterdir():
        file.unlink()
    lost.rmdir()
    assert again.missing(tmp_path) == [shards[2]]
    run_here(again, tmp_path)
    assert (tmp_path / "flows.csv").read_bytes() == whole
    assert shard_folder(tmp_path, shards[0]).stat().st_mtime_ns == kept


def test_shares_are_disjoint_and_whole(tmp_path: Path) -> None:
    sweep = small(shard_cells=2)
    shares = [sweep.missing(tmp_path, (i, 3)) for i in range(3)]
    numbers = sorted(shard.number for share in shares for shard in share)
    assert numbers == list(range(8))


def command(folder: Path, *more: str) -> list[str]:
    axes = [f"{SCHEME}=sack,enhanced,rlci,a1,a2,a3", "seed=1:40:1"]
    flags = [flag for axis in axes for flag in ("--axis", axis)]
    run = [sys.executable, "-m", "midflight", "sweep", "wifi-to-lte", *flags]
    return [
        *run,
        "--set",
        "flows.download.size=20 MB",
        "--shard-cells=8",
        "--out",
        str(folder),
        *more,
    ]


def test_slow_cells_make_small_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command_line = importlib.import_module("midflight.cli.sweep")

    sweep = small(shard_cells=500)
    assert command_line.fitting_shard(sweep, tmp_path, 2) > 2
    monkeypatch.setattr(command_line, "SHARD_S", 1e-9)
    assert command_line.fitting_shard(sweep, tmp_path, 3) == 3
    # A sweep that was begun keeps its shards.
    replace(sweep, shard_cells=7).begin(tmp_path)
    assert command_line.fitting_shard(sweep, tmp_path, 2) == 7


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path, blow: signal.Signals) -> None:
    folder = tmp_path / "killed"
    with subprocess.Popen(command(folder), stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while len(list(folder.glob("shards/*[!p]"))) < 3:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(process.pid, blow)
        said = process.communicate()[1]
    if blow == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command goes on from there" in said
    there = {path.name: path.stat().st_mtime_ns for path in folder.glob("shards/*[!p]")}
    assert 3 <= len(there) < 30
    assert not (folder / "flows.csv").exists()
    subprocess.run(command(folder), check=True, capture_output=True)
    assert not list(folder.glob("shards/*.tmp"))
    for name, time_ns in there.items():
        assert (folder / "shards" / name).stat().st_mtime_ns == time_ns
    subprocess.run(command(tmp_path / "whole"), check=True, capture_output=True)
    for name in ("flows.csv", "phases.csv", "flows.parquet"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize("damage", [b"", b"cell,x\n", b"\xff", None])
def test_a_damaged_shard_is_run_again(tmp_path: Path, damage: bytes | None) -> None:
    sweep = small()
    run_here(sweep, tmp_path)
    whole = (tmp_path / "flows.csv").read_bytes()
    (_, second, *_) = sweep.shards()
    table = shard_folder(tmp_path, second) / "flows.csv"
    if damage is None:
        table.write_bytes(table.read_bytes()[:-1])
    else:
        table.write_bytes(damage)
    assert [shard.address for shard in sweep.missing(tmp_path)] == [second.address]
    run_here(sweep, tmp_path)
    assert (tmp_path / "flows.csv").read_bytes() == whole


def test_a_forecast_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    axes = ["--axis", f"{SCHEME}=sack,enhanced", "--axis", "seed=1:50:1"]
    assert main(["sweep", "wifi-to-lte", *axes, "--out", str(out), "--forecast"]) == 0
    said = capsys.readouterr().out
    assert "100 cells in 1 shard; 32 of them took" in said
    assert not out.exists()


def test_what_a_job_asks_for_is_slurms(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["sweep", "wifi-to-lte", "--axis", f"{SCHEME}=sack", "--out", "x"]
    for more, said in [
        (["--job", "timeout_min=5"], "--job is for --executor slurm, not local"),
        (["--executor", "slurm", "--job", "timeout_min"], "is not KEY=VALUE"),
    ]:
        assert main([*args, *more]) == 2
        assert said in capsys.readouterr().err


def test_a_job_has_twelve_hours_unless_told(tmp_path: Path, monkeypatch: Any) -> None:
    import submitit

    from midflight.executors import run_slurm

    asked = []
    usual = submitit.AutoExecutor.update_parameters

    def update(self: Any, **options: Any) -> None:
        asked.append(options["timeout_min"])
        usual(self, **options)

    monkeypatch.setattr(submitit.AutoExecutor, "update_parameters", update)
    sweep = small(shard_cells=16)
    for folder, options in (("usual", None), ("told", {"timeout_min": 7})):
        sweep.begin(tmp_path / folder)
        missing = sweep.missing(tmp_path / folder)
        run_slurm(sweep, tmp_path / folder, missing, jobs=1, cluster="local", options=options)
    assert asked == [720, 7]
    with pytest.raises(MidflightError, match=r"the options of Slurm jobs are invalid: .*minutes"):
        run_slurm(sweep, tmp_path, [], jobs=1, cluster="local", options={"minutes": 7})


def test_a_dask_cluster_gives_the_same(tmp_path: Path) -> None:
    from distributed import LocalCluster

    from midflight.executors import run_dask

    sweep = small(shard_cells=2)
    here, there = tmp_path / "here", tmp_path / "there"
    run_here(sweep, here)
    told = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        sweep.begin(there)
        run_dask(
            sweep,
            there,
            sweep.missing(there),
            address=cluster.scheduler_address,
            progress=lambda done, of: told.append((done, of)),
        )
    sweep.merge(there)
    assert told[-1] == (16, 16)
    assert (here / "flows.csv").read_bytes() == (there / "flows.csv").read_bytes()


def test_jobs_of_a_batch_system_give_the_same(tmp_path: Path) -> None:
    from midflight.executors import run_slurm

    sweep = small(shard_cells=2)
    here, there = tmp_path / "here", tmp_path / "there"
    run_here(sweep, here)
    sweep.begin(there)
    missing = sweep.missing(there)
    run_slurm(sweep, there, missing, jobs=2, cluster="local", options={"timeout_min": 5})
    assert sweep.missing(there) == []
    sweep.merge(there)
    assert (here / "flows.csv").read_bytes() == (there / "flows.csv").read_bytes()


def test_values_are_compared_pair_by_pair(tmp_path: Path) -> None:
    sweep = small(compare=SCHEME)
    run_here(sweep, tmp_path)
    by = [SCHEME, "seed"]
    grouped = groups(read_flows(tmp_path), list(sweep.axes), by, "duration_ns")
    assert [(one.values, len(one.runs)) for one in grouped] == [
        ((scheme, seed), 4) for scheme in ("sack", "enhanced") for seed in ("1", "2")
    ]
    (first, second) = compare(grouped, by, SCHEME, sweep.axes[SCHEME])
    assert (first.value, first.baseline, first.values, first.pairs) == (
        "enhanced",
        "sack",
        ("1",),
        4,
    )
    durations = {
        (row[SCHEME], row["seed"], row[AT]): int(row["duration_ns"])
        for row in rows(tmp_path / "flows.csv")
    }
    instants = sweep.axes[AT]
    differences = [durations["enhanced", "1", at] - durations["sack", "1", at] for at in instants]
    assert first.difference == pytest.approx(sum(differences) / 4)
    assert second.values == ("2",)


def test_the_command_sums_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    args = [
        "sweep",
        "wifi-to-lte",
        "--axis",
        f"{SCHEME}=sack,enhanced",
        "--axis",
        f"{AT}=0.1s:0.3s:0.1s",
    ]
    args += ["--compare", SCHEME, "--out", str(out)]
    assert main([*args, "--shard", "1/2", "--shard-cells", "2"]) == 0
    assert "are left to other shares" in capsys.readouterr().err
    assert main([*args, "--shard", "2/2", "--shard-cells", "2"]) == 0
    text = capsys.readouterr().out
    assert "Against sack" in text
    assert main([*args, "--shard-cells", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cells"] == 6
    assert [one["runs"] for one in found["groups"]] == [3, 3]
    assert found["comparison"][0]["pairs"] == 3
    base, other = found["effects"]
    assert (base["value"], base["pairs"]) == ("sack", None)
    assert (other["value"], other["pairs"]) == ("enhanced", 3)
    assert len(rows(out / "comparison.csv")) == 1


def test_another_handoff_can_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    args = ["sweep", "commute", "--axis", "handoffs.1.at=20s,25s", "--out", str(out), "--json"]
    found = []
    for more in ([], ["--phase", "1"], ["--phase", "2"]):
        assert main([*args, "--metric", "all_new_ns", *more]) == 0
        found.append([one["median"] for one in json.loads(capsys.readouterr().out)["groups"]])
    assert found[0] == found[1] != found[2]
    phases = [row for row in rows(out / "phases.csv") if row["phase"] == "2"]
    assert {float(row["all_new_ns"]) for row in phases if row["all_new_ns"]} >= {
        one for one in found[2] if one is not None
    }
    assert main([*args, "--phase", "2"]) == 2
    assert "--phase is for --metric" in capsys.readouterr().err


def test_a_folder_of_another_sweep_is_refused_and_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["sweep", "wifi-to-lte", "--out", str(tmp_path)]
    assert main([*args, "--axis", f"{SCHEME}=sack,enhanced"]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main([*args, "--axis", f"{SCHEME}=sack,vho"]) == 2
    said = capsys.readouterr().err
    assert f'"{tmp_path}" has another sweep: its axes differs; choose another folder' in said
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    # Another comparison is the same sweep: its tables and its shards stay.
    assert main([*args, "--axis", f"{SCHEME}=sack,enhanced", "--compare", SCHEME]) == 0
    assert (tmp_path / "comparison.csv").is_file()
    kept = {path: text for path, text in before.items() if path.name != "sweep.json"}
    assert all(path.read_bytes() == text for path, text in kept.items())


def test_axes_of_quantities_have_columns_of_numbers(tmp_path: Path) -> None:
    axes = {
        "handoffs.0.at": ["0.1 s", "200 ms"],
        "links.lte.rate": "5 Mbit/s, 10 Mbit/s",
        "links.lte.queue": ["bdp", "100 ms"],
        "seed": "1,2",
    }
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), axes)
    run_here(sweep, tmp_path)
    for name in ("flows.csv", "phases.csv"):
        found = rows(tmp_path / name)
        assert {(row["handoffs.0.at"], row["handoffs.0.at_ns"]) for row in found} == {
            ("0.1 s", "100000000"),
            ("200 ms", "200000000"),
        }
        assert {row["links.lte.rate_bps"] for row in found} == {"5000000", "10000000"}
        assert not any(column.startswith("links.lte.queue_") for column in found[0])
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = parquet.read_schema(tmp_path / "flows.parquet")
    kinds = {name: str(schema.field(name).type) for name in schema.names}
    assert (kinds["seed"], kinds["handoffs.0.at"]) == ("int64", "string")
    assert (kinds["handoffs.0.at_ns"], kinds["links.lte.rate_bps"]) == ("int64", "double")


def test_one_pair_has_no_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["sweep", "wifi-to-lte", "--axis", f"{SCHEME}=sack,enhanced", "--compare", SCHEME]
    assert main([*args, "--out", str(tmp_path / "one")]) == 0
    said = capsys.readouterr().out
    assert "at most one pair of runs" in said
    assert "difference      %\n" in said
    assert "+-" not in said
    assert main([*args, "--axis", f"{AT}=0.1s,0.2s", "--out", str(tmp_path / "two")]) == 0
    assert "+-" in capsys.readouterr().out


def test_a_file_has_axes_of_its_own(tmp_path: Path) -> None:
    import midflight.scenario

    text = (midflight.scenario.STARTERS / "wifi-to-lte.toml").read_text()
    file = tmp_path / "mine.toml"
    file.write_text(f'{text}\n[sweep]\ncompare = "{SCHEME}"\naxes."{SCHEME}" = ["sack", "a1"]\n')
    assert main(["sweep", str(file), "--out", str(tmp_path / "out")]) == 0
    assert [row[SCHEME] for row in rows(tmp_path / "out" / "flows.csv")] == ["sack", "a1"]


def test_a_star_is_every_name() -> None:
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), {"links.*.queue": "bdp,2 bdp"})
    assert sweep.sets(1) == [("links.wifi.queue", "2 bdp"), ("links.lte.queue", "2 bdp")]


def test_a_gap_may_be_none_on_an_axis(tmp_path: Path) -> None:
    args = ["--axis", "handoffs.0.gap=none,100ms", "--out", str(tmp_path)]
    assert main(["sweep", "wifi-to-lte", *args]) == 0
    without, with_gap = rows(tmp_path / "flows.csv")
    assert (without["handoffs.0.gap"], with_gap["handoffs.0.gap"]) == ("none", "100ms")
    assert (without["drops_break"], with_gap["drops_break"]) != ("0", "0")
    assert without["drops_break"] == "0"


def test_the_values_of_an_axis_may_be_lists_of_tables(tmp_path: Path) -> None:
    one, other = '[{at = "0.3 s", to = "lte"}]', '[{at = "0.2 s", to = "lte", gap = "1 s"}]'
    args = ["--axis", f"handoffs=[{one}, {other}, []]", "--out", str(tmp_path)]
    assert main(["sweep", "wifi-to-lte", *args]) == 0
    found = rows(tmp_path / "flows.csv")
    assert [row["handoffs"] for row in found] == [one, other, "[]"]
    assert [row["drops_break"] != "0" for row in found] == [False, True, False]


def test_ranges() -> None:
    assert axis_values("k", "0.1s:0.35s:0.1s") == ["0.1 s", "0.2 s", "0.3 s"]
    assert axis_values("k", "1:3:1") == ["1", "2", "3"]
    assert axis_values("k", "100 kbit/s : 1000 kbit/s : 450 kbit/s") == [
        "100 kbit/s",
        "550 kbit/s",
        "1000 kbit/s",
    ]
    assert axis_values("k", "64 kbit/s : 5000 kbit/s : *4") == [
        f"{rate} kbit/s" for rate in (64, 256, 1024, 4096)
    ]
    assert axis_values("k", "1:10:*1.584893")[:3] == ["1", "1.58489", "2.51189"]
    assert len(axis_values("k", "1:10:*1.584893")) == 6
    assert axis_values("k", "12345678 bit/s:30000000 bit/s:*2") == [
        "12345678 bit/s",
        "24691400 bit/s",
    ]
    with pytest.raises(MidflightError, match="values"):
        axis_values("k", "1:1000000000000:*1.0000001")
    with pytest.raises(MidflightError, match="different units"):
        axis_values("k", "1 ms:2:*2")
    assert axis_values("k", [True, 2, "x"]) == ["true", "2", "x"]


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        ("flows.download.scheme=sack,enhancd", 'did you mean "enhanced"?'),
        ("flows.download.schem=sack", 'expected "scheme", or another key'),
        ("flows.download.scheme", "is not KEY=VALUES"),
        ("links.*.queue=bdp,bdp", '"bdp" is there twice'),
        ("links.older.preset=lte", 'there is no link "older"; expected wifi, lte'),
        ("flows.upload.scheme=sack", 'there is no flow "upload"; expected download'),
        ("links.lte.rate=1 Mbit/s:2 Mbit/s:*1", "its factor is not above one"),
        ("links.lte.rate=1 Mbit/s:2 Mbit/s:*2 Mbit/s", 'the factor "*2 Mbit/s" has a unit'),
        ("handoffs.0.at=1s:2s", "it needs from, to and step"),
        ("handoffs.0.at=1s:2ms:1s", "its parts have different units (ms, s)"),
        ("handoffs.0.at=2s:1s:1s", "its step is not above zero, or it ends before it starts"),
        ("handoffs.0.at=0.1 s,31 s", "the run ends at 30 s"),
        ("wind.*.x=1", "fits nothing in the scenario"),
        ("flows.download.scheme=[1", "is not a list in TOML"),
    ],
)
def test_mistakes_are_reported(
    axis: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["sweep", "wifi-to-lte", "--axis", axis, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert said.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--shard", "0/2"], '--shard "0/2" is not a share'),
        (["--executor", "cloud"], '--executor "cloud" is not accepted'),
        (["--metric", "speed"], '--metric "speed" is not a measurement'),
        (
            ["--metric", "startup_ns"],
            'is measured on flows with workload = "video"',
        ),
        (["--compare", "seed"], '"seed" to compare is not an axis'),
        (["--by", "seed"], '--by "seed" is not an axis; expected flows.download.scheme'),
        (["--out", "/proc/none"], "--out is given 2 times"),
    ],
)
def test_other_mistakes_too(
    more: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["sweep", "wifi-to-lte", "--axis", f"{SCHEME}=sack", "--out", str(tmp_path / "out")]
    assert main([*args, *more]) == 2
    assert expected in capsys.readouterr().err


def test_no_axis_is_reported() -> None:
    with pytest.raises(MidflightError, match="the sweep has no axis"):
        Sweep.of(Scenario.read("wifi-to-lte"))


def test_a_summary_by_some_axes_is_over_all_values_of_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["sweep", "wifi-to-lte", "--out", str(tmp_path), "--compare", SCHEME, "--json"]
    for axis in (f"{SCHEME}=sack,enhanced", f"{AT}=0.1s:0.3s:0.1s", "handoffs.0.gap=1 s,2 s"):
        args += ["--axis", axis]
    said = []
    for by in ([], ["--by", SCHEME], ["--by", "handoffs.0.gap"]):
        assert main([*args, *by]) == 0
        said.append(json.loads(capsys.readouterr().out))
    apart, together, by_gap = said
    assert [one["runs"] for one in apart["groups"]] == [3, 3, 3, 3]
    assert [(one[SCHEME], one["runs"]) for one in together["groups"]] == [
        ("sack", 6),
        ("enhanced", 6),
    ]
    (one,) = together["comparison"]
    assert one["pairs"] == 6
    each = [one["difference"] for one in apart["comparison"]]
    assert one["difference"] == pytest.approx(sum(each) / 2)
    # The compared axis is always separated.
    assert by_gap["groups"] == apart["groups"]


def sweep_of(capsys: pytest.CaptureFixture[str], out: Path, *more: str) -> str:
    args = ["sweep", "wifi-to-lte", "--axis", f"{SCHEME}=sack,enhanced", "--compare", SCHEME]
    assert main([*args, "--out", str(out), *more]) == 0
    return capsys.readouterr().out


def test_the_command_says_what_its_intervals_are_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    instants = ["--axis", f"{AT}=0.1s:0.3s:0.1s"]
    chance = ["--set", "runs=4", "--set", "links.lte.loss=uniform 2%"]
    text = sweep_of(capsys, tmp_path / "chance", *instants, *chance)
    assert "Intervals are over runs" in text
    told = " ".join(text.split()).split("95 % confidence")[1]
    assert "download enhanced 4 12 " in told
    text = sweep_of(capsys, tmp_path / "none", *instants)
    assert "over instants, not over chance" in " ".join(text.split())
    # Nothing is random there.
    assert "random events" not in text
    text = sweep_of(capsys, tmp_path / "one", *instants, "--set", "links.lte.loss=uniform 2%")
    assert "one run with random events; more runs (--runs N)" in " ".join(text.split())
    text = sweep_of(capsys, tmp_path / "none", *instants)
    assert "download enhanced 3 " in " ".join(text.split()).split("95 % confidence")[1]
    (row,) = rows(tmp_path / "chance" / "comparison.csv")
    assert (row["over"], row["samples"], row["pairs"]) == ("runs", "4", "12")


def test_no_pair_is_no_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--metric", "duration_ns", "--set", "end=3 s", "--axis", f"{AT}=0.1s,0.2s"]
    text = sweep_of(capsys, tmp_path, *more)
    assert "nan" not in text
    words = "No pair of runs against sack is complete, so there is no difference; finished: "
    assert words in " ".join(text.split())
    # A table of the comparison would have no number.
    (_,) = [line for line in text.splitlines() if line.split()[:2] == ["download", "enhanced"]]


def test_each_metric_has_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = sweep_of(capsys, tmp_path, "--axis", f"{AT}=0.1s,0.2s")
    before = (tmp_path / "comparison.csv").read_bytes()
    other = sweep_of(capsys, tmp_path, "--axis", f"{AT}=0.1s,0.2s", "--metric", "stall_ns")
    assert (tmp_path / "comparison.csv").read_bytes() == before
    assert rows(tmp_path / "comparison-stall_ns.csv")[0]["metric"] == "stall_ns"
    assert usual.splitlines()[1].endswith("flows.csv, phases.csv, comparison.csv, effects.csv")
    files = "flows.csv, phases.csv, comparison-stall_ns.csv, effects-stall_ns.csv"
    assert other.splitlines()[1].endswith(files)


def test_tails_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    more = ["--axis", f"{AT}=0.1s:0.5s:0.02s"]
    assert "q3    p95  missing" in sweep_of(capsys, tmp_path, *more)
    found = json.loads(sweep_of(capsys, tmp_path, *more, "--json"))["groups"][0]
    values = [
        int(row["duration_ns"]) for row in rows(tmp_path / "flows.csv") if row[SCHEME] == "sack"
    ]
    assert (found["p5"], found["p95"]) == pytest.approx(np.percentile(values, [5, 95]))


def test_handoffs_that_no_flow_meets_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["run", "wifi-to-lte", "--set", f"{AT}=5s"]
    assert main(args) == 0
    said = capsys.readouterr().err
    assert "note: handoff at 5 s: every flow was done at 0.9" in said
    assert main(["run", "wifi-to-lte"]) == 0
    assert capsys.readouterr().err == ""
    late = ["--set", "flows.late.size=1 MB", "--set", "flows.late.start=6 s"]
    assert main([*args, *late]) == 0
    assert "note: late opens at 6 s, after the last handoff at 5 s" in capsys.readouterr().err
    text = sweep_of(capsys, tmp_path / "a", "--axis", f"{AT}=0.2s,5s,6s")
    assert "In 4 cells a handoff came when every flow was done." in text
    found = json.loads(sweep_of(capsys, tmp_path / "a", "--axis", f"{AT}=0.2s,5s,6s", "--json"))
    assert found["cells_all_done_before_a_handoff"] == 4
    assert "Left out: 4 of 6 flows, which were done before the handoff." in text
    assert [(one["runs"], one["done_before"]) for one in found["groups"]] == [(1, 2), (1, 2)]
    text = sweep_of(capsys, tmp_path / "b", "--axis", f"{AT}=0.2s,7s", *late)
    assert "In 2 cells a flow opened after the last handoff." in text


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"", b"{"])
def test_a_damaged_definition_is_written_again(tmp_path: Path, damage: bytes) -> None:
    sweep = small()
    run_here(sweep, tmp_path)
    whole = (tmp_path / "sweep.json").read_bytes()
    table = (tmp_path / "flows.csv").read_bytes()
    (tmp_path / "sweep.json").write_bytes(damage)
    run_here(sweep, tmp_path)
    assert (tmp_path / "sweep.json").read_bytes() == whole
    assert (tmp_path / "flows.csv").read_bytes() == table


def test_pairs_that_were_over_before_the_handoff_count_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = sweep_of(capsys, tmp_path / "a", "--axis", f"{AT}=0.2s,0.4s,5s,6s")
    assert "2 of 4 pairs are left out and counted apart" in text
    (both,) = rows(tmp_path / "a" / "comparison.csv")
    assert (both["pairs"], both["left_out"], both["done_before"]) == ("2", "0", "2")
    # The same as if there had been no such cells.
    text = sweep_of(capsys, tmp_path / "b", "--axis", f"{AT}=0.2s,0.4s")
    assert "left out and counted apart" not in text
    (alone,) = rows(tmp_path / "b" / "comparison.csv")
    assert {**both, "done_before": "0"} == alone


def test_seeds_are_a_sample_unless_kept_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--axis", "seed=1:4:1", "--set", "links.lte.loss=uniform 1%"]
    found = json.loads(sweep_of(capsys, tmp_path / "a", *axes, "--json"))["comparison"]
    (one,) = found
    assert (one["over"], one["samples"]) == ("runs", 4)
    assert one["half_width"] is not None
    apart = json.loads(sweep_of(capsys, tmp_path / "a", *axes, "--by", "seed", "--json"))
    assert len(apart["comparison"]) == 4


def test_a_cell_that_a_spreadsheet_would_run_is_quoted(tmp_path: Path) -> None:
    from pyarrow import parquet

    from midflight.plot.results.tables import read_columns
    from midflight.run_tables import csv_cell, plain_text

    for text in ("=1+1", "+1 ms", "-x", "@SUM(A1)", "\t=1", "\r=1", "'x", "'=1", "''=1", "'"):
        assert csv_cell(text) == f"'{text}"
        assert plain_text(csv_cell(text)) == text
    for cell, same in (("-1.5", "-1.5"), (-2, "-2"), ("a=b", "a=b"), ("x'", "x'"), (None, "")):
        assert csv_cell(cell) == same
        assert plain_text(same) == same
    titles = ["=1+1", "plain", "'=1+1", "'"]
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), {"title": titles})
    run_here(sweep, tmp_path)
    in_file = [row["title"] for row in rows(tmp_path / "flows.csv")]
    assert in_file == ["'=1+1", "plain", "''=1+1", "''"]
    assert [row["title"] for row in read_flows(tmp_path)] == titles
    # Parquet needs no quotes; verify and plot distinguish the files.
    for name in ("flows", "phases"):
        column = parquet.read_table(tmp_path / f"{name}.parquet").column("title").to_pylist()
        assert list(dict.fromkeys(column)) == titles
    assert main(["verify", str(tmp_path)]) == 0
    for suffix in ("csv", "parquet"):
        columns = read_columns(tmp_path / f"flows.{suffix}", "stall_ns")
        assert columns["title"] == titles


def test_a_summary_makes_each_plan_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from midflight.cli.sweep import Summary

    instants = ["0.1 s", "0.2 s", "5 s"]
    axes = {"flows.download.scheme": ["sack", "a2"], "handoffs.0.at": instants}
    sweep = Sweep.of(Scenario.read("wifi-to-lte"), axes, compare="flows.download.scheme")
    run_here(sweep, tmp_path)
    made: list[int] = []
    plan = Sweep.plan

    def counted(self: Sweep, cell: int) -> Any:
        made.append(cell)
        return plan(self, cell)

    monkeypatch.setattr(Sweep, "plan", counted)
    found = Summary.of(sweep, tmp_path, "all_new_ns")
    assert found.unmet.all_done == 2
    # Cells with the same instants have the same handoffs.
    assert len(made) == len(instants)


def test_one_cell_is_not_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "one")
    sweep = ["sweep", "wifi-to-lte", "--axis", "flows.download.scheme=sack", "--out", out]
    assert main([*sweep, "--forecast"]) == 0
    assert main(sweep) == 0
    assert main(sweep) == 0
    assert main(["verify", out]) == 0
    captured = capsys.readouterr()
    said = captured.out + captured.err
    assert "1 cells" not in said
    assert said.count(f"1 cell in {out}: ") == 2
    for text in ("1 cell in 1 shard; ", "1 cell, of which 1 are there already", "of 1 of 1 cell "):
        assert text in said


def test_a_mistake_on_an_axis_speaks_of_the_axis(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--axis", "handoffs.0.gap=1s,2", "--out", str(tmp_path / "x")]
    assert main(["sweep", "wifi-to-lte", *words]) == 2
    error = capsys.readouterr().err
    assert "axis handoffs.0.gap=2: handoffs.0.gap: 2 is not accepted" in error
    assert "--set" not in error


def test_progress_names_the_work_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from midflight.cli import output

    now = [0.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    show = output.plain_progress(20.0)
    for at, done in ((1, 10), (21, 10), (22, 11), (32, 12), (45, 12), (46, 300)):
        now[0] = float(at)
        show("cells", done, 1000)
    told = ["10", "12", "300"]
    assert capsys.readouterr().err.splitlines() == [f"cells: {one} of 1000" for one in told]
