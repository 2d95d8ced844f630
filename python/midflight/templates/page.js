"use strict";
(() => {
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const canvas = $("graph"), g = canvas.getContext("2d"), tip = $("tip");
const S = 1e9;

// ---- data -----------------------------------------------------------------------------------

const { bytes, unpack, steps, lower, upper, at, flight } = Data;

// A run is a flow in a run of the simulator, which has a button and a colour; flows of one run share its path.
const paths = data.paths.map(raw => ({ ...raw, rate: steps(raw.rate), handovers: unpack(raw.handovers) }));
// The last step of a rate is the end of the run.
for (const path of paths) path.rateKey = [path.rate.t, path.rate.v].map(all => all.slice(0, -1).join()).join(" ");
for (const path of paths) path.isOwnRate = paths.some(one => one.rateKey !== path.rateKey);
const runs = data.runs.map((raw, number) => {
  const path = paths[raw.path], { moments, outages } = path, { label, flow, look, end, every, near, ends, said, ackSaid, ackLost, notes, orders } = raw;
  const run = { number, path, moments, outages, label, flow, look, end, every, near, ends, said, ackSaid, ackLost, notes, orders, shown: true };
  for (const key of ["sent", "segment", "kind", "after", "how", "ack", "acked", "bytes", "cutBytes"]) run[key] = unpack(raw[key]);
  run.cuts = raw.cuts || path.cuts; run.drained = raw.drained || [];
  run.resumed = raw.resumed; run.wholes = raw.wholes; run.last = raw.last; run.ofBursts = raw.ofBursts; run.frame = raw.frame; run.received = raw.received; run.segments = raw.segments;
  for (const key of ["cwnd", "ssthresh", "pipe", "rto", "rtt"]) run[key] = steps(raw[key]);
  if (raw.buffer) run.buffer = steps(raw.buffer);
  if (raw.bitrate) run.bitrate = steps(raw.bitrate);
  run.stalls = raw.stalls || [];
  if (raw.frames) {
    const { made, took, late, lost, deadline } = raw.frames;
    run.frames = { made: unpack(made), took: new Float32Array(bytes(took).buffer), late: unpack(late), lost: unpack(lost), deadline };
  }
  const begins = spans => Float64Array.from(spans, one => one[0]);
  if (raw.objects) {
    const { number, begin, end, events, unheard } = raw.objects;
    run.objects = { number: unpack(number), begin: unpack(begin), end: unpack(end), lasting: { unheard } };
    run.objects.events = { ...Object.fromEntries(Object.entries(events).map(([kind, times]) => [kind, unpack(times)])), unheard: begins(unheard) };
  }
  run.unsure = new Set(unpack(raw.unsure));
  run.flight = raw.flight ? steps(raw.flight) : flight(run);
  // The highest number acknowledged so far, in which the time of a segment's ACK is found.
  run.covered = run.acked.slice();
  for (let i = 1; i < run.covered.length; i++) run.covered[i] = Math.max(run.covered[i], run.covered[i - 1]);
  run.lost = [];
  for (let i = 0; i < run.sent.length; i++) {
    if (run.how[i] >= 0 && run.ends[run.how[i]].startsWith("lost ")) run.lost.push(i);
  }
  run.lost.sort((a, b) => run.sent[a] + run.after[a] - run.sent[b] - run.after[b]);
  run.lostAt = Float64Array.from(run.lost, i => run.sent[i] + run.after[i]);
  run.copies = new Map();
  for (let i = 0; i < run.sent.length; i++) {
    if (run.kind[i] === 1) run.copies.set(run.segment[i], (run.copies.get(run.segment[i]) || 1) + 1);
  }
  run.marked = { t: unpack(raw.marked[0]), v: unpack(raw.marked[1]) };
  run.timeouts = run.notes.filter(n => n[1] === "rto");
  // By the kinds of `Events`.
  run.events = Object.fromEntries(Object.entries(raw.events).map(([kind, times]) => [kind, unpack(times)]));
  const timeouts = isSpurious => Float64Array.from(run.timeouts.filter(n => (n[3] === "spurious") === isSpurious), n => n[0]);
  run.silent = raw.silent;
  run.lasting = { stalled: raw.silent, unheard: raw.unheard };
  Object.assign(run.events, { timeout: timeouts(false), spurious: timeouts(true) });
  for (const kind of Events.LASTING) run.events[kind] = begins(run.lasting[kind]);
  return run;
});
const queues = data.queues.map(({ path, line, label, look, packets, least, most, every, used }) => {
  const run = line === null ? null : runs.filter(one => one.path === paths[path])[line];
  return { path: paths[path], run, label, look, every, used, packets: steps(packets), least: steps(least || packets), most: steps(most || packets) };
});
const shown = () => runs.filter(run => run.shown);
/** The flow whose packets are drawn, of all runs that are shown. */
let flow = runs[0].flow;
const flows = [...new Set(runs.map(run => run.flow))];
const isChosen = run => run.flow === flow;
const chosen = () => shown().filter(isChosen);

/** What happens to the path in any run that is shown; the same thing once. */
const moments = () => Path.moments(shown());

// ---- looks ----------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
let css = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "line", "grid", "back", "gap", "gap-lines", "outage", "late"]) css[name] = style.getPropertyValue(`--${name}`).trim();
}
const colourOf = look => data.colours[dark.matches ? 1 : 0][look];
const colour = run => colourOf(run.look);
/** The shape of a look; beyond the plain ones that of its line style, and beyond these that of a link. */
function shapeOf(look) {
  const all = Shapes.ofLooks, style = Math.floor(look / all.length);
  return style === 0 || style > all.length ? all[look % all.length] : all[style - 1];
}
const shape = run => shapeOf(run.look);
/** The dashes of a look, in pixels of its line. */
const dashOf = look => data.dashes[look].map(one => 1.7 * one);
const isFilled = look => data.filled[look];
/** The words of events, and of a single line their rows above a panel. */
const [words, rowOrder] = [0, 1].map(i => Object.fromEntries(Object.entries(data.events).map(([kind, all]) => [kind, all[i]])));

