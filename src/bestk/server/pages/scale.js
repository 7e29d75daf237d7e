// From values to places between 0 and 1, and round values for an axis.

export class Scale {
  constructor(low, high) {
    Object.assign(this, { low, high });
  }

  /** The place; outside of the range beyond 0 or 1. */
  place(value) {
    return (value - this.low) / (this.high - this.low);
  }

  /** About so many round values in the range. */
  ticks(about) {
    const rough = (this.high - this.low) / about;
    const size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= rough * (1 - 1e-9));
    const values = [];
    const last = Math.floor(this.high / step + 1e-9);
    for (let i = Math.ceil(this.low / step - 1e-9); i <= last; i++) values.push(Number((i * step).toPrecision(12)));
    return values;
  }
}

/** A number on an axis. */
export function short(value) {
  for (const [least, size, unit] of [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]]) {
    if (Math.abs(value) >= least) return `${Number((value / size).toPrecision(6))}${unit}`;
  }
  if (value !== 0 && Math.abs(value) < 1e-3) return Number(value.toPrecision(6)).toExponential();
  return value.toLocaleString("en", { maximumFractionDigits: 8 });
}

const CONTENDERS = 20; // arms beyond the answer whose whole intervals are to be seen; arbitrary

/** The range to draw: all means, and the intervals of arms that may still matter.
 *
 * An arm that was dropped after a few pulls has a wide interval for ever; the axis is not made for it.
 */
export function rangeOf(order, answered) {
  let low = Infinity, high = -Infinity;
  const see = (value) => {
    if (value === null || !Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  order.forEach((arm, place) => {
    see(arm.mean);
    if (place < answered + CONTENDERS && arm.mean !== null) {
      see(arm.lower);
      see(arm.upper);
    }
  });
  if (!(low <= high)) return new Scale(0, 1);
  const margin = high > low ? 0.03 * (high - low) : 0.5;
  return new Scale(low - margin, high + margin);
}

/** The range that was, unless it has to change by much: bars should move because of answers. */
export function settled(old, fresh) {
  if (old === null) return fresh;
  const size = fresh.high - fresh.low;
  const fits = old.low <= fresh.low + 0.02 * size && old.high >= fresh.high - 0.02 * size;
  return fits && old.high - old.low < 1.15 * size ? old : fresh;
}
