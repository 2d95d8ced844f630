"""Guests: one kernel, one script, one run, in a process that is ended at any error.

The environment of a guest is the same in every run except for its script and its seed: its command
line, the paths of its files (relative to its working directory), its clock and its memory. So its
run depends only on the kernel, the script and the seed. A guest is bound to a core, because it has
one processor; other guests have other cores.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from midflight.lab.errors import LabError
from midflight.lab.store import Kernel, guest_init

__all__ = ["FILES", "LIMIT_S", "MEMORY", "Guest", "Ran", "cores", "run_guests"]

#: The memory of a guest, from which its kernel computes TCP's limits. A guest takes some 30 MB.
MEMORY = "1024M"
#: When its wall clock starts, in nanoseconds of Unix time: at the beginning of 2026.
CLOCK_NS = 1_767_225_600 * 10**9
#: How long a guest may take unless that is given.
LIMIT_S = 600.0
#: How much of a kernel's output is searched for a reason.
MOST_SAID = 65_536
#: Linux's constants for the settings of a guest's process.
ADDR_NO_RANDOMIZE = 0x0040000
PR_SET_PDEATHSIG = 1
#: The message of a kernel without disk space for its memory, and the free space that counts as
#: none.
BUS_ERROR = "Kernel mode signal 7"
MEGABYTE = 1_000_000
#: Where the guest's files are below its folder.
ROOT, OUT = "root", "out"
#: Where programs of the host write, below the results.
FILES = "files"


@dataclass(frozen=True)
class Guest:
    """The input of a guest."""

    #: Lines for the driver and the guest's init (lab/guest/init.c).
    script: str
    #: The seed of the kernel's random numbers: any word.
    seed: str = "1"
    #: Simulates its links: it is called in its own thread with the number of a socket to the
    #: driver, and returns the record of packets (`Setup.lab_serve`). Without it nothing arrives.
    links: Callable[[int], bytes] | None = None
    #: Whether it sees the host's files, read-only.
    sees_host: bool = False
    #: The input of midflight's sender in the guest, as JSON (lab/sender.py); empty without a
    #: sender.
    scenario: str = ""
    #: Files that programs find in their folder, by their names.
    files: Mapping[str, bytes] = field(default_factory=dict)
    #: Its name in errors.
    name: str = "the guest"


@dataclass(frozen=True)
class Ran:
    """The results of a guest."""

    #: The record of packets (lab/kernel/midflight.h).
    packets: bytes
    #: The other files of its result folder by their names: counters and outputs.
    files: Mapping[str, bytes]
    wall_s: float
    #: CPU time of its process.
    cpu_s: float


class Links(threading.Thread):
    """The links of a guest, beside its process and on its core: one waits for the other."""

    def __init__(self, serve: Callable[[int], bytes], socket: socket.socket, core: int) -> None:
        super().__init__(daemon=True)
        self.serve, self.socket, self.core = serve, socket, core
        self.record = b""
        self.error: Exception | None = None

    def run(self) -> None:
        """Serve until the guest has ended."""
        try:
            # Of this thread alone.
            os.sched_setaffinity(0, {self.core})
            with self.socket:
                self.record = self.serve(self.socket.fileno())
        except Exception as error:
            self.error = error


@dataclass
class Running:
    """A guest's process and its folder."""

    guest: Guest
    folder: Path
    process: subprocess.Popen[bytes]
    said: int
    core: int
    begun: float
    links: Links | None = None
    ended: float | None = None
    cpu_s: float = 0.0

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.ended is not None

    def look(self, now: float) -> bool:
        """Return whether its process has ended, and store the time that it took."""
        try:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.ended, self.cpu_s = now, usage.ru_utime + usage.ru_stime
        return self.is_over


def cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def command_line(guest: Guest) -> list[str]:
    """Return the command that starts a guest.

    The kernel mixes its command line into its random numbers: of one kernel only the seed differs.
    """
    return [
        "linux",
        f"mem={MEMORY}",
        "time-travel=inf-cpu",
        f"time-travel-start={CLOCK_NS}",
        "hostfs=.",
        "rootfstype=hostfs",
        f"rootflags={ROOT}",
        "init=/init",
        "con=null",
        "con0=null,fd:1",
        "uml_dir=uml/",
        "umid=guest",
        "quiet",
        f"seed={guest.seed}",
    ]


def run_guests(
    kernel: Kernel,
    guests: Iterable[Guest],
    *,
    limit_s: float = LIMIT_S,
    at_once: int = 0,
    progress: Callable[[int], object] = lambda _done: None,
) -> Iterator[Ran]:
    """Run guests in parallel, one on a core; yield their results in order.

    `at_once` is the maximum number of guests at a time, 0 for one on each core. `progress` is
    called with the number of guests that have ended. Raises `LabError` for a guest that fails or
    takes longer than `limit_s` seconds. However this ends, no guest is left running and none of
    their folders is left.
    """
    free = cores()[: at_once or None]
    left = iter(guests)
    running: deque[Running] = deque()
    done = 0
    with ExitStack() as all_of_them:
        while True:
            while free and len(running) < 2 * len(cores()):
                guest = next(left, None)
                if guest is None:
                    break
                running.append(all_of_them.enter_context(started(kernel, guest, free.pop(0))))
            if not running:
                return
            for ended in wait(running, limit_s):
                free.append(ended.core)
                done += 1
                progress(done)
            while running and running[0].is_over:
                first = running.popleft()
                yield what_is_left(first)
                shutil.rmtree(first.folder, ignore_errors=True)


