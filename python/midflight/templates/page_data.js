"use strict";
/** The packed data of a page, and how to look things up in it. */
const Data = (() => {
/** Bytes of base64. */
function bytes(text) {
  const raw = atob(text), found = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) found[i] = raw.charCodeAt(i);
  return found;
}

/** Whole numbers from deltas: seven bits to a byte, the sign in the lowest bit. */
function unpack(text) {
  const raw = bytes(text);
  let count = 0;
  for (const byte of raw) if (byte < 128) count++;
  const found = new Float64Array(count);
  let value = 0, delta = 0, scale = 1, place = 0;
  for (const byte of raw) {
    delta += (byte & 127) * scale;
    scale *= 128;
    if (byte > 127) continue;
    value += delta % 2 ? -(delta + 1) / 2 : delta / 2;
    found[place++] = value;
    delta = 0; scale = 1;
  }
  return found;
}

/** A value that holds from each time to the next. */
function steps([times, values, whole]) {
  return { t: unpack(times), v: whole ? Float32Array.from(unpack(values)) : new Float32Array(bytes(values).buffer) };
}

/** The first place in ascending numbers that is not below `value`. */
function lower(ascending, value) {
  let low = 0, high = ascending.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}
const upper = (ascending, value) => lower(ascending, value + 1);

/** What a value is at an instant; undefined before the first. */
const at = (series, time) => series.v[upper(series.t, time) - 1];

/** Segments outstanding: the highest one sent less the highest one acknowledged. */
function flight(run) {
  const t = [], v = [];
  let sent = -1, acked = -1, a = 0, k = 0;
  while (a < run.sent.length || k < run.ack.length) {
    const segment = k >= run.ack.length || run.sent[a] < run.ack[k];
    // At one instant the ACK comes first: it is what lets a segment go.
    const time = segment ? run.sent[a] : run.ack[k];
    if (!segment) acked = Math.max(acked, run.acked[k++]);
    else if (run.kind[a]) { a++; continue; }
    else sent = Math.max(sent, run.segment[a++]);
    t.push(time); v.push(Math.max(0, sent - acked));
  }
  return { t: Float64Array.from(t), v: Float32Array.from(v) };
}

/** Cuts that are nearer than `least` to the next one, together. */
function groups(cuts, least) {
  const found = [];
  for (const one of cuts) {
    const group = found[found.length - 1];
    if (group && one - group[group.length - 1] < least) group.push(one); else found.push([one]);
  }
  return found;
}
// Of each list of cuts the edges that were asked for last.
const known = new WeakMap();
/**
 * The edges of the intervals of means of a whole run: multiples of `step`, and the `cuts`, which no interval contains. They are those
 * of figures (`midflight/plot/over_time/bins.py`), and do not depend on what is shown.
 */
function edges(cuts, step, end) {
  const key = `${step} ${end}`;
  if (!known.has(cuts) || known.get(cuts).size > 8) known.set(cuts, new Map());
  const made = known.get(cuts);
  if (!made.has(key)) made.set(key, madeEdges(cuts, step, end));
  return made.get(key);
}
function madeEdges(cuts, step, end, begin = 0) {
  const whole = Math.floor(end / step + 1e-9), least = .8 * step * (1 - 1e-9), shortest = .05 * step, kept = [begin], near = [begin];
  for (const group of groups(cuts.filter(one => one > begin), .25 * step)) {
    const first = group[0], last = group[group.length - 1];
    for (const one of last - first >= shortest ? [first, last] : [first]) if (one >= begin + shortest && one <= end - shortest) kept.push(one);
    near.push(first, last);
  }
  for (let k = Math.floor(begin / step) + 1; k <= whole; k++) {
    const place = lower(near, k * step), far = i => i >= 0 && i < near.length ? Math.abs(near[i] - k * step) : Infinity;
    if (Math.min(far(place - 1), far(place), Math.abs(end - k * step)) >= least) kept.push(k * step);
  }
  if (end > begin) kept.push(end);
  const found = Float64Array.from(new Set(kept)).sort(), again = [];
  // No interval is longer than 1.8.
  for (let k = 1; k < found.length; k++) {
    if (found[k] - found[k - 1] > 1.8 * step * (1 + 1e-9)) again.push((found[k] + found[k - 1]) / 2);
  }
  return again.length ? Float64Array.from(new Set([...found, ...again])).sort() : found;
}

/** An interval begins no longer before its first data than this share of it. */
const MOST_EARLY = .05;

/**
 * The edges of the intervals of a run's throughput: the first one begins with its first data, and one where data arrive after nothing
 * did for longer than an interval, unless the path is cut there.
 */
function edgesOf(run, step) {
  const { drained, resumed: [[, begin], ...resumed] } = run, isWhole = !!run.segments && step >= run.segments.length;
  // The last segment of a video may be over a time as long as the others.
  const end = isWhole ? run.end : run.received ?? run.end;
  if (!run.edges || run.edges.size > 8) run.edges = new Map();
  if (!run.edges.has(step)) {
    // A handoff is a cut if data of both links arrive for long after it (`cuts_of_arrivals` of figures).
    const cuts = run.cuts.filter(one => !drained.some(([make, last]) => make === one && last - make < .25 * step));
    const isCut = time => { const k = lower(cuts, time - .25 * step); return k < cuts.length && Math.abs(cuts[k] - time) < .25 * step; };
    const own = resumed.filter(([length, time]) => length > step && !isCut(time))
      .map(([, time,, early]) => time - early <= MOST_EARLY * step ? early : time);
    const ends = [...cuts, ...own, ...isWhole ? [] : partsOf(run, step)].sort((a, b) => a - b), made = madeEdges(ends, step, end, begin);
    const found = isWhole ? atInstants(made, run.segments.requested.map(([time]) => time), new Set([...ends, begin]), step) : wholeBursts(run, cuts, made, [begin, ...own], step);
    run.edges.set(step, run.ofBursts.includes(step) && !isWhole ? atBursts(run, found, [...ends, begin], step) : found);
  }
  return run.edges.get(step);
}
/** Where a video waits before its next request, its mean ends with what has been read. */
function partsOf({ segments, resumed: [[, begin]] }, step) {
  if (!segments) return [];
  const { requested, read } = segments, next = i => i + 1 < requested.length - 1 ? requested[i + 1][0] : Infinity;
  return read.map(([time]) => time).filter((time, i) => next(i) - time > step && time > begin);
}
/** Edges at the instants of a video's segments (`at_instants` of figures). */
function atInstants(edges, at, cuts, step) {
  const first = edges[0], end = edges[edges.length - 1];
  const found = Float64Array.from(new Set([...edges.filter(one => one === first || one === end || cuts.has(one)), ...at.filter(one => one > first && one < end)])).sort();
  const more = edges.filter(one => {
    const place = lower(found, one), before = found[Math.max(place - 1, 0)], behind = found[Math.min(place, found.length - 1)];
    return Math.min(one - before, behind - one) >= .8 * step && behind - before > 1.8 * step;
  });
  return Float64Array.from(new Set([...found, ...more])).sort();
}

/** Edges with which intervals that begin with bursts, at `begins`, are whole ones (`with_whole_bursts` of figures). */
function wholeBursts({ resumed, last }, cuts, edges, begins, step) {
  const next = resumed.find(([length], i) => i && length > step), first = begins[0] + step;
  const isBurst = next ? next[1] - next[0] < first && next[1] >= first : last < first;
  begins.forEach((begin, k) => {
    let end = Math.min(begin + step, begins[k + 1] > begin ? begins[k + 1] : Infinity);
    if (!k && !isBurst || !edges.includes(begin) || cuts.some(one => one > begin && one < end)) return;
    let behind = [...edges.filter(one => one > end)];
    const near = behind[0];
    if (near - end < .8 * step * (1 - 1e-9)) {
      if (cuts.includes(near) || behind.length === 1 && last > end) [end, ...behind] = behind;
      else if (!begins.includes(near)) {
        behind = behind.slice(1);
        if (behind[0] - end > 1.8 * step) behind = [(end + behind[0]) / 2, ...behind];
      }
    }
    edges = Float64Array.from([...edges.filter(one => one <= begin), end, ...behind]);
  });
  return edges;
}

/** Edges with intervals that end where bursts begin (`at_bursts` of figures). */
function atBursts(run, edges, fixed, step) {
  const begins = run.resumed.slice(1).filter(([length]) => length >= .2 * step).map(([, time,, early]) => time - early <= MOST_EARLY * step ? early : time);
  if (!begins.length || edges.length < 2) return edges;
  const found = [edges[0]], final = edges[edges.length - 1], last = run.received == null ? run.end : Infinity, least = .8 * step;
  for (let edge = edges[0]; edge < final; found.push(edge)) {
    const until = Math.min(last, ...fixed.filter(one => one > edge)), isBurst = begins.includes(edge), most = (isBurst ? .15 : .5) * step;
    const target = edge + step, far = one => Math.abs(one - target);
    const near = begins.filter(one => far(one) <= most && one <= until - least && one < final).sort((a, b) => far(a) - far(b));
    if (near.length) edge = near[0];
    else if (isBurst) {
      if (until - edge < .8 * step && !fixed.includes(edge) && found.length > 1) found.pop();
      edge = until - target < least ? until : target;
    }
    else {
      const behind = edges.filter(one => one > edge), from = edge;
      edge = edges.includes(from) ? behind[0] : behind.find(one => one === final || fixed.includes(one) || one - from >= least);
    }
  }
  return Float64Array.from(found);
}

/**
 * Mean throughputs in Mbit/s, as steps, of the intervals of `per` units that are seen from `from` to `until`; `bytes` are those
 * that have arrived by each unit, the last ones by the run's end, and `cutBytes` those by each cut; each of `resumed` has the length
 * of a time without arrivals, when data arrive after it, the bytes by then, and from when on those were received, the first one
 * of the first data; `wholes` are the bytes by the end of a whole interval of a length from each of these on.
 */
function means(run, unit, per, from, until) {
  const { cuts, bytes, cutBytes, end } = run, all = edgesOf(run, per * unit), t = [], v = [];
  const { requested = [], read = [] } = run.segments || {};
  const byResumed = new Map([...requested, ...read, ...run.resumed.flatMap(([, time, had, early]) => [[time, had], [early, had]])]);
  const isEarly = ([, time,, early]) => time - early <= MOST_EARLY * per * unit, wholes = run.wholes[per * unit] || [];
  const byWhole = new Map(wholes.map((had, i) => [(isEarly(run.resumed[i]) ? run.resumed[i][3] : run.resumed[i][1]) + per * unit, had]));
  const by = time => {
    if (time >= (run.received ?? end)) return bytes[bytes.length - 1];
    const k = lower(cuts, time);
    if (cuts[k] === time || !(time % unit)) return cuts[k] === time ? cutBytes[k] : bytes[time / unit];
    const found = byResumed.get(time) ?? byWhole.get(time), k0 = Math.floor(time / unit);
    // Of a length that no view has it is about that many.
    return found ?? bytes[k0] + (time / unit - k0) * (bytes[k0 + 1] - bytes[k0]);
  };
  for (let k = Math.max(0, upper(all, from) - 1); k < all.length - 1 && all[k] <= until; k++) {
    t.push(all[k]);
    // The last one of a call, which ends with a frame, is over the time of its frames.
    const length = all[k + 1] - all[k], isLast = k === all.length - 2 && run.frame;
    v.push((by(all[k + 1]) - by(all[k])) * 8e3 / (isLast ? run.frame * Math.ceil(length / run.frame - 1e-6) : length));
  }
  return { t: Float64Array.from(t), v: Float32Array.from(v) };
}

/** A name in brackets behind a text; a name with brackets of its own has square ones around it. */
const aside = name => name.includes("(") ? `[${name}]` : `(${name})`;

return { aside, bytes, unpack, steps, lower, upper, at, flight, edges, edgesOf, means };
})();
