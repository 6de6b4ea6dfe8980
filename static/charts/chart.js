/**
 * Charts on a canvas: each `[data-chart]` of a page, drawn when it comes near the window.
 *
 * The library comes from a package, as a script that sets a global. It is loaded once, by the first chart.
 */

import { Overlay } from "./overlay.js";
import { formatAmount, formatTime, limitRate, movePlace, readEquity, readPrice } from "./reading.js";

const SPOKEN_MS = 1_000; // between two readouts for a screen reader
const TOKENS = ["text", "muted", "line", "edge", "accent", "gain", "loss", "warn", "danger", "surface"];
const EDGE = 20; // pixels beside the values: half of a label of the time axis
const LETTER = 7; // pixels of a letter in a label
const MOST_TICKS = 6; // with a label, of a price axis
const COMPARED = ["muted", "gain", "loss"]; // colours of curves beside the first one

/** @type {Promise<any> | null} */
let library = null;

/** @param {string} address */
function loadLibrary(address) {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => resolve(/** @type {any} */ (globalThis).LightweightCharts));
    script.addEventListener("error", () => reject(new Error("The chart library did not load.")));
    document.head.append(script);
  });
  return library;
}

/**
 * Return the theme's colours as the canvas understands them; custom properties are not resolved by themselves.
 *
 * @param {HTMLElement} place
 * @param {boolean} onPaper
 */
