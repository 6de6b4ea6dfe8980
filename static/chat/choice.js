/** The choice of assistant and of a temporary chat; once the chat exists, the badges that show both. */
export class Choice {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.fields = root.querySelector(".chat__choice");
    this.chosenLabel = this.fields?.querySelector("[data-chosen]") ?? null;
    this.fields?.addEventListener("change", () => this.#label());
    this.badges = root.querySelector(".chat__badges");
    this.subject = this.badges?.querySelector("[data-subject]") ?? null;
    this.pageSubject = root.dataset.pageSubject ?? ""; // what a new chat is about
  }

  /** @returns {Record<string, string>} */
  get chosen() {
    const checked = this.#inputs.filter((input) => input.checked);
    return Object.fromEntries(checked.map((input) => [input.name, input.value]));
  }

  /** @param {import("./http.js").Conversation | null} conversation  null: a new chat, in which one may choose */
  show(conversation) {
    this.fields?.toggleAttribute("hidden", conversation !== null);
    this.badges?.toggleAttribute("hidden", conversation === null && !this.pageSubject);
    this.badges?.querySelector("[data-with]")?.toggleAttribute("hidden", conversation === null);
    if (conversation) {
      const assistant = this.badges?.querySelector("[data-assistant]");
      if (assistant) assistant.textContent = conversation.assistant;
      this.badges?.querySelector("[data-temporary]")?.toggleAttribute("hidden", !conversation.temporary);
      return;
    }
    // The next chat is an ordinary one again, about what the page shows.
    if (this.subject) this.subject.textContent = this.pageSubject;
    this.subject?.toggleAttribute("hidden", !this.pageSubject);
    this.badges?.querySelector("[data-temporary]")?.setAttribute("hidden", "");
    for (const input of this.#inputs) input.checked = input.defaultChecked;
    this.#label();
  }

  /** Name the choice where the menu is closed. */
  #label() {
    const checked = this.#inputs.filter((input) => input.checked);
    const labels = checked.map((input) => input.labels?.[0]?.textContent?.trim() ?? "");
    if (this.chosenLabel) this.chosenLabel.textContent = labels.join(", ");
  }

  /** @returns {HTMLInputElement[]} */
  get #inputs() {
    return Array.from(this.fields?.querySelectorAll("input") ?? []);
  }
}
