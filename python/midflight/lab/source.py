"""The source of a kernel: its place, the needed files, and the lab's changes."""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from midflight.lab.errors import LabError
from midflight.refusal import about

__all__ = [
    "DEBIAN",
    "HOW_TO_GET",
    "Edit",
    "apply_edits",
    "find_source",
    "is_needed",
    "read_edits",
    "source_hash",
    "unpack",
    "version_of",
]

#: Where Debian's package puts it.
DEBIAN = Path("/usr/src/linux-source-6.12.tar.xz")
HOW_TO_GET = (
    "apt-get install linux-source-6.12 (Debian), or give --source a tarball or tree of "
    "https://kernel.org from Linux 6.1 on"
)
OLDEST = (6, 1)
MEGA = 1_000_000

#: A build for ARCH=um reads the Kconfig files and Makefiles of the whole source, and of these
#: folders all but what is left out: a sixth of the files.
KBUILD = ("Kconfig", "Makefile", "Kbuild")
DRIVERS = "base block char connector hid input of pps ptp rtc tty".split()
TOOLS = ("arch/x86", "include", "scripts", "build", "lib")
ARCHITECTURES = ("um", "x86")
LEFT_OUT = tuple(
    """
    Documentation/ arch/x86/kvm/ samples/ sound/
    fs/afs/ fs/bcachefs/ fs/btrfs/ fs/ceph/ fs/ext4/ fs/f2fs/ fs/fuse/ fs/gfs2/ fs/jffs2/ fs/jfs/
    fs/nfs/ fs/nfsd/ fs/ntfs3/ fs/ocfs2/ fs/orangefs/ fs/reiserfs/ fs/smb/ fs/ubifs/ fs/udf/ fs/xfs/
    include/drm/ include/media/ include/sound/
    """.split()
)

Progress = Callable[[int, int], object]


def refused_source(path: Path, why: str) -> LabError:
    return about(LabError(why), name="source", value=path, accepted=HOW_TO_GET)


@dataclass(frozen=True)
class Edit:
    """A change of one file of the source: a regular expression, replaced exactly once."""

    why: str
    file: str
    find: str
    replace: str


def find_source(given: str | None) -> Path:
    """Return the tarball or tree to build from.

    Raises `LabError` if there is none, or it is neither.
    """
    path = DEBIAN if given is None else Path(given).expanduser()
    if given is None and not path.is_file():
        raise refused_source(path, f"there is no kernel source at {path}; get it by: {HOW_TO_GET}")
    if path.is_dir():
        if not ((path / "arch/um").is_dir() and (path / "Makefile").is_file()):
            why = f'"{path}" is not a tree of the kernel: it has no arch/um; {HOW_TO_GET}'
            raise refused_source(path, why)
        if (path / ".config").exists() or (path / "include/config").exists():
            why = "has been built in; give a tree as it comes, or run make mrproper there"
            raise refused_source(path, f'"{path}" {why}')
        return path
    if not path.is_file():
        raise refused_source(path, f'there is no tarball or tree "{path}"; {HOW_TO_GET}')
    return path


def source_hash(path: Path) -> str | None:
    """Return the SHA-256 of a tarball; None of a tree."""
    if path.is_dir():
        return None
    with path.open("rb") as file:
        return str(hashlib.file_digest(file, "sha256").hexdigest())


def is_needed(name: str) -> bool:
    """Return whether a build for ARCH=um reads a file, by its path in the source."""
    path = PurePosixPath(name)
    first, *parts = path.parts
    if first == ".git":
        return False
    if first == "tools":
        return name.startswith(tuple(f"tools/{one}/" for one in TOOLS))
    if path.name.startswith(KBUILD):
        return True
    if name.startswith(LEFT_OUT):
        return False
    if first == "arch" and len(parts) > 1:
        return parts[0] in ARCHITECTURES
    if first == "drivers":
        return parts[0] in DRIVERS or (parts[0] == "net" and is_net_driver(parts[1:]))
    return True


