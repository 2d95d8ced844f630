"""Policies in Python: the digests of Rust, their own state in every fork, clear errors."""

from __future__ import annotations

import importlib.util
import linecache
from pathlib import Path
from typing import Any

import pytest

from midflight import MidflightError, Order, Scenario
from midflight.cli import main
from midflight.executors import run_dask, run_local
from midflight.policy import load_policies, sources
from midflight.sweep import Sweep

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_a2.py"
SCHEME, AT = "flows.download.scheme", "handoffs.0.at"


def my_a2() -> Any:
    spec = importlib.util.spec_from_file_location("my_a2", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MyA2


def scenario(scheme: str, policies: Any = None, **more: str) -> Scenario:
    read = Scenario.read("wifi-to-lte", sets={"links.slow.preset": "hsdpa-2"})
    no_gap = Scenario.from_dict(
        {**read.to_dict(), "handoffs": [{"at": "0.3 s", "to": "slow"}], "end": "60 s"}
    )
    return no_gap.but({SCHEME: scheme, **more}, policies=policies)


class Silent:
    def on_notice(self, notice: Any, view: Any) -> None:
        del notice, view


def test_a2_in_python_is_a2(tmp_path: Path) -> None:
    mine = {"mine": my_a2()}
    assert len(EXAMPLE.read_text().splitlines()) <= 30
    for around in ("{}", "a1+{}", "{}+a3", "dcr-frto+{}", "{}+a4"):
        # The profile linux refuses responses to duplicate ACKs.
        more = {"profile": "rfc"} if "dcr" in around else {}
        in_rust = scenario(around.format("a2"), **more).run().digests
        in_python = scenario(around.format("mine"), mine, **more).run(policies=mine).digests
        assert in_python == in_rust, around
    assert scenario("sack").run().digests != in_rust
    silent = {"mine": Silent}
    assert scenario("mine", silent).run(policies=silent).digests == scenario("sack").run().digests
    axes = {AT: "0.1 s : 0.5 s : 0.02 s"}
    tables = []
    for name, policies in (("a2", None), ("mine", mine)):
        folder = tmp_path / name
        sweep = Sweep.of(scenario(name, policies), axes, policies=policies, shard_cells=7)
        sweep.begin(folder)
        run_local(sweep, folder, sweep.missing(folder))
        sweep.merge(folder)
        tables.append((folder / "phases.csv").read_bytes())
    assert tables[0] == tables[1]


class Counting:
    """Stores its calls, and its orders depend on them: copies must not share them."""

    def __init__(self) -> None:
        self.acks = 0
        self.said = False

    def on_start(self, notice: Any, view: Any) -> None:
        assert notice.old is None
        assert view.snd_max == 0

    def on_notice(self, notice: Any, view: Any) -> list[Order]:
        because = f"{self.acks} ACKs, {notice.old.rate_bps} bit/s, {view.dupacks} duplicates"
        return [Order.set_cwnd(2 + self.acks % 7, because=because)]

    def on_ack(self, view: Any) -> None:
        self.acks += 1
        assert view.flight_size >= 0


def test_a_policy_keeps_its_own_state_in_every_fork() -> None:
    from midflight import _core

    policies = {"counting": Counting}
    one = scenario("counting", policies, **{"flows.download.start_notice": "true"})
    instants = [f"{0.1 + 0.03 * i:.2f} s" for i in range(12)]
    plans = [one.plan(sets={AT: at}, policies=policies) for at in instants]
    forked, _ = _core.run_plans(plans, fork=True)
    whole, _ = _core.run_plans(plans, fork=False)
    assert forked.column("digest") == whole.column("digest")
    rows = plans[3].setup().trace().column("detail")
    (order,) = [detail for detail in rows if detail.startswith("counting: ")]
    assert "54000000 bit/s" in order
    assert "because 0 ACKs" not in order


class Failing:
    def on_notice(self, notice: Any, view: Any) -> None:
        raise RuntimeError(f"no idea at {view.now_ns} of {notice.flows}")


class Wrong:
    def on_notice(self, notice: Any, view: Any) -> Any:
        del notice, view
        return [5]


def test_errors_in_a_policy_are_raised() -> None:
    said = r"failed in on_notice: RuntimeError: no idea at 300000000 of 1 \(.*test_policy.py:\d+\)"
    with pytest.raises(MidflightError, match=said):
        scenario("failing", {"failing": Failing}).run(policies={"failing": Failing})
    with pytest.raises(MidflightError, match="on_notice returned a int; expected None and a"):
        scenario("wrong", {"wrong": Wrong}).run(policies={"wrong": Wrong})
    with pytest.raises(MidflightError, match='the name of a policy "a2" is out of range'):
        scenario("a2", {"a2": Wrong})
    with pytest.raises(TypeError, match=r'the policy "x" has no on_notice\(notice, view\)'):
        scenario("x", {"x": object})
    with pytest.raises(MidflightError, match="the congestion window 0 is out of range"):
        Order.set_cwnd(0, because="x")
    with pytest.raises(MidflightError, match='there is no scheme "mine"'):
        scenario("mine")


def test_the_command_takes_policies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--policy", f"mine={EXAMPLE}:MyA2", "--set", f"{SCHEME}=mine"]
    assert main(["run", "wifi-to-lte", *flags]) == 0
    assert "mine" in capsys.readouterr().out
    axes = ["--axis", f"{SCHEME}=a2,mine", "--compare", SCHEME, "--out", str(tmp_path / "out")]
    assert main(["sweep", "wifi-to-lte", *flags[:2], *axes]) == 0
    last = capsys.readouterr().out.split("\n")[-2].split()
    assert last[1:4] == ["mine", "1", "0"]
    for word, expected in (
        ("mine", "is not NAME=FILE.py:CLASS"),
        ("sack=mine.py:Mine", '"sack" is a scheme of midflight; give your policy another name'),
        ("mine=none.py:X", 'there is no file "none.py"'),
        (f"mine={EXAMPLE}:X", 'has no class "X"; it has'),
        (f"mine={EXAMPLE}:Order", '"Order" has no on_notice(notice, view); a policy needs one'),
    ):
        assert main(["run", "wifi-to-lte", "--policy", word]) == 2
        assert expected in capsys.readouterr().err


def test_workers_get_policies_too(tmp_path: Path) -> None:
    from distributed import LocalCluster

    policies = load_policies([f"mine={EXAMPLE}:MyA2"])
    sweep = Sweep.of(scenario("mine", policies), {"seed": "1,2"}, policies=policies, shard_cells=1)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        sweep.begin(tmp_path)
        address = cluster.scheduler_address
        run_dask(sweep, tmp_path, sweep.missing(tmp_path), address=address)
    assert sweep.missing(tmp_path) == []


def test_the_other_commands_take_policies_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ["--policy", f"mine={EXAMPLE}:MyA2"]
    slow = ["--set", "links.lte.preset=hsdpa-2", "--set", "handoffs.0.gap=0.1 ms"]
    mine = [*own, *slow, "--set", f"{SCHEME}=mine"]
    assert main(["run", "wifi-to-lte", *mine, "--out", str(tmp_path)]) == 0
    assert main(["verify", str(tmp_path), *own]) == 0
    capsys.readouterr()
    assert main(["verify", str(tmp_path)]) == 2
    assert f"were made with --policy mine={EXAMPLE}:MyA2" in capsys.readouterr().err
    sides = ["--a", f"{SCHEME}=a2", "--b", f"{SCHEME}=mine"]
    assert main(["diff", "wifi-to-lte", *own, *slow, *sides]) == 0
    assert "identical" in capsys.readouterr().out
    assert main(["explain", "wifi-to-lte", *mine, "--at", "0.31s", "--what", "order"]) == 0
    assert "mine" in capsys.readouterr().out


def test_an_edited_policy_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = EXAMPLE.read_text()
    found = []
    for written in (text, text, text.replace("2 * holds", "3 * holds")):
        file.write_text(written)
        policies = load_policies([f"mine={file}:MyA2"])
        sweep = Sweep.of(scenario("mine", policies), {"seed": "1,2"}, policies=policies)
        found.append([shard.address for shard in sweep.shards()])
    assert found[0] == found[1] != found[2]
    with pytest.raises(MidflightError, match="expected a class at the top of a module"):
        list(Sweep.of(scenario("sack"), {"seed": "1"}, policies={"x": lambda: Silent()}).shards())


def test_errors_of_a_policy_are_reported_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.py"
    file.write_text("class Bad:\n    def on_notice(self, notice, view):\n        return view.no\n")
    own = ["--policy", f"bad={file}:Bad", "--set", f"{SCHEME}=bad"]
    scheme = ["--a", f"{SCHEME}=bad", "--b", f"{SCHEME}=sack"]
    for command in (
        ["run", "wifi-to-lte", *own],
        ["explain", "wifi-to-lte", *own, "--at", "2.4s"],
        ["diff", "wifi-to-lte", *own[:2], *scheme],
        ["sweep", "wifi-to-lte", *own, "--axis", "seed=1,2", "--out", str(tmp_path / "out")],
    ):
        assert main(command) == 2, command
        said = capsys.readouterr().err.splitlines()[-1]
        assert 'the policy "bad" failed in on_notice: AttributeError' in said, command
        assert f"({file}:3)" in said


def cell(name: str, text: str) -> Any:
    """What a notebook's cell with a class is to Python: in no file, but in its cache of lines."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), found)
    return found["Half"]


def test_a_policy_of_a_notebook_is_known_by_its_cell() -> None:
    text = "SHARE = 2\n\nclass Half:\n    def on_notice(self, notice, view):\n        return None\n"
    first, same = (sources({"half": cell(f"/nowhere/{n}.py", text)}) for n in (1, 2))
    assert first == same
    other = sources({"half": cell("/nowhere/3.py", text.replace("SHARE = 2", "SHARE = 3"))})
    assert other != first
    made = type("Made", (), {"on_notice": None})
    with pytest.raises(MidflightError, match="is not available"):
        sources({"made": made})


class Mistyped:
    def on_notice(self, notice: Any, view: Any) -> None:
        del notice, view

    def on_acks(self, view: Any) -> None:
        del view


def test_a_mistyped_hook_is_refused() -> None:
    said = r'"x" has a method on_acks, which is not a hook \(did you mean "on_ack"\?\)'
    with pytest.raises(MidflightError, match=said):
        scenario("x", {"x": Mistyped})


def test_near_names_are_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "half.py"
    file.write_text(
        "from midflight import Order\n\n\nclass Helper:\n    pass\n\n\n"
        "class HalfPipe:\n    def on_notice(self, notice, view):\n        return None\n"
    )
    assert main(["run", "wifi-to-lte", "--policy", f"half={file}:Halfpipe"]) == 2
    said = capsys.readouterr().err
    assert said.endswith('no class "Halfpipe" (did you mean "HalfPipe"?); it has HalfPipe\n')
    own = ["--policy", f"half={file}:HalfPipe"]
    for scheme in ("halv", "sack+halv"):
        assert main(["run", "wifi-to-lte", *own, "--set", f"{SCHEME}={scheme}"]) == 2
        said = capsys.readouterr().err
        assert 'there is no scheme "halv" (did you mean "half"?)' in said
        assert len(said) < 250


class Mistaken:
    def __init__(self, what: str) -> None:
        self.what = what

    def on_notice(self, notice: Any, view: Any) -> Any:
        del view
        return eval(self.what, {"new": notice.new, "Order": Order, "self": self})


@pytest.mark.parametrize(
    ("what", "meant"),
    [
        ("new.bdp", "bdp_packets"),
        ("new.rate", "rate_bps"),
        ("new.dealy_ns", "delay_ns"),
        ("Order.set_cwn(1, because='x')", "set_cwnd"),
    ],
)
def test_a_mistyped_attribute_is_proposed(what: str, meant: str) -> None:
    policies = {"mistaken": lambda: Mistaken(what)}
    with pytest.raises(MidflightError, match=rf'did you mean "{meant}"\?'):
        scenario("mistaken", policies).run(policies=policies)


class Endless:
    def on_notice(self, notice: Any, view: Any) -> Any:
        del notice, view
        while True:
            yield Order.restart_timer(because="again")


def test_orders_without_end_are_an_error() -> None:
    policies = {"endless": Endless}
    with pytest.raises(MidflightError, match="on_notice gave more than 1000 orders"):
        scenario("endless", policies).run(policies=policies)


SLOW = """
import time


class Slow:
    def on_notice(self, notice, view):
        print("asked", flush=True)

    def on_ack(self, view):
        time.sleep(0.02)
        return None
"""


@pytest.mark.parametrize("command", ["run", "explain", "trace"])
def test_an_interrupt_ends_a_slow_policy_within_a_second(tmp_path: Path, command: str) -> None:
    import os
    import signal
    import subprocess
    import sys
    import time

    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    words = {
        "run": ["run", "wifi-to-lte"],
        "explain": ["explain", "wifi-to-lte", "--at", "20s"],
        "trace": ["plot", "wifi-to-lte", "--out", str(tmp_path / "x.png")],
    }[command]
    # No data has an end.
    words += ["--policy", f"slow={file}:Slow", "--set", f"{SCHEME}=slow"]
    words += ["--set", "flows.download.size=unlimited"]
    program = [sys.executable, "-c", "import sys; from midflight.cli import main; sys.exit(main())"]
    with subprocess.Popen(
        [*program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "asked\n"
        os.kill(process.pid, signal.SIGINT)
        begun = time.monotonic()
        _, said = process.communicate(timeout=20)
        took = time.monotonic() - begun
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert took < 5  # A second, and room for a machine that is busy.
