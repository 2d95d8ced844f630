"""The command line: `midflight handoff`, `flow`, `reproduce` and the others below.

Every error that a user can make is one line on standard error and exit status 2. Standard output
holds results only, so that it can be piped. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from midflight.cli.calibrate import calibrate
from midflight.cli.command import Command, usage_message
from midflight.cli.compare import compare
from midflight.cli.diff import diff
from midflight.cli.drill import drill
from midflight.cli.explain import explain
from midflight.cli.lab import lab
from midflight.cli.listing import list_registry
from midflight.cli.output import UserError, begin_command, notes_of_warnings
from midflight.cli.plot import plot
from midflight.cli.report import report
from midflight.cli.reproduce import reproduce
from midflight.cli.run import run
from midflight.cli.source import DEFINITIONS
from midflight.cli.sweep import sweep
from midflight.cli.trace import trace
from midflight.cli.verify import verify

__all__ = ["main"]

# Packages that are installed on request only, and their extra.
EXTRAS = {
    "jinja2": "plots",
    "markdown_it": "plots",
    "matplotlib": "plots",
    "pyarrow": "parquet",
}
INTERRUPTED = 130
TERMINATED = 143

app = typer.Typer(
    name="midflight",
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(cls=Command)(run)
app.command(cls=Command)(sweep)
app.command(cls=Command)(plot)
app.command(cls=Command)(report)
app.command(cls=Command)(explain)
app.command(cls=Command)(diff)
app.command(cls=Command)(compare)
app.command(cls=Command)(verify)
for definition in DEFINITIONS.values():
    app.command(definition.name, cls=Command)(definition.function())
app.command(cls=Command)(drill)
app.command(cls=Command)(reproduce)
app.command(cls=Command)(calibrate)
app.command("list", cls=Command)(list_registry)
app.add_typer(lab)
app.add_typer(trace)


@app.callback(invoke_without_command=True)
def entry(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions and exit.")
    ] = False,
) -> None:
    """Simulate a TCP connection whose access link is replaced in mid-flight.

    \b
    Examples:
      midflight run wifi-to-lte
      midflight handoff --old "6400 kbit/s, 9 ms" --new "200 kbit/s, 300 ms" --at 0.1s:20s:0.1s
      midflight startup --link "50 Mbit/s, 15 ms" --flows 4 --scheme sack --scheme enhanced
      midflight flow --radio "1 Mbit/s, 200 ms" --loss "uniform 0.5%" --scheme sack --scheme ld
      midflight roam --loss "uniform 1%" --scheme sack --scheme freeze --scheme ehn
      midflight reproduce daniel-kojo-2008 --figure 8
      midflight list schemes
    """
    if version:
        import midflight

        typer.echo(f"midflight {midflight.__version__}, model {midflight.MODEL_VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def complain(message: str) -> None:
    """Print one line on standard error."""
    print("midflight: " + " ".join(message.split()), file=sys.stderr)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    # A batch system ends a job with this signal; files that are being written are then removed.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(TERMINATED))
    begin_command()
    try:
        with notes_of_warnings():
            status = app(args=args, prog_name="midflight", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        complain(usage_message(error))
        return error.exit_code
    except UserError as error:
        complain(str(error))
        return 2
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe has seen enough. The interpreter is not to complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # Files have their own sentence; this is standard output.
        complain(f"cannot write to standard output: {error.strerror or error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        complain(f"this needs {error.name}: pip install 'midflight[{extra}]'")
        return 2
    except ValueError as error:
        from midflight import MidflightError

        if not isinstance(error, MidflightError):
            raise
        complain(str(error))
        return 2
    if status == INTERRUPTED:
        # Typer makes an exit of a KeyboardInterrupt.
        complain("interrupted")
    return status if isinstance(status, int) else 0
