"""The machine's own kernel, in real time: scripts with network namespaces and TUN devices.

The first program of a guest runs on this machine in its own namespaces. The links are the
simulator's, in a process that transports the packets (crates/lab). The delay of their delivery is
measured; a run with packets that are too late is repeated.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from midflight.lab.errors import LabError
from midflight.lab.guest import OUT, Guest, Ran
from midflight.lab.record import late_ns
from midflight.lab.store import Kernel, guest_init

__all__ = ["ATTEMPTS", "HOST", "LATE_NS", "Lateness", "check_host", "host_kernel", "run_on_host"]

#: What results have in the place of a kernel's name.
HOST = "host"
#: How late the 99th of 100 packets may be delivered, and how often a later run is made again.
LATE_NS = 1_000_000
ATTEMPTS = 5
#: How much longer than the scenario a run may take, in seconds.
MORE_S = 20.0


@dataclass(frozen=True)
class Lateness:
    """How late packets were delivered, in nanoseconds."""

    median: int
    most_of_100: int
    most: int

    @classmethod
    def of(cls, packets: bytes) -> Lateness:
        """Return that of a record; 0 without packets."""
        late = sorted(late_ns(packets)) or [0]
        places = (0.5, 0.99, 1.0)
        return cls(*(late[min(math.ceil(part * len(late)), len(late)) - 1] for part in places))

    @property
    def is_too_much(self) -> bool:
        """Whether a run is to be made again."""
        return self.most_of_100 > LATE_NS

    def text(self) -> str:
        """Return it for a reader."""
        half, most, last = (one / 1e3 for one in (self.median, self.most_of_100, self.most))
        return (
            f"half of the packets were delivered within {half:.0f} us of their instant, 99 % "
            f"within {most:.0f} us, all within {last:.0f} us"
        )


def host_kernel() -> Kernel:
    """Return the machine's own kernel, under the name `HOST`."""
    return Kernel(Path("/proc/version"), platform.release(), 0, HOST)


def check_host() -> None:
    """Raise `LabError` if this machine cannot make such runs."""
    if platform.system() != "Linux":
        raise LabError(f"--host is for Linux, and this is {platform.system()}")
    device = Path("/dev/net/tun")
    if not device.exists():
        raise LabError("--host needs /dev/net/tun, and there is none; load the module tun")
    if not os.access(device, os.R_OK | os.W_OK):
        raise LabError("--host needs /dev/net/tun, which this user may not open; be root")


def run_on_host(guest: Guest, end_s: float) -> tuple[Ran, Lateness, int]:
    """Run a script on this machine until it is not late; also how late it was, and which run it is.

    Raises `LabError` if the machine cannot, or if it was late each time.
    """
    check_host()
    for attempt in range(1, ATTEMPTS + 1):
        ran = run_once(guest, end_s)
        late = Lateness.of(ran.packets)
        if not late.is_too_much:
            return ran, late, attempt
    raise LabError(
        f"{guest.name} was late {ATTEMPTS} times, the last time so: {late.text()}; the machine is "
        "too busy, or its links are too fast for real time"
    )


def run_once(guest: Guest, end_s: float) -> Ran:
    """Run a script once."""
    begun = time.monotonic()
    try:
        folder = Path(tempfile.mkdtemp(prefix="midflight-lab-"))
    except OSError as error:
        raise LabError(f"cannot make a folder for a run: {error.strerror}") from error
    try:
        (folder / OUT).mkdir()
        (folder / "script").write_text(guest.script, encoding="utf-8")
        (folder / "scenario").write_text(guest.scenario, encoding="utf-8")
        said = start(folder, end_s, guest.name)
        if not (folder / OUT / "done").is_file():
            raise LabError(f"{guest.name} failed: {reason(folder, said)}")
        files = {one.name: one.read_bytes() for one in (folder / OUT).iterdir() if one.is_file()}
        return Ran(files.pop("packets"), files, time.monotonic() - begun, 0.0)
    except OSError as error:
        raise LabError(f"cannot run {guest.name}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(folder: Path, end_s: float, name: str) -> str:
    """Run the first program; return its output. At the end, in any case, all its processes have
    ended.
    """
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [guest_init(), "host", folder],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        process.wait(end_s + MORE_S)
    except subprocess.TimeoutExpired as error:
        raise LabError(
            f"{name} was ended {MORE_S:.0f} s after the scenario's end: it hangs"
        ) from error
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return (folder / "said").read_text(encoding="utf-8", errors="replace")


def reason(folder: Path, said: str) -> str:
    """Return why a run has no results."""
    with suppress(OSError):
        text = (folder / OUT / "error").read_text(encoding="utf-8", errors="replace").strip()
        if text:
            return text
    return (said.strip().splitlines() or ["nothing was said"])[-1]
