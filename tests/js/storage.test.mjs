import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { drop, read, write } from "../../static/chat/storage.js";
import { MemoryStorage } from "./browser.mjs";

let area;

beforeEach(() => {
  area = new MemoryStorage();
});

test("read returns what write stored", () => {
  write(area, "key", { open: true, list: [1, "two", null] });

  assert.deepEqual(read(area, "key", "fallback"), { open: true, list: [1, "two", null] });
});

test("read returns the fallback for a missing key", () => {
  assert.equal(read(area, "key", "fallback"), "fallback");
});

test("read returns a stored null, not the fallback", () => {
  write(area, "key", null);

  assert.equal(read(area, "key", "fallback"), null);
});

test("read returns the fallback for text that is not JSON", () => {
  area.setItem("key", "{broken");

  assert.deepEqual(read(area, "key", []), []);
});

test("read returns the fallback while storage is switched off", () => {
  write(area, "key", 1);
  area.isBroken = true;

  assert.equal(read(area, "key", 2), 2);
});

test("write and drop do nothing while storage is switched off", () => {
  write(area, "key", 1);
  area.isBroken = true;

  write(area, "key", 2);
  drop(area, "key");

  area.isBroken = false;
  assert.equal(read(area, "key", 0), 1);
});

test("drop removes one key and leaves the others", () => {
  write(area, "one", 1);
  write(area, "two", 2);

  drop(area, "one");

  assert.deepEqual(area.keys, ["two"]);
});
