import { read, write } from "./storage.js";

const NEAR_PX = 24;

/** Keeps the end of the log in view until the reader scrolls up. */
export class Follow {
  /** Names the conversation; its place is kept under this key. */
  key = "";
  #lastTop = 0;
  #scheduled = false;

  /**
   * @param {HTMLElement} log
   * @param {HTMLButtonElement} jump  "Jump to latest"
   */
  constructor(log, jump) {
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
   * Go to the message that the address names, to where the reader was in this conversation, or to its end.
   *
   * @param {HTMLElement | null} target
   */
  open(target) {
    const top = read(sessionStorage, this.key, null);
    if (target && isFollowingLink()) {
      this.following = false;
      target.scrollIntoView({ block: "start" });
      this.#lastTop = this.scroller.scrollTop;
      this.#showJump();
      return;
    }
    this.following = top === null;
    this.scroller.scrollTop = top ?? this.scroller.scrollHeight;
    this.#lastTop = this.scroller.scrollTop;
    this.#showJump();
  }

  /** Keep the place for the next page. */
  remember() {
    if (this.key) write(sessionStorage, this.key, this.following ? null : this.scroller.scrollTop);
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
