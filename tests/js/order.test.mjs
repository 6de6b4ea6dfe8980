import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { FrameOrder } from "../../static/chat/order.js";

let order;

const snapshot = (seq, id = null) => ({
  type: "snapshot",
  seq,
  last_message_id: id ?? "",
  reply: id && { message_id: id, html: "", tail: "", status: "streaming" },
});
const accepted = (seq, id) => ({ type: "accepted", seq, client_id: null, message_id: null, reply_id: id, html: "" });
const text = (seq, id) => ({ type: "text", seq, reply_id: id, text: "a" });
const title = (seq) => ({ type: "title", seq, title: "A title" });

beforeEach(() => {
  order = new FrameOrder();
});

test("nothing of a reply is applied before a snapshot or an accepted message", () => {
  assert.equal(order.judge(text(1, "7")), "ignore");
  assert.equal(order.seq, 0);
});

test("frames that follow each other are applied", () => {
  order.judge(accepted(1, "7"));

  assert.deepEqual([2, 3, 4].map((seq) => order.judge(text(seq, "7"))), ["apply", "apply", "apply"]);
  assert.equal(order.seq, 4);
});

test("a repeated frame is ignored", () => {
  order.judge(snapshot(5, "7"));

  assert.equal(order.judge(text(5, "7")), "ignore");
  assert.equal(order.judge(text(4, "7")), "ignore");
  assert.equal(order.judge(text(6, "7")), "apply");
});

test("a missing frame is a gap and leaves the count as it was", () => {
  order.judge(snapshot(5, "7"));

  assert.equal(order.judge(text(7, "7")), "gap");
  assert.equal(order.seq, 5);
});

test("a frame of another reply is a gap", () => {
  order.judge(snapshot(5, "7"));

  assert.equal(order.judge(text(6, "8")), "gap");
});

test("after a gap nothing of the reply is applied until the next snapshot", () => {
  order.judge(snapshot(5, "7"));
  order.expectSnapshot();

  assert.equal(order.judge(text(6, "7")), "ignore");
  assert.equal(order.judge(snapshot(9, "7")), "apply");
  assert.equal(order.judge(text(10, "7")), "apply");
});

test("an accepted message ends the wait and begins a new count", () => {
  order.judge(snapshot(40, "7"));
  order.expectSnapshot();

  assert.equal(order.judge(accepted(1, "9")), "apply");
  assert.equal(order.judge(text(2, "9")), "apply");
});

test("the answer to a resend does not set the count of the running reply back", () => {
  order.judge(accepted(1, "7"));
  for (const seq of [2, 3, 4]) order.judge(text(seq, "7"));

  assert.equal(order.judge(accepted(2, "7")), "apply");

  assert.equal(order.seq, 4);
  assert.equal(order.judge(text(4, "7")), "ignore");
  assert.equal(order.judge(text(5, "7")), "apply");
});

test("titles, notices and refusals are applied in any state", () => {
  const refusal = { type: "failed", seq: 0, reply_id: null, client_id: "a", text: "No", retry: false, html: null };

  assert.equal(order.judge(title(1)), "apply");
  assert.equal(order.judge(refusal), "apply");
  assert.equal(order.waiting, true);
});

test("a frame without a reply counts when it is the next one", () => {
  order.judge(accepted(1, "7"));

  order.judge(title(2));

  assert.equal(order.judge(text(3, "7")), "apply");
});

test("a late frame without a reply does not set the count back", () => {
  order.judge(snapshot(5, "7"));

  assert.equal(order.judge(title(2)), "apply");
  assert.equal(order.judge(title(0)), "apply");
  assert.equal(order.seq, 5);
});

test("a frame lost before a title shows at the next frame of the reply", () => {
  order.judge(snapshot(5, "7"));

  assert.equal(order.judge(title(7)), "apply");
  assert.equal(order.judge(text(8, "7")), "gap");
});

test("a snapshot without a reply ends the reply before it", () => {
  order.judge(snapshot(5, "7"));

  order.judge(snapshot(0));

  assert.equal(order.replyId, null);
  assert.equal(order.judge(text(6, "7")), "gap");
});
