import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { Outbox, uuid4 } from "../../static/chat/outbox.js";
import { installBrowser } from "./browser.mjs";

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const entry = (id, text = "text") => ({ client_id: id, text, sent: false });

beforeEach(installBrowser);
afterEach(() => mock.restoreAll());

test("messages wait in order and outlive the page", () => {
  const outbox = new Outbox("1", "chat");
  outbox.add(entry("a"));
  outbox.add(entry("b"));

  assert.equal(outbox.first.client_id, "a");
  assert.deepEqual(
    new Outbox("1", "chat").entries.map((one) => one.client_id),
    ["a", "b"],
  );
});

test("an acknowledged message leaves the outbox, the next one is first", () => {
  const outbox = new Outbox("1", "chat");
  outbox.add(entry("a"));
  outbox.add(entry("b"));

  assert.equal(outbox.take("a").client_id, "a");

  assert.equal(outbox.first.client_id, "b");
  assert.equal(new Outbox("1", "chat").first.client_id, "b");
});

test("taking the last message removes the stored list", () => {
  const outbox = new Outbox("1", "chat");
  outbox.add(entry("a"));

  outbox.take("a");

  assert.deepEqual(localStorage.keys, []);
});

test("an unknown or missing client id takes nothing", () => {
  const outbox = new Outbox("1", "chat");
  outbox.add(entry("a"));

  assert.equal(outbox.take("b"), undefined);
  assert.equal(outbox.take(null), undefined);
  assert.equal(outbox.entries.length, 1);
});

test("a message acknowledged in another tab leaves the shared list", () => {
  const here = new Outbox("1", "chat");
  here.add(entry("a"));
  const there = new Outbox("1", "chat");
  there.add(entry("b"));

  here.take("b"); // not an entry of this page, but of the list that both share

  assert.deepEqual(
    new Outbox("1", "chat").entries.map((one) => one.client_id),
    ["a"],
  );
});

test("a sent message is stored as sent, so that a reload sends it again as the same one", () => {
  const outbox = new Outbox("1", "chat");
  outbox.add(entry("a"));

  outbox.markSent(outbox.first);

  assert.deepEqual(new Outbox("1", "chat").first, { client_id: "a", text: "text", sent: true });
});

test("without storage the page itself keeps the messages", () => {
  localStorage.isBroken = true;
  const outbox = new Outbox("1", "chat");

  outbox.add(entry("a"));

  assert.equal(outbox.first.client_id, "a");
  assert.equal(outbox.take("a").client_id, "a");
  assert.equal(outbox.first, undefined);
});

test("outboxes of users and conversations stay apart", () => {
  new Outbox("1", "chat").add(entry("a"));

  assert.deepEqual(new Outbox("2", "chat").entries, []);
  assert.deepEqual(new Outbox("1", "other").entries, []);
});

test("uuid4 returns different ids of version 4", () => {
  const ids = new Set(Array.from({ length: 50 }, uuid4));

  assert.equal(ids.size, 50);
  for (const id of ids) assert.match(id, UUID4);
});

test("uuid4 works without crypto.randomUUID, which needs HTTPS", () => {
  const original = crypto.randomUUID;
  crypto.randomUUID = undefined;
  try {
    const ids = new Set(Array.from({ length: 50 }, uuid4));

    assert.equal(ids.size, 50);
    for (const id of ids) assert.match(id, UUID4);
  } finally {
    crypto.randomUUID = original;
  }
});
