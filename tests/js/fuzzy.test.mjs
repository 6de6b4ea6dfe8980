import assert from "node:assert/strict";
import { test } from "node:test";

import { rank, score } from "../../static/js/fuzzy.js";

const NAMES = ["Home", "Chat", "Trades", "Backtests", "Facts: what Keel knows", "Check a planned trade", "Start a backtest"];
const find = (query) => rank(query, NAMES, (name) => name);

test("score is zero for a name that lacks a letter", () => {
  assert.equal(score("xyz", "Trades"), 0);
  assert.equal(score("sedart", "Trades"), 0);
});

test("rank puts words that stand together before scattered letters", () => {
  assert.equal(find("trade")[0], "Trades");
  assert.equal(find("backt")[0], "Backtests");
  assert.equal(find("keel")[0], "Facts: what Keel knows");
});

test("rank finds a name by the first letters of its words", () => {
  assert.equal(find("cpt")[0], "Check a planned trade");
  assert.equal(find("sab")[0], "Start a backtest");
});

test("rank keeps the order and all names without a query", () => {
  assert.deepEqual(find("  "), NAMES);
});

test("score ignores capitals, accents and spaces", () => {
  assert.ok(score("ETE", "Été à Paris") > 0);
  assert.ok(score("plan ned", "Check a planned trade") > 0);
});