/** Adds a shape around a point to the path. */
const trace = (kind, x, y, r) => Shapes.trace(g, kind, x, y, r);
const { icon } = Shapes, { ticks, digits, powers } = Axis;

// ---- view -----------------------------------------------------------------------------------

const last = Math.max(1, ...runs.map(run => run.end));
const whole = { t0: -.01 * last, t1: 1.01 * last, s0: 0, s1: 1 };
let most = 1;
/** Makes room for the segments of the chosen flow. */
function measure() {
  most = Math.max(1, ...runs.filter(isChosen).map(run => run.segment.reduce((a, b) => Math.max(a, b), 0)));
  whole.s0 = -.03 * most - 1; whole.s1 = 1.03 * most + 1;
}
measure();
const view = { ...whole };
// A flow with an application shows that first; of a long run, or on a path that changes all the time, the lines of windows cover each other.
const first = last > 60 * S || paths.some(path => path.recorded) ? "throughput" : "window";
const firstBelow = [...Object.keys(Panels.KINDS), first, "throughput"].find(kind => runs.some(Below.KINDS[kind].has));
let boxMode = false, box = null, pointer = null, picked = null, waiting = 0;
// The height of the names of what happens to the path, above the band of links.
const NAMES = 34;
// Where the panels are, in CSS pixels: the upper one, the first one below, all from the top on, and where the last one ends.
const area = { left: 64, right: 22, top: NAMES, gap: 26, bottom: 38, w: 0, h1: 0, y2: 0, h2: 0, panels: [], end: 0, width: 0, height: 0 };

const X = time => area.left + (time - view.t0) / (view.t1 - view.t0) * area.w;
const Y = segment => area.top + (view.s1 - segment) / (view.s1 - view.s0) * area.h1;
const timeAt = x => view.t0 + (x - area.left) / area.w * (view.t1 - view.t0);
const segmentAt = y => view.s1 - (y - area.top) / area.h1 * (view.s1 - view.s0);

/** Looks at these times and segments, no closer than makes sense and no further than there is. */
function look(t0, t1, s0, s1) {
  const clip = (low, high, least, from, to) => {
    const size = Math.min(Math.max(high - low, least), to - from), middle = (low + high) / 2;
    const start = Math.min(Math.max(middle - size / 2, from), to - size);
    return [start, start + size];
  };
  [view.t0, view.t1] = clip(t0, t1, 1000, whole.t0, whole.t1);
  [view.s0, view.s1] = clip(s0, s1, 4, whole.s0, whole.s1);
  later();
}
function zoom(factor, x, y, times = true, segments = true) {
  const t = timeAt(x), s = segmentAt(y), f = times ? factor : 1, k = segments ? factor : 1;
  look(t - (t - view.t0) * f, t + (view.t1 - t) * f, s - (s - view.s0) * k, s + (view.s1 - s) * k);
}
const move = (dt, ds) => look(view.t0 + dt, view.t1 + dt, view.s0 + ds, view.s1 + ds);
function reset() {
  Path.forget(); Opening.forget($("opened"));
  resize(); look(whole.t0, whole.t1, whole.s0, whole.s1);
}

/** Fits the axis of segments to what is shown of the time. */
function fit() {
  let low = Infinity, high = -Infinity;
  for (const run of chosen()) {
    for (const [times, values] of [[run.sent, run.segment], [run.ack, run.acked]]) {
      for (let i = lower(times, view.t0), end = upper(times, view.t1); i < end; i++) {
        low = Math.min(low, values[i]); high = Math.max(high, values[i]);
      }
    }
  }
  if (low > high) return;
  const margin = Math.max(2, .05 * (high - low));
  look(view.t0, view.t1, low - margin, high + margin);
}

/** Goes to the next or the previous handoff, outage or handover. */
function handoff(forward) {
  const found = Path.next(passed, shown(), forward);
  if (!found) return say("There is no handoff and no outage in the runs shown.");
  const half = Math.min((view.t1 - view.t0) / 2, .1 * (whole.t1 - whole.t0));
  look(found.time - half, found.time + half, view.s0, view.s1);
  fit();
  say(`${found.label} at ${seconds(found.time)}`);
}

// ---- drawing --------------------------------------------------------------------------------

function later() { if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; draw(); }); }

