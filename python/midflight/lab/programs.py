"""Unmodified programs of the host, a server and a client, over the links of a scenario."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from midflight.lab.errors import LabError
from midflight.lab.guest import FILES, LIMIT_S, Guest, run_guests
from midflight.lab.record import CounterRow, counters
from midflight.lab.runs import OURS, sender_line
from midflight.refusal import about

if TYPE_CHECKING:
    from midflight._core import Setup
    from midflight.lab.store import Kernel

__all__ = ["Program", "Programs", "run_programs"]

#: Characters of a command at most; a line of the guest's script holds it.
MOST_COMMAND = 16_000


@dataclass(frozen=True)
class Program:
    """The output of a program, and its exit status.

    The status of a program that a signal ended is 128 plus the signal's number. It is None if the
    program was still running when the scenario ended.
    """

    stdout: bytes
    stderr: bytes
    status: int | None


@dataclass(frozen=True)
class Programs:
    """The results of a server and a client."""

    server: Program
    client: Program
    #: The files that they wrote in their folder, by name.
    files: Mapping[str, bytes]
    #: The record of packets, and the counters of the kernel.
    packets: bytes
    counters: Sequence[CounterRow]
    wall_s: float


def run_programs(
    setup: Setup,
    kernel: Kernel,
    *,
    server: str | None,
    client: str,
    congestion: str = "cubic",
    sysctls: Sequence[tuple[str, str]] = (),
    seed: str = "1",
    limit_s: float = LIMIT_S,
    multihomed: bool = False,
    scenario: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
) -> Programs:
    """Run two commands of the host's shell at the ends of the first flow of a scenario.

    The server is at the sending end of the flow, the client is the mobile node. The scenario's own
    flows are not opened. If it is `multihomed`, the client has an interface and an address on each
    link. Without a server midflight's sender opens the first flow to the client's port 5001, and
    `scenario` is the setup's. `files` are copied to the folder of both. Raises `LabError` if a
    guest fails, `MidflightError` for a scenario that a guest cannot run.
    """
    described = ""
    if server is None:
        script = sender_script(setup, client, sysctls)
        described = json.dumps({"scenario": scenario, "run": setup.run or 0})
    else:
        script = program_script(setup, server, client, congestion, sysctls, multihomed)
    links = partial(setup.lab_serve, multihomed=multihomed)
    guest = Guest(script, seed, links, sees_host=True, scenario=described, files=files or {})
    (ran,) = run_guests(kernel, [guest], limit_s=limit_s)
    every = {name: data for name, data in ran.files.items() if name.startswith(f"{FILES}/")}
    return Programs(
        program(ran.files, "server"),
        program(ran.files, "client"),
        {
            name.removeprefix(f"{FILES}/"): data
            for name, data in every.items()
            if (files or {}).get(name.removeprefix(f"{FILES}/")) != data
        },
        ran.packets,
        counters(ran.files),
        ran.wall_s,
    )


def program(files: Mapping[str, bytes], name: str) -> Program:
    """Return the output and the status of a program that has ended."""
    status = files.get(f"{name}.status")
    return Program(
        files.get(f"{name}.stdout", b""),
        files.get(f"{name}.stderr", b""),
        None if status is None else int(status),
    )


def program_script(
    setup: Setup,
    server: str,
    client: str,
    congestion: str,
    sysctls: Sequence[tuple[str, str]],
    multihomed: bool = False,
) -> str:
    """Return the script of a scenario with programs in the place of its flows."""
    check_command("server", server)
    check_command("client", client)
    every = [("net.ipv4.tcp_congestion_control", congestion), *sysctls]
    lines = setup.lab_script(
        congestion=[congestion], sysctls=every, multihomed=multihomed
    ).splitlines()
    first = next(one for one in setup.flows if one["moves"])
    number = [one["name"] for one in setup.flows].index(first["name"])
    flow = next(one.split() for one in lines if one.startswith(f"flow {number} "))
    ends = flow[2:4] if first["direction"] == "down" else flow[3:1:-1]
    if multihomed:
        home = next(one.split() for one in lines if one.startswith("home "))
        ends[1] = home[2]
    programs = ["host", f"server {ends[0]} {server}", f"client {ends[1]} {client}"]
    rest = [one for one in lines if not one.startswith("flow ") and one != "go"]
    return "\n".join([*rest, *programs, "go", ""])


def check_command(name: str, command: str) -> None:
    """Raise `LabError` if a guest's script cannot have a command."""
    if not command.strip() or "\n" in command or len(command) > MOST_COMMAND:
        accepted = f"one line of at most {MOST_COMMAND} characters"
        raise about(
            LabError(
                f"--{name} {command[:40]!r} is not a command of the shell; {accepted} is accepted"
            ),
            name=name,
            value=command,
            accepted=accepted,
        )


def sender_script(setup: Setup, client: str, sysctls: Sequence[tuple[str, str]]) -> str:
    """Return the script of a scenario in which midflight sends the first flow to a program."""
    check_command("client", client)
    lines = setup.lab_script(sysctls=sysctls, stack=OURS).splitlines()
    first = [one["moves"] for one in setup.flows].index(True)
    flow = next(one for one in lines if one.startswith(f"ours {first} "))
    rest = [one for one in lines if not one.startswith("ours ") and one != "go"]
    programs = [f"{flow} 0", "host", f"client {flow.split()[3]} {client}"]
    return "\n".join([sender_line(), *rest, *programs, "go", ""])
