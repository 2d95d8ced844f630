"""Common code of the commands: errors, times, plain tables, and files that are written completely
or not at all."""

from __future__ import annotations

import os
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TextIO

from midflight.run_tables import align

__all__ = [
    "Progress",
    "UserError",
    "align",
    "begin_command",
    "note",
    "notes_of_warnings",
    "open_result",
    "progress_display",
    "shorten",
    "time_text",
]

Progress = Callable[[str, int, int], None]


class UserError(Exception):
    """A mistake in the user's input; the message is one sentence."""


def time_text(nanoseconds: int) -> str:
    """Return a time as text, in seconds without needless digits."""
    return f"{nanoseconds / 1e9:.12g} s"


#: A log gets lines on progress when the work has taken that long.
QUIET_S = 20.0
#: And then a line at least so often while the work continues.
REPORT_S = 10.0


#: The notes that the command has printed.
_PRINTED: set[str] = set()


def note(text: str) -> None:
    """Print a note on standard error that matters for the interpretation of the result.

    What holds for several runs of a command is printed once.
    """
    if text not in _PRINTED:
        _PRINTED.add(text)
        print(f"midflight: note: {text}", file=sys.stderr)


@contextmanager
def notes_of_warnings() -> Iterator[None]:
    """Print what warns of a scenario or of a figure as notes: a warning of Python has the place of
    a source file, which says nothing to a user.
    """
    from midflight.remark import ScenarioWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", ScenarioWarning)
        usual = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, ScenarioWarning):
                note(str(message))
            else:
                usual(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def begin_command() -> None:
    """Begin a command, which has printed no notes yet."""
    _PRINTED.clear()


@contextmanager
def open_result(path: Path, *, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing; it gets its name only when it is complete.

    The text, or bytes if `binary`, goes to a temporary file in the same directory, which takes the
    name at the end. A device or a pipe is written directly. Raises `UserError` when the place
    cannot be written to.
    """
    suffix = "b" if binary else ""
    how: dict[str, Any] = {} if binary else {"newline": "", "encoding": "utf-8"}
    try:
        target = path.resolve()
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if stat.S_ISDIR(mode):
            raise UserError(f'cannot write "{path}": it is a directory; give the name of a file')
        if not stat.S_ISREG(mode):
            with target.open(f"w{suffix}", **how) as direct:
                yield direct
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise UserError(f'cannot write "{path}": the file is write-protected')
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with unfinished.open(f"x{suffix}", **how) as file:
                yield file
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(
            f'cannot write "{path}": {reason}; give a file in a directory that can be written to'
        ) from error


def shorten(text: str, width: int = 90) -> str:
    """Return a text on one line, cut at a word if it is too long."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3].rsplit(" ", 1)[0] + " ..."


@contextmanager
def progress_display(*, quiet_s: float = 0.0) -> Iterator[Progress]:
    """Show progress on standard error: a bar on a terminal, elsewhere lines, after so long."""
    if not sys.stderr.isatty():
        yield plain_progress(quiet_s)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars
    from rich.text import Text

    class RateColumn(ProgressColumn):
        """How many are done in a second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g}/s", style="progress.data.speed")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=None)
        yield lambda what, done, total: bars.update(
            task, description=shorten(what, 60).ljust(60), completed=done, total=total
        )


def plain_progress(quiet_s: float) -> Progress:
    """Return a callback that prints a line at each tenth of the work, once it takes that long, and
    in between every ten seconds if there was progress.
    """
    shown: tuple[int, int] | None = None
    last = (0, 0)
    printed_s = begun = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal shown, last, printed_s
        now = time.monotonic()
        tenth = (total, 10 * done // total if total else 10)
        is_due = tenth != shown or (now - printed_s >= REPORT_S and (done, total) != last)
        if is_due and now - begun >= quiet_s:
            shown, last, printed_s = tenth, (done, total), now
            print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)

    return show
