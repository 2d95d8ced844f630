"use strict";
/** Panels below of flows with an application: a video's buffer and bit rate, a call's frames, a page's objects; and the legend of both panels. */
const Panels = (() => {

/** The places of markers along corners, about so many, beside those of `number` other lines. */
const MARKERS = 9;
/** A line through corners, which are seldom many, with markers of a look if there are other lines; `at` is what the page passes. */
function corners(at, { t, v }, yOf, look, place) {
  const { g, X, view } = at;
  const from = Math.max(0, at.upper(t, view.t0) - 1), to = Math.min(t.length, at.upper(t, view.t1) + 1);
  g.lineWidth = 1.7; g.setLineDash(look === null ? [] : at.dashOf(look)); g.beginPath();
  for (let i = from; i < to; i++) i > from ? g.lineTo(X(t[i]), yOf(v[i])) : g.moveTo(X(t[i]), yOf(v[i]));
  g.stroke(); g.setLineDash([]);
  if (look === null) return;
  const every = Math.max(1, Math.round((to - from) / MARKERS));
  g.beginPath();
  for (let i = from + place % every; i < to; i += every) at.trace(at.shapeOf(look), X(t[i]), yOf(v[i]), 4);
  Shapes.fill(at, look);
}

/** The greatest value of corners in the time shown, with those just outside. */
function highest(at, { t, v }) {
  let high = 0;
  const to = Math.min(t.length, at.upper(t, at.view.t1) + 1);
  for (let i = Math.max(0, at.upper(t, at.view.t0) - 1); i < to; i++) high = Math.max(high, v[i]);
  return high;
}

/** Stalls as bands: of one run over the whole height, of several as a strip for each. */
function stalls(at, run, place, count) {
  const { g, X, area } = at, height = count > 1 ? Math.min(9, area.h2 / count) : area.h2;
  const y = area.y2 + area.h2 - height * (place + 1);
  g.save();
  for (const [from, until] of run.stalls) {
    const x = X(from), width = Math.max(1.5, X(until) - x);
    g.globalAlpha = .2; g.fillRect(x, y, width, height);
    // Hatched, so that it is no link that is missing.
    g.globalAlpha = .8; g.lineWidth = 1; g.save();
    g.beginPath(); g.rect(x, y, width, height); g.clip();
    g.beginPath();
    for (let k = Math.floor((x - height) / 8) * 8; k < x + width; k += 8) { g.moveTo(k, y + height); g.lineTo(k + height, y); }
    g.stroke(); g.restore();
  }
  g.restore();
}

const longest = run => run.frames.took.reduce((a, b) => Math.max(a, b), 0);
const usual = run => {
  const each = Float64Array.from(run.frames.took).sort();
  return each.length ? each[each.length >> 1] : 0;
};

const STANDS_STILL = "playback stands still (rebuffering)";

/** What a panel of an application needs: which runs have it, its axis, how a run is drawn, and what is near a point. */
const KINDS = {
  buffer: {
    has: run => Boolean(run.buffer), rows: Events.OF_REQUESTS,
    axis: (at, runs) => ({ title: "video in the buffer (s)", most: Math.max(1, ...runs.map(run => highest(at, run.buffer))) }),
    draw(at, run, yOf, isFirst, isAlone, place, count) {
      stalls(at, run, place, count);
      corners(at, run.buffer, yOf, count > 1 ? run.look : null, place);
    },
    things: run => run.stalls.map(([from, until], i) => ({ kind: "stall", i, from, until })),
    marks: [["line", "seconds of video in the buffer"], ["hatch", STANDS_STILL, run => run.stalls.length]],
  },
  frames: {
    has: run => Boolean(run.frames), log: true,
    axis(at, runs) {
      const most = Math.max(1, ...runs.map(longest), ...runs.map(run => 1.1 * (run.frames.deadline || 0)));
      const least = Math.min(...runs.map(run => run.frames.took.reduce((a, b) => Math.min(a, b), Infinity)));
      return { title: "frame delay (ms)", least, most, isLog: most > 12 * Math.max(...runs.map(usual)) };
    },
    draw(at, run, yOf, isFirst, isAlone, place, count) {
      // Runs that do the same cover each other: the first ones are a little larger.
      const larger = .6 * (count - 1 - place);
      const { g, X, area, css } = at, { made, took, late, lost, deadline } = run.frames;
      const [a, b] = [at.lower(made, at.view.t0), at.upper(made, at.view.t1)];
      const many = b - a > 1500;
      if (deadline && !place) {
        g.save();
        g.strokeStyle = g.fillStyle = css.ink; g.lineWidth = 1.2; g.setLineDash([8, 3, 2, 3]); g.beginPath();
        g.moveTo(area.left, yOf(deadline)); g.lineTo(area.left + area.w, yOf(deadline)); g.stroke();
        g.textAlign = "right"; g.textBaseline = "bottom";
        g.fillText(`deadline ${deadline} ms`, area.left + area.w - 4, yOf(deadline) - 2);
        g.restore();
      }
      g.beginPath();
      let lastX = -1, lastY = -1;
      for (let i = a; i < b; i++) {
        if (late[i]) continue;
        const x = Math.round(X(made[i])), y = Math.round(yOf(took[i]));
        if (x === lastX && y === lastY) continue;
        at.trace(many ? "square" : at.shape(run), lastX = x, lastY = y, larger + (many ? 1.4 : 2.2));
      }
      g.fill();
      // A late frame is what one looks for: larger, above, of a single line red as in figures, of several in the colour of its line, and hollow as its marker. None hides that of another line.
      g.save(); g.lineWidth = 1.2; g.beginPath();
      if (count === 1) g.strokeStyle = g.fillStyle = css.late;
      for (let i = a; i < b; i++) if (late[i]) at.trace("up", X(made[i]), yOf(took[i]), 4 + larger);
      if (at.isFilled(run.look)) g.fill();
      g.stroke(); g.restore();
      g.lineWidth = 1.6; g.beginPath();
      for (const time of lost) if (time >= at.view.t0 && time <= at.view.t1) at.trace("cross", X(time), lostFrame(at, run), 3.6);
      g.stroke();
    },
    things: (run, yOf) => [...Array.from(run.frames.made, (from, i) => ({ kind: "frame", i, from, y: yOf(run.frames.took[i]) })),
      ...Array.from(run.frames.lost, (from, i) => ({ kind: "frameLost", i, from }))],
    marks: [["shape", "frame in time"], ["up", "late: after its deadline", run => run.frames.late.includes(1)],
      ["cross", "not read (at the lower edge)", run => run.frames.lost.length], ["deadline", "deadline", run => run.frames.deadline]],
  },
  objects: {
    has: run => Boolean(run.objects), rows: [...Events.AT_TIMEOUTS, ...Events.OF_REQUESTS],
    // Those of all connections of the page.
    toldBy: run => run.objects,
    axis(at, runs) {
      // Those that are seen.
      const { t0, t1 } = at.view, isSeen = ({ begin, end }, i) => begin[i] <= t1 && (end[i] < 0 || end[i] >= t0);
      const count = 1 + Math.max(...runs.map(({ objects }) => objects.number.reduce((a, b, i) => isSeen(objects, i) ? Math.max(a, b) : a, 0)));
      return { title: "object of the page", most: count / 1.1, down: true };
    },
    draw(at, run, yOf, isFirst, isAlone, place, count) {
      const { g, X } = at, slot = Math.abs(yOf(1) - yOf(0)), height = Math.max(1, .8 * slot / count);
      run.objects.number.forEach((number, i) => {
        const { y, x, width } = bar(at, run, i, yOf, place, count);
        g.globalAlpha = run.objects.end[i] < 0 ? .35 : .85;
        g.fillRect(x, y, width, height);
        g.globalAlpha = 1;
        if (run.objects.end[i] < 0) { g.lineWidth = 1.6; g.beginPath(); at.trace("cross", X(run.end), y + height / 2, 3.6); g.stroke(); }
      });
    },
    things: (run, yOf) => Array.from(run.objects.number, (number, i) => ({ kind: "object", i, from: run.objects.begin[i],
      until: run.objects.end[i] < 0 ? run.end : run.objects.end[i], y: yOf(number + .5) })),
    marks: [["bar", "object, from its request until it is read; number 0 is the document"], ["cross", "not read", run => run.objects.end.some(one => one < 0)]],
  },
  bitrate: {
    has: run => Boolean(run.bitrate), log: true, rows: Events.OF_REQUESTS,
    axis: (at, runs) => ({ title: "video bit rate (Mbit/s)", most: Math.max(...runs.map(run => highest(at, run.bitrate))),
      least: Math.min(...runs.map(run => run.bitrate.v.reduce((a, b) => Math.min(a, b)))) }),
    draw(at, run, yOf, isFirst, isAlone, place, count) {
      stalls(at, run, place, count);
      Lines.own(at, run, run.bitrate, yOf, endOf(run.bitrate));
    },
    // What stands still is told beside the buffer.
    things: () => [],
    marks: [["line", "bit rate of the segment of video, from its request"], ["hatch", STANDS_STILL, run => run.stalls.length]],
    tell: (at, run, time) => run.bitrate.t[0] <= time && time <= endOf(run.bitrate) ? [`${run.label}: ${+at.at(run.bitrate, time).toPrecision(4)} Mbit/s`] : [],
  },
};
const endOf = ({ t }) => t[t.length - 1];

/** The height at which the crosses of a run's lost frames are: a row for each run. */
const lostFrame = (at, run) => at.area.y2 + at.area.h2 - 6 - 9 * at.place(run);

/** Where the bar of an object is. */
function bar(at, run, i, yOf, place, count) {
  const { begin, end, number } = run.objects, slot = Math.abs(yOf(1) - yOf(0));
  const x = at.X(begin[i]), until = at.X(end[i] < 0 ? run.end : end[i]);
  return { x, y: yOf(number[i]) + slot * (.1 + .8 * place / count), width: Math.max(1.5, until - x) };
}

/** Where a thing of an application is, and how far from a point. */
function reach(at, run, below, thing) {
  const x0 = at.X(thing.from), x1 = at.X(thing.until === undefined ? thing.from : thing.until);
  const y = thing.y === undefined ? lostFrame(at, run) : thing.y;
  return { x0, x1, y, any: thing.kind === "stall" };
}
/** The thing nearest to a point, no further than `least`. */
function near(at, runs, below, x, y, least) {
  let best = null;
  for (const run of runs) {
    for (const thing of KINDS[below].things(run, at.yOf)) {
      const place = reach(at, run, below, thing), dx = Math.max(0, place.x0 - x, x - place.x1);
      const far = Math.hypot(dx, place.any ? 0 : place.y - y);
      if (far < least) { least = far; best = { run, kind: thing.kind, i: thing.i, below }; }
    }
  }
  return best;
}
/** The kind of the panel that has a thing. */
const kindOf = ({ kind }) => ({ stall: "buffer", object: "objects" })[kind] || "frames";
/** Where the mark of a thing is put. */
function placeOf(at, { run, kind, i }) {
  const below = kindOf({ kind });
  const thing = KINDS[below].things(run, at.yOf).find(one => one.kind === kind && one.i === i);
  const { x0, x1, y } = reach(at, run, below, thing);
  return [kind === "frame" || kind === "frameLost" ? x0 : (x0 + x1) / 2, y];
}

const seconds = time => `${(time / 1e9).toFixed(6)} s`;

/** What is said of a thing of an application. */
function describe({ run, kind, i }) {
  if (kind === "stall") {
    const [from, until] = run.stalls[i];
    return [`Playback stands still ${Data.aside(run.label)}`, `from ${seconds(from)} to ${seconds(until)}`, `for ${seconds(until - from)}`];
  }
  if (kind === "frameLost") return [`Frame not read ${Data.aside(run.label)}`, `made ${seconds(run.frames.lost[i])}`];
  if (kind === "frame") {
    const { made, took, late } = run.frames;
    return [`Frame, ${late[i] ? "late" : "in time"} ${Data.aside(run.label)}`, `made ${seconds(made[i])}`, `read ${took[i].toFixed(3)} ms later`];
  }
  const { begin, end, number } = run.objects;
  const lines = [`${number[i] ? `Object ${number[i]}` : "Document"} of the page ${Data.aside(run.label)}`, `requested ${seconds(begin[i])}`];
  return [...lines, end[i] < 0 ? "not read" : `read ${seconds(end[i])}, after ${seconds(end[i] - begin[i])}`];
}

/** A sample of a line for the legend. */
function line(dash, width, stroke) {
  return `<svg width="26" height="14" aria-hidden="true"><path d="M1 7h24" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-dasharray="${dash}"/></svg>`;
}
/** A sample of an area for the legend. */
function swatch(fill, stroke, opacity = stroke ? .2 : 1, down = false) {
  const hatch = stroke ? `<path d="${down ? "M0 0L13 13M8 0L21 13M16 0L26 10" : "M0 13L13 0M8 13L21 0M16 13L26 3"}" stroke="${stroke}" stroke-width="1"/>` : "";
  return `<svg width="26" height="14" aria-hidden="true"><rect width="26" height="14" fill="${fill}" fill-opacity="${opacity}"/>${hatch}</svg>`;
}

/** What the mark of a legend looks like. */
function sample(mark, icon, shape, isAlone) {
  const ink = mark === "up" && isAlone ? "var(--late)" : "currentColor", dashed = { line: ["", 2], dashes: ["7 4", 1.5], dots: ["1.5 2", 1.5], deadline: ["8 3 2 3", 1.4],
    made: ["", 1.6], unlinked: ["6 3", 1.2], noticed: ["2 3", 1.2] }[mark];
  if (dashed) return line(...dashed, ink);
  if (mark === "gap") return swatch("var(--gap)", "var(--gap-lines)", 1);
  if (mark === "RTO" || mark === "FR") return `<svg width="${8 * mark.length + 4}" height="14" aria-hidden="true"><text x="1" y="11" font-size="11" fill="${ink}">${mark}</text></svg>`;
  if (mark === "lacks") return `<svg width="26" height="14" aria-hidden="true"><rect y="5" width="26" height="4" fill="${ink}" fill-opacity=".5"/></svg>`;
  if (mark === "band") return swatch(ink, "", .25);
  if (mark === "near") return line("", 3, "var(--soft)");
  if (mark === "outage") return swatch("var(--outage)", "var(--back)", 1, true);
  if (mark === "lacking") return swatch("none", "var(--soft)");
  if (mark === "hatch") return swatch(ink, ink);
  if (mark === "bar") return `<svg width="26" height="14" aria-hidden="true"><rect y="3" width="26" height="8" fill="${ink}"/></svg>`;
  if (mark === "link") return swatch(ink, "", .2);
  const hollow = mark === "again" || mark === "spurious" || mark === "undone" || mark === "flag";
  return icon({ shape, again: shape, ...Events.SHAPES }[mark] || mark, hollow ? "none" : ink, ink);
}

/**
 * The legend of the marks that the runs have: a row for the upper panel, and one for those below, of which several have their `name`. `of` names the
 * flow whose packets are shown, if there are others; `own` are marks of a panel below by their pictures, `differ` is whether the times
 * without a link are those of single lines, `hasBars` whether outages are bars, and `alone` whether a panel has a single line. `words` are those of events, which are
 * explained once.
 */
function legend(runs, panels, { icon, shape, of, differ, hasBars, words }) {
  const some = of => runs.some(of), moment = kind => some(run => run.moments.some(m => m[1] === kind));
  const above = [["shape", "segment sent"], ["again", "sent again", some(run => run.copies.size)], ["probe", "probe of a closed window", some(run => run.kind.includes(2))],
    ["dash", "ACK"], ...Events.LOSSES.map(one => [one, words[one], some(run => Events.lost(run, one))]), ["marked", words.marked, some(run => run.marked.t.length)],
    ["tick", "handover in the recording", some(run => run.path.handovers.length)],
    ["made", "link in use from here", moment("make")], ["unlinked", "link lost", moment("break")], ["gap", "no link", !differ && moment("break")],
    ["outage", "outage (rate of 0)", !differ && some(run => run.outages.length)],
    ["lacking", "no rows in the recording", Path.holes(runs).length > 0],
    ["lacks", "outage of a line", hasBars], ["noticed", "notice to the sender", moment("notice")], ["near", "all packets are there", some(run => run.near.length)],
    // They stand last, as they are shown only while such a name is drawn.
    ["RTO", "sent again after a timeout", some(run => run.timeouts.length)],
    ["FR", "fast retransmit", some(run => run.notes.some(n => n[1] === "fast_retransmit"))]];
  const spans = all => all.filter(([, , there]) => there === undefined || there).map(([mark, text]) => `<span data-mark="${mark}">${sample(mark, icon, shape, runs.length === 1)}${escaped(text)}</span>`);
  const below = panels.flatMap(({ name, own, alone, has, marks }) => [...(name ? [`<i>${escaped(name)}:</i>`] : []),
    ...own.map(([picture, text]) => `<span>${picture}${escaped(text)}</span>`),
    ...spans(marks.map(([mark, text, there]) => [mark, text.replace("{of}", of && ` (${of})`).replace("{way}", runs[0].path.way), !there || some(run => has(run) && there(run, alone))]))]);
  const events = [...new Set(panels.flatMap(({ rows, told }) => rows || told || []))].map(one => [one, words[one], some(run => [run, run.objects].some(told => told && (told.events[one] || []).length))]);
  const ends = spans([...events, ["flag", "order of a policy", some(run => run.orders.length)]]);
  if (ends.length && panels.length > 1) ends.unshift("<i>marks:</i>");
  return `<div><b>Above</b>${spans(above).join("")}</div><div><b>Below</b>${[...below, ...ends].join("")}</div>`;
}
const escaped = text => text.replace(/[&<]/g, one => one === "&" ? "&amp;" : "&lt;");

return { KINDS, describe, near, kindOf, placeOf, legend };
})();
