"use strict";
/** The shapes of things on the graph and in its legend; each means one thing. */
const Shapes = (() => {
// Of lines, by their looks: the markers of figures (`SERIES` of midflight/plot/style.py). Flags are orders, triangles timeouts or late
// frames, crosses losses and dashes ACKs.
const ofLooks = ["circle", "square", "diamond", "pentagon", "tie", "star", "hexagon", "upright", "flat"];

// Shapes with straight sides, by their corners around (0, 0).
const around = (count, far, turn = 0) => Array.from({ length: count }, (_, i) => [far(i) * Math.sin((i / count + turn) * 2 * Math.PI),
  -far(i) * Math.cos((i / count + turn) * 2 * Math.PI)]);
const box = (a, b) => [[-a, -b], [a, -b], [a, b], [-a, b]];
const CORNERS = { square: box(.9, .9), upright: box(.5, 1.2), flat: box(1.2, .5), diamond: around(4, () => 1.25), pentagon: around(5, () => 1.2),
  hexagon: around(6, () => 1.2, 1 / 12), star: around(10, i => i % 2 ? .55 : 1.3), tie: [[-1.1, -.95], [1.1, .95], [1.1, -.95], [-1.1, .95]],
  down: [[0, 1], [-1, -.8], [1, -.8]], up: [[0, -1], [-1, .8], [1, .8]], flag: [[-.7, 1.3], [-.7, -1.3], [1.1, -.5], [-.7, .3]] };

/** Adds a shape around a point to the path of a canvas. */
function trace(g, kind, x, y, r) {
  if (kind === "circle") { g.moveTo(x + r, y); g.arc(x, y, r, 0, 2 * Math.PI); }
  else if (kind === "cross") {
    g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x - r, y + r); g.lineTo(x + r, y - r);
  } else if (kind === "dash") { g.moveTo(x - 1.2 * r, y); g.lineTo(x + 1.2 * r, y); }
  else {
    CORNERS[kind].forEach(([dx, dy], i) => i ? g.lineTo(x + r * dx, y + r * dy) : g.moveTo(x + r * dx, y + r * dy));
    g.closePath();
  }
}

/** Hatches a rectangle with the stroke of the context; the lines of neighbours continue each other. */
function hatch(g, x, y, w, h) {
  if (w <= 0) return;
  g.save(); g.beginPath(); g.rect(x, y, w, h); g.clip(); g.beginPath();
  for (let at = Math.floor((x - h) / 7) * 7; at < x + w; at += 7) { g.moveTo(at, y + h); g.lineTo(at + h, y); }
  g.stroke(); g.restore();
}

/** The same as SVG, for the legend. */
function icon(kind, fill, stroke) {
  const own = { circle: "M11 7a4 4 0 1 1-8 0a4 4 0 1 1 8 0z", cross: "M3.5 3.5l7 7M3.5 10.5l7-7", dash: "M2 7h10" }[kind];
  const path = own || `M${CORNERS[kind].map(([x, y]) => [7 + 4.2 * x, 7 + 4.2 * y]).join("L")}z`;
  return `<svg width="14" height="14" aria-hidden="true"><path d="${path}" fill="${fill}" stroke="${stroke}" stroke-width="1.6"/></svg>`;
}

return { ofLooks, trace, hatch, icon };
})();
