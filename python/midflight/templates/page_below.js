"use strict";
/** The panels below that of packets: up to three quantities over the same time, one beneath the other. `at` is what the page passes. */
const Below = (() => {
const KINDS = { ...Lines.KINDS, ...Panels.KINDS };
/** So many panels are shown at once; the upper panel then has this share of their height. */
const MOST = 3, SHARES = [.58, .52, .46];
/** Each is at least so high, in pixels, and so far from the next one. */
const LEAST = 96, BETWEEN = 16;
/** A window whose inside is of this height first has two, as one of 900 pixels with the bars of a browser. */
const TALL = 740;
/** Half of the height of a number of an axis. */
const HALF = 6;

// By their kinds; each is what the page passes, with what is its own: the place of its panel, its lines, and its scale where chosen.
const all = {};
// The kinds that are shown, and the one that was chosen last, which has the button of the axis.
let kinds = [], chosen = "";
const panels = () => kinds.map(kind => all[kind]);

/** Makes the panels of a page whose first one is `first`; `scales` says which are logarithmic, where that is known. */
function begin(at, first, scales) {
  for (const kind of Object.keys(KINDS)) {
    const own = all[kind] = Object.assign(Object.create(at), { kind, isLog: scales[kind] ?? scales[""], yOf: () => 0 });
    own.area = Object.assign(Object.create(at.area), { y2: 0, h2: 0 });
    own.withIt = () => at.shown().filter(KINDS[kind].has);
    own.place = run => own.withIt().indexOf(run);
  }
  const second = first === "throughput" ? "queue" : "throughput";
  kinds = innerHeight >= TALL && (second !== "queue" || at.queues.length) ? [first, second] : [first];
  chosen = first;
}

/** Shows a quantity alone, or, if `isMore`, adds it to those shown or takes it away; says what it did. */
function choose(kind, isMore) {
  const isThere = kinds.includes(kind);
  if (!isMore) kinds = [kind];
  else if (!isThere && kinds.length === MOST) return `No more than ${MOST} panels are shown below: take one away first.`;
  else if (!isThere) kinds = [...kinds, kind];
  else if (kinds.length > 1) kinds = kinds.filter(one => one !== kind);
  chosen = kinds.includes(kind) ? kind : kinds[kinds.length - 1];
  return `Below: ${kinds.map(nameOf).join("; ")}.`;
}

const buttonOf = kind => document.querySelector(`[data-below=${kind}]`);
const nameOf = kind => buttonOf(kind).textContent;
/** Says with the buttons what is shown, and of which panel the axis is. */
function tellButtons(runs, log) {
  for (const kind of Object.keys(KINDS)) {
    const isShown = kinds.includes(kind), more = document.querySelector(`[data-more=${kind}]`);
    buttonOf(kind).hidden = more.parentElement.hidden = !runs.some(KINDS[kind].has);
    buttonOf(kind).setAttribute("aria-pressed", String(isShown));
    more.textContent = isShown ? "\u2212" : "+";
    more.setAttribute("aria-disabled", String(isShown ? kinds.length === 1 : kinds.length === MOST));
    more.setAttribute("aria-label", isShown ? `Take the panel away: ${nameOf(kind)}` : `Add a panel: ${nameOf(kind)}`);
    more.title = isShown ? "Take this panel away" : "Add this panel to those below (or Shift and click the name)";
  }
  log.hidden = !KINDS[chosen].log;
}

/** The height that all panels need, with what is between those below. */
const least = () => Math.ceil(LEAST * kinds.length / (1 - SHARES[kinds.length - 1])) + BETWEEN * (kinds.length - 1);
/** Divides a height among the upper panel and those below; `area` gets their places, `y2` and `h2` are those of the first one below. */
function place(area, height) {
  const count = kinds.length, room = height - BETWEEN * (count - 1);
  area.h1 = Math.round(room * SHARES[count - 1]);
  const each = Math.floor((room - area.h1) / count), y2 = area.top + area.h1 + area.gap;
  area.panels = [[area.top, area.h1]];
  panels().forEach((panel, i) => {
    Object.assign(panel.area, { y2: y2 + i * (each + BETWEEN), h2: each });
    area.panels.push([panel.area.y2, each]);
  });
  Object.assign(area, { y2, h2: each, end: y2 + count * each + (count - 1) * BETWEEN });
}
/** The panel at a height; between two it is the one below. */
const panelAt = y => panels().find(({ area }) => y <= area.y2 + area.h2) || all[kinds[kinds.length - 1]];
/** Makes the panel at a height the one that was chosen last. */
function touch(y) { if (y >= panels()[0].area.y2) chosen = panelAt(y).kind; }

/** The axis of a panel for some runs: what it says of itself, its ends, and whether it is logarithmic. */
function axisOf(panel, those) {
  const kind = KINDS[panel.kind], axis = kind.axis(panel, those);
  const isLog = Boolean(kind.log) && axis.least > 0 && axis.least < Infinity && (panel.isLog ?? Boolean(axis.isLog));
  return { ...axis, isLog, low: isLog ? axis.least / 1.4 : 0, high: (isLog ? 1.6 : 1.1) * axis.most };
}
/** Makes the axis of the panel that was chosen last logarithmic or linear. */
function changeAxis() {
  const panel = all[chosen], those = panel.withIt();
  if (those.length) panel.isLog = !axisOf(panel, those).isLog;
}

/** The rows of marks of a panel: the height of each and from where on they are, and the height that the lines have. */
function eventRows(panel) {
  const { y2, h2 } = panel.area, rows = Events.rows(panel.withIt(), KINDS[panel.kind].rows || [], panel.rowOrder, KINDS[panel.kind].toldBy);
  const offset = rows.length ? Path.heightOfBars(panel.shown()) : 0, row = Events.heightOf(rows, h2);
  return { rows, row, top: y2 + offset, height: h2 - offset - row * rows.length };
}

function drawOne(panel, log) {
  const { g, css, area } = panel, { y2, h2 } = area, kind = KINDS[panel.kind], those = panel.withIt();
  if (!those.length) return null;
  const { title, low, high, isLog, down } = axisOf(panel, those);
  const share = isLog ? value => Math.log(Math.max(value, low) / low) / Math.log(high / low) : value => Math.min(value, 10 * high) / high;
  const { rows, top, row, height } = eventRows(panel), base = y2 + h2;
  // Bars that begin at the upper end are clear of the row of marks above.
  const clear = down && rows.length ? 4 : 0;
  const yOf = panel.yOf = value => base - (height - clear) * (down ? 1 - share(value) : share(value));
  // The number of an object stands beside the middle of its bar. No number stands beside a row of marks, below which is a thin line.
  panel.frame(base - height, height, low, high, title, down ? value => yOf(value + .5) : yOf, isLog, rows.length ? HALF : 0);
  if (rows.length) { g.fillStyle = css.line; g.fillRect(area.left, Math.round(base - height), area.w, 1); }
  const isAlone = new Set(those.map(run => run.path)).size === 1;
  panel.clipped(y2 - 1, h2 + 2, () => those.forEach((run, place) => {
    g.strokeStyle = g.fillStyle = panel.colour(run);
    kind.draw(panel, run, yOf, those.findIndex(one => one.path === run.path) === place, isAlone, place, those.length);
  }));
  panel.clipped(y2, h2, () => Events.draw(panel, rows, top, row));
  if (panel.kind === chosen) {
    log.setAttribute("aria-pressed", String(isLog));
    log.textContent = `${kinds.length > 1 ? `axis of ${nameOf(chosen)}` : "axis"}: ${isLog ? "log" : "linear"}`;
  }
  return { kind: panel.kind, title, isLog, low, high, rowsHigh: h2 - height, rows: rows.map(one => [one.run.label, ...one.kinds]) };
}
/** Draws them; what each is, in a list. */
const draw = log => panels().map(panel => drawOne(panel, log)).filter(Boolean);

/** What a panel has at a time, in words. */
function valuesOf(panel, time) {
  const { tell } = KINDS[panel.kind], those = panel.withIt();
  return tell ? those.flatMap((run, place) => tell(panel, run, time, those.findIndex(one => one.path === run.path) === place)) : [];
}
/** What all have at a time; of several each with its name. */
function values(time) {
  return panels().flatMap(panel => {
    const found = valuesOf(panel, time);
    return found.length && kinds.length > 1 ? [`\u2013 ${nameOf(panel.kind)} \u2013`, ...found] : found;
  });
}
/** The mark nearest to a point in the panel there, or the thing of an application that is no further than `reach`. */
function near(x, y, reach) {
  const panel = panelAt(y), { rows, top, row } = eventRows(panel);
  return Events.near(panel, rows, top, row, x, y, 6) || (Panels.KINDS[panel.kind] ? Panels.near(panel, panel.withIt(), panel.kind, x, y, reach) : null);
}
const placeOf = thing => Panels.placeOf(all[Panels.kindOf(thing)], thing);
/** What the legend says of each panel that is shown; `own` are the pictures of the lines of queues. */
const forLegend = own => panels().map(panel => ({ ...KINDS[panel.kind], name: kinds.length > 1 ? nameOf(panel.kind) : "",
  own: panel.kind === "queue" ? own : [], alone: panel.withIt().length === 1 }));

return { KINDS, begin, choose, tellButtons, least, place, touch, changeAxis, draw, values, near, placeOf, forLegend, kinds: () => [...kinds] };
})();
