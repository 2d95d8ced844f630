"""The names of the plain sender and of stacks in figures: they tell the congestion control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from midflight.flow_tables import differing_settings, is_whole_flow, tables_of
from midflight.plot.common.handoff_names import handoff_labels, since_words
from midflight.plot.common.names import column_name, within_text
from midflight.unmet import handoff_words

__all__ = [
    "control_of_question",
    "loss_words",
    "plain_control",
    "plain_labels",
    "stack_labels",
    "table_titles",
    "usual_of_axes",
    "usual_of_flows",
    "usual_of_folder",
]

#: The scheme whose name does not say its congestion control, and the setting that replaces that.
_PLAIN, _CONTROL = "sack", "congestion"
#: The measurement whose name does not say how many packets are counted.
_OF_COUNTED = "all_new_ns"
#: The measurements whose names do not say since when.
_AFTER = ("first_new_ns", _OF_COUNTED)
#: The times and losses of the two states of a link.
_OF_STATES = 4
#: Congestion controls that nobody would expect by that name, by the profile.
_CONTROLS = {"linux": "CUBIC"}
#: Other keys of a scenario on which it depends.
_KEYS = ("profile", "stack", _CONTROL)
#: The settings of a flow that make its sender.
_OF_SENDER = {"stack", "scheme", "cc", "profile", "set"}
#: The congestion controls of QUIC stacks as they are called, and those that stacks have if no other
#: one is set.
_QUIC_CONTROLS = {"cubic": "CUBIC", "newreno": "NewReno", "bbr": "BBR"}
_USUAL_CONTROL, _USUAL_CONTROLS = "cubic", {"aioquic": "newreno"}


def plain_control(scenario: Mapping[str, Any]) -> str:
    """Return the congestion control that the plain scheme has in all flows of a scenario, in its
    canonical form; "" if it is that of the name, unknown, or not the same in all.
    """
    from midflight._core import QUIC_STACKS

    names, found = [*scenario["links"]], set()
    for name, flow in scenario["flows"].items():
        names.append(name)
        stack, profile = flow.get("stack") or "midflight", flow.get("profile")
        profile = profile or scenario["profile"]
        if stack in QUIC_STACKS or profile == "quic":
            # Such a sender has the name of its stack.
            continue
        is_usual = stack == "midflight" and not {_CONTROL} & {
            *(scenario.get("set") or {}),
            *(flow.get("set") or {}),
        }
        found.add(_CONTROLS.get(profile, "") if is_usual else "")
    return found.pop() if len(found) == 1 and _PLAIN not in names else ""


def control_of_question(question: object) -> str:
    """Return the same of the runs of a question, or of a scenario with midflight's senders in the
    lab; "" of a paper's figure.
    """
    if getattr(question, "stack", "") == "midflight":
        return plain_control(getattr(question, "scenario", {}))
    keywords = getattr(question, "keywords", {})
    if _CONTROL in keywords.get("knobs", {}):
        return ""
    return _CONTROLS.get(keywords.get("profile", ""), "")


def plain_labels(controls: Iterable[str]) -> Mapping[str, str]:
    """Return the label of the plain scheme that has these congestion controls, if they are one."""
    found = {*controls}
    return {_PLAIN: f"{_PLAIN} ({found.pop()})"} if len(found) == 1 and "" not in found else {}


class _Flow(Protocol):
    """What is needed of a flow of a figure (`midflight.plot.over_time.history.History`)."""

    plain: str
    usual: Mapping[str, str]


def usual_of_flows(flows: Iterable[_Flow]) -> Mapping[str, str]:
    """Return the labels in a figure of flows: those of the values of the axes in which they differ,
    and that of the plain scheme, if it is the same in all.
    """
    each = [*flows]
    of_axes = {name: label for one in each for name, label in one.usual.items()}
    return {**of_axes, **plain_labels(one.plain for one in each)}


def _plain_of(asked: Mapping[str, Any]) -> Mapping[str, str]:
    """The label of the plain scheme in the results of a sweep with this definition, if no axis
    changes its congestion control.
    """
    for key in asked["axes"]:
        if key.rpartition(".")[2] in _KEYS or is_whole_flow(key):
            return {}
    return plain_labels([plain_control(asked["scenario"])])


def stack_labels(scenario: Mapping[str, Any], axes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the labels of stacks, and of flows that are tables, among the axes of a sweep of a
    scenario in its canonical form: `midflight` is "TCP (CUBIC)", `quinn` "quinn (CUBIC)". What
    another axis changes is not named, nor what differs between flows, nor what is the same in all
    tables of an axis.
    """
    found: dict[str, str] = {}
    for key, values in axes.items():
        first, *rest = key.split(".")
        if first != "flows" or rest[1:] not in ([], ["stack"]):
            continue
        varied = {one.rpartition(".")[2] for one in axes if one != key}
        flows = [flow for name, flow in scenario["flows"].items() if rest[0] in ("*", name)]
        if not rest[1:]:
            # A table is the whole flow.
            tables = tables_of(values)
            told = differing_settings(tables)
            for value, table in zip(values, tables, strict=False):
                found[value] = _table_name(scenario, table, told, varied)
            continue
        for value in values:
            names = {_sender(scenario, flow, {"stack": value}, varied) for flow in flows}
            if len(names) == 1:
                found[value] = names.pop()
    # Names that do not tell values apart are none.
    return found if len({*found.values()}) == len(found) else {}


