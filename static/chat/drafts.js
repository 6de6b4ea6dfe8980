import { drop, read, write } from "./storage.js";

/**
 * Unsent text, one draft per conversation ("new" is the chat without a row).
 *
 * Each draft is stored twice: session storage keeps this tab's text across a reload even when another tab writes in
 * the same chat, and local storage keeps a copy after the tab is closed.
 */
export class Drafts {
  /** @param {string} user */
  constructor(user) {
    this.prefix = `keel.draft.${user}.`;
  }

  /**
   * @param {string} conversation
   * @returns {string}
   */
  load(conversation) {
    const key = this.prefix + conversation;
    return read(sessionStorage, key, "") || read(localStorage, key, "");
  }

  /**
   * @param {string} conversation
   * @param {string} text
   */
  save(conversation, text) {
    const key = this.prefix + conversation;
    for (const area of [sessionStorage, localStorage]) {
      if (text) write(area, key, text);
      else drop(area, key);
    }
  }
}