function readColours(place, onPaper) {
  const probe = document.createElement("span");
  place.append(probe);
  if (onPaper) probe.style.colorScheme = "light";
  const colours = Object.fromEntries(
    TOKENS.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return colours;
}

/**
 * Return how amounts are written; on an axis with many ticks every second or third one has a label.
 *
 * @param {number} places
 * @param {(amount: number) => string} write
 */
function describeAmounts(places, write) {
  const label = (/** @type {number[]} */ ticks) => {
    const every = Math.ceil(ticks.length / MOST_TICKS);
    return ticks.map((tick, at) => (at % every ? "" : write(tick)));
  };
  return { type: "custom", minMove: 10 ** -places, formatter: write, tickmarksFormatter: label };
}

/** @param {string} colour  as `rgb(1, 2, 3)` */
const fade = (colour) => colour.replace(/^rgba?\((.*?)\)$/, (_, parts) => `rgba(${parts.split(",").slice(0, 3).join(",")}, 0.2)`);

/** @param {string} name  as "First: the skill"; the readout gives it whole */
const shorten = (name) => name.split(":")[0];

class CanvasChart {
  /**
   * @param {HTMLElement} place
   * @param {any} charts  the library
   */
  constructor(place, charts) {
    this.place = place;
    this.charts = charts;
    this.values = JSON.parse(place.dataset.values ?? "{}");
    this.zone = place.dataset.zone || "UTC";
    this.isPrice = place.dataset.chart === "price";
    this.at = this.values.times.length - 1;
    this.readout = place.closest("figure")?.querySelector("[data-readout]");
    this.chart = charts.createChart(place, this.describeChart());
    /** @type {any[]} */
    this.series = [];
    if (this.isPrice) this.addCandles();
    else this.addCurves();
    this.paint(false);
    this.fit();
    this.speak = limitRate((/** @type {string} */ words) => place.setAttribute("aria-valuetext", words), SPOKEN_MS);
    this.chart.subscribeCrosshairMove((/** @type {any} */ event) => {
      const at = event.time === undefined ? this.values.times.length - 1 : this.values.times.indexOf(event.time);
      if (at >= 0) this.tell(at);
    });
    this.makeReachable();
    this.tell(this.at);
    place.dataset.drawn = "";
  }

  describeChart() {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    return {
      autoSize: true,
      layout: { attributionLogo: false, background: { type: "solid", color: "transparent" }, fontFamily: getComputedStyle(this.place).fontFamily },
      grid: { vertLines: { visible: false } },
      localization: { timeFormatter: (/** @type {number} */ time) => formatTime(time, this.zone) },
      timeScale: {
        timeVisible: true,
        secondsVisible: false,
        minBarSpacing: 0.1,
        tickMarkFormatter: (/** @type {number} */ time, /** @type {number} */ kind) => {
          const written = formatTime(time, this.zone);
          return kind < 2 ? written.slice(0, 7) : kind === 2 ? written.slice(5, 10) : written.slice(11);
        },
      },
      handleScroll: { mouseWheel: false, vertTouchDrag: false },
      handleScale: { mouseWheel: false },
      kineticScroll: { touch: !isStill, mouse: false },
    };
  }

  addCurves() {
    const { values, charts } = this;
    const format = (/** @type {string} */ unit, /** @type {number} */ places) =>
      describeAmounts(places, (amount) => formatAmount(amount, unit, places).split(" ")[0]); // the title has the word
    for (const line of values.lines) {
      const series = this.chart.addSeries(charts.LineSeries, {
        lineWidth: 1.5,
        priceLineVisible: false,
        title: values.lines.length > 1 ? shorten(line.name) : "",
        priceFormat: format(values.unit, values.places),
      });
      series.setData(this.pair(line.values));
      this.series.push(series);
    }
    if (!values.falls) return;
    this.falls = this.chart.addSeries(
      charts.BaselineSeries,
      { baseValue: { type: "price", price: 0 }, lineWidth: 1, priceLineVisible: false, priceFormat: format(values.fallUnit, 2) },
      1,
    );
    this.falls.setData(this.pair(values.falls));
    const panes = this.chart.panes();
    panes[0].setStretchFactor(3);
    panes[1].setStretchFactor(1);
  }

  addCandles() {
    const { values, charts } = this;
    const series = this.chart.addSeries(charts.CandlestickSeries, {
      priceLineVisible: false,
      priceFormat: describeAmounts(values.places, (price) => price.toLocaleString("en-US", { maximumFractionDigits: values.places })),
    });
    series.setData(
      values.times.map((/** @type {number} */ time, /** @type {number} */ at) => ({
        time,
        open: values.open[at],
        high: values.high[at],
        low: values.low[at],
        close: values.close[at],
      })),
    );
    this.overlay = new Overlay(values, {});
    series.attachPrimitive(this.overlay);
    this.series.push(series);
  }

  /** Show all values, with room at the ends for labels: of the time axis, and of curves beside each other. */
  fit() {
    const { times, lines = [] } = this.values;
    const title = lines.length > 1 ? Math.max(...lines.map((/** @type {any} */ line) => shorten(line.name).length)) * LETTER : 0;
    const scale = this.chart.timeScale();
    scale.subscribeSizeChange((/** @type {number} */ width) => {
      const end = Math.max(EDGE, Math.min(title + EDGE, width * 0.4));
      const each = times.length / Math.max(width - EDGE - end, 1); // values a pixel
      scale.setVisibleLogicalRange({ from: -0.5 - EDGE * each, to: times.length - 0.5 + end * each });
    });
  }

  /** @param {(number | null)[]} column */
  pair(column) {
    return this.values.times.map((/** @type {number} */ time, /** @type {number} */ at) => (column[at] === null ? { time } : { time, value: column[at] }));
  }

  /** @param {boolean} onPaper */
  paint(onPaper) {
    const colours = readColours(this.place, onPaper);
    this.chart.applyOptions({
      layout: { textColor: colours.muted, panes: { separatorColor: colours.line, separatorHoverColor: colours.line } },
      grid: { horzLines: { color: colours.line } },
      rightPriceScale: { borderColor: colours.line },
      timeScale: { borderColor: colours.line },
      crosshair: { vertLine: { color: colours.edge, labelBackgroundColor: colours.accent }, horzLine: { color: colours.edge, labelBackgroundColor: colours.accent } },
    });
    if (this.overlay) {
      // A gain is hollow and a loss is filled, so that they differ without colour.
      this.series[0].applyOptions({ upColor: colours.surface, wickUpColor: colours.gain, borderUpColor: colours.gain, downColor: colours.loss, wickDownColor: colours.loss, borderDownColor: colours.loss });
      this.overlay.colours = colours;
      return;
    }
    this.series.forEach((series, at) => {
      const colour = at ? colours[COMPARED[(at - 1) % COMPARED.length]] : colours.accent;
      series.applyOptions({ color: colour, lineStyle: at ? 2 : 0 });
    });
    const filled = { topLineColor: colours.loss, bottomLineColor: colours.loss, topFillColor1: "transparent", topFillColor2: "transparent" };
    this.falls?.applyOptions({ ...filled, bottomFillColor1: fade(colours.loss), bottomFillColor2: fade(colours.loss) });
  }

  /** Make the canvas a slider along the time axis: the role that reads out a value on each key. */
  makeReachable() {
    const { place } = this;
    const slider = { role: "slider", tabindex: "0", "aria-label": `${place.dataset.title}: move along the time axis`, "aria-valuemin": "0", "aria-valuemax": String(this.values.times.length - 1) };
    for (const [name, value] of Object.entries(slider)) place.setAttribute(name, value);
    place.addEventListener("keydown", (event) => {
      const at = movePlace(event.key, this.at, this.values.times.length);
      if (at === null || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.tell(at);
      const price = this.isPrice ? this.values.close[at] : (this.values.lines[0].values[at] ?? 0);
      this.chart.setCrosshairPosition(price, this.values.times[at], this.series[0]);
    });
    place.addEventListener("blur", () => this.chart.clearCrosshairPosition());
  }

  /** @param {number} at */
  tell(at) {
    this.at = at;
    const words = this.isPrice ? readPrice(this.values, at, this.zone) : readEquity(this.values, at, this.zone);
    if (this.readout) this.readout.textContent = words;
    this.place.setAttribute("aria-valuenow", String(at));
    this.speak(words);
  }
}

/** @type {Set<CanvasChart>} */
const drawn = new Set();

/** @param {boolean} onPaper */
function repaint(onPaper) {
  for (const chart of drawn) {
    if (chart.place.isConnected) chart.paint(onPaper);
    else {
      chart.chart.remove();
      drawn.delete(chart);
    }
  }
}

/** Places that are drawn or wait for the library: a page and its parts ask for each more than once. */
const begun = new WeakSet();

const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) draw(/** @type {HTMLElement} */ (target));
    }
  },
  { rootMargin: "200px" },
);

