/**
 * @typedef {object} ComposerListener
 * @property {(text: string) => void} onSend
 * @property {() => void} onStop
 * @property {() => boolean} onBack  Up in the empty box; whether there was a message to go back to
 */

/** The input box: keys, size, and the stored draft. */
export class Composer {
  #conversation = "new";
  #running = false;
  #ready = true;

  /**
   * @param {HTMLFormElement} form
   * @param {import("./drafts.js").Drafts} drafts
   * @param {ComposerListener} listener
   */
  constructor(form, drafts, listener) {
    this.drafts = drafts;
    this.listener = listener;
    this.input = /** @type {HTMLTextAreaElement} */ (form.querySelector(".composer__input"));
    this.sendButton = /** @type {HTMLButtonElement} */ (form.querySelector(".composer__send"));
    this.stopButton = /** @type {HTMLButtonElement} */ (form.querySelector(".composer__stop"));
    form.addEventListener("submit", (event) => this.#submit(event));
    this.input.addEventListener("input", () => this.#edited());
    this.input.addEventListener("keydown", (event) => this.#key(event, form));
    this.stopButton.addEventListener("click", () => listener.onStop());
  }

  /** @returns {string} */
  get text() {
    return this.input.value;
  }

  /**
   * Show the draft of a conversation. What was typed before this script ran, or kept by the browser, stays.
   *
   * @param {string} conversation
   * @param {object} [options]
   * @param {boolean} [options.keepTyped]
   */
  open(conversation, { keepTyped = false } = {}) {
    this.#conversation = conversation;
    const typed = keepTyped ? this.input.value : "";
    this.#show(typed || this.drafts.load(conversation));
  }

  /**
   * Move the draft from the new chat to its row.
   *
   * @param {string} conversation
   */
  moveTo(conversation) {
    this.drafts.save(this.#conversation, "");
    this.#conversation = conversation;
    this.#edited();
  }

  /** Empty the box, but keep the stored draft until the text is safe elsewhere. */
  clear() {
    this.#show("");
  }

  /** The text is safe elsewhere: store what is in the box now. */
  settle() {
    this.drafts.save(this.#conversation, this.input.value);
  }

  /**
   * Put back a text that could not be sent, before newer text.
   *
   * @param {string} text
   */
  putBack(text) {
    this.#show([text, this.input.value].filter(Boolean).join("\n\n"));
    this.settle();
    this.focus();
  }

  /** @param {boolean} running  a reply is being written: it can be stopped, and nothing else be sent */
  setRunning(running) {
    this.#running = running;
    this.#refresh();
  }

  /** @param {boolean} ready  false while a new chat is being made */
  setReady(ready) {
    this.#ready = ready;
    this.#refresh();
  }

  focus() {
    this.input.focus({ preventScroll: true });
  }

  /** @param {Event} event */
  #submit(event) {
    event.preventDefault();
    if (this.#ready && this.input.value.trim()) this.listener.onSend(this.input.value);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {HTMLFormElement} form
   */
  #key(event, form) {
    // During composition (Japanese, Chinese, accents), Enter accepts a word; older Safari reports key code 229 instead.
    const composing = event.isComposing || event.keyCode === 229;
    if (event.key === "ArrowUp" && !composing && !hasModifier(event) && !this.input.value) {
      if (this.listener.onBack()) event.preventDefault();
      return;
    }
    if (event.key !== "Enter" || event.shiftKey || composing) return;
    event.preventDefault();
    if (!event.repeat) form.requestSubmit();
  }

  #edited() {
    this.settle();
    this.#fit();
    this.#refresh();
  }

  /** @param {string} text */
  #show(text) {
    this.input.value = text;
    this.#fit();
    this.#refresh();
  }

  /** Grow with the text; the style sheet sets the limit. */
  #fit() {
    if (CSS.supports("field-sizing", "content")) return; // the style sheet does it
    this.input.style.height = "auto";
    if (!this.input.scrollHeight) return; // not shown yet
    const border = this.input.offsetHeight - this.input.clientHeight;
    this.input.style.height = `${this.input.scrollHeight + border}px`;
  }

  #refresh() {
    const stopHadFocus = document.activeElement === this.stopButton;
    this.sendButton.hidden = this.#running;
    this.stopButton.hidden = !this.#running;
    this.sendButton.disabled = !this.#ready || !this.input.value.trim();
    if (stopHadFocus && !this.#running) this.focus();
  }
}

/**
 * @param {KeyboardEvent} event
 * @returns {boolean}
 */
function hasModifier({ ctrlKey, metaKey, altKey, shiftKey }) {
  return ctrlKey || metaKey || altKey || shiftKey;
}
