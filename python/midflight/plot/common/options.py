"""Ends, labels and scales of axes that a user chooses, for panels by their kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from midflight.refusal import refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from midflight._core import MidflightError

__all__ = [
    "SCALES",
    "AxesChoice",
    "Ends",
    "Labels",
    "Limits",
    "as_names",
    "check_is_seen",
    "check_scale",
    "check_scales",
    "choose_axes",
    "choose_ends",
    "dress_panels",
    "time_words",
]

#: The scales of an axis.
SCALES = ("linear", "log")

#: The ends of an axis.
Ends: TypeAlias = tuple[float, float]
#: The ends of the axis of values in a figure with one panel, or those of panels by their kinds.
Limits: TypeAlias = Ends | Mapping[str, Ends]
#: The label of the axis of values in a figure with one panel, or those of panels by their kinds.
Labels: TypeAlias = str | Mapping[str, str]

V = TypeVar("V")


@dataclass(frozen=True)
class AxesChoice:
    """Ends and labels of axes; of those of values by the kinds of their panels, "" for the only
    one.
    """

    xlim: Ends | None = None
    ylim: Mapping[str, Ends] = field(default_factory=dict)
    #: The ends of the colours of a map.
    vlim: Ends | None = None
    xlabel: str | None = None
    ylabel: Mapping[str, str] = field(default_factory=dict)


def as_names(given: str | Sequence[str]) -> list[str]:
    """Return names of schemes, flows or columns; a text is one name."""
    return [given] if isinstance(given, str) else list(given)


def time_words(seconds: float) -> str:
    """Return a time in the largest unit of which it has one."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _by_kind(given: V | Mapping[str, V] | None) -> dict[str, V]:
    """One value for the only panel, or those of panels by their kinds."""
    return {} if given is None else dict(given) if isinstance(given, Mapping) else {"": given}


def choose_axes(
    xlim: Ends | None = None,
    ylim: Limits | None = None,
    xlabel: str | None = None,
    ylabel: Labels | None = None,
    vlim: Ends | None = None,
) -> AxesChoice:
    """Return ends and labels as `chosen_style` takes them.

    Raises `MidflightError` for ends that are none, and for mathematics that cannot be typeset.
    """
    from midflight.plot.common.style import typeset

    ends = _by_kind(ylim)
    named = [("--ylim", kind, one) for kind, one in ends.items()]
    if xlim is not None:
        named.append(("--xlim", "", xlim))
    if vlim is not None:
        named.append(("--vlim", "", vlim))
    for option, kind, given in named:
        low, high = _two(option, given)
        if not -math.inf < low < high < math.inf:
            text = _ends_text(kind, (low, high))
            raise refusal(
                f"{option} {text}: the low end must be below the high one, and both finite",
                name=option,
                value=text,
                accepted="LOW:HIGH, such as 0:50",
            )
    labels = _by_kind(ylabel)
    if xlabel is not None:
        typeset("--xlabel", xlabel)
    for text in labels.values():
        typeset("--ylabel", text)
    return AxesChoice(xlim, ends, vlim, xlabel, labels)


def _two(option: str, given: object) -> Ends:
    """Return the ends of an axis; raises `MidflightError` for what is not two numbers."""
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        low, high = given
        if all(isinstance(one, int | float) or hasattr(one, "__float__") for one in given):
            return float(low), float(high)
    accepted = "two numbers, such as (0, 50)"
    raise refusal(
        f"{option.removeprefix('--')}: {given!r} is not accepted; expected {accepted}",
        name=option.removeprefix("--"),
        value=given,
        accepted=accepted,
    )


def _ends_text(kind: str, ends: Ends) -> str:
    """The ends of an axis as the options take them."""
    return f"{kind}{'=' if kind else ''}{ends[0]:g}:{ends[1]:g}"


def _for_panels(
    option: str,
    given: Mapping[str, V],
    panels: Sequence[tuple[str, Axes]],
    what: str,
) -> Iterator[tuple[V, list[Axes]]]:
    """Yield each value that is given for a kind of panel, or "" for the only one, with its axes.

    `what` is the form of a value, such as "LOW:HIGH". Raises `MidflightError` for a value without a
    kind if there are several panels, for a kind that the figure does not have, and for two values
    of one axis.
    """
    kinds = list(dict.fromkeys(kind for kind, _ in panels if kind))
    done: set[Axes] = set()
    for kind, value in given.items():
        text = f"{kind}={_text(value)}" if kind else _text(value)
        accepted = ", ".join(f"{one}={what}" for one in kinds) or what
        why = ""
        meant = [axes for one, axes in panels if kind in ("", one)]
        if kind and kind not in kinds:
            why = f"the figure has no panel {kind}; expected {accepted}"
        elif not kind and len(kinds) > 1:
            why = f"the figure has {len(kinds)} panels; write {accepted}"
        elif not done.isdisjoint(meant):
            why = "this axis is given twice"
            accepted = f"one {what} for each panel"
        if why:
            raise refusal(f"{option} {text}: {why}", name=option, value=text, accepted=accepted)
        done.update(meant)
        yield value, meant


def _text(value: object) -> str:
    return _ends_text("", value) if isinstance(value, tuple) else str(value)


def check_scale(option: str, scale: str | None) -> None:
    """Raise `MidflightError` for a scale that does not exist; None is the usual one."""
    if scale not in (None, *SCALES):
        accepted = " or ".join(SCALES)
        raise refusal(
            f'{option} "{scale}" is not accepted; expected {accepted}',
            name=option,
            value=scale,
            accepted=accepted,
        )


