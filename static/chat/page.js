import { Chat } from "./chat.js";
import { Leaving } from "./leaving.js";
import { Sidebar } from "./sidebar.js";

/** The full page: one chat, the list of conversations, and the address that follows along. */
export class ChatPage {
  #shown = location.pathname + location.search;

  /** @param {HTMLElement} page */
  constructor(page) {
    this.heading = page.querySelector(".chat__title");
    this.newUrl = page.dataset.newChat ?? "";
    this.sidebar = new Sidebar(/** @type {HTMLElement} */ (page.querySelector(".chat__sidebar")));
    const root = /** @type {HTMLElement} */ (page.querySelector("[data-chat]"));
    const leaving = new Leaving(root.dataset.user ?? "");
    leaving.goOnTo(root.dataset.conversation ?? "");
    const listener = {
      onCreated: (/** @type {import("./http.js").Conversation} */ { id, url }) => this.#created(id, url),
      onTitle: (/** @type {string} */ title) => this.#setTitle(title),
    };
    this.chat = new Chat(root, listener, leaving);
    page.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("popstate", () => this.#moved());
    // On a touch screen focus would raise the keyboard over the conversation.
    if (matchMedia("(pointer: fine)").matches) this.chat.composer.focus();
  }

  startNew() {
    if (this.chat.conversation) {
      history.pushState(null, "", this.newUrl);
      this.#shown = location.pathname + location.search;
    }
    this.chat.startNew();
    this.sidebar.mark("");
    this.#setTitle("New chat");
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #created(id, url) {
    history.replaceState(null, "", url);
    this.#shown = location.pathname + location.search;
    this.sidebar.add(id, url);
  }

  /** @param {string} title */
  #setTitle(title) {
    const old = this.heading?.textContent?.trim() ?? "";
    if (this.heading) this.heading.textContent = title;
    document.title = old && document.title.startsWith(old) ? title + document.title.slice(old.length) : title;
    if (this.chat.conversation) this.sidebar.rename(this.chat.conversation.id, title);
  }

  /** Back and forward between addresses made here: let the server render what stood there. */
  #moved() {
    if (location.pathname + location.search !== this.#shown) location.reload();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target).closest('[data-action="new"]');
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    this.startNew();
  }
}
