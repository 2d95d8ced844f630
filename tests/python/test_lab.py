"""The lab without a kernel: source, edits, build, store, guests; made-up sources and kernels."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from midflight import cli
from midflight.lab import LabError, build, store
from midflight.lab.doctor import findings
from midflight.lab.guest import Guest, command_line, run_guests
from midflight.lab.record import CounterRow, counters, events, late_ns
from midflight.lab.source import (
    Edit,
    apply_edits,
    find_source,
    is_needed,
    read_edits,
    unpack,
    version_of,
)
from midflight.lab.store import Kernel
from midflight.results import Columns

ROOT = Path(__file__).parents[2]

#: The texts that the edits of lab/kernel search for, and a Makefile that builds at once.
SOURCE = {
    "Makefile": """\
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 9
EXTRAVERSION =
defconfig:
\tprintf '# made up\\n' > .config
olddefconfig:
\ttest "$(ARCH)" = um
linux:
\t@echo '  CC      drivers/net/midflight.o'
\tcp drivers/net/midflight.c linux
""",
    "arch/um/include/linux/time-internal.h": """\
#define TIMER_MULTIPLIER 256
#define TIMER_MIN_DELTA 500
""",
    "arch/um/kernel/time.c": """\
\tdelta += 1;
\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);
""",
    "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
    "arch/um/os-Linux/util.c": "\treturn getrandom(buf, len, flags);\n",
    "arch/x86/um/user-offsets.c": "\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n",
    "arch/arm/mach.c": "not needed\n",
    "drivers/net/Kconfig": "endif # NETDEVICES\n",
    "drivers/net/Makefile": "obj-$(CONFIG_TUN) += tun.o\n",
    "drivers/gpu/big.c": "not needed\n",
    "drivers/gpu/Kconfig": "config GPU\n",
    "fs/hostfs/hostfs_user.c": "\tif ((statx(fd, path,\n",
}


def write_tree(folder: Path, **changes: str) -> Path:
    for name, text in {**SOURCE, **changes}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def tarball(folder: Path, tree: Path) -> Path:
    path = folder / "linux-6.12.9.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        archive.add(tree, "linux-6.12.9")
    return path


def ignore(*_: object) -> None:
    pass


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test its own cache and all programs that a build looks for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(store.VARIABLE, raising=False)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in build.TOOLS:
        if shutil.which(name) is None:
            (tools / name).write_text("#!/bin/sh\n")
            (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{tools}")
    return tmp_path / "cache" / "midflight" / "lab"


@pytest.fixture
def no_init(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The guest's first program needs a static libc; kernels that are made up do not start it."""
    init = tmp_path / "made-up-init"
    init.write_text("")
    monkeypatch.setattr("midflight.lab.guest.guest_init", lambda: init)
    monkeypatch.setattr(store, "guest_init", lambda: init)
    return tmp_path


def test_of_a_source_only_what_is_read_is_taken() -> None:
    needed = """
        Makefile arch/um/kernel/time.c arch/x86/um/ptrace.c drivers/net/tun.c drivers/gpu/Kconfig
        arch/arm/crypto/Kconfig net/ipv4/tcp.c include/linux/tcp.h drivers/net/slip/slhc.c
    """.split()
    left = """
        arch/arm/mm/mmu.c drivers/gpu/drm/drm_drv.c drivers/net/ethernet/intel/e1000.c sound/last.c
        Documentation/index.rst fs/xfs/xfs_super.c tools/perf/perf.c arch/x86/kvm/x86.c
    """.split()
    assert [one for one in needed if not is_needed(one)] == []
    assert [one for one in left if is_needed(one)] == []


