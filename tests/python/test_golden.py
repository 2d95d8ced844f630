"""The results of the schemes in the starter scenarios are those of `tests/golden/behaviour.txt`."""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import pytest

from midflight import _core
from midflight.scenario import starter_names

BEHAVIOUR: Any = importlib.import_module("behaviour")


def test_the_table_of_behaviour_is_up_to_date() -> None:
    before = BEHAVIOUR.FILE.read_text(encoding="utf-8").splitlines()
    now = BEHAVIOUR.table().splitlines()
    diff = difflib.unified_diff(before, now, "tests/golden/behaviour.txt", "now", lineterm="")
    changes = "\n".join(diff)
    if changes:
        pytest.fail(f"`make golden` renews the file; review its diff:\n{changes}", pytrace=False)


def test_the_table_has_every_starter_and_every_kind_of_part() -> None:
    text = BEHAVIOUR.FILE.read_text(encoding="utf-8")
    tables = [line.split(":")[0] for line in text.splitlines() if ": flow " in line]
    assert tables == [f"{name}, {p}" for name in starter_names() for p in BEHAVIOUR.SCHEMES]
    schemes = BEHAVIOUR.SCHEMES["rfc"]
    parts = {part for one in _core.schemes() if one["name"] in schemes for part in one["parts"]}
    for kind in (
        _core.policies,
        _core.controllers,
        _core.responses,
        _core.classifiers,
        _core.detectors,
        _core.signals,
    ):
        assert parts & {one["name"] for one in kind()}, kind.__name__
