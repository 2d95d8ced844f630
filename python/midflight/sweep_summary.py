"""The results of a sweep in tables: quartiles over its axes, and a comparison of axis values."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from midflight.flow_tables import is_whole_flow, tables_of
from midflight.listing import first_and_last, joined
from midflight.meant import did_you_mean
from midflight.refusal import refusal
from midflight.run_tables import align, counted, csv_row, fitted, is_kept
from midflight.simulated import replaced
from midflight.sweep_folder import COMPARISON, EFFECTS
from midflight.unmet import WHICH, done_early, handoff_words

if TYPE_CHECKING:
    from midflight.sweep import Sweep
    from midflight.sweep_results import Comparison, Group
    from midflight.unmet import Unmet

__all__ = ["Summary", "check_by", "check_has_measure"]

#: Lines of a table unless another number is asked for.
MOST_LINES = 60
#: Of more lines the first and the last are printed.
MOST_PRINTED = 24
WIDTH = 96
#: What a comparison has that its file has otherwise, or not.
_IN_NO_FILE = ("values", "lower", "higher", "each")
#: A metric that all flows have.
_OF_ALL = "goodput_bps"


class Summary:
    """Quartiles over the axes that are samples, and the comparison if requested."""

    def __init__(
        self,
        asked: Sweep,
        metric: str,
        by: list[str],
        grouped: list[Group],
        compared: list[Comparison],
        file: str,
        unmet: Unmet,
        phase: int | None,
        other_metrics: Sequence[str] = (),
        *,
        is_instead: bool = False,
        where: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.where = where or {}
        self.phase, self.other_metrics, self.is_instead = phase, other_metrics, is_instead
        self.asked, self.metric, self.by = asked, metric, by
        self.grouped, self.compared = grouped, compared
        self.file, self.unmet = file, unmet

    @classmethod
    def of(
        cls,
        asked: Sweep,
        folder: Path,
        metric: str | None = None,
        by: list[str] | None = None,
        where: Mapping[str, Sequence[str]] | None = None,
    ) -> Summary:
        """Return the summary of a folder by a metric and axes, by default those of the sweep.

        `where` has the values of axes, which are those of `asked`, and of "flow" that rows are kept
        by.
        """
        from midflight.sweep_folder import comparison_file
        from midflight.sweep_results import compare, groups, is_sample, main_metrics, read_flows
        from midflight.unmet import PathChanges, unmet_cells

        usual, *more = main_metrics(read_flows(folder))
        phase = asked.phase if metric in (None, asked.metric) else None
        metric = metric or asked.metric
        chosen = metric or usual
        axes = list(asked.axes)
        if by is None and asked.by is not None:
            by = [*asked.by]
        elif by is None:
            by = [axis for axis in axes if not is_sample(axis) or axis == asked.compare]
            by = by or axes
        path_changes = PathChanges(asked)
        where = where or {}
        grouped = groups(
            (row for row in read_flows(folder, phase) if is_kept(row, where)),
            axes,
            by,
            chosen,
            lambda row: path_changes.is_early(row, chosen, phase),
        )
        compared = []
        if asked.compare is not None:
            compared = compare(grouped, by, asked.compare, asked.axes[asked.compare])
        file = comparison_file(None if chosen == usual else chosen, phase)
        unmet = unmet_cells(path_changes, folder, where)
        others = more if metric is None else []
        # Transfers have times if they are done.
        is_instead = metric is None and chosen == _OF_ALL and _has_sizes(asked)
        how: Any = {"is_instead": is_instead, "where": where}
        return cls(asked, chosen, by, grouped, compared, file, unmet, phase, others, **how)

    @property
    def has_values(self) -> bool:
        """Whether any run has a value of the metric."""
        return any(one.missing() < len(one.counted) for one in self.grouped)

    @cached_property
    def is_one_by_chance(self) -> bool:
        """Whether there is one run of each cell, in which something is random."""
        from midflight.sweep_results import SEED

        if SEED in self.asked.axes:
            return False
        # An axis may have losses.
        plans = [self.asked.plan(cell) for cell in sorted({0, self.asked.cells - 1})]
        return any(one.has_chance and json.loads(one.canonical)["runs"] == 1 for one in plans)

    def drawn(self, folder: Path) -> Summary:
        """Return the summary that figures show: of a metric that no run has the goodput's."""
        if self.has_values:
            return self
        return Summary.of(self.asked, folder, _OF_ALL, self.by, self.where)

    def unfinished(self, *, for_terminal: bool = True) -> str:
        """Return that no run has a value of the metric, or no transfer a time, and what gives one,
        with options `for_terminal`; "" if some have.
        """
        end, other = (" (--set end=TIME)", "--metric ") if for_terminal else ("", "")
        if not self.has_values:
            return (
                f"No run finished what {self.metric} measures: a later end of the runs{end} gives "
                f"values, or another metric, such as {other}goodput_bps."
            )
        if self.is_instead and not _has_sizes(self.asked, of_runs=True):
            key = next(key for key in self.asked.axes if is_whole_flow(key))
            return (
                "Transfers have no time, so this is the goodput: the flows have no size, as the "
                f'values of {key} replace all of a flow; write for example {{size = "3 MB", ...}}.'
            )
        if self.is_instead:
            return (
                "No transfer finished, so this is the goodput, not the time of a transfer, which a "
                f"later end of the runs{end} gives."
            )
        return ""

    def separated(self, by: Sequence[str]) -> Summary:
        """Return the summary that separates these axes, and the compared one, instead."""
        from midflight.sweep_results import compare, regrouped

        compared_by = self.asked.compare
        by = [key for key in self.asked.axes if key in (*by, compared_by)]
        grouped = regrouped(self.grouped, list(self.asked.axes), self.by, by)
        compared: list[Comparison] = []
        if compared_by is not None:
            compared = compare(grouped, by, compared_by, self.asked.axes[compared_by])
        return self._with(self.asked, by, grouped, compared)

    def kept(self, where: Mapping[str, Sequence[str]]) -> Summary:
        """Return the summary, with all axes separated, of the cells with these values of axes."""
        from midflight.sweep_results import regrouped

        axes = list(self.asked.axes)
        grouped = [
            one
            for one in regrouped(self.grouped, axes, self.by, axes)
            if all(one.values[axes.index(key)] in some for key, some in where.items())
        ]
        return self._with(self.asked.showing(where), axes, grouped, [])

    def _with(
        self, asked: Sweep, by: list[str], grouped: list[Group], compared: list[Comparison]
    ) -> Summary:
        """Return the summary of other groups by the same metric."""
        of = (asked, self.metric, by, grouped, compared, self.file, self.unmet, self.phase)
        how: Any = {"is_instead": self.is_instead, "where": self.where}
        return Summary(*of, self.other_metrics, **how)

    @cached_property
    def effects(self) -> list[Any]:
        """What each compared value changes in all, and where it does most harm (`Effect`)."""
        from midflight.sweep_effects import effects_of

        return effects_of(self)

    @property
    def has_effects(self) -> bool:
        """Whether some pair tells what a value changes."""
        return self.has_pairs and not self.is_all_early

    def tables(self) -> dict[str, str]:
        """Return the files of the comparison, as CSV, by their names; none without a comparison."""
        from midflight.sweep_effects import effect_text

        if not self.compared:
            return {}
        return {self.file: self.comparison_text(), self.effects_file: effect_text(self)}

    @property
    def effects_file(self) -> str:
        """The file with what each value changes, beside that of the comparison."""
        return self.file.replace(COMPARISON, EFFECTS)

    @property
    def others(self) -> list[str]:
        """The axes that are separated in addition to the compared one."""
        return [axis for axis in self.by if axis != self.asked.compare]

    def comparison_rows(self) -> Iterator[Sequence[Any]]:
        """Yield the head and the rows of the file of comparisons."""
        names = [name for name in asdict(self.compared[0]) if name not in ("flow", *_IN_NO_FILE)]
        yield ["flow", *self.others, "metric", "compared", *names]
        for one in self.compared:
            values = asdict(one)
            cells = ("" if values[name] != values[name] else values[name] for name in names)
            compared = str(self.asked.compare)
            yield csv_row((one.flow, *one.values, self.metric, compared, *cells))

    def comparison_columns(self) -> dict[str, list[Any]]:
        """Return the file of comparisons as columns by their names; none without a comparison."""
        if not self.compared:
            return {}
        head, *rows = self.comparison_rows()
        found = dict(zip(head, map(list, zip(*rows, strict=True)), strict=True))
        return {**found, WHICH: [self.which_handoff] * len(rows)}

    def comparison_text(self) -> str:
        """Return the file of comparisons, as CSV."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.comparison_rows())
        return text.getvalue()

    def values(self) -> dict[str, Any]:
        """Return the summary as values for JSON; infinite and missing values are None."""
        from midflight.sweep_effects import COLUMNS as EFFECT_COLUMNS
        from midflight.sweep_effects import effect_rows

        return {
            "metric": self.metric,
            "phase": self.phase,
            "cells": self.asked.cells,
            "cells_all_done_before_a_handoff": self.unmet.all_done,
            "cells_with_a_flow_after_the_handoffs": self.unmet.opens_late,
            "groups": [
                {
                    "flow": one.flow,
                    **dict(zip(self.by, one.values, strict=True)),
                    "runs": len(one.counted),
                    "done_before": len(one.early),
                    "missing": one.missing(),
                    **{k: finite(v) for k, v in one.quartiles()._asdict().items()},
                    **{k: finite(v) for k, v in one.tails()._asdict().items()},
                }
                for one in self.grouped
            ],
            "comparison": [
                {
                    **dict(zip(self.others, one.values, strict=True)),
                    **{k: finite(v) for k, v in asdict(one).items() if k not in _IN_NO_FILE},
                }
                for one in self.compared
            ],
            "effects": [
                {name: finite(cell) for name, cell in zip(EFFECT_COLUMNS, row, strict=True)}
                for row in effect_rows(self)
            ],
        }

    def text(self, folder: Path, width: int = WIDTH) -> str:
        """Return the summary as text: which value is best, in the words of reports, and the tables,
        that of effects so wide.
        """
        words, unit = self.measured
        files = [
            "flows.csv",
            "phases.csv",
            *([self.file, self.effects_file] if self.compared else []),
        ]
        from midflight.sweep_verdict import best_lines

        lines = [
            *(textwrap.fill(f"{one}.", WIDTH) for one in best_lines(self.drawn(folder))),
            f"{counted(self.asked.cells, 'cell')} in {folder}: {', '.join(files)}",
            f"Quartiles and 95th percentile of {words}" + self.over(),
            "",
            align(self.quartile_cells(unit, MOST_PRINTED)),
        ]
        if left_out := self.left_out_groups(MOST_PRINTED):
            keys = [key for key in self.others if len(self.asked.axes[key]) > 1]
            fewer = f", and --by {keys[0]} lists fewer" if len(keys) > 1 else ""
            lines.append(f"{left_out}; --json prints all{fewer}.")
        lines += self.unmet_notes()
        if text := self.unfinished():
            lines += ["", textwrap.fill(text, WIDTH)]
        lines += self.metric_notes()
        if self.compared:
            compared = self.comparison_lines(unit, most=MOST_PRINTED)
            # A table without a number is left out.
            table = ["", align(compared)] if self.has_pairs else []
            lines += ["", self.comparison_head(), *table]
            lines += self.comparison_foot(MOST_PRINTED)
            lines += self.effect_lines(width)
        return "\n".join(lines)

    def effect_table(self) -> tuple[str, list[list[str]], str] | None:
        """Return the table of what each value changes in all, with a text above it and what its
        columns mean; None without a pair, or where it has no more than the comparison.
        """
        from midflight.plot.results.places import change_unit
        from midflight.sweep_effects import effect_cells, effect_notes

        if not self.has_effects or not any(
            one.combinations > 1 or one.harms for one in self.effects
        ):
            return None
        cells = effect_cells(self, unit=change_unit(self.metric))
        notes = "; ".join(effect_notes(self))
        several = any(one.combinations > 1 for one in self.effects)
        words = "Combinations with a change in either direction, and the overall change:"
        foot = f"{notes[:1].upper()}{notes[1:]}." if notes else ""
        return words if several else "Overall change:", cells, foot

    def effect_lines(self, width: int = WIDTH) -> list[str]:
        """Return the table of effects as text so wide if words can be wrapped; nothing where there
        is none.
        """
        if (found := self.effect_table()) is None:
            return []
        from midflight.sweep_effects import NO_CELL, WHERE

        words, cells, notes = found
        rows, below = fitted(cells, width), [""] * len(cells)
        if cells[0][-1] == WHERE and any(len(one) > 1 for one in rows[1:]):
            # Places are long: they stand below their lines.
            below = ["", *(one[-1] for one in cells[1:])]
            rows = fitted([one[:-1] for one in cells], width)
        lines = iter(align([line for one in rows for line in one]).splitlines())
        texts = []
        for row, place in zip(rows, below, strict=True):
            texts += [next(lines) for _ in row]
            if place not in ("", NO_CELL):
                texts.append(textwrap.indent(textwrap.fill(f"worst: {place}", width - 4), "    "))
        table = "\n".join(texts)
        return ["", words, "", table, *([textwrap.fill(notes, WIDTH)] if notes else [])]

    def unmet_notes(self) -> list[str]:
        """Return what does not measure the handoff, and what the tables leave out for that."""
        early = sum(len(one.early) for one in self.grouped)
        every = sum(len(one.runs) for one in self.grouped)
        left_out = [f"Left out: {early} of {every} flows, which were {self.early_words}."]
        is_left_out = early and not self.is_all_early
        return [*self.unmet.notes(), *(left_out if is_left_out else [])]

    def metric_notes(self) -> list[str]:
        """Return the metrics of the other kinds of flows."""
        if not self.other_metrics:
            return []
        text = f"Flows of other kinds: --metric {' or '.join(self.other_metrics)}."
        return ["", textwrap.fill(text, WIDTH)]

    def comparison_head(self, *, for_terminal: bool = True) -> str:
        """Return the description of the comparison and of the samples of its intervals, and
        `for_terminal` the options that give these.
        """
        from midflight.plot.common.names import plural_name
        from midflight.plot.results.places import change_unit
        from midflight.sweep_results import why_same

        unit, _ = change_unit(self.metric)
        difference = f"difference in {unit}" if unit else "difference"
        first = self.compared[0]
        if not self.has_pairs:
            return textwrap.fill(self._without_pairs(for_terminal=for_terminal), WIDTH)
        if not self.has_intervals:
            text = f"Against {first.baseline}: {difference}, and ratio in per cent. "
            same = [one for one in self.compared if one.is_same]
            if same:
                text += f"{why_same(same).capitalize()}, so no confidence interval."
                return textwrap.fill(text, WIDTH)
            text += "There is at most one pair of runs each, so no confidence interval; "
            pooled = [axis for axis in self.others if len(self.asked.axes[axis]) > 1]
            if not for_terminal:
                return f"{text}more runs of each give one over chance."
            if pooled:
                # The rows of several values of an axis become pairs of one row.
                keys = [axis for axis in self.by if axis != pooled[0]]
                text += f"--by {','.join(keys)} takes the {plural_name(pooled[0])} as pairs, and "
            text += "more runs (--runs N) give one over chance."
            return textwrap.fill(text, WIDTH)
        text = (
            f"Against {first.baseline}, pair by pair: mean {difference}, change of the mean in per "
            "cent, 95 % confidence intervals; pairs that miss a value are left out."
        )
        varied = [axis for axis in self.asked.axes if axis not in self.by]
        varied = [axis for axis in varied if len(self.asked.axes[axis]) > 1]
        if first.over == "runs":
            text += " Intervals are over runs, whose pairs are averaged first."
        else:
            each = joined([plural_name(one) for one in varied])
            text += (
                f" Intervals are over {each}, not over chance: too "
                "narrow where neighbours on a fine axis are alike."
            )
            if self.is_one_by_chance:
                more = " (--runs N)" if for_terminal else ""
                text += (
                    f" Each cell is one run with random events; more runs{more} show their effect."
                )
        return textwrap.fill(text, WIDTH)

    def _without_pairs(self, *, for_terminal: bool) -> str:
        """Return why no pair of the comparison counts, and what gives values."""
        first = self.compared[0]
        text = f"No pair of runs against {first.baseline} is complete, so there is no difference"
        if any(one.done_before for one in self.compared):
            lost = any(one.left_out for one in self.compared)
            why = "in each a run has no value or a flow was" if lost else "a flow of each pair was"
            return f"{text}: {why} {self.early_words}."
        end = " (--set end=TIME)" if for_terminal else ""
        later = f"; a later end of the runs{end} gives values."
        ended = [one.ended_words() for one in self.finished()]
        return f"{text}; {self.end_word} {', '.join(ended)}{later}"

    @property
    def measured(self) -> tuple[str, float]:
        """What is measured in words, after the handoff or change of the summary, and its unit."""
        from midflight.sweep_results import METRICS

        words, unit = METRICS[self.metric]
        if self.phase is not None:
            words = words.replace("the first handoff", self.which_handoff)
        return words, unit

    @property
    def early_words(self) -> str:
        """In words which flows do not measure the handoff or change of the summary."""
        return done_early(self.metric, self.which_handoff)

    @property
    def is_all_early(self) -> bool:
        """Whether all flows were done before the handoff, so that no number is about it."""
        return bool(self.grouped) and self.grouped[0].is_all_early

    @property
    def which_handoff(self) -> str:
        """Which handoff or change the summary is about."""
        scenario = {} if self.phase is None else json.loads(self.asked.scenario)
        return handoff_words(scenario, self.phase)

    @property
    def end_word(self) -> str:
        """How a list of those with a value of the metric begins."""
        return "finished:" if self.metric.endswith("_ns") else "with a value:"

    def finished(self, flow: str | None = None) -> list[Finished]:
        """Return how many runs of each compared value have a value, of a flow or of all; nothing of
        one whose flows were all done before the handoff.
        """
        place = self.by.index(str(self.asked.compare))
        found: dict[str, Finished] = {}
        for one in self.grouped:
            if one.counted and flow in (None, one.flow):
                name, runs = one.values[place], len(one.counted)
                _, done, every = found.get(name, (name, 0, 0))
                found[name] = Finished(name, done + runs - one.missing(), every + runs)
        return [*found.values()]

    @property
    def has_pairs(self) -> bool:
        """Whether any comparison has a pair of runs that both have a value."""
        return any(one.pairs for one in self.compared)

    @property
    def has_intervals(self) -> bool:
        """Whether any comparison has more than one sample, and not the same pairs."""
        return any(one.samples > 1 and not one.is_same for one in self.compared)

    def comparison_lines(
        self, unit: float, *, complete: bool = False, most: int = MOST_LINES
    ) -> list[list[str]]:
        """Return a head and a line for each comparison, at `most` so many with dots where some are
        left out (`shown`); of those that are listed for each that has `complete` pairs.
        """
        by_runs = self.compared[0].over == "runs"
        counts = ["runs", "pairs"] if by_runs else ["pairs"]
        head = ["flow", *self.others, str(self.asked.compare), *counts]
        lines = [[*head, "difference", "+-", "%", "from", "to"]]
        for one in self.shown(most):
            if one is None:
                lines.append(["..."] * len(lines[0]))
                continue
            if complete and not one.pairs:
                continue
            # Of too few the interval says nothing.
            is_none = one.is_same or one.is_hint
            line = [
                one.flow,
                *one.values,
                one.value,
                *([str(one.samples)] if by_runs else []),
                str(one.pairs),
                number(one.difference / unit),
                "-" if is_none else number(one.half_width / unit),
                per_cent(one.ratio),
                *("-" if is_none else per_cent(r) for r in (one.ratio_low, one.ratio_high)),
            ]
            lines.append(line)
        if not self.has_intervals:
            return [[*line[:-4], line[-3]] for line in lines]
        return lines

    def shown(self, most: int = MOST_LINES) -> list[Comparison | None]:
        """Return the comparisons that are listed, with None where some are left out: if there are
        too many, the first and the last of each value of a flow.
        """
        keys = [(one.flow, one.value) for one in self.compared]
        return first_and_last(self.compared, keys, most)

    def shown_groups(self, most: int = MOST_LINES) -> list[Group | None]:
        """Return the groups that are listed, likewise: those of each compared value of a flow, or,
        if nothing is compared, of each value of the axis of schemes.
        """
        from midflight.plot.common.line_looks import is_of_schemes

        named = [key for key in self.by if key == self.asked.compare or is_of_schemes(key)]
        places = [self.by.index(key) for key in (self.asked.compare, *named) if key in self.by][:1]
        keys = [(one.flow, *(one.values[place] for place in places)) for one in self.grouped]
        return first_and_last(self.grouped, keys, most)

    def left_out_groups(self, most: int = MOST_LINES) -> str:
        """Return how many groups are not listed; "" if all are."""
        shown = sum(one is not None for one in self.shown_groups(most))
        return _left_out(len(self.grouped) - shown, len(self.grouped))

    def left_out_words(self, most: int = MOST_LINES) -> str:
        """Return how many comparisons are not listed, and, if one other axis varies, which; "" if
        all are.
        """
        from midflight.plot.common.names import short_name

        there = {id(one) for one in self.shown(most)}
        left = [one for one in self.compared if id(one) not in there]
        if not left:
            return ""
        where = ""
        varied = [place for place, key in enumerate(self.others) if len(self.asked.axes[key]) > 1]
        if len(varied) == 1:
            mine: dict[tuple[str, str], list[str]] = {}
            for one in left:
                mine.setdefault((one.flow, one.value), []).append(one.values[varied[0]])
            some, *more = mine.values()
            # Unless those of each flow and value are the same, there are no common ends.
            if all(one == some for one in more):
                ends = some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}"
                where = f" ({short_name(self.others[varied[0]])}: {ends})"
        return _left_out(len(left), len(self.compared)) + where

    def comparison_foot(self, most: int = MOST_LINES) -> list[str]:
        """Return which lines and pairs were left out, and why a comparison has no numbers."""
        from midflight.sweep_results import why_same

        texts = []
        left_out = self.left_out_words(most)
        if left_out and self.has_pairs:
            texts.append(f"{left_out}; {self.file} has all, and --by AXES lists fewer.")
        early = sum(one.done_before for one in self.compared)
        if early:
            pairs = early + sum(one.pairs + one.left_out for one in self.compared)
            texts.append(
                f"{early} of {pairs} pairs are left out and counted apart: a flow was "
                f"{self.early_words}."
            )
        if lost := sum(one.left_out for one in self.compared):
            pairs = sum(one.pairs + one.left_out for one in self.compared)
            baseline, value = (
                sum(getattr(one, side) for one in self.compared)
                for side in ("baseline_missing", "value_missing")
            )
            texts.append(
                f"{lost} of {pairs} pairs are left out, as a run has no value: in {baseline} that "
                f"of {self.compared[0].baseline}, in {value} the other one."
            )
        empty = sum(one.pairs == 0 and not one.done_before for one in self.compared)
        if empty and self.has_pairs:
            texts.append(
                f"{empty} of {len(self.compared)} without a complete pair: in each one a run has "
                "no value, as what is measured did not come to its end; a later end of the run may "
                "help."
            )
        baseline = self.compared[0].baseline if self.compared else ""
        if of_zero := sum(one.is_of_zero for one in self.compared):
            is_all = not any(one.difference for one in self.compared if one.is_of_zero)
            what = "all values are" if is_all else f"the mean of {baseline} is"
            texts.append(f"{of_zero} of {len(self.compared)} have no percentage: {what} 0 there.")
        same = [one for one in self.compared if one.is_same]
        if same and self.has_intervals:
            texts.append(
                f"{len(same)} of {len(self.compared)} have no interval: {why_same(same)} there, "
                "as where nothing is random."
            )
        few = sum(one.pairs < one.left_out for one in self.compared if one.pairs)
        if few and self.has_intervals:
            texts.append(
                f"{few} of {len(self.compared)} have no interval: fewer pairs count there than are "
                "left out."
            )
        endless = sum(math.isinf(one.ratio_low) and not one.is_of_zero for one in self.compared)
        if endless:
            texts.append(
                f"{endless} of {len(self.compared)} intervals of the percentage have no ends: the "
                f"interval of the mean of {baseline} contains 0 there."
            )
        return [textwrap.fill(text, WIDTH) for text in texts]

    def over(self) -> str:
        """Return the description of the samples of the quartiles."""
        left = [axis for axis in self.asked.axes if axis not in self.by]
        if not left:
            return ", over all runs."
        if left == ["seed"]:
            return ", over all seeds and runs."
        if all(axis.endswith(".at") for axis in left):
            return ", over all handoff instants and runs."
        return ", over all values of the other axes and runs."

    def quartile_cells(self, unit: float, most: int = MOST_LINES) -> list[list[str]]:
        """Return a head and a line for each group, at `most` so many with dots where some are left
        out (`shown_groups`).
        """
        head = ["flow", *self.by, "runs", "q1", "median", "q3", "p95", "missing"]
        lines = [
            ["..."] * len(head)
            if one is None
            else [
                one.flow,
                *one.values,
                str(len(one.counted)),
                *(number(value / unit) for value in (*one.quartiles(), one.tails().p95)),
                str(one.missing()),
            ]
            for one in self.shown_groups(most)
        ]
        return [head, *lines]


class Finished(NamedTuple):
    """How many of all runs with a compared value have a value of the metric."""

    value: str
    done: int
    runs: int

    def ended_words(self) -> str:
        return f"{self.value} in {self.done or 'none'} of {self.runs} runs"


def _has_sizes(asked: Sweep, *, of_runs: bool = False) -> bool:
    """Whether flows of a sweep's scenario have sizes, with which they come to an end, or an axis
    gives them some; `of_runs` whether they still do with all axes, which may replace whole flows.
    """

    def has_end(size: str | None) -> bool:
        return size not in (None, "unlimited")

    flows, keys = json.loads(asked.scenario)["flows"], [*asked.axes]
    if of_runs:
        whole = [key for key in keys if is_whole_flow(key)]
        flows = {name: one for name, one in flows.items() if not replaced(f"flows.{name}", whole)}
        if any(has_end(one.get("size")) for key in whole for one in tables_of(asked.axes[key])):
            return True
    sizes = [value for key in keys if key.endswith(".size") for value in asked.axes[key]]
    return any(map(has_end, [*(one.get("size") for one in flows.values()), *sizes]))


def check_by(keys: Sequence[str] | None, asked: Sweep, option: str = "") -> list[str] | None:
    """Return the axes that a summary separates, and the compared one, in the order of the sweep.

    `option` is what options of the command begin with. Raises `MidflightError` for what is no axis.
    """
    if keys is None:
        return None
    for key in keys:
        if key not in asked.axes:
            accepted = ", ".join(asked.axes)
            near = did_you_mean(key, asked.axes)
            raise refusal(
                f'{option}by "{key}" is not an axis{near}; expected {accepted}',
                name=f"{option}by",
                value=key,
                accepted=accepted,
            )
    return [key for key in asked.axes if key in keys or key == asked.compare]


def check_has_measure(metric: str | None, asked: Sweep, option: str = "") -> None:
    """Raise `MidflightError` for the measure of a workload that no flow of a sweep has.

    `option` is what options of the command begin with.
    """
    from midflight.percentiles import PERCENTILES
    from midflight.sweep_results import WORKLOAD_OF

    if metric is None:
        return
    measured = PERCENTILES[metric].of if metric in PERCENTILES else metric
    workload = WORKLOAD_OF.get(measured)
    flows = json.loads(asked.scenario)["flows"].values()
    is_varied = any(key.endswith(".workload") or key.count(".") == 1 for key in asked.axes)
    if workload and not is_varied and all(one.get("workload") != workload for one in flows):
        raise refusal(
            f'{option}metric {metric} is measured on flows with workload = "{workload}", and no '
            "flow has it",
            name=f"{option}metric",
            value=metric,
            accepted=f'the measure of a workload of the flows, or one such as "{_OF_ALL}"',
        )


def _left_out(count: int, every: int) -> str:
    """In words how many of all lines are left out; "" if none are."""
    return f'{count} of {every} lines are left out where "..." is' if count else ""


def finite(value: Any) -> Any:
    """Return a value for a file: None for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float) -> str:
    """Return a number with four digits, without an exponent, or a dash where there is none."""
    if not math.isfinite(value):
        return "-"
    # Less than a nanosecond, of seconds, is 0 but for rounding.
    return f"{Decimal(f'{value:.4g}'):f}" if abs(value) >= 1e-9 else "0"


def per_cent(ratio: float) -> str:
    """Return a ratio in per cent, or a dash where there is none, or no end of its interval."""
    # Less than a tenth has no sign.
    return f"{round(100 * ratio, 1) + 0.0:.1f}" if math.isfinite(ratio) else "-"
