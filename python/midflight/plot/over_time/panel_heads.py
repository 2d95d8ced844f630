"""The text above a panel over time."""

from __future__ import annotations

from collections.abc import Sequence

from midflight.plot.common.figure import SMALL_PT
from midflight.plot.common.style import captioned, chosen_axes, labelled, text_width, wrapped
from midflight.plot.over_time.curves import Panel, Peak, Stretch
from midflight.plot.over_time.panel_scales import least_of, off_scale, peak_words, slow_links
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.strokes import Causes, larger_words

__all__ = ["asked_top", "head_of"]


def head_of(
    panel: Panel,
    room: Room,
    yscale: str | None,
    stretches: Sequence[Stretch],
    *,
    others: Sequence[str],
    off: Sequence[Peak],
    causes: Causes,
    spurious: str,
    is_next: bool,
) -> tuple[str, bool]:
    """Return the text above a panel: the lines of this and other panels without values, then the
    meaning of its values, spurious timeouts, what is above the axis, links that are too slow for
    it, and causes of losses and what larger marks are if there is room; whether it has these
    causes.
    """
    is_log = least_of(panel, yscale) is not None
    above = "" if is_log or is_next else off_scale(panel, asked_top(panel))
    # Its axis names the panel.
    lacks = (one.removeprefix(f"{panel.kind}: ") for one in panel.lacks)
    detail = labelled(panel.detail)
    slow = "" if is_next else labelled(slow_links(panel, yscale, stretches, asked_top(panel)))
    own = "; ".join(
        filter(None, (detail, labelled(spurious), peak_words(panel, yscale, off), above, slow))
    )
    width_pt = (room.width_in - 0.35) * 72 - text_width(panel.line, SMALL_PT)
    with_causes = "; ".join(filter(None, (own, causes.words)))
    has_room = causes.is_needed or text_width(with_causes, SMALL_PT) <= width_pt
    is_told = bool(captioned(causes.words)) and has_room
    own = with_causes if is_told else own
    with_sizes = "; ".join(filter(None, (own, larger_words(panel))))
    if not is_next and text_width(with_sizes, SMALL_PT) <= width_pt:
        own = with_sizes
    lines = [captioned(one) for one in (*map(labelled, (*others, *lacks)), own)]
    return "\n".join(wrapped(one, SMALL_PT, width_pt) for one in lines if one), is_told


def asked_top(panel: Panel) -> float | None:
    """Return where `--ylim` ends the axis of values of a panel."""
    choice = chosen_axes()
    ends = {} if choice is None else choice.ylim
    asked = ends.get(panel.kind, ends.get(""))
    return None if asked is None else asked[1]
