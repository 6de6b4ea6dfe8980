import { drop, read, write } from "./storage.js";

/**
 * What was typed and not yet sent, one text a conversation ("new" is the chat that has no row yet).
 *
 * Kept twice: this tab's own text survives a reload even when another tab writes in the same chat, and
 * the shared copy survives closing the tab.
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
