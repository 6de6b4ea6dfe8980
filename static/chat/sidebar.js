const NARROW = "(max-width: 859px)"; // as in the style sheet: there the list stands above the chat

/** The list of conversations beside the chat; on a narrow screen it opens on demand. */
export class Sidebar {
  #isOpen = false;

  /** @param {HTMLElement} sidebar */
  constructor(sidebar) {
    this.list = /** @type {HTMLElement} */ (sidebar.querySelector(".thread-list"));
    this.toggle = /** @type {HTMLElement} */ (sidebar.querySelector(".chat__threads"));
    this.narrow = matchMedia(NARROW);
    this.narrow.addEventListener("change", () => this.#show(false));
    this.toggle.addEventListener("click", () => this.#show(!this.#isOpen));
    sidebar.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#isOpen) return;
      this.#show(false);
      this.toggle.focus();
    });
    this.#show(false);
  }

  /**
   * Put a row for a new conversation on top, and mark it.
   *
   * @param {string} id
   * @param {string} url
   */
  add(id, url) {
    const section = this.list.querySelector("template")?.content.firstElementChild?.cloneNode(true);
    if (!(section instanceof HTMLElement)) return;
    const link = section.querySelector("a");
    link?.setAttribute("href", url);
    link?.setAttribute("data-thread", id);
    this.list.querySelector(".thread-list__empty")?.remove();
    const first = this.list.querySelector(".thread-list__section");
    const isToday = first && heading(first) === heading(section);
    if (isToday) first.querySelector("ul")?.prepend(...section.querySelectorAll("li"));
    else this.list.prepend(section);
    this.mark(id);
  }

  /** @param {string} id  of the conversation that is shown; "" for none */
  mark(id) {
    for (const link of this.list.querySelectorAll("[data-thread]")) {
      if (link.getAttribute("data-thread") === id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.#show(false);
  }

  /**
   * @param {string} id
   * @param {string} title
   */
  rename(id, title) {
    const link = this.list.querySelector(`[data-thread="${CSS.escape(id)}"]`);
    if (link) link.textContent = title;
  }

  /** @param {boolean} open  asked for, where the list is not always there */
  #show(open) {
    this.#isOpen = open && this.narrow.matches;
    this.list.hidden = this.narrow.matches && !open;
    this.toggle.hidden = !this.narrow.matches;
    this.toggle.setAttribute("aria-expanded", String(this.#isOpen));
  }
}

/**
 * @param {Element} section
 * @returns {string | undefined}
 */
function heading(section) {
  return section.querySelector("h2")?.textContent?.trim();
}
