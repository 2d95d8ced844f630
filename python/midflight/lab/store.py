"""Where kernels are kept: a folder for each in the user's cache.

The name of a kernel is its version, the frequency of its jiffies and a hash of what midflight adds
to the source: `6.12.117-hz250-3f9a0c51d2e4`. Two builds of one name give the same results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from midflight.lab.errors import LabError
from midflight.refusal import about

__all__ = [
    "GUEST",
    "KERNEL",
    "RATES",
    "VARIABLE",
    "Kernel",
    "available",
    "build_folder",
    "choose",
    "guest_init",
    "kernels",
    "recipe_hash",
    "store_folder",
]

#: What becomes part of a kernel, and the guest's first program.
KERNEL = Path(__file__).with_name("kernel")
GUEST = Path(__file__).with_name("guest")
#: Frequencies of jiffies that a kernel may have, the usual one first.
RATES = (250, 1000, 100)
#: The environment variable that names a kernel outside the cache.
VARIABLE = "MIDFLIGHT_LAB_KERNEL"
ABOUT = "kernel.json"
BINARY = "linux"
BUILDING = ".building-"
HASH_LETTERS = 12


@dataclass(frozen=True)
class Kernel:
    """A kernel that is there."""

    #: The program.
    path: Path
    version: str
    hz: int
    #: The hash of what midflight added to the source; of a foreign one that of its binary.
    recipe: str
    #: Further information on its build: the source's hash, the compiler.
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.version}-hz{self.hz}-{self.recipe}"

    @property
    def is_current(self) -> bool:
        """Whether it is made of the driver and the configuration that this midflight has."""
        return self.recipe == recipe_hash()

    def about(self) -> dict[str, Any]:
        """Return its description in results."""
        return {"version": self.version, "hz": self.hz, "recipe": self.recipe, **self.made}


def store_folder() -> Path:
    """Return the folder of the kernels; it need not exist."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "midflight" / "lab"


def recipe_hash() -> str:
    """Return a hash of driver, configuration and edits."""
    found = hashlib.sha256()
    for name in ("edits.toml", "lab.config", "midflight.c", "midflight.h"):
        data = (KERNEL / name).read_bytes()
        found.update(f"{name} {len(data)}\n".encode() + data)
    return found.hexdigest()[:HASH_LETTERS]


