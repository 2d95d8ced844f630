"""`--pcap`: a folder of capture files, one for each place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from midflight.cli.input import read_whole
from midflight.cli.output import UserError, note, open_result

__all__ = ["Captures", "PcapOption", "SnaplenOption"]

PcapOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--pcap",
        metavar="DIR",
        help="Write the packets of the first run at the sender, at the receiver and at each "
        "access link as pcapng files for Wireshark; for a single scheme.",
    ),
]
SnaplenOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="N",
        help="Bytes of each packet that --pcap keeps; 0 for all, including the payload of zeros.",
    ),
]


class Captures:
    """Where captures go, if they are asked for."""

    def __init__(self, folder: str | None, snaplen: str, schemes: Sequence[str]) -> None:
        """Refuse captures of more than one scheme."""
        self.snaplen = read_whole("--snaplen", snaplen, 0, 262_144)
        if folder == "":
            raise UserError('--pcap "" names no folder')
        self.folder = None if folder is None else Path(folder)
        if folder is not None and len(schemes) > 1:
            raise UserError(
                f"--pcap captures one scheme, not {len(schemes)} ({', '.join(schemes)}); "
                "give one --scheme"
            )

    def write(self, capture: Callable[[int], Mapping[str, bytes]]) -> None:
        """Write what `capture` returns for the number of bytes to keep of each packet."""
        if self.folder is None:
            return
        files = capture(self.snaplen)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f'cannot write captures to "{self.folder}": {error.strerror}; give a folder in a '
                "place that can be written to"
            ) from error
        for place, data in files.items():
            with open_result(self.folder / f"{place}.pcapng", binary=True) as file:
                file.write(data)
        note(f"captures in {self.folder}: {', '.join(f'{place}.pcapng' for place in files)}")
