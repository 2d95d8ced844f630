"""The budget of instructions: what is said of counts, and its file."""

from __future__ import annotations

import dataclasses

import pytest

import budget
from budget import Budget, obstacle, verdict

ALLOWED = Budget("1.95.0", "a-host", {"bulk": 1000, "set-up": 30_000})


def counted(bulk: int, rustc: str = "1.95.0") -> Budget:
    return Budget(rustc, "a-host", {"bulk": bulk, "set-up": 30_000})


@pytest.mark.parametrize("bulk", [970, 1000, 1030])
def test_three_per_cent_either_way_pass_without_a_word(bulk: int) -> None:
    assert verdict(counted(bulk), ALLOWED) == (0, [])


def test_more_fails_and_says_what_and_by_how_much() -> None:
    status, messages = verdict(counted(1200), ALLOWED)
    assert status == 1
    assert messages == ["Above the budget: bulk by 20.0 % (1,200 instructions for 1,000)."]


def test_less_passes_and_says_that_the_budget_can_be_lowered() -> None:
    status, (message,) = verdict(counted(800), ALLOWED)
    assert status == 0
    assert "bulk by 20.0 %" in message
    assert "make budget-update" in message


def test_another_compiler_is_named() -> None:
    _, messages = verdict(counted(1200, rustc="1.96.0"), ALLOWED)
    assert "rustc 1.95.0" in messages[-1]
    assert "1.96.0" in messages[-1]
    status, messages = verdict(counted(1000, rustc="1.96.0"), ALLOWED)
    assert status == 0
    assert "1.96.0" in messages[-1]


def test_a_workload_without_a_budget_fails() -> None:
    without = dataclasses.replace(ALLOWED, instructions={"bulk": 1000})
    status, (message,) = verdict(counted(1000), without)
    assert status == 1
    assert "make budget-update" in message


def test_the_file_reads_as_it_was_written() -> None:
    assert Budget.parse(ALLOWED.render()) == ALLOWED


def test_the_file_in_the_repository_has_every_workload() -> None:
    assert Budget.parse(budget.BUDGET.read_text()).instructions.keys() == budget.WORKLOADS.keys()


def test_counts_need_valgrind_and_the_budgets_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/bin/valgrind")
    assert obstacle("a-host", "a-host") is None
    assert "another-host" in str(obstacle("a-host", "another-host"))
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "valgrind" in str(obstacle("a-host", "a-host"))


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("1", 1)])
def test_without_valgrind_only_ci_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str, status: int
) -> None:
    monkeypatch.setattr("sys.argv", ["budget.py"])
    monkeypatch.setattr("budget.obstacle", lambda *_: "valgrind is not installed")
    monkeypatch.setenv("CI", ci)
    assert budget.main() == status
    assert "valgrind is not installed" in capsys.readouterr().err