def check_scales(
    given: str | Mapping[str, str] | None, kinds: Sequence[str], scaled: Sequence[str]
) -> Mapping[str, str]:
    """Return the scales of axes of values by the kinds of panels, "" for all others.

    `kinds` are those of the figure, `scaled` those whose axis may have either scale. Raises
    `MidflightError` for a scale that does not exist, and for a kind without it.
    """
    found = _by_kind(given)
    there = [one for one in kinds if one in scaled]
    accepted = ", ".join(f"{one}=SCALE" for one in there)
    for kind, scale in found.items():
        check_scale("--yscale", scale)
        if kind and kind not in there:
            why = "its axis is linear" if kind in kinds else f"the figure has no panel {kind}"
            expected = f"; expected {accepted}" if accepted else ""
            text = f"{kind}={scale}"
            raise refusal(
                f"--yscale {text}: {why}{expected}", name="--yscale", value=text, accepted=accepted
            )
    return found


def choose_ends(
    panels: Sequence[tuple[str, Axes]], above: Mapping[Axes, float] | None = None
) -> None:
    """Give the axes of values of panels, which are of these kinds, the chosen ends. Of those that
    have something `above` their values, such as rows of marks, which take that share of the height,
    they are the ends of the values.

    Raises `MidflightError` for what the figure does not have.
    """
    from midflight.plot.common.style import chosen_axes

    choice = chosen_axes()
    given = {} if choice is None else choice.ylim
    for ends, meant in _for_panels("--ylim", given, panels, "LOW:HIGH"):
        for axes in meant:
            scale = axes.get_yscale()
            _check_log("--ylim", ends, scale)
            (low, high), share = ends, 1 - (above or {}).get(axes, 0.0)
            if share < 1 and scale == "log":
                high = low * (high / low) ** (1 / share)
            elif share < 1:
                high = low + (high - low) / share
            axes.set_ylim(low, high)


def dress_panels(
    panels: Sequence[tuple[str, Axes]],
    *,
    has_ends: bool = False,
    x_refused: str = "",
    width_in: float | None = None,
    height_in: float | None = None,
    is_map: bool = False,
) -> None:
    """Give the axes of panels, which are of these kinds, the chosen ends and labels.

    With `has_ends` they have those of values already (`choose_ends`). `x_refused` is why the ends
    of the horizontal axis cannot be chosen, in a map (`is_map`) also those of the vertical one.
    `width_in` and `height_in` are the room for a label. Raises `MidflightError` for what the figure
    does not have.
    """
    from midflight.plot.common.log_ticks import separate_thousands
    from midflight.plot.common.style import chosen_axes, wrapped

    for _, axes in panels:
        separate_thousands(axes)
    choice = chosen_axes()
    if choice is None:
        return
    if choice.vlim is not None and not is_map:
        why = "the figure has no colours of values, as a heat map has"
        raise _not_chosen("--vlim", choice.vlim, why)
    for one in choice.ylim.values() if is_map else ():
        raise _not_chosen("--ylim", one, f"{x_refused}; --vlim has the ends of its colours")
    if not has_ends:
        choose_ends(panels)
    for label, meant in _for_panels("--ylabel", choice.ylabel, panels, "TEXT"):
        for axes in (one for one in meant if one.get_ylabel()):
            high = axes.figure.get_figure(root=True).get_figheight() - 0.9
            room = high if height_in is None else height_in
            axes.set_ylabel(wrapped(label, 7.5, room * 72), parse_math=True)
    for axes in (axes for _, axes in panels if choice.xlabel is not None and axes.get_xlabel()):
        label = choice.xlabel or ""
        label = label if width_in is None else wrapped(label, 7.5, width_in * 72)
        axes.set_xlabel(label, parse_math=True)
    if choice.xlim is not None:
        if x_refused:
            raise _not_chosen("--xlim", choice.xlim, x_refused)
        for _, axes in panels:
            _check_log("--xlim", choice.xlim, axes.get_xscale())
            axes.set_xlim(*choice.xlim)


def _not_chosen(option: str, ends: Ends, why: str) -> MidflightError:
    text = _ends_text("", ends)
    return refusal(f"{option} {text}: {why}", name=option, value=text, accepted=f"no {option}")


def check_is_seen(option: str, ends: Ends | None, places: Iterable[float], unit: str) -> None:
    """Refuse chosen ends of an axis between which none of the places is that the figure has."""
    if ends is None:
        return
    known = [one for one in places if math.isfinite(one)]
    if not known or any(ends[0] <= one <= ends[1] for one in known):
        return
    there = f"{min(known):.4g} to {max(known):.4g} {unit}".strip()
    text = _ends_text("", ends)
    raise refusal(
        f"{option} {text}: nothing is there; the values are from {there}",
        name=option,
        value=text,
        accepted=f"ends with values between them, which are from {there}",
    )


def _check_log(option: str, ends: Ends, scale: str) -> None:
    """Refuse ends that a logarithmic axis cannot have."""
    if (scale == "log" and ends[0] <= 0) or (scale == "symlog" and ends[0] < 0):
        text = _ends_text("", ends)
        raise refusal(
            f"{option} {text}: the axis is logarithmic, and begins "
            f"{'above 0' if scale == 'log' else 'at 0 or above'}",
            name=option,
            value=text,
            accepted=f"a low end above 0, or --{option[2]}scale linear",
        )