function resize() {
  Object.assign(area, { top: (moments().length ? NAMES : 8) + Band.height(shown()), left: 34 + 7 * Math.max(4, separated(Math.round(most)).length) });
  const around = area.top + area.gap + area.bottom;
  // The graph has what the heading leaves of the window, and more if its panels need it.
  canvas.style.height = `${Math.max(420, around + Below.least(), innerHeight - canvas.getBoundingClientRect().top - scrollY - 34)}px`;
  const ratio = devicePixelRatio || 1, { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  Object.assign(area, { width, height, w: Math.max(10, width - area.left - area.right) });
  Below.place(area, height - around);
  later();
}

const separated = value => (value + 0).toLocaleString("en-US");
/** What is counted: its axis has no fractions. */
const WHOLE = new Set(["segment number", "cwnd (segments)", "pipe (segments)", "object of the page"]);
/** Draws an axis with its title, in two lines where it is longer than the panel; ticks end `room` below the upper edge. */
function frame(y, height, low, high, title, yOf, isLog, room = 0) {
  g.strokeStyle = css.grid; g.fillStyle = css.soft; g.lineWidth = 1; g.textAlign = "right"; g.textBaseline = "middle";
  const [every, step] = isLog ? [powers(low, high), 0] : ticks(low, high, height / (height < 240 ? 19 : 24));
  const found = every.filter(value => yOf(value) >= y + room);
  (drawn.ticks ??= {})[title] = found;
  g.beginPath();
  for (const value of found) {
    const at = Math.round(yOf(value)) + .5;
    g.moveTo(area.left, at); g.lineTo(area.left + area.w, at);
    if (isLog) g.fillText(String(value), area.left - 6, at);
    else if (step >= 1 || !WHOLE.has(title)) g.fillText(step >= 1 ? separated(value) : value.toFixed(digits(step)), area.left - 6, at);
  }
  g.stroke();
  g.save();
  const text = isLog ? `${title}, log` : title, [name, ...rest] = text.split(/(?<=\)), /), isLong = rest.length > 0 && g.measureText(text).width > height + 12;
  g.translate(12, y + height / 2); g.rotate(-Math.PI / 2); g.textAlign = "center";
  (isLong ? [name, rest.join(", ")] : [text]).forEach((one, line) => g.fillText(one, 0, isLong ? 13 * line - 5 : 0));
  g.restore();
}

function timeAxis() {
  const [found, step] = ticks(view.t0 / S, view.t1 / S, area.w / 95);
  g.textAlign = "center"; g.textBaseline = "top"; g.fillStyle = css.soft; g.strokeStyle = css.grid;
  g.beginPath();
  for (const value of found) {
    const x = Math.round(X(value * S)) + .5;
    for (const [y, h] of area.panels) { g.moveTo(x, y); g.lineTo(x, y + h); }
    g.fillText(value.toFixed(digits(step)), x, area.end + 5);
  }
  g.stroke();
  g.fillText(data.time.toLowerCase(), area.left + area.w / 2, area.end + 20);
}

/** Calls for each dot of a run that is seen, of those that cover each other once. */
function each(times, values, from, to, cell, put) {
  const columns = Math.ceil(area.w / cell) + 3, lines = Math.ceil(area.h1 / cell) + 3;
  const taken = to - from > 3000 ? new Uint8Array(columns * lines) : null;
  let count = 0;
  for (let i = from; i < to; i++) {
    const v = values[i];
    if (v < view.s0 || v > view.s1) continue;
    const x = X(times[i]), y = Y(v);
    if (taken) {
      const place = Math.floor((y - area.top) / cell + 1) * columns + Math.floor((x - area.left) / cell + 1);
      if (taken[place]) continue;
      taken[place] = 1;
    }
    put(x, y, i);
    count++;
  }
  return count;
}

function clipped(y, height, what) {
  g.save();
  g.beginPath(); g.rect(area.left, y, area.w, height); g.clip();
  what();
  g.restore();
}

