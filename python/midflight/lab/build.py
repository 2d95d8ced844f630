"""How a kernel is built: source, edits, configuration, make; all or nothing."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from midflight.lab import store
from midflight.lab.errors import LabError
from midflight.lab.source import apply_edits, read_edits, source_hash, unpack, version_of
from midflight.lab.store import KERNEL, Kernel, build_folder, keep, kernels, recipe_hash

__all__ = ["PACKAGES", "TOOLS", "build", "missing_tools"]

#: Programs that a build needs.
TOOLS = ("gcc", "make", "flex", "bison", "bc")
PACKAGES = f"apt-get install {' '.join(TOOLS)} libc6-dev"
#: Free space that a build takes at most, measured 0.5 GB.
SPACE_BYTES = 1_000_000_000
#: Lines that make prints for Linux 6.12, for the progress only.
LINES = 1450
#: Beginnings of names of the environment that would change what make does.
OF_MAKE = ("KBUILD_", "KCFLAGS", "KCONFIG_", "MAKE", "MFLAGS", "CROSS_COMPILE")
#: Patterns of lines of make's output that contain the reason of a failure.
OF_ERRORS = ("error:", "can't open", "No rule to make", "No space left")
#: How long a program may take to end after a request.
PATIENCE_S = 0.5

#: Called with the name of the step, the amount that is done, and the total.
Progress = Callable[[str, int, int], object]


def missing_tools() -> list[str]:
    """Return the programs that a build needs and that are not there."""
    return [one for one in TOOLS if shutil.which(one) is None]


def check_machine() -> None:
    """Raise `LabError` if no kernel can be built here."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise LabError(
            f"the lab is for Linux on x86_64, and this is {platform.system()} on "
            f"{platform.machine()}"
        )
    missing = missing_tools()
    if missing:
        raise LabError(f"to build a kernel {', '.join(missing)} are missing; {PACKAGES}")


def build(source: Path, *, hz: int, jobs: int, progress: Progress) -> tuple[Kernel, bool]:
    """Build a kernel of a tarball or tree; return it, and whether it was there already.

    Raises `LabError`, and then nothing of it is left.
    """
    check_machine()
    digest = source_hash(source)
    for one in kernels():
        if digest and one.is_current and one.hz == hz and one.made.get("source") == digest:
            store.guest_init()
            return one, True
    with build_folder() as folder:
        if shutil.disk_usage(folder).free < SPACE_BYTES:
            raise LabError(
                f'the cache "{folder.parent}" has less than {SPACE_BYTES // 1_000_000_000} GB of '
                "free space, which a build takes; XDG_CACHE_HOME names another"
            )
        try:
            return build_in(folder, source, digest, hz, jobs, progress), False
        except OSError as error:
            raise LabError(f"cannot build in the cache: {error.strerror or error}") from error


def build_in(
    folder: Path, source: Path, digest: str | None, hz: int, jobs: int, progress: Progress
) -> Kernel:
    """Build in a folder that is removed afterwards."""
    tree = folder / "source"
    unpack(source, tree, lambda done, total: progress(f"unpacking {source.name}", done, total))
    version = version_of(tree)
    apply_edits(tree, read_edits(KERNEL / "edits.toml"), hz)
    for name in ("midflight.c", "midflight.h"):
        shutil.copyfile(KERNEL / name, tree / "drivers/net" / name)
    make = Make(tree, folder / "log")
    configure(tree, make)
    what = f"compiling Linux {version}, HZ {hz}"
    make.run(
        f"-j{jobs}", "linux", progress=lambda done: progress(what, min(done, LINES - 1), LINES)
    )
    result = folder / "result"
    result.mkdir()
    shutil.copy(tree / "linux", result / "linux")
    shutil.copyfile(tree / ".config", result / "config")
    store.guest_init()
    made = {"source": digest, "compiler": compiler()}
    progress(what, LINES, LINES)
    return keep(result, Kernel(result / "linux", version, hz, recipe_hash(), made))


def configure(tree: Path, make: Make) -> None:
    """Make the configuration; an option that the source does not have is refused."""
    wanted = (KERNEL / "lab.config").read_text(encoding="utf-8")
    make.run("defconfig")
    config = tree / ".config"
    with config.open("a", encoding="utf-8") as file:
        file.write(wanted)
    make.run("olddefconfig")
    found = config.read_text(encoding="utf-8").splitlines()
    missing = [
        one.removeprefix("CONFIG_").removesuffix("=y")
        for one in wanted.splitlines()
        if one.startswith("CONFIG_") and one not in found
    ]
    if missing:
        raise LabError(
            f"the source cannot be configured with {', '.join(missing)}; midflight is made for "
            "Linux 6.12"
        )


def compiler() -> str:
    made = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False)
    return made.stdout.partition("\n")[0]


class Make:
    """make in a tree; its output goes to a log."""

    def __init__(self, tree: Path, log: Path) -> None:
        self.tree, self.log = tree, log
        # The kernel mixes its build information into its random numbers.
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(OF_MAKE)},
            "ARCH": "um",
            "KBUILD_BUILD_TIMESTAMP": "Thu Jan 1 00:00:00 UTC 1970",
            "KBUILD_BUILD_USER": "midflight",
            "KBUILD_BUILD_HOST": "lab",
            "KBUILD_BUILD_VERSION": "1",
            "LOCALVERSION": "",
            "LC_ALL": "C",
        }

    def run(self, *words: str, progress: Callable[[int], object] = lambda _lines: None) -> None:
        """Run make; `progress` is called with the number of lines that it has printed.

        Raises `LabError` with its first error if it fails. However this ends, make has ended.
        """
        error, last = "", ""
        with (
            self.log.open("a", encoding="utf-8") as log,
            ending(
                subprocess.Popen(
                    ["make", *words],
                    cwd=self.tree,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    start_new_session=True,
                )
            ) as process,
        ):
            assert process.stdout is not None
            for number, line in enumerate(process.stdout):
                progress(number)
                log.write(line)
                if not line.startswith("make"):
                    last = line.strip()
                if not error and any(word in line for word in OF_ERRORS):
                    error = line.strip()
            status = process.wait()
        if status:
            what = error or last or f"make ended with status {status}"
            raise LabError(f"the kernel does not build (make {' '.join(words)}): {what}")


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """End a process and its children if the context ends first."""
    try:
        yield process
    finally:
        if process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, number)
                    process.wait(PATIENCE_S)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    continue
