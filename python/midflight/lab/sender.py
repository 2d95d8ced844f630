"""The part of midflight that runs with a kernel: its sender in a guest, or its links on this
machine.

The guest's init starts this file with the interpreter of the machine and without its packages: only
the compiled module is loaded. For a sender the standard input is a packet socket, the standard
output gets the instants at which it acted, and file 3 is the scenario with the number of its run.
For links the devices are files by their numbers, and the standard output gets the record of
packets.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def load(path: str) -> Any:
    """Return the compiled module at a path, without the package around it."""
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    loader = ExtensionFileLoader("_core", path)
    spec = spec_from_file_location("_core", path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def main(path: str, what: str, origin_ns: str, devices: str = "", stop: str = "") -> str | None:
    """Send the flow of a number, or carry packets between devices; return what went wrong."""
    core = load(path)
    descriptor = os.open("scenario", os.O_RDONLY) if devices else 3
    with os.fdopen(descriptor, encoding="utf-8") as file:
        of = json.load(file)
    try:
        setup = core.Plan(json.dumps(of["scenario"]), name=None).setup(of["run"])
        if devices:
            pairs = [tuple(map(int, one.split(":"))) for one in devices.split()]
            sys.stdout.buffer.write(setup.lab_emulate(pairs, int(stop), int(origin_ns)))
            sys.stdout.buffer.flush()
        else:
            setup.lab_send(int(what), int(origin_ns))
    except (core.MidflightError, OSError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
