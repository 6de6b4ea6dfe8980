import { enliven, make, openTools, parse, reopen } from "./html.js";

/**
 * One assistant reply while it is being written: finished blocks as the server's HTML, the open block as
 * plain text.
 */
export class Reply {
  #pending = "";
  #scheduled = false;
  /** What the closed part was made of, to see whether a snapshot only adds to it. */
  #closedHtml = "";

  /**
   * @param {HTMLElement} article
   * @param {() => void} onChange  called after the article grew
   */
  constructor(article, onChange) {
    this.article = article;
    this.onChange = onChange;
    this.closed = part(article, "message__closed");
    this.text = document.createTextNode("");
    part(article, "message__open").replaceChildren(this.text);
    // White space of the template would count as content in the style sheet.
    if (!this.closed.children.length) this.closed.replaceChildren();
  }

  /** @returns {boolean} */
  get isStreaming() {
    return this.article.dataset.status === "streaming";
  }

  /**
   * Add plain text to the open block, at most once a frame.
   *
   * @param {string} text
   */
  append(text) {
    this.#pending += text;
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.text.appendData(this.#pending);
      this.#pending = "";
      this.#grew();
    });
  }

  /**
   * A block ended: its HTML joins the closed part, and the open block starts again with `tail`.
   *
   * @param {string} html
   * @param {string} tail
   */
  close(html, tail) {
    this.#closedHtml += html;
    this.#add(parse(html));
    // A new element: the same one further down would count as content that moved.
    const open = make("div", "message__open");
    this.text.parentElement?.replaceWith(open);
    open.append(this.text);
    this.#setOpen(tail);
  }

  /**
   * Show a snapshot of the whole reply.
   *
   * @param {string} html
   * @param {string} tail
   */
  restore(html, tail) {
    // Adding only what is new keeps the reader's selection.
    const grown = this.#closedHtml && html.startsWith(this.#closedHtml);
    const open = openTools(this.closed);
    if (!grown) this.closed.replaceChildren();
    this.#add(parse(grown ? html.slice(this.#closedHtml.length) : html));
    reopen(this.closed, open);
    this.#closedHtml = html;
    this.#setOpen(tail);
  }

  /**
   * Add an element to the closed part, or put it in place of the one with its id.
   *
   * @param {string} html
   * @returns {HTMLElement | null}
   */
  put(html) {
    const element = /** @type {HTMLElement | null} */ (parse(html).firstElementChild);
    if (!element) return null;
    // Looked for inside this reply: models number their calls, so other replies may use the same ids.
    const old = element.id ? this.closed.querySelector(`#${CSS.escape(element.id)}`) : null;
    this.#closedHtml += html;
    if (old) old.replaceWith(element);
    else this.closed.append(element);
    enliven(element);
    this.#grew();
    return element;
  }

  /**
   * Mark the reply as failed where the server sent no HTML for it.
   *
   * @param {string} text
   * @param {boolean} canRetry
   */
  fail(text, canRetry) {
    this.article.dataset.status = "failed";
    this.article.append(make("p", "message__error", text));
    if (canRetry) {
      const retry = make("button", "btn btn--small message__retry", "Retry");
      retry.type = "button";
      retry.dataset.action = "retry";
      this.article.append(retry);
    }
    this.#grew();
  }

  #grew() {
    const waiting = this.isStreaming && !this.text.length && !this.closed.children.length;
    this.article.classList.toggle("message--waiting", waiting);
    this.onChange();
  }

  /** @param {DocumentFragment} fragment */
  #add(fragment) {
    this.closed.append(fragment);
    enliven(this.closed);
  }

  /** @param {string} text */
  #setOpen(text) {
    this.#pending = "";
    this.text.data = text;
    this.#grew();
  }
}

/**
 * @param {HTMLElement} article
 * @param {string} name
 * @returns {HTMLElement}
 */
function part(article, name) {
  const found = article.querySelector(`.${name}`);
  if (found instanceof HTMLElement) return found;
  const made = make("div", name);
  (article.querySelector(".message__body") ?? article).append(made);
  return made;
}
