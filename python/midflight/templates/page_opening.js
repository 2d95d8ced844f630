"use strict";
/** What the page of a long run shows first: in all of it the sequence would be a straight line. */
const Opening = (() => {
/** Longer runs, in nanoseconds, open at a part of them. */
const LONG = 60e9;
/** A stall is seen with so much before and after it, in its lengths, and anything else with this time. */
const AROUND = 1.5, LEAST = 5e9;
/** A part that is larger than this share of a run is no help. */
const MOST = .5;

/** The longest of some spans of runs, with the run. */
function longest(runs, spans) {
  const all = runs.flatMap(run => spans(run).map(([from, until]) => ({ run, from, until })));
  return all.reduce((a, b) => a && a.until - a.from >= b.until - b.from ? a : b, null);
}

/** The outage, time without a link, handoff or change before a stall of playback, which may be its cause. */
function before(run, from) {
  const gaps = Path.gaps(run, from), ends = new Set(gaps.flat());
  const moments = Path.moments([run]).filter(one => one.kind !== "notice" && !ends.has(one.time)).map(one => [one.time, one.label]);
  const all = [...run.outages.map(([begin]) => [begin, "outage"]), ...gaps.map(([begin]) => [begin, "no link"]), ...moments];
  return all.filter(([time]) => time <= from).reduce((a, b) => a && a[0] > b[0] ? a : b, null);
}

const seconds = time => `${+(time / 1e9).toFixed(2)} s`;
/** The first view of runs that end at `end`, and what it is; null is all of it. */
function find(runs, end) {
  if (end <= LONG) return null;
  const flow = runs[0].flow, same = runs.filter(run => run.flow === flow);
  // What a viewer sees comes before what the buffer had enough for.
  const played = longest(same, run => run.stalls), found = played || longest(same, run => run.silent);
  const first = Path.moments(runs).find(one => one.kind !== "notice"), outage = runs.flatMap(run => run.outages).sort((a, b) => a[0] - b[0])[0];
  const [from, until, what] = found ? [found.from, found.until, `the longest ${played ? "stall of playback" : "time in which nothing arrives"}${runs.length > 1 ? ` ${played ? "of" : "with"} ${found.run.label}` : ""}, of ${seconds(found.until - found.from)}`]
    : first ? [first.time, first.time, `the first handoff or change, ${first.label},`] : outage ? [...outage, "the first outage"] : [];
  if (from === undefined) return null;
  const around = Math.max(LEAST, AROUND * (until - from)), t1 = Math.min(1.01 * end, until + around);
  const since = time => Math.max(-.01 * end, time - around), said = `${what} at ${seconds(from)}`;
  // What the buffer had enough for at first is seen from its cause on.
  const cause = played && before(found.run, from);
  if (cause && t1 - since(cause[0]) <= MOST * end) return { t0: since(cause[0]), t1, what: `${said}, with what was before it from ${seconds(cause[0])} on (${cause[1]})` };
  return t1 - since(from) > MOST * end ? null : { t0: since(from), t1, what: said };
}

/** Says in an element what the page opened at, with a button that shows everything. */
function tell(element, { what }, end, all) {
  const button = document.createElement("button");
  button.type = "button"; button.textContent = `Show all ${seconds(end)}`;
  button.addEventListener("click", all);
  element.replaceChildren(`This page opens at ${what}. `, button, " or zoom out.");
  element.hidden = false;
}
const forget = element => { element.hidden = true; };

return { find, tell, forget };
})();
