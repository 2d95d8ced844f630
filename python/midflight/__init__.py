"""midflight: a simulator of TCP connections whose access link is replaced.

`Setup` is one run of any question: its events (`trace`), their causes (`causes`,
`midflight.explain`), where it parts from another run (`compare`), its packets (`capture`). The
other functions are those of the Rust core. `handoff` runs one connection for each scheme and
handoff instant and returns columns, `run_handoff_sweeps` many such sweeps at once.
`run_long_flows` runs long-lived flows over a radio link that is replaced by another, `run_roaming`
a mobile node that changes its base station. `run_startups` measures the start of connections,
`run_probes` compares estimates of a path by trains of segments with the truth. `Scenario` has any
links, flows and handoffs. `run_drill` runs a script in packetdrill's notation against the sender.
`reproduce` reproduces a study.

    >>> import midflight
    >>> runs = midflight.handoff(
    ...     old=midflight.parse_link("6400 kbit/s, 9 ms"),
    ...     new=midflight.parse_link("200 kbit/s, 300 ms"),
    ...     kind="mbb",
    ...     at_ns=midflight.parse_instants("8.2s"),
    ...     schemes=["sack"],
    ...     profile="ns2",
    ... )
    >>> runs.column("nrto")
    [2]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from midflight._core import (
        MODEL_VERSION,
        QUIC_STACKS,
        Advice,
        Control,
        HandoffNotice,
        HandoffSweep,
        LongFlow,
        MidflightError,
        Order,
        Plan,
        Probe,
        Radio,
        Roaming,
        SenderView,
        Setup,
        Startup,
        Table,
        agents,
        classifiers,
        controllers,
        detectors,
        handoff,
        link_presets,
        parse_duration,
        parse_instants,
        parse_link,
        policies,
        quic_stacks,
        responses,
        run_drill,
        run_handoff_sweeps,
        run_long_flows,
        run_plans,
        run_probes,
        run_roaming,
        run_startups,
        scenario_schema,
        schemes,
        signals,
        workloads,
    )
    from midflight.controller import CongestionController
    from midflight.one_run import (
        capture,
        capture_long_flow,
        capture_roaming,
        trace,
        trace_long_flow,
        trace_roaming,
    )
    from midflight.policy import Policy
    from midflight.scenario import (
        Change,
        Flow,
        Handoff,
        Link,
        LinkDirection,
        Notice,
        Outcome,
        Scenario,
        ScenarioWarning,
        Signal,
        SweepAxes,
        Wired,
    )
    from midflight.studies import StudyResult, reproduce
    from midflight.sweep import Sweep

__version__: str

__all__ = [
    "MODEL_VERSION",
    "QUIC_STACKS",
    "Advice",
    "Change",
    "CongestionController",
    "Control",
    "Flow",
    "Handoff",
    "HandoffNotice",
    "HandoffSweep",
    "Link",
    "LinkDirection",
    "LongFlow",
    "MidflightError",
    "Notice",
    "Order",
    "Outcome",
    "Plan",
    "Policy",
    "Probe",
    "Radio",
    "Roaming",
    "Scenario",
    "ScenarioWarning",
    "SenderView",
    "Setup",
    "Signal",
    "Startup",
    "StudyResult",
    "Sweep",
    "SweepAxes",
    "Table",
    "Wired",
    "__version__",
    "agents",
    "capture",
    "capture_long_flow",
    "capture_roaming",
    "classifiers",
    "controllers",
    "detectors",
    "handoff",
    "link_presets",
    "parse_duration",
    "parse_instants",
    "parse_link",
    "policies",
    "quic_stacks",
    "reproduce",
    "responses",
    "run_drill",
    "run_handoff_sweeps",
    "run_long_flows",
    "run_plans",
    "run_probes",
    "run_roaming",
    "run_startups",
    "scenario_schema",
    "schemes",
    "signals",
    "trace",
    "trace_long_flow",
    "trace_roaming",
    "workloads",
]

# Loaded on first use, so that importing the package costs nothing. Other names are the core's.
_HOMES = {
    "midflight.one_run": (
        "capture",
        "capture_long_flow",
        "capture_roaming",
        "trace",
        "trace_long_flow",
        "trace_roaming",
    ),
    "midflight.controller": ("CongestionController",),
    "midflight.policy": ("Policy",),
    "midflight.studies": ("StudyResult", "reproduce"),
    "midflight.sweep": ("Sweep",),
    "midflight.scenario": (
        "Change",
        "Flow",
        "Handoff",
        "Link",
        "Notice",
        "Outcome",
        "Scenario",
        "ScenarioWarning",
        "Signal",
        "SweepAxes",
        "LinkDirection",
        "Wired",
    ),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("midflight")
    elif name in __all__:
        homes = (module for module, names in _HOMES.items() if name in names)
        home = next(homes, "midflight._core")
        value = getattr(importlib.import_module(home), name)
    else:
        raise AttributeError(f"module 'midflight' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
