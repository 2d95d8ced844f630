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

function steps([times, values]) {
  return { t: unpack(times), v: new Float32Array(bytes(values).buffer) };
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

return { bytes, unpack, steps, lower, upper, at, flight };
})();