@contextmanager
def started(kernel: Kernel, guest: Guest, core: int) -> Iterator[Running]:
    """Start a guest in its own folder, which is removed at the end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="midflight-lab-"))
    except OSError as error:
        raise LabError(f"cannot make a folder for a guest: {error.strerror}") from error
    try:
        try:
            prepare(folder, guest)
            running = start(kernel, guest, folder, core)
        except OSError as error:
            raise LabError(f"cannot start {guest.name}: {error.strerror or error}") from error
        try:
            yield running
        finally:
            end(running)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(folder: Path, guest: Guest) -> None:
    """Make the folder of a guest: its root with its script and first program, and its results."""
    root = folder / ROOT
    for name in ("dev", "proc", "sys", "out", "host", "machine"):
        (root / name).mkdir(parents=True)
    (folder / OUT).mkdir()
    (folder / "uml").mkdir()
    shutil.copy(guest_init(), root / "init")
    (root / "script").write_text(guest.script, encoding="utf-8")
    if guest.scenario:
        (root / "scenario").write_text(guest.scenario, encoding="utf-8")
    if guest.sees_host or guest.scenario:
        (folder / "host").symlink_to("/")
    if guest.sees_host:
        (folder / OUT / FILES).mkdir()
    for name, data in guest.files.items():
        (folder / OUT / FILES / name).write_bytes(data)


def start(kernel: Kernel, guest: Guest, folder: Path, core: int) -> Running:
    """Start the process of a guest."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def in_child() -> None:
        # Addresses are random numbers too. A guest does not outlive who started it.
        libc.personality(ADDR_NO_RANDOMIZE)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.sched_setaffinity(0, {core})
        if os.getppid() != parent:
            os._exit(1)

    # Its output needs no disk.
    said = os.memfd_create("said")
    ours, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            command_line(guest),
            executable=kernel.path,
            cwd=folder,
            env={"TMPDIR": str(folder), "HOME": str(folder)},
            stdin=its.fileno(),
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=in_child,
        )
    running = Running(guest, folder, process, said, core, time.monotonic())
    if guest.links is None:
        ours.close()
    else:
        running.links = Links(guest.links, ours, core)
        running.links.start()
    return running


def wait(running: Iterable[Running], limit_s: float) -> list[Running]:
    """Wait until a guest ends; return those that have.

    Raises `LabError` for one that takes too long.
    """
    alive = [one for one in running if not one.is_over]
    if not alive:
        return []
    with ExitStack() as files:
        poll = select.poll()
        for one in alive:
            descriptor = os.pidfd_open(one.process.pid)
            files.callback(os.close, descriptor)
            poll.register(descriptor, select.POLLIN)
        deadline = min(one.begun for one in alive) + limit_s
        poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    now = time.monotonic()
    ended = [one for one in alive if one.look(now)]
    for one in alive:
        if one not in ended and now - one.begun >= limit_s:
            raise LabError(
                f"{one.guest.name} was ended after {limit_s:.12g} s: it hangs, or --limit is too "
                "short for it"
            )
    return ended


def end(running: Running) -> None:
    """End a guest and all processes that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(running.process.pid, signal.SIGKILL)
    if not running.is_over:
        running.process.wait()
    if running.links is not None:
        running.links.join()
    with suppress(OSError):
        os.close(running.said)


def what_is_left(running: Running) -> Ran:
    """Return the results of a guest that has ended.

    Raises `LabError` with the reason if it failed.
    """
    out, links = running.folder / OUT, running.links
    if links is not None:
        links.join()
        if links.error is not None:
            raise LabError(f"the links of {running.guest.name} failed: {links.error}")
    if not (out / "done").is_file():
        raise LabError(f"{running.guest.name} failed: {reason(running)}")
    assert running.ended is not None
    try:
        files = {
            one.relative_to(out).as_posix(): one.read_bytes()
            for one in sorted(out.rglob("*"))
            if one.is_file() and one.name != "done"
        }
    except OSError as error:
        raise LabError(f"cannot read the results of {running.guest.name}: {error}") from error
    packets = files.pop("packets", b"") if links is None else links.record
    return Ran(packets, files, running.ended - running.begun, running.cpu_s)


def reason(running: Running) -> str:
    """Return why a guest failed."""
    error = running.folder / OUT / "error"
    with suppress(OSError):
        text = error.read_text(encoding="utf-8", errors="replace").strip()
        if text:
            return text
    size = os.fstat(running.said).st_size
    data = os.pread(running.said, MOST_SAID, max(0, size - MOST_SAID))
    said = [one.strip() for one in data.decode("utf-8", errors="replace").splitlines()]
    # Its memory is a file of its folder.
    if shutil.disk_usage(running.folder).free < MEGABYTE or any(BUS_ERROR in one for one in said):
        return (
            f"No space left on the disk of {running.folder.parent}, where a guest has its memory "
            "(some 30 MB) and its results; TMPDIR names another"
        )
    for word in ("error:", "Kernel panic", "No space left", "cannot "):
        for line in said:
            if word in line:
                return line
    status = running.process.returncode
    how = f"signal {-status}" if status < 0 else f"status {status}"
    last = next((one for one in reversed(said) if one), "nothing")
    return f"its kernel ended with {how} before its results were there, and said last: {last}"
