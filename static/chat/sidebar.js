import { enliven, parse } from "./html.js";

const NARROW = "(max-width: 859px)"; // as in the style sheet, which hides the list there until it is wanted
const NO_ID = "00000000-0000-0000-0000-000000000000"; // of the row that new ones are made from

/**
 * @typedef {object} SidebarListener
 * @property {(title: string) => void} onTitle  the shown conversation got this one
 */

/** The list of conversations beside the chat, with a menu a row; on a narrow screen it opens on demand. */
export class Sidebar {
  #isOpen = false;

  /**
   * @param {HTMLElement} sidebar
   * @param {SidebarListener} listener
   */
  constructor(sidebar, listener) {
    this.listener = listener;
    this.drawer = /** @type {HTMLElement} */ (sidebar.querySelector(".drawer"));
    this.list = /** @type {HTMLElement} */ (sidebar.querySelector(".thread-list"));
    this.toggle = /** @type {HTMLElement} */ (sidebar.querySelector(".chat__threads"));
    this.narrow = matchMedia(NARROW);
    this.narrow.addEventListener("change", () => this.#show(false));
    this.toggle.addEventListener("click", () => this.#show(!this.#isOpen));
    sidebar.addEventListener("click", (event) => this.#clicked(event));
    sidebar.addEventListener("keydown", (event) => this.#key(event));
    // It does not bubble.
    this.list.addEventListener("toggle", (event) => this.#toggled(/** @type {Element} */ (event.target)), true);
    this.list.addEventListener("focusout", (event) => this.#left(event));
    document.addEventListener("click", (event) => this.#closeMenus(/** @type {Element} */ (event.target)));
    this.list.addEventListener("htmx:afterSettle", () => this.#settled());
    this.#show(false);
  }

  /**
   * Put a row for a new conversation on top, and mark it.
   *
   * @param {string} id
   * @param {string} url
   */
  add(id, url) {
    const template = this.drawer.querySelector("template");
    const section = template && parse(template.innerHTML.replaceAll(NO_ID, id)).firstElementChild;
    if (!section) return;
    section.querySelector(".thread")?.setAttribute("href", url);
    this.list.querySelector(".thread-list__empty")?.remove();
    const first = this.list.querySelector(".thread-list__section");
    const isToday = first && heading(first) === heading(section);
    const row = section.querySelector("li");
    if (isToday && row) first.querySelector("ul")?.prepend(row);
    else this.list.prepend(section);
    if (row) enliven(row);
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
    if (!link || link.textContent === title) return;
    link.textContent = title;
    const row = link.closest(".thread-row");
    const name = row?.querySelector(".thread-menu__open .visually-hidden");
    if (name) name.textContent = `More: ${title}`;
    row?.querySelector("input[name=title]")?.setAttribute("value", title);
  }

  /** @param {boolean} open  asked for, where the list is not always there */
  #show(open) {
    this.#isOpen = open && this.narrow.matches;
    this.drawer.classList.toggle("drawer--open", this.#isOpen);
    this.toggle.setAttribute("aria-expanded", String(this.#isOpen));
  }

  /** The server sent a new list. */
  #settled() {
    const title = this.list.querySelector('[aria-current="page"]')?.textContent;
    if (title) this.listener.onTitle(title);
  }

  /** @param {Element} details  which opened or closed */
  #toggled(details) {
    if (!(details instanceof HTMLDetailsElement)) return;
    const input = details.querySelector("input[name=title]");
    if (details.matches(".thread-menu__rename") && details.open && input instanceof HTMLInputElement) {
      input.focus();
      input.select();
    } else if (details.matches(".thread-menu") && details.open) {
      this.#closeMenus(details);
      details.querySelector(".thread-menu__list")?.scrollIntoView({ block: "nearest" });
    } else if (details.matches(".thread-menu") && input instanceof HTMLInputElement) {
      details.querySelector(".thread-menu__rename")?.removeAttribute("open");
      input.value = input.defaultValue;
    }
  }

  /** @param {Element} but  in the one that stays open */
  #closeMenus(but) {
    for (const menu of this.list.querySelectorAll(".thread-menu[open]")) {
      if (!menu.contains(but)) menu.removeAttribute("open");
    }
  }

  /** @param {FocusEvent} event  the keyboard went on: a menu it was in is done with */
  #left({ target, relatedTarget }) {
    const menu = /** @type {Element} */ (target).closest(".thread-menu[open]");
    if (menu && relatedTarget instanceof Element && !menu.contains(relatedTarget)) menu.removeAttribute("open");
  }

  /** @param {Event} event */
  #clicked(event) {
    // A chat that was found may be the one that is shown already: then only the address changes.
    if (/** @type {Element} */ (event.target).closest(".hit a")) this.#show(false);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "Escape" || event.isComposing) return;
    const target = /** @type {Element} */ (event.target);
    const menu = target.closest(".thread-menu[open]");
    if (menu) {
      event.preventDefault();
      menu.removeAttribute("open");
      /** @type {HTMLElement | null} */ (menu.querySelector(".thread-menu__open"))?.focus();
    } else if (target instanceof HTMLInputElement && target.value) {
      return; // the key empties the field first
    } else if (this.#isOpen) {
      this.#show(false);
      this.toggle.focus();
    }
  }
}

/**
 * @param {Element} section
 * @returns {string | undefined}
 */
function heading(section) {
  return section.querySelector("h2")?.textContent?.trim();
}
