import { rank } from "./fuzzy.js";

const UNTITLED = "Untitled chat";

/** The command palette: pages, actions and recent chats by name, for the keyboard. */
export class Palette {
  #hasChats = false;
  /** @type {HTMLAnchorElement[]} */
  #shown = [];

  /** @param {HTMLDialogElement} dialog  what templates/_palette.html renders */
  constructor(dialog) {
    this.dialog = dialog;
    this.input = /** @type {HTMLInputElement} */ (dialog.querySelector("[role=combobox]"));
    this.list = /** @type {HTMLElement} */ (dialog.querySelector("[role=listbox]"));
    this.recent = /** @type {HTMLElement} */ (dialog.querySelector("[data-recent]"));
    this.none = /** @type {HTMLElement} */ (dialog.querySelector("[role=status]"));
    this.keys = /** @type {HTMLElement} */ (dialog.querySelector("details"));
    this.input.addEventListener("input", () => this.#filter());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    dialog.addEventListener("click", (event) => this.#clicked(event));
    document.addEventListener("keydown", (event) => this.#opened(event));
    document.addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest("[data-open-palette]")) this.open();
    });
    for (const item of this.#items) item.tabIndex = -1; // the arrow keys choose; Tab goes on
  }

  open() {
    if (this.dialog.open) return;
    this.input.value = "";
    this.#filter();
    this.dialog.showModal();
    this.input.focus();
    this.#loadChats();
  }

  /** @returns {HTMLAnchorElement[]} */
  get #items() {
    return [...this.list.querySelectorAll("a")];
  }

  /** Add the newest chats, once a page. Without them the palette still has all the rest. */
  async #loadChats() {
    if (this.#hasChats) return;
    this.#hasChats = true;
    try {
      const answer = await fetch(this.dialog.dataset.chats ?? "", { headers: { Accept: "application/json" } });
      const { items } = await answer.json();
      this.recent.replaceChildren(...items.map((/** @type {{id: string, title: string}} */ chat) => this.#makeChat(chat)));
      this.#filter();
    } catch {
      this.#hasChats = false;
    }
  }

  /** @param {{id: string, title: string}} chat */
  #makeChat({ id, title }) {
    const item = document.createElement("a");
    item.className = "palette__item";
    item.setAttribute("role", "option");
    item.href = `${this.dialog.dataset.chat}${id}/`;
    item.textContent = title || UNTITLED;
    item.dir = "auto";
    item.tabIndex = -1;
    return item;
  }

  /** Show what fits the typed letters, the best one chosen. */
  #filter() {
    const query = this.input.value.trim();
    const items = this.#items;
    this.#shown = query ? rank(query, items, (item) => item.textContent ?? "") : items;
    for (const item of items) {
      item.hidden = !this.#shown.includes(item);
      item.style.order = query ? String(this.#shown.indexOf(item)) : "";
    }
    this.list.classList.toggle("palette__list--found", query !== "");
    this.none.hidden = this.#shown.length > 0;
    this.keys.hidden = query !== "";
    this.#choose(0);
  }

  /** @param {number} index */
  #choose(index) {
    for (const item of this.#items) item.removeAttribute("aria-selected");
    const item = this.#shown[index];
    this.input.removeAttribute("aria-activedescendant");
    if (!item) return;
    item.id ||= `palette-${this.#items.indexOf(item)}`;
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", item.id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing) return;
    const at = this.#shown.findIndex((item) => item.ariaSelected === "true");
    const { length } = this.#shown;
    const steps = new Map([["ArrowDown", 1], ["ArrowUp", -1]]);
    const step = steps.get(event.key);
    if (step && length) {
      event.preventDefault();
      this.#choose((at + step + length) % length);
    } else if (event.key === "Enter" && this.#shown[at]) {
      event.preventDefault();
      this.#shown[at].click();
    } else if (event.key === "Escape" && this.input.value) {
      event.preventDefault(); // the key empties the field first
      this.input.value = "";
      this.#filter();
    }
  }

  /** @param {MouseEvent} event  a click on the dialog itself, not on what is in it, is a click beside it */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target);
    if (target === this.dialog || target.closest("a")) this.dialog.close();
    if (target.closest("[data-act=new-chat]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      // The chat of this page takes it, where there is one; else the link is followed.
      if (!document.dispatchEvent(new CustomEvent("keel:new-chat", { cancelable: true }))) event.preventDefault();
    }
  }

  /** @param {KeyboardEvent} event */
  #opened(event) {
    if (event.key !== "/" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    if (this.dialog.open) this.dialog.close();
    else this.open();
  }
}
