import { read, write } from "./storage.js";

const NEAR_PX = 24;

/**
 * @typedef {object} Place
 * @property {string} id  of a message
 * @property {number | null} top  pixels between the upper edge and the message; null: as the style sheet says
 */

/** Keeps the end of the log in view until the reader scrolls up. */
export class Follow {
  /** Names the conversation; the reader's place in it is kept under this key. */
  key = "";
  #lastTop = 0;
  #scheduled = false;

  /**
   * @param {HTMLElement} log
   * @param {HTMLButtonElement} jump  "Jump to latest"
   */
  constructor(log, jump) {
    this.log = log;
    this.scroller = scrollerOf(log);
    this.jump = jump;
    this.following = true;
    const source = this.scroller === document.scrollingElement ? document : this.scroller;
    source.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.stick()).observe(this.scroller);
    addEventListener("pagehide", () => this.remember());
  }

  /**
   * The place at which to open the conversation: the message that the address names, or where the reader was.
   *
   * @param {string} linked  the id of that message, or ""
   * @returns {Place | null} null: the end
   */
  findPlace(linked) {
    if (linked && isFollowingLink()) return { id: linked, top: null };
    const kept = /** @type {Place | null} */ (read(sessionStorage, this.key, null));
    return typeof kept?.id === "string" ? kept : null; // an older version kept a number
  }

  /**
   * Show a message, or the end of the conversation.
   *
   * @param {HTMLElement | null} message
   * @param {number | null} [top]  pixels between the upper edge and the message; null: as the style sheet says
   */
  open(message, top = null) {
    this.following = !message;
    if (!message) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (top === null) message.scrollIntoView({ block: "start" });
    else this.scroller.scrollTop += message.getBoundingClientRect().top - this.#edge - top;
    this.#lastTop = this.scroller.scrollTop;
    this.#showJump();
  }

  /** Keep the place for the next page, by the first message in view: the next page may have fewer before it. */
  remember() {
    if (this.key) write(sessionStorage, this.key, this.following ? null : this.#readPlace());
  }

  /** @returns {Place | null} */
  #readPlace() {
    const edge = this.#edge;
    const messages = [...this.log.querySelectorAll('.message[id^="message-"]')];
    const first = messages.find((message) => message.getBoundingClientRect().bottom > edge);
    return first ? { id: first.id.replace("message-", ""), top: first.getBoundingClientRect().top - edge } : null;
  }

  /** The upper edge of what is seen of the log. */
  get #edge() {
    return this.scroller === document.scrollingElement ? 0 : this.scroller.getBoundingClientRect().top;
  }

  /** Something was added: stay at the end if that is where the reader is. */
  stick() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
      this.#showJump();
    });
  }

  toEnd() {
    this.following = true;
    this.stick();
  }

  get #distance() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  #scrolled() {
    const top = this.scroller.scrollTop;
    // Scrolling up, however little, stops following; scrolling against the end never does.
    if (this.#distance <= 2) this.following = true;
    else if (top < this.#lastTop) this.following = false;
    else if (this.#distance < NEAR_PX) this.following = true;
    this.#lastTop = top;
    this.#showJump();
  }

  #showJump() {
    this.jump.hidden = this.following || this.#distance < NEAR_PX;
  }
}

/** @returns {boolean} whether the page was asked for, and not reloaded or gone back to: then the reader has a place */
function isFollowingLink() {
  const [entry] = performance.getEntriesByType("navigation");
  return !(entry instanceof PerformanceNavigationTiming) || entry.type === "navigate";
}

/**
 * The element that scrolls the log: which one depends on the style sheet and the width.
 *
 * @param {HTMLElement} log
 * @returns {Element}
 */
function scrollerOf(log) {
  /** @type {HTMLElement | null} */
  let element = log;
  for (; element && element !== document.body; element = element.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(element).overflowY)) return element;
  }
  return document.scrollingElement ?? document.documentElement;
}
