import assert from "node:assert/strict";
import { test } from "node:test";

import { formatAmount, formatTime, limitRate, movePlace, readEquity, readPrice } from "../../static/charts/reading.js";

const TIMES = [1_772_323_200, 1_772_326_800]; // 2026-03-01, 00:00 and 01:00 UTC

test("arrow keys move by one, paging by ten, Home and End to the ends", () => {
  assert.equal(movePlace("ArrowRight", 3, 20), 4);
  assert.equal(movePlace("ArrowLeft", 0, 20), 0);
  assert.equal(movePlace("PageUp", 3, 20), 13);
  assert.equal(movePlace("End", 3, 20), 19);
  assert.equal(movePlace("Home", 3, 20), 0);
  assert.equal(movePlace("a", 3, 20), null);
});

test("amounts are written as the server writes them", () => {
  assert.equal(formatAmount(1234.5, "USD", 2), "$1,234.50");
  assert.equal(formatAmount(-0.001, "USD", 2), "$0.00");
  assert.equal(formatAmount(-3, "USD", 2), "-$3.00");
  assert.equal(formatAmount(12.345, "%", 2), "12.35%");
  assert.equal(formatAmount(1.25, "R", 2), "1.25 R");
});

test("an instant is written in the reader's zone", () => {
  assert.equal(formatTime(TIMES[0], "UTC"), "2026-03-01 00:00");
  assert.equal(formatTime(TIMES[0], "America/New_York"), "2026-02-28 19:00");
});

test("the readout of a curve names each line and the fall", () => {
  const values = {
    times: TIMES,
    lines: [
      { name: "Equity", values: [1000, 990] },
      { name: "Buy and hold", values: [1000, null] },
    ],
    falls: [0, -1],
    fallUnit: "%",
    unit: "USD",
    places: 2,
  };

  assert.equal(readEquity(values, 1, "UTC"), "2026-03-01 01:00 · Equity $990.00 · below the peak 1.00%");
  assert.equal(readEquity({ ...values, falls: null }, 0, "UTC"), "2026-03-01 00:00 · Equity $1,000.00 · Buy and hold $1,000.00");
});

test("the readout of a candle tells what happened in its time", () => {
  const values = {
    times: TIMES,
    open: [100, 101],
    high: [102, 103],
    low: [99, 100.5],
    close: [101, 102],
    marks: [{ at: 1, price: 101, way: "entry", side: "long", text: "Long 1 BTC" }],
    levels: [{ from: 1, to: 1, price: 95, text: "Stop at 95" }],
    spans: [{ from: 0, to: 0, way: "gain", text: "" }],
    unit: "USD",
    places: 3,
  };

  assert.equal(readPrice(values, 0, "UTC"), "2026-03-01 00:00 · open 100 · high 102 · low 99 · close 101");
  assert.match(readPrice(values, 1, "UTC"), /low 100\.5 · close 102 · Long 1 BTC · Stop at 95$/);
});

test("a limited function passes on the first value at once and the newest one later", () => {
  const passed = [];
  const waiting = [];
  let now = 0;
  const say = limitRate((value) => passed.push(value), 1000, { now: () => now, wait: (act, ms) => waiting.push([act, ms]) });

  say("a");
  now = 200;
  say("b");
  now = 400;
  say("c");

  assert.deepEqual(passed, ["a"]);
  assert.equal(waiting.length, 1);
  assert.equal(waiting[0][1], 800);
  now = 1000;
  waiting[0][0]();
  assert.deepEqual(passed, ["a", "c"]);
  now = 2500;
  say("d");
  assert.deepEqual(passed, ["a", "c", "d"]);
});