def table_titles(axes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return what axes of flows that are tables are called, by what differs among the tables:
    "Sender of download".
    """
    found = {}
    for key, values in axes.items():
        told = differing_settings(tables_of(values)) if is_whole_flow(key) else set()
        if not told:
            continue
        what = "sender" if told <= _OF_SENDER else told.pop() if len(told) == 1 else "settings"
        found[key] = column_name(f"{key}.{what}")
    return found


def _table_name(
    scenario: Mapping[str, Any], table: Mapping[str, Any], told: set[str], varied: set[str]
) -> str:
    """The name of a flow that is a table, by the settings `told`; if these are none, its sender."""
    words = [_sender(scenario, {}, table, varied)] if told & _OF_SENDER or not told else []
    for key, value in table.items():
        if key not in told or key in ("stack", "scheme", "cc", "set"):
            continue
        is_plain = isinstance(value, str)
        words.append(value if is_plain else f"{within_text(column_name(key))} {value}")
    return ", ".join(words)


def _sender(
    scenario: Mapping[str, Any], flow: Mapping[str, Any], table: Mapping[str, Any], varied: set[str]
) -> str:
    """What runs in a flow with the settings of a table, and its congestion control, if neither is
    among the `varied` settings.
    """
    from midflight._core import QUIC_STACKS

    own = {**flow, **table}
    stack, scheme = own.get("stack") or "midflight", own.get("scheme") or _PLAIN
    profile = own.get("profile") or scenario["profile"]
    control = {**(scenario.get("set") or {}), **(own.get("set") or {})}.get(_CONTROL, "")
    if scheme == _PLAIN and not control:
        control = _CONTROLS.get(profile, "")
    if stack in QUIC_STACKS:
        name, known = stack, "" if "cc" in varied else own.get("cc")
        control = known if known is not None else _USUAL_CONTROLS.get(stack, _USUAL_CONTROL)
        control = _QUIC_CONTROLS.get(control, control)
    elif stack != "midflight" or profile == "quic" or "profile" in varied:
        name, control = stack if "stack" in table else scheme, ""
    elif "stack" in table:
        name = "TCP"
        control = control if scheme == _PLAIN else scheme
        control = "" if {"scheme", _CONTROL} & varied else control
    else:
        name, control = scheme, "" if _CONTROL in varied or scheme != _PLAIN else control
    return f"{name} ({control})" if control else name


def loss_words(loss: str) -> str:
    """Return what losses of a link are in words, of two states what each is, as in "gilbert 0.1 %
    for 1 s / 10 % for 100 ms"; others as they are.
    """
    from midflight.plot.results.places import spaced

    kind, *values = loss.split()
    if kind != "gilbert" or len(values) < _OF_STATES:
        return loss
    good_time, good, bad_time, bad = map(spaced, values[:_OF_STATES])
    return f"{kind} {good} for {good_time} / {bad} for {bad_time}"


def _loss_labels(axes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The words for the losses of links, where they tell the values of an axis apart."""
    found: dict[str, str] = {}
    for key, values in axes.items():
        words = {one: loss_words(one) for one in values} if key.endswith(".loss") else {}
        if len({*words.values()}) == len(words):
            found |= {one: said for one, said in words.items() if said != one}
    return found


def usual_of_axes(scenario: Mapping[str, Any], axes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the labels of stacks, of flows that are tables, and of losses, among the axes of runs
    of a scenario in its canonical form, and of these axes and those of handoffs and changes.
    """
    return {
        **_loss_labels(axes),
        **stack_labels(scenario, axes),
        **table_titles(axes),
        **handoff_labels(scenario, axes),
    }


def usual_of_folder(source: object, since: str | None = None) -> AbstractContextManager[None]:
    """Return the context in which figures of the folder of a sweep, of a table there, or of a
    table of its results, have its labels of the plain sender, of stacks, of flows that are
    tables, and of handoffs, and each flow, and each value of an axis, the look that it has among
    all of them.

    `since` is which handoff times after one are about, in words, "" if that is any of them; the
    default is the one of the sweep.
    """
    from midflight.plot.common.style import usually

    asked = _definition(source)
    if asked is None:
        return usually({})
    of_axes = usual_of_axes(asked["scenario"], asked["axes"])
    labels = {**of_axes, **_plain_of(asked), **_counted(asked, since)}
    return usually(labels, [*asked["axes"].values(), [*asked["scenario"]["flows"]]])


def _counted(asked: Mapping[str, Any], since: str | None) -> Mapping[str, str]:
    """The names of times until new packets are acknowledged, in the results of a sweep: how many it
    counts, if it always counts as many, and `since` when, unless that is any of several handoffs.
    """
    scenario, found = asked["scenario"], dict[str, str]()
    if since is None:
        phase = asked["phase"]
        since = since_words(scenario, None if phase is None else handoff_words(scenario, phase))
    elif since:
        since = since_words(scenario, since)
    for column in _AFTER:
        usual = named = column_name(column)
        if column == _OF_COUNTED and "packets" not in asked["axes"] and "packets" in scenario:
            count = scenario["packets"]
            new = "1 new packet is" if count == 1 else f"{count} new packets are"
            named = named.replace("the counted new packets are", new)
        if since:
            named = named.replace("Time until", f"Time from {since} until")
        if named != usual:
            found |= {usual: named, within_text(usual): within_text(named)}
    return found


def _definition(source: object) -> dict[str, Any] | None:
    """The definition of the sweep in whose folder a source is, or is from; None for others."""
    from midflight.plot.results.tables import folder_of

    folder = folder_of(source)
    if folder is None or not (folder / "sweep.json").is_file():
        return None
    from midflight.sweep_folder import read_definition

    return read_definition(folder)
