"use strict";
/** Panels below of every flow: window, pipe, timer, throughput and queues, as lines over time. */
const Lines = (() => {

/** A step line; of many steps in a pixel the least and the greatest. `at` is what the page passes. */
function line(at, series, end, yOf, dash, width) {
  const { g, X, view, area } = at, { t, v } = series;
  const from = Math.max(0, at.upper(t, view.t0) - 1), to = at.upper(t, view.t1);
  if (to <= from) return;
  g.setLineDash(dash); g.lineWidth = width;
  g.beginPath();
  let pixel = -Infinity, low = 0, high = 0, y = yOf(v[from]);
  g.moveTo(X(Math.max(t[from], view.t0)), y);
  const close = () => { if (low !== high) { g.lineTo(pixel, low); g.lineTo(pixel, high); g.lineTo(pixel, y); } };
  const thin = to - from > 3 * area.w;
  for (let i = from + 1; i < to; i++) {
    const x = X(t[i]), next = yOf(v[i]);
    if (!thin) { g.lineTo(x, y); g.lineTo(x, next); y = next; continue; }
    if (Math.floor(x) !== pixel) {
      close();
      pixel = Math.floor(x); g.lineTo(pixel, y); low = high = next; g.lineTo(pixel, next);
    }
    low = Math.min(low, next); high = Math.max(high, next); y = next;
  }
  close();
  g.lineTo(X(Math.min(view.t1, Math.max(t[t.length - 1], end))), y);
  g.stroke();
  g.setLineDash([]);
}

/** Markers of a line, as many as in figures, at places that are those of no other line. */
const MARKERS = 7;
function markers(at, series, end, yOf, look, number) {
  const { g, X, view } = at, span = (view.t1 - view.t0) / MARKERS;
  g.beginPath();
  for (let k = 0; k < MARKERS; k++) {
    const time = view.t0 + span * (k + .25 + .5 * (number % 2) + .09 * number), value = at.at(series, time);
    if (value !== undefined && time <= end) at.trace(at.shapeOf(look), X(time), yOf(value), 4);
  }
  Shapes.fill(at, look);
}
/** The line of a run, up to an instant: where there are several, with the dashes and the markers of its look. */
function own(at, run, series, yOf, end = run.end) {
  const those = at.withIt(), isAlone = those.length === 1;
  line(at, series, end, yOf, isAlone ? [] : at.dashOf(run.look), 1.7);
  if (!isAlone) markers(at, series, end, yOf, run.look, those.indexOf(run));
}

/** The least positive and the greatest value of some series in the time shown. */
function reach(at, all) {
  let least = Infinity, most = 0;
  for (const { t, v } of all) {
    for (let i = Math.max(0, at.upper(t, at.view.t0) - 1), end = at.upper(t, at.view.t1); i < end; i++) {
      if (v[i] > 0) least = Math.min(least, v[i]);
      most = Math.max(most, v[i]);
    }
  }
  return { least, most };
}
const axis = (at, title, floor, all) => {
  const { least, most } = reach(at, all);
  return { title, least, most: Math.max(most, floor) };
};

/** The queues of the paths of runs that are shown: each once, those of a flow with the flow. */
function queues(at, runs) {
  return at.queues.filter(q => runs.some(run => run.path === q.path && (q.run === null || q.run === run)));
}
/** The means of a run's throughput. */
function throughput(at, run) {
  const { t0, t1 } = at.view;
  return at.means(run, at.unit, interval(at) / at.unit, t0, t1);
}
/** The rate of the link in use; where it has more steps than there are means, in means over the same intervals. */
function rate(at, path) {
  const { t, v } = path.rate, { t0, t1 } = at.view, edges = at.edges(path.cuts, interval(at), path.end);
  const first = Math.max(0, at.upper(edges, t0) - 1), last = Math.min(edges.length - 1, at.upper(edges, t1));
  if (at.upper(t, t1) - at.upper(t, t0) <= last - first) return path.rate;
  // The integral until each step.
  path.sums ??= t.reduce((sums, time, i) => { if (i) sums.push(sums[i - 1] + v[i - 1] * (time - t[i - 1])); return sums; }, [0]);
  const by = time => { const i = Math.max(0, at.upper(t, time) - 1); return path.sums[i] + v[i] * (time - t[i]); };
  const found = { t: [], v: [] };
  for (let k = first; k < last; k++) {
    found.t.push(edges[k]); found.v.push((by(edges[k + 1]) - by(edges[k])) / (edges[k + 1] - edges[k]));
  }
  return found;
}
/** The rates of the paths of runs, and whether they are so far above what the runs take of them that the axis leaves them out. */
function rates(at, runs) {
  const all = [...new Set(runs.map(run => run.path))].map(path => rate(at, path));
  const taken = reach(at, runs.map(run => throughput(at, run))).most, { least, most } = reach(at, all);
  return { all, least, most, isFar: taken > 0 && most > 2.5 * taken };
}
/** Fills what is below a step line. */
function below(at, { t, v }, end, yOf) {
  const { g, X, view, area } = at, base = area.y2 + area.h2;
  const from = Math.max(0, at.upper(t, view.t0) - 1), to = at.upper(t, view.t1);
  if (to <= from) return;
  g.beginPath(); g.moveTo(X(Math.max(t[from], view.t0)), base);
  for (let i = from; i < to; i++) {
    const y = yOf(v[i]);
    g.lineTo(X(Math.max(t[i], view.t0)), y); g.lineTo(X(Math.min(i + 1 < t.length ? t[i + 1] : end, view.t1)), y);
  }
  g.lineTo(X(Math.min(to < t.length ? t[to] : end, view.t1)), base);
  g.fill();
}

/** The mean, the least and the greatest length of a queue in each such interval that is seen; each part, up to its end, in which its link is in use or it is not empty. */
function levels(at, { path, packets, least, most, used }) {
  const parts = [], isUsed = (from, until) => !used || used.some(([a, b]) => b > from && a < until);
  let found = null;
  const { t, v } = packets, edges = at.edges(path.cuts, interval(at), path.end);
  // The interval of the last sample before what is shown, or the first one.
  const held = Math.max(0, at.upper(t, at.view.t0) - 1), first = Math.max(0, at.upper(edges, t[held]) - 1);
  // What is known from a sample to the next one, beyond an edge, is that of the later interval.
  for (let k = first, i = Math.max(0, at.upper(t, edges[first]) - 1); k < edges.length - 1 && edges[k] <= at.view.t1; k++) {
    const from = i, until = k === edges.length - 2 ? Infinity : edges[k + 1];
    let sum = 0, low = Infinity, high = 0;
    for (; i < t.length && (i + 1 < t.length ? t[i + 1] : path.end) <= until; i++) {
      sum += v[i]; low = Math.min(low, v[i], least.v[i]); high = Math.max(high, v[i], most.v[i]);
    }
    if (i > from && !high && !isUsed(edges[k], edges[k + 1])) found = null;
    else if (i > from && !found) parts.push(found = { t: [], v: [], least: [], most: [] });
    if (found) found.end = edges[k + 1];
    if (i === from || !found) continue;
    // A single sample is no mean: it holds from when it was taken.
    found.t.push(i === from + 1 ? Math.max(t[from], edges[k]) : edges[k]); found.v.push(sum / (i - from)); found.least.push(low); found.most.push(high);
  }
  return parts;
}
/** Whether a single line is shown: ssthresh and flight of several would hide the windows. */
const isAlone = at => at.withIt().length === 1;
const limit = value => value >= 2 ** 30 ? "not set" : fixed(value);
const fixed = value => String(+value.toFixed(2)), during = (from, until) => `${+(from / 1e9).toFixed(6)} to ${+(until / 1e9).toFixed(6)} s`;
const milliseconds = value => `${fixed(1e3 * value)} ms`;
const isSpurious = timeout => timeout[3] === "spurious";
const lasts = (at, least = 0) => +(Math.max(interval(at), least) / 1e9).toPrecision(2);
/** A view lies in the part of a run in which it is for at least this share. */
const WITHIN = .9;
/** The interval of means: that of figures, and of a part of a run that of a figure in which it is as wide as here. */
function interval(at) {
  const { t0, t1 } = at.view, span = t1 - t0, [[begin, end]] = at.intervals;
  const those = at.intervals.filter(([from, until], i) => !i || Math.min(until, t1) - Math.max(from, t0) >= WITHIN * span);
  const [, , levels] = those.reduce((a, b) => a[1] - a[0] <= b[1] - b[0] ? a : b);
  const level = Math.floor(Math.log2((end - begin) / span) + 1e-9);
  return levels[Math.max(0, Math.min(level, levels.length - 1))];
}

/** How a panel is drawn: its axis, whose logarithm it may be (`log`), and the lines of a run; `isFirst` is whether the run is the
 * first one of its path, for what flows share. */
const KINDS = {
  window: {
    has: run => run.cwnd.t.length > 0, log: true,
    rows: Events.AT_TIMEOUTS,
    axis: (at, runs) => axis(at, "cwnd (segments)", 4, runs.flatMap(run => isAlone(at) ? [run.cwnd, run.flight] : [run.cwnd])),
    draw(at, run, yOf) {
      const { g } = at;
      if (isAlone(at)) {
        g.globalAlpha = .5; line(at, run.flight, run.end, yOf, [1.5, 2], 1.2);
        g.globalAlpha = 1; line(at, run.ssthresh, run.end, yOf, [7, 4], 1.2);
      }
      own(at, run, run.cwnd, yOf);
    },
    marks: [["line", "cwnd"], ["dashes", "ssthresh", (run, alone) => alone], ["dots", "flight", (run, alone) => alone]],
    tell(at, run, time) {
      const cwnd = at.at(run.cwnd, time), ssthresh = at.at(run.ssthresh, time), flight = at.at(run.flight, time);
      if (cwnd === undefined || time > run.end) return [];
      return [`${run.label}: cwnd ${fixed(cwnd)}` + (ssthresh === undefined ? "" : `, ssthresh ${limit(ssthresh)}`) + (flight === undefined ? "" : `, flight ${fixed(flight)}`)];
    },
  },
  pipe: {
    has: run => run.pipe.t.length > 0, log: true,
    rows: Events.AT_TIMEOUTS,
    axis: (at, runs) => axis(at, "pipe (segments)", 4, runs.map(run => run.pipe)),
    draw: (at, run, yOf) => own(at, run, run.pipe, yOf),
    marks: [["line", "segments that the sender takes to be in the network"]],
    tell: (at, run, time) => run.pipe.t[0] <= time && time <= run.end ? [`${run.label}: ${fixed(at.at(run.pipe, time))} segments`] : [],
  },
  timer: {
    has: run => run.rtt.t.length > 0 || run.rto.t.length > 0, log: true,
    axis(at, runs) {
      const found = axis(at, "RTT, RTO (s)", .01, runs.flatMap(run => at.isChosen(run) ? [run.rtt, run.rto] : [run.rtt]));
      // RTT samples are a small part of most timeouts.
      return { ...found, isLog: found.most > 12 * found.least };
    },
    draw(at, run, yOf) {
      const { g, view, css } = at, { t, v } = run.rtt;
      if (at.isChosen(run)) line(at, run.rto, run.end, yOf, isAlone(at) ? [] : at.dashOf(run.look), 1.7);
      g.beginPath();
      let lastX = -1, lastY = -1;
      for (let i = at.lower(t, view.t0), to = at.upper(t, view.t1); i < to; i++) {
        const x = Math.round(at.X(t[i])), y = Math.round(yOf(v[i]));
        if (x === lastX && y === lastY) continue;
        at.trace(at.shape(run), lastX = x, lastY = y, 1.6);
      }
      g.fill();
      if (!at.isChosen(run)) return;
      const drawn = at.drawn.timeouts ??= { filled: 0, hollow: 0 };
      g.lineWidth = 1.5;
      for (const one of run.timeouts) {
        if (one[0] < view.t0 || one[0] > view.t1) continue;
        // As in figures.
        g.fillStyle = isSpurious(one) ? css.back : g.strokeStyle;
        g.beginPath(); at.trace("down", at.X(one[0]), yOf(at.at(run.rto, one[0] - 1)), 4); g.fill(); g.stroke();
        drawn[isSpurious(one) ? "hollow" : "filled"]++;
      }
    },
    marks: [["line", "RTO{of}"], ["shape", "RTT sample"]],
    // They have no row, but are where the RTO is.
    told: Events.TIMEOUTS,
    tell(at, run, time) {
      const rtt = at.at(run.rtt, time), rto = at.at(run.rto, time);
      const words = [rtt === undefined ? "" : `last RTT ${milliseconds(rtt)}`, rto === undefined ? "" : `RTO ${milliseconds(rto)}`].filter(Boolean);
      return words.length && time <= run.end ? [`${run.label}: ${words.join(", ")}`] : [];
    },
  },
  throughput: {
    has: () => true, log: true,
    axis(at, runs) {
      const found = axis(at, `throughput (Mbit/s), means of ${lasts(at)} s`, .1, runs.map(run => throughput(at, run))), behind = rates(at, runs);
      return { ...found, most: behind.isFar ? found.most : Math.max(found.most, behind.most) };
    },
    draw(at, run, yOf, isFirst, isAlone, place) {
      const { g, css, area } = at, those = at.withIt(), isAlike = one => one.path.rateKey === run.path.rateKey;
      // Paths with the same rate have one area, that of the run that lasts longest.
      const longest = those.filter(isAlike).reduce((a, b) => b.path.end > a.path.end ? b : a);
      if (longest === run) {
        (at.drawn.areas ??= []).push(run.label);
        g.save();
        if (!run.path.isOwnRate) g.strokeStyle = g.fillStyle = css.soft;
        const of = at.drawn.rate = rate(at, run.path);
        // Areas of several would be mixed.
        if (!run.path.isOwnRate) { g.globalAlpha = .14; below(at, of, run.path.end, yOf); }
        g.globalAlpha = run.path.isOwnRate ? .8 : .4; line(at, of, run.path.end, yOf, [], 1);
        g.restore();
      }
      const behind = place ? null : rates(at, at.withIt());
      if (behind && behind.isFar) {
        const short = value => String(+value.toPrecision(3)), span = behind.least > .99 * behind.most ? "" : `${short(behind.least)} to `;
        g.save(); g.fillStyle = css.soft; g.textAlign = "right"; g.textBaseline = "top";
        g.fillText(at.drawn.far = `the link's rate is ${span}${short(behind.most)} Mbit/s`, area.left + area.w - 4, area.y2 + 4); g.restore();
      }
      own(at, run, throughput(at, run), yOf, at.edgesOf(run, interval(at)).at(-1));
    },
    rows: ["stalled", ...Events.AT_TIMEOUTS, ...Events.OF_REQUESTS],
    marks: [["line", "arrivals"], ["band", "rate of the link in use{way}", run => !run.path.isOwnRate], ["made", "rate of the link in use{way}", run => run.path.isOwnRate]],
    tell(at, run, time) {
      const { t, v } = throughput(at, run), k = at.upper(t, time) - 1;
      if (k < 0 || time > run.end) return [];
      const edges = at.edgesOf(run, interval(at)), until = edges[at.upper(edges, time)];
      const link = at.at(rate(at, run.path), time);
      return [`${run.label}: ${fixed(v[k])} Mbit/s, mean of ${during(t[k], until ?? run.end)}${link === undefined ? "" : `; link ${fixed(link)}`}`];
    },
  },
  queue: {
    has: () => true, log: true,
    axis: (at, runs) => axis(at, `queue (packets), means of ${lasts(at, Math.max(...queues(at, runs).map(q => q.every)))} s`, 4, queues(at, runs).flatMap(q => levels(at, q).flatMap(({ t, v, most }) => [{ t, v }, { t, v: most }]))),
    rows: [...Events.LOSSES, "marked", ...Events.AT_TIMEOUTS],
    draw(at, run, yOf, isFirst) {
      const { g, X, view } = at, all = queues(at, at.withIt());
      for (const q of queues(at, [run])) {
        if (!isFirst && q.run === null) continue;
        g.strokeStyle = g.fillStyle = at.colourOf(q.look);
        for (const { t, v, least, most, end: last } of levels(at, q)) {
          g.globalAlpha = .22;
          for (let i = 0; q.run === null && i < t.length; i++) {
            const x = X(t[i]), until = X(i + 1 < t.length ? t[i + 1] : Math.min(run.end, view.t1, last)), y = yOf(most[i]);
            g.fillRect(x, y, until - x, yOf(least[i]) - y);
          }
          const end = Math.min(q.run === null ? q.path.end : run.end, last);
          g.globalAlpha = 1; line(at, { t, v }, end, yOf, all.length > 1 ? at.dashOf(q.look) : [], q.run === null ? 1.7 : 1.2);
          if (all.length > 1) markers(at, { t, v }, end, yOf, q.look, all.indexOf(q));
        }
      }
    },
    // What its lines are has the names of the links.
    marks: [["band", "queue from the least to the most in the time of a mean"]],
    tell(at, run, time, isFirst) {
      if (time > run.path.end) return [];
      return queues(at, [run]).filter(q => isFirst || q.run !== null).flatMap(q => levels(at, q).flatMap(({ t, v, least, most, end }) => {
        const k = at.upper(t, time) - 1;
        return k < 0 || time > end ? [] : [`${q.run ? `packets of ${q.label}` : q.label}: mean ${fixed(v[k])}, ${least[k]} to ${most[k]} packets`];
      }));
    },
  },
};

return { KINDS, own, queues, levels };
})();
