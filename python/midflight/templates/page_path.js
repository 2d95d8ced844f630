"use strict";
/** What happens to the paths of runs: times without a link, outages of recordings, and handoffs. `at` is what the page passes. */
const Path = (() => {
/** So many handoffs and changes are marked one by one. */
const MOST_MARKS = 60;

/** From when to when a path has no link. */
function gaps({ moments }, end) {
  const found = [];
  let broken = null;
  for (const [time, kind] of moments) {
    if (kind === "break") broken ??= time;
    if (kind === "make" && broken !== null) { found.push([broken, time]); broken = null; }
  }
  return broken === null ? found : [...found, [broken, end]];
}

let asked = "", answer = false;
/** Whether runs have links, or outages, at different times, as long as all of them last. */
function differ(runs) {
  const key = runs.map(run => run.number).join();
  if (key === asked) return answer;
  asked = key;
  const until = Math.min(...runs.map(run => run.path.end)), paths = new Set(runs.map(run => run.path));
  const each = [...paths].map(path => JSON.stringify([path.moments.filter(m => m[1] !== "notice"), path.outages]
    .map(all => all.filter(one => one[0] <= until))));
  return answer = new Set(each).size > 1;
}

/** What happens to the path in runs; the same thing once, with the run if it happens in one alone. */
function moments(runs) {
  const found = new Map();
  for (const run of runs) {
    for (const [time, kind, label] of run.moments) {
      const key = `${time} ${kind} ${label}`, same = found.get(key);
      if (!same) found.set(key, { time, kind, label, run }); else if (same.run && same.run.path !== run.path) same.run = null;
    }
  }
  return [...found.values()].sort((a, b) => a.time - b.time);
}

const panels = ({ area }) => area.panels;
const seen = ({ view }, spans) => spans.filter(([from, to]) => to > view.t0 && from < view.t1);
const ends = ({ X, area }, [from, to]) => [Math.max(X(from), area.left), Math.min(X(to), area.left + area.w)];

/** The times without rows in the recordings, if they are those of all runs. */
function holes(runs) {
  const each = new Set(runs.map(run => JSON.stringify(run.path.holes)));
  return each.size === 1 ? runs[0].path.holes : [];
}

/** Shades the times without a link or in an outage, of all runs, as figures do: the lines of the latter go down. */
function shade(at, gaps, outages) {
  const { g, css } = at;
  g.lineWidth = 1; g.setLineDash([]);
  for (const [spans, isOutage] of [[gaps, false], [outages, true]]) {
    g.fillStyle = isOutage ? css.outage : css.gap; g.strokeStyle = isOutage ? css.back : css["gap-lines"];
    for (const span of seen(at, spans)) {
      const [a, b] = ends(at, span);
      for (const [y, h] of b > a ? panels(at) : []) { g.fillRect(a, y, b - a, h); Shapes.hatch(g, a, y, b - a, h, isOutage); }
    }
  }
}
/** Hatches the times for which a recording has no rows; those that lack only a few where that is wide enough to be seen. */
function lacking(at, holes) {
  const { g, css } = at;
  g.strokeStyle = css.soft; g.lineWidth = .5; g.setLineDash([]);
  for (const [from, until, isShort] of holes) {
    const [a, b] = ends(at, [from, until]);
    if (b - a >= (isShort ? 3 : 0)) for (const [y, h] of panels(at)) Shapes.hatch(g, a, y, b - a, h);
  }
}
/** The paths of which there are bars: they differ, and some have outages. The bands have the times without a link. */
function barred(runs) {
  const found = [...new Set(runs.map(run => run.path))];
  return differ(runs) && found.some(path => path.outages.length) ? found : [];
}
/** Draws outages, if paths differ, as bars at the upper edge of all panels, in a row and in the colour of each run. */
function bars(at, runs) {
  at.drawn.bars = [];
  barred(runs).forEach((path, row) => bar(at, runs.find(run => run.path === path), row, path.outages));
}
/** Their height. */
function heightOfBars(runs) {
  const count = barred(runs).length;
  return count ? 4 + 6 * count : 0;
}
function bar(at, run, row, spans) {
  const { g } = at;
  g.save();
  for (const span of seen(at, spans)) {
    const [a, b] = ends(at, span);
    for (const [colour, alpha] of [[at.css.back, 1], [at.colour(run), .5]]) {
      g.fillStyle = colour; g.globalAlpha = alpha;
      for (const [y] of panels(at)) g.fillRect(a, y + 2 + 6 * row, Math.max(1, b - a), 4);
    }
    at.drawn.bars.push([run.label, ...span]);
  }
  g.restore();
}

/** Marks a time with many handoffs and changes. */
function many({ g, X, area, css, drawn }, makes, above) {
  const from = X(makes[0].time), to = X(makes[makes.length - 1].time), words = `${makes.length} handoffs or changes: zoom in to see them`;
  g.fillStyle = css.soft; g.fillRect(from, above - 2, to - from, 2);
  g.fillStyle = css.ink; g.textAlign = "center"; g.textBaseline = "bottom"; g.fillText(words, (from + to) / 2, above - 4);
  drawn.moments.push(words);
}

/** Draws all of it behind the panels. */
function draw(at, runs, end) {
  const { g, X, area, view, css, drawn } = at, isOwn = differ(runs), spans = new Map();
  Object.assign(drawn, { gaps: [], outages: [], moments: [], holes: seen(at, holes(runs)) });
  for (const path of new Set(runs.map(run => run.path))) {
    drawn.gaps.push(...gaps(path, end));
    for (const span of path.outages) spans.set(span.join(), span);
  }
  drawn.outages = seen(at, [...spans.values()]);
  if (!isOwn) shade(at, drawn.gaps, drawn.outages);
  lacking(at, drawn.holes);
  const found = moments(runs).filter(m => m.time >= view.t0 && m.time <= view.t1), makes = found.filter(m => m.kind === "make");
  const above = area.top - Band.height(runs), levels = [[], []];
  if (makes.length > MOST_MARKS) return many(at, makes, above);
  g.textBaseline = "bottom"; g.textAlign = "center";
  for (const kind of ["make", "break", "notice"]) {
    for (const m of found.filter(one => one.kind === kind)) {
      const x = Math.round(X(m.time)) + .5;
      g.strokeStyle = isOwn && m.run ? at.colour(m.run) : css.soft; g.fillStyle = css.ink;
      g.setLineDash({ make: [], break: [6, 3], notice: [2, 3] }[kind]); g.lineWidth = kind === "make" ? 1.4 : 1;
      g.beginPath();
      for (const [y, h] of panels(at)) { g.moveTo(x, y); g.lineTo(x, y + h); }
      g.stroke();
      const half = g.measureText(m.label).width / 2 + 4, middle = Math.min(Math.max(x, half), area.width - half);
      const level = levels.findIndex(l => l.every(([a, b]) => middle + half < a || middle - half > b));
      drawn.moments.push(m.label);
      if (level < 0) continue;
      levels[level].push([middle - half, middle + half]);
      g.fillText(m.label, middle, above - 3 - 14 * level);
    }
  }
  g.setLineDash([]);
}

let gone = null;
/**
 * The next or the previous handoff or outage of runs, or handover of a recording if there are neither: after the one that was found last, if that is in the view, or else from the
 * view's beginning or end.
 */
function next({ view }, runs, forward) {
  const outages = runs.flatMap(run => run.outages.map(([time]) => ({ time, label: differ(runs) ? `outage of ${run.label}` : "outage" })));
  const handovers = runs.flatMap(run => Array.from(run.path.handovers, time => ({ time, label: "handover in the recording" })));
  const first = [...moments(runs).filter(m => m.kind !== "notice"), ...outages], all = (first.length ? first : handovers).sort((a, b) => a.time - b.time);
  const isSeen = gone !== null && gone >= view.t0 && gone <= view.t1;
  const found = forward ? all.find(m => isSeen ? m.time > gone : m.time >= view.t0) || all[0]
    : all.findLast(m => isSeen ? m.time < gone : m.time <= view.t1) || all[all.length - 1];
  gone = found ? found.time : null;
  return found;
}
const forget = () => { gone = null; };
/** What `next` finds, for its button; nothing if it finds none. */
function word(runs) {
  if (runs.some(run => run.moments.some(m => m[1] !== "notice"))) return "handoff";
  return runs.some(run => run.outages.length) ? "outage" : runs.some(run => run.path.handovers.length) ? "handover" : "";
}

return { differ, gaps, hasBars: runs => barred(runs).length > 0, moments, holes, draw, bars, heightOfBars, next, forget, word };
})();
