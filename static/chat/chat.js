import { Announcer } from "./announcer.js";
import { Choice } from "./choice.js";
import { Composer } from "./composer.js";
import { copyCode, copyReply } from "../js/copy.js";
import { Drafts } from "./drafts.js";
import { Edit } from "./edit.js";
import { Follow } from "./follow.js";
import { createConversation, fetchFragment, NotFound, post } from "./http.js";
import { Older } from "./older.js";
import { Outbox, uuid4 } from "./outbox.js";
import { Socket } from "./socket.js";
import { Thread } from "./thread.js";
import { explain, explainClosed } from "./trouble.js";
import { Turn } from "./turn.js";

const QUIET_LOSS_MS = 1000;
const TOO_LARGE_CODES = new Set([4400, 1009]);

/**
 * @typedef {object} ChatListener
 * @property {(conversation: import("./http.js").Conversation) => void} onCreated  a new chat got its row
 * @property {(title: string) => void} onTitle
 */

/** One chat on the page: the log, the composer and the socket of one conversation, or of none yet. */
export class Chat {
  /** @type {import("./http.js").Conversation | null} */
  conversation = null;
  #creating = false;
  #stopWanted = false;
  /** Why the socket was closed for good; 0: it was not. */
  #closedCode = 0;
  #lossTimer = 0;
  #lossShown = false;

