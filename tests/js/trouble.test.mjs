import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { NotFound, Refused, SignedOut } from "../../static/chat/http.js";
import { explain, explainClosed } from "../../static/chat/trouble.js";
import { installBrowser } from "./browser.mjs";

const options = { loginUrl: "/accounts/login/", otherwise: "Try again." };

beforeEach(installBrowser);

test("a lost session offers the sign-in, with the way back to this page", () => {
  const { text, action } = explain(new SignedOut(), options);

  assert.equal(text, "You are signed out. Sign in to go on.");
  assert.equal(action.tagName, "A");
  assert.equal(action.href, "/accounts/login/?next=%2Fchat%2F7%2F%3Fq%3Da%20b");
});

test("a chat that is not there offers a new one", () => {
  const { text, action } = explain(new NotFound(), options);

  assert.equal(text, "This chat does not exist.");
  assert.deepEqual([action.tagName, action.type, action.dataset.action], ["BUTTON", "button", "new"]);
});

test("a refusal is told in the server's words", () => {
  assert.deepEqual(explain(new Refused("Your budget is used up."), options), { text: "Your budget is used up." });
});

test("a refusal without words, and any other error, gets the caller's sentence", () => {
  for (const error of [new Refused(""), new TypeError("fetch failed"), undefined]) {
    assert.deepEqual(explain(error, options), { text: "Try again." });
  }
});

test("a closed socket is explained by its code", () => {
  assert.equal(explainClosed(4401, "/in/").action.textContent, "Sign in");
  assert.equal(explainClosed(4404, "/in/").text, "This chat does not exist.");
  const { text, action } = explainClosed(4409, "/in/");
  assert.match(text, /too many tabs/);
  assert.equal(action.dataset.action, "resume");
});
