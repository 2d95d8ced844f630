"use strict";
/** The shapes of things on the graph and in its legend; each means one thing. */
const Shapes = (() => {
// Of lines, by their looks: the markers of figures (`SERIES` of midflight/plot/common/style.py). Flags are orders, triangles timeouts or late
// frames, dashes ACKs; strokes are losses and marks, as in figures (midflight/plot/over_time/marks.py).
const ofLooks = ["circle", "square", "diamond", "pentagon", "dome", "star", "left", "right", "hexagon"];

// Shapes with straight sides, by their corners around (0, 0).
const around = (count, far, turn = 0) => Array.from({ length: count }, (_, i) => [far(i) * Math.sin((i / count + turn) * 2 * Math.PI),
  -far(i) * Math.cos((i / count + turn) * 2 * Math.PI)]);
const box = (a, b) => [[-a, -b], [a, -b], [a, b], [-a, b]];
const CORNERS = { square: box(.9, .9), left: around(3, () => 1.25, 3 / 4), right: around(3, () => 1.25, 1 / 4), diamond: around(4, () => 1.25), pentagon: around(5, () => 1.2),
  hexagon: around(6, () => 1.2, 1 / 12), star: around(10, i => i % 2 ? .55 : 1.3), dome: [[1, .8], [.9, -.03], [.55, -.64], [0, -.85], [-.55, -.64], [-.9, -.03], [-1, .8]].map(place => place.map(of => 1.1 * of)),
  down: [[0, 1], [-1, -.8], [1, -.8]], up: [[0, -1], [-1, .8], [1, .8]], flag: [[-.7, 1.3], [-.7, -1.3], [1.1, -.5], [-.7, .3]],
  // A timeout with a bar above it.
  lidded: [[0, 1.1], [-.9, -.4], [.9, -.4], [0, 1.1], [0, -.4], [0, -1], [1.1, -1], [-1.1, -1], [0, -1], [0, -.4]] };

// Shapes of strokes, by the ends of each.
const rays = (count, turn = 0) => Array.from({ length: count }, (_, i) => (i / count + turn) * 2 * Math.PI).map(a => [0, 0, 1.15 * Math.sin(a), -1.15 * Math.cos(a)]);
const STROKES = { cross: [[-1, -1, 1, 1], [-1, 1, 1, -1]], dash: [[-1.2, 0, 1.2, 0]], plus: [[-1.1, 0, 1.1, 0], [0, -1.1, 0, 1.1]],
  slashes: [[-1.1, 1.3, .1, -1.3], [-.1, 1.3, 1.1, -1.3]], asterisk: rays(6), wye: rays(3, .5), fork: rays(3), tick: [[0, -1.2, 0, 1.2]],
  probe: [[-1, -1, 1, -1], [1, -1, 1, 1], [1, 1, -1, 1], [-1, 1, -1, -1], [-1, 0, 1, 0]],
  caret: [[-.9, .8, 0, -.9], [0, -.9, .9, .8]],
  gaps: [[-1.4, 0, -.7, 0], [-.35, 0, .35, 0], [.7, 0, 1.4, 0], [-1.4, -.7, -1.4, .7], [1.4, -.7, 1.4, .7]],
  span: [[-1.4, 0, 1.4, 0], [-1.4, -.7, -1.4, .7], [1.4, -.7, 1.4, .7]] };

/** Adds a shape around a point to the path of a canvas. */
function trace(g, kind, x, y, r) {
  if (kind === "circle") { g.moveTo(x + r, y); g.arc(x, y, r, 0, 2 * Math.PI); }
  else if (STROKES[kind]) for (const [a, b, c, d] of STROKES[kind]) { g.moveTo(x + r * a, y + r * b); g.lineTo(x + r * c, y + r * d); }
  else {
    CORNERS[kind].forEach(([dx, dy], i) => i ? g.lineTo(x + r * dx, y + r * dy) : g.moveTo(x + r * dx, y + r * dy));
    g.closePath();
  }
}

/** Fills the markers of the path, which are those of a line of a look; hollow ones hide the line behind them. `at` is what the page passes. */
function fill({ g, css, isFilled }, look) {
  if (isFilled(look)) return g.fill();
  const own = g.fillStyle;
  g.fillStyle = css.back; g.lineWidth = 1.4; g.setLineDash([]); g.fill(); g.stroke();
  g.fillStyle = own;
}

/** Hatches a rectangle with the stroke of the context; the lines of neighbours continue each other. */
function hatch(g, x, y, w, h, down = false) {
  if (w <= 0) return;
  g.save(); g.beginPath(); g.rect(x, y, w, h); g.clip(); g.beginPath();
  for (let at = Math.floor((x - h) / 7) * 7; at < x + w; at += 7) { g.moveTo(at, down ? y : y + h); g.lineTo(at + h, down ? y + h : y); }
  g.stroke(); g.restore();
}

/** The same as the path of an SVG around (x, 7). */
function outline(kind, x) {
  if (!kind) return "";
  const point = (dx, dy) => `${+(x + 4.2 * dx).toFixed(2)} ${+(7 + 4.2 * dy).toFixed(2)}`;
  if (kind === "circle") return `M${x + 4} 7a4 4 0 1 1-8 0a4 4 0 1 1 8 0z`;
  if (STROKES[kind]) return STROKES[kind].map(([a, b, c, d]) => `M${point(a, b)}L${point(c, d)}`).join("");
  return `M${CORNERS[kind].map(([dx, dy]) => point(dx, dy)).join("L")}z`;
}
/** A shape for the legend. */
function icon(kind, fill, stroke) {
  return `<svg width="14" height="14" aria-hidden="true"><path d="${outline(kind, 7)}" fill="${fill}" stroke="${stroke}" stroke-width="1.6"/></svg>`;
}
/** A line with its dashes and its marker, for the button of the line; hollow ones are as in figures. */
function lineIcon(kind, dash, colour, isFilled) {
  const marker = `<path d="${outline(kind, 17)}" fill="${isFilled ? colour : "var(--back)"}"/>`;
  const parts = `<path d="M1 7h32" fill="none" stroke-width="1.7" stroke-dasharray="${dash}"/>${marker}`;
  return `<svg width="34" height="14" aria-hidden="true" stroke="${colour}">${parts}</svg>`;
}

return { ofLooks, trace, fill, hatch, icon, lineIcon };
})();
