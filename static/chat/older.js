import { enliven, parse } from "./html.js";

const AHEAD = "600px 0px"; // so far before the reader reaches a gap, its messages are fetched

/**
 * @typedef {object} OlderListener
 * @property {(query: Record<string, string>) => Promise<string>} fetch  the HTML of some messages between two
 * @property {() => void} onFilled
 * @property {(error: unknown) => void} onTrouble
 */

/** Fills the gaps of a long chat: a page has its newest messages, the others come when the reader goes back to them. */
export class Older {
  /**
   * @param {HTMLElement} log
   * @param {Element} scroller  the element that scrolls the log
   * @param {OlderListener} listener
   */
  constructor(log, scroller, listener) {
    this.log = log;
    this.scroller = scroller;
    this.listener = listener;
    const root = scroller === document.scrollingElement ? null : scroller;
    const seen = (/** @type {IntersectionObserverEntry[]} */ entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) this.#fill(target);
    };
    this.observer = new IntersectionObserver(seen, { root, rootMargin: AHEAD });
    log.addEventListener("click", (event) => this.#clicked(event));
    this.watch();
  }

  /** Look out for the gaps that there are now. */
  watch() {
    this.observer.disconnect();
    for (const gap of this.log.querySelectorAll(".chat__gap")) this.observer.observe(gap);
  }

  /**
   * Fetch the messages around one that a gap leaves out.
   *
   * @param {string} id
   */
  async reach(id) {
    const gap = findGap(/** @type {HTMLElement[]} */ ([...this.log.querySelectorAll(".chat__gap")]), Number(id));
    if (gap) await this.#fill(gap, id);
  }

  /**
   * @param {Element} gap
   * @param {string} [message]  the one that is wanted; without it the newest of the gap
   */
  async #fill(gap, message = "") {
    if (!(gap instanceof HTMLElement) || gap.ariaBusy === "true") return;
    const { after = "", before = "" } = gap.dataset;
    gap.ariaBusy = "true";
    try {
      const html = await this.listener.fetch({ after, before, message });
      if (!gap.isConnected) return; // the chat was left, or started over
      this.#replace(gap, parse(html));
      this.listener.onFilled();
    } catch (error) {
      this.listener.onTrouble(error);
    } finally {
      gap.ariaBusy = "false";
      this.watch();
    }
  }

  /**
   * Put messages in the place of their gap; what the reader looks at stays where it is.
   *
   * @param {HTMLElement} gap
   * @param {DocumentFragment} messages
   */
  #replace(gap, messages) {
    const hadFocus = gap.contains(document.activeElement);
    const below = gap.nextElementSibling;
    const fresh = [...messages.children].filter((one) => !one.id || !this.log.querySelector(`#${CSS.escape(one.id)}`));
    const style = /** @type {HTMLElement} */ (this.scroller).style;
    // The browser may do the same by itself, or not: without this it would happen twice in some.
    style.overflowAnchor = "none";
    const before = below?.getBoundingClientRect().top ?? 0;
    gap.replaceWith(...fresh);
    for (const one of fresh) enliven(one);
    this.scroller.scrollTop += (below?.getBoundingClientRect().top ?? 0) - before;
    style.overflowAnchor = "";
    if (hadFocus) this.log.focus({ preventScroll: true });
  }

  /** @param {Event} event  on a gap's link, which without this script leads to a page with its messages */
  #clicked(event) {
    const gap = /** @type {Element} */ (event.target).closest(".chat__gap");
    const { ctrlKey, metaKey, shiftKey } = /** @type {MouseEvent} */ (event);
    if (!gap || ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    this.#fill(gap);
  }
}

/**
 * @template {{ dataset?: DOMStringMap }} G
 * @param {G[]} gaps
 * @param {number} id
 * @returns {G | undefined} the gap that leaves out the message
 */
export function findGap(gaps, id) {
  return gaps.find(({ dataset }) => Number(dataset?.after) < id && id < Number(dataset?.before));
}