/** @param {HTMLElement} place */
async function draw(place) {
  nearby.unobserve(place);
  try {
    const charts = await loadLibrary(place.dataset.library ?? "");
    if (place.isConnected) drawn.add(new CanvasChart(place, charts));
  } catch (error) {
    const readout = place.closest("figure")?.querySelector("[data-readout]");
    if (readout) readout.textContent = "The chart could not be drawn; the table below has its figures.";
    place.hidden = true;
    throw error;
  }
}

/** Draw the charts of a page or of a part that came later. */
export function drawCharts(root = document.body) {
  for (const place of root.querySelectorAll("[data-chart]")) {
    if (begun.has(place)) continue;
    begun.add(place);
    nearby.observe(place);
  }
}

/** Arrow keys move between the links of a drawing, which are one tab stop. */
document.addEventListener("keydown", (event) => {
  const link = /** @type {Element | null} */ (event.target)?.closest(".chart__drawing a");
  if (!link) return;
  const links = /** @type {HTMLAnchorElement[]} */ ([...(link.closest("svg")?.querySelectorAll("a") ?? [])]);
  const at = movePlace(event.key, links.indexOf(/** @type {any} */ (link)), links.length);
  if (at === null) return;
  event.preventDefault();
  link.setAttribute("tabindex", "-1");
  links[at].setAttribute("tabindex", "0");
  links[at].focus();
});

new MutationObserver(() => repaint(false)).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint(false));

/** @type {HTMLDetailsElement[]} */
let opened = [];
addEventListener("beforeprint", () => {
  opened = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll(".chart__table:not([open])"))];
  for (const table of opened) table.open = true;
  repaint(true);
});
addEventListener("afterprint", () => {
  for (const table of opened) table.open = false;
  repaint(false);
});
