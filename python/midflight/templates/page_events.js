"use strict";
/** What happens to packets, and timeouts, with the marks that they have in figures (`EVENTS` of midflight/plot/over_time/marks.py). */
const Events = (() => {
const LOSSES = ["full", "broken", "radio", "node", "early"], TIMEOUTS = ["timeout", "spurious"], AT_TIMEOUTS = [...TIMEOUTS, "undone"];
/** Times that are lines with ends, and what a panel of an application has of its requests. */
const LASTING = ["stalled", "unheard"], OF_REQUESTS = ["unheard", "request_timeout"];
const SHAPES = { full: "cross", broken: "slashes", radio: "asterisk", node: "fork", early: "wye", marked: "plus", timeout: "down", spurious: "down", undone: "caret", request_timeout: "lidded", stalled: "span", unheard: "gaps" };
const CAUSES = { queue: "full", break: "broken", radio: "radio", early: "early", node: "node" };

/** The kind of a loss, of a text that ends with its cause (`lost lte queue`). */
const lossOf = text => CAUSES[text.slice(text.lastIndexOf(" ") + 1)];
/** Whether a run lost something, a segment or an ACK, in this way. */
const lost = (run, kind) => run.lost.some(i => lossOf(run.ends[run.how[i]]) === kind) || run.ackLost.some(one => lossOf(one[2]) === kind);

/** A row of a panel has no more than this height, and all of them no more than this share of the panel. */
const HIGHEST = 14, SHARE = .34;
/** Marks of a kind that are nearer to each other, in pixels, could not be told apart. */
const LEAST_APART = 3;
/**
 * The rows of marks above the lines of a panel: of several runs one for each, of a single one as `order` says, which has a row for
 * each kind of event. `toldBy` is what has the events of a run.
 */
function rows(runs, kinds, order, toldBy = run => run) {
  const there = run => kinds.filter(kind => (toldBy(run).events[kind] || []).length);
  if (runs.length > 1) return runs.map(run => ({ run, told: toldBy(run), kinds: there(run) })).filter(row => row.kinds.length);
  const found = new Map();
  for (const run of runs) for (const kind of there(run)) found.set(order[kind], [...(found.get(order[kind]) || []), kind]);
  return [...found].sort(([a], [b]) => a - b).map(([, those]) => ({ run: runs[0], told: toldBy(runs[0]), kinds: those }));
}
const heightOf = (rows, height) => rows.length ? Math.min(HIGHEST, SHARE * height / rows.length) : 0;

/** Draws times in which nothing, or no request, arrives, as lines with ends. */
function spans(at, told, kind, y) {
  const { g, X, view } = at;
  g.lineWidth = 1; g.beginPath();
  for (const [from, until] of told.lasting[kind]) {
    if (until < view.t0 || from > view.t1) continue;
    g.setLineDash(kind === "unheard" ? [4, 2.5] : []);
    g.moveTo(X(from), y); g.lineTo(X(until), y); g.stroke(); g.setLineDash([]); g.beginPath();
    for (const x of [X(from), X(until)]) { g.moveTo(x, y - 3); g.lineTo(x, y + 3); }
  }
  g.stroke(); g.lineWidth = 1.4;
}

/** Draws rows of these heights from `top` on; marks that cover each other once. */
function draw(at, rows, top, height) {
  const { g, X, view, css } = at, size = Math.min(3.6, .36 * height);
  rows.forEach(({ run, told, kinds }, place) => {
    g.strokeStyle = at.colour(run); g.lineWidth = 1.4;
    for (const kind of kinds) {
      if (LASTING.includes(kind)) { spans(at, told, kind, top + height * (place + .5)); continue; }
      const times = told.events[kind], to = at.upper(times, view.t1);
      g.fillStyle = kind === "spurious" ? css.back : at.colour(run);
      g.beginPath();
      let last = -Infinity;
      for (let i = at.lower(times, view.t0); i < to; i++) {
        const x = X(times[i]);
        if (x - last < LEAST_APART) continue;
        at.trace(SHAPES[kind], last = x, top + height * (place + .5), kind === "timeout" ? size + 1.2 : size);
      }
      if (TIMEOUTS.includes(kind) || kind === "request_timeout") g.fill();
      // Two that touch each other are seen as two.
      g.save();
      if (kind === "timeout") { g.strokeStyle = css.back; g.lineWidth = 1; }
      g.stroke(); g.restore();
    }
  });
}
/** The mark nearest to a point in such rows, no further than `least`. */
function near(at, rows, top, height, x, y, least) {
  let best = null;
  rows.forEach(({ run, told, kinds }, place) => {
    const dy = top + height * (place + .5) - y;
    for (const of of kinds) {
      if (LASTING.includes(of)) {
        told.lasting[of].forEach(([from, until], i) => {
          const far = Math.hypot(Math.max(0, at.X(from) - x, x - at.X(until)), dy);
          // A timeout in it is nearer.
          if (far + 2 < least) { least = far + 2; best = { run, told, kind: "event", of, i, y: dy + y, below: true }; }
        });
        continue;
      }
      const times = told.events[of], after = at.lower(times, at.view.t0 + (x - at.area.left) / at.area.w * (at.view.t1 - at.view.t0));
      for (const i of [after - 1, after]) {
        const far = i >= 0 && i < times.length ? Math.hypot(at.X(times[i]) - x, dy) : Infinity;
        if (far < least) { least = far; best = { run, told, kind: "event", of, i, y: dy + y, below: true }; }
      }
    }
  });
  return best;
}

return { LOSSES, TIMEOUTS, AT_TIMEOUTS, LASTING, OF_REQUESTS, SHAPES, lossOf, lost, rows, heightOf, draw, near };
})();
