"use strict";
/** The names of timeouts and fast retransmits beside their segments, where they cover nothing. */
const Names = (() => {
/** A run with more of them in the view has none of them named. */
const MOST = 16;
/** From a segment to its name in pixels, the first ones preferred: farther and farther below to the right, above to the left, and at the other sides. */
const BESIDE = [13, 27, 41, 60, 85].flatMap(far => [8, .8 * far, 1.6 * far].flatMap(aside => [[aside, far], [-aside, -far], [aside, -far], [-aside, far]]));
/** The side of the cells in which the panel is free or not, and half of the size of a mark. */
const CELL = 3, MARK = 4;

/** Which cells of the upper panel have packets or upright lines, with a count of all those left of and above each. */
function occupied(at, runs, moments, Y) {
  const { X, area, view } = at, wide = Math.ceil(area.w / CELL) + 1, high = Math.ceil(area.h1 / CELL) + 1;
  const taken = new Uint8Array(wide * high), cell = value => Math.floor(value / CELL);
  const mark = (x, y) => {
    if (y < area.top || y > area.top + area.h1) return;
    const [left, right, top, bottom] = [x - area.left - MARK, x - area.left + MARK, y - area.top - MARK, y - area.top + MARK].map(cell);
    for (let row = Math.max(0, top); row <= Math.min(high - 1, bottom); row++) taken.fill(1, row * wide + Math.max(0, left), row * wide + Math.min(wide - 1, right) + 1);
  };
  for (const run of runs) {
    for (const [times, values] of [[run.sent, run.segment], [run.ack, run.acked]]) {
      let lastX = -1, lastY = -1;
      for (let i = at.lower(times, view.t0), end = at.upper(times, view.t1); i < end; i++) {
        const x = Math.round(X(times[i])), y = Math.round(Y(values[i]));
        if (x !== lastX || y !== lastY) mark(lastX = x, lastY = y);
      }
    }
    for (let k = at.lower(run.lostAt, view.t0), end = at.upper(run.lostAt, view.t1); k < end; k++) mark(X(run.lostAt[k]), Y(run.segment[run.lost[k]]));
  }
  for (const { time } of moments) {
    if (time < view.t0 || time > view.t1) continue;
    const column = Math.min(wide - 1, Math.max(0, cell(X(time) - area.left)));
    for (let row = 0; row < high; row++) taken[row * wide + column] = 1;
  }
  const sums = new Int32Array((wide + 1) * (high + 1));
  for (let row = 0; row < high; row++) {
    for (let column = 0, sum = 0; column < wide; column++) {
      sum += taken[row * wide + column];
      sums[(row + 1) * (wide + 1) + column + 1] = sums[row * (wide + 1) + column + 1] + sum;
    }
  }
  /** Whether a box is free. */
  return ({ left, top, right, bottom }) => {
    const [a, b] = [left, right].map(x => Math.min(wide - 1, Math.max(0, cell(x - area.left)))), [c, d] = [top, bottom].map(y => Math.min(high - 1, Math.max(0, cell(y - area.top))));
    const sum = (row, column) => sums[row * (wide + 1) + column];
    return sum(d + 1, b + 1) - sum(c, b + 1) - sum(d + 1, a) + sum(c, a) === 0;
  };
}

const overlap = (one, two) => one.left < two.right && two.left < one.right && one.top < two.bottom && two.top < one.bottom;
/** Whether two lines cross each other. */
function cross([a, b, c, d], [p, q, r, s]) {
  const side = (x0, y0, x1, y1, x, y) => Math.sign((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0));
  return side(a, b, c, d, p, q) * side(a, b, c, d, r, s) < 0 && side(p, q, r, s, a, b) * side(p, q, r, s, c, d) < 0;
}
/** Whether a line crosses a box: one of its diagonals, or it ends within. */
function crosses(line, { left, right, top, bottom }) {
  const isIn = (x, y) => x > left && x < right && y > top && y < bottom;
  return isIn(line[0], line[1]) || isIn(line[2], line[3]) || cross(line, [left, top, right, bottom]) || cross(line, [left, bottom, right, top]);
}

/** Writes the names and returns their boxes; what has no room is left out. `at` is what the page passes, `Y` the height of a segment. */
function write(at, runs, moments, Y) {
  const { g, X, area, view } = at, found = [];
  const each = runs.map(run => [run, run.notes.filter(n => (n[1] === "rto" || n[1] === "fast_retransmit") && n[0] >= view.t0 && n[0] <= view.t1 && n[2] >= view.s0 && n[2] <= view.s1)])
    .filter(([, notes]) => notes.length && notes.length <= MOST);
  if (!each.length) return found;
  const isFree = occupied(at, runs, moments, Y);
  g.textAlign = "left"; g.textBaseline = "middle"; g.lineWidth = 1;
  for (const [run, notes] of each) {
    g.fillStyle = g.strokeStyle = at.colour(run);
    for (const [time, event, segment] of notes) {
      const x = X(time), y = Y(segment), text = event === "rto" ? "RTO" : "FR", width = g.measureText(text).width;
      for (const [dx, dy] of BESIDE) {
        const left = x + dx - (dx > 0 ? 0 : width), box = { left: left - 2, top: y + dy - 7, right: left + width + 2, bottom: y + dy + 7 };
        const line = [x, y, x + dx, y + dy - 6 * Math.sign(dy)];
        if (box.left < area.left || box.right > area.left + area.w || box.top < area.top || box.bottom > area.top + area.h1) continue;
        if (!isFree(box) || found.some(one => overlap(one, box) || crosses(line, one) || crosses(one.line, box) || cross(line, one.line))) continue;
        found.push({ ...box, text, line });
        g.fillText(text, left, y + dy);
        g.globalAlpha = .6; g.beginPath(); g.moveTo(line[0], line[1]); g.lineTo(line[2], line[3]); g.stroke(); g.globalAlpha = 1;
        break;
      }
    }
  }
  return found;
}

return { write };
})();
