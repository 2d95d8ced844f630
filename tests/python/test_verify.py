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


def test_another_model_is_told_and_still_run(
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
    assert lines[-1] == "20 runs repeated, all the same."
    assert lines[0].startswith("cell 0 run 0  ")
    assert lines[-2].startswith("cell 15 run 1  ")
    assert main(["verify", str(swept / "sweep.json"), "--cells", "all"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "32 runs repeated, all the same."
    flows = swept / "flows.csv"
    was = flows.read_text().splitlines()
    flows.write_text("\n".join([was[0], was[1][:-1] + "x", *was[2:]]) + "\n")
    assert main(["verify", str(swept), "--cells", "2"]) == 1
    assert "4 runs repeated, 1 differ." in capsys.readouterr().out
    assert main(["verify", str(swept), "--cells", "1"]) == 1


def test_samples_are_spread_from_the_first_to_the_last() -> None:
    assert sample(5, None) == [0, 1, 2, 3, 4]
    assert sample(5, 9) == [0, 1, 2, 3, 4]
    assert sample(100, 3) == [0, 49, 99]
    assert sample(100, 1) == [0]
    for wanted in range(1, 30):
        assert len(set(sample(31, wanted))) == wanted


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
        (str(text),): "is no manifest: it is not JSON",
        (str(empty),): "has neither manifest.json nor sweep.json",
        (str(file), "--cells", "3"): "--cells is for sweeps",
        (str(sweep),): "is no sweep",
        (str(sweep), "--cells", "0"): '--cells "0" is not a whole number',
        (str(results / "flows.csv"),): "is no manifest",
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
