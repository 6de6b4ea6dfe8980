/** What is drawn over candles: entries, exits, stops and the times of trades. A primitive of the chart library. */

/** @typedef {import("./reading.js").PriceValues} PriceValues */

const SIZE = 5; // half of a mark, in pixels
const BAR = 4; // the height of a trade's time

export class Overlay {
  /**
   * @param {PriceValues} values
   * @param {Record<string, string>} colours
   */
  constructor(values, colours) {
    this.values = values;
    this.colours = colours;
    /** @type {any} */
    this.place = null;
    const renderer = { draw: (/** @type {any} */ target) => target.useMediaCoordinateSpace((/** @type {any} */ scope) => this.draw(scope)) };
    this.views = [{ zOrder: () => "top", renderer: () => renderer }];
  }

  /** @param {any} place  the chart and series that the library attaches to */
  attached(place) {
    this.place = place;
  }

  detached() {
    this.place = null;
  }

  updateAllViews() {}

  paneViews() {
    return this.views;
  }

  /** @param {number} index */
  x(index) {
    return this.place.chart.timeScale().timeToCoordinate(this.values.times[index]);
  }

  /** @param {{context: CanvasRenderingContext2D, mediaSize: {width: number, height: number}}} scope */
  draw({ context, mediaSize }) {
    if (!this.place) return;
    context.save();
    for (const span of this.values.spans) this.drawSpan(context, span, mediaSize.height);
    for (const level of this.values.levels) this.drawLevel(context, level);
    for (const mark of this.values.marks) this.drawMark(context, mark);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./reading.js").Span} span
   * @param {number} height
   */
  drawSpan(context, span, height) {
    const [from, to] = [this.x(span.from), this.x(span.to)];
    if (from === null || to === null) return;
    context.fillStyle = this.colours[span.way] ?? this.colours.muted;
    context.strokeStyle = context.fillStyle;
    const box = /** @type {const} */ ([from, height - BAR - 1, Math.max(2, to - from), BAR]);
    // A loss and an open trade are outlines: colour alone would not tell them from a gain.
    if (span.way === "gain") context.fillRect(...box);
    else context.strokeRect(...box);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./reading.js").Level} level
   */
  drawLevel(context, level) {
    const [from, to, y] = [this.x(level.from), this.x(level.to), this.place.series.priceToCoordinate(level.price)];
    if (from === null || to === null || y === null) return;
    context.strokeStyle = this.colours.danger;
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(from, y);
    context.lineTo(Math.max(to, from + 4), y);
    context.stroke();
    context.setLineDash([]);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("./reading.js").Mark} mark
   */
  drawMark(context, mark) {
    const [x, y] = [this.x(mark.at), this.place.series.priceToCoordinate(mark.price)];
    if (x === null || y === null) return;
    context.strokeStyle = this.colours.text;
    context.fillStyle = this.colours.text;
    context.lineWidth = 2;
    context.beginPath();
    if (mark.way === "exit") {
      context.moveTo(x - SIZE, y - SIZE);
      context.lineTo(x + SIZE, y + SIZE);
      context.moveTo(x - SIZE, y + SIZE);
      context.lineTo(x + SIZE, y - SIZE);
      context.stroke();
    } else if (mark.way === "entry" || mark.way === "add") {
      const tip = mark.side === "short" ? SIZE : -SIZE;
      context.moveTo(x, y + tip);
      context.lineTo(x - SIZE, y - tip);
      context.lineTo(x + SIZE, y - tip);
      context.closePath();
      if (mark.way === "entry") context.fill();
      else context.stroke();
    } else {
      context.fillStyle = this.colours[mark.way === "best" ? "gain" : mark.way === "worst" ? "loss" : "warn"];
      if (mark.way === "event") context.rect(x - 1, 0, 2, y);
      else context.arc(x, y, SIZE - 1, 0, 2 * Math.PI);
      context.fill();
    }
  }
}