def kernels() -> list[Kernel]:
    """Return the kernels of the store, the one that is taken first of all first."""
    found = []
    for folder in store_folder().glob("*-hz*-*"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            if (folder / BINARY).is_file():
                found.append(Kernel(folder / BINARY, **about))
    return sorted(found, key=preference)


def preference(kernel: Kernel) -> tuple[Any, ...]:
    numbers = [-int(one) for one in re.findall(r"\d+", kernel.version)]
    place = RATES.index(kernel.hz) if kernel.hz in RATES else len(RATES)
    return not kernel.is_current, place, numbers, kernel.name


def choose(name: str | None = None) -> Kernel:
    """Return the kernel of a name or of the beginning of one, else the one to take.

    That is the one of the environment variable, else of those that are current one of 250 Hz, of
    the highest version. Raises `LabError` if there is none.
    """
    named = os.environ.get(VARIABLE)
    if name is None and named:
        return foreign(Path(named).expanduser())
    found = kernels()
    fitting = [one for one in found if one.is_current] if name is None else []
    if name is not None:
        fitting = [one for one in found if one.name.startswith(name)]
        if not fitting:
            there = ", ".join(one.name for one in found) or "none"
            raise about(
                LabError(f'there is no kernel "{name}"; there is: {there}'),
                name="kernel",
                value=name,
                accepted=there,
            )
    if not fitting:
        why = "those of the cache are of another midflight" if found else "none has been built"
        raise LabError(
            f"the lab has no kernel: {why}; run midflight lab build (some minutes), or name one by "
            f"{VARIABLE}"
        )
    return fitting[0]


def available() -> Kernel | None:
    """Return the kernel to take; None if none has been built.

    Raises `LabError` if the environment variable names one that does not run.
    """
    if not os.environ.get(VARIABLE) and not any(one.is_current for one in kernels()):
        return None
    return choose()


def foreign(path: Path) -> Kernel:
    """Return a kernel outside the store; its properties are queried from the kernel itself."""
    path = path / BINARY if path.is_dir() else path
    try:
        version = ask(path, "--version")
        config = ask(path, "--showconfig")
        recipe = hashlib.sha256(path.read_bytes()).hexdigest()[:HASH_LETTERS]
    except subprocess.CalledProcessError as error:
        why = f"asked for its version, it ends with status {error.returncode}"
        raise refused(path, f"is not a kernel that can be started: {why}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise refused(path, f"is not a kernel that can be started: {error}") from error
    hz = re.search(r"^CONFIG_HZ=(\d+)$", config, re.MULTILINE)
    if hz is None or "CONFIG_MIDFLIGHT_LINKS=y" not in config:
        raise refused(
            path,
            "is not a kernel of the lab: it lacks the driver of the links; one that midflight lab "
            "build made is accepted",
        )
    return Kernel(path.resolve(), version.strip(), int(hz[1]), recipe)


def refused(path: Path, why: str) -> LabError:
    accepted = "a kernel that midflight lab build made"
    error = LabError(f'{VARIABLE} "{path}" {why}')
    return about(error, name=VARIABLE, value=path, accepted=accepted)


def ask(path: Path, option: str) -> str:
    made = subprocess.run([path, option], capture_output=True, text=True, check=True, timeout=10)
    return made.stdout


@contextmanager
def build_folder() -> Iterator[Path]:
    """Make a folder in the store for the build of a kernel; it is removed at the end."""
    store = store_folder()
    try:
        store.mkdir(parents=True, exist_ok=True)
        remove_left_overs(store)
        folder = Path(tempfile.mkdtemp(prefix=f"{BUILDING}{os.getpid()}-", dir=store))
    except OSError as error:
        raise LabError(
            f'cannot write to the cache "{store}": {error.strerror}; XDG_CACHE_HOME names another'
        ) from error
    try:
        yield folder
    finally:
        remove(folder)


def remove_left_overs(store: Path) -> None:
    """Remove folders of builds if their process no longer exists."""
    for folder in store.glob(f"{BUILDING}*"):
        pid = folder.name.removeprefix(BUILDING).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            remove(folder)


def remove(folder: Path) -> None:
    """Remove a folder in the background: its many files take some disks a minute."""
    subprocess.Popen(
        ["rm", "-rf", folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def keep(folder: Path, kernel: Kernel) -> Kernel:
    """Put a folder with a kernel into the store under its name, all at once."""
    about = asdict(kernel)
    del about["path"]
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    place = store_folder() / kernel.name
    if place.exists():
        # A folder that is not empty cannot be replaced.
        place.rename(folder.parent / "replaced")
    folder.rename(place)
    return Kernel(place / BINARY, kernel.version, kernel.hz, kernel.recipe, kernel.made)


def guest_init() -> Path:
    """Return the guest's first program, compiled if it is not there.

    Raises `LabError` if it cannot be compiled.
    """
    sources = sorted(GUEST.glob("*.[ch]"))
    found = hashlib.sha256()
    for one in sources:
        found.update(one.read_bytes())
    place = store_folder() / f"init-{found.hexdigest()[:HASH_LETTERS]}"
    if place.is_file():
        return place
    if shutil.which("cc") is None:
        raise LabError("the guest's first program needs a C compiler, cc: apt-get install gcc")
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        units = [str(one) for one in sources if one.suffix == ".c"]
        words = ["cc", "-static", "-O2", "-o", str(unfinished), *units]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        if made.returncode:
            raise LabError(
                "the guest's first program does not compile (cc -static needs the static libc, "
                f"Debian's libc6-dev): {last_line(made.stderr)}"
            )
        unfinished.replace(place)
    except OSError as error:
        raise LabError(f'cannot write "{place}": {error.strerror}') from error
    finally:
        unfinished.unlink(missing_ok=True)
    return place


def last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]
