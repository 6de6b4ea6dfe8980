import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { Drafts } from "../../static/chat/drafts.js";
import { installBrowser, MemoryStorage } from "./browser.mjs";

beforeEach(installBrowser);

test("a draft outlives the page and the tab", () => {
  new Drafts("1").save("chat", "half a sentence");

  assert.equal(new Drafts("1").load("chat"), "half a sentence");
  globalThis.sessionStorage = new MemoryStorage(); // another tab
  assert.equal(new Drafts("1").load("chat"), "half a sentence");
});

test("a tab keeps its own draft when another tab writes in the same chat", () => {
  const drafts = new Drafts("1");
  drafts.save("chat", "of this tab");
  localStorage.setItem(drafts.prefix + "chat", JSON.stringify("of the other tab"));

  assert.equal(drafts.load("chat"), "of this tab");
});

test("drafts of users and conversations stay apart", () => {
  new Drafts("1").save("chat", "mine");

  assert.equal(new Drafts("2").load("chat"), "");
  assert.equal(new Drafts("1").load("other"), "");
});

test("saving an empty text removes the draft from both places", () => {
  const drafts = new Drafts("1");
  drafts.save("chat", "text");

  drafts.save("chat", "");

  assert.equal(drafts.load("chat"), "");
  assert.deepEqual([...localStorage.keys, ...sessionStorage.keys], []);
});

test("without storage a draft is empty and nothing is raised", () => {
  localStorage.isBroken = sessionStorage.isBroken = true;
  const drafts = new Drafts("1");

  drafts.save("chat", "text");

  assert.equal(drafts.load("chat"), "");
});