def is_net_driver(parts: Sequence[str]) -> bool:
    """Return whether a driver of network devices is one without hardware."""
    return len(parts) == 1 or parts[0] in ("ppp", "slip")


def unpack(path: Path, into: Path, progress: Progress) -> None:
    """Copy the needed files of a tarball or tree into a new folder.

    `progress` is called with the amount that is done and the total, in MB of a tarball or files of
    a tree. Raises `LabError` if the source cannot be read.
    """
    into.mkdir()
    if path.is_dir():
        copy_tree(path, into, progress)
        return
    total = path.stat().st_size
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, mode="r|*") as archive:
            for number, member in enumerate(archive):
                if number % 100 == 0:
                    progress(file.tell() // MEGA, total // MEGA)
                unpack_member(archive, member, into)
    except (tarfile.TarError, EOFError) as error:
        why = f'"{path}" is not a tarball that can be unpacked: {error}'
        raise refused_source(path, why) from error
    progress(total // MEGA, total // MEGA)
    if not (into / "arch/um").is_dir():
        raise refused_source(
            path, f'"{path}" holds no kernel: there is no arch/um in it; {HOW_TO_GET}'
        )


def unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, into: Path) -> None:
    """Put a member into the folder, without the folder that it has in the archive."""
    _, _, name = member.name.removeprefix("./").partition("/")
    if not name or not (member.isfile() or member.issym()) or not is_needed(name):
        return
    archive.extract(member.replace(name=name), into, filter="data")


def copy_tree(path: Path, into: Path, progress: Progress) -> None:
    """Copy the needed files of a tree."""
    names = [one.relative_to(path).as_posix() for one in path.rglob("*") if not one.is_dir()]
    names = [one for one in names if is_needed(one)]
    for number, name in enumerate(names):
        if number % 100 == 0:
            progress(number, len(names))
        place = into / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path / name, place, follow_symlinks=False)
    progress(len(names), len(names))


def version_of(tree: Path) -> str:
    """Return the version that a source states.

    Raises `LabError` if it states none, or one that is too old.
    """
    text = (tree / "Makefile").read_text(encoding="utf-8")
    found = {
        key: value.strip()
        for key, value in re.findall(
            r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *=(.*)$", text, re.MULTILINE
        )
    }
    try:
        numbers = int(found["VERSION"]), int(found["PATCHLEVEL"]), int(found["SUBLEVEL"])
    except (KeyError, ValueError):
        raise LabError("the source states no version in its Makefile; give one of Linux") from None
    if numbers[:2] < OLDEST:
        raise LabError(
            f"the source is Linux {'.'.join(map(str, numbers))}; Linux "
            f"{'.'.join(map(str, OLDEST))} and later are accepted"
        )
    return ".".join(map(str, numbers)) + str(found.get("EXTRAVERSION", ""))


def read_edits(file: Path | BinaryIO) -> list[Edit]:
    """Return the edits of a file such as lab/kernel/edits.toml."""
    text = file.read_bytes() if isinstance(file, Path) else file.read()
    return [Edit(**one) for one in tomllib.loads(text.decode("utf-8"))["edit"]]


def apply_edits(tree: Path, edits: Sequence[Edit], hz: int) -> None:
    """Change a source; each edit exactly once.

    Raises `LabError` if one is found nowhere or more than once: the source is then of no use.
    """
    for edit in edits:
        path = tree / edit.file
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise refused(edit, "the source has no such file") from None
        replace = edit.replace.replace("@HZ@", f"{hz}")
        changed, count = re.subn(edit.find, replace, text, flags=re.MULTILINE)
        if count != 1:
            where = "nowhere" if count == 0 else f"{count} times"
            raise refused(edit, f'"{edit.find}" is found {where} in it, and once is accepted')
        path.write_text(changed, encoding="utf-8")


def refused(edit: Edit, reason: str) -> LabError:
    return LabError(
        f"the source cannot be changed in {edit.file} ({edit.why.rstrip('.')}): {reason}; "
        "midflight is made for Linux 6.12"
    )
