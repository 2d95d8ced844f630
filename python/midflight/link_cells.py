"""The table of the links of a scenario, with how many packets their queues have room for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from midflight._core import parse_duration, parse_link

__all__ = ["least_delay_ns", "link_cells", "room_of", "trace_words", "word"]

#: The bits of a full packet, and the least room of a queue of bandwidth-delay products.
_PACKET_BITS, _LEAST_BDP = 8 * 1500, 5
_NS_PER_S = 1_000_000_000

#: The rate and the one-way delay of a direction of a link, as far as they are known.
_Way: TypeAlias = tuple[str | None, str | None]


def room_of(queue: str, rate: str | None, delay: str | None) -> int | None:
    """Return the packets that a queue of so many bandwidth-delay products, or of a time, has room
    for at a link with this rate and one-way delay; None for others, and without the two.
    """
    of = re.fullmatch(r"(?:([\d.]+) ?)?(bdp|ns|us|µs|ms|s)", queue.strip())
    if of is None or not rate or not delay:
        return None
    bps, delay_ns = parse_link(f"{rate}, {delay}")
    if of[2] == "bdp":
        time_ns, least = int(2 * delay_ns * float(of[1] or 1)), _LEAST_BDP
    else:
        time_ns, least = parse_duration(queue), 1
    return max(least, -(-bps * time_ns // (_PACKET_BITS * _NS_PER_S)))


def least_delay_ns(link: Mapping[str, Any], changes: Sequence[Mapping[str, Any]] = ()) -> int:
    """Return the least one-way delay of a link in nanoseconds, of both directions and with these
    changes; 0 if it follows a recording.
    """
    from midflight._core import link_presets

    if link.get("trace"):
        return 0
    presets = {one["name"]: one["delay_ns"] for one in link_presets()}
    own = [one for each in (link, *changes) for one in (each, each.get("up") or {})]
    found = [parse_duration(one["delay"]) for one in own if one.get("delay")]
    if not link.get("delay"):
        found.append(presets.get(link.get("preset") or "", 0))
    return min(found)


def _queue_words(queue: str, way: _Way, up: _Way | None = None) -> str:
    """Return a queue with its packets, as in `bdp: 125 packets`, in one direction of a link; `up`
    is its uplink, if that has the same queue.
    """
    room = room_of(queue, *way)
    if room is None:
        return queue
    found = f"{queue}: {room:,} packets"
    other = room if up is None else room_of(queue, *up)
    return found if other in (room, None) else f"{found}, up {other:,}"


def _recorded(down: Mapping[str, Any], up: Mapping[str, Any] | None) -> list[str]:
    """The columns of which a recording, and that of its uplink, has other values over time."""

    def has(ways: Sequence[Mapping[str, Any]], *names: str) -> bool:
        each = (one[name] for one in ways for name in names)
        return any(len(one[0] if isinstance(one, tuple) else one) for one in each)

    to, back = [down["down"]], [down["up"]] if up is None else [up["down"], up["up"]]
    rates = "rate_bps", "opportunities_ns"
    found = {"rate": has(to, *rates), "up": has(back, *rates)}
    found |= {"delay": has(to, "delay_s"), "loss": has(to, "loss")}
    return [name for name, is_there in found.items() if is_there]


def link_cells(
    links: Mapping[str, Any],
    *,
    has_rooms: bool = False,
    recordings: Mapping[str, tuple[Any, Any]] | None = None,
) -> Sequence[Sequence[str]]:
    """The links' parameters, with the description of a preset; if it `has_rooms`, with how many
    packets queues have room for, which is not known where an axis replaces a rate. Values that
    one of the `recordings` (`Plan.recordings`) overrides are called so.
    """
    from midflight._core import link_presets

    presets = {one["name"]: one for one in link_presets()}
    keys = ("preset", "trace", "rate", "up", "delay", "queue", "loss", "reorder", "cross")
    lines = []
    for name, link in links.items():
        known = presets.get(link.get("preset") or "")
        usual = (
            {}
            if known is None
            else {
                "rate": f"{known['down_bps'] / 1e6:.12g} Mbit/s",
                "up": f"{known['up_bps'] / 1e6:.12g} Mbit/s",
                "delay": f"{known['delay_ns'] / 1e6:.12g} ms",
            }
        )
        up = link.get("up") or {}
        own = {key: link[key] for key in keys if key not in ("up", "trace") and link.get(key)}
        down = {**usual, **own}
        # If the link has its own rate, that is the one of both directions.
        up_rate = up.get("rate") or link.get("rate") or usual.get("up")
        ways = (
            (down.get("rate"), down.get("delay")),
            (up_rate, up.get("delay") or down.get("delay")),
        )
        if link.get("trace"):
            own["trace"] = trace_words(link["trace"])
        if not has_rooms or link.get("trace"):
            # The rates of a recording are many.
            ways = (None, None), (None, None)
        if up:
            own["up"] = ", ".join(
                f"{value}"
                if key in ("rate", "delay")
                else f"{key} {_queue_words(value, ways[1]) if key == 'queue' else value}"
                for key, value in up.items()
            )
        elif link.get("rate"):
            own["up"] = link["rate"]
        of_preset = "bdp" if known is None else known["queue"]
        of_its_uplink = "bdp" if known is None else known["up_queue"]
        queue = link.get("queue") or of_preset
        # An uplink without a queue of its own has that of the link, if the link has one.
        if not (link.get("queue") or up.get("queue")) and of_its_uplink != queue:
            words = f"{_queue_words(queue, ways[0])}, up {_queue_words(of_its_uplink, ways[1])}"
        else:
            words = _queue_words(queue, ways[0], None if up.get("queue") else ways[1])
        line = {**usual, **own, "queue": words}
        over = _recorded(*recordings[name]) if recordings and name in recordings else []
        line |= {key: f"{line[key]} (the trace overrides it)" for key in over if key in line}
        lines.append((name, line))
    used = [key for key in keys if any(key in line for _, line in lines)]
    return [
        ["link", *used],
        *([name, *(line.get(key, "-") for key in used)] for name, line in lines),
    ]


#: A quantity of a column, whose name goes on with its unit.
_QUANTITY = re.compile(r"(?P<up>up_?)?(?P<what>rate|delay|rtt|loss|cell)")
#: Options that say how values and outages are taken.
_SAID = {
    ("interpolation", "linear"): "linear between its rows",
    ("outage", "drop"): "outages lose packets",
    ("outage", "hold"): "outages hold packets",
}


def _columns_words(names: Sequence[str]) -> str:
    """What a table of values in a scenario has over time."""
    said = []
    for name in names:
        found = _QUANTITY.match(name)
        if found is not None:
            said.append(f"{'up ' if found['up'] else ''}{found['what']}")
        elif not name.startswith("time"):
            said.append(name)
    return f"{', '.join(said) or 'nothing'} over time, listed in the scenario"


def trace_words(trace: Mapping[str, Any]) -> str:
    """The recording or the model that a link follows, and how."""
    names = [Path(str(trace[key])).name for key in ("file", "up") if trace.get(key)]
    given = {k: v for k, v in trace.items() if k not in ("file", "up", "hash", "model")}
    words = [f"model {trace['model']}"] if trace.get("model") else [" and ".join(names)]
    for key, value in given.items():
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        listed = [name for name, one in inner if isinstance(one, list)]
        if listed:
            words.append(_columns_words(listed))
        for name, one in inner:
            if said := _SAID.get((key, str(one))):
                words.append(said)
            elif name not in listed:
                words.append(f"{key} {name} = {word(one)}" if name else f"{key} = {word(one)}")
    words = [one for one in words if one]
    return ", ".join(words)


def word(value: Any) -> str:
    """A value of a scenario as a report shows it."""
    return {None: "-", True: "yes", False: "no"}.get(value, str(value))
