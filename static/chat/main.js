/** Start the chat of this page: the full page, or the panel beside another page. */

const page = document.querySelector(".chat[data-new-chat]");
const panel = document.querySelector("#coach-panel");
// Each surface comes with its own scripts: beside a page the chat itself loads when it is opened.
const surface =
  page instanceof HTMLElement
    ? new (await import("./page.js")).ChatPage(page)
    : panel instanceof HTMLElement
      ? new (await import("./panel.js")).Panel(panel)
      : null;

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

export {}; // it waits for the scripts of its surface, as a module may