def test_tarball_and_tree_give_the_same(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    (tree / ".git").mkdir()
    (tree / ".git" / "HEAD").write_text("")
    archive = tarball(tmp_path, tree)
    found = []
    for number, source in enumerate((archive, tree)):
        into = tmp_path / f"into-{number}"
        unpack(source, into, ignore)
        found.append({one.relative_to(into).as_posix() for one in into.rglob("*") if one.is_file()})
    assert found[0] == found[1] == set(SOURCE) - {"arch/arm/mach.c", "drivers/gpu/big.c"}
    assert version_of(tmp_path / "into-0") == "6.12.9"


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r'no tarball or tree ".*nothing".*kernel\.org'):
        find_source(str(tmp_path / "nothing"))
    with pytest.raises(LabError, match="not a tree of the kernel"):
        find_source(str(tmp_path))
    built = write_tree(tmp_path / "built", **{".config": ""})
    with pytest.raises(LabError, match=r"has been built in; .*make mrproper"):
        find_source(str(built))
    text = tmp_path / "text.tar.xz"
    text.write_text("no tarball")
    with pytest.raises(LabError, match="not a tarball that can be unpacked"):
        unpack(text, tmp_path / "a", ignore)
    other = tmp_path / "other.tar"
    with tarfile.open(other, "w") as archive:
        archive.add(text, "folder/file")
    with pytest.raises(LabError, match="holds no kernel"):
        unpack(other, tmp_path / "b", ignore)
    old = write_tree(tmp_path / "old", Makefile="VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 1\n")
    with pytest.raises(LabError, match=r"Linux 5\.10\.1; Linux 6\.1 and later are accepted"):
        version_of(old)


