import { make } from "./html.js";
import { NotFound, Refused, SignedOut } from "./http.js";

/**
 * @typedef {object} Trouble  what went wrong, in a sentence, with the link or button that helps
 * @property {string} text
 * @property {HTMLElement} [action]
 */

/**
 * Explain a failed request.
 *
 * @param {unknown} error
 * @param {object} options
 * @param {string} options.loginUrl
 * @param {string} options.otherwise  the sentence for an error without a message for the user
 * @returns {Trouble}
 */
export function explain(error, { loginUrl, otherwise }) {
  if (error instanceof SignedOut) {
    const next = encodeURIComponent(location.pathname + location.search);
    return { text: "You are signed out. Sign in to go on.", action: link("Sign in", `${loginUrl}?next=${next}`) };
  }
  if (error instanceof NotFound) return { text: "This chat does not exist.", action: button("New chat", "new") };
  return { text: (error instanceof Refused && error.message) || otherwise };
}

/**
 * Explain why the server closed the socket for good.
 *
 * @param {number} code
 * @param {string} loginUrl
 * @returns {Trouble}
 */
export function explainClosed(code, loginUrl) {
  if (code === 4401) return explain(new SignedOut(), { loginUrl, otherwise: "" });
  if (code === 4404) return explain(new NotFound(), { loginUrl, otherwise: "" });
  return { text: "This chat is open in too many tabs; it is paused here.", action: button("Resume", "resume") };
}

/**
 * @param {string} text
 * @param {string} action
 * @returns {HTMLElement}
 */
function button(text, action) {
  const element = make("button", "btn btn--small", text);
  element.type = "button";
  element.dataset.action = action;
  return element;
}

/**
 * @param {string} text
 * @param {string} href
 * @returns {HTMLElement}
 */
function link(text, href) {
  const element = make("a", "btn btn--small", text);
  element.href = href;
  return element;
}
