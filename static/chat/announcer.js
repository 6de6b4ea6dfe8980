const SPOKEN_FOR_MS = 15_000;

/**
 * Announcements of the chat: a quiet status line, an alert that needs the user, and the finished reply for screen
 * readers, sentence by sentence.
 */
export class Announcer {
  #timer = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.line = /** @type {HTMLElement} */ (root.querySelector(".chat__status > span"));
    this.alertBox = /** @type {HTMLElement} */ (root.querySelector(".chat__alert"));
    this.speech = /** @type {HTMLElement} */ (root.querySelector(".chat__speech"));
  }

  /** @param {string} text */
  status(text) {
    if (this.line.textContent !== text) this.line.textContent = text;
  }

  /**
   * @param {string} text
   * @param {HTMLElement} [action]  a link or button that helps
   */
  alert(text, action) {
    const sentence = document.createElement("p");
    sentence.textContent = text;
    this.alertBox.replaceChildren(sentence, ...(action ? [action] : []));
    this.alertBox.hidden = false;
  }

  clearAlert() {
    this.alertBox.hidden = true;
    this.alertBox.replaceChildren();
  }

  /** @param {string} text */
  speak(text) {
    clearTimeout(this.#timer);
    const lines = sentences(text).map((sentence) => {
      const line = document.createElement("p");
      line.textContent = sentence;
      return line;
    });
    this.speech.replaceChildren(...lines);
    // Remove the text again, or a user who reads through the page would hear the reply twice.
    this.#timer = setTimeout(() => this.speech.replaceChildren(), SPOKEN_FOR_MS);
  }
}

/**
 * @param {string} text
 * @returns {string[]}
 */
function sentences(text) {
  const parts = Intl.Segmenter
    ? Array.from(new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text), (part) => part.segment)
    : text.split("\n");
  return parts.map((part) => part.trim()).filter(Boolean);
}
