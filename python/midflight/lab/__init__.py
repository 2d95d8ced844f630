"""The lab: scenarios on the TCP of the Linux kernel itself, in virtual time.

A kernel for ARCH=um (User-Mode Linux, an ordinary process) is built from its source with a driver
of network devices (`build`), kept in the user's cache (`store`) and started once for each run
(`guest`); their links are the simulator's, in this process. `docs/lab.md` describes what is exact,
what is not, and the time that it takes.
"""

from __future__ import annotations

from midflight.lab.errors import LabError

__all__ = ["LabError"]
