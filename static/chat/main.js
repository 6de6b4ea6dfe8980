/** Start the chat of this page: the full page, or the panel beside another page. */

import { ChatPage } from "./page.js";
import { Panel } from "./panel.js";

const page = document.querySelector(".chat[data-new-chat]");
const panel = document.querySelector("#coach-panel");
const surface =
  page instanceof HTMLElement ? new ChatPage(page) : panel instanceof HTMLElement ? new Panel(panel) : null;

if (surface) {
  document.addEventListener("keydown", (event) => isNewChat(event) && newChat(event));
  document.addEventListener("keel:new-chat", newChat);
}

/**
 * @param {KeyboardEvent} event
 * @returns {boolean} whether these are the keys for a new chat: Ctrl/Cmd+K or Ctrl/Cmd+Shift+O
 */
function isNewChat(event) {
  const key = event.key.toLowerCase();
  const command = (event.ctrlKey || event.metaKey) && !event.altKey;
  return command && ((key === "k" && !event.shiftKey) || (key === "o" && event.shiftKey));
}

/** @param {Event} event */
function newChat(event) {
  event.preventDefault();
  surface?.startNew();
}
