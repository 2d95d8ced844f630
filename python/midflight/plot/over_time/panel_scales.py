"""The axis of values of a panel over time: its ends, and whether it is logarithmic."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from midflight.plot.common.line_looks import look_of
from midflight.plot.common.log_ticks import plain_log
from midflight.plot.common.style import text_width
from midflight.plot.over_time.curves import Curve, Panel, Peak, Stretch, Values
from midflight.plot.over_time.history import NS_PER_S
from midflight.plot.over_time.room import Room
from midflight.plot.over_time.row_ticks import end_of_values
from midflight.results import weighted_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "CUT",
    "SCALED",
    "SPANS",
    "end_of_axis",
    "least_of",
    "mark_cut_lines",
    "most_but_rare",
    "off_scale",
    "peak_words",
    "peaks_off",
    "scale_of",
    "slow_links",
    "with_one_scale",
    "with_peaks",
    "within_scale",
    "without_lone_peaks",
]

#: Kinds of curves that extend from one instant to another.
SPANS = ("stalls", "bars")
#: If the ratio of values is larger, the axis is logarithmic; rates of the path are low from this
#: ratio on: flows that fill it are seen on a linear axis, and those that do not may be hidden.
_WIDE, _LOW_RATES = 12, 8
#: A rate that is so many times what the flows take is above the axis.
_FAR = 2.5
#: A rate below this share of the axis is hidden, if it is for this share of the time.
_HIDDEN, _HIDDEN_FOR = 0.02, 0.02
#: The panels whose axis of values may have either scale, and those for which a logarithmic one may
#: be the usual one.
SCALED = ("throughput", "rates", "queue", "delay", "rtt", "cwnd", "pipe", "bitrate", "frames")
_MAY_BE_LOG = ("throughput", "rates", "delay", "rtt", "frames", "cwnd", "pipe")
#: The units of which an axis has no fractions.
_COUNTED = ("number", "packets", "segments")
#: The panels of rates, by the curves, and their quantity, whose rates decide on that.
_OF_RATES = {"throughput": ("area", ""), "rates": ("steps", "pacing rate")}
#: The panels of times whose axis leaves out rare long ones: it ends a little above this share of
#: what is drawn as lines and bands, and of the maxima, in the time that is shown, if the longest is
#: more than so much above that. Dots count as their 95 % in each of so many intervals.
_OF_TIMES = ("delay", "rtt")
_OF_DELAYS = (*_OF_TIMES, "frames")
_USUAL, _USUAL_MOST, _ABOVE, _RARE = 0.97, 0.94, 1.25, 1.6
_INTERVALS = 90
#: Of lines without intervals, such as windows, what they exceed for this share of the time is rare.
_RARE_TIME = 0.01
#: A median that is so many times the end of the axis is left out if it is alone.
_ALONE = 2.0
#: How far above the largest value that counts the axis ends.
_MARGIN = 1.08
#: An axis reaches a longest time that is no more than so many times its end.
_NEAR_PEAK = 2.0
#: The largest queue is told if it is above so many times what is drawn of it.
_NEARLY = 1.1
#: What the longest time of a line is called in other panels than those of times.
_MOST_OF = {"queue": "largest:"}
#: What an arrowhead stands for.
_ARROW_OF = {"delay": "longest delay", "rtt": "longest sample"}
#: The group of the arrowheads at lines that leave the axis.
CUT = "above the axis"
#: The height of an arrowhead in points; those of a line that are nearer than this are one; and the
#: size of the letters of their values, if there are no more than so many.
_HEAD_PT, _JOINED_PT, _VALUE_PT, _MOST_VALUES = 3.6, 8.0, 6.5, 4
#: How clear a value is of lines that go up beside its arrowhead, and how far it is moved for that.
_CLEAR_PT, _MOST_BESIDE_PT = 1.5, 12.0
#: The white rim of a value that is above lines.
_RIM: Any = {"linewidth": 1.8, "foreground": "white"}


def scale_of(axes: Axes, panel: Panel, yscale: str | None, above: float) -> None:
    """The axis of values begins at zero, and ends with what counts: a window that was never limited
    has a threshold far above it, a path that is faster than its flows a rate. Rows of marks take a
    share of the height `above` that.
    """
    from matplotlib.ticker import MaxNLocator

    panel = panel.of or panel
    least = least_of(panel, yscale)
    if panel.unit in _COUNTED and least is None:
        # There is no object 2.5.
        axes.yaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    if panel.kind == "objects":
        # The first one above, as a browser's tools draw it.
        shown = [one.value for one in panel.curves if one.draw in (*SPANS, "unread")]
        first = min((float(one.min()) for one in shown if len(one)), default=0.0)
        axes.set_ylim(max(_tops(panel)) + 0.7, first - 0.7)
        return
    if panel.kind == "sequence":
        lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
        low = min((float(one.value.min()) for one in lines if len(one.value)), default=0.0)
        height = _tops(panel)[0] - low or 1.0
        axes.set_ylim(low - 0.04 * height, low + 1.04 * height / (1 - above))
        return
    if least is not None:
        # Beside large values the usual ones would not be visible.
        plain_log(axes.yaxis)
        axes.set_ylim(least, end_of_axis(panel, yscale, above))
        axes.set_ylabel(panel.what.removesuffix(")") + ", log)")
        return
    axes.set_ylim(0, end_of_axis(panel, yscale, above))


def end_of_axis(panel: Panel, yscale: str | None, above: float) -> float:
    """Where an axis of values ends that has room for rows of marks `above` these, a share of its
    height.
    """
    panel = panel.of or panel
    least = least_of(panel, yscale)
    most, behind = _tops(panel)
    if least is None:
        most = _with_near_peaks(panel, _cut_at(panel, yscale) or most)
    # A logarithmic axis has room for both.
    if most == 0 or behind <= _FAR * most or least is not None:
        most = max(most, behind)
    if least is not None:
        return float(most * (1.3 * most / least) ** (above / (1 - above)) * 1.3)
    return _MARGIN * most / (1 - above) or 1.0


def least_of(panel: Panel, yscale: str | None) -> float | None:
    """Where the axis of values begins if it is logarithmic, as is asked for or as the values need
    it; otherwise None. A panel keeps it.
    """
    panel = panel.of or panel
    if yscale not in panel.least_by_scale:
        panel.least_by_scale[yscale] = _least_of(panel, yscale)
    return panel.least_by_scale[yscale]


def _least_of(panel: Panel, yscale: str | None) -> float | None:
    found = None
    if panel.kind in _MAY_BE_LOG and yscale != "linear" and not _is_unused(panel):
        is_rate = panel.kind in _OF_RATES
        found = _least_rate(panel) if is_rate else _least_time(panel, yscale)
    most, _ = _tops(panel)
    if found is None and panel.kind in SCALED and yscale == "log" and most > 0:
        areas = [one for one in panel.curves if one.draw == "area"]
        lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
        found = min(_least_above_0(areas) / 10, _least_above_0(lines) / 1.3, most)
    return found


def slow_links(
    panel: Panel, yscale: str | None, stretches: Sequence[Stretch], top: float | None = None
) -> str:
    """What to say of links that are for some time so slow that their rate, and what the flows take
    of it, are a line at the foot of a linear axis of throughputs, as in an outage; "" of none.

    The axis ends at `top` if that was asked for; `stretches` are the times in which each link is in
    use.
    """
    if panel.kind != "throughput" or least_of(panel, yscale) is not None:
        return ""
    most, behind = _tops(panel)
    top = top or (behind if behind <= _FAR * most else most)
    starts = np.array([one.from_ns for one in stretches]) / NS_PER_S
    found: dict[str, list[float]] = {}
    for one in (one for one in panel.curves if one.draw == "area"):
        # Means depend on the width of the figure.
        time, value = one.exact or (one.time_s, one.value)
        lasts, begins, rates = np.diff(time), time[:-1], value[:-1]
        is_hidden = (rates > 0) & (rates < _HIDDEN * top)
        if lasts[is_hidden].sum() <= _HIDDEN_FOR * lasts.sum():
            continue
        # A rate begins with its link.
        places = np.searchsorted(starts, begins[is_hidden] + 1e-9, side="right") - 1
        for place, rate in zip(places.tolist(), rates[is_hidden].tolist(), strict=True):
            name = stretches[place].link if 0 <= place < len(stretches) else ""
            found.setdefault(name or "the link in use", []).append(rate)
    words = []
    for name, each in found.items():
        least, most_rate = _three_digits(min(each)), _three_digits(max(each))
        down = "" if least == most_rate else "down to "
        words.append(f"{name}: {down}{least} Mbit/s")
    return "; ".join(words)


def with_one_scale(panels: Sequence[Panel], yscale_of: Callable[[Panel], str | None]) -> list[str]:
    """Return the kinds of panels of times, and of rates, whose axes are logarithmic because another
    one's is: the same delays would look different on two scales. Those for which a scale is given
    have that.
    """
    found: list[str] = []
    for kinds in (_OF_TIMES, (*_OF_RATES,)):
        free = [one for one in panels if one.kind in kinds and yscale_of(one) is None]
        are_log = [least_of(one, None) is not None for one in free]
        each = zip(free, are_log, strict=True)
        found += [one.kind for one, is_log in each if any(are_log) > is_log]
    return found


def _is_unused(panel: Panel) -> bool:
    """Whether the flows take only a small part of each rate that the path has: none of them needs
    to be seen beside the flows.
    """
    rates = [one.value[one.value > 0] for one in panel.curves if one.draw == "area"]
    least = min((float(one.min()) for one in rates if len(one)), default=0.0)
    return panel.kind == "throughput" and least > _FAR * _tops(panel)[0] > 0


def _tops(panel: Panel) -> tuple[float, float]:
    """The largest value of the lines of a panel, and of the areas behind them."""
    panel = panel.of or panel

    def top(curves: Sequence[Curve]) -> float:
        # The ends of bars and stalls are times.
        levels = [
            (one.value,) if one.draw in SPANS else (one.most, one.high, one.value)
            for one in curves
            if not one.in_row
        ]
        # Maxima may be of some intervals alone.
        ends = [v for each in levels for v in each if v is not None]
        known = [float(np.nanmax(one)) for one in ends if len(one) and not np.isnan(one).all()]
        return max(known, default=0.0)

    lines = [one for one in panel.curves if one.draw not in ("area", "limit")]
    return top(lines), top([one for one in panel.curves if one.draw == "area"])


def with_peaks(panel: Panel, repeated: Collection[str] = ()) -> Panel:
    """Return a panel of times with the longest one of each line, also if its lines are drawn
    without their maxima, or of queues that are without bands. Lines that are `repeated` have those
    of another one.
    """
    is_of_queues = panel.kind == "queue" and not panel.has_bands
    if panel.kind not in _OF_TIMES and not is_of_queues:
        return panel
    peaks = []
    for one in panel.curves:
        most = one.high if is_of_queues else one.most
        values = one.value if most is None else most
        if one.in_row or one.label in repeated or np.isnan(values).all():
            continue
        at = int(np.nanargmax(values))
        time_s = float(one.time_s[at])
        if one.most_s is not None:
            time_s = float(one.most_s[at])
        elif one.draw in ("steps", "queue"):
            # A step is the longest time of its interval.
            time_s = float(one.time_s[at : at + 2].mean())
        peaks.append(Peak(float(values[at]), one.label, time_s, one.look))
    peaks.sort(key=lambda one: -one.value)
    # A line may have several curves.
    longest = {one.label: one for one in reversed(peaks)}
    return replace(panel, peaks=[one for one in peaks if one is longest[one.label]])


def _peaks_above(panel: Panel, yscale: str | None) -> list[Peak]:
    """The longest times of lines that are above the end of the axis: those are told. Queues
    are all told if the means and maxima that are drawn hide one.
    """
    if panel.kind == "queue":
        # The mean of a full queue may be small, and that of any other line large.
        shown = {one.label: _seen_of_queue(one) for one in panel.curves if one.draw == "queue"}
        if all(one.value <= _NEARLY * shown[one.label] for one in panel.peaks):
            return []
        return [*panel.peaks]
    end = end_of_axis(panel, yscale, 0.0)
    return [one for one in panel.peaks if one.value > end]


def _seen_of_queue(line: Curve) -> float:
    """The largest queue that a line shows, or the maxima that are drawn with it."""
    each = [line.value] if line.most is None else [line.value, line.most]
    return max(float(np.nanmax(one, initial=0.0)) for one in each)


def _with_near_peaks(panel: Panel, most: float) -> float:
    """What an axis has to reach, with the longest times that are no more than twice that: these
    are seen, and leave the other values half of the height.
    """
    near = (one.value for one in panel.peaks if one.value <= _NEAR_PEAK * _MARGIN * most)
    return max([most, *near])


def peak_words(panel: Panel, yscale: str | None, off: Sequence[Peak] = ()) -> str:
    """What to say of the arrowheads of a panel (`peaks_off`); and of the longest times of the lines
    that are above the axis, unless their values stand beside these, and of the largest queues: from
    where to where they are.
    """
    told = _peaks_above(panel, yscale)
    if 0 < len(off) <= _MOST_VALUES:
        return f"arrowhead: {_ARROW_OF[panel.kind]}"
    if not told:
        return ""
    # In the unit of the axis.
    ends = dict.fromkeys(_three_digits(told[place].value) for place in (-1, 0))
    most = f"arrowheads: {_ARROW_OF[panel.kind]}s," if off else _MOST_OF.get(panel.kind, "longest:")
    return f"{most} {' to '.join(ends)} {panel.unit}"


def _three_digits(value: float) -> str:
    """A number with three digits of interest, in words without a power of ten."""
    digits = 2 - math.floor(math.log10(value)) if value > 0 else 0
    value = round(value, digits)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def peaks_off(panel: Panel, top: float, room: Room) -> list[Peak]:
    """Return the peaks of the lines of a panel of times above the end of its values, `top`: one for
    each time for which a line leaves it, those that are near each other together; and the longest
    times that are not drawn. They are in the order of their lines, and of time.
    """
    first, last = room.window
    found: list[Peak] = []
    lines = list(dict.fromkeys(one.label for one in panel.curves))
    peaks = sorted(panel.peaks, key=lambda one: lines.index(one.label))
    for peak in peaks if panel.kind in _OF_TIMES else ():
        mine = [one for one in panel.curves if one.label == peak.label and not one.in_row]
        # From when to when, how high, and when it is that: in the middle if that is not known.
        over: list[tuple[float, float, float, float]] = []
        for one in mine:
            ends = (one.most, one.high, one.value)
            drawn = next(values for values in ends if values is not None)
            is_held = one.draw == "steps"
            until = np.append(one.time_s[1:], one.time_s[-1:]) if is_held else one.time_s
            above = (drawn > top) & (until >= first) & (one.time_s <= last)
            begin = np.maximum(one.time_s, first)
            # At an end of its interval it would stand beside the line of a short time shown.
            middle = (begin + np.minimum(until, last)) / 2
            at_s = middle if one.most is None or one.most_s is None else one.most_s
            columns = (begin, until, drawn, np.clip(at_s, first, last))
            over += zip(*(column[above].tolist() for column in columns), strict=True)
        if peak.value > top:
            # Its interval may begin before the time that is shown.
            at = min(max(peak.time_s, first), last)
            over.append((at, at, peak.value, at))
        group: list[tuple[float, float, float, float]] = []
        end = -math.inf
        for one_over in [*sorted(over), (math.inf, math.inf, 0.0, 0.0)]:
            if group and one_over[0] > end + _JOINED_PT * room.point_s:
                longest = max(group, key=lambda part: part[2])
                found.append(peak._replace(value=longest[2], time_s=longest[3]))
                group, end = [], -math.inf
            group.append(one_over)
            end = max(end, one_over[1])
    return found


def without_lone_peaks(panel: Panel, top: float) -> Panel:
    """The panel of times without medians alone that are far above the end of its axis: they have an
    arrowhead, and a line to it would be its most prominent part.
    """
    if panel.kind not in _OF_TIMES or not top > 0:
        return panel
    curves = []
    for one in panel.curves:
        known = np.flatnonzero(~np.isnan(one.value))
        alone = known[_is_alone(one.value[known], top)] if one.draw == "steps" else known[:0]
        if len(alone) and not one.in_row:
            value = one.value.copy()
            value[alone] = np.nan
            one = replace(one, value=value)
        curves.append(one)
    return replace(panel, curves=curves)


def mark_cut_lines(axes: Axes, peaks: Sequence[Peak], unit: str, above: float = 0.0) -> None:
    """Put arrowheads below the upper edge, or below rows of marks that take a share of the height
    `above`, in the colours of the lines, at the `peaks_off`; beside few ones are their values in
    this unit. Those that would cover each other are one below the other.
    """
    from matplotlib.patheffects import Stroke
    from matplotlib.transforms import offset_copy

    figure = axes.get_figure(root=True)
    assert figure is not None
    top, (first, last) = end_of_values(axes, above), axes.get_xlim()
    point = (last - first) * figure.dpi / (72 * axes.get_window_extent().width)
    has_values = len(peaks) <= _MOST_VALUES
    line_pt = _VALUE_PT + 0.5 if has_values else _HEAD_PT
    taken: list[tuple[float, float, int]] = []
    tall = 72 * (1 - above) * axes.get_window_extent().height / figure.dpi
    lines = [one for one in axes.lines if one.get_gid() != CUT and np.size(one.get_xdata()) > 2]
    # Handoffs, and what else is marked over the whole height.
    pairs = [np.asarray(one.get_xdata(), np.float64) for one in axes.lines if one not in lines]
    upright = [(float(x[0]) - first) / point for x in pairs if len(x) == 2 and x[0] == x[1]]

    def high_lines(height_pt: float) -> list[float]:
        """The times at which a line comes so near the upper edge, or nearer, and leaves it."""
        low = top - height_pt * (top - axes.get_ylim()[0]) / tall
        found: set[float] = set()
        for one in lines:
            at = np.asarray(one.get_xdata(), np.float64)
            high = np.flatnonzero(np.asarray(one.get_ydata(), np.float64) > low)
            found.update(at[high].tolist(), at[np.minimum(high + 1, len(at) - 1)].tolist())
        return sorted(found)

    def is_clear(low: float, end: float, level: int) -> bool:
        """Whether the panel has this part, in points, and no line comes there."""
        bottom = top - (line_pt * (level + 1)) * (top - axes.get_ylim()[0]) / tall
        for one in lines:
            at = (np.asarray(one.get_xdata(), np.float64) - first) / point
            values = np.asarray(one.get_ydata(), np.float64)
            is_high = np.fmax(values[:-1], values[1:]) > bottom
            if (is_high & (at[:-1] < end) & (at[1:] > low)).any():
                return False
        return bool(low > 0)

    def text_of(peak: Peak) -> tuple[str, float]:
        """The value beside an arrowhead, and how long both are."""
        text = f"{_three_digits(peak.value)} {unit}" if has_values else ""
        return text, 1.5 * _HEAD_PT + text_width(text, _VALUE_PT) if text else _HEAD_PT

    reach = max((text_of(one)[1] for one in peaks), default=0.0)
    for peak in _grouped(peaks, reach * point):
        text, long = text_of(peak)
        at = (peak.time_s - first) / point
        right, left = at - _HEAD_PT / 2, at + _HEAD_PT / 2 - long
        level, is_left = 0, False
        while True:
            free = [
                not any(low < b and low + long > a and level == of for a, b, of in taken)
                for low in (right, left)
            ]
            fits = bool(at + long <= (last - first) / point)
            # At the left it is where no line comes.
            is_left = not fits or (not free[0] and free[1] and is_clear(left, at, level))
            if free[is_left]:
                break
            level += 1
        low = left if is_left else right
        taken.append((low, low + long, level))
        colour = peak.colour or look_of(4 if peak.look is None else peak.look).colour
        place = (peak.time_s, top)
        # Their tips are within the panel, away from the text above it.
        down = line_pt * (level + 0.5)
        height = down + _VALUE_PT / 2
        beside = 0.8 * _HEAD_PT
        if text and not is_left:
            beside = _right_of([(one - first) / point - at for one in high_lines(height)], beside)
        how: Any = {"ls": "none", "marker": "^", "ms": _HEAD_PT, "mew": 0, "color": colour}
        how |= {"transform": offset_copy(axes.transData, figure, y=-down, units="points")}
        axes.plot([place[0]], [place[1]], **how, clip_on=False, zorder=7, gid=CUT)
        if text:
            where: Any = {"xy": place, "xytext": (-beside if is_left else beside, -down)}
            where |= {"textcoords": "offset points", "annotation_clip": False}
            where |= {"ha": "right" if is_left else "left", "va": "center_baseline"}
            where |= {"fontsize": _VALUE_PT, "zorder": 7, "color": colour}
            if any(low < one < low + long for one in upright):
                # The dashes of a line between two digits would be read as one.
                where |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.2}}
            elif not is_clear(low, low + long, level):
                # A box would interrupt lines more than a rim does, which is no text in files of
                # vectors.
                axes.annotate(text, **where, path_effects=[Stroke(**_RIM)])
            axes.annotate(text, **where)


def _grouped(peaks: Sequence[Peak], near_s: float) -> list[Peak]:
    """Peaks in the order of time, but those that are near the one before in the order in which they
    are given.
    """
    by_time = sorted(enumerate(peaks), key=lambda one: (one[1].time_s, one[0]))
    groups: list[list[tuple[int, Peak]]] = []
    for place, one in by_time:
        if groups and one.time_s - max(peak.time_s for _, peak in groups[-1]) < near_s:
            groups[-1].append((place, one))
        else:
            groups.append([(place, one)])
    return [one for group in groups for _, one in sorted(group, key=lambda each: each[0])]


def _right_of(strokes_pt: Sequence[float], beside_pt: float) -> float:
    """How far from an arrowhead its value begins: clear of lines that go up there."""
    for stroke in strokes_pt:
        if beside_pt - _CLEAR_PT < stroke < min(beside_pt, _MOST_BESIDE_PT) + _CLEAR_PT:
            beside_pt = stroke + _CLEAR_PT
    return beside_pt


def _top(one: Curve) -> float:
    """The largest value of a line, its band and its maxima, as far as it has them."""
    each = (one.value, one.high, one.most)
    known = [float(np.nanmax(v)) for v in each if v is not None and not np.isnan(v).all()]
    return max(known, default=0.0)


def _cut_at(panel: Panel, yscale: str | None) -> float | None:
    """Where a linear axis of times ends that leaves out the longest ones; None if it shows all.

    Of medians it leaves out only one interval alone that is far above its neighbours.
    """
    if panel.kind not in _OF_TIMES or not panel.peaks or yscale is not None:
        return None
    usual = _usual_time(panel)
    most = panel.peaks[0].value
    if not most > _RARE * usual > 0:
        return None
    cut = _ABOVE * usual
    lines = (one for one in panel.curves if one.draw == "steps" and not one.in_row)
    cut = max([cut, *(_top_of_medians(one, cut) for one in lines)])
    return cut if cut < most else None


def _top_of_medians(line: Curve, cut: float) -> float:
    """The largest median but for those far above a cut whose neighbours are below it."""
    known = line.value[~np.isnan(line.value)]
    return float(known[~_is_alone(known, cut)].max(initial=0.0))


def _is_alone(values: Values, cut: float | None = None) -> NDArray[np.bool_]:
    """Which steps are a level that is far above a cut, and whose neighbours are below it; without a
    cut one that is far above its neighbours.
    """
    is_new = np.diff(values, prepend=np.nan) != 0
    levels = np.pad(values[is_new], 1)
    beside = np.maximum(levels[:-2], levels[2:])
    if cut is None:
        is_alone = (levels[1:-1] > _ALONE * beside) & (beside > 0)
    else:
        is_alone = (levels[1:-1] > _ALONE * cut) & (beside <= cut)
    found: NDArray[np.bool_] = is_alone[np.cumsum(is_new) - 1]
    return found


def _usual_time(panel: Panel) -> float:
    """What the lines of times, and what is drawn around them, reach but for a small share of the
    time. A median alone that is far above its neighbours does not count: of a short line it would
    be for a good share of the time.
    """
    found = [0.0]
    for one in panel.curves:
        known = ~np.isnan(one.value)
        if one.in_row or not known.any():
            continue
        if one.draw == "dots":
            edges = np.linspace(one.time_s[0], one.time_s[-1] + 1e-9, _INTERVALS + 1)
            places = np.searchsorted(edges, one.time_s, side="right")
            parts = np.split(one.value, np.flatnonzero(np.diff(places)) + 1)
            tops = np.array([np.quantile(part, 0.95) for part in parts])
            # One of them: of few samples a value between two would cut off the larger one.
            found.append(float(np.quantile(tops, _USUAL, method="higher")))
            continue
        lasts = np.append(np.diff(one.time_s), 0.0)
        lasts[known] *= ~_is_alone(one.value[known])
        for values, share in ((one.value, _USUAL), (one.high, _USUAL), (one.most, _USUAL_MOST)):
            if values is not None:
                found.append(weighted_quantile(values[known], lasts[known], share))
    return max(found)


def most_but_rare(lines: Sequence[tuple[Values, Values]]) -> float:
    """Where a linear axis ends that shows lines of times and the values that they hold from then
    on: at the largest value, or, if that is far above all that they have but for a small share of
    the time, a little above the latter.
    """
    most = usual = 0.0
    for time_s, values in lines:
        if len(values):
            most = max(most, float(values.max()))
            lasts = np.append(np.diff(time_s), 0.0)
            usual = max(usual, weighted_quantile(values, lasts, 1 - _RARE_TIME))
    return _ABOVE * usual if most > _RARE * usual > 0 else most


def off_scale(panel: Panel, top: float | None = None) -> str:
    """What to say of a rate that is above the axis, as it is far above what the flows take of it.
    The axis ends at `top` if that was asked for.
    """
    level = _level(panel, top)
    if level is None:
        return ""
    areas = [one.value for one in panel.curves if one.draw == "area"]
    rates = np.concatenate(areas)
    high, low = float(np.nanmax(rates)), float(np.nanmin(rates[rates > level]))
    highest = _three_digits(high)
    span = highest if low > 0.99 * high else f"{_three_digits(low)} to {highest}"
    some = " for a part of the time" if np.any((rates > 0) & (rates <= level)) else ""
    return f"the link's rate is {span} Mbit/s{some}, above the axis"


def _level(panel: Panel, top: float | None) -> float | None:
    """The end of the axis of rates if the path's rates are not all below it."""
    most, behind = _tops(panel)
    if panel.kind != "throughput" or most == 0:
        return None
    if top is not None:
        return top if behind > top else None
    return _MARGIN * most if behind > _FAR * most else None


