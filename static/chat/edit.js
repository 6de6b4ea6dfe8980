import { make } from "./html.js";

/**
 * @typedef {object} EditListener
 * @property {(id: string, text: string) => boolean} onSave  whether it could be sent
 */

/** Edit one of the user's messages in place; Keel then answers again from there. */
export class Edit {
  /** @type {HTMLElement | null} */
  #article = null;
  /** @type {HTMLFormElement | null} */
  #form = null;

  /** @param {EditListener} listener */
  constructor(listener) {
    this.listener = listener;
  }

  /** @param {HTMLElement} article  of a message of the user's */
  begin(article) {
    this.end();
    const words = article.querySelector(".message__body")?.textContent ?? "";
    this.#article = article;
    this.#form = this.#makeForm(words);
    article.classList.add("message--editing");
    article.append(this.#form);
    const area = this.#form.querySelector("textarea");
    area?.focus();
    area?.setSelectionRange(words.length, words.length);
  }

  /** Close the form and show the message unchanged. */
  end() {
    const article = this.#article;
    const hadFocus = this.#form?.contains(document.activeElement);
    this.#form?.remove();
    this.#form = this.#article = null;
    article?.classList.remove("message--editing");
    const button = article?.querySelector('[data-action="edit"]');
    if (hadFocus && button instanceof HTMLElement) button.focus();
  }

  /** Enable the form again after the server refused the edit. */
  release() {
    this.#setSending(false);
  }

  /**
   * @param {string} words
   * @returns {HTMLFormElement}
   */
  #makeForm(words) {
    const form = make("form", "message__edit");
    const area = make("textarea", "input");
    area.value = words;
    area.dir = "auto";
    area.rows = 3;
    area.setAttribute("aria-label", "Your message");
    const save = make("button", "btn btn--small btn--primary", "Save & send");
    const cancel = make("button", "btn btn--small btn--quiet", "Cancel");
    cancel.type = "button";
    cancel.addEventListener("click", () => this.end());
    const row = make("div", "form__actions");
    row.append(save, cancel, make("span", "fine muted", "What follows is answered anew."));
    form.append(area, row);
    form.addEventListener("submit", (event) => this.#submit(event, area));
    form.addEventListener("keydown", (event) => this.#key(event, form));
    return form;
  }

  /**
   * @param {Event} event
   * @param {HTMLTextAreaElement} area
   */
  #submit(event, area) {
    event.preventDefault();
    const id = this.#article?.id.replace(/^message-/, "") ?? "";
    if (area.value.trim() && this.listener.onSave(id, area.value)) this.#setSending(true);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {HTMLFormElement} form
   */
  #key(event, form) {
    // As in the composer: while composing, Enter accepts a word.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      this.end();
    } else if (event.key === "Enter" && !event.shiftKey && event.target instanceof HTMLTextAreaElement) {
      event.preventDefault();
      if (!event.repeat) form.requestSubmit();
    }
  }

  /** @param {boolean} sending */
  #setSending(sending) {
    for (const button of this.#form?.querySelectorAll("button") ?? []) button.disabled = sending;
  }
}
