/** The keys and the event that begin a new chat, for the page of chats and for the panel alike. */

/** @param {{startNew(): unknown}} surface */
export function listenForNewChat(surface) {
  /** @param {Event} event */
  const begin = (event) => {
    event.preventDefault();
    surface.startNew();
  };
  document.addEventListener("keydown", (event) => isNewChat(event) && begin(event));
  document.addEventListener("keel:new-chat", begin);
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