let drawn = {};
const rangeOf = times => [lower(times, view.t0), upper(times, view.t1)];
/** The size of the segments of a run, of which so many are seen. */
const sizeOf = count => count > 2500 ? 1.5 : count > 700 ? 2.2 : 3.1;
/** What is beneath the segments of a run that later ones would cover: they are wide and pale. */
function beneath(run, place, all) {
  const wider = 2.5 * Math.min(3, all.length - 1 - place);
  if (!wider) return;
  const [a, b] = rangeOf(run.sent), r = sizeOf(b - a) + wider;
  g.fillStyle = colour(run); g.globalAlpha = .35; g.beginPath();
  (drawn.beneath ??= {})[run.label] = each(run.sent, run.segment, a, b, 2, (x, y, i) => { if (!run.kind[i]) trace("square", x, y, r); });
  g.fill(); g.globalAlpha = 1;
}
function packets(run) {
  const range = rangeOf, [a, b] = range(run.sent), many = b - a > 2500, of = colour(run);
  // Runs that do the same cover each other: the first ones are a little larger.
  const whole = 1.15 - .15 * Math.min(3, chosen().indexOf(run)), r = whole * sizeOf(b - a);
  const count = drawn[run.label] = { segments: 0, retransmissions: 0, probes: 0, acks: 0, lost: 0, causes: {}, marked: 0 };
  g.strokeStyle = of; g.lineWidth = 1; g.globalAlpha = .55;
  g.beginPath();
  count.acks = each(run.ack, run.acked, ...range(run.ack), many ? 2 : 1, (x, y) => trace("dash", x, y, many ? 1.6 : r));
  g.stroke();
  g.globalAlpha = .35; g.beginPath();
  for (const [time, number, where] of run.ackLost) if (time >= view.t0 && time <= view.t1) trace(Events.SHAPES[Events.lossOf(where)], X(time), Y(number), 2);
  g.stroke();
  g.globalAlpha = 1; g.fillStyle = of;
  g.beginPath();
  each(run.sent, run.segment, a, b, many ? 2 : 1, (x, y, i) => {
    if (run.kind[i]) return;
    trace(many ? "square" : shape(run), x, y, r);
    count.segments++;
  });
  g.fill();
  // What was sent again and what was lost is what one looks for: larger and above. Of many, small ones with
  // thin edges leave gaps between those of a burst.
  const size = whole * (many ? 1.8 : 4);
  g.fillStyle = css.back; g.lineWidth = count.edge = many ? .7 : 1.5;
  for (const [kind, form, what] of [[1, shape(run), "retransmissions"], [2, "probe", "probes"]]) {
    g.beginPath();
    for (let i = a; i < b; i++) {
      if (run.kind[i] !== kind || run.segment[i] < view.s0 || run.segment[i] > view.s1) continue;
      trace(form, X(run.sent[i]), Y(run.segment[i]), size);
      count[what]++;
    }
    g.fill(); g.stroke();
  }
  g.lineWidth = 1.6; g.beginPath();
  for (let k = lower(run.lostAt, view.t0), end = upper(run.lostAt, view.t1); k < end; k++) {
    const kind = Events.lossOf(run.ends[run.how[run.lost[k]]]);
    trace(Events.SHAPES[kind], X(run.lostAt[k]), Y(run.segment[run.lost[k]]), many ? 2.6 : 3.8);
    count.lost++;
    count.causes[kind] = (count.causes[kind] || 0) + 1;
  }
  g.stroke();
  g.beginPath();
  count.marked = each(run.marked.t, run.marked.v, ...range(run.marked.t), 2, (x, y) => trace("plus", x, y, 5));
  // A rim, as a marked segment is beside many that are not.
  g.lineWidth = 4; g.strokeStyle = css.back; g.stroke();
  g.lineWidth = 1.6; g.strokeStyle = of; g.stroke();
}

let named = [];
/** Writes timeouts and fast retransmits beside their segments. */
function names() {
  named = Names.write(passed, chosen(), moments(), Y);
  tellNames();
}
/** The legend explains only names that are drawn. */
function tellNames() {
  for (const one of document.querySelectorAll("#marks [data-mark=RTO], #marks [data-mark=FR]")) one.style.display = named.some(name => name.text === one.dataset.mark) ? "" : "none";
}

/** Where all packets of a thinned run are there. */
function nearBars() {
  g.fillStyle = css.soft;
  for (const run of chosen()) {
    for (const [from, to] of run.near) {
      if (to > view.t0 && from < view.t1) g.fillRect(X(from), area.top + area.h1 - 3, Math.max(1, X(to) - X(from)), 3);
    }
  }
}

/** What panels below need of the page. */
const passed = { g, X, area, view, lower, upper, at, trace, frame, clipped, shown, rowOrder, shape, shapeOf, dashOf, isFilled, isChosen, colour, colourOf, queues, unit: data.unit, intervals: data.intervals, edges: Data.edges, edgesOf: Data.edgesOf, means: Data.means,
  get css() { return css; }, get drawn() { return drawn; } };
Below.begin(passed, firstBelow, data.scales);

/** Draws the flags of orders, above the panels below. */
function orders() {
  for (const run of shown()) {
    g.strokeStyle = colour(run); g.fillStyle = css.back; g.lineWidth = 1.4; g.beginPath();
    for (const [time] of run.orders) if (time >= view.t0 && time <= view.t1) trace("flag", X(time), orderY(run), 4);
    g.fill(); g.stroke();
  }
}
const orderY = run => area.y2 - 4 - 8 * shown().indexOf(run) % 20;

function draw() {
  drawn = {};
  g.fillStyle = css.back; g.fillRect(0, 0, area.width + 1, area.height + 1);
  g.font = '12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
  Path.draw(passed, shown(), whole.t1);
  Band.draw(passed, shown());
  frame(area.top, area.h1, view.s0, view.s1, "segment number", Y);
  timeAxis();
  clipped(area.top - 1, area.h1 + 2, () => { nearBars(); chosen().forEach(beneath); chosen().forEach(packets); names(); });
  const [first, ...others] = Below.draw($("log"));
  if (first) drawn.below = first;
  if (others.length) drawn.others = others;
  orders();
  Path.bars(passed, shown());
  g.strokeStyle = css.line; g.lineWidth = 1;
  for (const [y, h] of area.panels) g.strokeRect(area.left + .5, y + .5, area.w, h);
  if (pointer && !box) {
    g.strokeStyle = css.soft; g.globalAlpha = .5; g.beginPath();
    const x = Math.round(pointer.x) + .5;
    if (x > area.left && x < area.left + area.w) { g.moveTo(x, area.top); g.lineTo(x, area.end); }
    g.stroke(); g.globalAlpha = 1;
  }
  if (box) {
    g.strokeStyle = css.ink; g.setLineDash([4, 3]);
    g.strokeRect(Math.min(box.x0, box.x1), Math.min(box.y0, box.y1), Math.abs(box.x1 - box.x0), Math.abs(box.y1 - box.y0));
    g.setLineDash([]);
  }
  if (picked && !["value", "link", "handover"].includes(picked.kind)) {
    const [x, y] = placeOf(picked);
    if (x >= area.left && x <= area.left + area.w) {
      g.strokeStyle = css.ink; g.lineWidth = 2; g.beginPath(); g.arc(x, y, 8, 0, 2 * Math.PI); g.stroke();
    }
  }
}

