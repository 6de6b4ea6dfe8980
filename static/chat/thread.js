import { enliven, make, parse, swap } from "./html.js";
import { Reply } from "./reply.js";

/** @typedef {import("./frames.js").MessageId} MessageId */

/** The log: messages in their order, those not sent yet at the end. */
export class Thread {
  /** @type {Map<MessageId, Reply>} */
  #replies = new Map();

  /**
   * @param {HTMLElement} log
   * @param {() => void} onChange  called after the log grew
   */
  constructor(log, onChange) {
    this.log = log;
    this.onChange = onChange;
    this.empty = /** @type {HTMLElement | null} */ (log.querySelector(".chat__empty"));
    enliven(log);
    this.#changed();
  }

  /**
   * @param {MessageId} id
   * @returns {HTMLElement | null}
   */
  find(id) {
    return this.log.querySelector(`#${CSS.escape(`message-${id}`)}`);
  }

  /** @returns {string} id of the message that the page's address names, or "" */
  get linkedId() {
    const [, id = ""] = /^#message-(\d+)$/.exec(location.hash) ?? [];
    return id;
  }

  /** @returns {string} id of the newest reply that is being written, or "" */
  get streamingId() {
    const articles = this.log.querySelectorAll('.message--assistant[data-status="streaming"]');
    return messageId(articles[articles.length - 1]);
  }

  /**
   * The newest message that cannot change any more: one of the user's. What follows it is one reply.
   *
   * @returns {string} its id, or ""
   */
  get anchorId() {
    const articles = this.log.querySelectorAll(".message--user:not(.message--pending)");
    return messageId(articles[articles.length - 1]);
  }

  /**
   * The reply of that id, made if it is not there.
   *
   * @param {MessageId} id
   * @returns {Reply}
   */
  reply(id) {
    const article = this.find(id) ?? this.#insert(emptyReply(id));
    let reply = this.#replies.get(id);
    if (reply?.article !== article) {
      reply = new Reply(article, this.onChange);
      this.#replies.set(id, reply);
    }
    return reply;
  }

  /**
   * Add rendered messages, or put them in place of those with the same id.
   *
   * @param {string} html
   * @param {object} [options]
   * @param {boolean} [options.keep]  leave messages that are there as they are
   * @param {MessageId | null} [options.replaces]  id of a message whose place the first new one takes
   */
  add(html, { keep = false, replaces = null } = {}) {
    let replaced = replaces && this.find(replaces);
    for (const article of [...parse(html).children]) {
      const there = article.id ? this.log.querySelector(`#${CSS.escape(article.id)}`) : null;
      if (there && keep) continue;
      const old = there ?? replaced;
      if (old) swap(old, article);
      else this.#insert(article);
      if (old === replaced) replaced = null;
      enliven(article);
    }
    this.#changed();
  }

  /**
   * Put newly fetched messages in the place of all that follow the message `anchor`.
   *
   * @param {string} anchor  a message id; "" replaces everything
   * @param {string} html
   */
  replaceAfter(anchor, html) {
    const fresh = [...parse(html).children];
    const ids = new Set(fresh.map((article) => article.id));
    const articles = [...this.log.querySelectorAll(".message:not(.message--pending)")];
    const start = anchor ? articles.findIndex((article) => messageId(article) === anchor) + 1 : 0;
    for (const article of articles.slice(start)) if (!ids.has(article.id)) article.remove();
    if (!anchor) this.#dropGaps();
    this.add(html);
  }

  /**
   * Replace a reply by its final form: a whole article, or what stands inside of one.
   *
   * @param {MessageId} id
   * @param {string} status
   * @param {string} html
   * @returns {HTMLElement}
   */
  finish(id, status, html) {
    const content = parse(html);
    const first = content.firstElementChild;
    if (first?.id === `message-${id}`) {
      this.add(html);
    } else {
      const { article } = this.reply(id);
      article.classList.remove("message--waiting");
      article.replaceChildren(content);
      enliven(article);
      this.#changed();
    }
    const article = this.find(id) ?? this.#insert(emptyReply(id));
    article.dataset.status = status;
    return article;
  }

  /** @param {import("./outbox.js").Outgoing} entry */
  addPending(entry) {
    if (this.#pending(entry.client_id)) return;
    const article = make("article", "message message--user message--pending");
    article.dataset.clientId = entry.client_id;
    const body = make("div", "message__body", entry.text);
    body.dir = "auto";
    const note = make("p", "message__meta", "Not sent yet");
    note.hidden = true;
    article.append(make("p", "visually-hidden", "You said:"), body, note);
    this.log.append(article);
    // Usually it is on its way within an instant; then the note would only flicker.
    setTimeout(() => (note.hidden = false), 1000);
    this.#changed();
  }

  /** @param {string | null} clientId */
  dropPending(clientId) {
    this.#pending(clientId)?.remove();
    this.#changed();
  }

  /** Only the newest reply can be asked for again, or gone on with. */
  dropRetries() {
    for (const button of this.log.querySelectorAll('[data-action="retry"], [data-action="continue"]')) button.remove();
  }

  /**
   * Take out a message that another one took the place of.
   *
   * @param {MessageId} id
   */
  remove(id) {
    this.find(id)?.remove();
    this.#replies.delete(id);
    this.#changed();
  }

  clear() {
    for (const article of this.log.querySelectorAll(".message")) article.remove();
    this.#dropGaps();
    this.#replies.clear();
    this.#changed();
  }

  #dropGaps() {
    for (const gap of this.log.querySelectorAll(".chat__gap, .chat__summarised")) gap.remove();
  }

  /**
   * @param {string | null} clientId
   * @returns {Element | null}
   */
  #pending(clientId) {
    return clientId ? this.log.querySelector(`[data-client-id="${CSS.escape(clientId)}"]`) : null;
  }

  /**
   * @template {Element} E
   * @param {E} article
   * @returns {E}
   */
  #insert(article) {
    this.log.insertBefore(article, this.log.querySelector(".message--pending"));
    return article;
  }

  #changed() {
    if (this.empty) this.empty.hidden = this.log.querySelector(".message") !== null;
    this.onChange();
  }
}

/**
 * @param {Element | undefined} article
 * @returns {string}
 */
function messageId(article) {
  return article?.id.replace(/^message-/, "") ?? "";
}

/**
 * @param {MessageId} id
 * @returns {HTMLElement}
 */
function emptyReply(id) {
  const article = make("article", "message message--assistant message--waiting");
  article.id = `message-${id}`;
  article.dataset.status = "streaming";
  const body = make("div", "message__body");
  body.append(make("div", "message__closed"), make("div", "message__open"));
  article.append(make("p", "visually-hidden", "Keel said:"), body);
  return article;
}
