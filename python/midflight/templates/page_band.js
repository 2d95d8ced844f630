"use strict";
/** The band above the upper panel: the links in use, one after the other, and the handovers of their recordings. */
const Band = (() => {
/** The heights of a row of a few and of more, and of what is between the band and the panel; letters of the latter are smaller. */
const FEW = 4, ROW = 16, ROW_OF_MANY = 12, LETTERS = "9px system-ui, sans-serif", BELOW = 4;
/** Ticks of handovers that are nearer to each other, on average, could not be told apart. */
const LEAST_APART = 4;
// How much of the ink the links have; neighbours differ.
const FILLS = [.13, .25, .06, .19];

/** The runs whose links have a row: one of those that have their links in use at the same times. */
function rows(runs) {
  const each = [...new Map(runs.filter(run => run.path.links.length).map(run => [run.path, run])).values()];
  return each.length > 1 && Path.differ(runs) ? each : each.length ? [each.reduce((a, b) => b.path.end > a.path.end ? b : a)] : [];
}
const heightOf = rows => rows.length > FEW ? ROW_OF_MANY : ROW;
const height = runs => rows(runs).length ? heightOf(rows(runs)) * rows(runs).length + BELOW : 0;

/** Draws it above the upper panel; of several rows each has the marker of its line. */
function draw(at, runs) {
  const { g, X, area, view, css } = at, each = rows(runs), drawn = at.drawn.band = [];
  const isOf = each.length > 1, high = heightOf(each);
  each.forEach((run, row) => {
    const top = area.top - BELOW - high * (each.length - row), { links, handovers } = run.path, names = [...new Set(links.map(one => one[2]))].filter(Boolean);
    const found = { run: run.label, links: [], named: [], ticks: 0 };
    g.save();
    if (each.length > FEW) g.font = LETTERS;
    g.lineWidth = 1; g.textAlign = "center"; g.textBaseline = "middle"; g.strokeStyle = css.soft; g.setLineDash([]);
    for (const [from, until, name] of links) {
      if (until <= view.t0 || from >= view.t1) continue;
      const a = Math.max(X(from), area.left), b = Math.min(X(until), area.left + area.w), words = name || "no link";
      g.fillStyle = name ? css.ink : css.gap; g.globalAlpha = name ? FILLS[names.indexOf(name) % FILLS.length] : 1;
      g.fillRect(a, top, b - a, high - 2); g.globalAlpha = 1;
      if (b - a > 3) g.strokeRect(a + .5, top + .5, b - a - 1, high - 3);
      found.links.push(words);
      if (g.measureText(words).width + 6 > b - a) continue;
      g.fillStyle = css.ink; g.fillText(words, (a + b) / 2, top + high / 2 - .5);
      found.named.push(words);
    }
    const first = at.lower(handovers, view.t0), last = at.upper(handovers, view.t1);
    g.strokeStyle = css.ink; g.lineWidth = 1.2; g.beginPath();
    for (let i = first; i < last && last - first <= area.w / LEAST_APART; i++) {
      const x = X(handovers[i]);
      g.moveTo(x, top + high - 2); g.lineTo(x, top + high / 2);
      found.ticks++;
    }
    g.stroke();
    if (isOf) { g.fillStyle = g.strokeStyle = at.colour(run); g.beginPath(); at.trace(at.shape(run), area.left - 12, top + high / 2 - 1, high / 4); Shapes.fill(at, run.look); }
    g.restore();
    drawn.push(found);
  });
}

/** What of the band is at a point: a handover, or a link. */
function near(at, runs, x, y) {
  const each = rows(runs), high = heightOf(each), top = at.area.top - BELOW - high * each.length, run = each[Math.floor((y - top) / high)];
  if (!run) return null;
  const { links, handovers } = run.path, time = at.view.t0 + (x - at.area.left) / at.area.w * (at.view.t1 - at.view.t0);
  const after = at.lower(handovers, time), i = [after - 1, after].filter(k => k >= 0 && k < handovers.length && Math.abs(at.X(handovers[k]) - x) < 4)[0];
  if (i !== undefined) return { run, kind: "handover", i };
  const link = links.findIndex(([from, until]) => from <= time && time < until);
  return link < 0 ? null : { run, kind: "link", i: link };
}
const seconds = time => `${(time / 1e9).toFixed(6)} s`;
function describe({ run, kind, i }) {
  const { links, handovers } = run.path;
  if (kind === "handover") return ["Handover in the recording", `at ${seconds(handovers[i])}`];
  const [from, until, name] = links[i], count = handovers.filter(at => from <= at && at < until).length;
  const lines = [name ? `${name} is in use` : "No link", `from ${seconds(from)} to ${seconds(until)}`];
  return count ? [...lines, `${count} handover${count > 1 ? "s" : ""} in the recording`] : lines;
}

return { height, draw, near, describe };
})();