// ---- what a thing is ------------------------------------------------------------------------

const seconds = time => `${(time / S).toFixed(6)} s`;
const number = value => value === undefined ? "-" : value >= 1e5 ? value.toExponential(1) : String(+value.toFixed(2));
/** A threshold that was never set is as large as numbers of segments can be. */
const limit = value => value >= 2 ** 30 ? "not set" : number(value);
const CAUSES = { queue: "its queue was full", early: "the queue's discipline dropped it early", break: "the link was down",
  radio: "the radio lost it", node: "a node on the path kept it" };
function lostWhere(text) {
  const place = text.lastIndexOf(" ");
  return `${text.slice(0, place)}: ${CAUSES[text.slice(place + 1)] || text.slice(place + 1)}`;
}
function stateAt(run, time) {
  const rto = at(run.rto, time);
  return `cwnd ${number(at(run.cwnd, time))}, ssthresh ${limit(at(run.ssthresh, time))}, flight ${number(at(run.flight, time))}, `
    + `RTO ${rto === undefined ? "-" : rto.toFixed(3) + " s"}`;
}

const OF_PANELS = new Set(["frame", "frameLost", "object", "stall"]);
function placeOf(thing) {
  const { run, kind, i } = thing;
  if (kind === "segment") return [X(run.sent[i]), Y(run.segment[i])];
  if (kind === "lost") return [X(run.sent[i] + run.after[i]), Y(run.segment[i])];
  if (kind === "ack") return [X(run.ack[i]), Y(run.acked[i])];
  if (kind === "ackLost") return [X(run.ackLost[i][0]), Y(run.ackLost[i][1])];
  if (kind === "order") return [X(run.orders[i][0]), orderY(run)];
  if (kind === "marked") return [X(run.marked.t[i]), Y(run.marked.v[i])];
  if (kind === "event") return [X(thing.told.events[thing.of][i]), thing.y];
  if (OF_PANELS.has(kind)) return Below.placeOf(thing);
  return [X(moments()[i].time), area.top + 8];
}

function describe(thing) {
  const { run, kind, i } = thing;
  if (OF_PANELS.has(kind)) return Panels.describe(thing);
  if (kind === "handover" || kind === "link") return Band.describe(thing);
  if (kind === "event" && Events.LASTING.includes(thing.of)) return [`${words[thing.of]} ${Data.aside(run.label)}`, ...thing.told.lasting[thing.of][i].map((time, end) => `${end ? "until" : "from"} ${seconds(time)}`)];
  if (kind === "event") return [`${words[thing.of]} ${Data.aside(run.label)}`, `at ${seconds(thing.told.events[thing.of][i])}`, ...Below.values(thing.told.events[thing.of][i])];
  if (kind === "marked") return [`Segment ${run.marked.v[i]}, ${words.marked} ${Data.aside(run.label)}`, `at ${seconds(run.marked.t[i])}`];
  if (kind === "value") return [`At ${seconds(thing.time)}`, ...Below.values(thing.time)];
  if (kind === "moment") {
    const m = moments()[i];
    return [m.label, `${m.kind} at ${seconds(m.time)}`];
  }
  if (kind === "order") {
    const [time, author, order, reason] = run.orders[i];
    return [`${author}: ${order}`, `because ${reason}`, `at ${seconds(time)}, ${run.label}`, stateAt(run, time)];
  }
  if (kind === "ackLost") {
    const [time, acked, where] = run.ackLost[i];
    return [`ACK ${acked} ${Data.aside(run.label)}`, `lost ${seconds(time)} at ${lostWhere(where)}`];
  }
  if (kind === "ack") {
    let first = i;
    while (first > 0 && run.acked[first - 1] === run.acked[i]) first--;
    const copy = run.every > 1 ? "" : ` ${i - first}`;
    const what = first < i ? `, duplicate${copy}` : run.acked[i] < run.covered[i] ? ", late" : "";
    const lines = [`ACK ${run.acked[i]}${what} ${Data.aside(run.label)}`, `reached the sender ${seconds(run.ack[i])}`];
    if (run.ackSaid[i]) lines.push(run.ackSaid[i]);
    return [...lines, ...told(run, run.ack[i]), stateAt(run, run.ack[i])];
  }
  const segment = run.segment[i], copies = run.copies.get(segment) || 1;
  let copy = 0;
  if (copies > 1) for (let k = 0; k <= i; k++) if (run.segment[k] === segment && run.kind[k] < 2) copy++;
  const what = ["new", "retransmission", "window probe"][run.kind[i]];
  const lines = [`Segment ${segment}, ${what}${copies > 1 ? `, copy ${copy} of ${copies}` : ""} ${Data.aside(run.label)}`];
  lines.push(`sent ${seconds(run.sent[i])}`);
  if (run.said[i]) lines.push(run.said[i]);
  if (run.how[i] >= 0) {
    const end = run.ends[run.how[i]], time = seconds(run.sent[i] + run.after[i]), lost = end.startsWith("lost ");
    lines.push((lost ? `lost ${time} at ${lostWhere(end.slice(5))}` : `received ${time} over ${end.slice(9)}`)
      + (run.unsure.has(i) ? " (it or another copy)" : ""));
  } else lines.push("still under way at the end");
  const k = lower(run.covered, segment);
  // Of ACKs that are left out the one may have been that acknowledged it.
  lines.push(k < run.ack.length ? `acknowledged ${run.every > 1 ? "by " : ""}${seconds(run.ack[k])}` : "not acknowledged");
  return [...lines, ...told(run, run.sent[i]), `when sent: ${stateAt(run, run.sent[i])}`];
}

