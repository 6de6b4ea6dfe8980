import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { Turn } from "../../static/chat/turn.js";
import { installBrowser } from "./browser.mjs";

/** One reply as the page shows it: closed blocks, the open block, a status. */
class FakeReply {
  closed = "";
  open = "";
  failure = null;

  constructor(article) {
    this.article = article;
  }

  get isStreaming() {
    return this.article.dataset.status === "streaming";
  }

  append(text) {
    this.open += text;
  }

  close(html, tail) {
    this.closed += html;
    this.open = tail;
  }

  restore(html, tail) {
    this.closed = html;
    this.open = tail;
  }

  put(html) {
    this.closed += html;
    return { dataset: { tool: /data-tool="(\w+)"/.exec(html)?.[1] }, querySelector: () => ({ textContent: "A label" }) };
  }

  fail(text, canRetry) {
    this.article.dataset.status = "failed";
    this.failure = { text, canRetry };
  }
}

/** The log: replies by id, and what was asked of it. */
class FakeThread {
  replies = new Map();
  messages = new Set();
  calls = [];

  reply(id) {
    if (!this.replies.has(id)) {
      const article = { dataset: { status: "streaming" }, querySelector: () => null };
      this.replies.set(id, new FakeReply(article));
    }
    this.messages.add(id);
    return this.replies.get(id);
  }

  get streamingId() {
    const streaming = [...this.replies].filter(([, reply]) => reply.isStreaming);
    return streaming.at(-1)?.[0] ?? "";
  }

  find(id) {
    return this.messages.has(id) ? this.reply(id).article : null;
  }

  finish(id, status) {
    this.reply(id).article.dataset.status = status;
  }

  add(html, options) {
    this.calls.push(["add", html, options]);
  }

  remove(id) {
    this.calls.push(["remove", id]);
  }

  dropPending(id) {
    this.calls.push(["dropPending", id]);
  }

  dropRetries() {
    this.calls.push(["dropRetries"]);
  }
}

const accepted = (seq, id, more = {}) => ({
  ...{ type: "accepted", seq, client_id: "c", message_id: "6", reply_id: id, html: "<article></article>" },
  ...more,
});
const snapshot = (seq, reply = null, last = "") => ({ type: "snapshot", seq, last_message_id: last, reply });
const streaming = (id, html, tail) => ({ message_id: id, html, tail, status: "streaming" });

let thread, announcer, listener, turn;