def within_scale(panel: Panel, yscale: str | None, top: float | None = None) -> list[Curve]:
    """The curves of a panel without rates that are always above the axis, which ends at `top` if
    that was asked for: their areas would only be a grey panel.
    """
    level = None if least_of(panel, yscale) is not None else _level(panel, top)
    return [
        one
        for one in panel.curves
        if level is None or one.draw != "area" or np.any((one.value > 0) & (one.value <= level))
    ]


def _least_rate(panel: Panel) -> float | None:
    """Where the axis of rates begins that has to be logarithmic, as the path, or a sender, is for a
    good part of the time slower than at its best, and it, or what a flow has of it, far slower;
    none otherwise.
    """
    curves = panel.curves
    steps = [one for one in curves if one.draw == "steps"]
    for one in (one for one in curves if (one.draw, one.quantity) == _OF_RATES[panel.kind]):
        time = np.unique(np.concatenate([one.time_s, *(line.time_s for line in steps)]))
        time = time[(time >= one.time_s[0]) & (time <= one.time_s[-1])]
        lasts, rates = np.diff(time), _held(one, time[:-1])
        there = rates > 0
        lasts, rates, time = lasts[there], rates[there], time[:-1][there]
        if not len(rates):
            continue
        least = rates
        for line in steps:
            least = np.minimum(least, np.where((own := _held(line, time)) > 0, own, np.inf))
        most = rates.max()
        is_low = (rates * _LOW_RATES < most) & (least * _WIDE < most)
        if lasts[is_low].sum() > 0.2 * lasts.sum():
            # The least throughput of each flow is seen, too.
            return min(float(rates.min()) / 10, _least_above_0(steps) / 1.3)
    return None