/** What else the sender found or did at this instant. */
function told(run, time) {
  const words = { rto: "timeout", fast_retransmit: "fast retransmit", recovery_exit: "recovery ends", judge: "loss taken for",
    reordered: "reordered", spurious: "found spurious:", min_rto: "minimum RTO" };
  const found = run.notes.filter(n => n[0] === time).map(([, event, value, detail]) => event === "min_rto"
    ? `${words.min_rto} ${value} s` : `${words[event]}${detail ? ` ${event === "rto" ? `(${detail})` : detail}` : ""}`);
  for (const [when, author, order, reason] of run.orders) if (when === time) found.push(`${author}: ${order} because ${reason}`);
  return [...new Set(found)];
}

/** The thing nearest to a point, no further than a finger's tip. */
function nearest(x, y) {
  const reach = 12, from = timeAt(x - reach), to = timeAt(x + reach);
  let best = null, least = reach;
  const offer = (thing, times, values, a, b) => {
    for (let i = a; i < b; i++) {
      const far = Math.hypot(X(times[i]) - x, Y(values[i]) - y);
      if (far < least - (thing.kind === "ack" ? .5 : 0)) { least = far; best = { ...thing, i }; }
    }
  };
  if (y < area.top + area.h1 + 4) {
    for (const run of chosen()) {
      offer({ run, kind: "segment" }, run.sent, run.segment, lower(run.sent, from), upper(run.sent, to));
      offer({ run, kind: "ack" }, run.ack, run.acked, lower(run.ack, from), upper(run.ack, to));
      for (let k = lower(run.lostAt, from), end = upper(run.lostAt, to); k < end; k++) {
        const far = Math.hypot(X(run.lostAt[k]) - x, Y(run.segment[run.lost[k]]) - y);
        if (far < least) { least = far; best = { run, kind: "lost", i: run.lost[k] }; }
      }
      offer({ run, kind: "marked" }, run.marked.t, run.marked.v, lower(run.marked.t, from), upper(run.marked.t, to));
      run.ackLost.forEach(([time, acked], i) => {
        const far = Math.hypot(X(time) - x, Y(acked) - y);
        if (far < least - 1) { least = far; best = { run, kind: "ackLost", i }; }
      });
    }
  }
  for (const run of shown()) {
    run.orders.forEach(([time], i) => {
      const far = Math.hypot(X(time) - x, orderY(run) - y);
      if (far < least) { least = far; best = { run, kind: "order", i }; }
    });
  }
  if (y < area.top - 1) return Band.near(passed, shown(), x, y);
  if (!best && y >= area.y2) best = Below.near(x, y, reach);
  if (!best) {
    const near = moments().map((m, i) => [Math.abs(X(m.time) - x), i]).filter(([far]) => far < 5).sort((a, b) => a[0] - b[0]);
    if (near.length) best = { run: null, kind: "moment", i: near[0][1] };
  }
  if (!best && y >= area.y2 && Below.values(timeAt(x)).length) best = { run: null, kind: "value", time: timeAt(x), below: true };
  return best;
}

function say(text) { $("status").textContent = text; }