def test_a_cut_tarball_is_refused(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    (tree / "large").write_bytes(random.Random(1).randbytes(100_000))
    whole = tarball(tmp_path, tree)
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(whole.read_bytes()[:50_000])
    with pytest.raises(LabError, match="not a tarball that can be unpacked"):
        unpack(cut, tmp_path / "into", ignore)


def test_the_edits_of_the_lab_change_a_source(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    apply_edits(tree, read_edits(store.KERNEL / "edits.toml"), 1000)
    read = {name: (tree / name).read_text() for name in SOURCE}
    assert "TIMER_MULTIPLIER 1\n" in read["arch/um/include/linux/time-internal.h"]
    assert read["arch/um/Kconfig"].endswith("default 1000\n")
    assert "memset(buf, 0x6d, len);" in read["arch/um/os-Linux/util.c"]
    assert "midflight.o" in read["drivers/net/Makefile"]
    with pytest.raises(LabError, match=r"time-internal\.h .* is found|cannot be changed"):
        # The edits do not find their texts in a changed source.
        apply_edits(tree, read_edits(store.KERNEL / "edits.toml"), 1000)


@pytest.mark.parametrize(
    ("text", "said"),
    [("nothing of it", "is found nowhere"), ("one\none\n", "is found 2 times"), (None, "no such")],
)
def test_an_edit_is_applied_once_or_refused(tmp_path: Path, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / "file.c").write_text(text)
    edit = Edit("One becomes two.", "file.c", "^one$", "two")
    with pytest.raises(LabError, match=rf"file\.c \(One becomes two\): .*{said}"):
        apply_edits(tmp_path, [edit], 250)
    if text is not None:
        assert (tmp_path / "file.c").read_text() == text


@pytest.mark.usefixtures("no_init")
def test_a_kernel_is_built_once_and_kept(tmp_path: Path, cache: Path) -> None:
    archive = tarball(tmp_path, write_tree(tmp_path / "tree"))
    told: list[str] = []
    kernel, was_there = build.build(
        archive, hz=250, jobs=2, progress=lambda what, _done, _total: told.append(what)
    )
    assert not was_there
    assert kernel.name == f"6.12.9-hz250-{store.recipe_hash()}"
    assert kernel.path == cache / kernel.name / "linux"
    assert kernel.path.read_text() == (store.KERNEL / "midflight.c").read_text()
    assert set(told) == {
        "unpacking linux-6.12.9.tar.xz",
        "compiling Linux 6.12.9, HZ 250",
    }
    config = (cache / kernel.name / "config").read_text()
    assert "CONFIG_MIDFLIGHT_LINKS=y" in config
    again, was_there = build.build(archive, hz=250, jobs=2, progress=ignore)
    assert was_there
    assert again == kernel
    other, was_there = build.build(archive, hz=1000, jobs=2, progress=ignore)
    assert not was_there
    assert store.kernels() == [kernel, other]
    assert store.choose() == kernel
    assert store.choose("6.12.9-hz1000") == other


@pytest.mark.usefixtures("no_init")
@pytest.mark.parametrize(
    ("makefile", "said"),
    [
        ("linux:\n\t@echo 'tcp.c:7:1: error: no such thing'; false\n", "tcp.c:7:1: error: no such"),
        ("linux:\n\t@echo 'ld has no memory'; false\n", r"\(make -j1 linux\): ld has no memory"),
        ("", "No rule to make target"),
    ],
)
def test_a_build_that_fails_leaves_nothing(
    tmp_path: Path, cache: Path, makefile: str, said: str
) -> None:
    text = SOURCE["Makefile"].partition("linux:")[0] + makefile
    tree = write_tree(tmp_path / "tree", Makefile=text)
    with pytest.raises(LabError, match=rf"the kernel does not build .*{said}"):
        build.build(tree, hz=250, jobs=1, progress=ignore)
    wait_until(lambda: list(cache.iterdir()) == [])
    assert store.kernels() == []


@pytest.mark.usefixtures("no_init")
def test_a_configuration_that_a_source_does_not_know_is_refused(
    tmp_path: Path,
) -> None:
    text = SOURCE["Makefile"].replace(
        'test "$(ARCH)" = um', "grep -v CONFIG_MPTCP .config > c; mv c .config"
    )
    tree = write_tree(tmp_path / "tree", Makefile=text)
    with pytest.raises(LabError, match="cannot be configured with MPTCP"):
        build.build(tree, hz=250, jobs=1, progress=ignore)


def test_an_interrupted_build_ends_at_once_and_leaves_no_kernel(
    tmp_path: Path, cache: Path
) -> None:
    text = SOURCE["Makefile"].partition("linux:")[0] + "linux:\n\ttouch begun; sleep 71.5\n"
    tree = write_tree(tmp_path / "tree", Makefile=text)
    words = [sys.executable, "-m", "midflight", "lab", "build", "--source", tree]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    wait_until(lambda: bool(list(cache.glob(".building-*/source/begun"))), 60)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert time.monotonic() - begun < 2
    wait_until(lambda: list(cache.iterdir()) == [])
    assert not running("sleep 71.5")


def test_what_an_ended_build_left_is_removed(cache: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = cache / f".building-{gone.pid}-x"
    left.mkdir(parents=True)
    with store.build_folder() as folder:
        assert folder.is_dir()
    wait_until(lambda: not left.exists() and not folder.exists())


def test_missing_tools_are_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match=r"gcc, make, flex, bison, bc are missing; apt-get install"):
        build.check_machine()
    by_name = {one.what: one for one in findings()}
    assert not by_name["tools to build a kernel"].is_there
    assert not by_name["kernel that is used"].is_there


def keep_kernel(cache: Path, version: str, hz: int, recipe: str) -> None:
    folder = cache / f"{version}-hz{hz}-{recipe}"
    folder.mkdir(parents=True)
    (folder / "linux").write_text("")
    about = {"version": version, "hz": hz, "recipe": recipe, "made": {}}
    (folder / "kernel.json").write_text(json.dumps(about))


def test_which_kernel_is_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LabError, match="none has been built; run midflight lab build"):
        store.choose()
    keep_kernel(cache, "6.12.9", 250, "0" * 12)
    with pytest.raises(LabError, match="of another midflight; run midflight lab build"):
        store.choose()
    now = store.recipe_hash()
    for version, hz in (("6.12.9", 1000), ("6.12.9", 250), ("6.12.10", 250), ("6.1.4", 250)):
        keep_kernel(cache, version, hz, now)
    (cache / f"6.13.1-hz250-{now}").mkdir()
    names = [one.name for one in store.kernels()]
    assert names == [
        *(f"6.{one}-{now}" for one in ("12.10-hz250", "12.9-hz250", "1.4-hz250", "12.9-hz1000")),
        f"6.12.9-hz250-{'0' * 12}",
    ]
    assert store.choose().version == "6.12.10"
    with pytest.raises(LabError, match=r'no kernel "6\.99"; there is: 6\.12\.10-hz250'):
        store.choose("6.99")
    monkeypatch.setenv(store.VARIABLE, "/bin/true")
    with pytest.raises(LabError, match="is not a kernel of the lab"):
        store.choose()


def test_the_package_has_what_a_kernel_is_built_of() -> None:
    for name in ("edits.toml", "lab.config", "midflight.c", "midflight.h", "COPYING"):
        assert (store.KERNEL / name).read_bytes() == (ROOT / "lab/kernel" / name).read_bytes()
    for name in ("guest.h", "homes.c", "host.c", "init.c", "sender.c"):
        assert (store.GUEST / name).read_bytes() == (ROOT / "lab/guest" / name).read_bytes()


def test_of_the_command_line_of_a_guest_only_the_seed_differs() -> None:
    one, other = (command_line(Guest(script, seed)) for script, seed in (("a", "1"), ("b", "7")))
    assert [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]] == [
        ("seed=1", "seed=7")
    ]


