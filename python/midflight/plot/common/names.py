"""Names of result columns and scenario keys on axes and in legends.

Columns are those of `run_plans` and of tables made elsewhere; keys are the axes of sweeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from midflight.percentiles import PERCENTILES

__all__ = [
    "OF_THE_HANDOFF",
    "SCALES",
    "column_name",
    "counted_of",
    "is_measured",
    "plural_name",
    "short_name",
    "with_unit",
    "with_value",
    "within_text",
]

#: The suffix of a column's name, the unit in which it is shown, and the size of that unit.
SCALES: Mapping[str, tuple[str, float]] = {
    "_ns": ("s", 1e-9),
    "_bps": ("Mbit/s", 1e-6),
    "_s": ("s", 1.0),
    "_percent": ("%", 1.0),
}

#: The share of runs that finished, a measurement which is computed from when each did.
FINISHED = "finished_percent"

#: What counts are of, which their names say: the unit of their differences.
_COUNTED: Mapping[str, str] = {
    "acked": "segments",
    "acked_ahead": "segments",
    "acked_missing": "segments",
    "sent": "segments",
    "rexmits": "segments",
    "fast_rexmits": "retransmits",
    "false_fast_rexmits": "retransmits",
    "timeouts": "timeouts",
    "spurious_timeouts": "timeouts",
    "drops_queue": "packets",
    "drops_break": "packets",
    "drops_radio": "packets",
    "drops_early": "packets",
    "marks": "packets",
    "reordered": "segments",
    "objects_done": "objects",
    "rebuffers": "stalls",
    "switches": "switches",
    "frames": "frames",
    "frames_late": "frames",
    "frames_lost": "frames",
    "frames_missed": "frames",
}

_COLUMNS: Mapping[str, str] = {
    "moves": "Moves with the node",
    "opened_ns": "Opened at",
    "finished_ns": "Finished at",
    FINISHED: "Runs that finished",
    "duration_ns": "Transfer time",
    "goodput_bps": "Goodput",
    "stall_ns": "Longest time without progress",
    "stalled_at_ns": "Longest time without progress begins at",
    "kind": "What the phase begins with",
    "from_ns": "Phase begins at",
    "until_ns": "Phase ends at",
    "first_new_ns": "Time until a new packet is acknowledged",
    "all_new_ns": "Time until the counted new packets are acknowledged",
    "acked": "Segments acknowledged",
    "delivered_ns": "Time until all data had arrived",
    "acked_ahead": "Segments acknowledged that had not arrived",
    "acked_missing": "Segments acknowledged that never arrived",
    "sent": "Segments sent",
    "rexmits": "Retransmissions",
    "fast_rexmits": "Fast retransmits",
    "false_fast_rexmits": "False fast retransmits",
    "drops_queue": "Packets lost to full queues",
    "drops_break": "Packets lost to links that were down",
    "drops_radio": "Packets lost to the radio",
    "drops_early": "Packets dropped early by queues",
    "node_sent": "Segments sent by nodes on the path",
    "node_kept": "Segments and ACKs kept back by nodes on the path",
    "marks": "Packets marked by queues",
    "reordered": "Segments reordered",
    "load_ns": "Page load time",
    "objects_done": "Objects read",
    "object_median_ns": "Median time of an object",
    "object_p95_ns": "95th percentile of the times of objects",
    "object_max_ns": "Longest time of an object",
    "startup_ns": "Time until playback begins",
    "rebuffers": "Stalls of playback",
    "rebuffer_ns": "Playback stalled",
    "mean_rate_bps": "Mean rate of segments",
    "switches": "Switches of the rate",
    "played_ns": "Media played",
    "frames": "Frames made",
    "frames_missed": "Frames late or lost",
    "frames_late": "Frames late",
    "frames_lost": "Frames lost",
    "frame_delay_median_ns": "Median delay of a frame",
    "frame_delay_p95_ns": "95th percentile of the delays of frames",
    "frame_delay_p99_ns": "99th percentile of the delays of frames",
    "frame_delay_max_ns": "Longest delay of a frame",
    **{name: one.words[0].upper() + one.words[1:] for name, one in PERCENTILES.items()},
}

#: Values of a scenario's tables by the rest of their key.
_VALUES: Mapping[str, str] = {
    "at": "Instant",
    "cc": "Congestion control",
    "set.congestion": "Congestion control",
    "to": "New link",
    "count": "Number",
    "delay": "One-way delay",
    "notice.delay": "Delay of the notice",
    "notice.lost": "Notices lost",
    "notice.source": "Source of the notice",
    "notice.says_rate": "Rate told",
    "notice.says_delay": "Delay told",
    "on": "Link",
    "reorder": "Reordering",
    "trace.offset": "Start in the recording",
    "cross": "Cross traffic",
    "up.rate": "Uplink rate",
    "up.delay": "One-way uplink delay",
    "up.queue": "Uplink queue",
    "up.loss": "Uplink loss",
    "up.reorder": "Uplink reordering",
    "up.cross": "Uplink cross traffic",
}

#: What several values of an axis are called, by its key or the rest of it.
_PLURALS: Mapping[str, str] = {
    "seed": "seeds",
    "at": "instants",
    "trace.offset": "starts in the recording",
    "trace.seed": "seeds",
    "gap": "gaps",
    "delay": "one-way delays",
    "rate": "rates",
    "queue": "queues",
    "scheme": "schemes",
    "cc": "congestion controls",
    "set.congestion": "congestion controls",
    "stack": "stacks",
    "size": "sizes",
    "preset": "presets",
}

#: Settings of applications, which their registry describes by a sentence.
_SETTINGS: Mapping[str, str] = {
    "web_objects": "Objects",
    "web_object_size": "Size of objects",
    "web_document": "Size of the document",
    "web_request": "Size of requests",
    "web_think": "Time to think",
    "web_server_delay": "Delay of the server",
    "web_connections": "Connections",
    "web_http": "HTTP version",
    "video_length": "Length",
    "video_segment": "Length of segments",
    "video_rates": "Rates of segments",
    "video_adaptation": "Choice of the rate",
    "video_buffer": "Buffer",
    "video_startup": "Media before playback",
    "video_request": "Size of requests",
    "call_frame": "Size of frames",
    "call_interval": "Time between frames",
    "call_deadline": "Deadline of frames",
    "call_length": "Length",
}

#: Names of the entries of tables with several entries: of one entry, and of all.
_OF = {
    "handoffs": ("handoff", "all handoffs"),
    "changes": ("change", "all changes"),
    "links": ("", "all links"),
    "flows": ("", "all flows"),
}


#: What is not said of the first handoff in short texts.
OF_THE_HANDOFF = " of the handoff"


def column_name(name: str) -> str:
    """The name of a column, without its unit: "Gap of the handoff" for handoffs.0.gap."""
    table, *rest = name.split(".")
    if rest and table == "set":
        return _VALUES.get(name, ".".join(rest))
    if len(rest) > 2 and rest[1] == "trace" and ".".join(rest[1:]) not in _VALUES:
        # Of the recording of a link, which has a table of its own.
        of = f"{rest[0]}'s trace" if rest[0] != "*" else "the traces of all links"
        return f"{_plain(' '.join(rest[2:]))} of {of}"
    if len(rest) >= 2 and table in _OF:
        return _value(rest[1:]) + " of " + _entry(table, rest[0])
    if name in _COLUMNS:
        return _COLUMNS[name]
    if len(rest) == 1 and table in ("flows", "links"):
        # All of a flow or of a link.
        return f"{table[:-1].capitalize()} {rest[0]}"
    return name if rest else _plain(_without_unit(name))


def within_text(name: str) -> str:
    """A name as it stands within a sentence: without its capital, unless it begins with an
    abbreviation, such as HTTP.
    """
    first = name.partition(" ")[0]
    return name if first[1:2].isupper() else name[:1].lower() + name[1:]


def plural_name(name: str) -> str:
    """What several values of an axis are called: "instants", "rates of lte"; "the handoff", which
    most scenarios have one of, is not said.
    """
    if name in _PLURALS:
        return _PLURALS[name]
    table, _, path = name.partition(".")
    entry, _, path = path.partition(".")
    path = _as_axis(path)
    plural = _PLURALS.get(path)
    if plural is None or table not in _OF:
        return f"values of {short_name(name)}"
    return f"{plural} of {_entry(table, entry)}".removesuffix(OF_THE_HANDOFF)


def short_name(name: str) -> str:
    """What an axis is called within a short text: "gap" for handoffs.0.gap."""
    return within_text(column_name(name)).removesuffix(OF_THE_HANDOFF)


def is_measured(name: str) -> bool:
    """Whether a column has what was measured in a run, rather than the value of an axis."""
    return name in _COLUMNS


def counted_of(name: str) -> str:
    """What a column counts, in the plural; "" of others."""
    return _COUNTED.get(name, "")


def with_unit(name: str, unit: str) -> str:
    """A name with its unit, if it has one."""
    return f"{name} ({unit})" if unit else name


def with_value(name: str, value: str) -> str:
    """A name and one of its values: "gap 1 s", and "gap of handoff 2: 1 s", as a number would
    follow another one.
    """
    return f"{name}{':' if name[-1:].isdigit() else ''} {value}"


def _entry(table: str, key: str) -> str:
    """Which entry of a table: the first handoff is "the handoff", most scenarios have one."""
    one, all_of_them = _OF[table]
    if key == "*":
        return all_of_them
    if not one:
        return key
    return f"the {one}" if key == "0" else f"{one} {int(key) + 1}" if key.isdigit() else key


def _value(path: Sequence[str]) -> str:
    # Beside an axis stand its numbers, as handoffs.0.gap_ns.
    path = [*path[:-1], _as_axis(path[-1])]
    known = _VALUES.get(".".join(path))
    if path[0] == "set" and not known:
        # The knobs of a scheme have their own names.
        name = ".".join(path[1:])
        return _SETTINGS.get(name, name)
    return known or _plain(" ".join(path))


def _plain(name: str) -> str:
    name = name.replace("_", " ")
    return name[:1].upper() + name[1:]


def _as_axis(name: str) -> str:
    """The name of an axis whose numbers a column has, in a unit that no setting is called by."""
    return name.removesuffix("_ns").removesuffix("_bps")


def _without_unit(name: str) -> str:
    return next((name.removesuffix(end) for end in SCALES if name.endswith(end)), name)