def _held(line: Curve, time_s: Values) -> Values:
    """The values of steps at some times; 0 before the first one."""
    places = np.searchsorted(line.time_s, time_s, side="right")
    found: Values = np.concatenate([[0.0], line.value])[places]
    return found


def _least_above_0(curves: Iterable[Curve]) -> float:
    """The least value above 0 of curves that are drawn at their values, or infinity."""
    each = (one.value for one in curves if not (one.in_row or one.draw in SPANS))
    least = (float(values[values > 0].min(initial=np.inf)) for values in each)
    return min(least, default=math.inf)


def _least_time(panel: Panel, yscale: str | None) -> float | None:
    """The beginning of a logarithmic axis of times or windows, which is needed if most of them are
    far below the largest, but for rare ones that the axis leaves out; otherwise None.
    """
    behind = ("area", "limit")
    curves = [one for one in panel.curves if not one.in_row and one.draw not in behind]
    values = np.concatenate([one.value for one in curves])
    known = np.concatenate([one.value if one.low is None else one.low for one in curves])
    known = known[known > 0]
    tops = (one.value if one.most is None else one.most for one in curves)
    most = _cut_at(panel, yscale) or max(float(np.nanmax(one)) for one in tops)
    usual = float(np.nanmedian(values))
    if panel.kind not in _OF_DELAYS:
        # Windows of several lines may all be far below that of one.
        lines = [one.value for one in curves if not np.isnan(one.value).all()]
        usual = min((float(np.nanmedian(one)) for one in lines), default=usual)
    if not known.size or most <= _WIDE * usual:
        return None
    return float(np.nanmin(known)) / 1.3