/** Hand frames over and wait until all of them are taken in. */
async function take(...frames) {
  for (const frame of frames) turn.take(frame);
  await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(() => {
  installBrowser();
  thread = new FakeThread();
  announcer = { said: [], alerts: [], actions: [], status: (text) => announcer.said.push(text), speak: mock.fn() };
  announcer.alert = (text, action) => {
    announcer.alerts.push(text);
    announcer.actions.push(action);
  };
  announcer.clearAlert = mock.fn();
  const names = ["onRunning", "onAccepted", "onRefused", "onTitle", "onTaken", "onGap"];
  listener = Object.fromEntries(names.map((name) => [name, mock.fn()]));
  listener.onBehind = mock.fn(async () => {});
  turn = new Turn(thread, announcer, listener);
});

test("a turn streams: accepted, text, a closed block, done", async () => {
  await take(
    accepted(1, "7"),
    { type: "text", seq: 2, reply_id: "7", text: "Hel" },
    { type: "text", seq: 3, reply_id: "7", text: "lo" },
  );
  assert.equal(thread.reply("7").open, "Hello");
  assert.equal(turn.running, true);

  await take(
    { type: "text", seq: 4, reply_id: "7", html: "<p>Hello</p>", tail: "the" },
    { type: "done", seq: 5, reply_id: "7", status: "complete", html: "<article></article>" },
  );

  assert.deepEqual([thread.reply("7").closed, thread.reply("7").open], ["<p>Hello</p>", "the"]);
  assert.equal(turn.running, false);
  assert.equal(announcer.said.at(-1), "Answer complete");
  assert.equal(announcer.speak.mock.callCount(), 1);
});

test("an accepted message takes its place and leaves the outbox", async () => {
  await take(accepted(1, "7", { replaces: "5", removes: ["3", "4"] }));

  assert.deepEqual(thread.calls, [
    ["dropRetries"],
    ["remove", "3"],
    ["remove", "4"],
    ["add", "<article></article>", { keep: true, replaces: "5" }],
    ["dropPending", "c"],
  ]);
  assert.deepEqual(listener.onAccepted.mock.calls[0].arguments, ["c"]);
});

test("the answer to a resend of a finished message does not start the reply again", async () => {
  thread.reply("7").article.dataset.status = "complete";

  await take(accepted(1, "7"));

  assert.equal(turn.running, false);
});

test("a gap asks for a snapshot once and drops what follows until it comes", async () => {
  await take(accepted(1, "7"), { type: "text", seq: 3, reply_id: "7", text: "b" });
  await take({ type: "text", seq: 4, reply_id: "7", text: "c" });

  assert.equal(listener.onGap.mock.callCount(), 1);
  assert.equal(thread.reply("7").open, "");

  await take(snapshot(4, streaming("7", "<p>a</p>", "bc"), "7"));

  assert.deepEqual([thread.reply("7").closed, thread.reply("7").open], ["<p>a</p>", "bc"]);
});

test("frames wait while the page fetches the messages it lacks", async () => {
  let arrive;
  listener.onBehind = mock.fn(() => new Promise((resolve) => (arrive = resolve)));

  await take(snapshot(3, streaming("7", "", "a"), "7"), { type: "text", seq: 4, reply_id: "7", text: "b" });
  assert.equal(thread.replies.has("7"), false);

  arrive();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(thread.reply("7").open, "ab");
});

test("a snapshot without a running reply ends the one that this page still shows", async () => {
  await take(accepted(1, "7"));

  await take(snapshot(0, null, "7"));

  assert.equal(listener.onBehind.mock.callCount(), 1);
  assert.equal(turn.running, false);
});

test("a reset drops the frames of the conversation before that still wait", async () => {
  let arrive;
  listener.onBehind = mock.fn(() => new Promise((resolve) => (arrive = resolve)));
  await take(snapshot(1, null, "9"), { type: "title", seq: 2, title: "Old" });

  turn.reset();
  arrive();
  await take(snapshot(0));

  assert.equal(listener.onTitle.mock.callCount(), 0);
  assert.deepEqual(
    listener.onTaken.mock.calls.map((call) => call.arguments[0].seq),
    [0],
  );
});

test("a refused client frame reaches the listener and no reply", async () => {
  const refusal = { type: "failed", seq: 0, reply_id: null, client_id: "c", text: "No", retry: false, html: null };

  await take(snapshot(0), refusal);

  assert.deepEqual(listener.onRefused.mock.calls[0].arguments, [refusal]);
  assert.equal(thread.replies.size, 0);
});

test("a failed reply without HTML shows its error and the retry", async () => {
  const failure = { type: "failed", seq: 2, reply_id: "7", client_id: null, text: "It broke", retry: true, html: null };

  await take(accepted(1, "7"), failure);

  assert.deepEqual(thread.reply("7").failure, { text: "It broke", canRetry: true });
  assert.equal(turn.running, false);
  assert.equal(announcer.said.at(-1), "It broke");
});

test("only a tool that sets a part of a draft makes the draft look", async () => {
  const looks = mock.fn();
  document.body.addEventListener("keel:draft", looks);
  const tool = (seq, name) => ({ type: "tool_finished", seq, reply_id: "7", call_id: "1", html: `data-tool="${name}"` });

  await take(accepted(1, "7"), tool(2, "recall"));
  assert.equal(looks.mock.callCount(), 0);

  await take(tool(3, "set_risk"));
  assert.equal(looks.mock.callCount(), 1);
});

test("a notice is a status when it informs and an alert when it warns", async () => {
  const notice = (level) => ({ type: "notice", seq: 0, reply_id: null, level, text: `${level}!` });

  await take(snapshot(0), notice("info"), notice("warn"));

  assert.deepEqual([announcer.said.at(-1), announcer.alerts], ["info!", ["warn!"]]);
});

test("a notice of a fact that was not saved leads to the form with it", async () => {
  const notice = { type: "notice", seq: 0, reply_id: null, level: "warn", text: "Not saved.", save_url: "/facts/?add=" };

  await take(snapshot(0), notice);

  const link = announcer.actions.at(-1);
  assert.deepEqual([link.textContent, link.href], ["Save it", "/facts/?add="]);
});

test("a frame of an unknown type counts and is otherwise ignored", async () => {
  await take(
    accepted(1, "7"),
    { type: "sparkle", seq: 2, reply_id: "7" },
    { type: "text", seq: 3, reply_id: "7", text: "a" },
  );

  assert.equal(thread.reply("7").open, "a");
  assert.equal(listener.onGap.mock.callCount(), 0);
});

test("a frame that breaks does not stop the ones after it", async () => {
  globalThis.reportError = mock.fn();
  listener.onTitle = () => {
    throw new Error("broken");
  };

  await take(accepted(1, "7"), { type: "title", seq: 2, title: "A" }, { type: "text", seq: 3, reply_id: "7", text: "a" });

  assert.equal(globalThis.reportError.mock.callCount(), 1);
  assert.equal(thread.reply("7").open, "a");
});
