import { csrfToken } from "./http.js";
import { drop, read, write } from "./storage.js";

const SETTLE_MS = 5_000; // by then the note of the page before has arrived, which must not come last

/**
 * @typedef {object} Left
 * @property {string} id
 * @property {string} url  of the conversation's full page
 */

/**
 * The chat of this tab in which something was said since it was closed last, from page to page of this site. Going on
 * to another chat closes it; leaving the page is only noted, since the next one may be of this site, too. A chat
 * that was merely read is never spoken of: nothing in it is new.
 */
export class Leaving {
  #timer = 0;

  /** @param {string} user */
  constructor(user) {
    this.key = `keel.open.${user}`;
    addEventListener("pagehide", () => this.#note({}));
    addEventListener("pageshow", (event) => event.persisted && this.stay());
  }

  /** @returns {Left | null} */
  get open() {
    return read(sessionStorage, this.key, null);
  }

  /**
   * Something was said in a chat; if it is another one than before, that one is closed.
   *
   * @param {Left} conversation
   */
  spokenIn({ id, url }) {
    this.goOnTo(id);
    write(sessionStorage, this.key, { id, url });
  }

  /**
   * The user looks at this chat now; the one before is over.
   *
   * @param {string} id  "" for a new chat
   */
  goOnTo(id) {
    const { open } = this;
    if (!open || open.id === id) return;
    drop(sessionStorage, this.key);
    post(`${open.url}close/`, {});
  }

  /** The user is still on the site, though no page of the chat may be open. */
  stay() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#note({ here: "1" }), SETTLE_MS);
  }

  /** @param {Record<string, string>} fields */
  #note(fields) {
    const { open } = this;
    if (open) post(`${open.url}leave/`, fields);
  }
}

/**
 * Tell the server something that needs no answer, also while the page goes away.
 *
 * @param {string} url
 * @param {Record<string, string>} fields
 */
function post(url, fields) {
  navigator.sendBeacon(url, new URLSearchParams({ csrfmiddlewaretoken: csrfToken(), ...fields }));
}
