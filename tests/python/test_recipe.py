"""A part is one file and two lines, as in CONTRIBUTING.md: for every kind of part.

One test adds an example of each kind (`tests/data/recipe`) to a copy of the crates. The copy
compiles, finds each by its name, and puts each to the property tests of the sender. The others read
the sources: each file of a kind's folder is in the registry, the program lists what the registry
has, and what it lists is a scheme. A loss recovery is no scheme but a setting.

They do not show that parts which cannot work together are refused: such a rule is the author's
(`crates/tcp/src/config/check.rs`, or the part's own). Nor that a part is of any use.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from midflight import _core

ROOT = Path(__file__).parents[2]
CONTROL = ROOT / "crates" / "control" / "src"
SIM = ROOT / "crates" / "sim" / "src"
RECOVERY = ROOT / "crates" / "tcp" / "src" / "recovery"
EXAMPLES = ROOT / "tests" / "data" / "recipe"


class Kind(NamedTuple):
    """A kind of part: its example, and the function that lists what there is."""

    example: str
    listing: str


KINDS = {
    "policy": Kind("halve", "policies"),
    "congestion": Kind("milder", "controllers"),
    "dupack": Kind("send_nothing", "responses"),
    "loss": Kind("small_window", "classifiers"),
    "spurious": Kind("early", "detectors"),
    "signal": Kind("twice", "signals"),
    "workload": Kind("ping", "workloads"),
    "agent": Kind("deaf", "agents"),
}
REGISTRY = re.compile(r"registry! \{.*? listed in \w+:\n(?P<parts>.*?)\n\}", re.DOTALL)
RECOVERIES = re.compile(r"^recoveries! \{\n(?P<parts>.*?)\n\}", re.DOTALL | re.MULTILINE)


def folder_of(kind: str) -> Path:
    """Return the folder of the parts of a kind: those of nodes on the path use packets."""
    return (SIM if kind == "agent" else CONTROL) / kind


def test_every_kind_has_an_example() -> None:
    modules = (*CONTROL.glob("*/mod.rs"), *SIM.glob("*/mod.rs"))
    folders = {path.parent.name for path in modules if has_registry(path)}
    assert folders == set(KINDS)
    assert {path.parent.name: path.stem for path in EXAMPLES.glob("*/*.rs")} == {
        **{folder: kind.example for folder, kind in KINDS.items()},
        "recovery": "timeouts",
    }


def has_registry(module: Path) -> bool:
    return REGISTRY.search(module.read_text(encoding="utf-8")) is not None


def add_example(folder: Path, example: str) -> None:
    """Follow the recipe: copy the file, add the two lines."""
    shutil.copy(EXAMPLES / folder.name / f"{example}.rs", folder)
    module = folder / "mod.rs"
    text, name = module.read_text(encoding="utf-8"), example.title().replace("_", "")
    with_mod = re.sub(r"^mod ", f"mod {example};\nmod ", text, count=1, flags=re.MULTILINE)
    with_line = re.sub(
        r"( listed in \w+:\n|^recoveries! \{\n)",
        rf"\1    {name}: {example}::{name},\n",
        with_mod,
        flags=re.MULTILINE,
    )
    assert len(with_line.splitlines()) == len(text.splitlines()) + 2
    module.write_text(with_line, encoding="utf-8")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_a_part_of_any_kind_is_one_file_and_two_lines(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    crates = tmp_path / "crates"
    shutil.copytree(ROOT / "crates", crates)
    for folder, kind in KINDS.items():
        add_example(crates / folder_of(folder).relative_to(ROOT / "crates"), kind.example)
    add_example(crates / "tcp/src/recovery", "timeouts")
    # Crates of the project itself are compiled again only where they changed.
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    for package, tests, only, passed in (
        ("midflight-control", "--lib", "is_found_by_name", len(KINDS) - 1),
        ("midflight-sim", "--lib", "is_found_by_name", 1),
        ("midflight-tcp", "--lib", "can_be_set_and_is_named", 1),
        ("midflight-tcp", "--test=properties", "ends_its_flow", 4),
    ):
        done = subprocess.run(
            ["cargo", "test", "--locked", "--package", package, tests, "--", only],
            cwd=tmp_path,
            env={**os.environ, "CARGO_TARGET_DIR": target},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert f" {passed} passed" in done.stdout


@pytest.mark.parametrize("folder", KINDS)
def test_the_files_of_a_folder_are_what_the_program_lists(folder: str) -> None:
    module = (folder_of(folder) / "mod.rs").read_text(encoding="utf-8")
    found = REGISTRY.search(module)
    assert found is not None
    parts, _, beside = found["parts"].partition(";")
    types = re.findall(r"^    \w+: (.+),$", parts, re.MULTILINE)
    listed = [one["name"] for one in getattr(_core, KINDS[folder].listing)()]
    assert len(types) == len(listed)
    for path in folder_of(folder).glob("*.rs"):
        # What agents share, and what plays them in tests, are no agents.
        if path.stem in ("mod", "cache", "split", "testing"):
            continue
        assert f"\nmod {path.stem};\n" in module, path
        # The registry names the type by its module, or by a name that the module exports.
        exports = re.findall(rf"^pub use {path.stem}::\{{?([^;]*?)\}}?;", module, re.MULTILINE)
        names = {name.strip() for export in exports for name in export.split(",")}
        in_registry = [
            one
            for one in (*types, beside)
            if f"{path.stem}::" in one or names & set(re.findall(r"\w+", one))
        ]
        assert in_registry, f"{path} is in no registry"
        if not beside or beside not in in_registry:
            text = path.read_text(encoding="utf-8")
            assert "const INFO: PartInfo" in text, path
    # Each is a scheme, except for what the plain sender has; docs/schemes.md describes each scheme
    # (tests/python/test_docs.py). Agents of nodes and applications are none.
    if folder in ("agent", "workload"):
        return
    schemes = {one["name"] for one in _core.schemes()}
    assert set(listed) - schemes <= {"reno", "immediate", "congestion", "none", "silent"}


def test_the_files_of_recovery_are_what_can_be_chosen() -> None:
    (accepted,) = (one["accepts"] for one in _core.settings() if one["name"] == "recovery")
    module = (RECOVERY / "mod.rs").read_text(encoding="utf-8")
    found = RECOVERIES.search(module)
    assert found is not None
    types = re.findall(r"^    \w+: (?:Box<)?(\w+)::\w+>?,$", found["parts"], re.MULTILINE)
    assert types == accepted.split(", ")
    for name in types:
        path = RECOVERY / f"{name}.rs"
        file = path if path.exists() else RECOVERY / name / "mod.rs"
        assert "const INFO: RecoveryInfo" in file.read_text(encoding="utf-8"), file


@pytest.mark.parametrize("main", sorted((ROOT / "crates").glob("*/tests/main.rs")), ids=str)
def test_each_file_of_tests_is_compiled(main: Path) -> None:
    """Where the tests of a crate are one program, a file without its line there never runs."""
    alone = (main.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
    modules = set(re.findall(r"^mod (\w+);$", main.read_text(encoding="utf-8"), re.MULTILINE))
    files = {path.stem for path in main.parent.glob("*.rs")} - {"main"}
    assert {name for name in files - modules if f'name = "{name}"' not in alone} == set()
