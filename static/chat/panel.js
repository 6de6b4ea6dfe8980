import { make, parse } from "./html.js";
import { fetchFragment, NotFound, SignedOut } from "./http.js";
import { Leaving } from "./leaving.js";
import { isolate } from "./modal.js";
import { read, write } from "./storage.js";

/** What a page's chat can be about, as the panel's element names it. */
const SUBJECTS = ["mode", "deployment", "skill", "version", "trade", "backtest", "event", "fact"];
const COVERS_FROM = 0.8; // of the window's width: then the panel is a dialog

/** The coach's slide-over panel. It loads its chat when it is first opened, and stays open from page to page. */
export class Panel {
  /** @type {import("./chat.js").Chat | null} */
  #chat = null;
  #loading = false;
  /** @type {(() => void) | null} */
  #restorePage = null;
  /** @type {Element | null} */
  #opener = null;

  /** @param {HTMLElement} panel */
  constructor(panel) {
    this.panel = panel;
    this.body = /** @type {HTMLElement} */ (panel.querySelector(".panel__body"));
    this.fullPage = /** @type {HTMLAnchorElement | null} */ (panel.querySelector("[data-full-page]"));
    this.openers = document.querySelectorAll(".panel__open, [data-panel-open]");
    this.key = `keel.panel.${panel.dataset.user}`;
    /** @type {Record<string, boolean | string>} */
    this.state = read(sessionStorage, this.key, { open: false, conversation: "" });
    const { page = "", mode, skill } = panel.dataset;
    this.page = page;
    this.focus = filled(Object.fromEntries(SUBJECTS.map((name) => [name, panel.dataset[name]])));
    // A chat that writes a skill belongs to that page; beside all others stands the one that was there last.
    this.place = mode === "authoring" ? `authoring ${skill ?? ""}` : "conversation";
    this.leaving = new Leaving(panel.dataset.user ?? "");
    this.leaving.stay();
    for (const opener of this.openers) opener.addEventListener("click", (event) => this.#asked(event));
    panel.addEventListener("click", (event) => this.#clicked(event));
    panel.addEventListener("keydown", (event) => this.#keyPressed(event));
    addEventListener("resize", () => this.#fit());
    // On a phone the panel would hide the page that was just asked for.
    if (this.state.open) this.#show({ unlessCovering: true });
  }

  toggle() {
    if (this.panel.hidden) this.open();
    else this.close();
  }

  async open() {
    this.#opener = document.activeElement;
    await this.#show({ unlessCovering: false });
    if (this.#chat) this.#chat.composer.focus();
    else /** @type {HTMLElement | null} */ (this.panel.querySelector("button"))?.focus();
  }

  close() {
    this.#beside();
    this.panel.hidden = true;
    this.#chat?.pause();
    this.leaving.stay();
    this.#save({ open: false });
    const opener = this.#opener?.isConnected && this.#opener !== document.body ? this.#opener : this.openers[0];
    if (opener instanceof HTMLElement) opener.focus();
  }

  async startNew() {
    if (!this.#chat) {
      this.leaving.goOnTo("");
      this.#save({ [this.place]: "" });
    }
    if (this.panel.hidden) await this.open();
    this.#chat?.startNew();
    this.#setConversation("", this.fullPage?.dataset.fullPage ?? "");
  }

  /** @param {{unlessCovering: boolean}} options */
  async #show({ unlessCovering }) {
    this.panel.hidden = false;
    if (unlessCovering && this.#covers) {
      this.panel.hidden = true;
      return;
    }
    this.#save({ open: true });
    this.#fit();
    if (this.#chat) this.#chat.resume();
    else await this.#load();
  }

  async #load() {
    if (this.#loading) return;
    this.#loading = true;
    try {
      // The scripts of a chat are most of Keel's: a page whose panel stays closed does without them.
      const [html, { Chat }] = await Promise.all([this.#fetch(), import("./chat.js")]);
      this.body.replaceChildren(parse(html));
      const root = this.body.querySelector("[data-chat]");
      if (root instanceof HTMLElement) this.#start(root, Chat);
    } catch (error) {
      this.#explain(error);
    } finally {
      this.#loading = false;
    }
  }

  /** @returns {Promise<string>} */
  async #fetch() {
    const url = this.panel.dataset.url ?? "";
    const conversation = String(this.state[this.place] ?? "");
    const asked = { ...this.focus, page: this.page };
    try {
      return await fetchFragment(url, { ...asked, conversation });
    } catch (error) {
      if (!(error instanceof NotFound) || !conversation) throw error;
      this.#save({ [this.place]: "" }); // deleted meanwhile
      return fetchFragment(url, asked);
    }
  }

  /**
   * @param {HTMLElement} root
   * @param {typeof import("./chat.js").Chat} Chat
   */
  #start(root, Chat) {
    const listener = {
      onCreated: (/** @type {import("./http.js").Conversation} */ { id, url }) => this.#setConversation(id, url),
      onTitle: () => {},
    };
    this.#chat = new Chat(root, listener, this.leaving);
    // The server may have shown an empty chat in place of one that is gone.
    const { conversation } = this.#chat;
    this.#setConversation(conversation?.id ?? "", conversation?.url ?? "");
  }

  /**
   * @param {string} id
   * @param {string} url
   */
  #setConversation(id, url) {
    this.#save({ [this.place]: id });
    if (this.fullPage && url) this.fullPage.href = url;
  }

  /** @param {unknown} error */
  #explain(error) {
    const signedOut = error instanceof SignedOut;
    const text = signedOut ? "You are signed out. Reload the page to sign in." : "The chat could not be loaded.";
    const again = make("button", "btn btn--small", "Try again");
    again.type = "button";
    again.addEventListener("click", () => this.#load());
    const notice = make("div", "notice notice--warn");
    notice.setAttribute("role", "alert");
    notice.append(make("p", "", text), again);
    this.body.replaceChildren(notice);
  }

  /** @param {Record<string, boolean | string>} change  `open`, or the conversation of a place */
  #save(change) {
    this.state = { ...this.state, ...change };
    write(sessionStorage, this.key, this.state);
    for (const opener of this.openers) {
      opener.setAttribute("aria-expanded", String(this.state.open));
      // The round button lies under the open panel, where the keyboard should not go.
      if (opener.matches(".panel__open")) opener.toggleAttribute("hidden", Boolean(this.state.open));
    }
  }

  get #covers() {
    return this.panel.getBoundingClientRect().width >= innerWidth * COVERS_FROM;
  }

  /** A panel over the whole page is a dialog; beside the page it is just a part of it. */
  #fit() {
    if (this.panel.hidden || this.#covers === Boolean(this.#restorePage)) return;
    if (this.#covers) this.#cover();
    else this.#beside();
  }

  #cover() {
    this.panel.setAttribute("role", "dialog");
    this.panel.setAttribute("aria-modal", "true");
    this.#restorePage = isolate(this.panel);
  }

  #beside() {
    this.panel.setAttribute("role", "complementary");
    this.panel.removeAttribute("aria-modal");
    this.#restorePage?.();
    this.#restorePage = null;
  }

  /** @param {Event} event  on an opener, which without this script is a link to the full page */
  #asked(event) {
    const { ctrlKey, metaKey, shiftKey } = /** @type {MouseEvent} */ (event);
    if (ctrlKey || metaKey || shiftKey) return;
    event.preventDefault();
    this.toggle();
  }

  /** @param {Event} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target).closest("[data-action]");
    const action = target instanceof HTMLElement ? target.dataset.action : "";
    if (action === "close") this.close();
    if (action === "new") this.startNew();
  }

  /** @param {KeyboardEvent} event */
  #keyPressed(event) {
    // A running reply takes the key first, to stop.
    if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
    event.preventDefault();
    this.close();
  }
}

/**
 * @param {Record<string, string | undefined>} values
 * @returns {Record<string, string>} those that are there
 */
function filled(values) {
  return Object.fromEntries(Object.entries(values).flatMap(([name, value]) => (value ? [[name, value]] : [])));
}
