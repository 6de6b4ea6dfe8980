/** What a chart tells of one place on its time axis. Pure: no document, no library. */

/**
 * @typedef {{name: string, values: (number | null)[]}} Curve
 * @typedef {{times: number[], lines: Curve[], falls: number[] | null, fallUnit: string, unit: string,
 *            places: number}} EquityValues
 * @typedef {{at: number, price: number, way: string, side: string, text: string}} Mark
 * @typedef {{from: number, to: number, price: number, text: string}} Level
 * @typedef {{from: number, to: number, way: string, text: string}} Span
 * @typedef {{times: number[], open: number[], high: number[], low: number[], close: number[], marks: Mark[],
 *            levels: Level[], spans: Span[], places: number}} PriceValues
 */

const STEPS = new Map([
  ["ArrowLeft", -1],
  ["ArrowRight", 1],
  ["ArrowDown", -1],
  ["ArrowUp", 1],
  ["PageDown", -10],
  ["PageUp", 10],
  ["Home", -Infinity],
  ["End", Infinity],
]);

/**
 * Return the place that a key leads to, or null for a key that does not move.
 *
 * @param {string} key
 * @param {number} place
 * @param {number} count
 */
export function movePlace(key, place, count) {
  const step = STEPS.get(key);
  return step === undefined ? null : Math.min(count - 1, Math.max(0, place + step));
}

/**
 * Write an amount with its unit, as the server does: `$1,234.50`, `-3.20%`, `1.25 R`.
 *
 * @param {number} amount
 * @param {string} unit
 * @param {number} places
 */
export function formatAmount(amount, unit, places) {
  const rounded = Number(amount.toFixed(places));
  const digits = Math.abs(rounded).toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
  const sign = rounded < 0 ? "-" : "";
  if (unit === "USD") return `${sign}$${digits}`;
  return unit === "%" ? `${sign}${digits}%` : `${sign}${digits} ${unit}`;
}

/**
 * Write an instant in a zone: `2026-06-04 10:00`.
 *
 * @param {number} seconds
 * @param {string} zone
 */
export function formatTime(seconds, zone) {
  const options = /** @type {Intl.DateTimeFormatOptions} */ ({ timeZone: zone, dateStyle: "short", timeStyle: "short" });
  return new Intl.DateTimeFormat("sv-SE", options).format(seconds * 1000);
}

/**
 * Return the readout of a curve at a place.
 *
 * @param {EquityValues} values
 * @param {number} place
 * @param {string} zone
 */
export function readEquity(values, place, zone) {
  const parts = values.lines
    .filter((line) => line.values[place] !== null && line.values[place] !== undefined)
    .map((line) => `${line.name} ${formatAmount(/** @type {number} */ (line.values[place]), values.unit, values.places)}`);
  if (values.falls) parts.push(`below the peak ${formatAmount(-values.falls[place], values.fallUnit, 2)}`);
  return [formatTime(values.times[place], zone), ...parts].join(" · ");
}

/**
 * Return the readout of a candle, with what happened in its time.
 *
 * @param {PriceValues} values
 * @param {number} place
 * @param {string} zone
 */
export function readPrice(values, place, zone) {
  /** @param {number[]} column */
  const show = (column) => column[place].toLocaleString("en-US", { maximumFractionDigits: values.places });
  const parts = [
    `open ${show(values.open)}`,
    `high ${show(values.high)}`,
    `low ${show(values.low)}`,
    `close ${show(values.close)}`,
    ...values.marks.filter((mark) => mark.at === place).map((mark) => mark.text),
    ...values.spans.filter((span) => span.from <= place && place <= span.to).slice(0, 3).map((span) => span.text),
    ...values.levels.filter((level) => level.from <= place && place <= level.to).slice(0, 3).map((level) => level.text),
  ];
  return [formatTime(values.times[place], zone), ...parts].filter(Boolean).join(" · ");
}

/**
 * Return a function that passes on the newest value, at most once in a time.
 *
 * @template T
 * @param {(value: T) => void} pass
 * @param {number} ms
 * @param {{now: () => number, wait: (act: () => void, ms: number) => unknown}} [clock]
 * @returns {(value: T) => void}
 */
export function limitRate(pass, ms, clock = { now: () => performance.now(), wait: (act, time) => setTimeout(act, time) }) {
  let last = -Infinity;
  /** @type {{value: T} | null} */
  let held = null;
  return (value) => {
    const rest = last + ms - clock.now();
    if (rest <= 0 && !held) {
      last = clock.now();
      pass(value);
      return;
    }
    const isWaiting = held !== null;
    held = { value };
    if (isWaiting) return;
    clock.wait(() => {
      const { value: newest } = /** @type {{value: T}} */ (held);
      held = null;
      last = clock.now();
      pass(newest);
    }, rest);
  };
}
