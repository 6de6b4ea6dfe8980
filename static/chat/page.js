import { Chat } from "./chat.js";
import { Leaving } from "./leaving.js";
import { Sidebar } from "./sidebar.js";

/**
 * The full page: one chat, the list of conversations, and the address that follows along. A chat of the trash has no
 * composer and no socket; there the list alone is alive.
 */
export class ChatPage {
  /** @type {Chat | null} */
  chat = null;
  #shown = location.pathname + location.search;

  /** @param {HTMLElement} page */
  constructor(page) {
    this.heading = page.querySelector(".chat__title");
    this.newUrl = page.dataset.newChat ?? "";
    const sidebar = /** @type {HTMLElement} */ (page.querySelector(".chat__sidebar"));
    this.sidebar = new Sidebar(sidebar, { onTitle: (title) => this.#setTitle(title) });
    page.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("popstate", () => this.#moved());
    addEventListener("hashchange", () => this.chat?.goToLink());
    const main = /** @type {HTMLElement} */ (page.querySelector(".chat__main"));
    const leaving = new Leaving(main.dataset.user ?? "");
    leaving.goOnTo(main.dataset.conversation ?? "");
    if (main.matches("[data-chat]")) this.#open(main, leaving);
  }

  /**
   * @param {HTMLElement} root
   * @param {Leaving} leaving
   */
  #open(root, leaving) {
    const listener = {
      onCreated: (/** @type {import("./http.js").Conversation} */ { id, url }) => this.#created(id, url),
      onTitle: (/** @type {string} */ title) => this.#setTitle(title),
    };
    this.chat = new Chat(root, listener, leaving);
    // On a touch screen focus would raise the keyboard over the conversation.
    if (matchMedia("(pointer: fine)").matches) this.chat.composer.focus();
  }

  startNew() {
    if (!this.chat) {
      location.assign(this.newUrl);
      return;
    }
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
    if (this.chat?.conversation) this.sidebar.rename(this.chat.conversation.id, title);
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