@pytest.fixture
def made_up(no_init: Path) -> Callable[[str], Kernel]:
    """A kernel that is a shell script."""

    def make(text: str) -> Kernel:
        path = no_init / "linux"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return Kernel(path, "6.12.9", 250, "0" * 12)

    return make


Made = Callable[[str], Kernel]


def running(what: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"^{what}"], check=False).returncode == 0


def wait_until(what: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_guests_give_what_they_leave_in_their_order(
    made_up: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "guests"))
    (tmp_path / "guests").mkdir()
    kernel = made_up(
        "sleep $(cat root/script); cp root/script out/packets; echo 7 > out/snmp-0; touch out/done"
    )
    done: list[int] = []
    guests = [Guest(text) for text in ("0.4", "0.1", "0.2", "0", "0.1")]
    found = list(run_guests(kernel, guests, progress=done.append))
    assert [one.packets.decode() for one in found] == ["0.4", "0.1", "0.2", "0", "0.1"]
    assert all(one.files == {"snmp-0": b"7\n"} for one in found)
    assert done == [1, 2, 3, 4, 5]
    assert list((tmp_path / "guests").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo 'cannot use nope' > out/error; exit 0", "^guest 3 failed: cannot use nope$"),
        ("echo Kernel panic - not syncing: x; exit 1", "failed: Kernel panic - not syncing: x"),
        ("echo 'write: No space left on device'; exit 1", "No space left on device"),
        ("echo first; echo last; exit 4", "ended with status 4 .* said last: last"),
        ("kill -9 $$", "ended with signal 9 .* said last: nothing"),
    ],
)
def test_a_guest_that_fails_has_one_sentence(made_up: Made, text: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        list(run_guests(made_up(text), [Guest("", name="guest 3")]))


def test_a_guest_that_hangs_is_ended_with_all_that_it_started(made_up: Made) -> None:
    kernel = made_up("sleep 72.5 & sleep 72.5")
    begun = time.monotonic()
    with pytest.raises(LabError, match=r"was ended after 0\.3 s: it hangs"):
        list(run_guests(kernel, [Guest(""), Guest("")], limit_s=0.3))
    assert time.monotonic() - begun < 5
    wait_until(lambda: not running("sleep 72.5"))


@pytest.mark.usefixtures("no_init")
def test_a_kernel_that_is_no_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot start the guest: Permission denied"):
        list(run_guests(Kernel(tmp_path, "6", 250, ""), [Guest("")]))


def test_a_record_says_how_late_packets_were() -> None:
    sent = b"\0" * 14 + bytes([1, 4]) + b"\0" * 16
    delivered = b"\0" * 14 + bytes([2, 3]) + b"\0" * 4 + (5).to_bytes(4, "little")
    assert list(late_ns(sent + delivered + delivered)) == [5, 5]
    found = events(sent + delivered + delivered)
    assert {name: count for name, count in found.items() if count} == {"sent": 1, "delivered": 2}


def test_counters_of_the_kernel_are_rows() -> None:
    files = {
        "snmp-1": b"Tcp: RtoMin OutSegs\nTcp: 200 7\nUdp: InDatagrams\nUdp: 0\n",
        "netstat-0": b"TcpExt: TCPTimeouts TCPLossUndo\nTcpExt: 2 0\n",
        "client.stdout": b"TcpExt: no counter\n",
    }
    assert counters(files) == [
        CounterRow(0, "TcpExt", "TCPTimeouts", 2),
        CounterRow(1, "Tcp", "OutSegs", 7),
        CounterRow(1, "Tcp", "RtoMin", 200),
    ]


def test_a_congestion_control_that_the_kernel_lacks_is_named_with_those_it_has(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep_kernel(cache, "6.12.9", 250, store.recipe_hash())
    keep_kernel(cache, "6.12.9", 250, "0" * 12)
    config = cache / f"6.12.9-hz250-{store.recipe_hash()}" / "config"
    config.write_text(
        "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\nCONFIG_TCP_CONG_BBR=y\n"
        '# CONFIG_TCP_CONG_VEGAS is not set\nCONFIG_DEFAULT_TCP_CONG="cubic"\n'
    )
    for command in ("run", "compare"):
        assert cli.main(["lab", command, "wifi-to-lte", "--cc", "cubic,vegas"]) == 2
        assert capsys.readouterr().err == (
            'midflight: the kernel has no congestion control "vegas"; it has bbr, cubic, reno\n'
        )
    assert cli.main(["lab", "list"]) == 0
    said = [line.partition("  250  ")[2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert said == ["these sources", "other sources"]


def test_the_commands_say_what_is_missing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["lab", "list"]) == 0
    assert "midflight lab build makes one" in capfd.readouterr().out
    assert cli.main(["lab", "list", "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == []
    assert cli.main(["lab", "doctor"]) == 1
    assert "The lab cannot run: the lab has no kernel" in capfd.readouterr().out
    assert cli.main(["lab", "build", "--hz", "300"]) == 2
    assert '--hz "300" is not 250, 1000 or 100' in capfd.readouterr().err
    monkeypatch.setattr("midflight.lab.source.DEBIAN", Path("/nowhere/linux.tar.xz"))
    assert cli.main(["lab", "build"]) == 2
    assert "no kernel source at /nowhere/linux.tar.xz; get it by:" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--cc", "cubic,cubic"], '--cc "cubic,cubic" is not a list of different names'),
        (["--set", "flows.download.scheme=enhanced"], "the kernel has its own sender"),
        (["--sysctl", "tcp_sack"], '--sysctl "tcp_sack" is not KEY=VALUE'),
        (["--cc", "a-name-that-is-too-long"], "expected a name of the kernel such as cubic"),
    ],
)
def test_what_the_lab_cannot_run_is_refused_without_a_kernel(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from midflight import cli

    assert cli.main(["lab", "run", "wifi-to-lte", *words]) != 0
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "compare"])
def test_workloads_are_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Programs of a guest send bulk data, which is another run."""
    from midflight import cli

    assert cli.main(["lab", command, "call-handoff"]) != 0
    said = 'the lab cannot run flow "call" with a workload; expected bulk transfers'
    assert said in capsys.readouterr().err


def test_hosts_get_the_bursts_and_the_merging_of_their_flows() -> None:
    from midflight.scenario import read_plan

    def lines(**sets: str) -> list[str]:
        named = {f"set.{name}": value for name, value in sets.items()}
        setup = read_plan("wifi-to-lte", sets=named).setup(0)
        script: list[str] = setup.lab_script(congestion=["cubic"]).splitlines()
        return script

    plain = lines()
    (flow,) = [line.split() for line in plain if line.startswith("flow ")]
    sender, receiver = flow[2:4]
    added = {
        "gso_max_segs": f"gso {sender} 4",
        "tcp_min_tso_segs": f"sysctl {sender} net/ipv4/tcp_min_tso_segs 4",
        "tcp_tso_win_divisor": f"sysctl {sender} net/ipv4/tcp_tso_win_divisor 4",
        "tcp_tso_rtt_log": f"sysctl {sender} net/ipv4/tcp_tso_rtt_log 4",
        "tcp_limit_output_bytes": f"sysctl {sender} net/ipv4/tcp_limit_output_bytes 4096",
    }
    for name, line in added.items():
        assert [one for one in lines(**{name: line.split()[-1]}) if one not in plain] == [line]
    merging = lines(gro_flush_timeout="20 us")
    assert [one for one in merging if one not in plain] == [f"gro {receiver} 20000"]
    assert [one for one in merging if one in plain] == plain


def test_packets_are_compared_place_by_place() -> None:
    from midflight.lab.comparison import compare_packets

    def trace(*rows: tuple[int, str, float]) -> Any:
        names = ("time_ns", "event", "value")
        return Columns(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    ours = trace((0, "cwnd", 10), (1000, "send", 1), (2000, "send", 2), (9000, "ack", 1))
    theirs = trace((0, "cwnd", 10), (1500, "send", 1), (2000, "rexmit", 1))
    found = compare_packets(ours, theirs)
    assert (found.simulated, found.kernel, found.equal) == (3, 2, 1)
    assert found.first == (
        {"time_ns": 2000, "packet": "send", "number": 2, "cwnd": 10},
        {"time_ns": 2000, "packet": "rexmit", "number": 1, "cwnd": 10},
    )


def test_a_comparison_reports_its_progress_once_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from midflight.cli import lab_run
    from midflight.lab.comparison import Compared, Packets
    from midflight.lab.runs import LabRuns
    from midflight.scenario import read_plan

    asked = LabRuns(read_plan("wifi-to-lte"), Kernel(Path(), "6.12.9", 250, ""))
    packets = Packets(1, 2, 1, (None, None))
    found = [Compared("cubic", run, "download", {"sent": (1, 2)}, packets) for run in (0, 1)]
    monkeypatch.setattr(lab_run, "requested_runs", lambda *_of: asked)
    monkeypatch.setattr("midflight.lab.comparison.compare_runs", lambda _of: iter(found))
    words = ["lab", "compare", "wifi-to-lte"]

    assert cli.main(words) == 0
    soon = capsys.readouterr()
    assert soon.err == ""
    assert soon.out.endswith("  Linux: none\n")
    monkeypatch.setattr(lab_run, "QUIET_S", 0.0)
    assert cli.main(words) == 0
    late = capsys.readouterr()
    assert late.err == "flows: 1 of 1\nflows: 2 of 2\n"
    assert late.out == soon.out


def test_a_comparison_has_the_congestion_control_of_the_simulator() -> None:
    from midflight.cli.lab_run import congestion_of
    from midflight.scenario import read_plan

    def of(sets: dict[str, Any]) -> str | None:
        return congestion_of(read_plan("wifi-to-lte", sets=sets))

    assert of({}) is None
    assert of({"flows.download.scheme": "bbr-linux"}) == "bbr"
    assert of({"flows.download.scheme": "sack+reno-linux"}) == "reno"
    assert of({"set.congestion": "bbr-linux"}) == "bbr"
    assert of({"flows.download.set.congestion": "cubic-linux"}) == "cubic"
    assert of({"flows.download.stack": "linux", "flows.download.scheme": "bbr"}) is None