  /**
   * @param {HTMLElement} root  what templates/chat/_thread.html renders
   * @param {ChatListener} listener
   * @param {import("./leaving.js").Leaving} leaving
   */
  constructor(root, listener, leaving) {
    this.root = root;
    this.listener = listener;
    this.leaving = leaving;
    this.settings = root.dataset;
    /** What the page beside the chat is about: `mode`, `trade` and such. */
    this.focus = Object.fromEntries(new URLSearchParams(root.dataset.focus));
    this.user = root.dataset.user ?? "";
    this.announcer = new Announcer(root);
    const log = find(root, ".chat__log");
    this.follow = new Follow(log, /** @type {HTMLButtonElement} */ (find(root, ".chat__jump")));
    this.thread = new Thread(log, () => this.follow.stick());
    this.older = new Older(log, this.follow.scroller, {
      fetch: (query) => fetchFragment(`${this.conversation?.url}messages/`, query),
      onFilled: () => this.announcer.status("Older messages loaded"),
      onTrouble: (error) => this.#explain(error, "The older messages could not be loaded. Try again in a moment."),
    });
    const form = /** @type {HTMLFormElement} */ (find(root, ".chat__composer"));
    this.composer = new Composer(form, new Drafts(this.user), {
      onSend: (text) => this.send(text),
      onStop: () => this.stop(),
      onBack: () => this.#beginEdit(this.thread.find(this.thread.anchorId)),
    });
    this.outbox = new Outbox(this.user, "new");
    this.choice = new Choice(root);
    this.edit = new Edit({ onSave: (id, text) => this.#saveEdit(id, text) });
    this.socket = new Socket({
      onFrame: (frame) => this.turn.take(frame),
      onOpen: () => this.#connected(),
      onLost: (code) => this.#lost(code),
      onRefused: (code) => this.#closed(code),
      probe: () => ({ type: "resume", seq: this.turn.order.seq }),
    });
    this.turn = new Turn(this.thread, this.announcer, this.#turnListener());
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => this.#key(event));
    root.addEventListener("htmx:afterSettle", (event) => this.#settled(/** @type {Element} */ (event.target)));
    this.#openRendered();
    root.dataset.ready = ""; // from here on, keys do what the page says they do
  }

  /** Leave this conversation, which is over with that, and show an empty chat. */
  startNew() {
    if (this.#creating) return;
    delete this.settings.refocus; // a new chat begins with the subject
    this.leaving.goOnTo("");
    this.pause();
    this.#adopt(null);
    this.thread.clear();
    this.follow.toEnd();
    this.announcer.clearAlert();
    this.announcer.status("");
    this.composer.open("new");
    this.composer.focus();
  }

  /** Close the socket while nobody looks. */
  pause() {
    this.follow.remember();
    this.socket.close();
    this.#clearLoss();
  }

  /** Open the socket again. */
  resume() {
    this.#closedCode = 0;
    this.follow.stick();
    if (this.conversation && !this.socket.isOpen) this.socket.connect(this.conversation.socket);
  }

  /** @param {string} text */
  async send(text) {
    if (this.turn.running) {
      this.announcer.status("Keel is still answering. Your text is kept until the answer is complete.");
      return;
    }
    if (new TextEncoder().encode(text).length > Number(this.settings.maxBytes)) {
      this.announcer.alert("This message is too long to send. Shorten it or send it in parts.");
      return;
    }
    if (this.#closedCode) {
      this.#closed(this.#closedCode);
      return;
    }
    this.announcer.clearAlert();
    this.announcer.status("");
    const entry = { client_id: uuid4(), text, sent: false };
    this.composer.clear();
    this.thread.addPending(entry);
    this.follow.toEnd();
    if (this.conversation ? await this.#refocus() : await this.#create(entry)) {
      this.outbox.add(entry);
      this.composer.settle();
      this.#flush();
    }
  }

  /** Ask the server to end the running reply; what was said stays. */
  stop() {
    if (!this.turn.running) return;
    this.announcer.status("Stopping…");
    this.#stopWanted = !this.socket.send({ type: "stop" });
  }

  /** Show what the server rendered. */
  #openRendered() {
    const { conversation, url, socket, assistant = "", temporary } = this.settings;
    const shown = conversation && url && socket;
    this.#adopt(shown ? { id: conversation, url, socket, assistant, temporary: temporary !== undefined } : null);
    this.composer.open(conversation || "new", { keepTyped: true });
    this.turn.setRunning(this.thread.streamingId !== "");
    for (const entry of this.outbox.entries) this.thread.addPending(entry);
    this.#goToPlace();
    this.resume();
  }

  /** Go to the message that the address names, to where the reader was, or to the end. */
  async #goToPlace() {
    const place = this.follow.findPlace(this.thread.linkedId);
    if (place && !this.thread.find(place.id)) await this.#reach(place.id);
    this.follow.open(place && this.thread.find(place.id), place?.top);
  }

  /** The address names another message: show it. */
  async goToLink() {
    const id = this.thread.linkedId;
    if (!id || !this.conversation) return;
    if (!this.thread.find(id)) await this.#reach(id);
    const message = this.thread.find(id);
    if (message) this.follow.open(message);
  }

  /** @param {string} id  of a message that the page may have left out */
  async #reach(id) {
    await this.older.reach(id);
    // The style of the message that the address names is for one that was there already.
    if (id === this.thread.linkedId) location.replace(location.hash);
  }

  /** @param {import("./http.js").Conversation | null} conversation */
  #adopt(conversation) {
    const name = conversation?.id ?? "new";
    this.conversation = conversation;
    this.outbox = new Outbox(this.user, name);
    this.#closedCode = 0;
    this.follow.key = `keel.scroll.${this.user}.${name}`;
    this.choice.show(conversation);
    this.turn.reset();
  }

  /**
   * Make the row of a new chat for its first message.
   *
   * @param {import("./outbox.js").Outgoing} entry
   * @returns {Promise<boolean>}
   */
  async #create(entry) {
    this.#setCreating(true);
    try {
      const conversation = await createConversation(this.settings.newUrl ?? "", { ...this.choice.chosen, ...this.focus });
      this.#adopt(conversation);
      this.composer.moveTo(conversation.id);
      this.resume();
      this.listener.onCreated(conversation);
      return true;
    } catch (error) {
      this.thread.dropPending(entry.client_id);
      this.composer.putBack(entry.text);
      this.#explain(error, "Keel cannot be reached. Your message is back in the box; send it again in a moment.");
      return false;
    } finally {
      this.#setCreating(false);
    }
  }

