"use strict";
/** The shapes of things on the graph and in its legend; each means one thing. */
const Shapes = (() => {
// Of schemes. Diamonds are orders, triangles timeouts or late frames, crosses losses and dashes ACKs.
const ofSchemes = ["circle", "square", "plus", "pentagon", "star"];

/** The corners of a pentagon, or of a star, around a point. */
function corners(kind, x, y, r) {
  const count = kind === "star" ? 10 : 5, far = i => kind === "star" && i % 2 ? .55 * r : 1.2 * r;
  return Array.from({ length: count }, (_, i) => [x + far(i) * Math.sin(i / count * 2 * Math.PI), y - far(i) * Math.cos(i / count * 2 * Math.PI)]);
}

/** Adds a shape around a point to the path of a canvas. */
function trace(g, kind, x, y, r) {
  if (kind === "circle") { g.moveTo(x + r, y); g.arc(x, y, r, 0, 2 * Math.PI); }
  else if (kind === "square") g.rect(x - .9 * r, y - .9 * r, 1.8 * r, 1.8 * r);
  else if (kind === "diamond") {
    g.moveTo(x, y - 1.25 * r); g.lineTo(x + 1.25 * r, y); g.lineTo(x, y + 1.25 * r); g.lineTo(x - 1.25 * r, y); g.closePath();
  } else if (kind === "plus") {
    const a = .42 * r, b = 1.2 * r;
    const turns = [[-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]];
    turns.forEach(([dx, dy], i) => i ? g.lineTo(x + dx, y + dy) : g.moveTo(x + dx, y + dy));
    g.closePath();
  } else if (kind === "pentagon" || kind === "star") {
    corners(kind, x, y, r).forEach(([cx, cy], i) => i ? g.lineTo(cx, cy) : g.moveTo(cx, cy));
    g.closePath();
  } else if (kind === "cross") {
    g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x - r, y + r); g.lineTo(x + r, y - r);
  } else if (kind === "dash") { g.moveTo(x - 1.2 * r, y); g.lineTo(x + 1.2 * r, y); }
  else if (kind === "down") {
    g.moveTo(x, y + r); g.lineTo(x - r, y - .8 * r); g.lineTo(x + r, y - .8 * r); g.closePath();
  } else if (kind === "up") {
    g.moveTo(x, y - r); g.lineTo(x - r, y + .8 * r); g.lineTo(x + r, y + .8 * r); g.closePath();
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
  const paths = { circle: "M11 7a4 4 0 1 1-8 0a4 4 0 1 1 8 0z", square: "M3.5 3.5h7v7h-7z", diamond: "M7 2l5 5-5 5-5-5z",
    plus: "M5.2 2h3.6v3.2H12v3.6H8.8V12H5.2V8.8H2V5.2h3.2z", pentagon: `M${corners("pentagon", 7, 7, 4.4).join("L")}z`,
    star: `M${corners("star", 7, 7, 4.8).join("L")}z`, cross: "M3.5 3.5l7 7M3.5 10.5l7-7", dash: "M2 7h10", down: "M7 11.5L3 4h8z",
    up: "M7 2.5L3 10h8z" };
  return `<svg width="14" height="14" aria-hidden="true"><path d="${paths[kind]}" fill="${fill}" stroke="${stroke}" stroke-width="1.6"/></svg>`;
}

return { ofSchemes, trace, hatch, icon };
})();