function show(thing, x, y) {
  picked = thing;
  if (!thing) { tip.hidden = true; return later(); }
  const [head, ...rest] = describe(thing);
  tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: head }), rest.join("\n"));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(0, x + 16 + width > area.width ? x - 16 - width : x + 16)}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, area.height - height))}px`;
  later();
}

function hover(x, y) {
  const inside = x >= area.left && x <= area.left + area.w && y >= area.top - Band.height(shown()) && y <= area.end;
  pointer = inside ? { x, y } : null;
  show(inside ? nearest(x, y) : null, x, y);
  if (inside) say([seconds(timeAt(x)), ...chosen().map(run => `${run.label}: ${stateAt(run, timeAt(x))}`)].join("  |  "));
}

// ---- hands ----------------------------------------------------------------------------------

const pressed = (button, on) => button.setAttribute("aria-pressed", String(on));
let drag = null, pinch = null;
// Where fingers, or the pressed mouse, are.
const fingers = new Map();
const place = event => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };

canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const [x, y] = place(event), delta = event.deltaY || event.deltaX;
  const inLower = y > area.top + area.h1;
  const alone = inLower || !(event.shiftKey || event.altKey);
  zoom(Math.exp(Math.max(-1, Math.min(1, delta / 300))), x, y, alone || !event.altKey, !alone);
  // What is shown of the time stays in sight.
  if (alone && !inLower) fit();
}, { passive: false });
/** The middle between two fingers, and how far apart they are. */
function spread() {
  const [[ax, ay], [bx, by]] = [...fingers.values()];
  return { x: (ax + bx) / 2, y: (ay + by) / 2, far: Math.max(10, Math.hypot(ax - bx, ay - by)) };
}
/** Zooms as two fingers do: what was between them stays there. In the panels below it is time alone. */
function stretch() {
  const { x, y, far } = spread(), f = pinch.far / far, k = pinch.y > area.top + area.h1 ? 1 : f;
  const dt = (pinch.t1 - pinch.t0) * f, ds = (pinch.s1 - pinch.s0) * k;
  const t0 = pinch.t - (x - area.left) / area.w * dt, s1 = pinch.s + (y - area.top) / area.h1 * ds;
  look(t0, t0 + dt, s1 - ds, s1);
}
canvas.addEventListener("pointerdown", event => {
  const [x, y] = place(event);
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, [x, y]);
  box = drag = pinch = null;
  if (fingers.size === 2) {
    const middle = spread();
    pinch = { ...middle, t: timeAt(middle.x), s: segmentAt(middle.y), ...view };
    return show(null);
  }
  if (fingers.size > 2) return;
  drag = { x, y, ...view };
  Below.touch(y); Below.tellButtons(runs, $("log")); later();
  if (boxMode || event.shiftKey) box = { x0: x, y0: y, x1: x, y1: y };
});
canvas.addEventListener("pointermove", event => {
  const [x, y] = place(event);
  if (fingers.has(event.pointerId)) fingers.set(event.pointerId, [x, y]);
  if (pinch) return stretch();
  if (!drag) return fingers.size ? undefined : hover(x, y);
  show(null);
  if (box) { box.x1 = x; box.y1 = y; return later(); }
  const dt = (drag.x - x) / area.w * (drag.t1 - drag.t0), ds = (y - drag.y) / area.h1 * (drag.s1 - drag.s0);
  look(drag.t0 + dt, drag.t1 + dt, drag.s0 + ds, drag.s1 + ds);
});
canvas.addEventListener("pointerup", event => {
  const [x, y] = place(event), tapped = drag && event.pointerType === "touch" && Math.hypot(x - drag.x, y - drag.y) < 6;
  if (box && Math.abs(box.x1 - box.x0) > 5) {
    const top = Math.min(box.y0, box.y1), bottom = Math.max(box.y0, box.y1), inLower = top > area.top + area.h1;
    const flat = inLower || bottom - top < 6;
    look(timeAt(Math.min(box.x0, box.x1)), timeAt(Math.max(box.x0, box.x1)),
      flat ? view.s0 : segmentAt(bottom), flat ? view.s1 : segmentAt(top));
  }
  letGo(event);
  if (tapped) hover(x, y);
});
/** A finger leaves; one that stays goes on moving the view. */
function letGo(event) {
  fingers.delete(event.pointerId);
  box = drag = pinch = null;
  if (fingers.size === 1) {
    const [[x, y]] = fingers.values();
    drag = { x, y, ...view };
  }
  later();
}
canvas.addEventListener("pointercancel", letGo);
canvas.addEventListener("pointerleave", event => {
  // What a finger has tapped is told when the finger is gone.
  if (!drag && event.pointerType !== "touch") { pointer = null; show(null); }
});
canvas.addEventListener("dblclick", reset);

/** Picks the next or the previous packet of the run that one was picked of, or of the first. */
function step(forward) {
  const run = picked && picked.run && chosen().includes(picked.run) ? picked.run : chosen()[0];
  if (!run || !run.sent.length) return;
  let i = picked && picked.run === run && (picked.kind === "segment" || picked.kind === "lost")
    ? picked.i + (forward ? 1 : -1) : lower(run.sent, Math.max(view.t0, picked ? -Infinity : view.t0));
  i = Math.min(Math.max(i, 0), run.sent.length - 1);
  const thing = { run, kind: "segment", i };
  const time = run.sent[i], segment = run.segment[i];
  if (time < view.t0 || time > view.t1 || segment < view.s0 || segment > view.s1) {
    const t = (view.t1 - view.t0) / 2, s = (view.s1 - view.s0) / 2;
    look(time - t, time + t, segment - s, segment + s);
  }
  pointer = null;
  show(thing, ...placeOf(thing));
  say(describe(thing).join(". "));
}

function toggleBox(on = !boxMode) { boxMode = on; pressed($("box"), on); }
function press(key) {
  const dt = (view.t1 - view.t0) / 10, ds = (view.s1 - view.s0) / 10;
  const middle = [area.left + area.w / 2, area.top + area.h1 / 2];
  const actions = {
    ArrowLeft: () => move(-dt, 0), ArrowRight: () => move(dt, 0), ArrowUp: () => move(0, ds), ArrowDown: () => move(0, -ds),
    "+": () => zoom(1 / 1.5, ...middle), "=": () => zoom(1 / 1.5, ...middle), "-": () => zoom(1.5, ...middle),
    0: reset, Home: reset, f: fit, b: () => toggleBox(), l: () => $("log").click(), h: () => handoff(true), H: () => handoff(false),
    n: () => step(true), p: () => step(false), Escape: () => { toggleBox(false); box = drag = null; show(null); },
  };
  if (!actions[key]) return false;
  actions[key]();
  return true;
}
canvas.addEventListener("keydown", event => {
  if (!event.ctrlKey && !event.metaKey && !event.altKey && press(event.key)) event.preventDefault();
});
for (const [id, key] of [["in", "+"], ["out", "-"], ["fit", "f"], ["next", "h"], ["reset", "0"], ["box", "b"]]) {
  $(id).addEventListener("click", () => press(key));
}
/** Shows a quantity below, alone or with those that are there. */
function choose(kind, isMore) {
  const words = Below.choose(kind, isMore);
  if (picked && picked.below) show(null);
  legend(); resize();
  say(words);
}
for (const button of document.querySelectorAll("[data-below]")) {
  button.addEventListener("click", event => choose(button.dataset.below, event.shiftKey || event.ctrlKey || event.metaKey));
  button.addEventListener("keydown", event => {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    if (!event.repeat) choose(button.dataset.below, true);
  });
}
for (const button of document.querySelectorAll("[data-more]")) button.addEventListener("click", () => choose(button.dataset.more, true));
$("log").addEventListener("click", () => {
  Below.changeAxis();
  legend(); later();
});
for (const name of flows) $("flow").append(new Option(name));
$("flow").parentElement.hidden = flows.length < 2;
$("flow").addEventListener("change", () => {
  flow = $("flow").value;
  show(null); measure();
  legend(); resize(); look(view.t0, view.t1, whole.s0, whole.s1);
  if (view.t0 > whole.t0 || view.t1 < whole.t1) fit();
  say(`The packets are those of ${flow}.`);
});

// ---- legend ---------------------------------------------------------------------------------

function toggle(run, on = !run.shown) {
  run.shown = on;
  if (picked && picked.run === run) show(null);
  legend(); resize();
  say(`${run.label} is ${on ? "shown" : "hidden"}.`);
}
/** Shows a line alone, or all lines if it is alone. */
function alone(run) {
  const isAlone = shown().length === 1 && run.shown;
  for (const one of runs) one.shown = isAlone || one === run;
  show(null); legend(); resize();
  say(isAlone ? "All lines are shown." : `${run.label} is shown alone.`);
}
function legend() {
  const box = $("runs");
  if (!box.children.length) {
    for (const run of runs) {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Show or hide this line; double click: this line alone, or all";
      button.addEventListener("click", () => toggle(run));
      button.addEventListener("dblclick", () => alone(run));
      box.append(button);
    }
  }
  runs.forEach((run, i) => {
    const button = box.children[i];
    button.innerHTML = runs.length > 1 ? Shapes.lineIcon(shape(run), dashOf(run.look), colour(run), isFilled(run.look)) : icon(shape(run), colour(run), colour(run));
    button.append(run.label);
    pressed(button, run.shown);
  });
  Below.tellButtons(runs, $("log"));
  $("next").textContent = Path.word(runs);
  $("next").hidden = !Path.word(runs);
  const own = Lines.queues(passed, shown()).map((q, _, all) => [
    Shapes.lineIcon(all.length > 1 ? shapeOf(q.look) : "", all.length === 1 ? [] : dashOf(q.look), colourOf(q.look), isFilled(q.look)), q.run ? `packets of ${q.label}` : `mean ${q.label}`]);
  $("marks").innerHTML = Panels.legend(runs, Below.forLegend(own), { icon, words, shape: runs.length > 1 ? "circle" : shape(runs[0]),
    of: flows.length > 1 ? flow : "", differ: Path.differ(shown()), hasBars: Path.hasBars(shown()) });
}

function recolour() { readColours(); legend(); later(); }
dark.addEventListener("change", recolour);
addEventListener("resize", resize);
readColours();
legend();
resize();
look((data.from ?? whole.t0 / S) * S, (data.until ?? whole.t1 / S) * S,
  ...(data.segments || [whole.s0, whole.s1]));
const opening = [data.from, data.until, data.segments].every(one => one === null) ? Opening.find(runs, last) : null;
if (opening) {
  look(opening.t0, opening.t1, whole.s0, whole.s1);
  Opening.tell($("opened"), opening, last, reset); resize();
}
if (!data.segments && (opening || data.from !== null || data.until !== null)) fit();
draw();

// What tests ask.
window.midflight = { runs, view: () => ({ ...view }), whole, look, draw, drawn: () => drawn, area, flightAt: (run, t) => at(runs[run].flight, t),
  picked: () => picked && describe(picked), point: (run, kind, i) => placeOf({ run: runs[run], kind, i }), boxMode: () => boxMode, named: () => named, shapes: runs.map(shape), below: () => Below.kinds()[0], panels: Below.kinds, colours: () => runs.map(colour),
  means: (run, per = 1) => { const { t, v } = Data.means(runs[run], data.unit, per, 0, Infinity); return [[...t], [...v]]; },
  levels: queue => Lines.levels(passed, queues[queue])[0], queues, paths, unit: data.unit };
})();
