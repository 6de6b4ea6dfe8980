/** The few plain requests of the chat. */

const PATIENCE_MS = 15_000;

/** The session has ended; the user must sign in. */
export class SignedOut extends Error {}

/** The resource does not exist, or no longer. */
export class NotFound extends Error {}

/** The server refused; the message is a sentence for the user, or empty. */
export class Refused extends Error {}

/**
 * @typedef {object} Conversation
 * @property {string} id
 * @property {string} url  its full page
 * @property {string} socket  path of its socket
 * @property {string} assistant  whom it is with, as shown
 * @property {boolean} temporary
 */

/**
 * Make the row of a new chat.
 *
 * @param {string} url
 * @param {Record<string, string>} chosen  what the chat is to be: `assistant`, `temporary`
 * @returns {Promise<Conversation>}
 */
export async function createConversation(url, chosen) {
  return (await post(url, chosen)).json();
}

/**
 * @param {string} url
 * @param {Record<string, string>} fields
 * @returns {Promise<Response>}
 */
export function post(url, fields) {
  const headers = { Accept: "application/json", "X-CSRFToken": csrfToken() };
  return request(url, { method: "POST", headers, body: new URLSearchParams(fields) });
}

/**
 * Get an HTML fragment.
 *
 * @param {string} url
 * @param {Record<string, string>} parameters  empty ones are left out
 * @returns {Promise<string>}
 */
export async function fetchFragment(url, parameters) {
  const filled = Object.entries(parameters).filter(([, value]) => value);
  const query = new URLSearchParams(filled).toString();
  const response = await request(query ? `${url}?${query}` : url, { headers: { Accept: "text/html" } });
  return response.text();
}

/**
 * @param {string} url
 * @param {RequestInit} options
 * @returns {Promise<Response>}
 */
async function request(url, options) {
  // The only redirect these URLs give leads to the login page.
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await fetch(url, { ...options, redirect: "manual", signal });
  if (response.type === "opaqueredirect" || response.status === 401) throw new SignedOut();
  if (response.status === 404) throw new NotFound();
  if (!response.ok) throw new Refused(await sentence(response));
  return response;
}

/**
 * @param {Response} response
 * @returns {Promise<string>} what a JSON answer says went wrong
 */
async function sentence(response) {
  try {
    const { error } = await response.json();
    return typeof error === "string" ? error : "";
  } catch {
    return "";
  }
}

/** @returns {string} the token every page carries for htmx */
export function csrfToken() {
  return JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"] ?? "";
}
