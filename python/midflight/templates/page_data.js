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

/** The next greater of 1, 2, 5, 10, ... times a power of ten. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find(f => f * power >= value * .999999);
}

/**
 * Mean throughputs in Mbit/s, as steps, of the intervals of `per` units that are seen from `from` to `until`; `bytes` are those
 * that have arrived by each unit, the last ones by the run's end. The last interval ends there; less than half of one joins the one
 * before.
 */
function means({ bytes, end }, unit, per, from, until) {
  const last = bytes.length - 1, t = [], v = [];
  for (let k = Math.max(0, Math.floor(from / unit / per)) * per; k < last && k * unit <= until; ) {
    const next = last - k < 1.5 * per ? last : k + per;
    t.push(k * unit);
    v.push((bytes[next] - bytes[k]) * 8e3 / ((next === last ? end : next * unit) - k * unit));
    k = next;
  }
  return { t: Float64Array.from(t), v: Float32Array.from(v) };
}

return { bytes, unpack, steps, lower, upper, at, flight, nice, means };
})();