  /**
   * Before the first message, turn the chat to what the page shows, if it is about something else.
   *
   * @returns {Promise<boolean>} true: the message goes on its way, also where this failed
   */
  async #refocus() {
    const { refocus } = this.settings;
    delete this.settings.refocus;
    if (refocus) await post(refocus, this.focus).catch(() => {});
    return true;
  }

  /** @param {boolean} creating */
  #setCreating(creating) {
    this.#creating = creating;
    this.composer.setReady(!creating);
  }

  /**
   * Hand over the oldest message when no reply is running.
   *
   * @param {object} [options]
   * @param {boolean} [options.again]  also if it was handed over before: then the server may have it, and says so
   */
  #flush({ again = false } = {}) {
    const entry = this.outbox.first;
    if (!entry || this.turn.order.waiting || (entry.sent ? !again : this.turn.running)) return;
    if (!this.socket.send({ type: "message", client_id: entry.client_id, text: entry.text })) return;
    this.outbox.markSent(entry);
    this.socket.expecting = true;
  }

  /** @returns {import("./turn.js").TurnListener} */
  #turnListener() {
    return {
      onRunning: (running) => {
        this.composer.setRunning(running);
        this.socket.expecting = running || Boolean(this.outbox.first?.sent);
        if (!running) this.#stopWanted = false;
        else if (this.#stopWanted) this.stop();
      },
      onAccepted: (clientId) => this.#accepted(clientId),
      onRefused: (frame) => this.#refused(frame),
      onTitle: (title) => this.listener.onTitle(title),
      onTaken: (frame) => this.#flush({ again: frame.type === "snapshot" }),
      onGap: () => this.socket.probe(),
      onBehind: () => this.#catchUp(),
    };
  }

  /** @param {string | null} clientId */
  #accepted(clientId) {
    const isOurs = this.outbox.take(clientId);
    if (isOurs && this.conversation) this.leaving.spokenIn(this.conversation);
  }

  /** Fetch what other tabs wrote, or what came while there was no connection. */
  async #catchUp() {
    const { conversation } = this;
    if (!conversation) return;
    const url = `${conversation.url}messages/`;
    let anchor = this.thread.anchorId;
    try {
      const html = await fetchFragment(url, { after: anchor }).catch((error) => {
        if (!(error instanceof NotFound) || !anchor) throw error;
        anchor = ""; // that message is gone: start over
        return fetchFragment(url, {});
      });
      if (conversation === this.conversation) this.thread.replaceAfter(anchor, html);
      this.older.watch();
    } catch (error) {
      this.#explain(error, "The newest messages could not be loaded. Reload the page to see them.");
    }
  }

  /** @param {import("./frames.js").FailedFrame} frame  about something this page sent */
  #refused({ client_id, reply_id, text }) {
    this.#putBack(client_id);
    if (reply_id) return; // the reply itself shows what went wrong
    this.announcer.alert(text);
    this.#setRetriesEnabled(true);
    this.edit.release();
    this.socket.expecting = this.turn.running;
  }

  /**
   * Take a message out of the outbox and give its text back to the user.
   *
   * @param {string | null} clientId
   * @returns {boolean} whether there was one
   */
  #putBack(clientId) {
    const entry = this.outbox.take(clientId);
    if (!entry) return false;
    this.thread.dropPending(entry.client_id);
    this.composer.putBack(entry.text);
    return true;
  }

  #connected() {
    this.turn.order.expectSnapshot();
    if (this.#lossShown) this.announcer.status(this.turn.running ? "Keel is answering…" : "Connected again");
    this.#clearLoss();
  }

  /** @param {number} code */
  #lost(code) {
    const { first } = this.outbox;
    // Sent again, a message over the limit would close the next connection too.
    if (TOO_LARGE_CODES.has(code) && first?.sent && this.#putBack(first.client_id)) {
      this.announcer.alert("This message is too long to send. It is back in the box.");
    }
    this.#lossTimer ||= setTimeout(() => {
      this.#lossShown = true;
      this.announcer.status("Connection lost. Reconnecting…");
    }, QUIET_LOSS_MS);
  }

  #clearLoss() {
    clearTimeout(this.#lossTimer);
    this.#lossTimer = 0;
    this.#lossShown = false;
  }

  /** @param {number} code */
  #closed(code) {
    this.#closedCode = code;
    this.#clearLoss();
    this.turn.setRunning(false);
    this.announcer.status("");
    const { text, action } = explainClosed(code, this.settings.loginUrl ?? "");
    this.announcer.alert(text, action);
  }

  /**
   * @param {unknown} error
   * @param {string} otherwise
   */
  #explain(error, otherwise) {
    const { text, action } = explain(error, { loginUrl: this.settings.loginUrl ?? "", otherwise });
    this.announcer.alert(text, action);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key !== "Escape" || event.isComposing || !this.turn.running) return;
    event.preventDefault();
    this.stop();
  }

  /** @param {Event} event */
  #clicked(event) {
    const target = /** @type {Element} */ (event.target).closest("[data-action]");
    if (target instanceof HTMLElement) this.#actions[target.dataset.action ?? ""]?.(target);
  }

  /** @type {Record<string, (target: HTMLElement) => void>} */
  #actions = {
    copy: async (target) => {
      const article = target.closest(".message");
      if (article) this.announcer.status(await copyReply(article));
    },
    "copy-code": async (target) => this.announcer.status(await copyCode(target)),
    retry: () => this.#ask({ type: "retry" }, "Asking again…"),
    continue: () => this.#ask({ type: "continue" }, "Going on…"),
    edit: (target) => this.#beginEdit(target),
    suggest: (target) => this.#suggest(target.textContent?.trim() ?? ""),
    resume: () => {
      this.announcer.clearAlert();
      this.resume();
    },
  };

  /**
   * Ask for another turn about what is there already.
   *
   * @param {import("./frames.js").ClientFrame} frame
   * @param {string} said
   * @returns {boolean} whether it was sent
   */
  #ask(frame, said) {
    if (this.turn.running) {
      this.announcer.status("Keel is still answering. Wait for it, or stop it first.");
      return false;
    }
    if (!this.socket.send(frame)) {
      this.announcer.status("There is no connection. Try again when it is back.");
      return false;
    }
    this.#setRetriesEnabled(false);
    this.socket.expecting = true;
    this.announcer.clearAlert();
    this.announcer.status(said);
    return true;
  }

  /**
   * @param {Element | null} target  a message of the user's, or what is in it
   * @returns {boolean} whether it can be edited
   */
  #beginEdit(target) {
    const article = target?.closest(".message");
    const canEdit = article?.querySelector('[data-action="edit"]') && !this.turn.running;
    if (canEdit && article instanceof HTMLElement) this.edit.begin(article);
    return Boolean(canEdit);
  }

  /**
   * @param {string} id
   * @param {string} text
   * @returns {boolean}
   */
  #saveEdit(id, text) {
    if (new TextEncoder().encode(text).length > Number(this.settings.maxBytes)) {
      this.announcer.alert("This message is too long to send. Shorten it or send it in parts.");
      return false;
    }
    return this.#ask({ type: "edit", message_id: id, text }, "Asking again…");
  }

  /** @param {boolean} enabled */
  #setRetriesEnabled(enabled) {
    for (const again of this.root.querySelectorAll('[data-action="retry"], [data-action="continue"]')) {
      /** @type {HTMLButtonElement} */ (again).disabled = !enabled;
    }
  }

  /** @param {string} prompt */
  #suggest(prompt) {
    if (this.composer.text.trim()) this.composer.putBack(prompt);
    else this.send(prompt);
  }

  /** @param {Element} element  put in by htmx, such as a memory line after its Undo, or a confirm-card */
  #settled(element) {
    const decided = element.matches(".action-card") && element.querySelector(".action-card__said, .action-card__refusal");
    if (decided) this.announcer.status(decided.textContent ?? "");
    if (!element.matches(".memory-line")) return;
    this.announcer.status(element.matches(".memory-line--undone") ? "Undone" : "Not undone");
  }
}

/**
 * @param {HTMLElement} root
 * @param {string} selector
 * @returns {HTMLElement}
 */
function find(root, selector) {
  const element = root.querySelector(selector);
  if (!(element instanceof HTMLElement)) throw new Error(`The chat has no ${selector}.`);
  return element;
}
