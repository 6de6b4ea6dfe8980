import { drop, read, write } from "./storage.js";

/**
 * @typedef {object} Outgoing
 * @property {string} client_id  made here; the server takes a second message of the same id for a resend
 * @property {string} text
 * @property {boolean} sent  was handed to a socket at least once, so the server may have it
 */

/** The messages of one conversation that the server has not acknowledged yet, oldest first. */
export class Outbox {
  /**
   * @param {string} user
   * @param {string} conversation
   */
  constructor(user, conversation) {
    this.key = `keel.outbox.${user}.${conversation}`;
    /** @type {Outgoing[]} */
    this.entries = this.#stored();
  }

  /** @returns {Outgoing | undefined} */
  get first() {
    return this.entries[0];
  }

  /** @param {Outgoing} entry */
  add(entry) {
    this.entries.push(entry);
    this.#store((stored) => [...stored, entry]);
  }

  /** @param {Outgoing} entry */
  markSent(entry) {
    entry.sent = true;
    this.#store((stored) => stored.map((kept) => (kept.client_id === entry.client_id ? entry : kept)));
  }

  /**
   * @param {string | null} clientId
   * @returns {Outgoing | undefined} the entry taken out, if it was here
   */
  take(clientId) {
    if (!clientId) return undefined;
    const entry = this.entries.find((kept) => kept.client_id === clientId);
    this.entries = this.entries.filter((kept) => kept !== entry);
    this.#store((stored) => stored.filter((kept) => kept.client_id !== clientId));
    return entry;
  }

  /** @returns {Outgoing[]} */
  #stored() {
    return read(localStorage, this.key, []);
  }

  /**
   * Change the stored list, which other tabs of this conversation share.
   *
   * @param {(stored: Outgoing[]) => Outgoing[]} change
   */
  #store(change) {
    const entries = change(this.#stored());
    if (entries.length) write(localStorage, this.key, entries);
    else drop(localStorage, this.key);
  }
}

/**
 * A random version 4 UUID. `crypto.randomUUID` is missing where the site is not served over HTTPS.
 *
 * @returns {string}
 */
export function uuid4() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
