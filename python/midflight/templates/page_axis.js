"use strict";
/** The round numbers at which an axis has its ticks. */
const Axis = (() => {
/** Round numbers in a range, about so many. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(f => f * power >= rough * .999);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return [found, step];
}
const digits = step => Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));

/** Round numbers for a logarithmic axis: ones of each power of ten in a range, or more of them where there are few powers. */
function powers(low, high) {
  for (const [factors, least] of [[[1], 5], [[1, 3], 5], [[1, 2, 5], 4]]) {
    const found = [];
    for (let k = Math.floor(Math.log10(low)); 10 ** k <= high; k++) {
      for (const factor of factors) found.push(+(factor * 10 ** k).toPrecision(1));
    }
    const seen = found.filter(value => value >= low && value <= high);
    if (seen.length >= least) return seen;
  }
  return ticks(low, high, 6)[0].map(value => +value.toPrecision(3));
}

return { ticks, digits, powers };
})();
