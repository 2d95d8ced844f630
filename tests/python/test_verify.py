"""`midflight verify` repeats manifests and sweeps, and notices when a digest is not the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import midflight
from midflight.cli import main
from midflight.verify import sample


@pytest.fixture
def results(tmp_path: Path) -> Path:
    sets = ["--set", "flows.download.scheme=enhanced", "--set", "links.lte.loss=uniform 1%"]
    assert main(["run", "wifi-to-lte", *sets, "--set", "runs=3", "--out", str(tmp_path)]) == 0
    return tmp_path


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    axes = ["flows.download.scheme=sack,enhanced", "handoffs.0.at=0.1s:0.8s:0.1s"]
    args = [word for axis in axes for word in ("--axis", axis)]
    assert main(["sweep", "wifi-to-lte", *args, "--set", "runs=2", "--out", str(tmp_path)]) == 0
    return tmp_path


def edit(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_a_manifest_comes_out_again(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    digests = json.loads((results / "manifest.json").read_text())["digests"]
    for path in (results, results / "manifest.json"):
        assert main(["verify", str(path)]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        *lines, last = printed.out.splitlines()
        assert lines == [f"run {run}  {one}  the same" for run, one in enumerate(digests)]
        assert last == "3 runs repeated, all the same."


def test_another_digest_or_scenario_is_noticed(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = results / "manifest.json"
    manifest = json.loads(file.read_text())
    capsys.readouterr()
    edit(file, digests=["0" * 32, *manifest["digests"][1:]])
    assert main(["verify", str(file)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"run 0  {'0' * 32}  differs: now {manifest['digests'][0]}"
    assert lines[1].endswith("the same")
    assert lines[-1] == "3 runs repeated, 1 differ."
    edit(file, digests=manifest["digests"], scenario={**manifest["scenario"], "seed": 9})
    assert main(["verify", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["same"] is False


def test_another_model_is_reported_and_still_run(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    edit(results / "manifest.json", model="1")
    assert main(["verify", str(results)]) == 0
    printed = capsys.readouterr()
    assert f"is of model 1, and this is model {midflight.MODEL_VERSION}" in printed.err
    assert "all the same" in printed.out


def test_a_sweep_is_sampled(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["verify", str(swept)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["20 runs of 10 of 16 cells repeated, all the same."]
    assert main(["verify", str(swept / "sweep.json"), "--cells", "all"]) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "32 runs of 16 of 16 cells repeated, all the same."
    )
    flows = swept / "flows.csv"
    was = flows.read_text().splitlines()
    flows.write_text("\n".join([was[0], was[1][:-1] + "x", *was[2:]]) + "\n")
    assert main(["verify", str(swept), "--cells", "2"]) == 1
    out = capsys.readouterr().out
    assert "4 runs of 2 of 16 cells repeated, 1 differ." in out
    assert out.startswith("cell 0 run 0  ")
    assert main(["verify", str(swept), "--cells", "1"]) == 1


def test_samples_are_spread_from_the_first_to_the_last() -> None:
    assert sample(5, None) == [0, 1, 2, 3, 4]
    assert sample(5, 9) == [0, 1, 2, 3, 4]
    assert sample(100, 3) == [0, 49, 99]
    assert sample(100, 1) == [0]
    for wanted in range(1, 30):
        assert len(set(sample(31, wanted))) == wanted


def test_an_edited_table_is_noticed(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq

    flows, parquet = results / "flows.csv", results / "phases.parquet"
    was = flows.read_text()
    lines = was.splitlines()
    cells = lines[2].split(",")
    column = lines[0].split(",").index("rexmits")
    rexmits, cells[column] = cells[column], "999"
    flows.write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]) + "\n")
    capsys.readouterr()
    assert main(["verify", str(results)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[3] == "3 runs repeated, all the same."
    assert said[-1] == f"flows.csv, row 2, rexmits: 999, but now {rexmits}"
    assert main(["verify", str(results), "--json"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["differences"]
    assert (one["file"], one["row"], one["column"], one["was"]) == (
        "flows.csv",
        2,
        "rexmits",
        "999",
    )
    flows.write_text("\n".join(lines[:-1]) + "\n")
    assert main(["verify", str(results)]) == 1
    assert "flows.csv, the head, rows of cell 0: 2, but now 3" in capsys.readouterr().out
    flows.write_text(was)
    assert main(["verify", str(results)]) == 0
    table = pq.read_table(parquet)
    acked = table.column("acked").to_pylist()
    place = table.column_names.index("acked")
    pq.write_table(table.set_column(place, "acked", [[7, *acked[1:]]]), parquet)
    capsys.readouterr()
    assert main(["verify", str(results)]) == 1
    assert f"phases.parquet, row 1, acked: 7, but now {acked[0]}" in capsys.readouterr().out


def test_an_edited_table_of_a_sweep_is_noticed(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    phases = swept / "phases.csv"
    lines = phases.read_text().splitlines()
    # The last cell is in every sample but that of one.
    phases.write_text("\n".join([*lines[:-1], lines[-1] + "1"]) + "\n")
    capsys.readouterr()
    assert main(["verify", str(swept), "--cells", "2"]) == 1
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(f"phases.csv, row {len(lines) - 1}, reordered: ")
    assert main(["verify", str(swept), "--cells", "1"]) == 0


def test_a_damaged_sweep_is_one_sentence(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    definition, flows = swept / "sweep.json", swept / "flows.csv"
    whole, rows = json.loads(definition.read_text()), flows.read_text()
    axis = next(iter(whole["axes"]))
    for text, expected in (
        (json.dumps({**whole, "scenario": None}), 'is not a sweep: it lacks "scenario"'),
        (json.dumps({**whole, "shard_cells": "x"}), 'is not a sweep: it lacks "shard_cells"'),
        (json.dumps({**whole, "axes": {axis: []}}), '"axes" has an axis without values'),
    ):
        definition.write_text(text)
        capsys.readouterr()
        assert main(["verify", str(swept)]) == 2
        said = capsys.readouterr().err
        assert expected in said
        assert said.count("\n") == 1
    definition.write_text(json.dumps(whole))
    for broken, expected in (
        (rows.replace("digest", "digset", 1), 'it has no column "digest"'),
        (rows.replace("\n0,", "\nzero,", 1), "is damaged: row 1 has no cell and run"),
    ):
        flows.write_text(broken)
        assert main(["verify", str(swept)]) == 2
        said = capsys.readouterr().err
        assert expected in said
        assert said.count("\n") == 1
    flows.write_bytes(b"\xff\xfe" + rows.encode())
    assert main(["verify", str(swept)]) == 2
    assert "is not a CSV table" in capsys.readouterr().err


def test_policies_of_results_are_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "half.py"
    file.write_text("class Half:\n    def on_notice(self, notice, view):\n        return None\n")
    own = ["--policy", f"half={file}:Half"]
    run = ["wifi-to-lte", *own, "--set", "flows.download.scheme=half"]
    assert main(["run", *run, "--out", str(tmp_path / "run")]) == 0
    sweep = ["--axis", "seed=1,2", "--out", str(tmp_path / "sweep")]
    assert main(["sweep", *run, *sweep]) == 0
    capsys.readouterr()
    for name, said in (("run", f"half={file}:Half"), ("sweep", "half=FILE.py:CLASS")):
        assert main(["verify", str(tmp_path / name)]) == 2
        assert (
            capsys.readouterr().err
            == f"midflight: the results were made with --policy {said}; give it again\n"
        )
        assert main(["verify", str(tmp_path / name), *own]) == 0
        assert capsys.readouterr().err == ""
    file.write_text(file.read_text() + "# another\n")
    assert main(["verify", str(tmp_path / "run"), *own]) == 0
    assert 'the policy "half" is not that of the results' in capsys.readouterr().err


def test_mistakes_are_one_sentence(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    text, file = results / "text.json", results / "manifest.json"
    text.write_text("no JSON")
    empty = results / "empty"
    empty.mkdir()
    sweep = results / "sweep"
    sweep.mkdir()
    (sweep / "sweep.json").write_text('{"axes": {}}')
    expected = {
        (str(text),): "is not a manifest: it is not JSON",
        (str(empty),): "has neither manifest.json nor sweep.json",
        (str(file), "--cells", "3"): "--cells is for sweeps",
        (str(sweep),): "is not a sweep",
        (str(sweep), "--cells", "0"): '--cells "0" is not a whole number',
        (str(results / "flows.csv"),): "is not a manifest",
    }
    for args, words in expected.items():
        assert main(["verify", *args]) == 2
        error = capsys.readouterr().err
        assert words in error, error
        assert error.count("\n") == 1
    for broken in ({"digests": []}, {"scenario": None}, {"digests": ["a"]}):
        manifest = json.loads(file.read_text())
        edit(file, **broken)
        assert main(["verify", str(file)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        file.write_text(json.dumps(manifest))
